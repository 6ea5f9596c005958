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
//! Where items of arrays are compared and one may be equal to one before, the way to complete the text is longer than its parts
//! are: by a few tokens nearly always, and by no one knows how many in the worst case. So far from the end that much is set
//! aside ([`SET_ASIDE`]), and near it the way is looked for. If it turns out to be longer than that much the budget is lost: from
//! there the grammar alone holds, until a text is in reach again.
//!
//! Far from the end of the budget nothing can become too dear with one token, and the mask is what it is without a budget.
//! Near it, the mask is narrowed.
//!
//! - `kept`: what narrowing a mask came to, for the limits that it holds for.
//! - `narrowing`: which tokens of a mask can be afforded.
//! - `plain`: where a text of certain characters leads, for all tokens made of them at one stroke.

mod kept;
mod narrowing;
mod plain;

use std::sync::Arc;

use smallvec::SmallVec;

use crate::completion::{Completion, Cost};
use crate::config::SetId;
use crate::generation::Generation;
use crate::mask::{has_bit, set_bit};
use crate::terminal::NO_END;
pub(crate) use kept::Kept;
use narrowing::Narrowing;

/// Why a matcher cannot keep within its budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
    /// Items that must differ have to come.
    #[error("no budget can be kept: {}", repeats(rule, pointer.as_deref()))]
    Repeats {
        /// The rule of the array.
        rule: String,
        /// The JSON Pointer of its schema, if it has one.
        pointer: Option<String>,
    },
}

fn repeats(rule: &str, pointer: Option<&str>) -> String {
    let place = match pointer {
        Some("") => "of the whole schema".to_owned(),
        Some(pointer) => format!("of the schema at {pointer}"),
        None => format!("of the rule `{rule}`"),
    };
    format!(
        "the array {place} must have two items or more of which none are equal, and it is not known what it takes to complete \
         it; let it have fewer (`minItems` of at most 1), let items be equal (no `uniqueItems`), let them be strings or values \
         from an `enum`, or ask for an output without a budget"
    )
}

