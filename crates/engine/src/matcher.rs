//! A matcher: one text in the making.
//!
//! It is a list of configuration numbers, one after each token. So rolling back is shortening the list, a fork shares
//! it, and two matchers in the same place have the same number.
//!
//! Stop tokens: one that comes when the text is complete ends the matcher. Before that, a stop token is allowed in
//! three cases: the grammar names it as a token, its bytes are spelled out by the grammar and the last that can come, or
//! nothing else fits. Elsewhere it is not text: an engine that samples it stops, and the text would be cut off.

mod at_hand;
mod captures;
mod moving;

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::budget::{BudgetError, TokenBudget};
use crate::compiled::CompiledGrammar;
use crate::config::{SetId, Settled, SymbolKind};
use crate::generation::Generation;
use crate::history::{History, Input, Step};
use crate::interrupt;
use crate::mask::{DecidedTokens, KeptMask, Mask, clear_bit, has_bit, set_bit};
use crate::vocab::TokenId;

use captures::CaptureReader;
pub use captures::CaptureSpan;
use moving::Moving;

/// What a matcher is told when it is made.
#[derive(Clone, Debug, Default)]
pub struct MatcherOptions {
    /// The tokens that end the text; those of the vocabulary where not given.
    pub stop_tokens: Option<Vec<u32>>,
    /// A complete text counts as terminated, and stop tokens are not accepted.
    pub terminate_without_stop_token: bool,
    /// The temperature where no rule gives one.
    pub default_temperature: Option<f32>,
    /// How many tokens the text may take, with the stop token that ends it. Only [`Matcher::with_budget`] takes a
    /// number: it may be too small.
    pub max_tokens: Option<u32>,
}

/// More steps were to be taken back than had been made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot roll back {asked} tokens: only {made} were accepted")]
pub struct RollbackError {
    /// How many were to be taken back.
    pub asked: usize,
    /// How many there are.
    pub made: usize,
}

/// A piece of the text, for captures.
#[derive(Clone, Debug)]
struct Piece {
    text: PieceText,
    /// Whether rules closed after it that end only where their tokens have run out.
    closed: bool,
}

#[derive(Clone, Debug)]
enum PieceText {
    Token(TokenId),
    Bytes(Arc<[u8]>),
    Stop,
}

/// The longest forced text that is looked for, in bytes.
const MAX_JUMP: usize = 1 << 16;

/// `tokens` without repetitions, and without those that no token can be.
fn known_once(tokens: Vec<u32>, count: usize) -> SmallVec<[u32; 4]> {
    let mut seen = hashbrown::HashSet::new();
    tokens.into_iter().filter(|&token| (token as usize) < count && seen.insert(token)).collect()
}

/// One text in the making.
#[derive(Clone)]
pub struct Matcher {
    compiled: Arc<CompiledGrammar>,
    generation: Arc<Generation>,
    /// The configuration after each step, the start first.
    history: History,
    /// The text of each step; kept only if the grammar captures something.
    pieces: Vec<Piece>,
    captures: bool,
    stop_tokens: SmallVec<[u32; 4]>,
    /// Whether these are the vocabulary's.
    has_usual_stops: bool,
    terminate_without_stop_token: bool,
    default_temperature: Option<f32>,
    budget: Option<Box<TokenBudget>>,
    /// Reads captures as they come, if they are watched.
    reader: Option<Box<CaptureReader>>,
    /// How far it has come with moving to newer tables.
    moving: Option<Box<Moving>>,
}

impl Matcher {
    /// A matcher at the start of a text, whose tokens are counted if the options say how many there may be. An error if
    /// that is too few for any text.
    pub fn with_budget(compiled: Arc<CompiledGrammar>, options: MatcherOptions) -> Result<Self, BudgetError> {
        let max_tokens = options.max_tokens;
        let mut matcher = Matcher::new(compiled, options);
        if let Some(max_tokens) = max_tokens {
            let start = Step { config: matcher.generation.start(), ..matcher.last() };
            matcher.budget = Some(Box::new(matcher.budget_of(max_tokens, start.config)?));
            if let Some(start) = matcher.arrive(start, start, 0, matcher.tokens_left()) {
                matcher.history = History::new(start);
            }
        }
        Ok(matcher)
    }

