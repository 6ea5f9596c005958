//! The automata of an arena.
//!
//! White space and numbers are automata that nearly all grammars have, so those are the first of every arena, and are kept
//! once for the process ([`common`](super::common)). Most arenas have no others.

use std::sync::{Arc, OnceLock};

use tokenstile_grammar::regular::Dfa;

use super::arena::TerminalId;
use super::fingerprint::automaton_fingerprint;
use crate::interner::{Beginning, Interner};

/// The bytes of white space.
pub(super) const WHITE: [u8; 4] = *b" \t\n\r";

/// An automaton that was built ahead of time.
pub(super) struct Automaton {
    pub(super) dfa: Arc<Dfa>,
    /// Whether it reads white space and nothing else, and may end after any of it.
    pub(super) is_white: bool,
    /// How many code points each of its states is away from an end.
    pub(super) distances: OnceLock<Box<[u32]>>,
    /// The state from which any text goes on, and the term of that, which all automata share.
    pub(super) free: OnceLock<Option<(u32, TerminalId)>>,
}

/// All automata of an arena, by number.
pub(super) struct Automata {
    common: Option<&'static Beginning<Automaton>>,
    own: OnceLock<Box<Interner<Automaton>>>,
}

impl Automata {
    /// Those that are common.
    pub(super) fn after(common: Option<&'static Beginning<Automaton>>) -> Self {
        Automata { common, own: OnceLock::new() }
    }

    /// All of them, as what others begin with.
    pub(super) fn into_beginning(self) -> Beginning<Automaton> {
        let own = self.own.into_inner().unwrap_or_default();
        own.into_beginning()
    }

    /// The automaton with a number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &Automaton {
        match self.common {
            Some(common) if (number as usize) < common.len() => common.get(number),
            _ => self.own().get(number),
        }
    }

    /// The number of an automaton.
    pub(super) fn intern(&self, dfa: &Arc<Dfa>) -> u32 {
        let key = automaton_fingerprint(dfa);
        let is_same = |known: &Automaton| known.dfa == *dfa;
        let make = || Automaton {
            dfa: Arc::clone(dfa),
            is_white: is_white(dfa),
            distances: OnceLock::new(),
            free: OnceLock::new(),
        };
        let common = self.common.and_then(|common| common.number_of(&key, is_same));
        common.unwrap_or_else(|| self.own().intern(&key, is_same, make).0)
    }

    fn own(&self) -> &Interner<Automaton> {
        self.own.get_or_init(|| Box::new(Interner::after(self.common)))
    }
}

fn is_white(dfa: &Dfa) -> bool {
    let reads_white = |&(low, high, _): &(u8, u8, u32)| (low..=high).all(|byte| WHITE.contains(&byte));
    (0..dfa.len() as u32).all(|state| dfa.is_accepting(state) && dfa.edges(state).iter().all(reads_white))
}
