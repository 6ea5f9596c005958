//! Patterns that are meant to hurt: each gives a result or a clear error, quickly and without much native stack.

use std::time::{Duration, Instant};

use super::super::{Syntax, parse, to_grammar};
use super::{automaton, try_automaton};
use crate::error::{Error, ErrorKind};
use crate::ir::{Builder, Expr};
use crate::limits::{Budget, CancelFlag, Limits};

/// The expression that a pattern comes to, or its error.
fn expr_of(pattern: &str) -> Result<Expr, Error> {
    let mut builder = Builder::new(&Limits::default());
    let root = parse(pattern, &Syntax::whole(), &mut builder, &Budget::default())?;
    Ok(builder.expr(root).clone())
}

fn limit_of(pattern: &str) {
    let started = Instant::now();
    let error = try_automaton(pattern, Syntax::whole()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(started.elapsed() < Duration::from_secs(120), "took {:?}", started.elapsed());
}

#[test]
fn deep_nesting_is_an_error() {
    limit_of(&"(".repeat(30_000));
    limit_of(&"(?:".repeat(30_000));
    limit_of(&"(?=".repeat(30_000));
    limit_of(&format!("{}a{}", "(".repeat(30_000), ")*".repeat(30_000)));
    limit_of(&format!("a{}", "{2}".repeat(30_000)));
    limit_of(&format!("a{}", "*".repeat(30_000)));
    let classes = try_automaton(&format!("(?v){}", "[".repeat(30_000)), Syntax::whole()).unwrap_err();
    assert_eq!(classes.kind(), ErrorKind::Syntax);
}

#[test]
fn nesting_within_the_limit_works_on_a_small_stack() {
    let run = || {
        for (open, close) in [("(", ")"), ("(?:", ")*"), ("(a|", ")"), ("(?:^", "$)?"), ("(?=", "a*)")] {
            let pattern = format!("{}a{}", open.repeat(900), close.repeat(900));
            let _ = expr_of(&pattern).map_err(|error| assert_eq!(error.kind(), ErrorKind::Limit, "{error}"));
        }
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap();
}

#[test]
fn counts_are_not_unrolled() {
    assert!(matches!(expr_of("a{1000000}"), Ok(Expr::Repeat { min: 1_000_000, max: Some(1_000_000), .. })));
    assert!(matches!(expr_of("(?:a{1000000}){1000000}"), Ok(Expr::Repeat { .. })));
    limit_of("(?=a)a{1000000}");
}

#[test]
fn a_long_literal_is_linear() {
    let started = Instant::now();
    let Ok(Expr::Bytes(bytes)) = expr_of(&"a".repeat(10 << 20)) else { panic!("not a literal") };
    assert_eq!(bytes.len(), 10 << 20);
    assert!(
        matches!(expr_of(&format!("(?i){}", "é".repeat(1 << 20))), Ok(Expr::Seq(items)) if items.len() == 1 << 20)
    );
    assert!(matches!(expr_of(&"a|".repeat(1 << 20)), Ok(Expr::Alt(items)) if items.len() == 2));
    assert!(started.elapsed() < Duration::from_secs(120), "took {:?}", started.elapsed());
}

#[test]
fn exponential_automata_meet_a_limit() {
    let limits = Limits { max_states: 5_000, ..Limits::default() };
    for pattern in
        ["(?:a|b)*a(?:a|b){40}(?=c)c", "(?:(?!a.{30}c).)*", "(?=(?:.*a.{40})).*b\\b", "(?<=a.{40})b"]
    {
        let budget = Budget::new(limits.clone(), CancelFlag::default());
        let error = to_grammar(pattern, &Syntax::whole(), &limits, &budget).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{pattern}: {error}");
    }
}

#[test]
fn real_patterns_are_small() {
    let password = r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[@$!%*?&])[A-Za-z\d@$!%*?&]{8,}$";
    let dfa = automaton(password, Syntax::search());
    assert!(dfa.matches(b"aB3$aB3$") && !dfa.matches(b"aB3aB3aB3") && !dfa.matches(b"aB3$aB3"));
    assert!(dfa.len() < 200, "{} states", dfa.len());
    let host = r"^(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*$";
    let dfa = automaton(host, Syntax::search());
    assert!(dfa.matches(b"a-b.example") && !dfa.matches(b"-a.example") && !dfa.matches(b"a-.example"));
    assert!(dfa.len() < 300, "{} states", dfa.len());
    let words = automaton(r"(?u)\b\p{L}+\b(?:\s+\b\p{L}+\b)*", Syntax::whole());
    assert!(words.matches("naïve Straße".as_bytes()) && !words.matches("a1 b".as_bytes()));
}

#[test]
fn cancellation_is_heard() {
    let cancel = CancelFlag::default();
    cancel.cancel();
    let budget = Budget::new(Limits::default(), cancel);
    let error =
        to_grammar(&"(?=a.*b)".repeat(500), &Syntax::whole(), &Limits::default(), &budget).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}
