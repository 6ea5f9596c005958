//! The bytes that an expression may begin or end with.
//!
//! What it gives may be too much, never too little: it looks no further than literals, classes, automata and what joins them,
//! and where it meets anything else, every byte is possible.

use std::collections::BinaryHeap;

use crate::ir::{Expr, ExprId};
use crate::regular::{ByteSet, ExprSource};

/// Automata of more states than this are not looked at.
const MOST_STATES: usize = 512;

/// Which end of an expression is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    First,
    Last,
}

/// The bytes that may be the first or the last of what `expr` matches.
pub(super) fn edge_bytes(
    source: &impl ExprSource,
    is_nullable: impl Fn(ExprId) -> bool,
    expr: ExprId,
    side: Side,
) -> ByteSet {
    let mut bytes = ByteSet::NONE;
    // Children have smaller numbers than what they stand in, so equal ones follow each other.
    let mut open = BinaryHeap::from([expr]);
    let mut last = None;
    while let Some(id) = open.pop() {
        if last.replace(id) == Some(id) {
            continue;
        }
        match source.expr(id) {
            Expr::Empty => {}
            Expr::Bytes(text) => {
                let edge = if side == Side::First { text.first() } else { text.last() };
                edge.iter().for_each(|&&byte| bytes.add(byte));
            }
            Expr::Class(set) if set.ranges().iter().all(|&(_, high)| high.is_ascii()) => {
                let chars = set.ranges().iter().flat_map(|&(low, high)| low..=high);
                chars.for_each(|c| bytes.add(c as u8));
            }
            Expr::Automaton(automaton)
                if automaton.states() <= MOST_STATES && automaton.dfa.put_off().is_none() =>
            {
                let (first, last) = automaton.dfa.edge_bytes();
                bytes.add_all(if side == Side::First { *first } else { *last });
            }
            Expr::Alt(items) => open.extend(items),
            Expr::Repeat { body, .. } => open.push(*body),
            Expr::Seq(items) => {
                let is_solid = |item: &ExprId| !is_nullable(*item);
                open.extend(match side {
                    Side::First => &items[..=items.iter().position(is_solid).unwrap_or(items.len() - 1)],
                    Side::Last => &items[items.iter().rposition(is_solid).unwrap_or(0)..],
                });
            }
            _ => return ByteSet::ALL,
        }
    }
    bytes
}
