//! One compiled grammar and matchers in many threads: every mask is the one that a single thread sees.

use std::sync::Arc;

use crate::case::Case;
use crate::dice::Dice;
use crate::vocabulary::Vocabulary;
use crate::walk::configurations;
use tokenstile_engine::{CompiledGrammar, EngineLimits, Matcher, MatcherOptions};
use tokenstile_grammar::{Budget, Grammar};

const THREADS: u64 = 8;
const WALKS: u64 = 12;
const STEPS: usize = 40;

fn grammars() -> Vec<(String, Grammar)> {
    let wanted = ["json/json", "recursion/arithmetic-ambiguous", "json/small-c", "quantifiers/counts-nest"];
    let cases = Case::load_all().into_iter().filter(|case| wanted.contains(&case.name.as_str()));
    let grammars: Vec<_> =
        cases.map(|case| (case.name.clone(), case.grammar().expect("a grammar that parses"))).collect();
    assert_eq!(grammars.len(), wanted.len(), "the cases were renamed");
    grammars
}

fn vocabulary() -> Vocabulary {
    let texts = ["{\"a\": [1, 2], \"b\": true}", "1+2*(3-4)", "if (a < b) {return f(a, b);}", "aa,aaa,aa,"];
    let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    Vocabulary::merged(&texts, &mut Dice::new(5))
}

fn compile(grammar: &Grammar, vocabulary: &Vocabulary, limits: EngineLimits) -> Arc<CompiledGrammar> {
    let vocab = Arc::clone(&vocabulary.vocab);
    CompiledGrammar::new(grammar.clone(), vocab, limits, &Budget::default()).expect("a grammar that compiles")
}

/// A random walk by the masks, with a step back now and then: all the masks that it saw.
fn walk(compiled: &Arc<CompiledGrammar>, vocabulary: &Vocabulary, seed: u64) -> Vec<Vec<u32>> {
    let mut dice = Dice::new(seed);
    let mut matcher = Matcher::new(Arc::clone(compiled), MatcherOptions::default());
    let words = vocabulary.tokens.len().div_ceil(32);
    let mut masks = Vec::new();
    for _ in 0..STEPS {
        let mut mask = vec![0; words];
        matcher.fill_mask(&mut mask);
        let allowed = |&id: &u32| mask[id as usize / 32] >> (id % 32) & 1 == 1 && id != vocabulary.stop;
        let choices: Vec<u32> = (0..vocabulary.tokens.len() as u32).filter(allowed).collect();
        masks.push(mask);
        let Some(&token) = choices.get(dice.below(choices.len())) else { break };
        assert!(matcher.accept_token(token), "the mask allows {token}");
        if dice.below(8) == 0 {
            matcher.rollback(1).expect("there is a step to take back");
        }
        if dice.below(8) == 0 {
            matcher = matcher.fork();
        }
    }
    masks
}

#[test]
fn masks_are_those_of_a_single_thread() {
    let vocabulary = vocabulary();
    for (name, grammar) in grammars() {
        let alone = compile(&grammar, &vocabulary, EngineLimits::default());
        let expected: Vec<Vec<Vec<u32>>> =
            (0..THREADS * WALKS).map(|seed| walk(&alone, &vocabulary, seed)).collect();
        for (configuration, limits) in configurations() {
            let shared = compile(&grammar, &vocabulary, limits);
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    let (shared, expected, vocabulary, name) = (&shared, &expected, &vocabulary, &name);
                    scope.spawn(move || {
                        // Half of the walks are the same in all threads, so that they race for the same entries.
                        for round in 0..WALKS {
                            let seed = if round % 2 == 0 { round } else { thread * WALKS + round };
                            let masks = walk(shared, vocabulary, seed);
                            assert_eq!(
                                masks, expected[seed as usize],
                                "{name}, {configuration}, seed {seed}"
                            );
                        }
                    });
                }
            });
        }
    }
}
