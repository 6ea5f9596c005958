//! Tokens about which a walk may be wrong.
//!
//! A walk does not know what was read of a key once it is over. So where no key may come twice it may allow tokens that
//! close one key and open another of the same list. If any beginning of a key can be completed such a token must close the
//! second key too, or nothing is wrong.
//!
//! What stands around the quotes is known, and leaves a few tokens of a vocabulary, if any. Those that fit are simply
//! read. Which they are depends on the vocabulary and a few bytes alone, so grammars share them.

use std::sync::Arc;

use parking_lot::Mutex;
use tokenstile_grammar::machine::{List, Machine};
use tokenstile_grammar::regular::ByteSet;

use super::tokens::Mask;
use crate::config::SetId;
use crate::generation::Generation;
use crate::vocab::{TokenId, TokenTable};

/// What stands around the keys of a grammar's lists.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Surroundings {
    /// The bytes that may stand before a key that is not the first member.
    before: ByteSet,
    /// The bytes that may stand after one.
    after: ByteSet,
    /// Whether any beginning of a key can be completed.
    always_free: bool,
}

impl Surroundings {
    fn of(machine: &Machine) -> Self {
        let mut all = Surroundings { before: ByteSet::NONE, after: ByteSet::NONE, always_free: true };
        for list in machine.lists.iter().filter(|list: &&List| list.unique) {
            all.before.add_all(list.before_keys);
            all.after.add_all(list.after_keys);
            all.always_free &= list.always_free;
        }
        all
    }

    /// Whether a token may close a key, open another, and be wrong.
    fn is_doubtful(&self, bytes: &[u8]) -> bool {
        let may_open = |at: &usize| bytes[*at] == b'"' && self.before.contains(bytes[at - 1]);
        (1..bytes.len()).filter(may_open).any(|open| {
            (0..open).any(|at| self.may_close(bytes, at))
                && (!self.always_free || (open + 1..bytes.len()).any(|at| self.may_close(bytes, at)))
        })
    }

    fn may_close(&self, bytes: &[u8], at: usize) -> bool {
        bytes[at] == b'"' && bytes.get(at + 1).is_none_or(|&next| self.after.contains(next))
    }
}

/// The doubtful tokens of a vocabulary, by what stands around keys.
#[derive(Default)]
pub(crate) struct Doubtful(Mutex<Vec<(Surroundings, Arc<[u32]>)>>);

/// How many kinds of surroundings are remembered.
const MAX_KNOWN: usize = 16;

impl Doubtful {
    /// The doubtful tokens of a grammar.
    pub(crate) fn tokens(&self, machine: &Machine, tokens: &TokenTable) -> Arc<[u32]> {
        let around = Surroundings::of(machine);
        let mut known = self.0.lock();
        if let Some((_, found)) = known.iter().find(|(other, _)| *other == around) {
            return Arc::clone(found);
        }
        let is_doubtful = |token: &u32| around.is_doubtful(tokens.token_bytes(TokenId(*token)));
        let found: Arc<[u32]> = tokens.index().quoted(tokens).iter().copied().filter(is_doubtful).collect();
        if known.len() >= MAX_KNOWN {
            known.remove(0);
        }
        known.push((around, Arc::clone(&found)));
        found
    }
}

impl Generation {
    /// The tokens of a mask of `config` that do not fit after all.
    pub(super) fn unfit_tokens(&self, config: SetId, mask: &Mask) -> Vec<u32> {
        let keys = if self.remembers_keys() { self.doubtful() } else { &[] };
        let is_unfit = |token: &u32| {
            let bytes = self.tokens().token_bytes(TokenId(*token));
            mask.contains(*token) && self.step_token(config, TokenId(*token), bytes) == SetId::DEAD
        };
        let mut unfit: Vec<u32> = keys.iter().copied().filter(is_unfit).collect();
        unfit.extend(self.levelling_tokens(config, |token| mask.contains(token)));
        unfit.sort_unstable();
        unfit.dedup();
        unfit
    }
}
