//! Lengths of texts, in code points.
//!
//! Most patterns say something about the length themselves, and then bounds beside them are no news. So before a bound
//! is counted, the pattern is asked ([`lengths`]). Where it has to be counted, the number of code points from a state to
//! the nearest end decides whether a text may go on ([`Dfa::distances`]).
//!
//! A code point counts with its first byte. Of automata over bytes that are no UTF-8 nothing sensible can be said, and
//! nobody asks.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::builder::DfaBuilder;
use super::determinize::ExprSource;
use super::dfa::{Dfa, StateId};
use crate::error::Result;
use crate::ir::{Expr, ExprId};
use crate::limits::Budget;

/// A length that no text is shorter than, and one that no text is longer than if there is such. The first is that of the
/// shortest text, unless a rule, a conjunction or a complement is in the expression.
pub fn lengths(source: &impl ExprSource, root: ExprId) -> (u32, Option<u32>) {
    Lengths::default().of(source, root)
}

/// The same for many expressions of one grammar, each part of which is looked at once.
#[derive(Clone, Debug, Default)]
pub struct Lengths(FxHashMap<ExprId, (u32, Option<u32>)>);

impl Lengths {
    /// The lengths of the texts of an expression.
    pub fn of(&mut self, source: &impl ExprSource, root: ExprId) -> (u32, Option<u32>) {
        let known = &mut self.0;
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            let expr = source.expr(id);
            let open = stack.len();
            stack.extend(expr.children().iter().filter(|child| !known.contains_key(child)));
            if stack.len() == open {
                stack.pop();
                if !known.contains_key(&id) {
                    known.insert(id, bounds(expr, |child| known[&child]));
                }
            }
        }
        known[&root]
    }

    /// Whether all texts of an expression have more code points than `most`.
    pub fn exceed(&mut self, source: &impl ExprSource, root: ExprId, most: u32) -> bool {
        self.of(source, root).0 > most
    }
}

fn bounds(expr: &Expr, known: impl Fn(ExprId) -> (u32, Option<u32>)) -> (u32, Option<u32>) {
    let add = |(low, high): (u32, Option<u32>), (more, most): (u32, Option<u32>)| {
        let high = high.zip(most).map(|(high, most)| high.saturating_add(most));
        (low.saturating_add(more), high)
    };
    match expr {
        Expr::Never => (u32::MAX, Some(0)),
        Expr::Empty => (0, Some(0)),
        Expr::Bytes(bytes) => {
            let count = bytes.iter().filter(|&&byte| !(0x80..0xC0).contains(&byte)).count() as u32;
            (count, Some(count))
        }
        Expr::Marker(text) => {
            let count = text.chars().count() as u32;
            (count, Some(count))
        }
        Expr::Class(_) => (1, Some(1)),
        Expr::Seq(items) => items.iter().map(|&item| known(item)).fold((0, Some(0)), add),
        Expr::Alt(items) => items.iter().map(|&item| known(item)).fold((u32::MAX, Some(0)), |all, one| {
            (all.0.min(one.0), all.1.zip(one.1).map(|(high, most)| high.max(most)))
        }),
        &Expr::Repeat { body, min, max } => {
            let (low, high) = known(body);
            let high = if high == Some(0) {
                Some(0)
            } else {
                high.zip(max).map(|(high, max)| high.saturating_mul(max))
            };
            (low.saturating_mul(min), high)
        }
        Expr::And(items) => items
            .iter()
            .map(|&item| known(item))
            .fold((0, None), |all, one| (all.0.max(one.0), all.1.into_iter().chain(one.1).min())),
        &Expr::AtMost { body, most } => match known(body) {
            (low, _) if low > most => (u32::MAX, Some(0)),
            (low, high) => (low, Some(high.map_or(most, |high| high.min(most)))),
        },
        Expr::Automaton(automaton) => of_automaton(&automaton.dfa),
        _ => (0, None),
    }
}

/// The length of the shortest text of an automaton, and of the longest if there is one, in code points.
fn of_automaton(dfa: &Dfa) -> (u32, Option<u32>) {
    (dfa.shortest().unwrap_or(u32::MAX), longest(dfa, leads))
}

/// Whether a byte of a range begins a code point, which it does unless all of them continue one.
fn leads(low: u8, high: u8) -> bool {
    !(0x80..0xC0).contains(&low) || !(0x80..0xC0).contains(&high)
}

impl Dfa {
    /// The code points of the shortest text, if there is any.
    pub fn shortest(&self) -> Option<u32> {
        // How far each state is known to be from the start.
        let mut lengths = vec![u32::MAX; self.len()];
        let mut queue = VecDeque::new();
        if let Some(first) = lengths.first_mut() {
            *first = 0;
            queue.push_back((Dfa::START, 0));
        }
        while let Some((state, length)) = queue.pop_front() {
            if self.is_accepting(state) {
                return Some(length);
            }
            if length > lengths[state as usize] {
                continue;
            }
            for &(low, high, next) in self.edges(state) {
                let is_counted = leads(low, high);
                let beyond = length + u32::from(is_counted);
                if beyond < lengths[next as usize] {
                    lengths[next as usize] = beyond;
                    if is_counted {
                        queue.push_back((next, beyond));
                    } else {
                        queue.push_front((next, beyond));
                    }
                }
            }
        }
        None
    }

    /// For each state the code points that are to follow at least before an end.
    pub fn distances(&self) -> Vec<u32> {
        self.distances_by(leads)
    }

