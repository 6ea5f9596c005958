//! Decimal numbers of any size, exact.
//!
//! A number is kept as its significant digits and the place of the point, which is the form in which it is read,
//! compared and written. Arithmetic is rare (see `steps`) and goes through big integers.
//!
//! Invariants: the digits neither begin nor end with zero; zero has none, is not negative and has its point at 0. So
//! equal values are equal structures, however they were spelled.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::BigUint;

use crate::error::{Error, ErrorKind, Result};

/// A decimal number: its sign, and `0.d1d2d3... * 10^point`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    negative: bool,
    /// The significant digits, 0 to 9 each.
    digits: Box<[u8]>,
    point: i32,
}

impl Decimal {
    /// Numbers with more significant digits are refused.
    pub const MAX_DIGITS: usize = 3_000;

    /// Numbers whose first digit is further from the point than this are refused.
    pub const MAX_EXPONENT: i32 = 3_000;

    /// Nought.
    pub fn zero() -> Self {
        Decimal { negative: false, digits: Box::default(), point: 0 }
    }

    /// `10^exponent`.
    pub fn power_of_ten(exponent: i32) -> Self {
        Decimal { negative: false, digits: Box::new([1]), point: exponent + 1 }
    }

    /// The number that a JSON text spells.
    ///
    /// Fails with [`ErrorKind::Syntax`] on what is no JSON number, and with [`ErrorKind::Limit`] on numbers that would
    /// take too many digits to write down.
    pub fn parse(text: &str) -> Result<Self> {
        let Some(spelled) = Spelled::read(text) else {
            return Err(Error::new(ErrorKind::Syntax, format!("{:?} is not a JSON number", shortened(text))));
        };
        let digits: Vec<u8> =
            spelled.whole.bytes().chain(spelled.fraction.bytes()).map(|b| b - b'0').collect();
        let exponent = match spelled.exponent {
            Some(exponent) if digits.iter().any(|&digit| digit != 0) => read_exponent(exponent)?,
            _ => 0,
        };
        let point = i64::try_from(spelled.whole.len()).unwrap_or(i64::MAX).saturating_add(exponent);
        Self::new(spelled.negative, &digits, point)
    }

    /// `0.digits * 10^point`, with any digits.
    fn new(negative: bool, digits: &[u8], point: i64) -> Result<Self> {
        let Some(first) = digits.iter().position(|&digit| digit != 0) else { return Ok(Self::zero()) };
        let end = digits.iter().rposition(|&digit| digit != 0).map_or(0, |last| last + 1);
        let digits = &digits[first..end];
        let point = point.saturating_sub(i64::try_from(first).unwrap_or(i64::MAX));
        if digits.len() > Self::MAX_DIGITS {
            return Err(too_large("the number of significant digits of a number", Self::MAX_DIGITS));
        }
        match i32::try_from(point) {
            Ok(point) if point.abs() <= Self::MAX_EXPONENT => {
                Ok(Decimal { negative, digits: digits.into(), point })
            }
            _ => Err(too_large("the decimal exponent of a number", Self::MAX_EXPONENT)),
        }
    }

    /// `integer * 10^exponent`.
    pub(super) fn from_integer(negative: bool, integer: &BigUint, exponent: i64) -> Result<Self> {
        let digits = integer.to_radix_be(10);
        let length = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        Self::new(negative, &digits, exponent.saturating_add(length))
    }

    /// The magnitude times `10^scale`, which must be whole.
    pub(super) fn scaled_integer(&self, scale: i32) -> BigUint {
        debug_assert!(
            self.is_zero() || self.lowest_place() + scale >= 0,
            "{self} has more places than {scale}"
        );
        let zeros = (self.lowest_place() + scale).max(0).unsigned_abs();
        BigUint::from_radix_be(&self.digits, 10).unwrap_or_default() * BigUint::from(10_u8).pow(zeros)
    }

    /// Whether it is nought.
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Whether it is below nought.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Whether it is a whole number, as `1.0` is.
    pub fn is_integer(&self) -> bool {
        self.lowest_place() >= 0
    }

    /// Whether it is `10^n` for some `n`.
    pub(super) fn is_power_of_ten(&self) -> bool {
        !self.negative && *self.digits == [1]
    }

    /// The number with the other sign.
    #[must_use]
    pub fn negated(&self) -> Self {
        Decimal { negative: !self.negative && !self.is_zero(), ..self.clone() }
    }

