//! Random grammars and random vocabularies: the engine and the oracle agree on every mask of every random walk.

use std::collections::BTreeSet;

use crate::case::Case;
use crate::dice::Dice;
use crate::tree::{LETTERS, Tree, bodies, build, text};
use crate::vocabulary::Vocabulary;
use crate::walk::{Check, Twins, Walk};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseError, TestRunner};
use tokenstile_engine::oracle::Oracle;
use tokenstile_grammar::frontends::ebnf;
use tokenstile_grammar::{Budget, Limits};

/// What escapes are made of: all that a letter needs to be written in one, and some of it at once.
const SPELLING: [&str; 26] = [
    "u",
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
    "9",
    "b",
    "e",
    "f",
    "\\u",
    "\\u00",
    "\\u006",
    "006",
    "1a",
    "\\\"",
    "u00E9",
    "a\\u20aC\\",
    "64\\u00",
    "\"\\",
    "\\ud83d",
    "5C\\",
];

/// Every byte of the alphabet, and random strings over it, whole code points or not.
pub(crate) fn vocabulary(seed: u64) -> Vocabulary {
    let mut dice = Dice::new(seed);
    let all: Vec<u8> = LETTERS.iter().collect::<String>().into_bytes();
    let mut tokens: Vec<Vec<u8>> = all.iter().map(|&byte| vec![byte]).collect();
    tokens.extend(SPELLING.iter().map(|text| text.as_bytes().to_vec()));
    // Short tokens reach few bounds of repeats, long ones cross many rules: both are wanted.
    let longest = 1 + dice.below(5);
    for _ in 0..dice.below(40) {
        let letters: String = (0..=dice.below(longest)).map(|_| LETTERS[dice.below(LETTERS.len())]).collect();
        let bytes = letters.into_bytes();
        let start = dice.below(2.min(bytes.len()));
        let end = bytes.len() - dice.below((bytes.len() - start).min(3));
        tokens.push(bytes[start..end].to_vec());
    }
    if dice.below(3) == 0 {
        tokens.insert(dice.below(tokens.len()), Vec::new());
    }
    while tokens.len() < 24 {
        tokens.push(b"z".to_vec());
    }
    Vocabulary::new("random", tokens)
}

/// Random walks of at most `steps` tokens; each token is one that the mask allows.
fn random_walks(bodies: &[Tree], seed: u64, walks: usize, steps: usize) -> Check {
    random_walks_with(bodies, vocabulary(seed), seed, walks, steps)
}

fn random_walks_with(
    bodies: &[Tree],
    vocabulary: Vocabulary,
    seed: u64,
    walks: usize,
    steps: usize,
) -> Check {
    let grammar = build(bodies);
    let Ok(twins) = Twins::new(&grammar, vocabulary)? else { return Ok(()) };
    let mut dice = Dice::new(seed.wrapping_add(1));
    for _ in 0..walks {
        let mut walk = Walk::new(&twins)?;
        for _ in 0..steps {
            let choices = walk.choices();
            if choices.is_empty() && !walk.is_complete() && !needs_foreign_bytes(bodies) {
                return Err("a dead end: nothing may follow and the text is not complete".to_owned());
            }
            if choices.is_empty() {
                break;
            }
            walk.step(choices[dice.below(choices.len())], &mut dice)?;
        }
        walk.stop()?;
        walk.replay()?;
    }
    Ok(())
}

/// Grammars share what they know of a vocabulary. What one of them leaves there is right for all others.
#[test]
fn masks_agree_after_other_grammars() {
    let mut runner = TestRunner::deterministic();
    for round in 0..12 {
        let vocabulary = vocabulary(round);
        for seed in 0..80 {
            let trees = bodies(true).new_tree(&mut runner).expect("trees").current();
            let walked = random_walks_with(&trees, vocabulary.clone(), seed, 1, 10);
            assert!(walked.is_ok(), "round {round}, seed {seed}, {trees:?}: {walked:?}");
        }
    }
}

