//! Which recursive rules become automata, and that they match the same.

use super::replace;
use crate::ir::{Expr, Grammar};
use crate::limits::Budget;
use crate::regular::{Dfa, determinize};
use crate::{Limits, frontends};

fn grammar(text: &str) -> Grammar {
    let budget = Budget::default();
    let grammar = frontends::ebnf::parse(text, "root", &Limits::default(), &budget).unwrap();
    super::super::linear::unroll(grammar, &budget).unwrap()
}

/// The language of the root after the pass, if no rule is recursive any more.
fn root_of(text: &str) -> Option<Dfa> {
    let budget = Budget::default();
    let replaced = replace(grammar(text), &budget).unwrap();
    determinize(&replaced, replaced.rule(replaced.root()).body, &budget).ok()
}

fn language(expr: &str) -> Dfa {
    let grammar = grammar(&format!("root ::= {expr}"));
    determinize(&grammar, grammar.rule(grammar.root()).body, &Budget::default()).unwrap()
}

#[test]
fn recursion_that_needs_no_stack_becomes_an_automaton() {
    for (text, regular) in [
        // At either end, with what may be empty behind it or before it.
        ("root ::= [a-z]+ root? [a-z]* root?", "[a-z]+"),
        ("root ::= \"x\" a\na ::= \"y\" b? c\nb ::= \"z\" root\nc ::= \"!\"*", "\"xy\" (\"zxy\")* \"!\"*"),
        ("root ::= a \"x\" | \"y\"\na ::= b? root\nb ::= \"z\"*", "\"y\" | \"z\"* \"y\" \"x\"+"),
        // Stars of stars, and repeats of what repeats itself.
        ("root ::= a*\na ::= (root \"b\"){2,} | \"b\"", "\"b\"*"),
        ("root ::= root root | \"ab\" | root \"\" root", "(\"ab\")+"),
        // In the middle, where it adds nothing.
        ("root ::= \"(\" root \")\" | [()]+ | root \"()\" root", "[()]+"),
        (
            "root ::= \"\u{e9}\" a \"x\" | \"y\"\na ::= [^a]*  | a \"b\" a",
            "(\"\u{e9}\" [^a]* \"x\") | \"y\" | \"\u{e9}\" [^a]* \"x\"",
        ),
    ] {
        assert_eq!(root_of(text).as_ref(), Some(&language(regular)), "{text}");
    }
}

#[test]
fn recursion_that_needs_a_stack_stays() {
    for text in [
        "root ::= \"(\" root \")\" | \"x\"",
        "root ::= [a-z0-9] root [a-z]{2} | [a-z]",
        "root ::= \"x\" root \"y\" | a\na ::= \"x\" a | \"z\"",
    ] {
        assert_eq!(root_of(text), None, "{text}");
    }
}

#[test]
fn rules_that_say_something_stay() {
    for options in ["capture", "temperature=0.5", "max_tokens=3"] {
        let text = format!("root ::= a\na[{options}] ::= [a-z]+ a? [a-z]*");
        let parsed = frontends::ebnf::parse(&text, "root", &Limits::default(), &Budget::default());
        let Ok(parsed) = parsed else { panic!("{text}: {parsed:?}") };
        let replaced = replace(parsed, &Budget::default()).unwrap();
        let automata = replaced.exprs().filter(|(_, expr)| matches!(expr, Expr::Automaton(_)));
        assert_eq!(automata.count(), 0, "{text}");
    }
}

#[test]
fn what_would_be_too_large_stays() {
    // The language is regular, and its smallest automaton remembers which of the last letters were there.
    let text = "root ::= [ab]* \"a\" [ab]{14} | root root";
    assert_eq!(root_of(text), None);
}
