use super::*;
use crate::ErrorKind;

#[test]
fn equal_values_are_equal() {
    for spellings in [
        &["1", "1.0", "10e-1", "0.1e1", "1E+0", "0.00001e00005"][..],
        &["0", "-0", "0.000", "0e999999999999999999999999", "-0.0E-7"],
        &["-120", "-1.2e2", "-120.00", "-12e1"],
        &["0.001", "1e-3", "0.0010"],
    ] {
        for text in spellings {
            assert_eq!(decimal(text), decimal(spellings[0]), "{text}");
        }
    }
}

#[test]
fn numbers_are_ordered() {
    let ordered =
        ["-1e30", "-12", "-1.5", "-1", "-0.02", "0", "1e-300", "0.1", "0.11", "1", "9", "10", "1e2", "1e308"];
    for (at, low) in ordered.iter().enumerate() {
        for high in &ordered[at + 1..] {
            assert!(decimal(low) < decimal(high), "{low} < {high}");
        }
    }
}

#[test]
fn what_is_shown_reads_back() {
    for (text, shown) in [
        ("100", "100"),
        ("-0.5", "-0.5"),
        ("1e-6", "0.000001"),
        ("1.5e-9", "1.5e-9"),
        ("12345e20", "1.2345e+24"),
        ("-0", "0"),
        ("9223372036854775808", "9223372036854775808"),
    ] {
        assert_eq!(decimal(text).to_string(), shown);
        assert_eq!(decimal(shown), decimal(text));
    }
}

#[test]
fn other_texts_are_no_numbers() {
    for text in
        ["", "-", "+1", "01", ".5", "1.", "1e", "1e+", "e5", "0x1", "1 ", "١", "NaN", "--1", "1.e1", "1e1.5"]
    {
        assert_eq!(Decimal::parse(text).unwrap_err().kind(), ErrorKind::Syntax, "{text}");
    }
}

#[test]
fn absurd_sizes_are_refused() {
    for text in ["1e999999999", "-1e-999999999", "1e99999999999999999999999999", "0.1e-3001"] {
        assert_eq!(Decimal::parse(text).unwrap_err().kind(), ErrorKind::Limit, "{text}");
    }
    let long = "7".repeat(1_000_000);
    assert_eq!(Decimal::parse(&long).unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(decimal(&format!("1{}", "0".repeat(400))), decimal("1e400"));
}

#[test]
fn integers_of_the_machine() {
    for value in [0, 1, -1, 10, i64::MAX, i64::MIN] {
        assert_eq!(Decimal::from(value), decimal(&value.to_string()));
    }
}
