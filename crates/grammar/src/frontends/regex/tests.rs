//! Tests of the whole front end: known answers, other engines, random patterns, and hostile ones.

mod hostile;
mod known;
mod random;
mod refused;

use super::{Syntax, parse};
use crate::error::Result;
use crate::ir::{Builder, Expr};
use crate::limits::{Budget, Limits};
use crate::regular::{Dfa, determinize};

/// The automaton of a pattern, whichever way it was compiled.
fn try_automaton(pattern: &str, syntax: Syntax) -> Result<Dfa> {
    let budget = Budget::default();
    let mut builder = Builder::new(&Limits::default());
    let root = parse(pattern, &syntax, &mut builder, &budget)?;
    determinize(&builder, root, &budget)
}

fn automaton(pattern: &str, syntax: Syntax) -> Dfa {
    try_automaton(pattern, syntax).unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

/// The text of the macro that a pattern prints as, where it is an automaton.
fn macro_of(pattern: &str, syntax: Syntax) -> Option<String> {
    let mut builder = Builder::new(&Limits::default());
    let root = parse(pattern, &syntax, &mut builder, &Budget::default()).unwrap();
    match builder.expr(root) {
        Expr::Automaton(automaton) => Some(automaton.source.to_string()),
        _ => None,
    }
}

#[test]
fn words_between_anchors_are_what_they_are_inside_of_a_group() {
    let (mut builder, budget) = (Builder::new(&Limits::default()), Budget::default());
    let mut read = |pattern: &str, syntax| parse(pattern, &syntax, &mut builder, &budget).unwrap();
    for word in ["a", "billing_id", "x-1", "-", "0"] {
        for syntax in [Syntax::search(), Syntax::whole()] {
            let (plain, grouped) = (format!("^{word}$"), format!("^(?:{word})$"));
            assert_eq!(read(&plain, syntax), read(&grouped, syntax), "{word}");
        }
    }
    for other in ["^$", "^a|b$", "^a.$", "^a\\$", "^a*$", "^é$", "^(a$", "^a b$"] {
        let grouped = format!("(?:{other})");
        assert_eq!(
            try_automaton(other, Syntax::search()).ok(),
            try_automaton(&grouped, Syntax::search()).ok(),
            "{other}"
        );
    }
}
