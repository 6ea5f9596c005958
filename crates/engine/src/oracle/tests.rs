//! What the oracle itself must get right, checked by hand: nobody else checks it.

use tokenstile_grammar::ir::TokenSet;
use tokenstile_grammar::regular::CharSet;
use tokenstile_grammar::{Builder, ExprId, Grammar, Limits, RuleId, RuleOptions};

use super::{Oracle, OracleState};

/// A grammar of the rules in `names`, the first of them the root; `define` gives their bodies.
fn grammar(names: &[&str], define: impl FnOnce(&mut Builder, &[RuleId]) -> Vec<ExprId>) -> Grammar {
    let mut builder = Builder::new(&Limits::default());
    let rules: Vec<RuleId> = names.iter().map(|name| builder.declare(*name)).collect();
    let bodies = define(&mut builder, &rules);
    for ((&rule, name), body) in rules.iter().zip(names).zip(bodies) {
        let capture = (rule != rules[0]).then(|| (*name).to_owned());
        builder.define(rule, body, RuleOptions { capture, ..RuleOptions::default() });
    }
    builder.finish(rules[0]).expect("all rules are defined")
}

fn after<'a>(oracle: &'a Oracle, text: &[u8]) -> OracleState<'a> {
    let mut state = oracle.start();
    state.advance_bytes(text);
    state
}

fn accepts(oracle: &Oracle, text: &str) -> bool {
    after(oracle, text.as_bytes()).is_complete()
}

fn spans(captures: &[super::Capture], text: &str) -> Vec<String> {
    captures.iter().map(|capture| format!("{}={}", capture.name, &text[capture.start..capture.end])).collect()
}

/// `root ::= root root | "a" | ""`: left, right, hidden and nullable recursion at once.
#[test]
fn recursion_of_every_kind() {
    let grammar = grammar(&["root"], |b, rules| {
        let root = b.rule(rules[0]);
        let (twice, letter, empty) = (b.seq([root, root]), b.bytes("a"), b.empty());
        vec![b.alt([twice, letter, empty])]
    });
    let oracle = Oracle::new(&grammar).unwrap();
    for count in 0..8 {
        assert!(accepts(&oracle, &"a".repeat(count)), "{count}");
    }
    assert!(!after(&oracle, b"ab").is_alive());
}

#[test]
fn repeats_count() {
    let grammar = grammar(&["root"], |b, _| {
        let letter = b.bytes("a");
        let pair = b.repeat(letter, 2, Some(3));
        let end = b.bytes(".");
        let many = b.repeat(pair, 2, Some(2));
        vec![b.seq([many, end])]
    });
    let oracle = Oracle::new(&grammar).unwrap();
    let accepted: Vec<usize> = (0..9).filter(|&n| accepts(&oracle, &format!("{}.", "a".repeat(n)))).collect();
    assert_eq!(accepted, [4, 5, 6]);
}

#[test]
fn rounds_that_may_be_empty_count_for_nothing() {
    let grammar = grammar(&["root"], |b, _| {
        let letter = b.bytes("a");
        let maybe = b.optional(letter);
        vec![b.repeat(maybe, 3, Some(4))]
    });
    let oracle = Oracle::new(&grammar).unwrap();
    let accepted: Vec<usize> = (0..9).filter(|&n| accepts(&oracle, &"a".repeat(n))).collect();
    assert_eq!(accepted, [0, 1, 2, 3, 4]);
}

#[test]
fn classes_are_utf8_and_nothing_else() {
    let grammar = grammar(&["root"], |b, _| vec![b.class(CharSet::any())]);
    let oracle = Oracle::new(&grammar).unwrap();
    for c in [
        '\0',
        '\x7f',
        '\u{80}',
        '\u{7ff}',
        '\u{800}',
        '\u{d7ff}',
        '\u{e000}',
        '\u{ffff}',
        '\u{10000}',
        char::MAX,
    ] {
        assert!(accepts(&oracle, &c.to_string()), "{c:?}");
    }
    let wrong: [&[u8]; 9] =
        [b"\x80", b"\xc0", b"\xc1", b"\xe0\x80", b"\xe0\x9f", b"\xed\xa0", b"\xf0\x80", b"\xf4\x90", b"\xf5"];
    for bytes in wrong {
        assert!(!after(&oracle, bytes).is_alive(), "{bytes:x?}");
        assert!(bytes.len() == 1 || after(&oracle, &bytes[..1]).is_alive(), "{bytes:x?}");
    }
}

#[test]
fn a_prefix_is_alive_only_if_a_member_starts_with_it() {
    let grammar =
        grammar(&["root"], |b, _| vec![b.class(CharSet::new([('a', 'b'), ('é', 'ê'), ('€', '€')]))]);
    let oracle = Oracle::new(&grammar).unwrap();
    let alive: Vec<u8> = (0..=255).filter(|&byte| after(&oracle, &[byte]).is_alive()).collect();
    assert_eq!(alive, [b'a', b'b', 0xC3, 0xE2]);
    assert!(!after(&oracle, b"\xc3\xa8").is_alive());
    assert_eq!(after(&oracle, b"\xe2").jump_forward(), b"\x82\xac");
}

