//! Sets of numbers as regular expressions over their JSON spellings.
//!
//! What is accepted is in the set, always. Every number of the set is accepted in its plain spelling (`-?` digits, and
//! behind a point no more digits than it needs), and with zeros after that. Beyond it:
//!
//! - A set that has no bounds but zero takes all spellings, with any mantissa and exponent.
//! - Under other bounds, numbers take exponents behind normalised mantissas, with one digit other than zero before
//!   the point. That is what programs write.
//! - Whole numbers, and other multiples, take exponents where programs write them (see `exponent`): from `e16` up and
//!   from `e-5` down, with up to 16 places in the mantissa. Whole numbers without bounds but zero and one take `1e3`
//!   too.
//! - Single numbers likewise.
//!
//! Of these, [`Forms::canonical`] leaves what programs write: see `canonical`.
//!
//! Which form a piece of the set gets: digits and classes for intervals, and for grids of a power of ten, which cost a
//! step for each digit of an end (`digits`); a list for a few numbers; and an automaton of remainders for the rest
//! (`automaton`), within the limit on states.

mod automaton;
mod canonical;
mod digits;
mod exponent;
mod memo;
mod residues;
mod trackers;

pub(super) use self::automaton::automaton;
pub(super) use self::canonical::gives_up;
use self::digits::{Digits, Fraction};
use self::exponent::{Exponents, LARGE, PLACES, SMALL};
pub use self::memo::emit;
use super::condition::Condition;
use super::decimal::Decimal;
use super::interval::{Cut, Interval};
use super::set::{NumberSet, Piece};
use super::steps::{self, Factors};
use crate::error::Result;
use crate::ir::{Builder, ExprId};
use crate::limits::Budget;
use crate::regular::CharSet;

/// Which forms of a number are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Forms {
    /// Whether a whole number may be spelled as `1.0` or `1e3` where only whole numbers are wanted. Draft 4 says no.
    pub integers_as_floats: bool,
    /// Whether zero may be spelled as `-0` where no number below zero is wanted. It is valid, and leads astray a model
    /// that starts with a minus. Where there are numbers below zero, `-0` is always accepted.
    pub negative_zero: bool,
    /// Whether only those are accepted in which programs write numbers; then the others say nothing.
    pub canonical: bool,
}

impl Default for Forms {
    fn default() -> Self {
        Forms { integers_as_floats: true, negative_zero: true, canonical: false }
    }
}

/// The JSON spellings of the numbers of a set, found anew.
fn compute(set: &NumberSet, forms: Forms, builder: &mut Builder, budget: &Budget) -> Result<ExprId> {
    let mut emitter = Emitter { builder, budget, forms, places: None };
    if forms.canonical {
        return canonical::compute(&mut emitter, set);
    }
    let from_zero = NumberSet::at_least(Decimal::zero());
    let positive = set.intersect(&from_zero, budget)?;
    let mut negative = set.negated().intersect(&from_zero, budget)?;
    if !forms.negative_zero && negative.single().is_some_and(Decimal::is_zero) {
        negative = NumberSet::none();
    }
    let minus = emitter.builder.bytes(b"-");
    let unsigned = emitter.magnitudes(&positive)?;
    if positive == negative {
        let sign = emitter.builder.optional(minus);
        return Ok(emitter.builder.seq([sign, unsigned]));
    }
    let signed = emitter.magnitudes(&negative)?;
    let signed = emitter.builder.seq([minus, signed]);
    emitter.builder.check()?;
    Ok(emitter.builder.alt([unsigned, signed]))
}

/// Pieces with at most this many numbers are listed.
const FEW: u64 = 32;

/// Pieces with at most this many numbers are listed where there are too many remainders for an automaton.
const MANY: u64 = 10_000;

/// Automata of mantissas have at most about this many states; beyond, exponents are not accepted.
const MANTISSA_STATES: u64 = 20_000;

struct Emitter<'b> {
    builder: &'b mut Builder,
    budget: &'b Budget,
    forms: Forms,
    /// The most places behind the point, zeros among them, where there is an end to them.
    places: Option<u32>,
}

