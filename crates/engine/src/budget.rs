//! Budgets: texts that are complete within a number of tokens.
//!
//! A matcher with a budget lets a token pass only if what is left of the budget is then enough to complete the text, by the
//! costs of `crate::completion`. It starts only if the whole budget is enough. Costs are kept (see there), so there is
//! always a token that passes, until the text has ended.
//!
//! The stop token that ends the text counts as one, unless the matcher ends without one. A string that is accepted as one
//! step counts as many tokens as spell it at least, or as many as the caller says.
//!
//! Far from the end of the budget nothing can become too dear with one token, and the mask is what it is without a budget.
//! Near it, tokens are followed along their trie, and subtrees in which nothing can become too dear are left out.

use std::sync::Arc;

use crate::completion::{Completion, Cost};
use crate::config::{SetId, SymbolKind};
use crate::generation::Generation;
use crate::mask::{clear_bit, has_bit};
use crate::terminal::NO_END;
use crate::vocab::TokenId;
use crate::vocab::trie::{NodeIndex, Trie};

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
    /// A rule has to end after some tokens, which may make the shortest text impossible.
    #[error(
        "no budget can be kept: a rule of the grammar counts its tokens, and may have to end where the text gets longer"
    )]
    RulesCount,
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

    /// Takes out of the mask of `config` in `row` the tokens after whose bytes too few are left. `left` is what is left now.
    /// Tokens that the grammar names are looked at by `is_affordable`, which knows a token's step.
    pub(crate) fn narrow(
        &self,
        generation: &Generation,
        config: SetId,
        left: u32,
        row: &mut [u32],
        is_affordable: impl Fn(u32) -> bool,
    ) {
        let is_token = |kind| matches!(kind, SymbolKind::Token(_));
        if generation.sets().items(config).iter().any(|(symbol, _)| is_token(symbol.kind())) {
            let all = 0..generation.tokens().len() as u32;
            let dear: Vec<u32> = all.filter(|&token| has_bit(row, token) && !is_affordable(token)).collect();
            dear.into_iter().for_each(|token| clear_bit(row, token));
            return;
        }
        let limit = left.checked_sub(1 + u32::from(self.needs_stop));
        Narrowing { budget: self, generation, start: config, limit, known: [None; KNOWN] }.run(row);
    }
}

/// A mask that is being narrowed.
struct Narrowing<'b> {
    budget: &'b TokenBudget,
    generation: &'b Generation,
    /// The configuration whose mask it is.
    start: SetId,
    /// What may be needed after a token; none if nothing can be afforded.
    limit: Option<u32>,
    /// Costs that were asked for, at a place that follows from the configuration: the walk comes to the same few again and
    /// again.
    known: [Option<(SetId, Cost)>; KNOWN],
}

/// How many costs are at hand.
const KNOWN: usize = 64;

/// A node of the trie that tokens go on from.
struct Place {
    node: NodeIndex,
    config: SetId,
    /// The bytes before it.
    depth: usize,
    /// Whether keys have forgotten their texts.
    forgets: bool,
}

impl Narrowing<'_> {
    /// Follows all tokens that may become too dear.
    ///
    /// Keys that remember their texts would have a state for each text. What it costs to complete them does not depend on
    /// the text while they are read, so it is forgotten up to there. The few tokens that read on are followed with it.
    fn run(mut self, row: &mut [u32]) {
        let generation = self.generation;
        let trie = generation.tokens().index().trie();
        let config = generation.without_texts(self.start);
        let mut stack = vec![Place { node: Trie::ROOT, config, depth: 0, forgets: config != self.start }];
        while let Some(place) = stack.pop() {
            for child in trie.children(place.node) {
                let Some(next) = self.step(trie, &place, child) else { continue };
                if !self.is_within(trie, child, next.config) {
                    self.narrow_node(trie, child, next.config, row);
                    stack.push(next);
                }
            }
        }
    }

    /// The place at `child`, a node right below that of `place`, if tokens go on there.
    fn step(&self, trie: &Trie, place: &Place, child: NodeIndex) -> Option<Place> {
        let generation = self.generation;
        let depth = place.depth + 1;
        let mut config = generation.step(place.config, trie.byte(child));
        let mut forgets = place.forgets;
        if forgets && !generation.is_in_other_key(config) {
            let token = TokenId(trie.tokens()[trie.token_range(child).start]);
            let bytes = &generation.tokens().token_bytes(token)[..depth];
            config = generation.step_bytes(self.start, bytes);
            forgets = generation.is_in_other_key(config);
            if forgets {
                config = generation.without_texts(config);
            }
        }
        (config != SetId::DEAD).then_some(Place { node: child, config, depth, forgets })
    }

    fn cost(&mut self, config: SetId) -> Cost {
        let slot = &mut self.known[config.0 as usize % KNOWN];
        match *slot {
            Some((known, cost)) if known == config => cost,
            _ => {
                let cost = self.budget.cost(self.generation, config);
                *slot = Some((config, cost));
                cost
            }
        }
    }

    /// Whether all tokens at `node` and below it can be afforded.
    fn is_within(&mut self, trie: &Trie, node: NodeIndex, config: SetId) -> bool {
        let Some(limit) = self.limit else { return false };
        let cost = self.cost(config);
        let height = trie.heights()[node as usize];
        if height == 0 {
            return cost.least <= limit
                || self.budget.completion.joined_cost(self.generation, config) <= limit;
        }
        height < u8::MAX && cost.most + self.budget.completion.nodes.growth(height.into()) <= limit
    }

    fn narrow_node(&mut self, trie: &Trie, node: NodeIndex, config: SetId, row: &mut [u32]) {
        let tokens = trie.tokens_of(node);
        let is_too_dear = |limit: u32| !self.budget.is_enough(self.generation, config, limit);
        if !tokens.is_empty() && self.limit.is_none_or(is_too_dear) {
            tokens.iter().for_each(|&token| clear_bit(row, token));
        }
    }
}
