//! The plain decimal spellings of the numbers of an interval: digits, a point, digits.
//!
//! Two spellings with equally many digits before the point compare digit by digit, and with more digits there the
//! number is larger, since no spelling begins with a superfluous zero. So an interval is: numbers as long as its lower
//! end and not below it, longer ones, and numbers as long as its upper end and not above it. "Not below" reads the
//! digits of the end as long as they are equal; after a larger digit everything may follow. That is one step a digit, so
//! an expression is linear in the digits of the ends.
//!
//! What may follow behind the point is a [`Fraction`]; an interval of a grid of tenths or hundredths ends at members of
//! the grid, and then differs from other intervals in nothing else.
//!
//! The chains of digits are built from their end, in loops: an end may have thousands of digits.

use std::cmp::Ordering;

use crate::ir::{Builder, ExprId};
use crate::regular::CharSet;

use super::super::decimal::Decimal;
use super::super::interval::{Cut, Interval, Side};

/// What may stand behind the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fraction {
    /// Any digits.
    Free,
    /// Up to so many digits, and then zeros.
    Places(u32),
    /// There is no point.
    Never,
}

/// What may follow some digits.
#[derive(Clone, Copy)]
struct Rest {
    /// Whether the number may end here.
    ends: bool,
    /// The ways to go on, with the point if it is due.
    more: ExprId,
}

/// An end of an interval, by its digits.
struct Limit {
    /// All digits, with zeros added so that they can be compared.
    digits: Vec<u8>,
    /// How many of them stand before the point.
    whole: usize,
    /// Whether the end itself is in the interval.
    closed: bool,
}

impl Limit {
    fn new(value: &Decimal, closed: bool) -> Self {
        let (mut digits, fraction) = value.plain_digits();
        let whole = digits.len();
        digits.extend(fraction);
        Limit { digits, whole, closed }
    }

    /// From where on all digits are zero.
    fn zeros_from(&self) -> usize {
        self.digits.iter().rposition(|&digit| digit != 0).map_or(0, |last| last + 1)
    }

    /// Whether it is 1, 10, 100, ...
    fn is_shortest(&self) -> bool {
        self.closed && self.zeros_from() == 1 && self.digits[0] == 1
    }

    fn is_zero(&self) -> bool {
        self.zeros_from() == 0
    }
}

/// Digits that are read one way only, and what follows them. Built from the end.
struct Chain {
    /// The last one first.
    literal: Vec<u8>,
    rest: ExprId,
}

impl Chain {
    fn new(rest: ExprId) -> Self {
        Chain { literal: Vec::new(), rest }
    }

    fn finish(self, builder: &mut Builder) -> ExprId {
        let text: Vec<u8> = self.literal.into_iter().rev().collect();
        let text = builder.bytes(text);
        builder.seq([text, self.rest])
    }
}

/// Writes expressions of digits.
pub(super) struct Digits<'b> {
    builder: &'b mut Builder,
    fraction: Fraction,
    /// The most places behind the point, zeros among them, if there is an end to them.
    most: Option<u32>,
}

impl<'b> Digits<'b> {
    pub(super) fn new(builder: &'b mut Builder, fraction: Fraction) -> Self {
        Digits { builder, fraction, most: None }
    }

    /// The same with at most so many places behind the point. The ends of intervals have no more of them, and are in the
    /// interval.
    pub(super) fn within(self, most: Option<u32>) -> Self {
        Digits { most, ..self }
    }

    /// The numbers of `interval`, which lies at or above zero.
    ///
    /// Unless the fraction is free, the ends of the interval are in it, and have no more places than the fraction.
    pub(super) fn interval(&mut self, interval: &Interval) -> ExprId {
        let low = match &interval.low {
            Cut::At(value, side) => Limit::new(value, *side == Side::Below),
            _ => Limit::new(&Decimal::zero(), true),
        };
        let high = match &interval.high {
            Cut::At(value, side) => Some(Limit::new(value, *side == Side::Above)),
            _ => None,
        };
        match high {
            Some(high) if high.whole == low.whole => self.between(low, high),
            high => self.longer(&low, high.as_ref()),
        }
    }

