//! Spellings with an exponent.
//!
//! With bounds, only *normalised* spellings are regular: one digit other than zero before the point of the mantissa.
//! The exponent then says how large the number is, up to a power of ten, and only where it is that of a bound does the
//! mantissa have to be compared, with the digits of the bound. A spelling such as `123456e-3` would have to be compared
//! with its length.
//!
//! Grids are similar: whether `1.25e2` is whole depends on the number of its digits against its exponent, which no
//! automaton can compare in general. But where writers use exponents at all (from `1e16` up, and below `1e-4`) they
//! write up to [`PLACES`] places, because that is what a binary floating-point number has. Up there everything with so
//! few places lies on every grid of powers of ten, and what remains is the part of the step that has nothing to do with
//! ten, which does not see the exponent. So a [`Group`] is a range of exponents under which mantissas have one condition.

use super::super::condition::Condition;
use super::super::decimal::Decimal;
use super::super::interval::{Cut, Interval};
use super::super::steps::Factors;
use super::digits::{Digits, Fraction};
use crate::error::Result;
use crate::ir::{Builder, ExprId};
use crate::limits::Budget;
use crate::regular::CharSet;

/// The greatest exponent that is written for small numbers.
pub(super) const SMALL: i32 = -5;

/// The least exponent that is written for large numbers.
pub(super) const LARGE: i32 = 16;

/// How many digits behind the point the mantissa of a number with a large exponent may have.
pub(super) const PLACES: i32 = 16;

/// The most exponents that get a condition each.
const MOST_SINGLE: usize = 400;

/// The same where a condition needs an automaton.
const MOST_AUTOMATA: usize = 16;

/// A range of exponents; `None` is without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exponents {
    pub(super) low: Option<i32>,
    pub(super) high: Option<i32>,
}

impl Exponents {
    pub(super) fn single(exponent: i32) -> Self {
        Exponents { low: Some(exponent), high: Some(exponent) }
    }

    pub(super) fn contains(self, exponent: i32) -> bool {
        self.low.is_none_or(|low| low <= exponent) && self.high.is_none_or(|high| exponent <= high)
    }

    /// The part in a range that has both ends, if there is one.
    pub(super) fn within(self, range: Self) -> Option<Self> {
        let low = self.low.max(range.low);
        let high = range.high.map(|high| self.high.map_or(high, |own| own.min(high)));
        (low <= high).then_some(Exponents { low, high })
    }

    /// The part strictly between two exponents, where there is one.
    fn between(self, below: Option<i32>, above: Option<i32>) -> Option<Self> {
        let low = self.low.max(below.map(|below| below + 1));
        let high = match (self.high, above.map(|above| above - 1)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        (low.is_none() || high.is_none() || low <= high).then_some(Exponents { low, high })
    }
}

/// Exponents, and the condition on the mantissas before them.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) exponents: Exponents,
    pub(super) condition: Condition,
}

/// The exponents that are accepted for numbers under `condition`.
pub(super) fn groups(condition: &Condition, budget: &Budget) -> Result<Vec<Group>> {
    if condition.is_anything() {
        let exponents = Exponents { low: None, high: None };
        return Ok(vec![Group { exponents, condition: condition.clone() }]);
    }
    let simple = condition.single_step().is_some_and(Decimal::is_power_of_ten);
    let most = if simple { MOST_SINGLE } else { MOST_AUTOMATA };
    let mut groups = small_groups(condition, most);
    groups.extend(large_groups(condition, most, budget)?);
    Ok(groups)
}

/// Below the steps of all grids no number is on a grid; above that, each exponent is a case of its own.
fn small_groups(condition: &Condition, most: usize) -> Vec<Group> {
    let lowest = condition.steps().map(Decimal::highest_place).min().unwrap_or(0);
    let free_up_to = (lowest - 1).min(SMALL);
    let single = |exponent: i32| Group {
        exponents: Exponents::single(exponent),
        condition: condition.shifted(-exponent),
    };
    let mut groups: Vec<Group> = (free_up_to + 1..=SMALL).rev().take(most).map(single).collect();
    if condition.holds_off_grid() {
        let exponents = Exponents { low: None, high: Some(free_up_to) };
        groups.push(Group { exponents, condition: Condition::anything() });
    }
    groups
}

