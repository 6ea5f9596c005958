//! Keys beside the automaton, as texts.
//!
//! The automaton reads what is written. Where each text has one spelling, it also reads texts: by a byte that is written as an
//! escape it goes on as by that escape. So what a list may have as a key between two states is a language of texts again,
//! and that is what the engine keeps apart from the keys that were read.

use std::cell::RefCell;
use std::rc::Rc;

use hashbrown::HashMap;

use super::leaves::common_edges;
use crate::error::Result;
use crate::ir::Escapes;
use crate::limits::Budget;
use crate::regular::{Dfa, DfaBuilder, StateId};

type Row = Vec<(u8, u8, StateId)>;

/// An automaton over what is written, read by texts.
pub(super) struct Spelled<'d> {
    dfa: &'d Dfa,
    rows: RefCell<HashMap<StateId, Rc<Row>>>,
}

/// Texts as keys with their quotes, from one state on.
pub(super) struct Keys {
    /// The edges of pairs of a state of the texts and one of the automaton.
    edges: Vec<Row>,
    /// The state behind the closing quote, where a text may end.
    closed: Vec<Option<StateId>>,
}

impl Keys {
    /// The states that keys lead to.
    pub(super) fn ends(&self) -> Vec<StateId> {
        let mut ends: Vec<StateId> = self.closed.iter().copied().flatten().collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    }

    /// The texts of those that lead to a state.
    pub(super) fn texts(&self, to: StateId, budget: &Budget) -> Result<Dfa> {
        let mut builder = DfaBuilder::new();
        for &end in &self.closed {
            builder.add_state(end == Some(to));
        }
        for (from, out) in (0..).zip(&self.edges) {
            out.iter().for_each(|&(low, high, at)| builder.add_edge(from, low, high, at));
        }
        builder.finish(budget)
    }
}

impl<'d> Spelled<'d> {
    pub(super) fn new(dfa: &'d Dfa) -> Self {
        Spelled { dfa, rows: RefCell::default() }
    }

    fn row(&self, state: StateId) -> Rc<Row> {
        Rc::clone(self.rows.borrow_mut().entry(state).or_insert_with(|| Rc::new(self.compute_row(state))))
    }

    fn compute_row(&self, state: StateId) -> Row {
        let is_escaped = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
        let mut row = Row::new();
        for &(low, high, to) in self.dfa.edges(state) {
            let mut open = None;
            for byte in low..=high {
                match (is_escaped(byte), open) {
                    (false, None) => open = Some(byte),
                    (true, Some(from)) => {
                        row.push((from, byte - 1, to));
                        open = None;
                    }
                    _ => {}
                }
            }
            row.extend(open.map(|from| (from, high, to)));
        }
        for byte in (0..b' ').chain([b'"', b'\\']) {
            let text = char::from(byte).to_string();
            let to = Escapes::Least.only_spelling(&text).and_then(|spelling| self.after(state, &spelling));
            row.extend(to.map(|to| (byte, byte, to)));
        }
        row.sort_unstable();
        row
    }

    /// The state after some bytes.
    fn after(&self, state: StateId, written: &str) -> Option<StateId> {
        written.bytes().try_fold(state, |at, byte| self.dfa.next(at, byte))
    }

    /// The state after a key with its quotes.
    pub(super) fn after_key(&self, state: StateId, key: &str) -> Option<StateId> {
        let spelling = Escapes::Least.only_spelling(key)?;
        let inside = self.after(self.dfa.next(state, b'"')?, &spelling)?;
        self.dfa.next(inside, b'"')
    }

    /// Which of `texts` may stand as keys with their quotes from `state` on.
    pub(super) fn keys(&self, texts: &Dfa, state: StateId, budget: &Budget) -> Result<Keys> {
        let mut keys = Keys { edges: Vec::new(), closed: Vec::new() };
        let Some(open) = self.dfa.next(state, b'"').filter(|_| !texts.is_empty()) else { return Ok(keys) };
        let mut numbers: HashMap<(StateId, StateId), StateId> = HashMap::from([((Dfa::START, open), 0)]);
        let mut pairs = vec![(Dfa::START, open)];
        while keys.edges.len() < pairs.len() {
            budget.check_states(pairs.len())?;
            let (one, other) = pairs[keys.edges.len()];
            let mut out = Row::new();
            for (low, high, targets) in common_edges(texts.edges(one), &self.row(other)) {
                let number = *numbers.entry(targets).or_insert_with(|| {
                    pairs.push(targets);
                    pairs.len() as StateId - 1
                });
                out.push((low, high, number));
            }
            keys.edges.push(out);
            keys.closed.push(texts.is_accepting(one).then(|| self.dfa.next(other, b'"')).flatten());
        }
        Ok(keys)
    }
}
