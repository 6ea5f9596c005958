//! The plain decimal spellings of numbers under any condition, as an automaton.
//!
//! A state is the place in the text (before the point, behind it) and the memory of every tracker: one for each grid of
//! the condition and one for each end of the interval. Only states that are reached are made, and those that come to the
//! same are merged at the end: "multiple of 4" then needs three of them, because only two digits matter. Where all steps
//! are whole, `residues` comes to the same by a shorter way.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::super::set::Piece;
use super::residues;
use super::trackers::{BoundTracker, GridTracker, Memory, Part};
use crate::error::Result;
use crate::ir::Automaton;
use crate::limits::Budget;
use crate::regular::{Dfa, DfaBuilder, StateId};

/// The automaton of the plain spellings, without a sign, of the numbers of a piece at or above zero.
///
/// Without `points`, only digits are read.
pub(in super::super) fn automaton(piece: &Piece, points: bool, budget: &Budget) -> Result<Automaton> {
    let dfa = match residues::automaton(piece, points, budget)? {
        Some(dfa) => dfa,
        None => tracked(piece, points, budget)?,
    };
    let source = format!("Decimals(\"{piece}\", points={points})").into();
    Ok(Automaton { source, dfa: Arc::new(dfa).into() })
}

/// The same, by trackers.
pub(super) fn tracked(piece: &Piece, points: bool, budget: &Budget) -> Result<Dfa> {
    let grids = piece.condition.steps().map(|step| GridTracker::new(step, budget)).collect::<Result<_>>()?;
    let bounds = BoundTracker::of(&piece.interval);
    Explorer { piece, grids, bounds, points }.explore(budget)
}

/// Where in the text a state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Start,
    /// After a zero before the point, which stands alone.
    Zero,
    Whole,
    /// After the point, where a digit must follow.
    Point,
    Fraction,
}

impl Place {
    fn part(self) -> Part {
        if matches!(self, Place::Point | Place::Fraction) { Part::Fraction } else { Part::Whole }
    }
}

/// A place and the memories: those of the grids, then those of the bounds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    place: Place,
    memories: SmallVec<[Memory; 3]>,
}

/// A symbol of the text.
#[derive(Clone, Copy)]
enum Symbol {
    Digit(u8),
    Point,
}

impl Symbol {
    fn byte(self) -> u8 {
        match self {
            Symbol::Digit(digit) => b'0' + digit,
            Symbol::Point => b'.',
        }
    }
}

struct Explorer<'p> {
    piece: &'p Piece,
    grids: Vec<GridTracker>,
    bounds: Vec<BoundTracker>,
    points: bool,
}

impl Explorer<'_> {
    fn explore(&self, budget: &Budget) -> Result<Dfa> {
        let starts = self.grids.iter().map(GridTracker::start);
        let memories = starts.chain(self.bounds.iter().map(|_| BoundTracker::start())).collect();
        let start = State { place: Place::Start, memories };
        let mut builder = DfaBuilder::new();
        builder.add_state(false);
        let mut states = vec![start.clone()];
        let mut numbers: FxHashMap<State, StateId> = FxHashMap::from_iter([(start, 0)]);
        let mut at = 0;
        while at < states.len() {
            budget.check_states(states.len())?;
            for symbol in (0..=9).map(Symbol::Digit).chain([Symbol::Point]) {
                let Some(next) = self.step(&states[at], symbol) else { continue };
                let to = *numbers.entry(next).or_insert_with_key(|next| {
                    states.push(next.clone());
                    builder.add_state(self.accepts(next))
                });
                builder.add_edge(at as StateId, symbol.byte(), symbol.byte(), to);
            }
            at += 1;
        }
        builder.finish(budget)
    }

    /// The state after a symbol, unless no number of the piece goes on so.
    fn step(&self, state: &State, symbol: Symbol) -> Option<State> {
        let place = match (state.place, symbol) {
            (Place::Start, Symbol::Digit(0)) => Place::Zero,
            (Place::Start | Place::Whole, Symbol::Digit(_)) => Place::Whole,
            (Place::Point | Place::Fraction, Symbol::Digit(_)) => Place::Fraction,
            (Place::Zero | Place::Whole, Symbol::Point) if self.points => Place::Point,
            _ => return None,
        };
        let (grids, bounds) = state.memories.split_at(self.grids.len());
        let mut memories: SmallVec<[Memory; 3]> = self
            .grids
            .iter()
            .zip(grids)
            .map(|(grid, &memory)| read_grid(grid, memory, place, symbol))
            .collect();
        let is_off_grid = memories.iter().all(|&memory| GridTracker::is_outside(memory));
        if is_off_grid && !self.piece.condition.holds_off_grid() {
            return None;
        }
        for (bound, &memory) in self.bounds.iter().zip(bounds) {
            let memory = read_bound(bound, memory, place, symbol);
            if bound.is_hopeless(memory, place.part()) {
                return None;
            }
            memories.push(memory);
        }
        Some(State { place, memories })
    }

    fn accepts(&self, state: &State) -> bool {
        let part = state.place.part();
        let (grids, bounds) = state.memories.split_at(self.grids.len());
        !matches!(state.place, Place::Start | Place::Point)
            && self.bounds.iter().zip(bounds).all(|(bound, &memory)| bound.holds(memory, part))
            && self
                .piece
                .condition
                .decide(self.grids.iter().zip(grids).map(|(grid, &memory)| grid.holds(memory, part)))
    }
}

