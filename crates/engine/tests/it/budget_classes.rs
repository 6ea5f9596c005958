//! Budgets under classes that split what a byte may begin: of two characters with one lead one may come and one may not.
//!
//! Masks near the end of a budget decide tokens by the kinds of their characters. A space outside of ASCII has a kind of its
//! own, and shares all bytes but its last with dashes and quotes.

use std::collections::BTreeSet;

use tokenstile_engine::MatcherOptions;

use crate::budget::{check_budgets, check_far, compiled};
use crate::dice::Dice;
use crate::invariants::parse;
use crate::vocabulary::Vocabulary;

/// Characters with neighbours on both sides of what patterns tell apart.
const CHARACTERS: [char; 24] = [
    'a',
    'z',
    '.',
    '0',
    ' ',
    '\n',
    '\u{80}',
    '\u{a0}',
    '\u{a1}',
    '\u{e9}',
    '\u{1680}',
    '\u{1681}',
    '\u{200a}',
    '\u{201d}',
    '\u{2029}',
    '\u{2030}',
    '\u{205f}',
    '\u{3000}',
    '\u{3001}',
    '\u{4e00}',
    '\u{4e01}',
    '\u{fefe}',
    '\u{feff}',
    '\u{1f600}',
];

/// All of these characters and bytes of theirs, texts made of them, and texts cut in the middle of one.
fn vocabulary(seed: u64) -> Vocabulary {
    let mut dice = Dice::new(seed);
    let mut tokens: BTreeSet<Vec<u8>> =
        CHARACTERS.iter().map(|character| character.to_string().into_bytes()).collect();
    let all: String = CHARACTERS.iter().collect();
    tokens.extend(all.bytes().map(|byte| vec![byte]));
    for _ in 0..60 {
        let text: String = (0..=dice.below(3)).map(|_| CHARACTERS[dice.below(CHARACTERS.len())]).collect();
        let cut = if dice.below(4) == 0 { dice.below(text.len()) } else { text.len() };
        tokens.insert(text.as_bytes()[..cut.max(1)].to_vec());
    }
    Vocabulary::new("characters", tokens.into_iter().collect())
}

/// A class of some of the characters, or of all but some.
fn class(dice: &mut Dice) -> String {
    let mut text = String::from(if dice.below(2) == 0 { "[^" } else { "[" });
    for _ in 0..=dice.below(3) {
        let first = dice.below(CHARACTERS.len());
        let last = (first + dice.below(3)).min(CHARACTERS.len() - 1);
        let (first, last) =
            (CHARACTERS[first].min(CHARACTERS[last]), CHARACTERS[first].max(CHARACTERS[last]));
        let range = format!("\\U{:08x}-\\U{:08x}", u32::from(first), u32::from(last));
        text.push_str(&range);
    }
    text + "]"
}

fn grammar(dice: &mut Dice) -> String {
    const CLASSES: [&str; 4] =
        ["Regex(\"\\\\S\")", "Regex(\".\")", "Regex(\"\\\\w\")", "Regex(\"[^\\\\s.]\")"];
    const TIMES: [&str; 4] = ["+", "*", "{1,4}", "{2,}"];
    const AFTER: [&str; 4] = ["", " \".\"", " \"\u{3001}\"?", " (\"z\" root)?"];
    let one = |dice: &mut Dice| {
        let class = if dice.below(2) == 0 { CLASSES[dice.below(4)].to_owned() } else { class(dice) };
        format!("({class}){}{}", TIMES[dice.below(4)], AFTER[dice.below(4)])
    };
    let first = one(dice);
    if dice.below(3) == 0 { format!("root ::= {first} | {}", one(dice)) } else { format!("root ::= {first}") }
}

/// The mask of a token that holds a dash or a quote was right, and that of all that goes on behind one was not looked at.
#[test]
fn what_follows_a_quote_is_decided() {
    let mut tokens = vec!["a".to_owned(), "\u{201d}.".to_owned()];
    tokens.extend((0x4e00..0x4f00).filter_map(char::from_u32).map(String::from));
    let vocabulary = Vocabulary::new("quotes", tokens.into_iter().map(String::into_bytes).collect());
    let grammar = parse("root ::= Regex(\"\\\\S+\")");
    let compiled = compiled(&grammar, &vocabulary).expect("a grammar that compiles");
    assert_eq!(check_budgets(&compiled, &MatcherOptions::default(), 1, 40), Ok(()));
}

#[test]
fn classes_that_split_a_lead_end_in_time() {
    for seed in 0..250 {
        let mut dice = Dice::new(seed);
        let source = grammar(&mut dice);
        let Some(compiled) = compiled(&parse(&source), &vocabulary(seed)) else { continue };
        let checked = check_budgets(&compiled, &MatcherOptions::default(), seed, 40)
            .and_then(|()| check_far(&compiled, false, seed));
        assert!(checked.is_ok(), "seed {seed}, {source}: {checked:?}");
    }
}
