//! Terms that many arenas begin with.
//!
//! Strings, numbers and white space have the same states in nearly every grammar, and each arena would make them and
//! their ways on anew. So those that samples have met are made once for the process, and arenas begin with them.
//!
//! What is found out of such a term later on is kept in it for all arenas. So it must not depend on any of them:
//!
//! 1. The ways on from a common term are known from the start, and lead to common terms.
//! 2. A common term has no bounds, so that it saturates to itself whatever the longest token is.
//! 3. Token tables depend on the vocabulary, so they are kept there, by the number of the term.

use std::sync::Arc;

use hashbrown::HashMap;

use super::arena::{Arena, CommonTerms, Term, TerminalId};
use crate::vocab::reach::Reach;

/// More terms than this are not worth it: the sample was not one of what grammars have in common.
const MOST_TERMS: usize = 20_000;

impl CommonTerms {
    /// The terms of some arenas that can be common, and what they lead to.
    pub(crate) fn of<'a>(samples: impl Iterator<Item = &'a Arena>) -> Option<Self> {
        let arena = Arena::new(Arc::new(Reach::of_any(0)), std::iter::empty(), None);
        let any_text = arena.any_text();
        samples.for_each(|sample| arena.take_common(sample));
        let mut done = 0;
        while done < arena.len() {
            arena.row(TerminalId(done as u32));
            done += 1;
            if arena.len() > MOST_TERMS {
                return None;
            }
        }
        let (entries, literals) = (arena.entries.into_beginning(), arena.literals.into_beginning());
        Some(CommonTerms { entries, literals, automata: arena.automata.into_beginning(), any_text })
    }

    /// How many there are. They have the first numbers.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

impl Arena {
    /// Copies all terms of another arena that may be common.
    fn take_common(&self, from: &Arena) {
        let mut done: HashMap<TerminalId, TerminalId> = HashMap::new();
        // The parts of a term come before it.
        for id in (0..from.len() as u32).map(TerminalId) {
            let is_whole = from.children(id).iter().all(|child| done.contains_key(child));
            if is_whole && from.may_be_common(id) {
                self.carry(from, id, &mut done);
            }
        }
    }

    fn may_be_common(&self, id: TerminalId) -> bool {
        // Texts with tags and texts of keys have numbers of their own.
        let has_numbers = matches!(self.term(id), Term::Tagged { .. } | Term::Key(_) | Term::KeyRead(_));
        !self.entry(id).counts && !has_numbers
    }
}

#[cfg(test)]
mod tests {
    use crate::generation::common_terms;

    #[test]
    fn common_terms_lead_to_common_terms() {
        let common = common_terms().expect("the sample is a small one");
        assert!(common.len() > 100);
        for entry in common.entries.iter() {
            assert!(!entry.counts);
            let row = entry.row.get().expect("all ways on are known");
            assert!(row.iter().all(|&(_, _, target)| (target.0 as usize) < common.len()));
        }
    }
}