    /// Whether the budget has cut free text off: text was being read in which anything may come, and none of it could be
    /// afforded any more. What was read is a whole text of the grammar all the same.
    pub fn is_cut_by_budget(&self) -> bool {
        self.last().cut
    }

    fn cuts_text(&self, from: Step) -> bool {
        let left = self.tokens_left();
        let cuts = |budget: &TokenBudget| budget.cuts_text(&self.generation, from.config, left.unwrap_or(0));
        self.budget.as_ref().is_some_and(|budget| cuts(budget))
    }

    fn budget_of(&self, max_tokens: u32, start: SetId) -> Result<TokenBudget, BudgetError> {
        let vocab = self.compiled.vocab();
        let mut barred: Vec<u32> = vocab.stop_token_ids().iter().map(|id| id.0).collect();
        barred.extend_from_slice(&self.stop_tokens);
        barred.sort_unstable();
        barred.dedup();
        let completion = self.compiled.completion(&self.generation, &barred);
        let needs_stop = !self.terminate_without_stop_token && !self.stop_tokens.is_empty();
        TokenBudget::new(max_tokens, completion, needs_stop, &self.generation, start)
            .map_err(|error| self.compiled.place_budget_error(error))
    }

    /// How many tokens may still come, if they are counted.
    pub fn tokens_left(&self) -> Option<u32> {
        self.budget.as_ref().map(|budget| budget.left(self.history_len()))
    }

    /// How many tokens are enough to complete the text, with the stop token that ends it, if they are counted.
    pub fn tokens_needed(&self) -> Option<u32> {
        let needed = |budget: &TokenBudget| budget.needed(&self.generation, self.config());
        self.budget.as_ref().map(|budget| if self.last().stopped { 0 } else { needed(budget) })
    }

    /// The step that is made of one that was `reached` from another for `cost` of the tokens that are `left`, if they are counted. None
    /// if it cannot be afforded. Rules that have had their tokens end there, as far as that can be afforded.
    fn arrive(&self, from: Step, reached: Step, cost: u32, left: Option<u32>) -> Option<Step> {
        if reached.stopped {
            let is_in_time = left.is_none_or(|left| cost <= left) || self.is_lost(from.config, left);
            return is_in_time.then_some(reached);
        }
        let is_affordable =
            |config| self.is_affordable(config, cost, left) || self.is_lost(from.config, left);
        is_affordable(reached.config).then(|| {
            let leads_on = |config| left.is_none_or(|left| self.leads_on(config, left.saturating_sub(cost)));
            let may = |config, is_cut: bool| is_affordable(config) && (!is_cut || leads_on(config));
            let Settled { config, closed } = self.generation.settle(reached.config, reached.tokens, may);
            Step { config, closed, ..reached }
        })
    }

    /// Whether the text may end in a configuration, or any token can be afforded there. What it costs does not tell where it
    /// is not known that all is there that follows when a terminal ends.
    #[cold]
    fn leads_on(&self, config: SetId, left: u32) -> bool {
        let (Some(budget), generation) = (&self.budget, &self.generation) else { return true };
        let mut row = vec![0; generation.words()];
        generation.mask(config).fill(&mut row, generation.rows());
        self.stop_tokens.iter().for_each(|&token| clear_bit(&mut row, token));
        budget.narrow(generation, config, left, &mut row);
        generation.sets().ends(config) || row.iter().any(|&word| word != 0)
    }

    /// Whether the text cannot be completed any more with what is `left`; then the grammar alone holds.
    fn is_lost(&self, config: SetId, left: Option<u32>) -> bool {
        let (Some(budget), Some(left)) = (&self.budget, left) else { return false };
        budget.is_lost(&self.generation, config, left)
    }

