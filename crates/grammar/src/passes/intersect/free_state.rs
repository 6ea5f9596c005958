//! The state of an automaton that has nothing to say any more.

use crate::ir::{Expr, Grammar};
use crate::limits::Budget;
use crate::regular::{Dfa, StateId};

/// Whether all that the grammar matches is text, code point by code point, so that no part of it ends inside of one.
pub(super) fn is_text(grammar: &Grammar) -> bool {
    grammar.exprs().all(|(_, expr)| match expr {
        Expr::Bytes(bytes) => std::str::from_utf8(bytes).is_ok(),
        Expr::Automaton(automaton) => {
            automaton.dfa.difference(Dfa::any_text(), &Budget::default()).is_ok_and(|rest| rest.is_empty())
        }
        _ => true,
    })
}

/// The state of `dfa` from which it accepts any text.
pub(super) fn free_state(dfa: &Dfa) -> Option<StateId> {
    let any = Dfa::any_text();
    'states: for state in 0..dfa.len() as StateId {
        let mut images: Vec<Option<StateId>> = vec![None; any.len()];
        images[Dfa::START as usize] = Some(state);
        let mut open = vec![Dfa::START];
        while let Some(at) = open.pop() {
            let image = images[at as usize].unwrap_or(state);
            if dfa.is_accepting(image) != any.is_accepting(at) {
                continue 'states;
            }
            let (here, there) = (any.edges(at), dfa.edges(image));
            if here.len() != there.len() {
                continue 'states;
            }
            for (&(low, high, to), &(other_low, other_high, other_to)) in here.iter().zip(there) {
                if (low, high) != (other_low, other_high) {
                    continue 'states;
                }
                match images[to as usize] {
                    None => {
                        images[to as usize] = Some(other_to);
                        open.push(to);
                    }
                    Some(known) if known != other_to => continue 'states,
                    Some(_) => {}
                }
            }
        }
        return Some(state);
    }
    None
}
