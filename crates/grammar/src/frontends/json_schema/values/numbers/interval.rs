//! Intervals, as pairs of cuts.
//!
//! A cut lies between numbers, never on one: just below a number, just above it, or beyond all of them. With cuts for
//! ends there are no open and closed cases, two intervals that touch share a cut, and an interval is empty only if its
//! cuts are equal or crossed.

use super::decimal::Decimal;

/// The side of a number on which a cut lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Side {
    Below,
    Above,
}

/// A place between numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Cut {
    /// Below all numbers.
    Start,
    /// Next to a number.
    At(Decimal, Side),
    /// Above all numbers.
    End,
}

impl Cut {
    pub(super) fn below(value: Decimal) -> Self {
        Cut::At(value, Side::Below)
    }

    pub(super) fn above(value: Decimal) -> Self {
        Cut::At(value, Side::Above)
    }

    /// The same place on the line turned about zero.
    fn negated(&self) -> Self {
        match self {
            Cut::Start => Cut::End,
            Cut::End => Cut::Start,
            Cut::At(value, Side::Below) => Cut::above(value.negated()),
            Cut::At(value, Side::Above) => Cut::below(value.negated()),
        }
    }

    pub(super) fn shifted(&self, places: i32) -> Self {
        match self {
            Cut::At(value, side) => Cut::At(value.shifted(places), *side),
            other => other.clone(),
        }
    }
}

/// The numbers between two cuts; there is at least one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Interval {
    pub(super) low: Cut,
    pub(super) high: Cut,
}

impl Interval {
    /// The numbers between two cuts, if there are any.
    pub(super) fn new(low: Cut, high: Cut) -> Option<Self> {
        (low < high).then_some(Interval { low, high })
    }

    pub(super) fn all() -> Self {
        Interval { low: Cut::Start, high: Cut::End }
    }

    pub(super) fn point(value: &Decimal) -> Self {
        Interval { low: Cut::below(value.clone()), high: Cut::above(value.clone()) }
    }

    /// The number, where there is only one.
    pub(super) fn as_point(&self) -> Option<&Decimal> {
        match (&self.low, &self.high) {
            (Cut::At(low, Side::Below), Cut::At(high, Side::Above)) if low == high => Some(low),
            _ => None,
        }
    }

    pub(super) fn contains(&self, value: &Decimal) -> bool {
        let inside = |cut: &Cut| match cut {
            Cut::Start => true,
            Cut::End => false,
            Cut::At(end, Side::Below) => end <= value,
            Cut::At(end, Side::Above) => end < value,
        };
        inside(&self.low) && !inside(&self.high)
    }

    pub(super) fn intersect(&self, other: &Self) -> Option<Self> {
        Interval::new(self.low.clone().max(other.low.clone()), self.high.clone().min(other.high.clone()))
    }

    pub(super) fn negated(&self) -> Self {
        Interval { low: self.high.negated(), high: self.low.negated() }
    }

    pub(super) fn shifted(&self, places: i32) -> Self {
        Interval { low: self.low.shifted(places), high: self.high.shifted(places) }
    }
}
