//! Trimming and minimising automata over numbered labels.

use crate::error::Result;
use crate::limits::Budget;
use crate::regular::{Transition, equivalence_classes, useful_states};

/// A deterministic automaton that starts in state 0.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) accepting: Vec<bool>,
    pub(super) transitions: Vec<Transition>,
}

impl Raw {
    /// How many transitions there may be for each state that is allowed.
    pub(super) const TRANSITIONS_A_STATE: usize = 64;
}

/// A minimal automaton without dead states that starts in state 0; without states where the language is empty.
#[derive(Debug)]
pub(super) struct Reduced {
    pub(super) accepting: Vec<bool>,
    pub(super) transitions: Vec<Transition>,
}

pub(super) fn reduce(raw: Raw, budget: &Budget) -> Result<Reduced> {
    let Raw { accepting, mut transitions } = raw;
    let mut targets: Vec<Vec<u32>> = vec![Vec::new(); accepting.len()];
    for transition in &transitions {
        targets[transition.from as usize].push(transition.to);
    }
    let useful = useful_states(&accepting, |state| targets[state].iter().copied());
    drop(targets);
    let mut names = 0..;
    let renamed: Vec<Option<u32>> =
        useful.iter().map(|&useful| if useful { names.next() } else { None }).collect();
    transitions.retain_mut(|transition| {
        match (renamed[transition.from as usize], renamed[transition.to as usize]) {
            (Some(from), Some(to)) => {
                (transition.from, transition.to) = (from, to);
                true
            }
            _ => false,
        }
    });
    let accepting: Vec<bool> = accepting
        .iter()
        .zip(&useful)
        .filter(|(_, useful)| **useful)
        .map(|(&accepting, _)| accepting)
        .collect();
    let classes = equivalence_classes(&accepting, &transitions, budget)?;
    Ok(quotient(&accepting, transitions, &classes))
}

/// One state for each class, that of the start first.
fn quotient(accepting: &[bool], mut transitions: Vec<Transition>, classes: &[u32]) -> Reduced {
    let mut numbers: Vec<Option<u32>> = vec![None; classes.len()];
    let mut merged = Vec::new();
    let mut state_of = Vec::with_capacity(classes.len());
    for (state, &class) in classes.iter().enumerate() {
        let number = *numbers[class as usize].get_or_insert_with(|| {
            merged.push(accepting[state]);
            merged.len() as u32 - 1
        });
        state_of.push(number);
    }
    for transition in &mut transitions {
        transition.from = state_of[transition.from as usize];
        transition.to = state_of[transition.to as usize];
    }
    transitions.sort_unstable_by_key(|transition| (transition.from, transition.label));
    transitions.dedup();
    Reduced { accepting: merged, transitions }
}
