//! The oracle: the slow, short, readable twin of the engine.
//!
//! It answers every question that the engine answers (which bytes and tokens may follow, whether the text is whole,
//! what is forced) in the most direct way known for any context-free grammar: Earley's algorithm, byte by byte,
//! straight on the intermediate form. It has no cache, no interned state and no clever pass, and it shares nothing
//! with the engine but the grammar, the lowering of tags and options, and the determinisation that gives
//! intersections, complements and the texts of JSON an automaton. When the two disagree, the oracle is the one to believe.
//!
//! It does not compare the items of arrays (`distinct_items`): for these the tests write down all texts of small languages,
//! see `tests/it/distinct.rs`.
//!
//! Its one duty in the product is [`OracleState::captures`]: spans of rules need the tree that the engine never
//! builds, and Earley's sets are that tree in polynomial space.
//!
//! Reading order: `node` says what one step of one expression is (`json_text`, `list` and `tagged` for some of them), `chart`
//! drives the steps, `captures` reads
//! spans out of a finished chart, and `certain` says which of them are in every parse.
//!
//! Invariants:
//!
//! 1. Nodes that generate nothing are never entered, so a chart whose last set holds an item is a prefix of a
//!    sentence: alive means viable, there are no dead ends.
//! 2. A token matches by its bytes or, as a whole, by a token edge; the state after it is the union of both ways.

mod at_most;
mod captures;
mod certain;
mod chart;
mod json_text;
mod list;
mod node;
mod tagged;
#[cfg(test)]
mod tests;

pub use captures::Capture;
pub(crate) use certain::{Ended, Mark, Waiting};
pub use chart::OracleState;

use std::sync::Arc;

use tokenstile_grammar::{Budget, Error, ErrorKind, Grammar, Result, passes};

use node::{NodeId, Nodes};

/// A grammar, ready to be parsed by.
#[derive(Debug)]
pub struct Oracle {
    nodes: Arc<Nodes>,
    root: NodeId,
}

impl Oracle {
    /// An oracle for `grammar`, within the default limits. A grammar that generates nothing is an error.
    pub fn new(grammar: &Grammar) -> Result<Self> {
        Oracle::with_budget(grammar, &Budget::default())
    }

    /// An oracle for `grammar`, within `budget`.
    pub fn with_budget(grammar: &Grammar, budget: &Budget) -> Result<Self> {
        let lowered = passes::markers::lower(grammar.clone(), &passes::Special::none(), budget)?;
        let lowered = passes::options::lower(lowered, budget)?;
        let lowered = passes::dispatch::lower(lowered, budget)?;
        let lowered = passes::intersect::lower(lowered, budget)?;
        passes::json_text::check(&lowered, budget)?;
        let nodes = Nodes::new(&lowered, budget)?;
        let root = nodes.of_rule(lowered.root());
        if !nodes.is_productive(root) {
            return Err(Error::new(ErrorKind::Invalid, "the grammar generates nothing"));
        }
        Ok(Oracle { nodes: Arc::new(nodes), root })
    }

    /// The state before the first byte.
    pub fn start(&self) -> OracleState<'_> {
        OracleState::new(&self.nodes, self.root)
    }

    /// The same for a state that needs the oracle no longer.
    pub(crate) fn into_start(self) -> OracleState<'static> {
        OracleState::new(&self.nodes, self.root)
    }

    /// For each of `tokens`, whether `state` would stay alive if it came next. Its place in the list is its id.
    pub fn mask(&self, state: &OracleState<'_>, tokens: &[impl AsRef<[u8]>]) -> Vec<bool> {
        let mut trial = state.clone();
        let names_tokens = trial.takes_token();
        let allows = |(id, bytes)| {
            if names_tokens { trial.would_accept(bytes, id) } else { trial.would_read(bytes) }
        };
        (0..).zip(tokens.iter().map(AsRef::as_ref)).map(allows).collect()
    }
}
