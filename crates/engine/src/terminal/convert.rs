//! From the expressions of the machine to terms.

use std::sync::Arc;

use regex_syntax::utf8::Utf8Sequences;
use tokenstile_grammar::ir::{Expr, ExprId};
use tokenstile_grammar::machine::Machine;
use tokenstile_grammar::regular::{CharSet, Dfa};

use super::arena::{Arena, Term, TerminalId};

/// With at least this many alternatives it is worth looking for what they have in common.
const MANY: usize = 64;

impl Arena {
    /// The term of a terminal's expression.
    pub(crate) fn intern_expr(&self, machine: &Machine, root: ExprId) -> TerminalId {
        let mut done: hashbrown::HashMap<ExprId, TerminalId> = hashbrown::HashMap::new();
        let mut stack = vec![(root, false)];
        while let Some((id, children_done)) = stack.pop() {
            if done.contains_key(&id) {
                continue;
            }
            let expr = machine.expr(id);
            if !children_done && !expr.children().is_empty() {
                stack.push((id, true));
                stack.extend(expr.children().iter().map(|&child| (child, false)));
                continue;
            }
            let term = self.intern_from_children(expr, |child| done[&child]);
            done.insert(id, term);
        }
        done[&root]
    }

    fn intern_from_children(&self, expr: &Expr, child: impl Fn(ExprId) -> TerminalId) -> TerminalId {
        match expr {
            Expr::Empty => TerminalId::EMPTY,
            Expr::Bytes(bytes) => self.literal(bytes),
            Expr::Class(set) => self.class(set),
            Expr::Seq(items) => {
                items.iter().rev().fold(TerminalId::EMPTY, |rest, &item| self.concat(child(item), rest))
            }
            Expr::Alt(items) => self.alternatives(items.iter().map(|&item| child(item)).collect()),
            Expr::Repeat { body, min, max } => {
                self.repeat(child(*body), *min, max.unwrap_or(Term::UNBOUNDED))
            }
            Expr::Automaton(automaton) => self.automaton(automaton.dfa.get()),
            Expr::JsonText { text, escapes } => self.json_text(child(*text), 0, *escapes),
            Expr::AtMost { body, most } => self.bounded(child(*body), *most),
            // The passes leave none of the others in a terminal; the empty language is the safe reading.
            _ => TerminalId::NEVER,
        }
    }

    /// Any one of `items`. Many literals that begin alike have their common beginning taken out of them: otherwise
    /// each of its bytes would make as many states as there are literals.
    fn alternatives(&self, mut items: Vec<TerminalId>) -> TerminalId {
        let bytes = |id: TerminalId| match *self.term(id) {
            Term::Literal { literal, offset: 0 } => Some(&*self.literals.get(literal).bytes),
            _ => None,
        };
        if items.len() < MANY {
            return self.alt(items);
        }
        items.sort_by_key(|&id| bytes(id).map(|bytes| bytes[0]));
        let mut joined = Vec::new();
        for group in items.chunk_by(|&a, &b| bytes(a).map(|bytes| bytes[0]) == bytes(b).map(|bytes| bytes[0]))
        {
            let literals: Vec<&[u8]> = group.iter().filter_map(|&id| bytes(id)).collect();
            match literals.split_first() {
                Some((first, others)) if group.len() >= MANY => {
                    let shared = |other: &&[u8]| first.iter().zip(*other).take_while(|(a, b)| a == b).count();
                    let shared = others.iter().map(shared).min().unwrap_or(first.len());
                    let rests = self.alt(literals.iter().map(|literal| self.literal(&literal[shared..])));
                    joined.push(self.concat(self.literal(&first[..shared]), rests));
                }
                _ => joined.extend_from_slice(group),
            }
        }
        self.alt(joined)
    }

    fn automaton(&self, dfa: &Arc<Dfa>) -> TerminalId {
        if dfa.is_empty() {
            return TerminalId::NEVER;
        }
        self.automaton_state(self.automata.intern(dfa), Dfa::START)
    }

    /// One code point of `set` in UTF-8.
    pub(super) fn class(&self, set: &CharSet) -> TerminalId {
        let mut pieces = Vec::new();
        for &(low, high) in set.ranges() {
            for sequence in Utf8Sequences::new(low, high) {
                let ranges = sequence.as_slice();
                let rest = ranges[1..].iter().rev().fold(TerminalId::EMPTY, |rest, range| {
                    self.dispatch(Box::new([(range.start, range.end, rest)]))
                });
                pieces.push((ranges[0].start, ranges[0].end, rest));
            }
        }
        self.dispatch(self.combine(&pieces))
    }
}