    /// For each state the edges that are to be taken at least before an end, of those that count.
    fn distances_by(&self, counts: impl Fn(u8, u8) -> bool) -> Vec<u32> {
        let states = 0..self.len() as StateId;
        // The edges by where they lead: those to a state begin where those to the one before it end.
        let mut ends = vec![0; self.len() + 1];
        for &(_, _, next) in states.clone().flat_map(|state| self.edges(state)) {
            ends[next as usize + 1] += 1;
        }
        for state in 0..self.len() {
            ends[state + 1] += ends[state];
        }
        let mut before: Vec<(StateId, bool)> = vec![(0, false); ends[self.len()]];
        let mut distances = vec![u32::MAX; self.len()];
        let mut queue = VecDeque::new();
        for state in states {
            for &(low, high, next) in self.edges(state) {
                let at = &mut ends[next as usize];
                before[*at] = (state, counts(low, high));
                *at += 1;
            }
            if self.is_accepting(state) {
                distances[state as usize] = 0;
                queue.push_back(state);
            }
        }
        while let Some(state) = queue.pop_front() {
            let here = distances[state as usize];
            let first = if state == 0 { 0 } else { ends[state as usize - 1] };
            for &(from, is_counted) in &before[first..ends[state as usize]] {
                let distance = here + u32::from(is_counted);
                if distance < distances[from as usize] {
                    distances[from as usize] = distance;
                    if is_counted { queue.push_back(from) } else { queue.push_front(from) }
                }
            }
        }
        distances
    }

    /// The texts of at most `most` code points; words that are no UTF-8 are none.
    pub fn at_most(&self, most: u32, budget: &Budget) -> Result<Dfa> {
        self.intersection(Dfa::any_text(), budget)?.at_most_by(most, leads, budget)
    }

    /// The words of at most `most` symbols.
    pub(super) fn at_most_symbols(&self, most: u32, budget: &Budget) -> Result<Dfa> {
        self.at_most_by(most, |_, _| true, budget)
    }

    fn at_most_by(&self, most: u32, counts: impl Fn(u8, u8) -> bool + Copy, budget: &Budget) -> Result<Dfa> {
        if longest(self, counts).is_some_and(|longest| longest <= most) {
            return Ok(self.clone());
        }
        let distances = self.distances_by(counts);
        let mut builder = DfaBuilder::new();
        let mut numbers: FxHashMap<(StateId, u32), StateId> = FxHashMap::default();
        let mut pairs: Vec<(StateId, u32)> = Vec::new();
        let mut visit = |pair: (StateId, u32), pairs: &mut Vec<_>, builder: &mut DfaBuilder| {
            *numbers.entry(pair).or_insert_with(|| {
                pairs.push(pair);
                builder.add_state(self.is_accepting(pair.0))
            })
        };
        if distances.first().is_some_and(|&shortest| shortest <= most) {
            visit((Dfa::START, most), &mut pairs, &mut builder);
        }
        let mut at = 0;
        while at < pairs.len() {
            budget.check_states(pairs.len())?;
            let (state, left) = pairs[at];
            for &(low, high, next) in self.edges(state) {
                let left = left.checked_sub(u32::from(counts(low, high)));
                if let Some(left) = left.filter(|&left| distances[next as usize] <= left) {
                    let to = visit((next, left), &mut pairs, &mut builder);
                    builder.add_edge(at as StateId, low, high, to);
                }
            }
            at += 1;
        }
        builder.finish(budget)
    }
}

/// The length of the longest word by the edges that count, if there is one: none where the automaton has a circle.
fn longest(dfa: &Dfa, counts: impl Fn(u8, u8) -> bool) -> Option<u32> {
    const OPEN: u32 = u32::MAX - 1;
    const UNKNOWN: u32 = u32::MAX;
    if dfa.is_empty() {
        return Some(0);
    }
    let mut length = vec![UNKNOWN; dfa.len()];
    let mut stack: Vec<(StateId, usize)> = vec![(Dfa::START, 0)];
    length[Dfa::START as usize] = OPEN;
    while let Some((state, at)) = stack.pop() {
        let edges = dfa.edges(state);
        if let Some(&(_, _, next)) = edges.get(at) {
            stack.push((state, at + 1));
            match length[next as usize] {
                OPEN => return None,
                UNKNOWN => {
                    length[next as usize] = OPEN;
                    stack.push((next, 0));
                }
                _ => {}
            }
            continue;
        }
        let beyond =
            |&(low, high, next): &(u8, u8, StateId)| length[next as usize] + u32::from(counts(low, high));
        length[state as usize] = edges.iter().map(beyond).max().unwrap_or(0);
    }
    Some(length[Dfa::START as usize])
}

#[cfg(test)]
mod tests {
    use crate::frontends::regex::{self, Syntax};
    use crate::ir::Builder;
    use crate::limits::{Budget, Limits};
    use crate::regular::determinize;

    #[test]
    fn the_shortest_text_is_as_far_as_the_first_state_from_an_end() {
        let (mut builder, budget) = (Builder::new(&Limits::default()), Budget::default());
        let known = [
            ("", Some(0)),
            ("a|é|", Some(0)),
            ("é{3}|a{5}", Some(3)),
            ("(?:ab|😀😀😀)*c[^]{2}", Some(3)),
            ("[a-zé-ü]+@x", Some(3)),
            ("a{2,}(?!b)b", None),
        ];
        for (pattern, length) in known {
            let expr = regex::parse(pattern, &Syntax::whole(), &mut builder, &budget).unwrap();
            let dfa = determinize(&builder, expr, &budget).unwrap();
            assert_eq!(dfa.shortest(), length, "{pattern}");
            assert_eq!(dfa.distances().first().copied(), length, "{pattern}");
        }
    }
}