/// Long walks in grammars of the size that people write, with tokens that span several of their rules.
#[test]
fn masks_agree_on_long_walks() {
    for case in Case::load_all() {
        let rich = case.name.starts_with("json/") || case.name.starts_with("recursion/");
        let Some(grammar) = case.grammar().ok().filter(|_| rich) else { continue };
        let texts: Vec<Vec<u8>> = case.texts().into_iter().map(|(text, _)| text).collect();
        for seed in 0..2 {
            let mut dice = Dice::new(seed);
            let vocabulary = Vocabulary::merged(&texts, &mut dice);
            let twins = Twins::new(&grammar, vocabulary).expect("no disagreement").expect("a grammar");
            let walked = long_walk(&twins, &mut dice);
            assert!(walked.is_ok(), "{}, seed {seed}: {walked:?}", case.name);
        }
    }
}

fn long_walk(twins: &Twins, dice: &mut Dice) -> Check {
    let mut walk = Walk::new(twins)?;
    for _ in 0..60 {
        let choices = walk.choices();
        let Some(&token) = choices.get(dice.below(choices.len())) else { break };
        walk.step(token, dice)?;
    }
    walk.stop()?;
    walk.replay()
}

/// Counted repeats of all small bounds, with tokens of up to so many rounds that they reach past them: engines that
/// take a far bound for none must know how far is far.
#[test]
fn masks_agree_around_the_bounds_of_repeats() {
    let bodies = ["[ab]", "(\"a\" | \"b\" | \"(\" x \")\")", "([ab] | \"(\" x \")\"){1,2}"];
    let bounds = (0_u32..6)
        .flat_map(|min| (min..min + 6).map(move |max| format!("{min},{max}")).chain([format!("{min},")]));
    let bounds: Vec<String> = bounds.filter(|bounds| bounds != "0,0").collect();
    for longest in 1..5 {
        // All of them share what they know of the vocabulary.
        let mut tokens: Vec<Vec<u8>> = ["a", "b", ".", "(", ")"].map(|text| text.as_bytes().to_vec()).into();
        for length in 2..=longest {
            let rounds = "ab".repeat(length);
            tokens.push(rounds.as_bytes()[..length].to_vec());
            tokens.push([&rounds.as_bytes()[..length - 1], b"."].concat());
        }
        let vocabulary = Vocabulary::new("rounds", tokens);
        for (body, bounds) in bodies.iter().flat_map(|body| bounds.iter().map(move |bounds| (body, bounds))) {
            let source = format!("root ::= ({body}){{{bounds}}} \".\"\nx ::= \"a\" | \"(\" x \")\"");
            let grammar =
                ebnf::parse(&source, "root", &Limits::default(), &Budget::default()).expect("a grammar");
            let twins = Twins::new(&grammar, vocabulary.clone()).expect("no disagreement");
            let walked = walk_rounds(&twins.expect("a grammar"));
            assert!(walked.is_ok(), "{source}, tokens of {longest} bytes: {walked:?}");
        }
    }
}

/// Goes round by round as far as it goes, or a few rounds if there is no end.
fn walk_rounds(twins: &Twins) -> Check {
    let (mut walk, mut dice) = (Walk::new(twins)?, Dice::new(0));
    let mut rounds = 0;
    while rounds < 14 && walk.step(rounds % 2, &mut dice)? {
        rounds += 1;
    }
    Ok(())
}

/// Whether a negated class may ask for bytes that are no token, which ends a walk and is nobody's fault.
fn needs_foreign_bytes(trees: &[Tree]) -> bool {
    trees.iter().any(|tree| match tree {
        Tree::Class(_, negated) => *negated,
        Tree::Seq(items) | Tree::Alt(items) => needs_foreign_bytes(items),
        Tree::Repeat(body, ..) | Tree::JsonText(body, _) | Tree::AtMost(body, _) => {
            needs_foreign_bytes(std::slice::from_ref(body))
        }
        Tree::And(left, right) | Tree::Without(left, right) => {
            needs_foreign_bytes(std::slice::from_ref(left))
                || needs_foreign_bytes(std::slice::from_ref(right))
        }
        Tree::Empty | Tree::Text(_) | Tree::Rule(_) | Tree::Token(..) => false,
    })
}

/// The texts over the alphabet of at most this many letters are few enough to be listed.
const SHORT: usize = 3;

/// A language as the list of its short texts.
type Texts = BTreeSet<Vec<usize>>;

