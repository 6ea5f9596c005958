//! What must be remembered of the digits read so far, to know whether a number is in a set.
//!
//! A tracker reads a number digit by digit, first those before the point and then those behind it, and can say after
//! each digit whether the number, if it ended there, would be in its grid or on its side of a bound. The memory of a
//! tracker is one word; the product of several is the automaton of `automaton.rs`.

use std::cmp::Ordering;

use super::super::decimal::Decimal;
use super::super::interval::{Cut, Interval, Side};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Budget;

/// The memory of a tracker.
pub(super) type Memory = u64;

/// Where a number is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Whole,
    Fraction,
}

/// Watches whether a number is a multiple of `modulus * 10^exponent`.
#[derive(Debug)]
pub(super) struct GridTracker {
    modulus: u64,
    /// What matters of the remainder after so many places behind the point, before the last one: each place to come multiplies
    /// it by ten, which takes factors of the modulus away.
    moduli: Vec<u64>,
    /// The places behind the point that the grid has.
    places: usize,
    /// The zeros before the point that the grid asks for.
    zeros: usize,
    /// `10^n` modulo the modulus.
    powers: Vec<u64>,
}

impl GridTracker {
    /// No more digits can bring the number back to the grid.
    const OUTSIDE: Memory = Memory::MAX;
    /// The number is in the grid as long as only zeros follow.
    const INSIDE: Memory = Memory::MAX - 1;
    /// Where a memory keeps its count, above its remainder.
    const COUNT: u32 = 32;

    pub(super) fn new(step: &Decimal, budget: &Budget) -> Result<Self> {
        let exponent = step.lowest_place();
        let limit = budget.limits().max_states.min(u32::MAX as usize);
        let modulus = u64::try_from(step.scaled_integer(-exponent)).ok().filter(|&size| size <= limit as u64);
        let Some(modulus) = modulus else { return Err(too_many_remainders(step, limit)) };
        let (places, zeros) =
            (exponent.min(0).unsigned_abs() as usize, exponent.max(0).unsigned_abs() as usize);
        let powers = std::iter::successors(Some(1 % modulus), |power| Some(power * 10 % modulus));
        let powers = powers.take(places.max(zeros) + 2).collect();
        let left = std::iter::successors(Some(modulus), |left| Some(left / num_integer::gcd(*left, 10)));
        let mut moduli: Vec<u64> = left.take(places + 1).collect();
        moduli.reverse();
        Ok(GridTracker { modulus, moduli, places, zeros, powers })
    }

    pub(super) fn start(&self) -> Memory {
        Self::pack(self.zeros, 0)
    }

    fn pack(count: usize, remainder: u64) -> Memory {
        ((count as u64) << Self::COUNT) | remainder
    }

    fn unpack(memory: Memory) -> (usize, u64) {
        ((memory >> Self::COUNT) as usize, memory & u64::from(u32::MAX))
    }

    /// The memory after one more digit before the point. It counts the zeros that stand last, and the remainder is
    /// that of the digits before them.
    pub(super) fn read_whole(&self, memory: Memory, digit: u8) -> Memory {
        let (count, remainder) = Self::unpack(memory);
        match digit {
            0 if count < self.zeros => Self::pack(count + 1, remainder),
            0 => Self::pack(count, remainder * 10 % self.moduli[0]),
            _ => Self::pack(0, (remainder * self.powers[count + 1] + u64::from(digit)) % self.moduli[0]),
        }
    }

    /// The memory after the point. It counts the places behind it.
    pub(super) fn read_point(&self, memory: Memory) -> Memory {
        if self.places > 0 { memory } else { Self::settled(self.holds(memory, Part::Whole)) }
    }

    /// The memory after one more digit behind the point.
    pub(super) fn read_place(&self, memory: Memory, digit: u8) -> Memory {
        if memory >= Self::INSIDE {
            return Self::settled(memory == Self::INSIDE && digit == 0);
        }
        let (count, remainder) = Self::unpack(memory);
        let remainder = (remainder * 10 + u64::from(digit)) % self.moduli[count + 1];
        if count + 1 == self.places {
            Self::settled(remainder == 0)
        } else {
            Self::pack(count + 1, remainder)
        }
    }

    fn settled(inside: bool) -> Memory {
        if inside { Self::INSIDE } else { Self::OUTSIDE }
    }

    /// Whether the number would be in the grid if it ended here.
    pub(super) fn holds(&self, memory: Memory, part: Part) -> bool {
        if memory >= Self::INSIDE {
            return memory == Self::INSIDE;
        }
        let (count, remainder) = Self::unpack(memory);
        match part {
            Part::Whole if self.places == 0 => count == self.zeros && remainder == 0,
            Part::Whole => (remainder * self.powers[self.places]).is_multiple_of(self.modulus),
            Part::Fraction => (remainder * self.powers[self.places - count]).is_multiple_of(self.modulus),
        }
    }

