//! Canonical forms: those in which programs write numbers.
//!
//! Python's `repr` and JavaScript's `String` write the fewest digits that tell a double from its neighbours. That is up to
//! 17 digits, plain or with an exponent. So:
//!
//! - where all numbers are whole, digits and nothing else: up to [`DIGITS`] of them, as a double has, or as many as the
//!   bounds or the steps ask for;
//! - else whole numbers of up to [`DIGITS`] digits, up to [`WHOLE`] digits with up to [`PLACES`] behind the point, which is
//!   as far as JavaScript goes without an exponent, and a digit and up to [`MANTISSA`] behind the point with the exponents
//!   that either of them writes, `e+16` and above and `e-05` and below, within what a double holds;
//! - single numbers, which a schema lists, with all digits that they have.
//!
//! A number that takes more digits is given up, unless it is listed.

use std::sync::{Arc, LazyLock, OnceLock};

use super::super::condition::Condition;
use super::exponent::{self, Exponents};
use super::{
    Cut, Decimal, Digits, Emitter, FEW, Fraction, Interval, MANY, NumberSet, Piece, automaton, members,
};
use crate::error::Result;
use crate::ir::{Automaton, Builder, ExprId};
use crate::regular::{CharSet, Dfa, determinize};

/// The most digits of a whole number.
const DIGITS: u32 = 309;

/// The most digits before a point,
const WHOLE: u32 = 21;

/// and behind it.
const PLACES: u32 = 22;

/// The most digits behind the point of a mantissa.
const MANTISSA: u32 = 16;

/// The exponents that are written: those of large numbers, and those of small ones.
const LARGE: Exponents = Exponents { low: Some(16), high: Some(308) };
const SMALL: Exponents = Exponents { low: Some(-324), high: Some(-5) };

/// Exponents from here on have no zero in front in Python's `repr`, and those from there on are not plain in JavaScript.
const TWO_DIGITS: i32 = -10;
const BARE: i32 = -7;

/// The least and the greatest double above zero, as they are written.
const LEAST: &str = "5e-324";
const GREATEST: &str = "1.7976931348623157e308";

/// Whether some numbers of the set have no canonical form.
pub(in super::super) fn gives_up(set: &NumberSet) -> bool {
    let is_whole = is_whole(set);
    set.pieces().iter().any(|piece| {
        let is_bounded = matches!((&piece.interval.low, &piece.interval.high), (Cut::At(..), Cut::At(..)));
        piece.interval.as_point().is_none() && !(is_whole && is_bounded)
    })
}

/// Whether all numbers of the set are plainly whole.
fn is_whole(set: &NumberSet) -> bool {
    set.pieces().iter().all(|piece| match piece.interval.as_point() {
        Some(point) => point.is_integer(),
        None => piece.condition.is_whole(),
    })
}

/// The canonical forms of the numbers of a set.
pub(super) fn compute(emitter: &mut Emitter<'_>, set: &NumberSet) -> Result<ExprId> {
    static ALL: OnceLock<Automaton> = OnceLock::new();
    static NOT_NEGATIVE: OnceLock<Automaton> = OnceLock::new();
    if set.is_all() {
        emitter.shared(&ALL, |emitter| emitter.forms_of(set))
    } else if *set == NumberSet::at_least(Decimal::zero()) {
        emitter.shared(&NOT_NEGATIVE, |emitter| emitter.forms_of(set))
    } else {
        emitter.forms_of(set)
    }
}