    /// Whether a configuration can be afforded for `cost` of the tokens that are `left`, if they are counted.
    #[inline]
    fn is_affordable(&self, config: SetId, cost: u32, left: Option<u32>) -> bool {
        let (Some(budget), Some(left)) = (&self.budget, left) else { return true };
        budget.is_affordable(&self.generation, config, cost, left)
    }

    /// A matcher at the start of a text.
    pub fn new(compiled: Arc<CompiledGrammar>, options: MatcherOptions) -> Self {
        let generation = compiled.current();
        let Settled { config, closed } = generation.settle(generation.start(), 0, |_, _| true);
        let start = Step { config, stopped: false, cut: false, closed, tokens: 0 };
        let stop_tokens = match options.stop_tokens {
            Some(tokens) => known_once(tokens, compiled.vocab().len()),
            None => compiled.vocab().stop_token_ids().iter().map(|id| id.0).collect(),
        };
        let captures = compiled.captures();
        let usual = compiled.vocab().stop_token_ids().iter().map(|id| id.0);
        let has_usual_stops = usual.eq(stop_tokens.iter().copied());
        Matcher {
            compiled,
            generation,
            history: History::new(start),
            pieces: Vec::new(),
            captures,
            stop_tokens,
            has_usual_stops,
            terminate_without_stop_token: options.terminate_without_stop_token,
            default_temperature: options.default_temperature,
            budget: None,
            reader: None,
            moving: None,
        }
    }

    /// The grammar that it follows.
    pub fn compiled(&self) -> &Arc<CompiledGrammar> {
        &self.compiled
    }

    /// The number of bits of a mask.
    pub fn vocab_size(&self) -> usize {
        self.compiled.vocab().len()
    }

    /// The tokens that end the text.
    pub fn stop_token_ids(&self) -> &[u32] {
        &self.stop_tokens
    }

    /// How many steps can be taken back.
    pub fn history_len(&self) -> usize {
        self.history.len() - 1
    }

    fn last(&self) -> Step {
        self.history.last()
    }

    fn config(&self) -> SetId {
        self.last().config
    }

    /// Accepts `token` if it fits; otherwise nothing changes.
    pub fn accept_token(&mut self, token: u32) -> bool {
        let before = self.last();
        let Some(next) = self.next(before, token, self.tokens_left()) else {
            self.tidy();
            return false;
        };
        let cut = next.cut || self.cuts_text(before);
        self.history.push(Step { cut, ..next }, Input::Token(token));
        if self.captures {
            let is_stop = next.stopped && next.config == before.config;
            let text = if is_stop { PieceText::Stop } else { PieceText::Token(TokenId(token)) };
            self.pieces.push(Piece { text, closed: next.closed });
        }
        self.tidy();
        true
    }

    /// The step that `token` makes where so many are left, if they are counted.
    #[inline]
    fn next(&self, from: Step, token: u32, left: Option<u32>) -> Option<Step> {
        self.arrive(from, self.reach(from, token)?, 1, left)
    }

    /// The step that the grammar lets `token` make, before anything was counted.
    #[inline]
    fn reach(&self, from: Step, token: u32) -> Option<Step> {
        if from.stopped || token as usize >= self.vocab_size() {
            return None;
        }
        if self.stop_tokens.contains(&token) {
            return self.reach_by_stop_token(from, token);
        }
        let bytes = self.compiled.vocab().token_bytes(TokenId(token));
        let config = self.generation.step_token(from.config, TokenId(token), bytes);
        (config != SetId::DEAD).then_some(Step {
            config,
            stopped: false,
            cut: from.cut,
            closed: false,
            tokens: from.tokens + 1,
        })
    }

