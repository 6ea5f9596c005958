//! A lookahead as a deterministic automaton over letters.
//!
//! Its language is the texts of which the body matches a beginning, ends included. It is determinised and minimised,
//! so that holding, failing and being open are three different things at every step, and obligations that amount to
//! the same are the same.

use rustc_hash::FxHashMap;

use super::program::Program;
use super::reduce::{Raw, Reduced, reduce};
use super::threads::{Kernel, Runner, is_done, start};
use super::tracker::Tracker;
use crate::error::Result;
use crate::limits::Budget;
use crate::regular::Transition;

use super::symbols::SymbolSet;

/// What is known of a lookahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It depends on the text to come.
    Open(u32),
    /// It holds, or it does not, whatever comes.
    Holds(bool),
}

/// The automaton of one lookahead.
#[derive(Debug)]
pub(super) struct Ahead {
    start: Fate,
    letters: usize,
    next: Vec<Fate>,
}

impl Ahead {
    pub(super) fn start(&self) -> Fate {
        self.start
    }

    pub(super) fn next(&self, state: u32, letter: u32) -> Fate {
        self.next[state as usize * self.letters + letter as usize]
    }

    /// The automaton of a lookahead's program; those that it looks at are in `aheads`.
    pub(super) fn new(
        program: &Program,
        tracker: &Tracker,
        sets: &[SymbolSet],
        aheads: &[Ahead],
        budget: &Budget,
    ) -> Result<Self> {
        let runner = Runner { program, sets, letters: &tracker.letters, aheads, budget };
        let reduced = reduce(explore(&runner, tracker)?, budget)?;
        Ok(Ahead::from_reduced(&reduced, tracker.letters.len()))
    }

    fn from_reduced(reduced: &Reduced, letters: usize) -> Self {
        // The end leads to a state that is accepting, and the only one; it has no way on.
        let states = reduced.accepting.len();
        let mut targets: Vec<Option<u32>> = vec![None; states * letters];
        for transition in &reduced.transitions {
            targets[transition.from as usize * letters + transition.label as usize] = Some(transition.to);
        }
        let row = |state: u32| &targets[state as usize * letters..][..letters];
        let is_end = |state: u32| reduced.accepting[state as usize];
        let is_certain =
            |state: u32| row(state).iter().all(|to| to.is_some_and(|to| to == state || is_end(to)));
        let fate = |to: Option<u32>| match to {
            None => Fate::Holds(false),
            Some(to) if is_end(to) || is_certain(to) => Fate::Holds(true),
            Some(to) => Fate::Open(to),
        };
        let start = if states == 0 { None } else { Some(0) };
        Ahead { start: fate(start), letters, next: targets.iter().map(|&to| fate(to)).collect() }
    }
}

/// All sets of threads of a lookahead, as an automaton whose last state stands for the end.
fn explore(runner: &Runner<'_>, tracker: &Tracker) -> Result<Raw> {
    let mut kernels: Vec<Kernel> = vec![start()];
    let mut numbers: FxHashMap<Kernel, u32> = FxHashMap::from_iter([(start(), 0)]);
    let mut transitions = Vec::new();
    let mut ends: Vec<(u32, u32)> = Vec::new();
    let mut at = 0;
    while at < kernels.len() {
        let mut stand = runner.at(Kernel::clone(&kernels[at]));
        for label in 0..tracker.letters.len() as u32 {
            runner.budget.check_states(kernels.len().max(transitions.len() / Raw::TRANSITIONS_A_STATE))?;
            if tracker.letters[label as usize].symbol.is_none() {
                if stand.accepts(label)? {
                    ends.push((at as u32, label));
                }
                continue;
            }
            let mut next = stand.step(label)?;
            if is_done(&next) {
                // The others add nothing to a thread that has its end behind it.
                next = next.iter().filter(|thread| is_done(std::slice::from_ref(thread))).cloned().collect();
            }
            if next.is_empty() {
                continue;
            }
            let to = *numbers.entry(next).or_insert_with_key(|next| {
                kernels.push(Kernel::clone(next));
                kernels.len() as u32 - 1
            });
            transitions.push(Transition { from: at as u32, label, to });
        }
        at += 1;
    }
    let end = kernels.len() as u32;
    transitions.extend(ends.into_iter().map(|(from, label)| Transition { from, label, to: end }));
    let mut accepting = vec![false; kernels.len()];
    accepting.push(true);
    Ok(Raw { accepting, transitions })
}