    /// Whether no way of going on leads into the grid.
    pub(super) fn is_outside(memory: Memory) -> bool {
        memory == Self::OUTSIDE
    }
}

fn too_many_remainders(step: &Decimal, limit: usize) -> Error {
    let message = format!("the multiples of {step} have more remainders than the limit of {limit} states");
    Error::new(ErrorKind::Limit, message)
        .with_help("bound the numbers closely, or use a step with fewer significant digits")
}

/// Watches on which side of a bound a number is.
#[derive(Debug)]
pub(super) struct BoundTracker {
    digits: Vec<u8>,
    whole: usize,
    closed: bool,
    /// Whether the numbers above the bound are wanted, not those below.
    is_lower: bool,
}

impl BoundTracker {
    const LESS: Memory = 0;
    const EQUAL: Memory = 1;
    const GREATER: Memory = 2;
    /// How many bits of a memory say how the digits so far compare; above them are counted those digits.
    const COMPARISON: u32 = 2;

    /// The trackers of the ends of an interval.
    pub(super) fn of(interval: &Interval) -> Vec<Self> {
        let end = |cut: &Cut, closed_side: Side| match cut {
            Cut::At(value, side) => {
                let (mut digits, fraction) = value.plain_digits();
                let whole = digits.len();
                digits.extend(fraction);
                let is_lower = closed_side == Side::Below;
                Some(BoundTracker { digits, whole, closed: *side == closed_side, is_lower })
            }
            _ => None,
        };
        [end(&interval.low, Side::Below), end(&interval.high, Side::Above)].into_iter().flatten().collect()
    }

    pub(super) fn start() -> Memory {
        Self::EQUAL
    }

    fn pack(count: usize, comparison: Memory) -> Memory {
        ((count as u64) << Self::COMPARISON) | comparison
    }

    fn unpack(memory: Memory) -> (usize, Memory) {
        ((memory >> Self::COMPARISON) as usize, memory & 3)
    }

    fn compare(&self, at: usize, digit: u8) -> Memory {
        match digit.cmp(self.digits.get(at).unwrap_or(&0)) {
            Ordering::Less => Self::LESS,
            Ordering::Equal => Self::EQUAL,
            Ordering::Greater => Self::GREATER,
        }
    }

    /// The memory after one more digit before the point: how many there were, and how they compare with as many of the
    /// bound's.
    pub(super) fn read_whole(&self, memory: Memory, digit: u8) -> Memory {
        let (count, comparison) = Self::unpack(memory);
        if count >= self.whole {
            return Self::pack(self.whole + 1, Self::GREATER);
        }
        let comparison = if comparison == Self::EQUAL { self.compare(count, digit) } else { comparison };
        Self::pack(count + 1, comparison)
    }

    /// The memory after the point: how the number compares, and how many digits that rests on while they are equal.
    pub(super) fn read_point(&self, memory: Memory) -> Memory {
        match Self::unpack(memory) {
            (count, _) if count < self.whole => Self::LESS,
            (_, Self::EQUAL) => memory,
            (_, comparison) => comparison,
        }
    }

    /// The memory after one more digit behind the point.
    pub(super) fn read_place(&self, memory: Memory, digit: u8) -> Memory {
        match Self::unpack(memory) {
            (count, Self::EQUAL) => match self.compare(count, digit) {
                Self::EQUAL => Self::pack((count + 1).min(self.digits.len()), Self::EQUAL),
                other => other,
            },
            _ => memory,
        }
    }

    /// Whether the number would be on the right side if it ended here.
    pub(super) fn holds(&self, memory: Memory, part: Part) -> bool {
        let memory = if part == Part::Whole { self.read_point(memory) } else { memory };
        match Self::unpack(memory) {
            (_, Self::LESS) => !self.is_lower,
            (count, Self::EQUAL) if count < self.digits.len() => !self.is_lower,
            (_, Self::EQUAL) => self.closed,
            _ => self.is_lower,
        }
    }

    /// Whether no way of going on leads to the right side.
    pub(super) fn is_hopeless(&self, memory: Memory, part: Part) -> bool {
        let (count, comparison) = Self::unpack(memory);
        match (part, self.is_lower) {
            (Part::Whole, true) => false,
            (Part::Whole, false) => comparison == Self::GREATER && count >= self.whole,
            (Part::Fraction, true) => comparison == Self::LESS,
            (Part::Fraction, false) => comparison == Self::GREATER,
        }
    }
}