    fn reach_by_stop_token(&self, from: Step, token: u32) -> Option<Step> {
        let (config, generation) = (from.config, &self.generation);
        let step =
            |config, stopped| Step { config, stopped, cut: from.cut, closed: false, tokens: from.tokens + 1 };
        if generation.sets().ends(config) && !self.terminate_without_stop_token {
            return Some(step(config, true));
        }
        let as_token = generation.step_token_edges(config, TokenId(token), |set| !set.negated);
        if as_token != SetId::DEAD {
            return Some(step(as_token, generation.sets().ends(as_token)));
        }
        let bytes = self.compiled.vocab().token_bytes(TokenId(token));
        if bytes.is_empty() || (!generation.may_leave(config, bytes) && !self.only_stop_tokens_fit(config)) {
            return None;
        }
        let by_bytes = generation.step_bytes(config, bytes);
        if by_bytes == SetId::DEAD {
            return None;
        }
        let completes = generation.sets().ends(by_bytes);
        // Where other bytes could stand in its place, it was free text that happened to take the bytes of the token.
        let is_last = completes && generation.spells_out(config, bytes);
        (is_last || self.only_stop_tokens_fit(config)).then(|| step(by_bytes, completes))
    }

    /// Whether stop tokens would be nothing but text after `from`, which has this mask. It is only remembered for the stop
    /// tokens of the vocabulary, so for others it is not said.
    fn has_plain_stops(&self, kept: &KeptMask, from: Step) -> bool {
        let text = |token| self.compiled.vocab().token_bytes(TokenId(token));
        self.has_usual_stops
            && !self.generation.has_token_edges()
            && kept.has_plain_stops(&self.generation, from.config, &self.stop_tokens, text)
    }

    /// Whether nothing but stop tokens can be read: a vocabulary that cannot spell their text otherwise.
    fn only_stop_tokens_fit(&self, config: SetId) -> bool {
        let mask = self.generation.mask(config);
        mask.is_within(&self.stop_tokens)
    }

    /// Accepts `bytes` as one step if they fit; otherwise nothing changes. They count as many tokens as spell them at least.
    pub fn accept_bytes(&mut self, bytes: &[u8]) -> bool {
        self.accept_bytes_as(bytes, None)
    }

    /// The same, where the bytes count as so many tokens.
    pub fn accept_bytes_as(&mut self, bytes: &[u8], tokens: Option<u32>) -> bool {
        if self.last().stopped {
            return false;
        }
        let config = self.generation.step_bytes(self.config(), bytes);
        if config == SetId::DEAD {
            self.tidy();
            return false;
        }
        // A string is no token, and rules do not count it.
        let reached = Step { config, closed: false, ..self.last() };
        let spelled = || self.budget.as_ref().map_or(0, |budget| budget.spell(bytes));
        let cost = tokens.unwrap_or_else(spelled);
        let Some(next) = self.arrive(self.last(), reached, cost, self.tokens_left()) else {
            self.tidy();
            return false;
        };
        self.note_uneven(cost);
        let bytes: Arc<[u8]> = bytes.into();
        self.history.push(next, Input::Bytes(Arc::clone(&bytes)));
        if self.captures {
            self.pieces.push(Piece { text: PieceText::Bytes(bytes), closed: next.closed });
        }
        self.tidy();
        true
    }

    /// Notes what the next step costs.
    fn note_uneven(&mut self, cost: u32) {
        let step = self.history_len();
        if let Some(budget) = self.budget.as_mut().filter(|_| cost != 1) {
            budget.note_uneven(step, cost);
        }
    }

    /// How many of `tokens`, from the first on, would be accepted one after the other. Nothing changes.
    pub fn validate_tokens(&mut self, tokens: &[u32]) -> usize {
        let mut at = self.last();
        let mut count = 0;
        let mut left = self.tokens_left();
        for &token in tokens {
            let Some(next) = self.next(at, token, left) else { break };
            at = next;
            left = left.map(|left| left - 1);
            count += 1;
        }
        self.tidy();
        count
    }

