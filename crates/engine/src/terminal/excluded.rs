//! The texts that a key may not be, for walks along them.
//!
//! Where the keys of a language are endless, whatever was read of an excluded text, some key goes on from there. So nothing
//! is lost for an exclusion but the closing quotes after the texts themselves, and a walk along the texts finds these
//! without a state for each byte of them.

use std::sync::Arc;

use smallvec::SmallVec;

use super::arena::{Arena, Term, TerminalId};
use super::exclusion::Spans;

/// Excluded texts that may still be meant.
pub(crate) struct ExcludedTexts<'a> {
    arena: &'a Arena,
    spans: Spans,
    depth: usize,
}

impl Arena {
    /// The bytes before the text of a key, and the texts that it may not be, if nothing else is lost for them.
    pub(crate) fn excluded_texts(&self, id: TerminalId) -> Option<(SmallVec<[u8; 8]>, ExcludedTexts<'_>)> {
        let mut before = SmallVec::new();
        let mut at = id;
        while let &Term::Concat(head, tail) = self.term(at) {
            let &Term::Literal { literal, offset } = self.term(head) else { return None };
            before.extend_from_slice(&self.literals.get(literal).bytes[offset as usize..]);
            at = tail;
        }
        let Term::Key(key) = self.term(at) else { return None };
        let texts = ExcludedTexts { arena: self, spans: key.spans.clone(), depth: key.depth as usize };
        (key.escape.is_empty() && self.is_endless(key.inner)).then_some((before, texts))
    }

    /// Whether the language is known to have no end, and no end of what may follow any beginning.
    fn is_endless(&self, id: TerminalId) -> bool {
        let mut at = id;
        while let &Term::Concat(_, tail) = self.term(at) {
            at = tail;
        }
        matches!(self.term(at), Term::Repeat { max: Term::UNBOUNDED, .. })
    }
}

impl ExcludedTexts<'_> {
    /// The texts as sorted lists, and how many bytes of them were read.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (&[Arc<str>], usize)> {
        self.spans.iter().map(|&span| (self.arena.span_texts(span), self.depth))
    }
}