    /// Between two ends of different length.
    fn longer(&mut self, low: &Limit, high: Option<&Limit>) -> ExprId {
        // Whole parts after which any fraction fits, and everything else.
        let (mut free, mut tight) = (Vec::new(), Vec::new());
        let mut shortest = low.whole;
        if low.is_zero() {
            let zero = self.digit(0, 0);
            if low.closed { free.push(zero) } else { tight.push(self.positive_after(zero)) }
        } else if !low.is_shortest() {
            let first = low.digits[0];
            let rest = self.at_least(low, 1);
            let freely = self.split(first, rest, low.whole, &mut tight);
            if first > 0 {
                shortest += 1;
                free.push(self.whole_part(if freely { first } else { first + 1 }, 9, low.whole));
            }
        }
        let longest = high.map(|high| if self.is_longest(high) { high.whole } else { high.whole - 1 });
        free.push(self.any_whole(shortest, longest));
        if let Some(high) = high.filter(|high| longest != Some(high.whole)) {
            let first = high.digits[0];
            let rest = self.at_most(high, 1);
            let freely = self.split(first, rest, high.whole, &mut tight);
            free.push(self.whole_part(1, if freely { first } else { first - 1 }, high.whole));
        }
        let free = self.builder.alt(free);
        let tail = self.tail();
        let free = self.builder.seq([free, tail]);
        self.builder.alt(std::iter::once(free).chain(tight))
    }

    /// Adds the numbers of `whole` digits that begin with `first` to `tight`, unless anything may follow that digit.
    fn split(&mut self, first: u8, rest: Rest, whole: usize, tight: &mut Vec<ExprId>) -> bool {
        let rest = self.follow(rest);
        let free = self.free_rest(whole, 1);
        let freely = rest == self.follow(free);
        if !freely {
            let first = self.digit(first, first);
            tight.push(self.builder.seq([first, rest]));
        }
        freely
    }

    /// Between two ends of equal length.
    fn between(&mut self, mut low: Limit, mut high: Limit) -> ExprId {
        let length = low.digits.len().max(high.digits.len());
        low.digits.resize(length, 0);
        high.digits.resize(length, 0);
        let (whole, zeros) = (low.whole, low.zeros_from());
        let parts = (0..length).find(|&at| low.digits[at] != high.digits[at]);
        let ends = |at: usize| at >= whole && at >= zeros && low.closed;
        let (mut at, mut rest) = match parts {
            None => (length, self.at_most(&high, length)),
            Some(at) => {
                let more = self.fork(&low, &high, at);
                (at, Rest { ends: ends(at), more: self.dotted(at == whole, more) })
            }
        };
        // The ends agree before that, and a number may stop where the lower end has only zeros left.
        while at > 0 && ends(at - 1) {
            at -= 1;
            let more = self.after_digit(low.digits[at], rest);
            rest = Rest { ends: true, more: self.dotted(at == whole, more) };
        }
        let mut prefix: Vec<u8> = low.digits[..at].iter().map(|digit| b'0' + digit).collect();
        if at > whole {
            prefix.insert(whole, b'.');
        }
        let prefix = self.builder.bytes(prefix);
        let rest = self.follow(rest);
        self.builder.seq([prefix, rest])
    }

    /// The digit at which two ends part, and what follows it.
    fn fork(&mut self, low: &Limit, high: &Limit, at: usize) -> ExprId {
        let (lowest, highest) = (low.digits[at], high.digits[at]);
        let rest = self.at_least(low, at + 1);
        let after_lowest = self.follow(rest);
        let rest = self.at_most(high, at + 1);
        let after_highest = self.follow(rest);
        let rest = self.free_rest(low.whole, at + 1);
        let between = self.follow(rest);
        let middle = (lowest + 1, highest.saturating_sub(1), between);
        self.branches([(lowest, lowest, after_lowest), middle, (highest, highest, after_highest)])
    }