    /// Writes the mask of the next token over `row`, which has a bit for each id, and says whether it excludes any.
    ///
    /// # Panics
    /// If `row` does not have exactly the words that the vocabulary needs.
    pub fn fill_mask(&mut self, row: &mut [u32]) -> bool {
        let step = self.last();
        if step.stopped {
            row.fill(0);
            return true;
        }
        let generation = &self.generation;
        let kept = generation.kept_mask(step.config);
        let mask = &kept.mask;
        mask.fill(row, generation.rows());
        let may_end = generation.sets().ends(step.config) && !self.terminate_without_stop_token;
        for &token in &self.stop_tokens {
            let was = has_bit(row, token);
            let may_reach =
                || !self.has_plain_stops(kept, step) && self.reach_by_stop_token(step, token).is_some();
            let is = may_end || (was && may_reach());
            match (was, is) {
                (false, true) => set_bit(row, token),
                (true, false) => clear_bit(row, token),
                _ => {}
            }
        }
        if let Some(budget) = &self.budget {
            self.narrow(budget, step, row);
        }
        let is_restricted = self.is_restricted(mask, row);
        self.tidy();
        is_restricted
    }

    /// Whether `row`, which is `mask` with the rules for stop tokens, excludes any token.
    #[inline]
    fn is_restricted(&self, mask: &Mask, row: &[u32]) -> bool {
        let count = || row.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        mask.at_most() + self.stop_tokens.len() < self.vocab_size() || count() != self.vocab_size()
    }

    /// Takes out of the mask in `row` what cannot be afforded any more.
    fn narrow(&self, budget: &TokenBudget, step: Step, row: &mut [u32]) {
        let left = budget.left(self.history_len());
        if budget.is_far(&self.generation, step.config, left) {
            return;
        }
        let can_stop: SmallVec<[u32; 4]> =
            self.stop_tokens.iter().copied().filter(|&token| has_bit(row, token)).collect();
        budget.narrow(&self.generation, step.config, left, row);
        for token in can_stop {
            let is_affordable = self.next(step, token, Some(left)).is_some();
            if is_affordable { set_bit(row, token) } else { clear_bit(row, token) }
        }
    }

    /// How many tokens are decided here without the context; stop tokens, budgets and bounds of rules aside.
    pub fn decided_tokens(&self) -> DecidedTokens {
        self.generation.decided_tokens(self.config())
    }

    /// Whether the text may end here.
    pub fn is_completed(&self) -> bool {
        self.generation.sets().ends(self.config())
    }

    /// Whether a stop token has ended the text, or, if the matcher needs none, whether it is complete.
    pub fn is_terminated(&self) -> bool {
        self.last().stopped || (self.terminate_without_stop_token && self.is_completed())
    }

    /// Whether a stop token has ended the text.
    pub fn is_stopped(&self) -> bool {
        self.last().stopped
    }

    /// Takes back the last `count` steps.
    pub fn rollback(&mut self, count: usize) -> Result<(), RollbackError> {
        let made = self.history_len();
        if count > made {
            return Err(RollbackError { asked: count, made });
        }
        self.shorten_history(made - count + 1);
        self.pieces.truncate(made - count);
        if let Some(reader) = &mut self.reader {
            reader.truncate(made - count);
        }
        if let Some(budget) = &mut self.budget {
            budget.truncate(made - count);
        }
        Ok(())
    }

    /// Goes back to the start.
    pub fn reset(&mut self) {
        self.shorten_history(1);
        self.pieces.clear();
        if let Some(reader) = &mut self.reader {
            reader.truncate(0);
        }
        if let Some(budget) = &mut self.budget {
            budget.truncate(0);
        }
    }

    /// A second matcher in the same place, with the same history.
    #[must_use]
    pub fn fork(&self) -> Self {
        self.clone()
    }

