//! Fingerprints: 128 bits that stand for a term in every arena of the process.
//!
//! They are the keys of the token tables that grammars of one vocabulary share. Grammars come from strangers and a
//! collision would give one the other's table, so the hash is keyed with a secret of the process.

use std::hash::{Hash, Hasher};

use siphasher::sip128::{Hasher128, SipHasher13};
use tokenstile_grammar::regular::Dfa;

use super::arena::{Arena, Term, TerminalId};
use super::key::Key;

pub(crate) use crate::store::fingerprint::fingerprint_hasher;

impl Arena {
    /// The fingerprint of a state.
    pub(crate) fn fingerprint(&self, id: TerminalId) -> u128 {
        let mut stack = vec![id];
        while let Some(&at) = stack.last() {
            let waiting = stack.len();
            let missing = |child: &TerminalId| self.entry(*child).known_fingerprint().is_none();
            if missing(&at) {
                stack.extend(self.children(at).into_iter().filter(missing));
            }
            if stack.len() == waiting {
                let entry = self.entry(at);
                let _ = entry.walked.fingerprint.get_or_init(|| self.compute_fingerprint(&entry.term));
                stack.pop();
            }
        }
        self.known_fingerprint(id)
    }

    fn known_fingerprint(&self, id: TerminalId) -> u128 {
        self.entry(id).known_fingerprint().unwrap_or_default()
    }

    pub(super) fn children(&self, id: TerminalId) -> Vec<TerminalId> {
        match self.term(id) {
            Term::Dispatch(row) => row.iter().map(|&(_, _, target)| target).collect(),
            &Term::Concat(a, b) => vec![a, b],
            Term::Alt(items) => items.to_vec(),
            &Term::Repeat { body, .. } => vec![body],
            &Term::JsonText { inner, .. }
            | &Term::JsonEscape { inner, .. }
            | &Term::Bounded { inner, .. } => vec![inner],
            Term::Key(key) => vec![key.plain, key.inner],
            _ => Vec::new(),
        }
    }

    fn compute_fingerprint(&self, term: &Term) -> u128 {
        let mut state = fingerprint_hasher();
        match term {
            Term::Never => state.write_u8(0),
            Term::Empty => state.write_u8(1),
            &Term::Literal { literal, offset } => {
                state.write_u8(2);
                state.write_u128(self.literal_fingerprint(literal));
                state.write_u32(offset);
            }
            Term::Dispatch(row) => {
                state.write_u8(3);
                for &(low, high, target) in row {
                    state.write(&[low, high]);
                    state.write_u128(self.known_fingerprint(target));
                }
            }
            Term::Concat(a, b) => {
                state.write_u8(4);
                [a, b].iter().for_each(|&&id| state.write_u128(self.known_fingerprint(id)));
            }
            Term::Alt(items) => {
                state.write_u8(5);
                // Their order is that of their numbers, which differ between arenas.
                let mut prints: Vec<u128> = items.iter().map(|&id| self.known_fingerprint(id)).collect();
                prints.sort_unstable();
                prints.into_iter().for_each(|print| state.write_u128(print));
            }
            Term::Repeat { body, min, max } => {
                state.write_u8(6);
                state.write_u32(*min);
                state.write_u32(*max);
                state.write_u128(self.known_fingerprint(*body));
            }
            Term::Dfa { dfa, state: at } => {
                state.write_u8(7);
                state.write_u128(automaton_fingerprint(&self.automata.get(*dfa).dfa));
                state.write_u32(*at);
            }
            &Term::Tagged { text, state: at } => {
                state.write_u8(13);
                state.write_u128(self.text_fingerprint(text));
                state.write_u32(at);
            }
            Term::JsonText { inner, pending, escapes } => {
                state.write(&[8, *pending, *escapes as u8]);
                state.write_u128(self.known_fingerprint(*inner));
            }
            Term::Bounded { inner, left } => {
                state.write_u8(12);
                state.write_u32(*left);
                state.write_u128(self.known_fingerprint(*inner));
            }
            Term::Key(key) => self.hash_key(key, &mut state),
            Term::KeyRead(text) => {
                state.write_u8(11);
                state.write(text.as_bytes());
            }
            Term::JsonEscape { inner, escape, escapes } => {
                state.write(&[9, *escapes as u8]);
                escape.hash(&mut state);
                state.write_u128(self.known_fingerprint(*inner));
            }
        }
        state.finish128().as_u128()
    }

    fn hash_key(&self, key: &Key, state: &mut SipHasher13) {
        state.write_u8(10);
        [key.plain, key.inner].iter().for_each(|&id| state.write_u128(self.known_fingerprint(id)));
        (key.depth, key.escape, key.escapes, key.text.map(|text| self.text_bytes(text))).hash(state);
        // The texts are the same whatever runs they are divided into.
        let sums = key.spans.iter().map(|&span| self.span_sum(span));
        state.write_u128(sums.fold(0, u128::wrapping_add));
    }

    /// What follows the tags is no part of it: the tables tell tags by their number.
    fn text_fingerprint(&self, text: u32) -> u128 {
        let tagged = &self.tagged[text as usize];
        *tagged.fingerprint.get_or_init(|| {
            let mut state = fingerprint_hasher();
            tagged.text.hash(&mut state);
            state.finish128().as_u128()
        })
    }

    fn literal_fingerprint(&self, literal: u32) -> u128 {
        let literal = self.literals.get(literal);
        *literal.fingerprint.get_or_init(|| {
            let mut state = fingerprint_hasher();
            state.write(&literal.bytes);
            state.finish128().as_u128()
        })
    }
}

/// The fingerprint of an automaton, made once in the process.
pub(crate) fn automaton_fingerprint(dfa: &Dfa) -> u128 {
    dfa.fingerprint(|dfa| {
        let mut state = fingerprint_hasher();
        dfa.hash(&mut state);
        state.finish128().as_u128()
    })
}