    /// Ranges of digits, in order and without gaps, with what follows each; where the same follows they are one.
    fn branches(&mut self, ranges: impl IntoIterator<Item = (u8, u8, ExprId)>) -> ExprId {
        let mut merged: Vec<(u8, u8, ExprId)> = Vec::new();
        for (lowest, highest, rest) in ranges.into_iter().filter(|range| range.0 <= range.1) {
            match merged.last_mut() {
                Some(last) if last.2 == rest => last.1 = highest,
                _ => merged.push((lowest, highest, rest)),
            }
        }
        let mut branches = Vec::with_capacity(merged.len());
        for (lowest, highest, rest) in merged {
            let digit = self.digit(lowest, highest);
            branches.push(self.builder.seq([digit, rest]));
        }
        self.builder.alt(branches)
    }

    /// What may follow the first `from` digits of `low` in a number that is not below it.
    fn at_least(&mut self, low: &Limit, from: usize) -> Rest {
        let zeros = low.zeros_from();
        let start = if low.closed { zeros } else { zeros.max(low.whole) }.max(from);
        let first = if low.closed {
            self.free_rest(low.whole, start)
        } else {
            Rest { ends: false, more: self.positive(start == low.whole) }
        };
        self.chain(low, from, start, first, Ordering::Greater)
    }

    /// What may follow the first `from` digits of `high` in a number that is not above it.
    fn at_most(&mut self, high: &Limit, from: usize) -> Rest {
        let nines = self.nines_from(high);
        let start = nines.unwrap_or_else(|| high.zeros_from().max(high.whole)).max(from);
        let first = if nines.is_some() {
            self.free_rest(high.whole, start)
        } else if high.closed && self.fraction != Fraction::Never {
            let zeros = self.zeros(1, start - high.whole);
            Rest { ends: true, more: self.dotted(start == high.whole, zeros) }
        } else {
            Rest { ends: high.closed, more: self.builder.never() }
        };
        self.chain(high, from, start, first, Ordering::Less)
    }

    /// What may follow the first `from` digits of `limit`, given what may follow the first `start` of them: the next
    /// digit of the limit, or one that is on the given side of it and then anything. A number that stops where the
    /// limit has digits left is below it.
    fn chain(&mut self, limit: &Limit, from: usize, start: usize, first: Rest, side: Ordering) -> Rest {
        if start <= from {
            return first;
        }
        let ends_early = side == Ordering::Less;
        let mut chain = Chain::new(self.follow(first));
        for at in (from..start).rev() {
            let digit = limit.digits[at];
            let only = if ends_early { 0 } else { 9 };
            if digit == only {
                chain.literal.push(b'0' + digit);
            } else {
                let equal = chain.finish(self.builder);
                chain = Chain::new(self.either_side(limit, at, equal, side));
            }
            if at == limit.whole {
                chain.literal.push(b'.');
            }
            if at >= limit.whole && ends_early && at > from {
                let more = chain.finish(self.builder);
                chain = Chain::new(self.builder.optional(more));
            }
        }
        Rest { ends: ends_early && from >= limit.whole, more: chain.finish(self.builder) }
    }

    /// The digit of `limit` and `equal`, or a digit on the given side of it and anything.
    fn either_side(&mut self, limit: &Limit, at: usize, equal: ExprId, side: Ordering) -> ExprId {
        let digit = limit.digits[at];
        let rest = self.free_rest(limit.whole, at + 1);
        let free = self.follow(rest);
        match side {
            Ordering::Less => self.branches([(0, digit - 1, free), (digit, digit, equal)]),
            _ => self.branches([(digit, digit, equal), (digit + 1, 9, free)]),
        }
    }

    /// From where on anything may follow the digits of an upper end because they are nines, where that is so.
    fn nines_from(&self, high: &Limit) -> Option<usize> {
        let length = match self.fraction {
            Fraction::Free => return None,
            Fraction::Places(places) => high.whole + places as usize,
            Fraction::Never => high.whole,
        };
        let nines = high.digits.iter().rposition(|&digit| digit != 9).map_or(0, |last| last + 1);
        (high.closed && high.digits.len() == length && nines < length).then_some(nines)
    }

