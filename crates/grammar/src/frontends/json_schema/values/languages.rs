//! Regular languages of texts, and what was found out about them.
//!
//! The expressions are those of the grammar in the making. Most questions about them need no automaton; where one is made, it
//! is kept, and the expression is that from then on.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::frontends::regex::{self, Syntax};
use crate::ir::{Automaton, Builder, Expr, ExprId, Fragment};
use crate::limits::Budget;
use crate::regular::{self, CharSet, Dfa};

use super::keys::Region;
use super::numbers::{Forms, NumberSet};
use super::texts::{TextSet, least, outside_of_length};

/// The expressions of texts, and the automata of those that somebody asked about.
#[derive(Debug)]
pub struct Languages<'b> {
    /// Where the expressions are interned.
    pub builder: Builder,
    /// The account of the conversion.
    pub budget: &'b Budget,
    /// What was found out about them.
    pub known: Known,
}

/// What was found out about the expressions of a builder: it holds for all schemas that are put into the same one.
#[derive(Debug, Default)]
pub struct Known {
    automata: FxHashMap<ExprId, Arc<Dfa>>,
    /// The EBNF text of patterns, by expression.
    sources: FxHashMap<ExprId, String>,
    /// The texts that are not in a complement, by expression: a text is found among them without an automaton.
    pub(super) complements: FxHashMap<ExprId, Rc<BTreeSet<Box<str>>>>,
    /// The languages of patterns that formats mean.
    meant: FxHashMap<&'static str, ExprId>,
    /// Expressions as automata that are ready.
    made: FxHashMap<ExprId, ExprId>,
    /// How patterns split all keys.
    pub(super) regions: FxHashMap<Box<[ExprId]>, Rc<[Region]>>,
    /// Sets of numbers as expressions, by the forms in which they are written: most schemas have few sets.
    pub numbers: FxHashMap<(NumberSet, Forms), ExprId>,
    /// Languages of which some texts are written only if there are no others, by those that have such.
    pub brief: FxHashMap<ExprId, ExprId>,
    /// Texts that hold none of some strings, and come before the first of them.
    pub free_texts: FxHashMap<Box<[Box<str>]>, ExprId>,
    /// Texts that hold none of some strings: a request has one such list for all of its tools.
    pub excluded: FxHashMap<Box<[String]>, ExprId>,
}

impl<'b> Languages<'b> {
    /// No automaton yet.
    pub fn new(builder: Builder, budget: &'b Budget) -> Self {
        Languages { builder, budget, known: Known::default() }
    }

    /// Remembers how a pattern is written in EBNF.
    pub fn name(&mut self, expr: ExprId, source: String) {
        self.known.sources.insert(expr, source);
    }

    /// The language of a pattern that a format means.
    pub(super) fn meant(&mut self, pattern: &'static str) -> Result<ExprId> {
        if let Some(&known) = self.known.meant.get(pattern) {
            return Ok(known);
        }
        let (meant, _) = regex::parse_named(pattern, &Syntax::search(), &mut self.builder, self.budget)?;
        self.known.meant.insert(pattern, meant);
        Ok(meant)
    }

    /// The EBNF text of what matches all of `matched` and none of `others`, where all of them are known by name.
    pub fn source(&self, matched: &[ExprId], others: &[ExprId]) -> Option<String> {
        let texts =
            |list: &[ExprId]| list.iter().map(|expr| Some(self.known.sources.get(expr)?.as_str())).collect();
        let (matched, others): (Option<Vec<&str>>, Option<Vec<&str>>) = (texts(matched), texts(others));
        let (mut parts, others) = (matched?, others?);
        let none = format!("~({})", others.join(" | "));
        if !others.is_empty() {
            parts.push(&none);
        }
        Some(format!("({})", parts.join(" & ")))
    }

