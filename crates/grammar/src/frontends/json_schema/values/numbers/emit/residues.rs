//! The plain decimal spellings of numbers under a condition of whole steps, as the smallest automaton.
//!
//! Whether a whole number meets such a condition hangs on its remainder by the period, the least common multiple of all
//! steps. The automaton of the trackers has a state for each remainder, and merging equivalent ones takes longer than to
//! find them. Here they are found merged.
//!
//! Let `p` be the period, `c` its part that shares no factor with ten, and `n` the least number with `c * 10^n` a multiple
//! of `p`. What may follow the digits of a number `x` hangs on `10^k x` modulo `p` for each number `k` of digits to come;
//! from `n` digits on that hangs on `x` modulo `c` alone. So `x` is known by two things: its remainder by `c`, and its
//! outlook, which of the numbers with fewer than `n` digits more are in the set.
//!
//! No two such pairs are equivalent. Different outlooks differ by a text. Different remainders by `c` do too: `k` digits,
//! for `k` large enough, run through all remainders by the period, so equivalent `x` and `y` would make the difference of
//! `10^k x` and `10^k y` a period of the condition; and the form of conditions leaves no smaller period than `p`.
//!
//! Bounds are an automaton of their own, with a few states for each digit that they have. Both together are smaller than
//! what trackers would make of all remainders by all steps.

use rustc_hash::FxHashMap;

use super::super::condition::Condition;
use super::super::decimal::Decimal;
use super::super::interval::{Cut, Side};
use super::super::set::Piece;
use super::automaton::tracked;
use crate::error::Result;
use crate::limits::Budget;
use crate::regular::{Dfa, MinimalStates, StateId};

/// Conditions with a longer period are left to the trackers.
const MAX_PERIOD: usize = 1 << 17;

/// The ten digits that may follow.
const DIGITS: usize = 10;

/// The automaton of a piece at or above zero, if it is one of those. Without `points`, only digits are read.
pub(super) fn automaton(piece: &Piece, points: bool, budget: &Budget) -> Result<Option<Dfa>> {
    let Some(remainders) = Remainders::new(&piece.condition) else { return Ok(None) };
    if !remainders.may_all_come_below(&piece.interval.high) {
        return Ok(None);
    }
    let outlooks = remainders.outlooks(budget)?;
    let dfa = Explorer::new(&remainders, &outlooks, points).explore(budget)?;
    if piece.interval.high == Cut::End && remainders.all_are_above(&piece.interval.low) {
        return Ok(Some(dfa));
    }
    let within = Piece { interval: piece.interval.clone(), condition: Condition::anything() };
    dfa.intersection(&tracked(&within, points, budget)?, budget).map(Some)
}

/// A condition of whole steps.
struct Remainders {
    /// Whether it holds for a whole number, by remainder. There is one for which it does.
    holds: Vec<bool>,
    /// Whether it holds for numbers that are not whole.
    holds_off_grid: bool,
}

impl Remainders {
    fn new(condition: &Condition) -> Option<Self> {
        let mut steps = Vec::with_capacity(condition.terms().len());
        for (step, coefficient) in condition.terms() {
            steps.push((whole(step)?, *coefficient));
        }
        let period = steps.iter().try_fold(1, |period, &(step, _)| {
            let common = num_integer::lcm(period, step);
            (common <= MAX_PERIOD).then_some(common)
        })?;
        // The sum is 0 or 1, whatever its parts overflow to.
        let holds_off_grid = condition.holds_off_grid();
        let mut sums = vec![i64::from(holds_off_grid); period];
        for (step, coefficient) in steps {
            sums.iter_mut().step_by(step).for_each(|sum| *sum = sum.wrapping_add(coefficient));
        }
        let holds: Vec<bool> = sums.iter().map(|&sum| sum != 0).collect();
        holds.contains(&true).then_some(Remainders { holds, holds_off_grid })
    }

    fn period(&self) -> usize {
        self.holds.len()
    }

    /// Whether the numbers from zero up to a cut may have all remainders. If not, most remainders would be made for nothing.
    fn may_all_come_below(&self, high: &Cut) -> bool {
        i64::try_from(self.period()).is_ok_and(|period| *high > Cut::above(Decimal::from(period)))
    }

