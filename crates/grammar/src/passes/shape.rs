//! The shape of expressions, as far as it decides what becomes a terminal.
//!
//! A terminal is a regular part whose inside does not depend on the context. How large to make it is a matter of
//! cost, never of meaning. A *wide* loop (free text, the body of a string, an identifier) has a token table that is
//! dear to build and is the same in every grammar, so it stands alone, with no more than the delimiters on its two
//! sides. Everything else that is regular is narrow: its tables are cheap, and it grows as far as it can.

use crate::ir::{Expr, ExprId, Grammar};
use crate::regular::{CharSet, Dfa};

/// A set with more possible first bytes than this is wide.
const WIDE: u32 = 24;

/// A repeat up to this count is not a loop.
const SHORT: u32 = 8;

/// An automaton of more states is wide, whatever it reads,
const SMALL_AUTOMATON: usize = 64;

/// but for those of digits and of spaces, which may have so many states and have no more ways on.
const LONG_AUTOMATON: usize = 512;
const FEW_WAYS: u32 = 14;

/// What is known of an expression.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    /// No rules and no tokens in it.
    pub(super) regular: bool,
    /// Holds a wide class.
    wide: bool,
    /// Repeats something wide.
    pub(super) wide_loop: bool,
}

impl Shape {
    /// Whether it can be part of a larger narrow terminal.
    pub(super) fn is_narrow(self) -> bool {
        self.regular && !self.wide_loop
    }
}

/// The shapes of all expressions.
pub(super) fn shapes(grammar: &Grammar) -> Vec<Shape> {
    let mut shapes: Vec<Shape> = Vec::with_capacity(grammar.exprs().len());
    for (_, expr) in grammar.exprs() {
        let shape = shape(expr, |child| shapes[child.index()], |child| grammar.expr(child));
        shapes.push(shape);
    }
    shapes
}

/// The shape of an expression whose children have the shapes that `known` tells, and are what `child` tells.
pub(super) fn shape<'e>(
    expr: &Expr,
    known: impl Fn(ExprId) -> Shape,
    child: impl Fn(ExprId) -> &'e Expr,
) -> Shape {
    let mut shape = Shape { regular: true, wide: false, wide_loop: false };
    for &child in expr.children() {
        let child = known(child);
        shape.regular &= child.regular;
        shape.wide |= child.wide;
        shape.wide_loop |= child.wide_loop;
    }
    match expr {
        Expr::Class(set) => shape.wide = first_bytes(set) > WIDE,
        Expr::Repeat { max, .. } if max.is_none_or(|max| max > SHORT) => shape.wide_loop |= shape.wide,
        Expr::Automaton(automaton) => {
            let is_wide = automaton.dfa.put_off().is_some() || !is_narrow(&automaton.dfa);
            (shape.wide, shape.wide_loop) = (is_wide, is_wide);
        }
        // The spellings of a text have escapes.
        Expr::JsonText { text, .. } if matches!(child(*text), Expr::Automaton(_)) => {
            (shape.wide, shape.wide_loop) = (true, true);
        }
        Expr::Members { .. }
        | Expr::Rule(_)
        | Expr::Token(_)
        | Expr::TagDispatch(_)
        | Expr::Tagged { .. }
        | Expr::TokenTagDispatch(_) => shape.regular = false,
        _ => {}
    }
    shape
}

/// Whether `expr` is a wide loop that stands as a terminal of its own: an automaton, a repeat, a JSON text or
/// what is at most so long.
pub(super) fn is_wide_terminal(expr: &Expr, shape: Shape) -> bool {
    let stands_alone = matches!(
        expr,
        Expr::Automaton(_) | Expr::Repeat { .. } | Expr::JsonText { .. } | Expr::AtMost { .. }
    );
    shape.regular && shape.wide_loop && stands_alone
}

/// Whether an automaton is small and has few ways on everywhere.
fn is_narrow(dfa: &Dfa) -> bool {
    let is_small = dfa.len() <= SMALL_AUTOMATON && dfa.most_ways() <= WIDE;
    is_small || dfa.len() <= LONG_AUTOMATON && dfa.most_ways() <= FEW_WAYS
}

/// In how many ways the UTF-8 form of a member can start.
fn first_bytes(set: &CharSet) -> u32 {
    let lead = |c: char| {
        let mut buffer = [0; 4];
        c.encode_utf8(&mut buffer);
        u32::from(buffer[0])
    };
    let mut count = 0;
    let mut last = None;
    for &(low, high) in set.ranges() {
        let (low, high) = (lead(low), lead(high));
        count += high - low + u32::from(last != Some(low));
        last = Some(high);
    }
    count
}
