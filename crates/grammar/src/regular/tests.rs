//! Laws of the algebra, on random expressions, against membership that is worked out from the expression itself.

use std::collections::HashSet;

use proptest::prelude::*;

use super::{CharSet, Dfa, determinize};
use crate::ir::{Builder, ExprId, RuleOptions};
use crate::{Budget, CancelFlag, ErrorKind, Limits};

/// A small expression over `a`, `b` and `é`.
#[derive(Clone, Debug)]
enum Small {
    Never,
    Text(&'static str),
    Class(&'static [char]),
    Seq(Box<Small>, Box<Small>),
    Alt(Box<Small>, Box<Small>),
    And(Box<Small>, Box<Small>),
    Not(Box<Small>),
    Repeat(Box<Small>, u32, Option<u32>),
}

const LETTERS: [char; 3] = ['a', 'b', 'é'];
const LONGEST: usize = 4;

/// All strings over the letters up to the longest length.
fn words() -> Vec<String> {
    let mut all = vec![String::new()];
    let mut from = 0;
    for _ in 0..LONGEST {
        let until = all.len();
        for at in from..until {
            for letter in LETTERS {
                all.push(format!("{}{letter}", all[at]));
            }
        }
        from = until;
    }
    all
}

fn small() -> impl Strategy<Value = Small> {
    let leaf = prop_oneof![
        1 => Just(Small::Never),
        6 => prop::sample::select(vec!["", "a", "b", "é", "ab", "éa"]).prop_map(Small::Text),
        3 => prop::sample::select(vec![&['a', 'é'][..], &['b', 'é'], &['a', 'b', 'é']]).prop_map(Small::Class),
    ];
    leaf.prop_recursive(4, 12, 2, |inner| {
        let two = (inner.clone(), inner.clone()).prop_map(|(x, y)| (Box::new(x), Box::new(y)));
        prop_oneof![
            two.clone().prop_map(|(x, y)| Small::Seq(x, y)),
            two.clone().prop_map(|(x, y)| Small::Alt(x, y)),
            two.prop_map(|(x, y)| Small::And(x, y)),
            inner.clone().prop_map(|x| Small::Not(Box::new(x))),
            (inner, 0..3_u32, prop::option::of(0..3_u32)).prop_map(|(x, min, more)| Small::Repeat(
                Box::new(x),
                min,
                more.map(|more| min + more)
            )),
        ]
    })
}

/// The words of a language, by the definition of each operator on finite sets.
fn language(expr: &Small, words: &HashSet<String>) -> HashSet<String> {
    let join = |x: &HashSet<String>, y: &HashSet<String>| -> HashSet<String> {
        x.iter()
            .flat_map(|x| y.iter().map(move |y| format!("{x}{y}")))
            .filter(|w| words.contains(w))
            .collect()
    };
    match expr {
        Small::Never => HashSet::new(),
        Small::Text(text) => HashSet::from([(*text).to_owned()]),
        Small::Class(set) => set.iter().map(ToString::to_string).collect(),
        Small::Seq(x, y) => join(&language(x, words), &language(y, words)),
        Small::Alt(x, y) => language(x, words).union(&language(y, words)).cloned().collect(),
        Small::And(x, y) => language(x, words).intersection(&language(y, words)).cloned().collect(),
        Small::Not(x) => words.difference(&language(x, words)).cloned().collect(),
        Small::Repeat(x, min, max) => {
            let once = language(x, words);
            let mut power = HashSet::from([String::new()]);
            let mut all = HashSet::new();
            // Beyond the longest word and the least count, more rounds add nothing.
            for round in 0..=max.unwrap_or(min + LONGEST as u32 + 1) {
                if round >= *min {
                    all.extend(power.iter().cloned());
                }
                power = join(&power, &once);
            }
            all
        }
    }
}

fn emit(expr: &Small, builder: &mut Builder) -> ExprId {
    let mut two = |x: &Small, y: &Small| [emit(x, builder), emit(y, builder)];
    match expr {
        Small::Never => builder.never(),
        Small::Text(text) => builder.bytes(text),
        Small::Class(set) => builder.class(CharSet::new(set.iter().map(|&c| (c, c)))),
        Small::Seq(x, y) => {
            let items = two(x, y);
            builder.seq(items)
        }
        Small::Alt(x, y) => {
            let items = two(x, y);
            builder.alt(items)
        }
        Small::And(x, y) => {
            let items = two(x, y);
            builder.and(items)
        }
        Small::Not(x) => {
            let item = emit(x, builder);
            builder.not(item)
        }
        Small::Repeat(x, min, max) => {
            let body = emit(x, builder);
            builder.repeat(body, *min, *max)
        }
    }
}

fn dfa_of(expr: &Small) -> Dfa {
    let mut builder = Builder::new(&Limits::default());
    let root = emit(expr, &mut builder);
    determinize(&builder, root, &Budget::default()).unwrap()
}

fn boxed(expr: &Small) -> Box<Small> {
    Box::new(expr.clone())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn an_automaton_has_the_words_of_its_expression(expr in small()) {
        let all = words();
        let expected = language(&expr, &all.iter().cloned().collect());
        let dfa = dfa_of(&expr);
        for word in &all {
            prop_assert_eq!(dfa.matches(word.as_bytes()), expected.contains(word), "{:?}", word);
        }
    }

    #[test]
    fn short_words_are_counted(expr in small(), longest in 0..=LONGEST) {
        let letters = Small::Repeat(Box::new(Small::Class(&LETTERS)), 0, None);
        let dfa = dfa_of(&Small::And(boxed(&expr), boxed(&letters)));
        let short = words().iter().filter(|word| word.len() <= longest && dfa.matches(word.as_bytes())).count() as u64;
        prop_assert!(dfa.has_words(short, longest as u32));
        prop_assert!(!dfa.has_words(short + 1, longest as u32));
    }

    #[test]
    fn complement_twice_is_nothing_and_de_morgan_holds(x in small(), y in small()) {
        let budget = Budget::default();
        let (left, right) = (dfa_of(&x), dfa_of(&y));
        let not = |dfa: &Dfa| dfa.complement(&budget).unwrap();
        prop_assert_eq!(&not(&not(&left)), &left);
        let both = left.intersection(&right, &budget).unwrap();
        prop_assert_eq!(&not(&both), &not(&left).union(&not(&right), &budget).unwrap());
        prop_assert_eq!(&left.difference(&right, &budget).unwrap(), &left.intersection(&not(&right), &budget).unwrap());
        prop_assert_eq!(&both, &dfa_of(&Small::And(boxed(&x), boxed(&y))));
        prop_assert!(left.intersection(&not(&left), &budget).unwrap().is_empty());
        prop_assert_eq!(&left.union(&not(&left), &budget).unwrap(), Dfa::any_text());
    }
}

#[test]
fn rules_are_followed_and_recursion_is_refused() {
    let mut builder = Builder::new(&Limits::default());
    let (one, two) = (builder.declare("one"), builder.declare("two"));
    let (call_one, call_two) = (builder.rule(one), builder.rule(two));
    let a = builder.bytes("a");
    let twice = builder.seq([call_two, call_two]);
    builder.define(one, twice, RuleOptions::default());
    builder.define(two, a, RuleOptions::default());
    let dfa = determinize(&builder, call_one, &Budget::default()).unwrap();
    assert!(dfa.matches(b"aa") && !dfa.matches(b"a"));

    builder.define(two, call_one, RuleOptions::default());
    let error = determinize(&builder, call_one, &Budget::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("recursive"), "{error}");
}

#[test]
fn tokens_and_limited_rules_are_refused() {
    let mut builder = Builder::new(&Limits::default());
    let token = builder.token(crate::ir::TokenSet::new(vec![1], false));
    let not = builder.not(token);
    assert_eq!(determinize(&builder, not, &Budget::default()).unwrap_err().kind(), ErrorKind::Unsupported);
    let rule = builder.declare("r");
    let (a, call) = (builder.bytes("a"), builder.rule(rule));
    builder.define(rule, a, RuleOptions { max_chars: Some(3), ..RuleOptions::default() });
    assert_eq!(determinize(&builder, call, &Budget::default()).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn long_chains_of_rules_do_not_overflow_the_stack() {
    let mut builder = Builder::new(&Limits::default());
    let mut body = builder.bytes("a");
    for depth in 0..100_000 {
        let rule = builder.declare(format!("r{depth}"));
        builder.define(rule, body, RuleOptions::default());
        body = builder.rule(rule);
    }
    assert!(determinize(&builder, body, &Budget::default()).unwrap().matches(b"a"));
}

#[test]
fn rules_that_share_rules_cost_once() {
    // Each level chooses between two ways to the same rule below it: 2^200 paths, one letter.
    let mut builder = Builder::new(&Limits::default());
    let mut below = builder.bytes("a");
    for depth in 0..200 {
        let [x, y] = ["x", "y"].map(|name| {
            let rule = builder.declare(format!("{name}{depth}"));
            builder.define(rule, below, RuleOptions::default());
            builder.rule(rule)
        });
        below = builder.alt([x, y]);
    }
    assert!(determinize(&builder, below, &Budget::default()).unwrap().matches(b"a"));
}

#[test]
fn huge_counts_meet_the_limit() {
    let mut builder = Builder::new(&Limits::default());
    let a = builder.bytes("a");
    let many = builder.repeat(a, 4_000_000_000, None);
    let error = determinize(&builder, many, &Budget::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn cancellation_stops_the_work() {
    let cancel = CancelFlag::default();
    let budget = Budget::new(Limits::default(), cancel.clone());
    let mut builder = Builder::new(&Limits::default());
    let a = builder.bytes("a");
    let many = builder.repeat(a, 100_000, None);
    cancel.cancel();
    assert_eq!(determinize(&builder, many, &budget).unwrap_err().kind(), ErrorKind::Cancelled);
}