    /// The number times `10^places`. The limits do not apply: those who shift by much shift back.
    #[must_use]
    pub(super) fn shifted(&self, places: i32) -> Self {
        let point = if self.is_zero() { 0 } else { self.point + places };
        Decimal { point, ..self.clone() }
    }

    /// The exponent of ten that its first digit stands for; nought has none, and gives -1.
    pub(super) fn highest_place(&self) -> i32 {
        self.point - 1
    }

    /// The exponent of ten that its last digit stands for; nought gives 0.
    pub(super) fn lowest_place(&self) -> i32 {
        self.point - i32::try_from(self.digits.len()).unwrap_or(i32::MAX)
    }

    /// How many significant digits it has.
    pub(super) fn digit_count(&self) -> usize {
        self.digits.len()
    }

    /// The digits before the point, at least one, and those behind it, without zeros at the end.
    pub(super) fn plain_digits(&self) -> (Vec<u8>, Vec<u8>) {
        let point = usize::try_from(self.point).unwrap_or(0);
        let split = point.min(self.digits.len());
        let mut whole = self.digits[..split].to_vec();
        whole.resize(point.max(1), 0);
        let mut fraction = vec![0; usize::try_from(-self.point).unwrap_or(0)];
        fraction.extend_from_slice(&self.digits[split..]);
        (whole, fraction)
    }

    fn magnitude_cmp(&self, other: &Self) -> Ordering {
        // Nought has no digits, and is below everything whatever its point.
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.point.cmp(&other.point).then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude_cmp(other),
            (true, true) => other.magnitude_cmp(self),
            (negative, _) => {
                if negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        let digits: Vec<u8> = value.unsigned_abs().to_string().bytes().map(|byte| byte - b'0').collect();
        let point = i64::try_from(digits.len()).unwrap_or(0);
        Self::new(value < 0, &digits, point).unwrap_or_else(|_| Self::zero())
    }
}

/// Plain digits where that is short, `d.ddde±n` elsewhere: JSON either way.
impl fmt::Display for Decimal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FEWEST_PLACES: i32 = -6;
        const MOST_PLACES: i32 = 21;
        let text = |digits: &[u8]| digits.iter().map(|&digit| char::from(b'0' + digit)).collect::<String>();
        if self.negative {
            out.write_str("-")?;
        }
        let scientific = !(FEWEST_PLACES..=MOST_PLACES).contains(&self.point);
        let (whole, fraction) = if scientific {
            (self.digits[..1].to_vec(), self.digits[1..].to_vec())
        } else {
            self.plain_digits()
        };
        out.write_str(&text(&whole))?;
        if !fraction.is_empty() {
            write!(out, ".{}", text(&fraction))?;
        }
        if scientific { write!(out, "e{:+}", self.highest_place()) } else { Ok(()) }
    }
}

/// The parts of a JSON number's text.
struct Spelled<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
    exponent: Option<&'t str>,
}

impl<'t> Spelled<'t> {
    fn read(text: &'t str) -> Option<Self> {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = text
            .split_once(['e', 'E'])
            .map_or((text, None), |(mantissa, exponent)| (mantissa, Some(exponent)));
        let (whole, fraction) =
            mantissa.split_once('.').map_or((mantissa, None), |(whole, fraction)| (whole, Some(fraction)));
        let has_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let unsigned = |text: &'t str| text.strip_prefix(['+', '-']).unwrap_or(text);
        let is_number = has_digits(whole)
            && (whole.len() == 1 || !whole.starts_with('0'))
            && fraction.is_none_or(has_digits)
            && exponent.is_none_or(|exponent| has_digits(unsigned(exponent)));
        is_number.then_some(Spelled { negative, whole, fraction: fraction.unwrap_or(""), exponent })
    }
}

/// The value of an exponent with its sign.
fn read_exponent(text: &str) -> Result<i64> {
    text.parse().map_err(|_| too_large("the decimal exponent of a number", Decimal::MAX_EXPONENT))
}

fn too_large(what: &str, limit: impl fmt::Display) -> Error {
    Error::new(ErrorKind::Limit, format!("{what} exceeds the limit of {limit}"))
}

/// The beginning of `text`, for an error message.
fn shortened(text: &str) -> &str {
    const LONGEST: usize = 60;
    text.char_indices().nth(LONGEST).map_or(text, |(end, _)| &text[..end])
}
