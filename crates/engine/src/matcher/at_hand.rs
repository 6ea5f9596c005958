//! What tables answer at once, and work that can be interrupted.
//!
//! Nearly every mask and token is known: somebody was at the same place before. Such an answer takes less than a microsecond,
//! and a caller who holds a lock that others want, as Python does, had better keep it. Everything else is work, for which the
//! lock is let go. So a caller asks here first, and an answer costs what it costs there. What is not read from tables alone is
//! no answer, and nothing here waits for a lock that is held while somebody works.

use std::rc::Rc;

use super::{Matcher, Piece, PieceText, Step};
use crate::config::SetId;
use crate::history::Input;
use crate::interrupt::{self, Interrupt, Interrupted};
use crate::mask::{KeptMask, clear_bit, set_bit};
use crate::vocab::TokenId;

impl Matcher {
    /// Does `work`, which may be a call of any of the methods, until `interrupt` is due. If it is, the matcher is where it was
    /// before, and the same again goes on from what was found out.
    pub fn interruptible<T>(
        &mut self,
        interrupt: Rc<dyn Interrupt>,
        work: impl FnOnce(&mut Self) -> T,
    ) -> Result<T, Interrupted> {
        let (made, read) = (self.history_len(), self.captures_read());
        let result = interrupt::run(interrupt, || work(&mut *self));
        if result.is_err() {
            let taken_back = self.rollback(self.history_len().saturating_sub(made));
            debug_assert!(taken_back.is_ok(), "these steps were taken here");
            self.unread_captures(read);
        }
        result
    }

    /// The same as [`Matcher::fill_mask`] where tables tell it; otherwise nothing changes, `row` neither.
    pub fn fill_known_mask(&self, row: &mut [u32]) -> Option<bool> {
        let (kept, may_end) = self.known_mask()?;
        kept.mask.fill(row, self.generation.rows());
        let change = if may_end { set_bit } else { clear_bit };
        self.stop_tokens.iter().for_each(|&token| change(row, token));
        Some(self.is_restricted(&kept.mask, row))
    }

    /// Whether tables tell the mask.
    pub fn knows_mask(&self) -> bool {
        self.known_mask().is_some()
    }

    /// The mask without the rules for stop tokens, and whether one may end the text.
    #[inline]
    fn known_mask(&self) -> Option<(&KeptMask, bool)> {
        let step = self.last();
        let generation = &self.generation;
        let kept = generation.sets().known_mask(step.config)?;
        let may_end = generation.sets().ends(step.config) && !self.terminate_without_stop_token;
        let is_known = !step.stopped && (may_end || self.stops_are_known(kept)) && self.has_plenty(step);
        (is_known && !self.compiled.is_used_up(generation)).then_some((kept, may_end))
    }

    /// Whether it is known that no stop token fits where the text may not end.
    fn stops_are_known(&self, kept: &KeptMask) -> bool {
        let are_plain =
            || self.has_usual_stops && !self.generation.has_token_edges() && kept.has_known_plain_stops();
        are_plain() || !self.stop_tokens.iter().any(|&token| kept.mask.contains(token))
    }

    /// Whether it is known that no token can become too dear.
    fn has_plenty(&self, step: Step) -> bool {
        let is_far = |budget: &super::TokenBudget| {
            budget.is_known_far(&self.generation, step.config, budget.left(self.history_len()))
        };
        self.budget.as_deref().is_none_or(is_far)
    }

    /// The same as [`Matcher::accept_token`] where tables tell it; otherwise nothing changes.
    pub fn accept_known_token(&mut self, token: u32) -> Option<bool> {
        if self.compiled.is_used_up(&self.generation) {
            return None;
        }
        let next = match self.known_next(self.last(), token) {
            Known::Fits(next) => next,
            Known::DoesNotFit => return Some(false),
            Known::Nothing => return None,
        };
        self.history.push(next, Input::Token(token));
        if self.captures {
            let text = if next.stopped { PieceText::Stop } else { PieceText::Token(TokenId(token)) };
            self.pieces.push(Piece { text, closed: next.closed });
        }
        Some(true)
    }

    /// What is known of the step that `token` makes.
    #[inline]
    fn known_next(&self, from: Step, token: u32) -> Known {
        let generation = &*self.generation;
        if from.stopped || token as usize >= self.vocab_size() {
            return Known::DoesNotFit;
        }
        if generation.machine().compares_items || generation.machine().counts_tokens {
            return Known::Nothing;
        }
        // Near the end of a budget free text may be cut off, which has to be looked at.
        if self.budget.is_some() && !self.has_plenty(from) {
            return Known::Nothing;
        }
        let (cut, tokens) = (from.cut, from.tokens + 1);
        let step = |config, stopped| Known::Fits(Step { config, stopped, cut, closed: false, tokens });
        if self.stop_tokens.contains(&token) {
            let may_end = generation.sets().ends(from.config) && !self.terminate_without_stop_token;
            let is_in_time = self.tokens_left().is_none_or(|left| left > 0);
            return if may_end && is_in_time { step(from.config, true) } else { Known::Nothing };
        }
        if generation.has_token_edges() && generation.named_tokens(from.config).next().is_some() {
            return Known::Nothing;
        }
        let config = match self.compiled.vocab().token_bytes(TokenId(token)) {
            [] => Some(SetId::DEAD),
            bytes => generation.known_step_bytes(from.config, bytes),
        };
        match config {
            Some(SetId::DEAD) => Known::DoesNotFit,
            Some(config) if self.is_known_affordable(config) => step(config, false),
            _ => Known::Nothing,
        }
    }

    /// Whether it is known that a configuration can be afforded after one more token.
    #[inline]
    fn is_known_affordable(&self, config: SetId) -> bool {
        self.budget.as_deref().is_none_or(|budget| {
            let left = budget.left(self.history_len());
            budget.is_known_affordable(&self.generation, config, 1, left)
        })
    }
}

/// What tables tell of a step.
enum Known {
    Fits(Step),
    DoesNotFit,
    Nothing,
}