    /// An expression with those languages in it made brief of which some texts are written rather than others.
    pub(super) fn brief(&mut self, expr: ExprId) -> ExprId {
        if self.known.brief.is_empty() {
            return expr;
        }
        if let Some(&brief) = self.known.brief.get(&expr) {
            return brief;
        }
        match self.builder.expr(expr).clone() {
            Expr::Alt(items) => {
                let items: Vec<ExprId> = items.into_iter().map(|item| self.brief(item)).collect();
                self.builder.alt(items)
            }
            Expr::AtMost { body, most } => {
                let body = self.brief(body);
                self.builder.at_most(body, most)
            }
            _ => expr,
        }
    }

    /// The automaton of `expr`.
    pub fn automaton(&mut self, expr: ExprId) -> Result<Arc<Dfa>> {
        if let Some(dfa) = self.known.automata.get(&expr) {
            return Ok(Arc::clone(dfa));
        }
        let dfa = Arc::new(regular::determinize(&self.builder, expr, self.budget)?);
        self.known.automata.insert(expr, Arc::clone(&dfa));
        Ok(dfa)
    }

    /// A text to be emitted: conjunctions and complements are automata from here on. The passes would make them, too, but do
    /// not know of what schema they are where that takes too much.
    pub fn settled(&mut self, expr: ExprId) -> Result<ExprId> {
        let (body, most) = self.unbounded(expr);
        let settled = match self.builder.expr(body) {
            Expr::And(_) | Expr::Not(_) => {
                let dfa = self.automaton(body)?;
                self.made(body, None, |_| Ok(dfa))?
            }
            Expr::Alt(items) if items.iter().any(|&item| self.is_unsettled(item)) => {
                let items = items.clone().into_iter();
                let items: Vec<ExprId> = items.map(|item| self.settled(item)).collect::<Result<_>>()?;
                self.builder.alt(items)
            }
            _ => body,
        };
        Ok(most.map_or(settled, |most| self.builder.at_most(settled, most)))
    }

    fn is_unsettled(&self, expr: ExprId) -> bool {
        let (body, most) = self.unbounded(expr);
        match self.builder.expr(body) {
            Expr::And(_) | Expr::Not(_) => true,
            // Alternatives within alternatives have a bound between them.
            Expr::Alt(_) => most.is_some(),
            _ => false,
        }
    }

    /// An expression as its automaton, unless it takes rules to write it down; `source` is its EBNF text if that is known,
    /// and `compute` gives the automaton if that is not.
    pub fn made(
        &mut self,
        expr: ExprId,
        source: Option<String>,
        compute: impl FnOnce(&Budget) -> Result<Arc<Dfa>>,
    ) -> Result<ExprId> {
        if let Some(&made) = self.known.made.get(&expr) {
            return Ok(made);
        }
        let source = match source {
            Some(source) => Some(source.into()),
            None => Fragment::new(&self.builder, expr).source(self.budget)?,
        };
        let made = match source {
            Some(source) => {
                let dfa = match self.known.automata.get(&expr) {
                    Some(dfa) => Arc::clone(dfa),
                    None => compute(self.budget)?,
                };
                self.known.automata.insert(expr, Arc::clone(&dfa));
                self.builder.automaton(Automaton { source, dfa: dfa.into() })
            }
            None => expr,
        };
        self.known.made.insert(expr, made);
        Ok(made)
    }