    /// Whether no number from zero on for which the condition holds lies below a cut.
    fn all_are_above(&self, low: &Cut) -> bool {
        let Cut::At(value, side) = low else { return false };
        if value.is_zero() && *side == Side::Below {
            return true;
        }
        let Some(value) = whole(value).filter(|&value| value < self.period()) else { return false };
        let below = value + usize::from(*side == Side::Above);
        !self.holds_off_grid && !self.holds[..below].contains(&true)
    }

    /// The part of the period that shares no factor with ten, and how many digits it takes until only that part matters.
    fn coprime_part(&self) -> (usize, usize) {
        let (mut part, mut digits) = (self.period(), 0);
        loop {
            let shared = num_integer::gcd(part, DIGITS);
            if shared == 1 {
                return (part, digits);
            }
            part /= shared;
            digits += 1;
        }
    }

    /// The outlook of each remainder, by number.
    fn outlooks(&self, budget: &Budget) -> Result<Vec<u32>> {
        let period = self.period();
        // To begin with, how things are with no digit more.
        let mut outlooks: Vec<u32> = self.holds.iter().map(|&holds| u32::from(holds)).collect();
        let (_, digits) = self.coprime_part();
        let (mut equals, mut after) = (vec![0_u32; period], vec![u32::MAX; period]);
        for _ in 1..digits {
            budget.check()?;
            count_equals(&outlooks, &mut equals);
            after.fill(u32::MAX);
            let mut rows = Rows::default();
            let mut first = 0;
            let next = self.holds.iter().map(|&holds| {
                if after[first] == u32::MAX {
                    after[first] = rows.number(first, &outlooks, &equals);
                }
                let outlook = 2 * after[first] + u32::from(holds);
                first = around(first + DIGITS % period, period);
                outlook
            });
            outlooks = next.collect();
        }
        Ok(outlooks)
    }
}

/// The whole number that a decimal is.
fn whole(number: &Decimal) -> Option<usize> {
    let fits = number.is_integer() && !number.is_negative() && number.highest_place() <= 9;
    fits.then(|| usize::try_from(number.scaled_integer(0)).ok()).flatten()
}

/// How many from each place on, going around, are equal to the one there; no more than ten are counted.
fn count_equals(outlooks: &[u32], equals: &mut [u32]) {
    let period = outlooks.len();
    let mut count = 0;
    let mut next = outlooks[DIGITS % period];
    for here in (0..DIGITS).rev().map(|place| place % period).chain((0..period).rev()) {
        count = if outlooks[here] == next { (count + 1).min(DIGITS as u32) } else { 1 };
        equals[here] = count;
        next = outlooks[here];
    }
}

/// A remainder that one step may have carried over the period. A division would take longer.
fn around(remainder: usize, period: usize) -> usize {
    if remainder < period { remainder } else { remainder - period }
}

/// The outlooks of ten numbers in a row, each such row a number.
#[derive(Default)]
struct Rows {
    /// Those of one outlook, by that.
    uniform: FxHashMap<u32, u32>,
    /// The others.
    mixed: FxHashMap<[u32; DIGITS], u32>,
    count: u32,
}

impl Rows {
    /// The number of the row that begins at `first`.
    fn number(&mut self, first: usize, outlooks: &[u32], equals: &[u32]) -> u32 {
        let slot = if equals[first] as usize == DIGITS {
            self.uniform.entry(outlooks[first]).or_insert(u32::MAX)
        } else {
            let row = match outlooks[first..].first_chunk() {
                Some(row) => *row,
                None => std::array::from_fn(|digit| outlooks[(first + digit) % outlooks.len()]),
            };
            self.mixed.entry(row).or_insert(u32::MAX)
        };
        if *slot == u32::MAX {
            *slot = self.count;
            self.count += 1;
        }
        *slot
    }
}

/// Where in the text a state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Start,
    /// After a zero before the point, which stands alone.
    Zero,
    /// After other digits before the point, with this remainder.
    Whole(usize),
    /// After the point of a number that is in the set.
    Point,
    /// After zeros behind that point, where nothing else may follow.
    Zeros,
    /// After the point of a number that is not in the set, and perhaps zeros.
    Outside,
    /// Behind the point, in a number that is not whole or need not be.
    Free,
}

struct Explorer<'r> {
    remainders: &'r Remainders,
    outlooks: &'r [u32],
    points: bool,
    coprime: usize,
    /// What the states stand for.
    places: Vec<Place>,
    /// The states of remainders: for each one by the coprime part the first outlook that was met with it, and its state.
    first: Vec<Option<(u32, StateId)>>,
    /// The states of the other outlooks.
    further: FxHashMap<(usize, u32), StateId>,
    /// The states of places that have no remainder.
    others: FxHashMap<Place, StateId>,
}

