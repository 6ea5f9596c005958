//! Patterns with lookaround as exact automata.
//!
//! Lookahead and lookbehind keep a language regular, so there is an automaton; the question is only how to get it
//! without a detour through text. In order:
//!
//! 1. `symbols`: code points that the pattern cannot tell apart become one symbol.
//! 2. `program`: the pattern and each body of a lookaround become states with labelled edges. Anchors and word
//!    boundaries are lookarounds of one code point by then.
//! 3. `tracker`: all lookbehinds run from the start of the string, side by side with everything else, and say at
//!    each place which of them hold. They may look as far back as they like, also from inside a lookahead.
//! 4. `ahead`: each lookahead becomes an automaton, innermost first. A negated one is the same automaton with the
//!    other outcome wished for, so nesting and negation need no case of their own.
//! 5. `threads`: the pattern runs as threads that carry the lookaheads that they have passed, and the sets of
//!    threads, with the state of the tracker, are the states of the result.
//! 6. Symbols become bytes again, and the automaton is minimised.
//!
//! The one thing that is refused is a lookahead of more than one code point inside a lookbehind: whether such a
//! lookbehind holds is not known yet when its end is reached.

mod ahead;
mod program;
mod reduce;
mod symbols;
mod threads;
mod tracker;

use rustc_hash::FxHashMap;

use self::ahead::Ahead;
use self::program::Programs;
use self::reduce::{Raw, Reduced, reduce};
use self::symbols::{Symbol, Symbols};
use self::threads::{Kernel, Runner};
use self::tracker::{Tracker, TrackerState};
use super::ast::{Ast, NodeId};
use crate::error::Result;
use crate::limits::Budget;
use crate::regular::{CharSet, Dfa, DfaBuilder, Nfa, NfaStateId, Transition};

/// The automaton of the strings that a pattern matches from end to end; `source` is its text, for errors.
pub(super) fn automaton(ast: &Ast, root: NodeId, source: &str, budget: &Budget) -> Result<Dfa> {
    let programs = program::compile(ast, root, source, budget)?;
    let tracker = Tracker::new(&programs, budget)?;
    let mut aheads: Vec<Ahead> = Vec::with_capacity(programs.aheads.len());
    for program in &programs.aheads {
        let ahead = Ahead::new(program, &tracker, &programs.sets, &aheads, budget)?;
        aheads.push(ahead);
    }
    let raw = explore(&programs, &tracker, &aheads, budget)?;
    to_bytes(&reduce(raw, budget)?, &programs.symbols, budget)
}

/// How many threads all sets may have together, for each state that is allowed.
const THREADS_A_STATE: usize = 16;

/// All pairs of a state of the tracker and a set of threads, as an automaton over symbols.
fn explore(programs: &Programs, tracker: &Tracker, aheads: &[Ahead], budget: &Budget) -> Result<Raw> {
    let runner =
        Runner { program: &programs.main, sets: &programs.sets, letters: &tracker.letters, aheads, budget };
    let first = (Tracker::START, threads::start());
    let mut pairs: Vec<(TrackerState, Kernel)> = vec![first.clone()];
    let mut numbers: FxHashMap<(TrackerState, Kernel), u32> = FxHashMap::from_iter([(first, 0)]);
    let mut raw = Raw { accepting: Vec::new(), transitions: Vec::new() };
    let mut threads = 0;
    while raw.accepting.len() < pairs.len() {
        let at = raw.accepting.len();
        let (behind, kernel) = pairs[at].clone();
        let mut stand = runner.at(kernel);
        raw.accepting.push(stand.accepts(tracker.letter(behind, None))?);
        for symbol in 0..programs.symbols.len() as Symbol {
            let most = pairs.len().max(raw.transitions.len() / Raw::TRANSITIONS_A_STATE);
            budget.check_states(most.max(threads / THREADS_A_STATE))?;
            let next = stand.step(tracker.letter(behind, Some(symbol)))?;
            if next.is_empty() {
                continue;
            }
            let pair = (tracker.next(behind, symbol), next);
            let to = *numbers.entry(pair).or_insert_with_key(|pair| {
                threads += pair.1.len();
                pairs.push(pair.clone());
                pairs.len() as u32 - 1
            });
            raw.transitions.push(Transition { from: at as u32, label: symbol, to });
        }
    }
    Ok(raw)
}

/// The same automaton over bytes.
fn to_bytes(reduced: &Reduced, symbols: &Symbols, budget: &Budget) -> Result<Dfa> {
    let mut nfa = Nfa::new(budget);
    let end = nfa.add_state()?;
    let states: Vec<NfaStateId> = reduced.accepting.iter().map(|_| nfa.add_state()).collect::<Result<_>>()?;
    for (&state, _) in states.iter().zip(&reduced.accepting).filter(|(_, accepting)| **accepting) {
        nfa.add_empty(state, end);
    }
    for from_one in reduced.transitions.chunk_by(|one, other| one.from == other.from) {
        let mut ranges: FxHashMap<u32, Vec<(char, char)>> = FxHashMap::default();
        for transition in from_one {
            ranges.entry(transition.to).or_default().extend_from_slice(symbols.members(transition.label));
        }
        for (to, ranges) in ranges {
            let from = states[from_one[0].from as usize];
            nfa.add_class(from, &CharSet::new(ranges), states[to as usize])?;
        }
    }
    match states.first() {
        Some(&start) => nfa.determinize(start, end),
        None => DfaBuilder::new().finish(budget),
    }
}
