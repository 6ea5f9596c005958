//! Copying a term to another arena.

use hashbrown::HashMap;

use super::arena::{Arena, Term, TerminalId};

impl Arena {
    /// The number in `self` of a term of `from`. `done` has the terms that were copied before.
    pub(crate) fn carry(
        &self,
        from: &Arena,
        root: TerminalId,
        done: &mut HashMap<TerminalId, TerminalId>,
    ) -> TerminalId {
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            let waiting = stack.len();
            if !done.contains_key(&id) {
                stack.extend(from.children(id).into_iter().filter(|child| !done.contains_key(child)));
                if stack.len() == waiting {
                    done.insert(id, self.carry_term(from, id, done));
                }
            }
            if stack.len() == waiting {
                stack.pop();
            }
        }
        done[&root]
    }

    fn carry_term(&self, from: &Arena, id: TerminalId, done: &HashMap<TerminalId, TerminalId>) -> TerminalId {
        match from.term(id) {
            Term::Never => TerminalId::NEVER,
            Term::Empty => TerminalId::EMPTY,
            &Term::Literal { literal, offset } => {
                let literal = self.intern_literal(&from.literals.get(literal).bytes);
                self.intern(&Term::Literal { literal, offset })
            }
            Term::Dispatch(row) => {
                self.dispatch(row.iter().map(|&(low, high, target)| (low, high, done[&target])).collect())
            }
            Term::Concat(a, b) => self.concat(done[a], done[b]),
            Term::Alt(items) => self.alt(items.iter().map(|item| done[item])),
            &Term::Repeat { body, min, max } => self.repeat(done[&body], min, max),
            &Term::Dfa { dfa, state } => {
                let dfa = self.automata.intern(&from.automata.get(dfa).dfa);
                self.automaton_state(dfa, state)
            }
            // The same machine has the same texts.
            &Term::Tagged { text, state } => self.tagged_state(text, state),
            &Term::Bounded { inner, left } => self.bounded(done[&inner], left),
            Term::Key(key) => self.carry_key(from, key, |id| done[&id]),
            Term::KeyRead(text) => self.intern(&Term::KeyRead(text.clone())),
            Term::JsonText { inner, pending, escapes } => self.json_text(done[inner], *pending, *escapes),
            Term::JsonEscape { inner, escape, escapes } => {
                let (escape, escapes) = (*escape, *escapes);
                self.intern(&Term::JsonEscape { inner: done[inner], escape, escapes })
            }
        }
    }
}