    /// Anything, in a number of `whole` digits before the point of which `read` are read.
    fn free_rest(&mut self, whole: usize, read: usize) -> Rest {
        if read < whole {
            let digits = self.some_digits(whole - read, Some(whole - read));
            let tail = self.tail();
            return Rest { ends: false, more: self.builder.seq([digits, tail]) };
        }
        let more = self.places_after(read - whole);
        Rest { ends: true, more: self.dotted(read == whole, more) }
    }

    /// One or more digits behind the point, after `read` others.
    fn places_after(&mut self, read: usize) -> ExprId {
        match self.fraction {
            Fraction::Never => self.builder.never(),
            Fraction::Free => match self.most.map(|most| (most as usize).saturating_sub(read)) {
                Some(0) => self.builder.never(),
                most => self.some_digits(1, most),
            },
            Fraction::Places(places) if read < places as usize => {
                let digits = self.some_digits(1, Some(places as usize - read));
                let zeros = self.zeros(0, places as usize);
                self.builder.seq([digits, zeros])
            }
            Fraction::Places(_) => self.zeros(1, read),
        }
    }

    /// A fraction, or none.
    fn tail(&mut self) -> ExprId {
        let rest = self.free_rest(0, 0);
        self.follow(rest)
    }

    /// Digits that are not all zero, behind the point.
    fn positive(&mut self, point_due: bool) -> ExprId {
        let zeros = self.zeros(0, 0);
        let digit = self.digit(1, 9);
        let rest = self.some_digits(0, None);
        let positive = self.builder.seq([zeros, digit, rest]);
        self.dotted(point_due, positive)
    }

    fn positive_after(&mut self, zero: ExprId) -> ExprId {
        let positive = self.positive(true);
        self.builder.seq([zero, positive])
    }

    fn after_digit(&mut self, digit: u8, rest: Rest) -> ExprId {
        let digit = self.digit(digit, digit);
        let rest = self.follow(rest);
        self.builder.seq([digit, rest])
    }

    fn follow(&mut self, rest: Rest) -> ExprId {
        if rest.ends { self.builder.optional(rest.more) } else { rest.more }
    }

    fn dotted(&mut self, point_due: bool, digits: ExprId) -> ExprId {
        if !point_due {
            return digits;
        }
        let point = self.builder.bytes(b".");
        self.builder.seq([point, digits])
    }

    /// Whether no number of its length is above it: 9, 99, 999, ...
    fn is_longest(&self, high: &Limit) -> bool {
        self.nines_from(high) == Some(0)
    }

    /// `length` digits of which the first is in a range.
    fn whole_part(&mut self, lowest: u8, highest: u8, length: usize) -> ExprId {
        let first = self.digit(lowest, highest);
        let rest = self.some_digits(length - 1, Some(length - 1));
        self.builder.seq([first, rest])
    }

    /// The digits of any positive whole number of some lengths.
    fn any_whole(&mut self, shortest: usize, longest: Option<usize>) -> ExprId {
        if longest.is_some_and(|longest| longest < shortest) {
            return self.builder.never();
        }
        let first = self.digit(1, 9);
        let rest = self.some_digits(shortest - 1, longest.map(|longest| longest - 1));
        self.builder.seq([first, rest])
    }

    fn some_digits(&mut self, least: usize, most: Option<usize>) -> ExprId {
        let digit = self.digit(0, 9);
        self.builder.repeat(digit, least as u32, most.map(|most| most as u32))
    }

    /// Zeros behind the point, after `read` other places.
    fn zeros(&mut self, least: u32, read: usize) -> ExprId {
        let most = self.most.map(|most| most.saturating_sub(read as u32));
        if most.is_some_and(|most| most < least) {
            return self.builder.never();
        }
        let zero = self.digit(0, 0);
        self.builder.repeat(zero, least, most)
    }

    /// One digit of a range, which may be empty.
    fn digit(&mut self, lowest: u8, highest: u8) -> ExprId {
        match lowest.cmp(&highest) {
            Ordering::Less => {
                let [lowest, highest] = [lowest, highest].map(|digit| char::from(b'0' + digit));
                self.builder.class(CharSet::new([(lowest, highest)]))
            }
            Ordering::Equal => self.builder.bytes([b'0' + lowest]),
            Ordering::Greater => self.builder.never(),
        }
    }
}