impl<'r> Explorer<'r> {
    fn new(remainders: &'r Remainders, outlooks: &'r [u32], points: bool) -> Self {
        let (coprime, _) = remainders.coprime_part();
        Explorer {
            remainders,
            outlooks,
            points,
            coprime,
            places: Vec::new(),
            first: vec![None; coprime],
            further: FxHashMap::default(),
            others: FxHashMap::default(),
        }
    }

    /// All states that are reached, each by its shortest text.
    fn explore(mut self, budget: &Budget) -> Result<Dfa> {
        let mut states = MinimalStates::default();
        let mut edges = Vec::with_capacity(DIGITS + 1);
        self.number(Place::Start);
        while let Some(&place) = self.places.get(states.len()) {
            budget.check_states(self.places.len())?;
            edges.clear();
            if let Some(next) = self.after_point(place) {
                edges.push((b'.', b'.', self.number(next)));
            }
            match place {
                Place::Whole(remainder) => self.push_digits(remainder, &mut edges),
                _ => {
                    for (digit, byte) in (b'0'..=b'9').enumerate() {
                        if let Some(next) = self.after_digit(place, digit) {
                            edges.push((byte, byte, self.number(next)));
                        }
                    }
                }
            }
            states.push(self.accepts(place), &edges);
        }
        Ok(states.finish())
    }

    /// The ways on by a digit before the point: to the ten remainders from ten times this one on.
    fn push_digits(&mut self, remainder: usize, edges: &mut Vec<(u8, u8, StateId)>) {
        let (period, coprime) = (self.remainders.period(), self.coprime);
        let mut next = remainder * DIGITS % period;
        let mut part = next % coprime;
        for byte in b'0'..=b'9' {
            edges.push((byte, byte, self.whole(next, part)));
            (next, part) = (around(next + 1, period), around(part + 1, coprime));
        }
    }

    /// The state of a place, which may be new.
    fn number(&mut self, place: Place) -> StateId {
        if let Place::Whole(remainder) = place {
            return self.whole(remainder, remainder % self.coprime);
        }
        let new = self.places.len() as StateId;
        let state = *self.others.entry(place).or_insert(new);
        if state == new {
            self.places.push(place);
        }
        state
    }

    /// The state of a remainder, whose remainder by the coprime part is `part`.
    fn whole(&mut self, remainder: usize, part: usize) -> StateId {
        let new = self.places.len() as StateId;
        let outlook = self.outlooks[remainder];
        let state = match &mut self.first[part] {
            Some((first, state)) if *first == outlook => *state,
            Some(_) => *self.further.entry((part, outlook)).or_insert(new),
            slot => slot.insert((outlook, new)).1,
        };
        if state == new {
            self.places.push(Place::Whole(remainder));
        }
        state
    }

    fn after_point(&self, place: Place) -> Option<Place> {
        let inside = match place {
            Place::Zero => self.remainders.holds[0],
            Place::Whole(remainder) => self.remainders.holds[remainder],
            _ => return None,
        };
        let next = if inside { Place::Point } else { Place::Outside };
        (self.points && (inside || self.remainders.holds_off_grid)).then_some(next)
    }

    /// What follows by a digit where there is no remainder.
    fn after_digit(&self, place: Place, digit: usize) -> Option<Place> {
        let period = self.remainders.period();
        let free = || self.remainders.holds_off_grid.then_some(Place::Free);
        match place {
            Place::Start if digit == 0 => {
                let is_alive = self.remainders.holds[0] || self.after_point(Place::Zero).is_some();
                is_alive.then_some(Place::Zero)
            }
            Place::Start => Some(Place::Whole(digit % period)),
            Place::Zero | Place::Whole(_) => None,
            Place::Point | Place::Zeros => free().or_else(|| (digit == 0).then_some(Place::Zeros)),
            Place::Outside if digit == 0 => Some(Place::Outside),
            Place::Outside => free(),
            Place::Free => Some(Place::Free),
        }
    }

    fn accepts(&self, place: Place) -> bool {
        match place {
            Place::Start | Place::Point | Place::Outside => false,
            Place::Zero => self.remainders.holds[0],
            Place::Whole(remainder) => self.remainders.holds[remainder],
            Place::Zeros | Place::Free => true,
        }
    }
}
