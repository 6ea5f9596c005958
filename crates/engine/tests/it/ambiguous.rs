//! Ambiguous recursion: what a text costs grows with the text, and no faster, and masks stay exact.
//!
//! In each of these grammars the stacks, or the sets of stacks that are told apart, multiply with each byte of a text. That
//! a walk ends at all, and the memory that it leaves, is what is tested; the watchdog turns a hang into a failure.

use std::sync::Arc;

use tokenstile_engine::{CompiledGrammar, EngineLimits, Matcher, MatcherOptions};
use tokenstile_grammar::frontends::ebnf;
use tokenstile_grammar::{Budget, Limits};

use crate::dice::Dice;
use crate::limits::guarded;
use crate::vocabulary::Vocabulary;

/// Terminals that may end at each byte, on top of others that may too.
const STARS: [(&str, &str); 3] = [
    ("nested stars", "root ::= a*\na ::= [a-z0-9 ]+ b?\nb ::= [a-z ]* a? c\nc ::= [a-z0-9 ]* a? b? \"x\"?"),
    ("twice itself", "root ::= a*\na ::= [a-z]+ a? [a-z]* a? \"x\"?"),
    (
        "repeated alternatives",
        "root ::= [a-z] [a-z0-9 ]* d* a
a ::= c [ \\n] [ \\n]+ | [ab]? [A-Za-z]* ([a-z ]* [a-z]? d? d*){1,3}
c ::= c+ (d | d) | [a-zA-Z_]* a{2,} ([^\\\"]* [ \\n]* [^\\n] | [A-Za-z]{1,3})+ \"\\n\"?
d ::= a*",
    ),
];

/// Counters in counters.
const COUNTERS: [(&str, &str); 3] = [
    ("counters in counters", "root ::= ((((((\"a\"){2,9}){2,9}){2,9}){2,9}){2,9}){2,9}"),
    ("counted rules", "root ::= a{2,9}\na ::= b{2,9}\nb ::= c{2,9}\nc ::= \"a\"{1,3} root?"),
    ("counted recursion", "root ::= (a{2,9}) a{2,9}\na ::= [a-z0-9 ] [a-z0-9 ] a a{2,9} | [a-z]{2,9} [a-z]"),
];

/// Rules that embed themselves, each place of the text being one where they may begin.
const EMBEDDED: [(&str, &str); 4] = [
    (
        "in loops",
        "root ::= (e{1,3} [a-z]?)* \")\"?
b ::= d+ ([a-z]{2,} [ \\n]* [a-z0-9 ]* [^\\\"]?)? | [a-z0-9 ]? [a-zA-Z_]+ b?
c ::= [^\\n] ([^\\n] c+ b?)? [ \\n]
d ::= e* [A-Za-z] b \"the\"?
e ::= [ab] c? d+",
    ),
    (
        "in two rules",
        "root ::= c*\nb ::= [0-9]? c+ c?\nc ::= [a-z ] (b b [a-z] [a-z ]?)? c{2,9} b+ | [a-zA-Z_]",
    ),
    (
        "behind any text",
        "root ::= (a+)+ [ \\n]*
a ::= c{1,3} ([a-z ]+ \"=\" [^\\n]+ | [a-z ]+ c+) [a-zA-Z_]? ([ab]? [ab]{2,} c+)
c ::= [a-z]? a{2,} (\"=\"+ [^\\n] c* c)? | [^\\n]",
    ),
    (
        "in repeats of alternatives",
        "root ::= b? b* a+ [A-Za-z]*
a ::= [ab]+ b \",\"{2,9} c
b ::= \"ab\"? [A-Za-z]? a+ | ([a-z0-9 ]{1,3} | [a-z ]+ b{2,})+ [A-Za-z]?
c ::= [ab]* \"a\"* b+ [0-9]",
    ),
];

/// What the tables of a grammar may take after a walk.
const MOST_BYTES: usize = 128 << 20;

fn vocabulary() -> Vocabulary {
    let texts = [
        "the quick brown fox jumps over a lazy dog 42 times",
        "abab aaaa aaaaaaaa bb a1b2 x=y=ab",
        "Inline Optical_query _exists",
        "\"),\n (\u{e9}\u{4e2d}",
    ];
    let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    Vocabulary::merged(&texts, &mut Dice::new(5))
}

fn row_of(matcher: &mut Matcher) -> Vec<u32> {
    let mut row = vec![0; matcher.vocab_size().div_ceil(32)];
    matcher.fill_mask(&mut row);
    row
}

/// Compares a mask with what is accepted; the tokens that fit.
fn checked_mask(matcher: &mut Matcher) -> Vec<u32> {
    let row = row_of(matcher);
    let mut fitting = Vec::new();
    for token in 0..matcher.vocab_size() as u32 {
        let is_allowed = row[token as usize / 32] >> (token % 32) & 1 == 1;
        let is_taken = matcher.accept_token(token);
        assert_eq!(is_allowed, is_taken, "{token} after {} tokens", matcher.history_len());
        if is_taken {
            matcher.rollback(1).unwrap();
            fitting.push(token);
        }
    }
    fitting
}

fn walk(grammar: &str, limits: EngineLimits) {
    const STEPS: usize = 120;
    let budget = Budget::default();
    let grammar = ebnf::parse(grammar, "root", &Limits::default(), &budget).unwrap();
    let compiled = CompiledGrammar::new(grammar, vocabulary().vocab, limits, &budget).unwrap();
    let mut matcher = Matcher::new(Arc::clone(&compiled), MatcherOptions::default());
    let stops = matcher.stop_token_ids().to_vec();
    let mut dice = Dice::new(9);
    for step in 0..STEPS {
        let fitting: Vec<u32> = if step % 24 == 0 {
            checked_mask(&mut matcher)
        } else {
            let row = row_of(&mut matcher);
            (0..row.len() as u32 * 32).filter(|id| row[*id as usize / 32] >> (id % 32) & 1 == 1).collect()
        };
        let text: Vec<u32> = fitting.into_iter().filter(|token| !stops.contains(token)).collect();
        if text.is_empty() {
            break;
        }
        assert!(matcher.accept_token(text[dice.below(text.len())]));
        let bytes = compiled.memory_bytes();
        assert!(bytes < MOST_BYTES, "{bytes} bytes after {step} tokens");
    }
}

fn walk_all(grammars: &'static [(&str, &str)]) {
    for &(name, grammar) in grammars {
        guarded(name, move || walk(grammar, EngineLimits::default()));
        guarded(name, move || walk(grammar, EngineLimits { cache_bytes: 1 << 20 }));
    }
}

#[test]
fn terminals_that_end_at_each_byte() {
    walk_all(&STARS);
}

#[test]
fn counters_in_counters() {
    walk_all(&COUNTERS);
}

#[test]
fn rules_that_embed_themselves() {
    walk_all(&EMBEDDED);
}
