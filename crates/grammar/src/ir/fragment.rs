//! Expressions that are kept apart from any grammar, to be put into many.
//!
//! What is the same in many schemas and dear to make is made once and copied from then on. A copy interns each
//! expression anew, so that it is one with what the grammar holds already.

use std::sync::Arc;

use super::builder::Builder;
use super::combine::copy_expr;
use super::expr::{Expr, ExprId};
use super::exprs::Exprs;
use super::grammar::RuleOptions;
use crate::error::Result;
use crate::limits::{Budget, Limits};

/// An expression without rules, with all that it is made of and nothing else.
#[derive(Debug)]
pub(crate) struct Fragment {
    exprs: Exprs,
    root: ExprId,
    /// The states of the largest automaton in it.
    states: usize,
}

impl Fragment {
    /// What `root` is made of in `builder`; none of it names a rule.
    pub(crate) fn new(builder: &Builder, root: ExprId) -> Self {
        let mut used = vec![false; root.index() + 1];
        used[root.index()] = true;
        for at in (0..=root.index()).rev() {
            if used[at] {
                builder
                    .expr(ExprId(at as u32))
                    .children()
                    .iter()
                    .for_each(|child| used[child.index()] = true);
            }
        }
        let mut own = Builder::new(&Limits::default());
        let never = own.never();
        let mut copies = vec![never; used.len()];
        let mut states = 0;
        for at in (0..used.len()).filter(|&at| used[at]) {
            let expr = builder.expr(ExprId(at as u32));
            if let Expr::Automaton(automaton) = expr {
                states = states.max(automaton.states());
            }
            copies[at] = copy_expr(&mut own, expr, &copies, &[]);
        }
        Fragment { exprs: own.into_exprs(), root: copies[root.index()], states }
    }

    /// The expression in `builder`. Fails where making it would have gone beyond the limits.
    pub(crate) fn copy_into(&self, builder: &mut Builder, budget: &Budget) -> Result<ExprId> {
        budget.check_states(self.states)?;
        let mut copies: Vec<ExprId> = Vec::with_capacity(self.exprs.len());
        for expr in self.exprs.iter() {
            let copy = copy_expr(builder, expr, &copies, &[]);
            copies.push(copy);
        }
        builder.check()?;
        Ok(copies[self.root.index()])
    }

    /// The EBNF text of the expression, unless it takes rules to write it down.
    pub(crate) fn source(&self, budget: &Budget) -> Result<Option<Arc<str>>> {
        let mut builder = Builder::new(budget.limits());
        let root = builder.declare("root");
        let body = self.copy_into(&mut builder, budget)?;
        builder.define(root, body, RuleOptions::default());
        let text = builder.finish(root)?.to_string();
        let text = text.strip_prefix("root ::= ").map(str::trim_end);
        Ok(text.filter(|text| !text.contains('\n')).map(|text| format!("({text})").into()))
    }

    /// The memory that it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.exprs.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_one_with_what_is_there() {
        let mut first = Builder::new(&Limits::default());
        first.bytes("unused");
        let (a, b) = (first.bytes("a"), first.bytes("b"));
        let root = first.alt([a, b]);
        let fragment = Fragment::new(&first, root);
        assert_eq!(fragment.exprs.len(), 4);
        let mut second = Builder::new(&Limits::default());
        let (b, a) = (second.bytes("b"), second.bytes("a"));
        let both = second.alt([a, b]);
        assert_eq!(fragment.copy_into(&mut second, &Budget::default()).unwrap(), both);
    }
}
