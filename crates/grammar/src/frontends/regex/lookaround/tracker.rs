//! What lies behind: all lookbehinds of a pattern, run together from the start of the string.
//!
//! A lookbehind asks whether its body matches some stretch that ends here. So its program is started at every place,
//! and the set of its live states says it. The sets of all lookbehinds together are one deterministic automaton.
//! Reading a string by it turns each symbol into a *letter*: the symbol and, for the place before it, which
//! lookbehinds hold. The end of the string is a letter too, without a symbol. On letters, lookbehinds, anchors and
//! word boundaries are conditions on what comes next, and only lookaheads of some length are left to deal with.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::program::{ACCEPT, Guard, Label, Program, Programs, START, StateNumber};
use super::symbols::{Symbol, SymbolSet};
use crate::error::{Error, Result};
use crate::limits::Budget;

/// The number of a state of the tracker.
pub(super) type TrackerState = u32;

/// A symbol, or the end, and the lookbehinds that hold before it, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Letter {
    pub(super) behinds: u64,
    pub(super) symbol: Option<Symbol>,
}

impl Letter {
    pub(super) fn satisfies(self, guard: Guard, sets: &[SymbolSet]) -> bool {
        match guard {
            Guard::Behind { behind, negated } => (self.behinds >> behind & 1 == 1) != negated,
            Guard::Next { set, negated } => {
                self.symbol.is_some_and(|symbol| sets[set].contains(symbol)) != negated
            }
        }
    }
}

/// The automaton of all lookbehinds.
#[derive(Debug)]
pub(super) struct Tracker {
    /// All letters that can occur.
    pub(super) letters: Vec<Letter>,
    symbols: usize,
    next: Vec<TrackerState>,
    /// For each state and symbol the number of the letter; last comes that of the end.
    letter: Vec<u32>,
}

impl Tracker {
    /// How many lookbehinds a pattern can have.
    const MOST_BEHINDS: usize = 64;

    /// Table entries for each state that is allowed.
    const CELLS_A_STATE: usize = 64;

    /// The state at the start of the string.
    pub(super) const START: TrackerState = 0;

    pub(super) fn new(programs: &Programs, budget: &Budget) -> Result<Self> {
        if programs.behinds.len() > Self::MOST_BEHINDS {
            let message = format!("more than {} different lookbehinds are not supported", Self::MOST_BEHINDS);
            return Err(Error::unsupported(message));
        }
        let symbols = programs.symbols.len();
        let mut tracker = Tracker { letters: Vec::new(), symbols, next: Vec::new(), letter: Vec::new() };
        let mut letters: FxHashMap<Letter, u32> = FxHashMap::default();
        let mut states = States::default();
        let start: Kernels = programs.behinds.iter().map(|_| Rc::from([START])).collect();
        states.intern(start);
        let mut at = 0;
        while at < states.list.len() {
            budget.check_states(states.list.len().max(tracker.letter.len() / Self::CELLS_A_STATE))?;
            let kernels = states.list[at].clone();
            for symbol in (0..symbols as Symbol).map(Some).chain([None]) {
                let (letter, next) = step(programs, &kernels, symbol, budget)?;
                let number = *letters.entry(letter).or_insert_with(|| {
                    tracker.letters.push(letter);
                    tracker.letters.len() as u32 - 1
                });
                tracker.letter.push(number);
                if symbol.is_some() {
                    tracker.next.push(states.intern(next));
                }
            }
            at += 1;
        }
        Ok(tracker)
    }

    /// The letter that a symbol, or the end, is in this state.
    pub(super) fn letter(&self, state: TrackerState, symbol: Option<Symbol>) -> u32 {
        let column = symbol.map_or(self.symbols, |symbol| symbol as usize);
        self.letter[state as usize * (self.symbols + 1) + column]
    }

    pub(super) fn next(&self, state: TrackerState, symbol: Symbol) -> TrackerState {
        self.next[state as usize * self.symbols + symbol as usize]
    }
}

/// For each lookbehind the states of its program that are live.
type Kernels = Rc<[Rc<[StateNumber]>]>;

#[derive(Default)]
struct States {
    numbers: FxHashMap<Kernels, TrackerState>,
    list: Vec<Kernels>,
}

impl States {
    fn intern(&mut self, kernels: Kernels) -> TrackerState {
        *self.numbers.entry(kernels).or_insert_with_key(|kernels| {
            self.list.push(kernels.clone());
            self.list.len() as TrackerState - 1
        })
    }
}

/// The letter of a symbol, and where it leads. Each lookbehind sees the bits of those before it.
fn step(
    programs: &Programs,
    kernels: &Kernels,
    symbol: Option<Symbol>,
    budget: &Budget,
) -> Result<(Letter, Kernels)> {
    let mut letter = Letter { behinds: 0, symbol };
    let mut next = Vec::with_capacity(kernels.len());
    for (behind, (program, kernel)) in programs.behinds.iter().zip(kernels.iter()).enumerate() {
        let (holds, after) = step_one(program, kernel, letter, &programs.sets, budget)?;
        letter.behinds |= u64::from(holds) << behind;
        next.push(after);
    }
    Ok((letter, next.into()))
}

/// Whether one lookbehind holds before `letter`, and its live states after it.
fn step_one(
    program: &Program,
    kernel: &[StateNumber],
    letter: Letter,
    sets: &[SymbolSet],
    budget: &Budget,
) -> Result<(bool, Rc<[StateNumber]>)> {
    let mut seen: FxHashSet<StateNumber> = kernel.iter().copied().collect();
    let mut open = kernel.to_vec();
    let mut after = vec![START];
    while let Some(state) = open.pop() {
        budget.tick()?;
        for &(label, to) in &program.edges[state as usize] {
            let (is_free, reads) = match label {
                Label::Nothing => (true, false),
                Label::Guard(guard) => (letter.satisfies(guard, sets), false),
                Label::Symbol(symbol) => (false, letter.symbol == Some(symbol)),
                Label::Symbols(set) => {
                    (false, letter.symbol.is_some_and(|symbol| sets[set].contains(symbol)))
                }
                Label::Ahead { .. } => unreachable!("the compiler refuses lookaheads in lookbehinds"),
            };
            if is_free && seen.insert(to) {
                open.push(to);
            }
            if reads {
                after.push(to);
            }
        }
    }
    after.sort_unstable();
    after.dedup();
    Ok((seen.contains(&ACCEPT), after.into()))
}
