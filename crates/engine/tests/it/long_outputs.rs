//! Outputs without end: what a step costs does not depend on how many there were.
//!
//! Time decides nothing here. What is counted is what a single step adds to the tables: where they are full new ones take
//! their place, and what a matcher still needs must not be carried over all at once.

use std::sync::Arc;

use tokenstile_engine::{CompiledGrammar, EngineLimits, Matcher, MatcherOptions};
use tokenstile_grammar::Budget;

use crate::invariants::{mask, parse};
use crate::vocabulary::Vocabulary;

/// The most sets that a step may add: what is carried over at once, and what it reads.
const MOST_AT_ONCE: usize = 1_000;

/// A grammar, what its outputs begin with, and what comes then, by its number.
struct Case {
    name: &'static str,
    source: &'static str,
    begin: &'static str,
    piece: fn(usize) -> String,
}

const CASES: [Case; 4] = [
    Case {
        name: "nested arrays",
        source: r#"root ::= "[" (root ("," root)*)? "]""#,
        begin: "",
        piece: |_| "[".to_owned(),
    },
    Case {
        name: "unique items",
        source: r#"root[distinct_items] ::= "[" i ("," i)* "]"
i ::= "{\"x\":" n "}" | "\"" n "\""
n ::= [0-9]+"#,
        begin: "[\"0\"",
        piece: |number| format!(",\"{number}\",{{\"x\":{number}}}"),
    },
    Case {
        name: "open keys",
        source: r#"root ::= "{" Members(others=((k, n),), separator=",", order="any", unique=true) "}"
k ::= [a-z0-9]*
n ::= ":" [0-9]"#,
        begin: "{\"a\":1",
        piece: |number| format!(",\"k{number}\":{}", number % 10),
    },
    Case {
        name: "numbered rules",
        source: r#"root ::= ([a-z]+ " " | "(" root ")")*"#,
        begin: "",
        piece: |number| if number.is_multiple_of(3) { "(".to_owned() } else { "ab cd ".to_owned() },
    },
];

fn compiled(case: &Case, cache_bytes: usize) -> Arc<CompiledGrammar> {
    let vocab = Arc::clone(&Vocabulary::bytes().vocab);
    CompiledGrammar::new(parse(case.source), vocab, EngineLimits { cache_bytes }, &Budget::default())
        .expect("it compiles")
}

/// An output of so many bytes.
fn output(case: &Case, length: usize) -> Vec<u8> {
    let mut bytes = case.begin.as_bytes().to_vec();
    for number in 1.. {
        if bytes.len() >= length {
            break;
        }
        bytes.extend_from_slice((case.piece)(number).as_bytes());
    }
    bytes.truncate(length);
    bytes
}

#[test]
fn what_is_still_needed_is_carried_over_in_pieces() {
    for case in &CASES {
        let compiled = compiled(case, 2 << 20);
        let mut matcher = Matcher::new(Arc::clone(&compiled), MatcherOptions::default());
        let (mut sets, mut evictions) = (compiled.stats().sets, 0);
        for (at, byte) in output(case, 20_000).into_iter().enumerate() {
            assert!(matcher.accept_token(byte.into()), "{} at {at}", case.name);
            let stats = compiled.stats();
            let before = if stats.evictions > evictions { 0 } else { sets };
            let added = stats.sets - before;
            assert!(added <= MOST_AT_ONCE, "{}: byte {at} added {added} sets", case.name);
            (sets, evictions) = (stats.sets, stats.evictions);
        }
        assert!(evictions > 0 || case.name == "numbered rules", "{} never filled its tables", case.name);
    }
}

#[test]
fn masks_are_the_same_however_often_tables_were_dropped() {
    for case in &CASES {
        let bytes = output(case, 2_500);
        let roomy = compiled(case, 1 << 30);
        let mut expected = Matcher::new(roomy, MatcherOptions::default());
        let small: Vec<_> = [1, 100 << 10, 400 << 10].into_iter().map(|room| compiled(case, room)).collect();
        let mut matchers: Vec<Matcher> =
            small.into_iter().map(|small| Matcher::new(small, MatcherOptions::default())).collect();
        for (at, &byte) in bytes.iter().enumerate() {
            let row = mask(&mut expected);
            for matcher in &mut matchers {
                if at % 7 == 0 {
                    assert_eq!(mask(matcher), row, "{} at {at}", case.name);
                }
                assert!(matcher.accept_token(byte.into()));
                if at % 97 == 0 {
                    // A fork goes its own way, and another goes on.
                    let mut fork = matcher.fork();
                    fork.rollback(at / 2).expect("there were as many");
                    *matcher = matcher.fork();
                }
            }
            assert!(expected.accept_token(byte.into()));
        }
        // Back to where tables were that are long gone, over chunks of the history that have been forgotten.
        for (back, forward) in [(1, 0), (70, 30), (700, 200), (3, 0), (1_500, 64), (500, 0)] {
            let from = expected.history_len() - back;
            for matcher in matchers.iter_mut().chain([&mut expected]) {
                matcher.rollback(back).expect("there were as many");
                for &byte in &bytes[from..from + forward] {
                    assert!(matcher.accept_token(byte.into()));
                }
            }
            let row = mask(&mut expected);
            for matcher in &mut matchers {
                assert_eq!(mask(matcher), row, "{} {back} back", case.name);
            }
        }
    }
}
