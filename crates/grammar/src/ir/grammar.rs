//! Rules and grammars.

use std::sync::Arc;

use super::builder::ExprIndex;
use super::expr::{Expr, ExprId, RuleId};
use super::exprs::Exprs;
use crate::passes::Ready;

/// What a rule says beside its body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleOptions {
    /// At most this many tokens.
    pub max_tokens: Option<u32>,
    /// At most this many code points.
    pub max_chars: Option<u32>,
    /// Record the spans that the rule matched under this name.
    pub capture: Option<String>,
    /// So many bytes at the end of a span are not part of its capture.
    pub hidden_bytes: u32,
    /// Record those bytes under this name.
    pub stop_capture: Option<String>,
    /// Leave those bytes out of the captures around the rule too.
    pub hides_stop: bool,
    /// End at the first chance.
    pub lazy: bool,
    /// The sampling temperature that is advised inside the rule.
    pub temperature: Option<f32>,
    /// What it matches is a JSON array of which no two items are equal.
    pub distinct_items: bool,
    /// The JSON Pointer of the schema that such an array comes from, for messages.
    pub distinct_at: Option<String>,
}

impl RuleOptions {
    /// Whether the engine must know while it reads that it is in the rule.
    pub fn needs_frame(&self) -> bool {
        self.max_tokens.is_some() || self.distinct_items
    }

    /// Whether anything is recorded, or left out of what is.
    pub fn captures(&self) -> bool {
        self.capture.is_some() || self.stop_capture.is_some() || self.hides_stop
    }
}

/// A named expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The name, unique in its grammar.
    pub name: String,
    /// What it matches.
    pub body: ExprId,
    /// What it says beside.
    pub options: RuleOptions,
}

/// A grammar: rules, and the one to start from. Made by [`super::Builder::finish`].
#[derive(Clone, Debug)]
pub struct Grammar {
    pub(super) exprs: Exprs,
    /// The expressions with their hashes, for a builder that goes on from here.
    pub(super) index: ExprIndex,
    pub(super) rules: Vec<Rule>,
    pub(super) root: RuleId,
    pub(super) ready: Option<(RuleId, Arc<Ready>)>,
}

impl Grammar {
    /// The expression `id`.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()]
    }

    /// All expressions, children before parents.
    pub fn exprs(&self) -> impl ExactSizeIterator<Item = (ExprId, &Expr)> {
        self.exprs.iter().enumerate().map(|(at, expr)| (ExprId(at as u32), expr))
    }

    /// The rule `id`.
    pub fn rule(&self, id: RuleId) -> &Rule {
        &self.rules[id.index()]
    }

    /// All rules.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = (RuleId, &Rule)> {
        self.rules.iter().enumerate().map(|(at, rule)| (RuleId(at as u32), rule))
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        let rules = self.rules.iter().map(|rule| size_of::<Rule>() + rule.name.len());
        let index = self.index.allocation_size();
        self.exprs.memory_bytes() + rules.sum::<usize>() + index
    }

    /// The rule whose machine is known, and the machine.
    pub(crate) fn ready(&self) -> Option<&(RuleId, Arc<Ready>)> {
        self.ready.as_ref()
    }

    /// The same rules, starting from another.
    pub(crate) fn with_root(self, root: RuleId) -> Self {
        Grammar { root, ..self }
    }

    /// The rule that the language starts from.
    pub fn root(&self) -> RuleId {
        self.root
    }
}
