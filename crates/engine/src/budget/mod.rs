//! Budgets: texts that are complete within a number of tokens.
//!
//! A matcher with a budget lets a token pass only if what is left of the budget is then enough to complete the text, by the
//! costs of `crate::completion`. It starts only if the whole budget is enough. Costs are kept (see there), so there is
//! always a token that passes, until the text has ended.
//!
//! Rules that count tokens of their own drop stacks (see `Generation::settle`). That could make a text dearer, so what is
//! asked is whether the text can be afforded before any are dropped, and then only such are dropped as leave one that can.
//!
//! The stop token that ends the text counts as one, unless the matcher ends without one. A string that is accepted as one
//! step counts as many tokens as spell it at least, or as many as the caller says.
//!
//! Far from the end of the budget nothing can become too dear with one token, and the mask is what it is without a budget.
//! Near it, the mask is narrowed.
//!
//! - `narrowing`: which tokens of a mask can be afforded.
//! - `plain`: where a text of certain characters leads, for all tokens made of them at one stroke.

mod narrowing;
mod plain;

use std::sync::Arc;

use crate::completion::{Completion, Cost};
use crate::config::SetId;
use crate::generation::Generation;
use crate::terminal::NO_END;
use narrowing::Narrowing;

/// Why a matcher cannot keep within its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// No text is known that is so short.
    #[error("a budget of {max_tokens} tokens is too small: the shortest output that is known takes {needed}")]
    TooSmall {
        /// The budget.
        max_tokens: u32,
        /// The least budget that is accepted: so many tokens are enough.
        needed: u32,
    },
    /// No text is known at all that the vocabulary can spell.
    #[error(
        "no budget can be kept: no output of the grammar is known that the tokens of the vocabulary can spell"
    )]
    Unspellable,
    /// Items are compared.
    #[error(
        "no budget can be kept: the grammar has arrays of which no two items may be equal, and it is not known what it takes \
         to complete them"
    )]
    Compares,
}

/// What is left to a matcher.
#[derive(Clone)]
pub(crate) struct TokenBudget {
    max_tokens: u32,
    completion: Arc<Completion>,
    /// The steps that did not count as one token, by their number, and what they counted for.
    uneven: Vec<(usize, u32)>,
    /// Whether a stop token must come at the end.
    needs_stop: bool,
}

impl TokenBudget {
    /// A budget for texts from `start` on; an error if it is too small.
    pub(crate) fn new(
        max_tokens: u32,
        completion: Arc<Completion>,
        needs_stop: bool,
        generation: &Generation,
        start: SetId,
    ) -> Result<Self, BudgetError> {
        // Less than what cannot be known, so that this can never be afforded.
        let max_tokens = max_tokens.min(NO_END - 1);
        let budget = TokenBudget { max_tokens, completion, uneven: Vec::new(), needs_stop };
        match budget.needed(generation, start) {
            NO_END.. => Err(BudgetError::Unspellable),
            needed if needed > max_tokens => Err(BudgetError::TooSmall { max_tokens, needed }),
            _ => Ok(budget),
        }
    }

    /// The tokens that are not text.
    pub(crate) fn barred(&self) -> &[u32] {
        &self.completion.barred
    }

    /// Goes on with the costs of another generation.
    pub(crate) fn move_to(&mut self, completion: Arc<Completion>) {
        self.completion = completion;
    }

    /// What is left after so many steps.
    pub(crate) fn left(&self, steps: usize) -> u32 {
        let spent = self.uneven.iter().map(|&(_, tokens)| u64::from(tokens)).sum::<u64>()
            + (steps - self.uneven.len()) as u64;
        u64::from(self.max_tokens).saturating_sub(spent) as u32
    }

    /// Notes that step `step`, the next one, counts for `tokens`.
    pub(crate) fn note_uneven(&mut self, step: usize, tokens: u32) {
        self.uneven.push((step, tokens));
    }

    /// Forgets what was noted for steps from `steps` on.
    pub(crate) fn truncate(&mut self, steps: usize) {
        let kept = self.uneven.partition_point(|&(step, _)| step < steps);
        self.uneven.truncate(kept);
    }

    /// The fewest tokens that spell `bytes`.
    pub(crate) fn spell(&self, bytes: &[u8]) -> u32 {
        self.completion.spell(bytes)
    }

    fn cost(&self, generation: &Generation, config: SetId) -> Cost {
        self.completion.cost(generation, config)
    }

    /// The tokens that are enough from `config` on, with the one that stops.
    pub(crate) fn needed(&self, generation: &Generation, config: SetId) -> u32 {
        let apart = self.cost(generation, config).least;
        // A sum of nothing or of one cannot be undercut.
        let joined = if apart > 1 { self.completion.joined_cost(generation, config) } else { NO_END };
        apart.min(joined) + u32::from(self.needs_stop)
    }

    /// Whether so many tokens, without the one that stops, are enough from `config` on.
    fn is_enough(&self, generation: &Generation, config: SetId, tokens: u32) -> bool {
        self.cost(generation, config).least <= tokens
            || self.completion.joined_cost(generation, config) <= tokens
    }

    /// Whether what is left after a step for `tokens` of `left` is enough from `config` on.
    pub(crate) fn is_affordable(
        &self,
        generation: &Generation,
        config: SetId,
        tokens: u32,
        left: u32,
    ) -> bool {
        let after = left.checked_sub(tokens).and_then(|left| left.checked_sub(u32::from(self.needs_stop)));
        after.is_some_and(|after| self.is_enough(generation, config, after))
    }

    /// Whether no token can become too dear where `left` tokens are left.
    pub(crate) fn is_far(&self, generation: &Generation, config: SetId, left: u32) -> bool {
        let growth = self.completion.nodes.growth(generation.longest_token() as usize);
        self.cost(generation, config).most + growth + u32::from(self.needs_stop) < left
    }

    /// Takes out of the mask of `config` in `row` the tokens after which too few are left, stop tokens aside. `left` is what
    /// is left now.
    pub(crate) fn narrow(&self, generation: &Generation, config: SetId, left: u32, row: &mut [u32]) {
        let limit = left.checked_sub(1 + u32::from(self.needs_stop));
        Narrowing::new(self, generation, generation.timeless(config), limit).run(row);
    }
}
