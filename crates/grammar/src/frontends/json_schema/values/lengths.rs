//! Lengths of the texts of an expression, in code points.
//!
//! Most patterns say something about the length themselves, and then bounds beside them are no news. So before a bound
//! is made an automaton and multiplied with the pattern's, the pattern is asked.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::ir::{Builder, Expr, ExprId};
use crate::regular::{Dfa, StateId};

/// A length that no text is shorter than, and one that no text is longer than if there is such.
pub(super) fn of_expr(builder: &Builder, root: ExprId) -> (u32, Option<u32>) {
    let mut known: FxHashMap<ExprId, (u32, Option<u32>)> = FxHashMap::default();
    let mut stack = vec![root];
    while let Some(&id) = stack.last() {
        let expr = builder.expr(id);
        let open = stack.len();
        stack.extend(expr.children().iter().filter(|child| !known.contains_key(child)));
        if stack.len() == open {
            stack.pop();
            known.insert(id, bounds(expr, |child| known[&child]));
        }
    }
    known[&root]
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
        Expr::Automaton(automaton) => of_automaton(&automaton.dfa),
        _ => (0, None),
    }
}

/// The length of the shortest text of an automaton, and of the longest if there is one, in code points.
fn of_automaton(dfa: &Dfa) -> (u32, Option<u32>) {
    let leads = |low: u8, high: u8| !(0x80..0xC0).contains(&low) || !(0x80..0xC0).contains(&high);
    let mut distance = vec![u32::MAX; dfa.len()];
    let mut queue = VecDeque::new();
    let mut shortest = u32::MAX;
    if !dfa.is_empty() {
        distance[Dfa::START as usize] = 0;
        queue.push_back(Dfa::START);
    }
    while let Some(state) = queue.pop_front() {
        let here = distance[state as usize];
        if dfa.is_accepting(state) {
            shortest = shortest.min(here);
        }
        for &(low, high, next) in dfa.edges(state) {
            let step = u32::from(leads(low, high));
            if here + step < distance[next as usize] {
                distance[next as usize] = here + step;
                if step == 0 { queue.push_front(next) } else { queue.push_back(next) }
            }
        }
    }
    (shortest, longest(dfa, leads))
}

/// The length of the longest text, if there is one: none where the automaton has a circle.
fn longest(dfa: &Dfa, leads: impl Fn(u8, u8) -> bool) -> Option<u32> {
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
            |&(low, high, next): &(u8, u8, StateId)| length[next as usize] + u32::from(leads(low, high));
        length[state as usize] = edges.iter().map(beyond).max().unwrap_or(0);
    }
    Some(length[Dfa::START as usize])
}
