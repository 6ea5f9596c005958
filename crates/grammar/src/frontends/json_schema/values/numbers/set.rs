//! Sets of numbers: pieces of the line, each with a condition.
//!
//! Operations sweep over the cuts of both operands and combine the conditions between two neighbouring cuts. Since the
//! form of a condition is unique, what remains to normalise are the pieces themselves.
//!
//! Invariants:
//!
//! 1. Pieces are in order and do not overlap, and no condition is the empty one. A set without pieces is empty.
//! 2. A piece whose condition lies on a grid ends at members of that grid, or nowhere. A piece whose numbers all meet
//!    the condition, as one of a single number does, has the condition that holds everywhere.
//! 3. Neighbouring pieces that can be one piece are one.
//!
//! So a set that is empty has no piece, with one exception: a long piece under a condition of several grids may be
//! shorter than the period of the condition, and have no member all the same. Such a set counts as not empty.

use super::condition::Condition;
use super::decimal::Decimal;
use super::emit::gives_up;
use super::interval::{Cut, Interval, Side};
use super::steps;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Budget;

/// A set of numbers, closed under intersection, union and complement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NumberSet {
    pieces: Vec<Piece>,
}

/// The numbers of an interval that meet a condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Piece {
    pub(super) interval: Interval,
    pub(super) condition: Condition,
}

impl NumberSet {
    /// No number.
    pub fn none() -> Self {
        NumberSet { pieces: Vec::new() }
    }

    /// Every number.
    pub fn all() -> Self {
        Self::of(Interval::all(), Condition::anything())
    }

    /// The whole numbers.
    pub fn integers() -> Self {
        Self::of(Interval::all(), Condition::multiples(Decimal::from(1)))
    }

    /// The numbers from `least` on.
    pub fn at_least(least: Decimal) -> Self {
        Self::of(Interval { low: Cut::below(least), high: Cut::End }, Condition::anything())
    }

    /// The numbers above `bound`.
    pub fn more_than(bound: Decimal) -> Self {
        Self::of(Interval { low: Cut::above(bound), high: Cut::End }, Condition::anything())
    }

    /// The numbers up to `most`.
    pub fn at_most(most: Decimal) -> Self {
        Self::of(Interval { low: Cut::Start, high: Cut::above(most) }, Condition::anything())
    }

    /// The numbers below `bound`.
    pub fn less_than(bound: Decimal) -> Self {
        Self::of(Interval { low: Cut::Start, high: Cut::below(bound) }, Condition::anything())
    }

    /// This number alone.
    pub fn exactly(value: &Decimal) -> Self {
        Self::of(Interval::point(value), Condition::anything())
    }

    /// These numbers, in time that does not grow with the square of their count.
    pub fn any_of(values: impl IntoIterator<Item = Decimal>) -> Self {
        let mut values: Vec<Decimal> = values.into_iter().collect();
        values.sort_unstable();
        values.dedup();
        let point =
            |value: &Decimal| Piece { interval: Interval::point(value), condition: Condition::anything() };
        NumberSet { pieces: values.iter().map(point).collect() }
    }