    /// Whether two matchers of one grammar are in the same place.
    pub fn is_at_same_place(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.generation, &other.generation)
            && self.config() == other.config()
            && self.is_stopped() == other.is_stopped()
    }

    /// The bytes that must come next, whatever is sampled: up to the first choice, the end, or a token. Where tokens are
    /// counted, no more of them than [`Matcher::accept_bytes`] would take: a token may be cheaper than its halves.
    pub fn jump_forward(&mut self) -> Vec<u8> {
        let mut forced = Vec::new();
        let mut config = self.config();
        if !self.last().stopped {
            while let Some(byte) = self.generation.forced_byte(config) {
                interrupt::poll(1);
                forced.push(byte);
                config = self.generation.step(config, byte);
                if forced.len() >= MAX_JUMP {
                    break;
                }
            }
        }
        if let Some(budget) = &self.budget {
            self.shorten(&mut forced, budget);
        }
        self.tidy();
        forced
    }

    /// Shortens a text that must come, at whole code points, to what can be afforded as a step of its own.
    fn shorten(&self, forced: &mut Vec<u8>, budget: &TokenBudget) {
        const MOST_TRIES: usize = 64;
        let left = self.tokens_left();
        for _ in 0..MOST_TRIES {
            let config = self.generation.step_bytes(self.config(), forced);
            if forced.is_empty() || self.is_affordable(config, budget.spell(forced), left) {
                return;
            }
            while forced.pop().is_some_and(|byte| (0x80..0xC0).contains(&byte)) {}
        }
        forced.clear();
    }

    /// The temperature of the rules that are being read: of each place the innermost, and of several the highest.
    pub fn temperature(&self) -> Option<f32> {
        self.generation.temperature(self.config()).or(self.default_temperature)
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Matcher")
            .field("accepted", &self.history_len())
            .field("completed", &self.is_completed())
            .field("terminated", &self.is_terminated())
            .finish_non_exhaustive()
    }
}

impl Generation {
    /// The one byte that may follow, if it is one and the text may not end.
    fn forced_byte(&self, config: SetId) -> Option<u8> {
        if self.sets().ends(config) {
            return None;
        }
        let mut forced = None;
        for &(symbol, _) in self.sets().items(config) {
            let state = match symbol.kind() {
                SymbolKind::Terminal(state) => state,
                // Its text leads to the same place.
                SymbolKind::Token(set) if self.machine().token_sets[set as usize].spelled => continue,
                _ => return None,
            };
            // The row of a key that remembers its text would have a state for each byte.
            match **self.terminals().row(self.terminals().saturate(state)) {
                // It has ended, and only the items that come after it count.
                [] => {}
                [(low, high, _)] if low == high && forced.is_none_or(|byte| byte == low) => {
                    forced = Some(low);
                }
                _ => return None,
            }
        }
        forced
    }

    /// Whether each of `bytes` is told apart from all other bytes that could stand in its place. In a literal they are, in
    /// free text, bounded or not, they are not.
    fn spells_out(&self, config: SetId, bytes: &[u8]) -> bool {
        let mut at = config;
        bytes.iter().all(|&byte| {
            let before = at;
            at = self.step(before, byte);
            let is_apart = |(low, high): (u8, u8)| {
                if (low..=high).contains(&byte) { low == high } else { self.step(before, low) != at }
            };
            self.alike_ranges(before, (0, u8::MAX)).all(is_apart)
        })
    }

    fn temperature(&self, config: SetId) -> Option<f32> {
        if !self.machine().has_temperatures {
            return None;
        }
        let mut highest: Option<f32> = None;
        let mut seen = hashbrown::HashSet::new();
        let mut stack = vec![config];
        while let Some(set) = stack.pop() {
            if let Some(halves) = self.sets().halves(set) {
                stack.extend(halves.into_iter().filter(|half| seen.insert(*half)));
                continue;
            }
            for &(symbol, rest) in self.sets().items(set) {
                let own = match symbol.kind() {
                    SymbolKind::Frame(node, _) => self.machine().node(node).temperature,
                    _ => None,
                };
                match own {
                    Some(own) => highest = Some(highest.map_or(own, |other| other.max(own))),
                    None if seen.insert(rest) => stack.push(rest),
                    None => {}
                }
            }
        }
        highest
    }
}