/// Each exponent up to the one from which on all mantissas lie on the part of the grids that comes from ten.
fn large_groups(condition: &Condition, most: usize, budget: &Budget) -> Result<Vec<Group>> {
    let short = Condition::multiples(Decimal::power_of_ten(-PLACES));
    let covering = condition.steps().map(|step| Factors::of(step).covering_power()).max().unwrap_or(0);
    let uniform_from = LARGE.max(PLACES + covering);
    // No mantissa is a multiple of a step of ten or more.
    let lowest = condition.steps().map(Decimal::highest_place).min().unwrap_or(0);
    let from = if condition.holds_off_grid() { LARGE } else { LARGE.max(lowest) };
    let mut groups = Vec::new();
    for exponent in (from..uniform_from).take(most) {
        let condition = condition.shifted(-exponent).intersect(&short, budget)?;
        groups.push(Group { exponents: Exponents::single(exponent), condition });
    }
    let without_ten =
        |step: &Decimal| Decimal::from_integer(false, &Factors::of(step).odd, -i64::from(PLACES));
    let condition = condition.with_steps(without_ten)?.intersect(&short, budget)?;
    groups.push(Group { exponents: Exponents { low: Some(uniform_from), high: None }, condition });
    Ok(groups)
}

/// The exponents of `group` with the mantissas that the numbers of an interval above zero have there.
pub(super) fn spans(interval: &Interval, group: Exponents) -> Vec<(Exponents, Interval)> {
    let place = |cut: &Cut| match cut {
        Cut::At(value, _) if !value.is_zero() => Some(value.highest_place()),
        _ => None,
    };
    let mantissas = Interval { low: Cut::below(Decimal::from(1)), high: Cut::below(Decimal::from(10)) };
    let (mut below, mut above) = (place(&interval.low), place(&interval.high));
    let mut spans = Vec::new();
    let at_ends = [below, above.filter(|_| above != below)];
    for exponent in at_ends.into_iter().flatten().filter(|&exponent| group.contains(exponent)) {
        match interval.shifted(-exponent).intersect(&mantissas) {
            // All mantissas are: the exponent joins those in the middle.
            Some(all) if all == mantissas => {
                below = below.map(|below| if below == exponent { below - 1 } else { below });
                above = above.map(|above| if above == exponent { above + 1 } else { above });
            }
            Some(part) => spans.push((Exponents::single(exponent), part)),
            None => {}
        }
    }
    spans.extend(group.between(below, above).map(|exponents| (exponents, mantissas)));
    spans
}

/// The letter and an exponent of the range, with any sign that fits and any zeros in front.
pub(super) fn exponent(builder: &mut Builder, exponents: Exponents) -> ExprId {
    let letter = builder.class(CharSet::new([('e', 'e'), ('E', 'E')]));
    if exponents == (Exponents { low: None, high: None }) {
        let sign = builder.class(CharSet::new([('+', '+'), ('-', '-')]));
        let sign = builder.optional(sign);
        let digits = padded(builder, 0, None);
        return builder.seq([letter, sign, digits]);
    }
    let mut signed = Vec::new();
    if exponents.high.is_none_or(|high| high >= 0) {
        let plus = builder.bytes(b"+");
        let plus = builder.optional(plus);
        let digits = padded(builder, exponents.low.unwrap_or(0).max(0), exponents.high);
        signed.push(builder.seq([plus, digits]));
    }
    if exponents.low.is_none_or(|low| low < 0) {
        let minus = builder.bytes(b"-");
        let least = exponents.high.map_or(0, |high| (-high).max(0));
        let digits = padded(builder, least, exponents.low.map(|low| -low));
        signed.push(builder.seq([minus, digits]));
    }
    let signed = builder.alt(signed);
    builder.seq([letter, signed])
}

/// The whole numbers of a range with zeros in front.
fn padded(builder: &mut Builder, low: i32, high: Option<i32>) -> ExprId {
    if low == 0 && high.is_none() {
        let digit = builder.class(CharSet::new([('0', '9')]));
        return builder.repeat(digit, 1, None);
    }
    let high = high.map_or(Cut::End, |high| Cut::above(Decimal::from(i64::from(high))));
    let interval = Interval { low: Cut::below(Decimal::from(i64::from(low))), high };
    let digits = Digits::new(builder, Fraction::Never).interval(&interval);
    let zero = builder.bytes(b"0");
    let zeros = builder.repeat(zero, 0, None);
    builder.seq([zeros, digits])
}