#[test]
fn what_generates_nothing_is_never_entered() {
    let grammar = grammar(&["root", "endless"], |b, rules| {
        let endless = b.rule(rules[1]);
        let (x, y) = (b.bytes("x"), b.bytes("y"));
        let dead = b.seq([x, endless]);
        vec![b.alt([dead, y]), dead]
    });
    let oracle = Oracle::new(&grammar).unwrap();
    assert!(!after(&oracle, b"x").is_alive());
    assert_eq!(oracle.start().jump_forward(), b"y");
}

#[test]
fn a_grammar_that_generates_nothing_is_an_error() {
    let grammar = grammar(&["root"], |b, rules| {
        let (x, root) = (b.bytes("x"), b.rule(rules[0]));
        vec![b.seq([x, root])]
    });
    assert!(Oracle::new(&grammar).unwrap_err().message().contains("nothing"));
}

#[test]
fn a_token_matches_by_its_bytes_or_as_a_whole() {
    let grammar = grammar(&["root"], |b, _| {
        let token = b.token(TokenSet::new(vec![1, 3], false));
        let (ab, c, d) = (b.bytes("ab"), b.bytes("c"), b.bytes("d"));
        let (first, second) = (b.seq([token, c]), b.seq([ab, d]));
        vec![b.alt([first, second])]
    });
    let oracle = Oracle::new(&grammar).unwrap();
    let tokens = ["a", "ab", "b", "", "c", "d"];
    assert_eq!(oracle.mask(&oracle.start(), &tokens), [true, true, false, true, false, false]);
    let mut state = oracle.start();
    state.advance_token(b"ab", 1);
    assert_eq!(oracle.mask(&state, &tokens), [false, false, false, false, true, true]);
    let mut state = oracle.start();
    state.advance_token(b"", 3);
    assert_eq!(oracle.mask(&state, &tokens), [false, false, false, false, true, false]);
    assert!(oracle.start().jump_forward().is_empty());
}

/// `root ::= x ("," x)*; x ::= [a-z]+`
#[test]
fn captures_keep_the_longest_of_a_start() {
    let grammar = grammar(&["root", "x"], |b, rules| {
        let letters = b.class(CharSet::new([('a', 'z')]));
        let (x, comma) = (b.rule(rules[1]), b.bytes(","));
        let more = b.seq([comma, x]);
        let rest = b.repeat(more, 0, None);
        vec![b.seq([x, rest]), b.repeat(letters, 1, None)]
    });
    let oracle = Oracle::new(&grammar).unwrap();
    let text = "ab,cd";
    let state = after(&oracle, text.as_bytes());
    assert_eq!(spans(&state.captures(), text), ["x=ab", "x=cd"]);
    assert_eq!(spans(&state.all_captures(), text), ["x=a", "x=ab", "x=c", "x=cd"]);
    assert!(oracle.start().captures().is_empty());
}

/// `root ::= x "1" | y "2"; x ::= z; y ::= z z; z ::= [a-z]+`
#[test]
fn captures_of_parses_that_died_are_dropped() {
    let grammar = grammar(&["root", "x", "y", "z"], |b, rules| {
        let letters = b.class(CharSet::new([('a', 'z')]));
        let [x, y, z] = [1, 2, 3].map(|at| b.rule(rules[at]));
        let (one, two) = (b.bytes("1"), b.bytes("2"));
        let (first, second) = (b.seq([x, one]), b.seq([y, two]));
        vec![b.alt([first, second]), z, b.seq([z, z]), b.repeat(letters, 1, None)]
    });
    let oracle = Oracle::new(&grammar).unwrap();
    assert_eq!(spans(&after(&oracle, b"ab1").captures(), "ab1"), ["z=ab", "x=ab"]);
    assert_eq!(spans(&after(&oracle, b"ab2").captures(), "ab2"), ["z=a", "z=b", "y=ab"]);
}

/// `root ::= "<" y ">" y; y ::= [a-z]*`: an empty span is a span, but not at the very start.
#[test]
fn captures_can_be_empty() {
    let grammar = grammar(&["root", "y"], |b, rules| {
        let letters = b.class(CharSet::new([('a', 'z')]));
        let (open, close, y) = (b.bytes("<"), b.bytes(">"), b.rule(rules[1]));
        vec![b.seq([open, y, close, y]), b.repeat(letters, 0, None)]
    });
    let oracle = Oracle::new(&grammar).unwrap();
    assert_eq!(spans(&after(&oracle, b"<>z").captures(), "<>z"), ["y=", "y=z"]);
}

/// `root ::= x*; x ::= "a" | x x`: exponentially many trees, polynomially many spans.
#[test]
fn ambiguity_does_not_explode() {
    let grammar = grammar(&["root", "x"], |b, rules| {
        let (letter, x) = (b.bytes("a"), b.rule(rules[1]));
        let twice = b.seq([x, x]);
        vec![b.repeat(x, 0, None), b.alt([letter, twice])]
    });
    let oracle = Oracle::new(&grammar).unwrap();
    let text = "a".repeat(40);
    let state = after(&oracle, text.as_bytes());
    assert_eq!(state.captures().len(), 40);
    assert_eq!(state.all_captures().len(), 40 * 41 / 2);
}