    /// The multiples of `step`. Fails unless the step is above zero.
    pub fn multiple_of(step: &Decimal) -> Result<Self> {
        if step.is_zero() || step.is_negative() {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!("multiples of {step}: not a positive number"),
            ));
        }
        Ok(Self::of(Interval::all(), Condition::multiples(steps::checked(step.clone())?)))
    }

    fn of(interval: Interval, condition: Condition) -> Self {
        NumberSet { pieces: vec![Piece { interval, condition }] }
    }

    /// Whether there is no number in the set. `true` is certain; `false` is, but for the exception above.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Whether the set is that of all numbers.
    pub fn is_all(&self) -> bool {
        let [piece] = &*self.pieces else { return false };
        piece.condition.is_anything() && piece.interval == Interval::all()
    }

    /// Whether it is plain that it has all whole numbers, and no others.
    pub fn is_all_integers(&self) -> bool {
        let [piece] = &*self.pieces else { return false };
        piece.interval == Interval::all()
            && piece.condition.single_step().is_some_and(|step| *step == Decimal::from(1))
    }

    /// Whether `value` is in the set.
    pub fn contains(&self, value: &Decimal) -> bool {
        let cut = Cut::below(value.clone());
        let at = self.pieces.partition_point(|piece| piece.interval.high <= cut);
        self.pieces
            .get(at)
            .is_some_and(|piece| piece.interval.contains(value) && piece.condition.contains(value))
    }

    /// The number, where the set is known to have just one.
    pub fn single(&self) -> Option<&Decimal> {
        match &*self.pieces {
            [piece] => piece.interval.as_point(),
            _ => None,
        }
    }

    /// All numbers of the set, in order, where there are at most `most` and each is a single one or whole.
    pub fn listed(&self, most: usize) -> Option<Vec<Decimal>> {
        let mut numbers = Vec::new();
        for piece in &self.pieces {
            if let Some(point) = piece.interval.as_point() {
                numbers.push(point.clone());
            } else {
                let (Cut::At(low, _), Cut::At(high, _)) = (&piece.interval.low, &piece.interval.high) else {
                    return None;
                };
                let whole = |end: &Decimal| end.to_string().parse::<i64>().ok();
                let (low, high) = (whole(low)?, whole(high)?);
                if !piece.condition.is_whole() || high.abs_diff(low) > 16 * most as u64 {
                    return None;
                }
                let candidates = (low..=high).filter_map(|number| Decimal::parse(&number.to_string()).ok());
                numbers.extend(candidates.filter(|number| self.contains(number)));
            }
            if numbers.len() > most {
                return None;
            }
        }
        numbers.dedup();
        Some(numbers)
    }

    /// Whether it is known to have no end of numbers: a piece goes on for ever, or has room between any two numbers.
    pub fn is_endless(&self) -> bool {
        self.pieces.iter().any(|Piece { interval, condition }| {
            let is_bounded = matches!((&interval.low, &interval.high), (Cut::At(..), Cut::At(..)));
            interval.as_point().is_none() && (!is_bounded || condition.is_anything())
        })
    }

    /// How many numbers it has, where each piece is a single one, or all whole numbers of an interval.
    pub fn count(&self) -> Option<u64> {
        let integers = NumberSet::integers();
        let mut count = 0_u64;
        for Piece { interval, condition } in &self.pieces {
            count += if interval.as_point().is_some() {
                1
            } else {
                let (Cut::At(low, _), Cut::At(high, _)) = (&interval.low, &interval.high) else {
                    return None;
                };
                let whole = |end: &Decimal| end.to_string().parse::<i64>().ok();
                let is_plain = *condition == integers.pieces[0].condition;
                if is_plain { whole(high)?.abs_diff(whole(low)?).saturating_add(1) } else { return None }
            };
        }
        Some(count)
    }

    /// Whether some of its numbers have no canonical form.
    pub fn gives_up(&self) -> bool {
        gives_up(self)
    }

    /// Whether `value` is in the set, and its neighbours are not.
    pub fn lists(&self, value: &Decimal) -> bool {
        self.pieces.iter().any(|piece| piece.interval.as_point() == Some(value))
    }

    /// Whether all of them are whole.
    pub fn are_integers(&self, budget: &Budget) -> Result<bool> {
        Ok(self.intersect(&Self::integers(), budget)? == *self)
    }

    /// The numbers in both sets.
    pub fn intersect(&self, other: &Self, budget: &Budget) -> Result<Self> {
        if self.is_empty() || other.is_all() {
            return Ok(self.clone());
        }
        if other.is_empty() || self.is_all() {
            return Ok(other.clone());
        }
        self.sweep(other, budget, |one, other| one.intersect(other, budget))
    }

    /// The numbers in either set.
    pub fn unite(&self, other: &Self, budget: &Budget) -> Result<Self> {
        if self.is_empty() || other.is_all() {
            return Ok(other.clone());
        }
        if other.is_empty() || self.is_all() {
            return Ok(self.clone());
        }
        self.sweep(other, budget, |one, other| one.unite(other, budget))
    }

    /// The numbers that are not in the set.
    pub fn complement(&self, budget: &Budget) -> Result<Self> {
        self.sweep(&Self::none(), budget, |one, _| Ok(one.complement()))
    }

    /// The numbers of the set with the other sign.
    #[must_use]
    pub(super) fn negated(&self) -> Self {
        let negated =
            |piece: &Piece| Piece { interval: piece.interval.negated(), condition: piece.condition.clone() };
        NumberSet { pieces: self.pieces.iter().rev().map(negated).collect() }
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Combines the conditions of both sets between any two neighbouring cuts.
    fn sweep(
        &self,
        other: &Self,
        budget: &Budget,
        combine: impl Fn(&Condition, &Condition) -> Result<Condition>,
    ) -> Result<Self> {
        let (mut one, mut two) = (Walk::new(&self.pieces), Walk::new(&other.pieces));
        let mut set = Self::none();
        let mut low = Cut::Start;
        while low < Cut::End {
            budget.tick()?;
            let (condition, end) = one.at(&low);
            let (other_condition, other_end) = two.at(&low);
            let high = end.min(other_end).clone();
            let condition = combine(condition, other_condition)?;
            set.push(Interval { low, high: high.clone() }, condition)?;
            set.check_size(budget)?;
            low = high;
        }
        Ok(set)
    }

    fn check_size(&self, budget: &Budget) -> Result<()> {
        let limit = budget.limits().max_states;
        if self.pieces.len() > limit {
            return Err(Error::limit("the number of pieces of a set of numbers", limit, "max_states"));
        }
        Ok(())
    }

    /// Adds a piece above all others.
    fn push(&mut self, interval: Interval, condition: Condition) -> Result<()> {
        let Some(piece) = Piece::tight(interval, condition)? else { return Ok(()) };
        let joined = match self.pieces.last() {
            Some(last) => last.join(&piece)?,
            None => None,
        };
        match joined {
            Some(joined) => {
                self.pieces.pop();
                self.pieces.push(joined);
            }
            None => self.pieces.push(piece),
        }
        Ok(())
    }
}

