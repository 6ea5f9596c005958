//! What a `Grammar` is made of: a grammar, or several that are put together when somebody looks.
//!
//! `a + b` copies both sides into one grammar, so a program that adds a thousand parts to a sum, one by one, would copy
//! the first of them a thousand times. So a sum keeps its parts, a sum of a sum and one part more has all of them side by
//! side, and they are copied once, when the grammar is first looked at. The same holds of `a | b`.
//!
//! Putting them together cannot fail then: sums that might be larger than the limits are made at once, where the error
//! can be raised.

use std::sync::{Arc, OnceLock};

use tokenstile_grammar::{Grammar as Ir, Limits, Result, ir};

/// How grammars are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    Concat,
    Union,
}

impl Join {
    fn apply(self, parts: &[Ir]) -> Result<Ir> {
        match self {
            Join::Concat => ir::concat(parts, &Limits::default()),
            Join::Union => ir::union(parts, &Limits::default()),
        }
    }
}

/// A grammar, or parts of one.
#[derive(Debug)]
pub(crate) struct Body {
    /// What it is put together from; empty if it was made as a whole.
    parts: Vec<Arc<Ir>>,
    join: Join,
    whole: OnceLock<Arc<Ir>>,
}

impl Body {
    /// A grammar that is whole.
    pub(crate) fn whole(ir: Ir) -> Self {
        Body { parts: Vec::new(), join: Join::Concat, whole: OnceLock::from(Arc::new(ir)) }
    }

    /// This and one part more, unless that might be too large to be put together later.
    pub(crate) fn joined(&self, join: Join, part: &Body) -> Option<Self> {
        let mut parts = if self.join == join && !self.parts.is_empty() {
            self.parts.clone()
        } else {
            vec![Arc::clone(self.get())]
        };
        parts.push(Arc::clone(part.get()));
        let limits = Limits::default();
        // Each part is named by an expression of its own, and the root holds them all.
        let rules = 1 + parts.iter().map(|part| part.rules().len()).sum::<usize>();
        let exprs = 1 + parts.iter().map(|part| part.exprs().len() + 1).sum::<usize>();
        let fits = rules <= limits.max_rules && exprs <= limits.max_exprs;
        fits.then(|| Body { parts, join, whole: OnceLock::new() })
    }

    /// The grammar, put together if it was not yet.
    pub(crate) fn get(&self) -> &Arc<Ir> {
        self.whole.get_or_init(|| {
            let parts: Vec<Ir> = self.parts.iter().map(|part| Ir::clone(part)).collect();
            Arc::new(self.join.apply(&parts).expect("the sizes of the parts are within the limits"))
        })
    }
}
