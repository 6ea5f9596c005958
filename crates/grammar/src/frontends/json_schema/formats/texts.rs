//! What the formats are written with: patterns, and the builder's expressions.

use std::sync::Arc;

use crate::error::Result;
use crate::frontends::regex::{self, Syntax};
use crate::ir::{Automaton, Builder, ExprId, Fragment};
use crate::limits::Budget;
use crate::regular::{CharSet, determinize};

/// Makes the expressions of one format.
pub(super) struct Texts<'a> {
    builder: &'a mut Builder,
    budget: &'a Budget,
}

impl<'a> Texts<'a> {
    pub(super) fn new(builder: &'a mut Builder, budget: &'a Budget) -> Self {
        Texts { builder, budget }
    }

    /// The texts that a pattern of ours matches from end to end. Its `\d` is ASCII.
    pub(super) fn pattern(&mut self, pattern: &str) -> Result<ExprId> {
        regex::parse(pattern, &Syntax::whole(), self.builder, self.budget)
    }

    /// This text.
    pub(super) fn literal(&mut self, text: &str) -> ExprId {
        self.builder.bytes(text)
    }

    /// One code point of `set`.
    pub(super) fn class(&mut self, set: CharSet) -> ExprId {
        self.builder.class(set)
    }

    /// `items` one after the other.
    pub(super) fn seq<const N: usize>(&mut self, items: [ExprId; N]) -> ExprId {
        self.builder.seq(items)
    }

    /// Any one of `items`.
    pub(super) fn alt(&mut self, items: impl IntoIterator<Item = ExprId>) -> ExprId {
        self.builder.alt(items)
    }

    /// `item`, from none to `most` times.
    pub(super) fn up_to(&mut self, item: ExprId, most: u32) -> ExprId {
        self.builder.repeat(item, 0, Some(most))
    }

    /// The texts of `item` with at most `most` code points.
    pub(super) fn at_most(&mut self, item: ExprId, most: u32) -> ExprId {
        self.builder.at_most(item, most)
    }

    /// `item` any number of times.
    pub(super) fn star(&mut self, item: ExprId) -> ExprId {
        self.builder.repeat(item, 0, None)
    }

    /// The texts of a pattern, as an automaton; so it is to be small.
    pub(super) fn automaton(&mut self, pattern: &str) -> Result<ExprId> {
        let (expr, source) = regex::parse_named(pattern, &Syntax::whole(), self.builder, self.budget)?;
        let dfa = Arc::new(determinize(&*self.builder, expr, self.budget)?);
        Ok(self.builder.automaton(Automaton { source: source.into(), dfa: dfa.into() }))
    }

    /// The texts of `item`, as an automaton: of something small that is read again and again, in many places.
    pub(super) fn determinized(&mut self, item: ExprId) -> Result<ExprId> {
        let Some(source) = Fragment::new(self.builder, item).source(self.budget)? else { return Ok(item) };
        let dfa = Arc::new(determinize(&*self.builder, item, self.budget)?);
        Ok(self.builder.automaton(Automaton { source, dfa: dfa.into() }))
    }

    /// The texts that both patterns match. They become an automaton, so both are to be small.
    pub(super) fn both(&mut self, one: &str, other: &str) -> Result<ExprId> {
        let mut named = |pattern| regex::parse_named(pattern, &Syntax::whole(), self.builder, self.budget);
        let ((one, one_source), (other, other_source)) = (named(one)?, named(other)?);
        let both = self.builder.and([one, other]);
        let dfa = Arc::new(determinize(&*self.builder, both, self.budget)?);
        let source = format!("({one_source} & {other_source})").into();
        Ok(self.builder.automaton(Automaton { source, dfa: dfa.into() }))
    }
}