/// How many tokens are set aside for items that have to differ from those before.
pub(crate) const SET_ASIDE: u32 = 64;

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
        let reserve = budget.completion.differing().extra_within(generation, start);
        match budget.needed(generation, start).saturating_add(reserve) {
            NO_END.. => Err(match budget.completion.differing().unknown {
                Some(rule) => {
                    BudgetError::Repeats { rule: generation.machine().rule(rule).name.clone(), pointer: None }
                }
                None => BudgetError::Unspellable,
            }),
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
        let is_settled = generation.is_settled(config);
        let least = self.cost(generation, config).least;
        let apart = if is_settled { least } else { NO_END };
        // A sum of nothing or of one cannot be undercut.
        let joins = apart > 1 && !(is_settled && self.completion.differing().is_some());
        let joined = if joins { self.completion.joined_cost(generation, config) } else { NO_END };
        // The completion takes the cheapest item where several must differ, and the sum does not.
        let joined = if self.completion.differing().is_some() { joined.max(least) } else { joined };
        apart.min(joined) + u32::from(self.needs_stop)
    }

    /// Whether so many tokens, without the one that stops, are enough from `config` on.
    fn is_enough(&self, generation: &Generation, config: SetId, tokens: u32) -> bool {
        let plain = generation.forgetful(config).unwrap_or(config);
        if generation.is_settled(config) {
            return self.needed_for_parts(generation, plain, tokens) <= tokens;
        }
        self.needed_for_parts(generation, plain, tokens) <= tokens
            && (self.cost(generation, plain).most.saturating_add(SET_ASIDE) <= tokens
                || self.completion.joined_cost(generation, config) <= tokens)
    }

    /// What is needed from `config` on where items need not differ, or more than that but no more than `tokens`.
    fn needed_for_parts(&self, generation: &Generation, config: SetId, tokens: u32) -> u32 {
        let least = self.cost(generation, config).least;
        if least <= tokens || self.completion.differing().is_some() {
            least
        } else {
            least.min(self.completion.joined_cost(generation, config))
        }
    }

    /// How much is set aside.
    fn set_aside(generation: &Generation) -> u32 {
        if generation.machine().compares_items { SET_ASIDE } else { 0 }
    }

    /// Whether the text cannot be completed any more with what is `left`, as far as is known. Only where items are compared.
    #[cold]
    pub(crate) fn is_lost(&self, generation: &Generation, config: SetId, left: u32) -> bool {
        if !generation.machine().compares_items {
            return false;
        }
        let mut row = vec![0; generation.words()];
        generation.mask(config).fill(&mut row, generation.rows());
        !self.narrow(generation, config, left, &mut row)
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
        self.is_far_at(generation, self.cost(generation, config), left)
    }

    /// Whether it is known that no token can become too dear where `left` tokens are left.
    pub(crate) fn is_known_far(&self, generation: &Generation, config: SetId, left: u32) -> bool {
        let cost = self.completion.known_cost(generation, config);
        cost.is_some_and(|cost| self.is_far_at(generation, cost, left))
    }

    fn is_far_at(&self, generation: &Generation, cost: Cost, left: u32) -> bool {
        let growth = self.completion.nodes.growth(generation.longest_token() as usize);
        let Cost { most, after_token, .. } = cost;
        let most_after = after_token.min(most + growth) + Self::set_aside(generation);
        most_after + u32::from(self.needs_stop) < left
    }

    /// Whether it is known that what is left after a step for `tokens` of `left` is enough from `config` on. Only where items
    /// are not compared.
    pub(crate) fn is_known_affordable(
        &self,
        generation: &Generation,
        config: SetId,
        tokens: u32,
        left: u32,
    ) -> bool {
        let after = left.checked_sub(tokens).and_then(|left| left.checked_sub(u32::from(self.needs_stop)));
        let cost = self.completion.known_cost(generation, config);
        after.zip(cost).is_some_and(|(after, cost)| cost.least <= after)
    }

    /// Whether text is being read in which anything may come, and none of it can be afforded with what is `left`.
    pub(crate) fn cuts_text(&self, generation: &Generation, config: SetId, left: u32) -> bool {
        if self.is_far(generation, config, left) {
            return false;
        }
        let mut after = generation.after_free_text(config).peekable();
        after.peek().is_some() && !after.any(|next| self.is_affordable(generation, next, 1, left))
    }

    /// Whether a row has a token that is text.
    fn has_text(&self, row: &[u32]) -> bool {
        let all: u32 = row.iter().map(|word| word.count_ones()).sum();
        let barred = self.barred().iter().filter(|&&token| has_bit(row, token)).count();
        all as usize > barred
    }

    /// Takes out of the mask of `config` in `row` the tokens after which too few are left, stop tokens aside. `left` is what
    /// is left now. Where that would leave nothing because items have to differ, all is left: the budget is lost, which the
    /// answer says.
    pub(crate) fn narrow(&self, generation: &Generation, config: SetId, left: u32, row: &mut [u32]) -> bool {
        let limit = left.checked_sub(1 + u32::from(self.needs_stop));
        let config = generation.timeless(config);
        if !generation.machine().compares_items {
            self.narrow_as_before(generation, config, limit, row);
            return true;
        }
        // Behind most tokens items differ whatever those before were, and the others are read one by one.
        let before = row.to_vec();
        let plain = generation.forgetful(config).unwrap_or(config);
        Narrowing::new(self, generation, plain, limit).run(row);
        let mut narrowing = Narrowing::new(self, generation, config, limit);
        generation.unsettling_tokens(config, |token| narrowing.decide(token, row));
        let is_kept = generation.sets().ends(config) || self.has_text(row);
        if !is_kept {
            row.copy_from_slice(&before);
        }
        is_kept
    }

    /// Narrows a mask, if need be, where items need not differ.
    fn narrow_as_before(&self, generation: &Generation, config: SetId, limit: Option<u32>, row: &mut [u32]) {
        // Whether these are in the mask before depends on the matcher, and so they are decided for themselves.
        let barred: SmallVec<[u32; 8]> =
            self.barred().iter().copied().filter(|&token| has_bit(row, token)).collect();
        let mut is_kept =
            |limit| self.completion.with_kept(config, |kept| kept.apply(limit, row)) == Some(true);
        if limit.is_some_and(&mut is_kept) {
            if !barred.is_empty() {
                barred.iter().for_each(|&token| set_bit(row, token));
                let mut narrowing = Narrowing::new(self, generation, config, limit);
                barred.iter().for_each(|&token| narrowing.decide(token, row));
            }
            return;
        }
        let before = row.to_vec();
        let limits = Narrowing::new(self, generation, config, limit).run(row);
        if let Some(kept) = Kept::new(limits, &before, row).filter(|_| limit.is_some()) {
            self.completion.keep(generation, config, kept);
        }
    }
}
