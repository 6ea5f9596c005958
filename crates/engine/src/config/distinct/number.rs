//! Numbers that are equal have one form, however they are written: `1`, `1.0` and `10e-1` are all `1e0`.

/// The form of a number as JSON writes it: a sign, the digits without zeros at either end, and an exponent.
pub(super) fn normal_form(text: &str) -> String {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let without_zeros = digits.trim_end_matches('0');
    let significant = without_zeros.trim_start_matches('0');
    if significant.is_empty() {
        return "0".to_owned();
    }
    let zeros = digits.len() - without_zeros.len();
    let shift = zeros as i128 - fraction.len() as i128;
    format!("{sign}{significant}e{}", shifted(exponent, shift))
}

/// Whether a number that begins like this may turn out to have the form `form`.
pub(super) fn may_become(beginning: &str, form: &str) -> bool {
    let (mantissa, exponent) = match beginning.split_once(['e', 'E']) {
        Some((mantissa, _)) => (mantissa, true),
        None => (beginning, false),
    };
    let (is_negative, mantissa) =
        mantissa.strip_prefix('-').map_or((false, mantissa), |mantissa| (true, mantissa));
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).skip_while(|&digit| digit == b'0');
    if form == "0" {
        return digits.count() == 0;
    }
    let wanted = form.strip_prefix('-');
    if wanted.is_some() != is_negative {
        return false;
    }
    let wanted = wanted.unwrap_or(form);
    let mut wanted = wanted.split_once('e').map_or(wanted, |(digits, _)| digits).bytes();
    for digit in digits {
        if digit != wanted.next().unwrap_or(b'0') {
            return false;
        }
    }
    !exponent || wanted.next().is_none()
}

/// An exponent as it is written, and `shift` more. It may have any number of digits.
fn shifted(exponent: &str, shift: i128) -> String {
    /// A longer exponent is further from 0 than any text has digits.
    const LONG: usize = 30;
    let (is_negative, digits) = match exponent.as_bytes().first() {
        Some(b'-') => (true, &exponent[1..]),
        Some(b'+') => (false, &exponent[1..]),
        _ => (false, exponent),
    };
    let digits = digits.trim_start_matches('0');
    if digits.len() < LONG {
        let value: i128 = digits.parse().unwrap_or(0);
        return (if is_negative { -value } else { value } + shift).to_string();
    }
    // The sign stays, and only what is carried goes beyond the last digits.
    let mut carry = if is_negative { -shift } else { shift };
    let mut sum: Vec<String> = Vec::with_capacity(digits.len() + 1);
    for digit in digits.bytes().rev() {
        let value = i128::from(digit - b'0') + carry;
        sum.push(value.rem_euclid(10).to_string());
        carry = value.div_euclid(10);
    }
    sum.extend((carry > 0).then(|| carry.to_string()));
    sum.reverse();
    format!("{}{}", if is_negative { "-" } else { "" }, sum.concat().trim_start_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_have_one_form() {
        let long = "9".repeat(40);
        for (text, form) in [
            ("0", "0"),
            ("-0.00e7", "0"),
            ("1", "1e0"),
            ("1.0", "1e0"),
            ("10e-1", "1e0"),
            ("0.01E+2", "1e0"),
            ("-1200", "-12e2"),
            ("0.0250", "25e-3"),
            ("12e007", "12e7"),
            (&format!("10e{long}"), &format!("1e1{}", "0".repeat(40))),
            (&format!("0.1e1{}", "0".repeat(40)), &format!("1e{long}")),
            (&format!("0.1e-{long}"), &format!("1e-1{}", "0".repeat(40))),
        ] {
            assert_eq!(normal_form(text), form, "{text}");
        }
    }

    #[test]
    fn beginnings_of_equal_numbers_fit() {
        for text in ["1200", "1.2e3", "0.0012e6", "12000e-1", "1200.000"] {
            let form = normal_form(text);
            (1..=text.len()).for_each(|end| assert!(may_become(&text[..end], &form), "{}", &text[..end]));
        }
        for (beginning, form) in
            [("13", "12e0"), ("-1", "1e0"), ("1e", "12e0"), ("2", "0"), ("121", "12e3"), ("1", "-1e0")]
        {
            assert!(!may_become(beginning, form), "{beginning} {form}");
        }
        for (beginning, form) in [("-", "-5e1"), ("-0", "-5e1"), ("0", "5e1"), ("0.0", "5e-2")] {
            assert!(may_become(beginning, "0") && may_become(beginning, form), "{beginning}");
        }
    }
}
