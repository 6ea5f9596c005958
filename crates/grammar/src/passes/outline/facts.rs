//! What has to be known of the texts of an outline: the same as the passes find out about a grammar, but asked for while the
//! expressions are still being made.

use super::super::edge_bytes::{Side, edge_bytes};
use super::super::shape::{Shape, is_wide_terminal, shape};
use crate::ir::{Builder, Expr, ExprId};
use crate::regular::{ByteSet, Lengths};

/// What is known of an expression.
#[derive(Clone, Copy, Debug)]
struct Fact {
    shape: Shape,
    nullable: bool,
    /// Whether the engine reads it as it is: it holds nothing that a pass has to do away with.
    settled: bool,
    /// Whether it holds a bounded text.
    bounded: bool,
}

/// What is known of the expressions of a builder, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    known: Vec<Fact>,
    lengths: Lengths,
}

impl Facts {
    /// What is known of all expressions that a builder has now.
    pub(crate) fn of_all(builder: &Builder) -> Self {
        let mut facts = Facts::default();
        if let Some(last) = builder.expr_count().checked_sub(1) {
            facts.of(builder, ExprId(last as u32));
        }
        facts
    }

    fn of(&mut self, builder: &Builder, id: ExprId) -> Fact {
        while self.known.len() <= id.index() {
            let expr = builder.expr(ExprId(self.known.len() as u32));
            let fact = self.find(builder, expr);
            self.known.push(fact);
        }
        self.known[id.index()]
    }

    fn find(&mut self, builder: &Builder, expr: &Expr) -> Fact {
        let known = &self.known;
        let fact = |child: &ExprId| known[child.index()];
        let children = expr.children();
        let shape = shape(expr, |child| fact(&child).shape, |child| builder.expr(child));
        let is_nullable = |child: &ExprId| fact(child).nullable;
        let nullable = match expr {
            Expr::Empty => true,
            Expr::Seq(items) => items.iter().all(is_nullable),
            Expr::Repeat { body, min, .. } => *min == 0 || is_nullable(body),
            Expr::Automaton(automaton) => automaton.is_nullable(),
            Expr::Alt(_) | Expr::JsonText { .. } | Expr::AtMost { .. } => children.iter().any(is_nullable),
            _ => false,
        };
        let bounded = children.iter().any(|child| fact(child).bounded);
        let itself = match expr {
            Expr::Bytes(bytes) => std::str::from_utf8(bytes).is_ok(),
            Expr::AtMost { body, most } => !bounded && !self.lengths.exceed(builder, *body, *most),
            Expr::Empty
            | Expr::Class(_)
            | Expr::Seq(_)
            | Expr::Alt(_)
            | Expr::Repeat { .. }
            | Expr::Automaton(_)
            | Expr::JsonText { .. } => true,
            _ => false,
        };
        Fact {
            shape,
            nullable,
            settled: itself && children.iter().all(|child| fact(child).settled),
            bounded: bounded || matches!(expr, Expr::AtMost { .. }),
        }
    }

    /// Whether the engine reads an expression as it is.
    pub(super) fn is_settled(&mut self, builder: &Builder, id: ExprId) -> bool {
        self.of(builder, id).settled
    }

    /// Whether an expression matches the empty string.
    pub(super) fn is_nullable(&mut self, builder: &Builder, id: ExprId) -> bool {
        self.of(builder, id).nullable
    }

    /// The bytes that an expression may begin or end with.
    pub(super) fn edge_bytes(&mut self, builder: &Builder, id: ExprId, side: Side) -> ByteSet {
        // Then they are known of its children too.
        self.of(builder, id);
        edge_bytes(builder, |child| self.known[child.index()].nullable, id, side)
    }

    /// Whether an expression can be part of a larger narrow terminal.
    pub(super) fn is_narrow(&mut self, builder: &Builder, id: ExprId) -> bool {
        self.of(builder, id).shape.is_narrow()
    }

    /// Whether an expression is a wide loop that stands as a terminal of its own.
    pub(super) fn is_wide_terminal(&mut self, builder: &Builder, id: ExprId) -> bool {
        is_wide_terminal(builder.expr(id), self.of(builder, id).shape)
    }
}
