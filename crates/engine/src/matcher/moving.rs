//! A matcher on its way to newer tables.
//!
//! When the tables of a grammar are full, new ones take their place, and a matcher takes with it what it still needs: the
//! stacks of its history, and what its arrays and objects have had. That may be as much as the text is long. So the
//! matcher goes on with the tables that it has, and each call carries a little over, until nothing is left. Meanwhile
//! the old tables grow beyond their limit. The further they do, the more is carried at once, so that they cannot grow
//! without bound whatever callers do (forks that are dropped before they have arrived, say).

use std::sync::Arc;

use parking_lot::Mutex;

use super::Matcher;
use crate::carry::{Carrier, Way, Work};
use crate::compiled::CompiledGrammar;
use crate::config::SetId;
use crate::generation::Generation;
use crate::history::{Copying, History, Input};
use crate::vocab::TokenId;

/// How many sets a call carries over where the tables have hardly grown since they were full: a few hundred microseconds.
const SETS_A_CALL: usize = 128;

/// How far a matcher has come.
#[derive(Clone)]
pub(super) struct Moving {
    to: Arc<Generation>,
    /// What was carried over, by this matcher and by others that go the same way.
    carrier: Arc<Mutex<Carrier>>,
    history: Copying,
}

impl Moving {
    fn new(from: &Generation, to: Arc<Generation>) -> Self {
        Moving { carrier: from.carrier_to(&to), to, history: Copying::default() }
    }

    /// Carries something over. The history in the new tables, once all of it is there.
    fn advance(&mut self, from: &Generation, history: &History) -> Option<History> {
        let to = &*self.to;
        let before = to.memory_bytes();
        let mut carrier = self.carrier.lock();
        let mut work = Work::new(SETS_A_CALL << from.overgrowth().min(SETS_A_CALL.leading_zeros()));
        let copy = self.history.advance(history, !from.can_read_again(), |config| {
            carrier.carry(Way { from, to }, config, &mut work)
        });
        to.note_carried(to.memory_bytes().saturating_sub(before));
        copy
    }

    /// Forgets what the history does not have any more.
    pub(super) fn truncate(&mut self, history: &History) {
        self.history.truncate(history);
    }
}

impl Matcher {
    /// Moves to newer tables if those in use are full or were replaced.
    #[inline]
    pub(super) fn tidy(&mut self) {
        if self.moving.is_some() {
            self.go_on_moving();
        } else if let Some(newer) = self.compiled.after_use(&self.generation) {
            self.moving = Some(Box::new(Moving::new(&self.generation, newer)));
            self.go_on_moving();
        }
    }

    #[cold]
    fn go_on_moving(&mut self) {
        let Some(moving) = &mut self.moving else { return };
        let Some(history) = moving.advance(&self.generation, &self.history) else { return };
        let newer = Arc::clone(&moving.to);
        if let Some(budget) = &mut self.budget {
            budget.move_to(self.compiled.completion(&newer, budget.barred()));
        }
        self.history = history;
        self.generation = newer;
        self.moving = None;
    }

    /// Keeps the first `len` steps of the history.
    pub(super) fn shorten_history(&mut self, len: usize) {
        let (compiled, generation, stop_tokens) = (&self.compiled, &self.generation, &self.stop_tokens);
        self.history
            .truncate(len, |config, input| read_again(compiled, generation, stop_tokens, config, input));
        if let Some(moving) = &mut self.moving {
            moving.truncate(&self.history);
        }
    }
}

impl Generation {
    /// Whether where a step led can be found from what was read alone. Not where tokens are counted, because what may go on
    /// then depends on how many there may be; and not where tokens are named while items must differ, because then some of
    /// the stacks may have been dropped.
    fn can_read_again(&self) -> bool {
        let machine = self.machine();
        !machine.counts_tokens && (!machine.compares_items || !self.has_token_edges())
    }
}

/// The configuration to which an input led, which had been accepted.
fn read_again(
    compiled: &CompiledGrammar,
    generation: &Generation,
    stop_tokens: &[u32],
    config: SetId,
    input: &Input,
) -> SetId {
    let token = match input {
        Input::Bytes(bytes) => return generation.step_bytes_comparing(config, bytes),
        Input::Token(token) => TokenId(*token),
    };
    let bytes = compiled.vocab().token_bytes(token);
    let by_bytes =
        || if bytes.is_empty() { SetId::DEAD } else { generation.step_bytes_comparing(config, bytes) };
    if !stop_tokens.contains(&token.0) {
        return generation.with_token_edges(config, token, by_bytes());
    }
    match generation.step_token_edges(config, token, |set| !set.negated) {
        SetId::DEAD => by_bytes(),
        as_token => as_token,
    }
}
