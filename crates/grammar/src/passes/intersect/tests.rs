//! A text is in a conjunction if and only if it is in both sides: all short texts over three letters, for grammars of
//! several shapes and random patterns.

use super::*;
use crate::frontends::{ebnf, regex};
use crate::regular::Dfa;

/// Balanced brackets, sums, palindromes, lists: none of them is regular.
const SIDES: [&str; 5] = [
    "side ::= \"\" | \"a\" side \"b\" side",
    "side ::= side \"b\" term | term\nterm ::= \"a\" | \"c\" side \"c\"",
    "side ::= \"a\" side \"a\" | \"b\" side \"b\" | \"c\"?",
    "side ::= (\"a\" side{0,2} \"b\")* \"c\"?",
    "side ::= item (\"c\" item)*\nitem[capture] ::= \"a\" item \"b\" | \"ab\" | \"\"",
];

const PATTERNS: [&str; 6] = ["[abc]{0,4}", "(?!.*ab)[abc]*", "a.*|b", "(..)*", ".*c.*", "(?!aabb$|ab$).*"];

/// Whether a text can be derived, by trying every way; the texts are short.
fn derives(grammar: &Grammar, expr: ExprId, text: &[u8], depth: u32) -> bool {
    if depth == 0 {
        return false;
    }
    match grammar.expr(expr) {
        Expr::Never => false,
        Expr::Empty => text.is_empty(),
        Expr::Bytes(bytes) => **bytes == *text,
        Expr::Class(set) => {
            let only = std::str::from_utf8(text).ok().filter(|text| text.chars().count() == 1);
            only.is_some_and(|text| text.chars().all(|c| set.contains(c)))
        }
        Expr::Automaton(automaton) => automaton.dfa.matches(text),
        Expr::Alt(items) => items.iter().any(|&item| derives(grammar, item, text, depth - 1)),
        Expr::Seq(items) => sequence(grammar, items, text, depth),
        &Expr::Repeat { body, min, max } => {
            let most = max.unwrap_or(u32::MAX).min(text.len() as u32 + min);
            (min..=most).any(|count| sequence(grammar, &vec![body; count as usize], text, depth))
        }
        Expr::Rule(rule) => derives(grammar, grammar.rule(*rule).body, text, depth - 1),
        other => panic!("{other:?} is not in these grammars"),
    }
}

fn sequence(grammar: &Grammar, items: &[ExprId], text: &[u8], depth: u32) -> bool {
    let Some((&first, rest)) = items.split_first() else { return text.is_empty() };
    (0..=text.len()).any(|at| {
        derives(grammar, first, &text[..at], depth - 1) && sequence(grammar, rest, &text[at..], depth)
    })
}

fn texts(longest: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut at = 0;
    while at < all.len() {
        if all[at].len() < longest {
            for letter in ["a", "b", "c"] {
                all.push(format!("{}{letter}", all[at]));
            }
        }
        at += 1;
    }
    all
}

#[test]
fn a_conjunction_is_both() {
    let budget = Budget::default();
    let texts = texts(5);
    for side in SIDES {
        for pattern in PATTERNS {
            let quoted = pattern.replace('\\', "\\\\");
            let source = format!("root ::= side & Regex(\"{quoted}\")\n{side}");
            let grammar = ebnf::parse(&source, "root", budget.limits(), &budget).unwrap();
            let side_id = grammar.rules().find(|(_, rule)| rule.name == "side").unwrap().1.body;
            let alone =
                regex::to_grammar(pattern, &regex::Syntax::whole(), budget.limits(), &budget).unwrap();
            let dfa: Dfa =
                crate::regular::determinize(&alone, alone.rule(alone.root()).body, &budget).unwrap();
            let is_in_both =
                |text: &str| derives(&grammar, side_id, text.as_bytes(), 14) && dfa.matches(text.as_bytes());
            let lowered = match lower(grammar.clone(), &budget) {
                Ok(lowered) => lowered,
                Err(error) => {
                    assert_eq!(error.kind(), crate::ErrorKind::Invalid, "{source}\n{error}");
                    assert!(!texts.iter().any(|text| is_in_both(text)), "{source}");
                    continue;
                }
            };
            let root = lowered.rule(lowered.root()).body;
            for text in &texts {
                let expected = is_in_both(text);
                let found = derives(&lowered, root, text.as_bytes(), 60);
                assert_eq!(found, expected, "{text:?} in\n{source}\n{lowered}");
            }
        }
    }
}

#[test]
fn what_is_free_stays_as_it_is() {
    let budget = Budget::default();
    let source = "root ::= side & ~\"xx\"\nside ::= \"(\" side \")\" | \"x\" side | \"y\" other\n\
                  other ::= \"[\" other \"]\" | \"z\"";
    let grammar = ebnf::parse(source, "root", budget.limits(), &budget).unwrap();
    let text = lower(grammar, &budget).unwrap().to_string();
    assert!(text.lines().count() < 40, "{text}");
    assert!(text.contains("\"[\" other \"]\""), "{text}");
}

#[test]
fn a_product_that_is_too_large_meets_a_limit() {
    let limits = crate::Limits { max_nodes: 2_000, ..crate::Limits::default() };
    let budget = Budget::new(limits, crate::CancelFlag::default());
    let source = "root ::= side & .{0,3000}\nside ::= \"(\" side \")\" side | \"\"";
    let grammar = ebnf::parse(source, "root", budget.limits(), &budget).unwrap();
    assert_eq!(lower(grammar, &budget).unwrap_err().kind(), crate::ErrorKind::Limit);
}