impl Emitter<'_> {
    /// The canonical forms of the numbers of a set, as an expression.
    fn forms_of(&mut self, set: &NumberSet) -> Result<ExprId> {
        let budget = self.budget;
        let from_zero = NumberSet::at_least(Decimal::zero());
        let positive = set.intersect(&from_zero, budget)?;
        let minus = self.builder.bytes(b"-");
        if is_whole(set) {
            let negative = set.negated().intersect(&NumberSet::more_than(Decimal::zero()), budget)?;
            let [unsigned, signed] = [self.whole(&positive)?, self.whole(&negative)?];
            let signed = self.builder.seq([minus, signed]);
            return Ok(self.builder.alt([unsigned, signed]));
        }
        let negative = set.negated().intersect(&from_zero, budget)?;
        let unsigned = self.fractional(&positive)?;
        if positive == negative {
            let sign = self.builder.optional(minus);
            return Ok(self.builder.seq([sign, unsigned]));
        }
        let signed = if negative.single().is_some_and(Decimal::is_zero) {
            self.builder.bytes(b"0.0")
        } else {
            self.fractional(&negative)?
        };
        let signed = self.builder.seq([minus, signed]);
        self.builder.check()?;
        Ok(self.builder.alt([unsigned, signed]))
    }

    /// What many schemas ask for, made once for the process: an automaton, whose states are the same in all grammars.
    fn shared(
        &mut self,
        known: &'static OnceLock<Automaton>,
        make: impl FnOnce(&mut Emitter<'_>) -> Result<ExprId>,
    ) -> Result<ExprId> {
        if let Some(known) = known.get() {
            return Ok(self.builder.automaton(known.clone()));
        }
        let (budget, forms) = (self.budget, self.forms);
        let own = |builder: &mut Builder| make(&mut Emitter { builder, budget, forms, places: None });
        let automaton = Automaton::of_expr(own, budget)?;
        Ok(self.builder.automaton(known.get_or_init(|| automaton).clone()))
    }

    /// The digits of the numbers at or above zero of a set of whole numbers.
    fn whole(&mut self, set: &NumberSet) -> Result<ExprId> {
        let mut parts = Vec::with_capacity(set.pieces().len());
        for piece in set.pieces() {
            let most = match &piece.interval.high {
                Cut::At(high, _) => DIGITS.max(places_before_point(high)),
                _ => most_digits(piece),
            };
            parts.push(self.whole_piece(piece, most)?);
            self.builder.check()?;
        }
        Ok(self.builder.alt(parts))
    }

    /// The whole numbers of a piece with at most so many digits.
    fn whole_piece(&mut self, piece: &Piece, most: u32) -> Result<ExprId> {
        if let Some(point) = piece.interval.as_point() {
            return Ok(Digits::new(self.builder, Fraction::Never).interval(&Interval::point(point)));
        }
        let is_plain = piece.condition.single_step().is_some_and(Decimal::is_power_of_ten);
        if !is_plain && piece.interval.high == Cut::End {
            let digits = self.multiples(piece, false)?;
            return Ok(self.builder.at_most(digits, most));
        }
        let below = Cut::below(power_of_ten(most));
        match within(piece, Cut::below(Decimal::zero()), below, &piece.condition)? {
            Some(piece) if piece.interval.as_point().is_some() => self.whole_piece(&piece, most),
            Some(piece) => self.plain(&piece, false),
            None => Ok(self.builder.never()),
        }
    }

    /// The numbers at or above zero of a set in which not all are whole.
    fn fractional(&mut self, set: &NumberSet) -> Result<ExprId> {
        let mut parts = Vec::new();
        for piece in set.pieces() {
            self.budget.tick()?;
            if let Some(point) = piece.interval.as_point() {
                parts.push(self.point(point));
                continue;
            }
            parts.push(self.with_point(piece)?);
            let whole = piece.condition.intersect(&Condition::multiples(Decimal::from(1)), self.budget)?;
            // An automaton is not asked to count the digits as well.
            let (start, end) = if whole.single_step().is_some_and(Decimal::is_power_of_ten) {
                let at = |digits: u32| Cut::below(power_of_ten(digits));
                (at(WHOLE), at(DIGITS))
            } else {
                (Cut::below(Decimal::zero()), Cut::End)
            };
            if let Some(piece) = within(piece, start, end, &whole)? {
                parts.push(self.whole_piece(&piece, DIGITS)?);
            }
            parts.push(self.with_canonical_exponents(piece)?);
            self.builder.check()?;
        }
        Ok(self.builder.alt(parts))
    }

    /// A number that is listed: all its digits, and as programs write it.
    fn point(&mut self, point: &Decimal) -> ExprId {
        let plain = Digits::new(self.builder, Fraction::Never);
        let mut forms = Vec::new();
        if point.is_integer() {
            let mut plain = plain;
            let digits = plain.interval(&Interval::point(point));
            let zero = self.builder.bytes(b".0");
            let zero = self.builder.optional(zero);
            forms.push(self.builder.seq([digits, zero]));
        } else {
            forms.push(exactly(self.builder, point));
        }
        let place = point.highest_place();
        let is_written = [LARGE, SMALL].into_iter().any(|range| range.contains(place));
        if is_written && !point.is_zero() {
            let mantissa = exactly(self.builder, &point.shifted(-place));
            let exponent = exponent(self.builder, Exponents::single(place));
            forms.push(self.builder.seq([mantissa, exponent]));
        }
        self.builder.alt(forms)
    }

    /// The numbers of a piece with up to [`WHOLE`] digits before a point and [`PLACES`] behind it.
    fn with_point(&mut self, piece: &Piece) -> Result<ExprId> {
        self.limited(piece, power_of_ten(WHOLE), WHOLE, PLACES)
    }

    /// The plain forms of the numbers of a piece that are below `end`, with so many digits before and behind the point.
    fn limited(&mut self, piece: &Piece, end: Decimal, whole: u32, places: u32) -> Result<ExprId> {
        let (start, end) = (Cut::below(Decimal::zero()), Cut::below(end));
        let is_plain = piece.condition.is_anything()
            || piece.condition.single_step().is_some_and(Decimal::is_power_of_ten);
        if is_plain {
            let grid = Condition::multiples(Decimal::power_of_ten(-places.cast_signed()));
            let condition = piece.condition.intersect(&grid, self.budget)?;
            let Some(piece) = within(piece, start, end, &condition)? else { return Ok(self.builder.never()) };
            self.places = Some(places);
            let plain = self.plain(&piece, true);
            self.places = None;
            return plain;
        }
        let Some(interval) = piece.interval.intersect(&Interval { low: start, high: end.clone() }) else {
            return Ok(self.builder.never());
        };
        let bounded = Piece { interval, condition: piece.condition.clone() };
        if let Some(listed) = members(&bounded, FEW, self.budget)? {
            return self.listed_within(&listed, places);
        }
        match automaton(piece, true, self.budget) {
            Ok(automaton) => {
                let shape = shape(whole, places, self.budget)?;
                let dfa = automaton.dfa.get().intersection(&shape.1, self.budget)?;
                let source = format!("({} & {})", automaton.source, shape.0).into();
                Ok(self.builder.automaton(Automaton { source, dfa: Arc::new(dfa).into() }))
            }
            Err(error) => match members(&bounded, MANY, self.budget)? {
                Some(listed) => self.listed_within(&listed, places),
                None => Err(error),
            },
        }
    }

    /// The plain forms of these numbers, with zeros after them up to so many places.
    fn listed_within(&mut self, numbers: &[Decimal], places: u32) -> Result<ExprId> {
        let fits = |number: &&Decimal| number.lowest_place() >= -places.cast_signed();
        self.places = Some(places);
        let listed = self.listed(numbers.iter().filter(fits), true);
        self.places = None;
        listed
    }

    /// The mantissas of doubles with the greatest exponent, as one expression: every set without an upper bound has them.
    fn greatest_mantissas(&mut self) -> Result<ExprId> {
        static KNOWN: OnceLock<Automaton> = OnceLock::new();
        self.shared(&KNOWN, |emitter| {
            let piece = Piece { interval: greatest().clone(), condition: Condition::anything() };
            emitter.limited(&piece, Decimal::from(10), 1, MANTISSA)
        })
    }

    /// The numbers of a piece with exponents.
    fn with_canonical_exponents(&mut self, piece: &Piece) -> Result<ExprId> {
        let doubles =
            Interval { low: Cut::below(Decimal::parse(LEAST)?), high: Cut::above(Decimal::parse(GREATEST)?) };
        let mut parts = Vec::new();
        let Some(interval) = piece.interval.intersect(&doubles) else { return Ok(self.builder.never()) };
        for group in exponent::groups(&piece.condition, self.budget)? {
            for range in [LARGE, SMALL] {
                let Some(exponents) = group.exponents.within(range) else { continue };
                for (exponents, mantissas) in exponent::spans(&interval, exponents) {
                    self.budget.tick()?;
                    let Some(mantissas) = Piece::tight(mantissas, group.condition.clone())? else { continue };
                    if super::is_costly(&mantissas.condition) {
                        continue;
                    }
                    let mantissa = if mantissas.interval == *greatest() && mantissas.condition.is_anything() {
                        self.greatest_mantissas()?
                    } else {
                        self.limited(&mantissas, Decimal::from(10), 1, MANTISSA)?
                    };
                    let exponent = exponent(self.builder, exponents);
                    parts.push(self.builder.seq([mantissa, exponent]));
                }
            }
        }
        Ok(self.builder.alt(parts))
    }
}