impl Emitter<'_> {
    /// The spellings without sign of the numbers of a set at or above zero.
    fn magnitudes(&mut self, set: &NumberSet) -> Result<ExprId> {
        let (points, pieces): (Vec<&Piece>, Vec<&Piece>) =
            set.pieces().iter().partition(|piece| piece.interval.as_point().is_some());
        let points: Vec<&Decimal> = points.iter().filter_map(|piece| piece.interval.as_point()).collect();
        let mut parts = vec![self.points(&points)?];
        for piece in pieces {
            parts.push(self.piece(piece)?);
            self.builder.check()?;
        }
        Ok(self.builder.alt(parts))
    }

    /// Single numbers.
    fn points(&mut self, points: &[&Decimal]) -> Result<ExprId> {
        let floats = self.forms.integers_as_floats;
        let mut parts = vec![self.listed(points.iter().copied(), floats)?];
        for &point in points {
            let place = point.highest_place();
            let is_far = !point.is_zero() && (place <= SMALL || place >= LARGE);
            if is_far && (floats || !point.is_integer()) {
                let mantissa = Interval::point(&point.shifted(-place));
                let mantissa = Digits::new(self.builder, Fraction::Free).interval(&mantissa);
                parts.push(self.with_exponent(mantissa, Exponents::single(place)));
            }
        }
        Ok(self.builder.alt(parts))
    }

    /// The plain spellings of these numbers; without `points`, the whole ones have no point.
    fn listed<'d>(&mut self, numbers: impl Iterator<Item = &'d Decimal>, points: bool) -> Result<ExprId> {
        let (mut whole, mut parts) = (Vec::new(), Vec::new());
        for number in numbers {
            self.budget.tick()?;
            let fraction = if number.is_integer() { Fraction::Never } else { Fraction::Free };
            let mut digits = Digits::new(self.builder, fraction).within(self.places);
            let digits = digits.interval(&Interval::point(number));
            if number.is_integer() { whole.push(digits) } else { parts.push(digits) }
        }
        let whole = self.builder.alt(whole);
        parts.push(if points { self.with_zeros(whole) } else { whole });
        Ok(self.builder.alt(parts))
    }

    /// The numbers of a piece that is more than a point.
    fn piece(&mut self, piece: &Piece) -> Result<ExprId> {
        if piece.condition.is_whole() && !self.forms.integers_as_floats {
            return self.plain(piece, false);
        }
        let is_open = piece.interval.high == Cut::End;
        let from_zero = matches!(&piece.interval.low, Cut::At(value, _) if value.is_zero());
        let from_one = piece.interval.low == Cut::below(Decimal::from(1));
        if is_open && from_zero && piece.condition.is_anything() {
            let mantissa = self.plain(piece, true)?;
            let exponent = exponent::exponent(self.builder, Exponents { low: None, high: None });
            let exponent = self.builder.optional(exponent);
            return Ok(self.builder.seq([mantissa, exponent]));
        }
        let is_integer = piece.condition.single_step() == Some(&Decimal::from(1));
        if is_open && (from_zero || from_one) && is_integer {
            return self.integers(piece);
        }
        let plain = self.plain(piece, true)?;
        let scientific = self.scientific(piece)?;
        Ok(self.builder.alt([plain, scientific]))
    }

    /// All whole numbers from zero or one on.
    fn integers(&mut self, piece: &Piece) -> Result<ExprId> {
        let digits = self.plain(piece, true)?;
        let exponent = exponent::exponent(self.builder, Exponents { low: Some(0), high: None });
        let exponent = self.builder.optional(exponent);
        let digits = self.builder.seq([digits, exponent]);
        // Whether `1.5e1` is whole hangs on the number of its places; from `e16` up all that programs write is.
        let digit = self.builder.class(CharSet::new([('0', '9')]));
        let more = self.builder.repeat(digit, 1, Some(PLACES.unsigned_abs()));
        let more = self.with_exponent(more, Exponents { low: Some(LARGE), high: None });
        let first = self.builder.class(CharSet::new([('1', '9')]));
        let point = self.builder.bytes(b".");
        let fractional = self.builder.seq([first, point, more]);
        Ok(self.builder.alt([digits, fractional]))
    }

    /// The plain spellings of the numbers of a piece; without `points`, those without a point.
    fn plain(&mut self, piece: &Piece, points: bool) -> Result<ExprId> {
        if piece.interval.as_point().is_some() || piece.condition.is_anything() {
            return Ok(Digits::new(self.builder, Fraction::Free)
                .within(self.places)
                .interval(&piece.interval));
        }
        match piece.condition.single_step() {
            Some(step) if step.is_power_of_ten() => Ok(self.power_of_ten(piece, step.lowest_place(), points)),
            _ => self.multiples(piece, points),
        }
    }

    /// The multiples of a power of ten.
    fn power_of_ten(&mut self, piece: &Piece, exponent: i32, points: bool) -> ExprId {
        if exponent < 0 {
            let fraction = Fraction::Places(exponent.unsigned_abs());
            return Digits::new(self.builder, fraction).within(self.places).interval(&piece.interval);
        }
        let counts = piece.interval.shifted(-exponent);
        let mut digits = Vec::new();
        let above_zero = Interval { low: Cut::below(Decimal::from(1)), high: Cut::End };
        let counts = if exponent > 0 && counts.contains(&Decimal::zero()) {
            digits.push(self.builder.bytes(b"0"));
            counts.intersect(&above_zero)
        } else {
            Some(counts)
        };
        if let Some(counts) = counts {
            let count = Digits::new(self.builder, Fraction::Never).interval(&counts);
            let zero = self.builder.bytes(b"0");
            let zeros = self.builder.repeat(zero, exponent.unsigned_abs(), Some(exponent.unsigned_abs()));
            digits.push(self.builder.seq([count, zeros]));
        }
        let digits = self.builder.alt(digits);
        if points { self.with_zeros(digits) } else { digits }
    }

    /// The numbers of a piece under any condition.
    fn multiples(&mut self, piece: &Piece, points: bool) -> Result<ExprId> {
        if let Some(members) = members(piece, FEW, self.budget)? {
            return self.listed(members.iter(), points);
        }
        match automaton(piece, points, self.budget) {
            Ok(automaton) => Ok(self.builder.automaton(automaton)),
            Err(error) => match members(piece, MANY, self.budget)? {
                Some(members) => self.listed(members.iter(), points),
                None => Err(error),
            },
        }
    }

    /// The spellings with an exponent.
    fn scientific(&mut self, piece: &Piece) -> Result<ExprId> {
        let mut parts = Vec::new();
        for group in exponent::groups(&piece.condition, self.budget)? {
            for (exponents, mantissas) in exponent::spans(&piece.interval, group.exponents) {
                self.budget.tick()?;
                let Some(mantissas) = Piece::tight(mantissas, group.condition.clone())? else { continue };
                if is_costly(&mantissas.condition) {
                    continue;
                }
                let mantissa = self.plain(&mantissas, true)?;
                parts.push(self.with_exponent(mantissa, exponents));
            }
        }
        Ok(self.builder.alt(parts))
    }

    fn with_exponent(&mut self, mantissa: ExprId, exponents: Exponents) -> ExprId {
        let exponent = exponent::exponent(self.builder, exponents);
        self.builder.seq([mantissa, exponent])
    }

    /// Whole digits, and perhaps a point with zeros behind.
    fn with_zeros(&mut self, digits: ExprId) -> ExprId {
        let (point, zero) = (self.builder.bytes(b"."), self.builder.bytes(b"0"));
        let zeros = self.builder.repeat(zero, 1, self.places);
        let fraction = self.builder.seq([point, zeros]);
        let fraction = self.builder.optional(fraction);
        self.builder.seq([digits, fraction])
    }
}

