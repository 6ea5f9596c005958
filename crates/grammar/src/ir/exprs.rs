//! Lists of expressions that may begin with a list that others begin with too.
//!
//! What nearly every schema can say, strings and numbers and the values that are left open, are the same expressions in all
//! of them. They are made once. Whatever is built after them shares them, and holds its own behind them: copies would be fresh
//! memory for every grammar.

use std::ops::Index;
use std::sync::Arc;

use super::expr::Expr;

/// Expressions by number, children before parents.
#[derive(Clone, Debug, Default)]
pub struct Exprs {
    shared: Option<Arc<[Expr]>>,
    /// How many of them are shared.
    shared_count: usize,
    own: Vec<Expr>,
}

impl Exprs {
    /// An empty list with room for as many of its own.
    pub(super) fn with_capacity(own: usize) -> Self {
        Exprs { own: Vec::with_capacity(own), ..Exprs::default() }
    }

    /// A list that begins with those that are shared, with room for as many of its own.
    pub(super) fn beginning_with(shared: &Arc<[Expr]>, own: usize) -> Self {
        Exprs { shared_count: shared.len(), shared: Some(Arc::clone(shared)), own: Vec::with_capacity(own) }
    }

    /// The same expressions, for others to begin with.
    pub(super) fn into_shared(self) -> Arc<[Expr]> {
        match self.shared {
            None => self.own.into(),
            Some(before) => before.iter().cloned().chain(self.own).collect(),
        }
    }

    /// Those that it shares with others, if it begins with any.
    pub fn shared(&self) -> Option<&Arc<[Expr]>> {
        self.shared.as_ref()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.shared_count + self.own.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Expr> {
        (0..self.len()).map(|at| &self[at])
    }

    pub(super) fn push(&mut self, expr: Expr) {
        self.own.push(expr);
    }

    /// The memory that it takes, without what is shared.
    pub fn memory_bytes(&self) -> usize {
        self.own.iter().map(Expr::memory_bytes).sum()
    }
}

impl Index<usize> for Exprs {
    type Output = Expr;

    #[inline]
    fn index(&self, at: usize) -> &Expr {
        match (at.checked_sub(self.shared_count), &self.shared) {
            (None, Some(shared)) => &shared[at],
            (own, _) => &self.own[own.unwrap_or(at)],
        }
    }
}