/// The short texts of a tree, given those of the rules: what the words say, and nothing else.
fn short_texts(tree: &Tree, rules: &[Texts]) -> Texts {
    match tree {
        Tree::Empty => [Vec::new()].into(),
        Tree::Text(letters) => [letters.clone()].into_iter().filter(|text| text.len() <= SHORT).collect(),
        Tree::Class(set, negated) => (0..LETTERS.len())
            .filter(|letter| set.contains(letter) != *negated)
            .map(|letter| vec![letter])
            .collect(),
        Tree::Seq(items) => {
            items.iter().fold([Vec::new()].into(), |before, item| joined(&before, &short_texts(item, rules)))
        }
        Tree::Alt(items) => items.iter().flat_map(|item| short_texts(item, rules)).collect(),
        Tree::Repeat(body, min, max) => {
            let body = short_texts(body, rules);
            let mut after: Texts = [Vec::new()].into();
            let mut found = Texts::new();
            // More rounds than that add nothing but empty ones.
            for round in 0..=max.unwrap_or(min + SHORT as u32) {
                if round >= *min {
                    found.extend(after.iter().cloned());
                }
                after = joined(&after, &body);
            }
            found
        }
        Tree::Rule(rule) => rules[*rule].clone(),
        Tree::And(left, right) => &short_texts(left, rules) & &short_texts(right, rules),
        Tree::Without(left, right) => &short_texts(left, rules) - &short_texts(right, rules),
        Tree::JsonText(text, _) => {
            short_texts(text, rules).iter().filter_map(|text| short_spelling(text)).collect()
        }
        Tree::AtMost(body, most) => {
            short_texts(body, rules).into_iter().filter(|text| text.len() <= *most as usize).collect()
        }
        Tree::Token(..) => unreachable!("tokens are no text"),
    }
}

/// The spelling of a text in JSON, if it is short: with the letters of the alphabet there is one way to write each of them.
fn short_spelling(text: &[usize]) -> Option<Vec<usize>> {
    let backslash = LETTERS.iter().position(|&letter| letter == '\\').expect("it is in the alphabet");
    let spell = |&letter: &usize| match LETTERS[letter] {
        '"' | '\\' => vec![backslash, letter],
        _ => vec![letter],
    };
    let spelled: Vec<usize> = text.iter().flat_map(spell).collect();
    (spelled.len() <= SHORT).then_some(spelled)
}

fn joined(before: &Texts, after: &Texts) -> Texts {
    let pairs = before.iter().flat_map(|head| after.iter().map(move |tail| [head.as_slice(), tail].concat()));
    pairs.filter(|text| text.len() <= SHORT).collect()
}

/// The short texts of the first rule: the least solution of the rules as equations.
fn short_texts_of_grammar(bodies: &[Tree]) -> Texts {
    let mut rules = vec![Texts::new(); bodies.len()];
    loop {
        let next: Vec<Texts> = bodies.iter().map(|body| short_texts(body, &rules)).collect();
        if next == rules {
            return rules.swap_remove(0);
        }
        rules = next;
    }
}

fn fail(wrong: String) -> TestCaseError {
    TestCaseError::fail(wrong)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1200, failure_persistence: None, ..ProptestConfig::default() })]

    /// The engine against the oracle.
    #[test]
    fn masks_agree_on_random_walks(bodies in bodies(true), seed in any::<u64>()) {
        random_walks(&bodies, seed, 2, 16).map_err(fail)?;
    }

    /// The oracle against the list of all short texts.
    #[test]
    fn oracle_is_right_on_short_texts(bodies in bodies(false)) {
        let expected = short_texts_of_grammar(&bodies);
        let grammar = build(&bodies);
        let oracle = match Oracle::new(&grammar) {
            Ok(oracle) => oracle,
            Err(error) => {
                prop_assert!(expected.is_empty(), "{} {:?}", error, expected);
                return Ok(());
            }
        };
        let mut texts: Vec<Vec<usize>> = vec![Vec::new()];
        for at in 0.. {
            let Some(letters) = texts.get(at).cloned() else { break };
            let mut state = oracle.start();
            state.advance_bytes(text(&letters).as_bytes());
            prop_assert_eq!(state.is_complete(), expected.contains(&letters), "{:?}", letters);
            let starts_one = expected.iter().any(|text| text.starts_with(&letters));
            prop_assert!(state.is_alive() || !starts_one, "{:?} is dead", letters);
            if letters.len() < SHORT {
                texts.extend((0..LETTERS.len()).map(|letter| [letters.as_slice(), &[letter]].concat()));
            }
        }
    }
}