/// The mantissas of doubles with the greatest exponent.
fn greatest() -> &'static Interval {
    static GREATEST_MANTISSAS: LazyLock<Interval> = LazyLock::new(|| {
        let greatest = Decimal::parse(GREATEST).unwrap_or_else(|_| Decimal::from(1));
        let place = greatest.highest_place();
        Interval { low: Cut::below(Decimal::from(1)), high: Cut::above(greatest.shifted(-place)) }
    });
    &GREATEST_MANTISSAS
}

/// `10^exponent`.
fn power_of_ten(exponent: u32) -> Decimal {
    Decimal::power_of_ten(exponent.cast_signed())
}

/// A number with the digits that it has.
fn exactly(builder: &mut Builder, number: &Decimal) -> ExprId {
    let places = number.lowest_place().min(0).unsigned_abs();
    Digits::new(builder, Fraction::Free).within(Some(places)).interval(&Interval::point(number))
}

/// The part of a piece between two cuts, under a condition.
fn within(piece: &Piece, low: Cut, high: Cut, condition: &Condition) -> Result<Option<Piece>> {
    match piece.interval.intersect(&Interval { low, high }) {
        Some(interval) => Piece::tight(interval, condition.clone()),
        None => Ok(None),
    }
}

/// How many digits a number has before its point.
fn places_before_point(number: &Decimal) -> u32 {
    u32::try_from(number.highest_place() + 1).unwrap_or(0)
}

