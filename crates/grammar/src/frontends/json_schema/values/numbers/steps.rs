//! The arithmetic of grids: all multiples of a positive step.
//!
//! Decimal steps are commensurable: over a power of ten they are whole numbers. So each operation scales its operands
//! to whole numbers, does the work there, and scales back. Greatest common divisors are the one thing here that takes
//! quadratic time; steps are kept short for their sake.

use num_bigint::BigUint;
use num_integer::Integer;

use super::decimal::Decimal;
use crate::error::{Error, ErrorKind, Result};

/// The scale at which both are whole: times ten to this.
fn common_scale(one: &Decimal, other: &Decimal) -> i32 {
    -one.lowest_place().min(other.lowest_place()).min(0)
}

fn both(one: &Decimal, other: &Decimal) -> (BigUint, BigUint, i64) {
    let scale = common_scale(one, other);
    (one.scaled_integer(scale), other.scaled_integer(scale), -i64::from(scale))
}

/// Two steps as whole numbers over powers of ten.
struct Pair {
    /// The step whose last digit stands higher.
    upper: BigUint,
    upper_place: i32,
    lower: BigUint,
    lower_place: i32,
    /// The greatest common divisor, over the power of ten of the lower step.
    divisor: BigUint,
}

impl Pair {
    fn new(one: &Decimal, other: &Decimal) -> Self {
        let (upper, lower) =
            if one.lowest_place() < other.lowest_place() { (other, one) } else { (one, other) };
        let (upper_place, lower_place) = (upper.lowest_place(), lower.lowest_place());
        let (upper, lower) = (upper.scaled_integer(-upper_place), lower.scaled_integer(-lower_place));
        // A power of ten above the number itself has all factors of ten that the number has. So the distance of the
        // places, which may be large, need not be multiplied out.
        let distance = u64::from((upper_place - lower_place).unsigned_abs()).min(lower.bits());
        let divisor = (&upper * BigUint::from(10_u8).pow(distance as u32)).gcd(&lower);
        Pair { upper, upper_place, lower, lower_place, divisor }
    }
}

/// Steps have at most so many significant digits.
pub(super) const MAX_DIGITS: usize = 400;

/// `step`, unless it has more digits than a step may have.
pub(super) fn checked(step: Decimal) -> Result<Decimal> {
    if step.digit_count() > MAX_DIGITS {
        let message = format!("a multiple of a number with more than {MAX_DIGITS} digits");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(step)
}

/// The step of the grid that two grids have in common.
pub(super) fn common_multiple(one: &Decimal, other: &Decimal) -> Result<Decimal> {
    if one == other {
        return Ok(one.clone());
    }
    let Pair { upper, upper_place, lower, divisor, .. } = Pair::new(one, other);
    checked(Decimal::from_integer(false, &(upper * (lower / divisor)), i64::from(upper_place))?)
}

/// The step of the coarsest grid that holds both grids.
pub(super) fn common_divisor(one: &Decimal, other: &Decimal) -> Result<Decimal> {
    let Pair { lower_place, divisor, .. } = Pair::new(one, other);
    Decimal::from_integer(false, &divisor, i64::from(lower_place))
}

/// Whether `value` is a multiple of `step`.
pub(super) fn is_multiple(value: &Decimal, step: &Decimal) -> bool {
    if value.is_zero() {
        return true;
    }
    let (value_place, step_place) = (value.lowest_place(), step.lowest_place());
    if value_place < step_place {
        // No multiple has a digit below the last one of its step.
        return false;
    }
    if step.is_power_of_ten() {
        return true;
    }
    let unit = step.scaled_integer(-step_place);
    let power = BigUint::from(10_u8).modpow(&BigUint::from((value_place - step_place).unsigned_abs()), &unit);
    (value.scaled_integer(-value_place) * power % unit).bits() == 0
}

/// The greatest multiple of `step` up to `value`.
pub(super) fn floor(value: &Decimal, step: &Decimal) -> Result<Decimal> {
    round(value, step, value.is_negative())
}

/// The least multiple of `step` from `value` on.
pub(super) fn ceiling(value: &Decimal, step: &Decimal) -> Result<Decimal> {
    round(value, step, !value.is_negative())
}

/// The multiple of `step` next to `value`, away from zero or towards it.
fn round(value: &Decimal, step: &Decimal, away: bool) -> Result<Decimal> {
    if is_multiple(value, step) {
        return Ok(value.clone());
    }
    let (magnitude, unit, exponent) = both(value, step);
    let count = magnitude / &unit + u8::from(away);
    Decimal::from_integer(value.is_negative(), &(count * unit), exponent)
}

/// The number one step above or below `value`.
pub(super) fn advance(value: &Decimal, step: &Decimal, up: bool) -> Result<Decimal> {
    let (magnitude, unit, exponent) = both(value, step);
    let grows = value.is_zero() || value.is_negative() != up;
    if grows {
        return Decimal::from_integer(!up, &(magnitude + unit), exponent);
    }
    let negative = value.is_negative() == (magnitude >= unit);
    let difference = if magnitude >= unit { magnitude - unit } else { unit - magnitude };
    Decimal::from_integer(negative, &difference, exponent)
}

/// How many steps lie between two numbers `low <= high`, rounded down; `None` beyond `most`.
pub(super) fn count_between(low: &Decimal, high: &Decimal, step: &Decimal, most: u64) -> Option<u64> {
    let scale = -low.lowest_place().min(high.lowest_place()).min(step.lowest_place()).min(0);
    let [low_size, high_size, unit] = [low, high, step].map(|number| number.scaled_integer(scale));
    let width = match (low.is_negative(), high.is_negative()) {
        (false, false) => high_size - low_size,
        (true, true) => low_size - high_size,
        _ => low_size + high_size,
    };
    u64::try_from(width / unit).ok().filter(|&count| count <= most)
}

/// A step as `odd * 2^twos * 5^fives * 10^exponent`, where `odd` shares no factor with ten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Factors {
    pub(super) odd: BigUint,
    pub(super) twos: i32,
    pub(super) fives: i32,
    pub(super) exponent: i32,
}

impl Factors {
    pub(super) fn of(step: &Decimal) -> Self {
        let exponent = step.lowest_place();
        let mut odd = step.scaled_integer(-exponent);
        let mut take = |factor: u8| {
            let mut count = 0;
            while (&odd % factor).bits() == 0 {
                odd /= factor;
                count += 1;
            }
            count
        };
        let (twos, fives) = (take(2), take(5));
        Factors { odd, twos, fives, exponent }
    }

    /// The lowest power of ten that the part without `odd` divides.
    pub(super) fn covering_power(&self) -> i32 {
        self.exponent + self.twos.max(self.fives)
    }
}
