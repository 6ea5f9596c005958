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

    /// The threads between two letters, to go on from.
    pub(super) fn at(&self, kernel: Kernel) -> Stand<'_> {
        Stand { runner: self, kernel, closed: None }
    }

    /// The threads that can be reached before `letter` without reading, and whether it could be another letter as well.
    fn close(&self, kernel: &[Thread], letter: u32) -> Result<(Rc<[Thread]>, bool)> {
        let mut closed = kernel.to_vec();
        let mut seen = Seen::default();
        kernel.iter().for_each(|thread| _ = seen.insert(thread));
        let mut is_unguarded = true;
        let mut at = 0;
        while at < closed.len() {
            self.budget.check_states(closed.len())?;
            let Thread { state, obligations } = closed[at].clone();
            for &(label, to) in &self.program.edges[state as usize] {
                let obligations = match label {
                    Label::Nothing => Some(Rc::clone(&obligations)),
                    Label::Guard(guard) => {
                        is_unguarded = false;
                        let is_open = self.letters[letter as usize].satisfies(guard, self.sets);
                        is_open.then(|| Rc::clone(&obligations))
                    }
                    Label::Ahead { ahead, negated } => self.promise(&obligations, ahead, negated),
                    Label::Symbol(_) | Label::Symbols(_) => None,
                };
                let Some(obligations) = obligations else { continue };
                let next = Thread { state: to, obligations };
                if seen.insert(&next) {
                    closed.push(next);
                }
            }
            at += 1;
        }
        Ok((closed.into(), is_unguarded))
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
        if threads.windows(2).all(|pair| pair[0].state != pair[1].state) {
            return Ok(());
        }
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

/// Threads between two letters, and what they reach without reading: that is found once, unless it hangs on the letter.
pub(super) struct Stand<'r> {
    runner: &'r Runner<'r>,
    kernel: Kernel,
    closed: Option<Rc<[Thread]>>,
}

impl Stand<'_> {
    /// The threads after a letter that has a symbol.
    pub(super) fn step(&mut self, letter: u32) -> Result<Kernel> {
        let closed = self.closed(letter)?;
        let Runner { program, sets, letters, .. } = self.runner;
        let symbol = letters[letter as usize].symbol;
        let mut after = Vec::new();
        for thread in closed.iter() {
            let Some(obligations) = self.runner.fulfil(&thread.obligations, letter) else {
                continue;
            };
            for &(label, to) in &program.edges[thread.state as usize] {
                let reads = match label {
                    Label::Symbol(wanted) => symbol == Some(wanted),
                    Label::Symbols(set) => symbol.is_some_and(|symbol| sets[set].contains(symbol)),
                    _ => false,
                };
                if reads {
                    after.push(Thread { state: to, obligations: Rc::clone(&obligations) });
                }
            }
        }
        after.sort_unstable();
        after.dedup();
        self.runner.prune(&mut after)?;
        Ok(after.into())
    }

    /// Whether the string may end here; `letter` is the end.
    pub(super) fn accepts(&mut self, letter: u32) -> Result<bool> {
        let closed = self.closed(letter)?;
        let accepts = |thread: &Thread| {
            thread.state == ACCEPT
                && self.runner.fulfil(&thread.obligations, letter).is_some_and(|left| left.is_empty())
        };
        Ok(closed.iter().any(accepts))
    }

    fn closed(&mut self, letter: u32) -> Result<Rc<[Thread]>> {
        if let Some(closed) = &self.closed {
            return Ok(Rc::clone(closed));
        }
        let (closed, is_unguarded) = self.runner.close(&self.kernel, letter)?;
        self.closed = is_unguarded.then(|| Rc::clone(&closed));
        Ok(closed)
    }
}

/// Threads that were met. Most have promised nothing, and are known by their state.
#[derive(Default)]
struct Seen {
    free: FxHashSet<StateNumber>,
    bound: FxHashSet<Thread>,
}

impl Seen {
    /// Whether a thread was not met before.
    fn insert(&mut self, thread: &Thread) -> bool {
        if thread.obligations.is_empty() {
            self.free.insert(thread.state)
        } else {
            self.bound.insert(thread.clone())
        }
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