/// How many digits the whole numbers of a piece without an end may have: more than usual where the first of them do.
fn most_digits(piece: &Piece) -> u32 {
    let low = match &piece.interval.low {
        Cut::At(low, _) => places_before_point(low),
        _ => 0,
    };
    let steps: u32 = piece.condition.steps().map(places_before_point).sum();
    // The first multiple of one step is the step or the bound; where there are several it may be a digit longer.
    let asked = low.max(steps) + u32::from(piece.condition.single_step().is_none());
    DIGITS.max(asked)
}

/// Numbers of up to so many digits before and behind the point: the text of the expression, and its automaton.
fn shape(whole: u32, places: u32, budget: &crate::limits::Budget) -> Result<(String, Dfa)> {
    let mut builder = Builder::new(budget.limits());
    let digit = builder.class(CharSet::new([('0', '9')]));
    let (digits, more) = (builder.repeat(digit, 1, Some(whole)), builder.repeat(digit, 1, Some(places)));
    let point = builder.bytes(b".");
    let fraction = builder.seq([point, more]);
    let fraction = builder.optional(fraction);
    let expr = builder.seq([digits, fraction]);
    let dfa = determinize(&builder, expr, budget)?;
    Ok((format!("([0-9]{{1,{whole}}} (\".\" [0-9]{{1,{places}}})?)"), dfa))
}

/// The letter, the sign and the digits of exponents that are all large or all small.
fn exponent(builder: &mut Builder, exponents: Exponents) -> ExprId {
    let (low, high) = (exponents.low.unwrap_or(0), exponents.high.unwrap_or(0));
    let mut digits = |least: i32, most: i32| {
        let at = |value: i32| Decimal::from(i64::from(value));
        let interval = Interval { low: Cut::below(at(least)), high: Cut::above(at(most)) };
        if least > most { builder.never() } else { Digits::new(builder, Fraction::Never).interval(&interval) }
    };
    if low >= 0 {
        let digits = digits(low, high);
        let sign = builder.bytes(b"e+");
        return builder.seq([sign, digits]);
    }
    let long = digits(-high.min(TWO_DIGITS), -low);
    let padded = digits(-high, -low.max(TWO_DIGITS + 1));
    let bare = digits(-high.min(BARE), -low.max(TWO_DIGITS + 1));
    let zero = builder.bytes(b"0");
    let padded = builder.seq([zero, padded]);
    let digits = builder.alt([long, padded, bare]);
    let sign = builder.bytes(b"e-");
    builder.seq([sign, digits])
}