fn read_grid(grid: &GridTracker, memory: Memory, place: Place, symbol: Symbol) -> Memory {
    match (symbol, place.part()) {
        (Symbol::Point, _) => grid.read_point(memory),
        (Symbol::Digit(digit), Part::Whole) => grid.read_whole(memory, digit),
        (Symbol::Digit(digit), Part::Fraction) => grid.read_place(memory, digit),
    }
}

fn read_bound(bound: &BoundTracker, memory: Memory, place: Place, symbol: Symbol) -> Memory {
    match (symbol, place.part()) {
        (Symbol::Point, _) => bound.read_point(memory),
        (Symbol::Digit(digit), Part::Whole) => bound.read_whole(memory, digit),
        (Symbol::Digit(digit), Part::Fraction) => bound.read_place(memory, digit),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::condition::Condition;
    use super::super::super::decimal::Decimal;
    use super::super::super::interval::{Cut, Interval};
    use super::*;

    /// Sums over grids that are 0 or 1 everywhere.
    fn conditions() -> Vec<Condition> {
        let budget = Budget::default();
        let multiples = |step: i64| Condition::multiples(Decimal::from(step));
        let mut all: Vec<Condition> =
            [2, 3, 4, 7, 8, 11, 12, 16, 20, 25, 30, 96, 125, 300, 1024].map(multiples).into();
        let singles = all.clone();
        for (one, other) in singles.iter().zip(singles.iter().skip(3)) {
            let (both, either) = (one.intersect(other, &budget), one.unite(other, &budget));
            let without = one.intersect(&other.complement(), &budget);
            all.extend([both, either, without].map(Result::unwrap));
        }
        all.push(multiples(1));
        let others: Vec<Condition> = all.iter().map(Condition::complement).collect();
        all.extend(others);
        all
    }

    #[test]
    fn remainders_give_the_same_automata_as_trackers() {
        let budget = Budget::default();
        let mut compared = 0;
        for condition in conditions() {
            let at = |value: i64| Decimal::from(value);
            let from = |low: Cut| Interval { low, high: Cut::End };
            let within =
                |low: i64, high: i64| Interval { low: Cut::below(at(low)), high: Cut::above(at(high)) };
            let half = Cut::above(Decimal::parse("1.5").unwrap());
            let intervals = [
                from(Cut::below(at(0))),
                from(Cut::above(at(0))),
                from(Cut::below(at(1_000))),
                from(half),
                within(1, 987),
                within(30, 20_000),
            ];
            for interval in intervals {
                let Some(piece) = Piece::tight(interval, condition.clone()).unwrap() else { continue };
                for points in [true, false] {
                    if let Some(dfa) = residues::automaton(&piece, points, &budget).unwrap() {
                        assert_eq!(dfa, tracked(&piece, points, &budget).unwrap(), "{piece}, {points}");
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 600, "only {compared} conditions were compared");
    }

    #[test]
    fn few_numbers_and_long_periods_are_left_to_trackers() {
        let budget = Budget::default();
        let is_taken = |high: i64, condition: Condition| {
            let interval =
                Interval { low: Cut::below(Decimal::from(1)), high: Cut::above(Decimal::from(high)) };
            residues::automaton(&Piece { interval, condition }, true, &budget).unwrap().is_some()
        };
        let multiples = |step: i64| Condition::multiples(Decimal::from(step));
        assert!(is_taken(70, multiples(7)) && is_taken(5_000, multiples(1_000).complement()));
        assert!(!is_taken(500, multiples(1_000).complement()) && !is_taken(1 << 30, multiples(1 << 20)));
    }

    #[test]
    fn a_long_period_takes_little() {
        let budget = Budget::default();
        let interval = Interval { low: Cut::below(Decimal::zero()), high: Cut::End };
        let piece = Piece::tight(interval, Condition::multiples(Decimal::from(24_024))).unwrap().unwrap();
        let dfa = residues::automaton(&piece, true, &budget).unwrap().unwrap();
        assert!(dfa.matches(b"24024") && dfa.matches(b"720720.0") && !dfa.matches(b"24025"));
        assert_eq!(dfa, tracked(&piece, true, &budget).unwrap());
    }
}
