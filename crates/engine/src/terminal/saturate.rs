//! Saturation: bounds that no token can reach are the same as none.
//!
//! A token has at most `longest_token` bytes, and each turn of a repeat takes at least one. So for the mask of a
//! state, `e{0,9000}` is `e*`, and `e{200,}` is a repeat that cannot end. Masks and token tables are kept for
//! saturated states, and a bounded repeat costs as much as an endless one until its bound comes near.

use super::arena::{Arena, Term, TerminalId};
use super::derive::Piece;
use super::key::Key;

impl Arena {
    /// The state with the same token table as `id` whose bounds are out of the way.
    pub(crate) fn saturate(&self, id: TerminalId) -> TerminalId {
        let entry = self.entry(id);
        if !entry.counts {
            return id;
        }
        if let Some(&known) = entry.saturated.get() {
            return known;
        }
        let mut stack = vec![id];
        while let Some(&at) = stack.last() {
            let entry = self.entry(at);
            if entry.saturated.get().is_some() {
                stack.pop();
                continue;
            }
            let waiting = stack.len();
            if entry.counts {
                let missing = |&child: &TerminalId| self.entry(child).saturated.get().is_none();
                stack.extend(self.children(at).into_iter().filter(missing));
            }
            if stack.len() == waiting {
                let result = if entry.counts { self.rebuild(&entry.term, at) } else { at };
                let _ = entry.saturated.set(result);
                stack.pop();
            }
        }
        self.saturated(id)
    }

    fn saturated(&self, id: TerminalId) -> TerminalId {
        self.entry(id).saturated.get().copied().unwrap_or(id)
    }

    fn rebuild(&self, term: &Term, id: TerminalId) -> TerminalId {
        match term {
            Term::Concat(a, b) => self.concat(self.saturated(*a), self.saturated(*b)),
            Term::Alt(items) => self.alt(items.iter().map(|&item| self.saturated(item))),
            &Term::Repeat { body, min, max } => {
                let out_of_reach = |count: u32| count > self.longest_token;
                let min = if out_of_reach(min) { Term::UNBOUNDED } else { min };
                let max = if out_of_reach(max) { Term::UNBOUNDED } else { max };
                self.repeat(self.saturated(body), min, max)
            }
            Term::Dispatch(row) => {
                let piece = |&(low, high, target): &Piece| (low, high, self.saturated(target));
                self.dispatch(self.combine(&row.iter().map(piece).collect::<Vec<_>>()))
            }
            &Term::JsonText { inner, pending } => self.json_text(self.saturated(inner), pending),
            &Term::JsonEscape { inner, escape } => {
                self.intern(&Term::JsonEscape { inner: self.saturated(inner), escape })
            }
            Term::Key(key) => {
                let plain = self.saturated(key.plain);
                self.intern_key(Key { plain, text: None, ..(**key).clone() })
            }
            Term::KeyRead(_) => TerminalId::EMPTY,
            _ => id,
        }
    }
}
