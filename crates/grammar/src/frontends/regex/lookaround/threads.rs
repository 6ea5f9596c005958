//! Threads: the ways to be inside a program, each with what it has promised of the text to come.
//!
//! A thread that passes a lookahead takes on an *obligation*: the automaton of the lookahead, started here, must come
//! to accept, or must not. Obligations step along with the thread. One that is met is forgotten, one that is broken
//! ends the thread. A string matches when some thread is at the end of the program with nothing left to fulfil.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::ahead::{Ahead, Fate};
use super::program::{ACCEPT, Label, Program, START, StateNumber};
use super::symbols::SymbolSet;
use super::tracker::Letter;
use crate::error::Result;
use crate::limits::Budget;

/// What a thread has promised: that a lookahead, now in `state`, holds, or that it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Obligation {
    ahead: u32,
    negated: bool,
    state: u32,
}

/// A state of a program with its obligations, sorted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Thread {
    state: StateNumber,
    obligations: Rc<[Obligation]>,
}

/// The threads between two letters, sorted; edges that read nothing are not followed yet.
pub(super) type Kernel = Rc<[Thread]>;

/// A program with what it takes to run it.
pub(super) struct Runner<'a> {
    pub(super) program: &'a Program,
    pub(super) sets: &'a [SymbolSet],
    pub(super) letters: &'a [Letter],
    pub(super) aheads: &'a [Ahead],
    pub(super) budget: &'a Budget,
}

/// The threads to start with.
pub(super) fn start() -> Kernel {
    [Thread { state: START, obligations: Rc::from([]) }].into()
}

impl Runner<'_> {
    /// More threads on one state than this are not compared with each other.
    const MOST_COMPARED: usize = 64;

    /// The threads after a letter that has a symbol.
    pub(super) fn step(&self, kernel: &[Thread], letter: u32) -> Result<Kernel> {
        let symbol = self.letters[letter as usize].symbol;
        let mut after = Vec::new();
        for thread in self.close(kernel, letter)? {
            let Some(obligations) = self.fulfil(&thread.obligations, letter) else {
                continue;
            };
            for &(label, to) in &self.program.edges[thread.state as usize] {
                let reads = match label {
                    Label::Symbol(wanted) => symbol == Some(wanted),
                    Label::Symbols(set) => symbol.is_some_and(|symbol| self.sets[set].contains(symbol)),
                    _ => false,
                };
                if reads {
                    after.push(Thread { state: to, obligations: Rc::clone(&obligations) });
                }
            }
        }
        after.sort_unstable();
        after.dedup();
        self.prune(&mut after)?;
        Ok(after.into())
    }

    /// Whether the string may end here; `letter` is the end.
    pub(super) fn accepts(&self, kernel: &[Thread], letter: u32) -> Result<bool> {
        let closed = self.close(kernel, letter)?;
        let accepts = |thread: &Thread| {
            thread.state == ACCEPT
                && self.fulfil(&thread.obligations, letter).is_some_and(|left| left.is_empty())
        };
        Ok(closed.iter().any(accepts))
    }

    /// The threads that can be reached before `letter` without reading.
    fn close(&self, kernel: &[Thread], letter: u32) -> Result<Vec<Thread>> {
        let mut closed = kernel.to_vec();
        let mut seen: FxHashSet<Thread> = kernel.iter().cloned().collect();
        let mut at = 0;
        while at < closed.len() {
            self.budget.check_states(closed.len())?;
            let thread = closed[at].clone();
            for &(label, to) in &self.program.edges[thread.state as usize] {
                let obligations = match label {
                    Label::Nothing => Some(Rc::clone(&thread.obligations)),
                    Label::Guard(guard) => self.letters[letter as usize]
                        .satisfies(guard, self.sets)
                        .then(|| Rc::clone(&thread.obligations)),
                    Label::Ahead { ahead, negated } => self.promise(&thread.obligations, ahead, negated),
                    Label::Symbol(_) | Label::Symbols(_) => None,
                };
                let Some(obligations) = obligations else { continue };
                let next = Thread { state: to, obligations };
                if seen.insert(next.clone()) {
                    closed.push(next);
                }
            }
            at += 1;
        }
        Ok(closed)
    }

    /// The obligations with one more, or `None` where it cannot be met.
    fn promise(
        &self,
        obligations: &Rc<[Obligation]>,
        ahead: usize,
        negated: bool,
    ) -> Option<Rc<[Obligation]>> {
        let state = match self.aheads[ahead].start() {
            Fate::Open(state) => state,
            Fate::Holds(holds) => return (holds != negated).then(|| Rc::clone(obligations)),
        };
        let new = Obligation { ahead: ahead as u32, negated, state };
        match obligations.binary_search(&new) {
            Ok(_) => Some(Rc::clone(obligations)),
            Err(at) => {
                let mut all = obligations.to_vec();
                all.insert(at, new);
                Some(all.into())
            }
        }
    }

    /// The obligations that are left after a letter, or `None` where one is broken.
    fn fulfil(&self, obligations: &Rc<[Obligation]>, letter: u32) -> Option<Rc<[Obligation]>> {
        if obligations.is_empty() {
            return Some(Rc::clone(obligations));
        }
        let mut left = Vec::with_capacity(obligations.len());
        for &obligation in obligations.iter() {
            match self.aheads[obligation.ahead as usize].next(obligation.state, letter) {
                Fate::Open(state) => left.push(Obligation { state, ..obligation }),
                Fate::Holds(holds) if holds == obligation.negated => return None,
                Fate::Holds(_) => {}
            }
        }
        left.sort_unstable();
        left.dedup();
        Some(left.into())
    }

    /// Drops threads that promise more than another in the same state.
    fn prune(&self, threads: &mut Vec<Thread>) -> Result<()> {
        let mut kept: Vec<Thread> = Vec::with_capacity(threads.len());
        for group in threads.chunk_by(|one, other| one.state == other.state) {
            self.budget.tick()?;
            let is_needless = |thread: &Thread| {
                group.iter().any(|other| other != thread && is_part(&other.obligations, &thread.obligations))
            };
            if group.len() > Self::MOST_COMPARED {
                kept.extend_from_slice(group);
            } else {
                kept.extend(group.iter().filter(|thread| !is_needless(thread)).cloned());
            }
        }
        *threads = kept;
        Ok(())
    }
}

/// Whether the sorted `part` is within the sorted `whole`.
fn is_part(part: &[Obligation], whole: &[Obligation]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|wanted| whole.by_ref().any(|found| found == wanted))
}

/// Whether a thread is at the end of its program with nothing left to fulfil.
pub(super) fn is_done(kernel: &[Thread]) -> bool {
    kernel.iter().any(|thread| thread.state == ACCEPT && thread.obligations.is_empty())
}
