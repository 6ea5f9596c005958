//! Tokens about which a walk may be wrong.
//!
//! A walk does not know what was read of a key once it is over, nor, in a top, which keys a list has had before. So
//! where no key may come twice it may allow tokens that hold one which has come:
//!
//! 1. A token that holds a key with both of its quotes, the first of them not its first byte: then the terminal of the key
//!    was not there before the token, and may have been found in a list that forgot. It can only be wrong if
//!    that very text has been a key before, so texts that were keys are noted as they are read.
//! 2. A token that closes one key and opens another of the same list. If any beginning of a key can be completed it must
//!    close that one too, or nothing is wrong.
//!
//! What stands around the quotes is known, and leaves a few dozen tokens of a vocabulary, most of which fit nowhere. Those
//! that do fit are simply read. The tokens depend on the vocabulary and a few bytes alone, so grammars share them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hashbrown::HashMap;
use parking_lot::Mutex;
use tokenstile_grammar::machine::{List, Machine};
use tokenstile_grammar::passes::ByteSet;

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

    fn may_close(&self, bytes: &[u8], at: usize) -> bool {
        bytes[at] == b'"' && bytes.get(at + 1).is_none_or(|&next| self.after.contains(next))
    }
}

/// Tokens that may hold a key which a list has had.
#[derive(Default)]
struct Suspects {
    /// Those that close a key and open another.
    pairs: Vec<u32>,
    /// Those that hold a key, with the number of its text.
    whole: Vec<(u32, u32)>,
    /// The numbers of the texts.
    texts: HashMap<Box<str>, u32>,
}

impl Suspects {
    fn new(around: &Surroundings, tokens: &TokenTable) -> Self {
        let mut suspects = Suspects::default();
        for &token in tokens.index().quoted(tokens) {
            let bytes = tokens.token_bytes(TokenId(token));
            let opens =
                (1..bytes.len()).filter(|&at| bytes[at] == b'"' && around.before.contains(bytes[at - 1]));
            for open in opens {
                suspects.add(token, bytes, open, around);
            }
        }
        suspects
    }

    /// Adds a token if the key that may open at `open` makes it one.
    fn add(&mut self, token: u32, bytes: &[u8], open: usize, around: &Surroundings) {
        let text = key_text(&bytes[open..]);
        let closes_before = (0..open).any(|at| around.may_close(bytes, at));
        if closes_before && (text.is_some() || !around.always_free) {
            self.pairs.push(token);
        } else if let Some(text) = text {
            let next = self.texts.len() as u32;
            let number = *self.texts.entry(text).or_insert(next);
            self.whole.push((token, number));
        }
    }
}

/// The text of the JSON string that `bytes` begin with, if it is closed.
fn key_text(bytes: &[u8]) -> Option<Box<str>> {
    let mut at = 1;
    while *bytes.get(at)? != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    serde_json::from_slice(&bytes[..=at]).ok()
}

/// The suspects of a vocabulary, by what stands around keys.
#[derive(Default)]
pub(crate) struct KnownSuspects(Mutex<Vec<(Surroundings, Arc<Suspects>)>>);

/// How many kinds of surroundings are remembered.
const MAX_KNOWN: usize = 16;

impl KnownSuspects {
    fn get(&self, around: Surroundings, tokens: &TokenTable) -> Arc<Suspects> {
        let mut known = self.0.lock();
        if let Some((_, suspects)) = known.iter().find(|(other, _)| *other == around) {
            return Arc::clone(suspects);
        }
        let suspects = Arc::new(Suspects::new(&around, tokens));
        if known.len() >= MAX_KNOWN {
            known.remove(0);
        }
        known.push((around, Arc::clone(&suspects)));
        suspects
    }
}

/// The suspects of a generation, and which of the texts were keys in it.
pub(crate) struct Doubtful {
    suspects: Arc<Suspects>,
    seen: Box<[AtomicBool]>,
    any_seen: AtomicBool,
}

impl Doubtful {
    pub(crate) fn new(machine: &Machine, tokens: &TokenTable) -> Self {
        let suspects = tokens.index().suspects.get(Surroundings::of(machine), tokens);
        let seen = suspects.texts.iter().map(|_| AtomicBool::new(false)).collect();
        Doubtful { suspects, seen, any_seen: AtomicBool::new(false) }
    }

    /// Notes that a list has had the key `text`.
    pub(crate) fn note_key(&self, text: &str) {
        if let Some(&number) = self.suspects.texts.get(text) {
            self.seen[number as usize].store(true, Ordering::Release);
            self.any_seen.store(true, Ordering::Release);
        }
    }

    /// Notes the keys that were noted in another generation of the same grammar.
    pub(crate) fn note_keys_of(&self, other: &Doubtful) {
        for (own, other) in self.seen.iter().zip(&other.seen) {
            own.fetch_or(other.load(Ordering::Acquire), Ordering::AcqRel);
        }
        self.any_seen.fetch_or(other.any_seen.load(Ordering::Acquire), Ordering::AcqRel);
    }

    /// The tokens that a walk may be wrong about, given the keys that were noted.
    fn tokens(&self) -> impl Iterator<Item = u32> {
        let whole = if self.any_seen.load(Ordering::Acquire) { &*self.suspects.whole } else { &[] };
        let was_key = |number: u32| self.seen[number as usize].load(Ordering::Acquire);
        let whole = whole.iter().filter(move |&&(_, number)| was_key(number)).map(|&(token, _)| token);
        self.suspects.pairs.iter().copied().chain(whole)
    }
}

impl Generation {
    /// The tokens of a mask of `config` that do not fit after all.
    pub(super) fn unfit_tokens(&self, config: SetId, mask: &Mask) -> Vec<u32> {
        if !self.remembers_keys() {
            return Vec::new();
        }
        let is_unfit = |token: &u32| {
            let bytes = self.tokens().token_bytes(TokenId(*token));
            mask.contains(*token) && self.step_token(config, TokenId(*token), bytes) == SetId::DEAD
        };
        self.doubtful().tokens().filter(is_unfit).collect()
    }
}
