//! How many tokens the outputs of a grammar take.

use std::sync::Arc;

use crate::budget::BudgetError;
use crate::compiled::CompiledGrammar;
use crate::completion::most_tokens;
use crate::matcher::{Matcher, MatcherOptions};

impl CompiledGrammar {
    /// The least budget that [`Matcher::with_budget`] takes, with the stop token that ends the text: so many tokens are
    /// enough, and mostly no output takes fewer. An error if no budget can be kept.
    pub fn shortest_output(self: &Arc<Self>) -> Result<u32, BudgetError> {
        let options = MatcherOptions { max_tokens: Some(0), ..MatcherOptions::default() };
        match Matcher::with_budget(Arc::clone(self), options) {
            Ok(_) => Ok(0),
            Err(BudgetError::TooSmall { needed, .. }) => Ok(needed),
            Err(error) => Err(error),
        }
    }

    /// No output takes more tokens than this, with the stop token that ends it; none if there is no such number, or if
    /// none is known. It is that of the longest output where each byte of the texts is a token.
    pub fn longest_output(&self) -> Option<u64> {
        let generation = self.current();
        let most = most_tokens(&generation);
        self.after_use(&generation);
        let stop = u64::from(!self.vocab().stop_token_ids().is_empty());
        most.map(|most| most.saturating_add(stop))
    }
}