/// Whether the mantissas under a condition would take a large automaton. The remainder of a number by the least common multiple
/// of all steps tells those by each of them.
fn is_costly(condition: &Condition) -> bool {
    let mut states = 1_u64;
    for step in condition.steps() {
        let Factors { exponent, .. } = Factors::of(step);
        let remainders = u64::try_from(step.scaled_integer(-exponent)).unwrap_or(u64::MAX);
        states = (states / num_integer::gcd(states, remainders)).saturating_mul(remainders);
    }
    states.saturating_mul(u64::from(PLACES.unsigned_abs())) > MANTISSA_STATES
}

/// The numbers of a piece in order, if there are at most `most`.
fn members(piece: &Piece, most: u64, budget: &Budget) -> Result<Option<Vec<Decimal>>> {
    let (Some(grain), Cut::At(low, _), Cut::At(high, _)) =
        (piece.condition.grain()?, &piece.interval.low, &piece.interval.high)
    else {
        return Ok(None);
    };
    let Some(count) = steps::count_between(low, high, &grain, most) else { return Ok(None) };
    let mut members = Vec::new();
    let mut value = steps::ceiling(low, &grain)?;
    for _ in 0..=count {
        budget.tick()?;
        if piece.interval.contains(&value) && piece.condition.contains(&value) {
            members.push(value.clone());
        }
        value = steps::advance(&value, &grain, true)?;
    }
    Ok(Some(members))
}