impl Piece {
    /// A piece is searched from its ends for this many steps of its grid.
    const SEARCH: usize = 64;

    /// The piece without what it cannot hold at its ends, or nothing where it holds nothing.
    pub(super) fn tight(interval: Interval, condition: Condition) -> Result<Option<Self>> {
        if condition.is_nothing() {
            return Ok(None);
        }
        let interval = match condition.grain()? {
            Some(grain) => tightened(interval, &condition, &grain)?,
            None => Some(interval),
        };
        let Some(interval) = interval else { return Ok(None) };
        if let Some(value) = interval.as_point() {
            let holds = condition.contains(value);
            return Ok(holds.then(|| Piece { interval, condition: Condition::anything() }));
        }
        let holds_throughout = Self::holds_throughout(&condition, &interval)?;
        let condition = if holds_throughout { Condition::anything() } else { condition };
        Ok(Some(Piece { interval, condition }))
    }

    /// Whether an interval is known to have no number that fails the condition.
    fn holds_throughout(condition: &Condition, interval: &Interval) -> Result<bool> {
        if condition.is_anything() || !condition.holds_off_grid() {
            return Ok(condition.is_anything());
        }
        Ok(Self::tight(interval.clone(), condition.complement())?.is_none())
    }

    /// This piece and one above it as one piece, where that is possible.
    fn join(&self, above: &Self) -> Result<Option<Self>> {
        let Some(condition) = self.common_condition(above)? else { return Ok(None) };
        if let Some(gap) = Interval::new(self.interval.high.clone(), above.interval.low.clone())
            && Self::tight(gap, condition.clone())?.is_some()
        {
            return Ok(None);
        }
        let interval = Interval { low: self.interval.low.clone(), high: above.interval.high.clone() };
        Ok(Some(Piece { interval, condition: condition.clone() }))
    }

    /// The condition that would do for both.
    fn common_condition<'p>(&'p self, above: &'p Self) -> Result<Option<&'p Condition>> {
        if self.condition == above.condition || above.is_within(&self.condition)? {
            Ok(Some(&self.condition))
        } else {
            Ok(self.is_within(&above.condition)?.then_some(&above.condition))
        }
    }

    /// Whether the piece has no condition of its own, and would hold the same numbers under `condition`.
    fn is_within(&self, condition: &Condition) -> Result<bool> {
        match self.interval.as_point() {
            Some(value) => Ok(condition.contains(value)),
            None => Ok(self.condition.is_anything() && Self::holds_throughout(condition, &self.interval)?),
        }
    }
}

/// The interval between the first and the last member of a grid, as far as they are found without much searching.
fn tightened(interval: Interval, condition: &Condition, grain: &Decimal) -> Result<Option<Interval>> {
    let Interval { mut low, mut high } = interval;
    if let Cut::At(value, side) = &low {
        let at = steps::ceiling(value, grain)?;
        let skip = at == *value && *side == Side::Above;
        low = Cut::below(if skip { steps::advance(&at, grain, true)? } else { at });
    }
    if let Cut::At(value, side) = &high {
        let at = steps::floor(value, grain)?;
        let skip = at == *value && *side == Side::Below;
        high = Cut::above(if skip { steps::advance(&at, grain, false)? } else { at });
    }
    if condition.single_step().is_some() {
        return Ok(Interval::new(low, high));
    }
    for _ in 0..Piece::SEARCH {
        let Cut::At(value, _) = &low else { break };
        if low >= high || condition.contains(value) {
            break;
        }
        low = Cut::below(steps::advance(value, grain, true)?);
    }
    for _ in 0..Piece::SEARCH {
        let Cut::At(value, _) = &high else { break };
        if low >= high || condition.contains(value) {
            break;
        }
        high = Cut::above(steps::advance(value, grain, false)?);
    }
    Ok(Interval::new(low, high))
}

/// A walk over pieces from below.
struct Walk<'p> {
    pieces: &'p [Piece],
    nothing: Condition,
}

impl<'p> Walk<'p> {
    fn new(pieces: &'p [Piece]) -> Self {
        Walk { pieces, nothing: Condition::nothing() }
    }

    /// The condition just above `low`, and the cut up to which it holds.
    fn at(&mut self, low: &Cut) -> (&Condition, &Cut) {
        while self.pieces.first().is_some_and(|piece| piece.interval.high <= *low) {
            self.pieces = &self.pieces[1..];
        }
        match self.pieces.first() {
            None => (&self.nothing, &Cut::End),
            Some(piece) if piece.interval.low > *low => (&self.nothing, &piece.interval.low),
            Some(piece) => (&piece.condition, &piece.interval.high),
        }
    }
}