    /// Whether `text` is in the language of `expr`.
    pub fn matches(&mut self, expr: ExprId, text: &str) -> Result<bool> {
        if let Expr::Bytes(bytes) = self.builder.expr(expr) {
            return Ok(**bytes == *text.as_bytes());
        }
        if let Some(excluded) = self.known.complements.get(&expr) {
            return Ok(!excluded.contains(text));
        }
        let (body, most) = self.unbounded(expr);
        if most.is_some_and(|most| text.chars().count() > most as usize) {
            return Ok(false);
        }
        if !self.has_bounded_items(body) {
            return Ok(self.automaton(body)?.matches(text.as_bytes()));
        }
        for item in self.builder.expr(body).children().to_vec() {
            if self.matches(item, text)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the language of `expr` has no text.
    pub fn is_empty(&mut self, expr: ExprId) -> Result<bool> {
        let (body, most) = self.unbounded(expr);
        Ok(match self.builder.expr(body) {
            Expr::Never => true,
            Expr::Not(_) if most.is_none() && self.known.complements.contains_key(&body) => false,
            Expr::And(_) | Expr::Not(_) => {
                let dfa = self.automaton(body)?;
                match most {
                    None => dfa.is_empty(),
                    Some(most) => dfa.shortest().is_none_or(|shortest| shortest > most),
                }
            }
            Expr::Alt(items) => {
                for item in items.clone() {
                    let item = most.map_or(item, |most| self.builder.at_most(item, most));
                    if !self.is_empty(item)? {
                        return Ok(false);
                    }
                }
                true
            }
            _ => most.is_some_and(|most| regular::lengths(&self.builder, body).0 > most),
        })
    }

    /// What is in all of `parts`. A bound of the length within a conjunction would be counted by an automaton, which would
    /// multiply by it. So bounds are drawn out: those of the parts, and those of alternatives, unless these are too many.
    pub(super) fn all_of(&mut self, parts: &[ExprId]) -> ExprId {
        const MOST_ALTERNATIVES: usize = 16;
        let bodies: Vec<(ExprId, Option<u32>)> = parts.iter().map(|&part| self.unbounded(part)).collect();
        let most = bodies.iter().filter_map(|&(_, most)| most).min();
        let (choices, plain): (Vec<ExprId>, Vec<ExprId>) =
            bodies.into_iter().map(|(body, _)| body).partition(|&body| self.has_bounded_items(body));
        let mut all = vec![(plain.clone(), most)];
        for &choice in &choices {
            let items = self.builder.expr(choice).children();
            if all.len().saturating_mul(items.len()) > MOST_ALTERNATIVES {
                all = vec![(plain.into_iter().chain(choices).collect(), most)];
                break;
            }
            let with = |(parts, most): &(Vec<ExprId>, Option<u32>), item: ExprId| {
                let (body, own) = self.unbounded(item);
                let parts = parts.iter().copied().chain([body]).collect();
                (parts, least(*most, own))
            };
            all = all.iter().flat_map(|one| items.iter().map(move |&item| with(one, item))).collect();
        }
        let alternatives: Vec<ExprId> = all
            .into_iter()
            .map(|(parts, most)| {
                let all = self.builder.and(parts);
                most.map_or(all, |most| self.builder.at_most(all, most))
            })
            .collect();
        self.builder.alt(alternatives)
    }

    /// Whether an expression is a choice, and some alternative has a bound of its own.
    fn has_bounded_items(&self, expr: ExprId) -> bool {
        match self.builder.expr(expr) {
            Expr::Alt(items) => items.iter().any(|&item| self.unbounded(item).1.is_some()),
            _ => false,
        }
    }

    /// The texts that `expr` is the complement of, if it is one.
    pub(super) fn outside_of(&self, expr: ExprId) -> Option<TextSet> {
        if let Some(texts) = self.known.complements.get(&expr) {
            return Some(TextSet::Finite(Rc::clone(texts)));
        }
        let inner = match *self.builder.expr(expr) {
            Expr::Not(inner) => inner,
            Expr::Repeat { body, min, max } => {
                return self.is_any_character(body).then(|| outside_of_length(min, max)).flatten();
            }
            _ => return None,
        };
        let (body, max) = self.unbounded(inner);
        let conjuncts = match self.builder.expr(body) {
            Expr::And(items) => items.to_vec(),
            _ => vec![body],
        };
        Some(TextSet::exactly(conjuncts, 0, max))
    }

    fn is_any_character(&self, expr: ExprId) -> bool {
        matches!(self.builder.expr(expr), Expr::Class(set) if *set == CharSet::any())
    }

    /// An expression without the bound of its length, and that.
    pub(super) fn unbounded(&self, expr: ExprId) -> (ExprId, Option<u32>) {
        match *self.builder.expr(expr) {
            Expr::AtMost { body, most } => (body, Some(most)),
            _ => (expr, None),
        }
    }

    /// Any text of `min` to `max` code points.
    pub fn of_length(&mut self, min: u32, max: Option<u32>) -> ExprId {
        let any = self.builder.class(CharSet::any());
        self.builder.repeat(any, min, max)
    }
}
