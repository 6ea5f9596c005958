//! Rules that may take so many tokens: they end in time where they can, and go on where they cannot.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use tokenstile_engine::vocab::Vocab;
use tokenstile_engine::{CompiledGrammar, EngineLimits, Matcher, MatcherOptions};
use tokenstile_grammar::{Budget, Builder, Grammar, Limits, RuleId};

use crate::dice::Dice;
use crate::invariants::{has, parse};
use crate::random;
use crate::tree::{bodies, build};
use crate::vocabulary::Vocabulary;

fn vocabulary(tokens: &[&str]) -> Vocabulary {
    Vocabulary::new("given", tokens.iter().map(|token| token.as_bytes().to_vec()).collect())
}

fn compiled(grammar: Grammar, vocab: &Arc<Vocab>, cache_bytes: usize) -> Arc<CompiledGrammar> {
    let limits = EngineLimits { cache_bytes };
    CompiledGrammar::new(grammar, Arc::clone(vocab), limits, &Budget::default()).expect("it compiles")
}

fn matcher(source: &str, vocabulary: &Vocabulary) -> Matcher {
    Matcher::new(compiled(parse(source), &vocabulary.vocab, 1 << 26), MatcherOptions::default())
}

/// What may come, as text; `.` is the stop token.
fn choices(matcher: &mut Matcher, vocabulary: &Vocabulary) -> String {
    let mut row = vec![0; vocabulary.tokens.len().div_ceil(32)];
    matcher.fill_mask(&mut row);
    let mut texts = Vec::new();
    for token in 0..vocabulary.tokens.len() as u32 {
        let fits = has(&row, token);
        assert_eq!(fits, matcher.validate_tokens(&[token]) == 1, "the mask of {token}");
        if fits {
            let text = String::from_utf8_lossy(&vocabulary.tokens[token as usize]).into_owned();
            texts.push(if token == vocabulary.stop { ".".to_owned() } else { text });
        }
    }
    texts.join(" ")
}

/// What may come after each of the tokens.
fn along(matcher: &mut Matcher, vocabulary: &Vocabulary, tokens: &str) -> Vec<String> {
    let find = |text: &str| vocabulary.tokens.iter().position(|token| token == text.as_bytes()).unwrap();
    tokens
        .split(' ')
        .map(|text| {
            assert!(matcher.accept_token(find(text) as u32), "{text}");
            choices(matcher, vocabulary)
        })
        .collect()
}

const LETTERS: [&str; 8] = ["a", "b", "ab", "<", ">", "<a", "b>", "b><"];

#[test]
fn a_rule_ends_after_its_tokens() {
    let letters = vocabulary(&LETTERS);
    let mut matcher = matcher("root ::= \"<\" text \">\"\ntext[max_tokens=2] ::= [ab]*", &letters);
    assert_eq!(choices(&mut matcher, &letters), "< <a");
    assert_eq!(along(&mut matcher, &letters, "< a ab"), ["a b ab > b>", "a b ab > b>", ">"]);
    // The token in which it begins does not count.
    matcher.reset();
    assert_eq!(along(&mut matcher, &letters, "<a ab b >"), ["a b ab > b>", "a b ab > b>", ">", "."]);
    // Strings do not count either.
    matcher.reset();
    assert!(matcher.accept_bytes(b"<ababab") && matcher.accept_bytes(b"abab"));
    assert_eq!(along(&mut matcher, &letters, "a a"), ["a b ab > b>", ">"]);
}

#[test]
fn each_occurrence_counts_for_itself() {
    let letters = vocabulary(&LETTERS);
    let mut matcher = matcher("root ::= (\"<\" word \">\")*\nword[max_tokens=1] ::= [ab]+", &letters);
    assert_eq!(along(&mut matcher, &letters, "< ab >"), ["a b ab b> b><", ">", "< <a ."]);
    assert_eq!(along(&mut matcher, &letters, "< b>< a >"), ["a b ab b> b><", "a b ab b> b><", ">", "< <a ."]);
}

#[test]
fn a_rule_that_cannot_end_goes_on_until_it_can() {
    let letters = vocabulary(&LETTERS);
    let source = "root ::= text \"b\"*\ntext[max_tokens=1] ::= (\"a\" \"a\" \"<\")+";
    let mut matcher = matcher(source, &letters);
    // A token that passes an end of the rule and goes on inside fits: only between tokens is there a choice.
    assert_eq!(along(&mut matcher, &letters, "a a < b"), ["a", "< <a", "b .", "b ."]);
    matcher.reset();
    assert_eq!(along(&mut matcher, &letters, "a a <a a <"), ["a", "< <a", "a", "< <a", "b ."]);
}

#[test]
fn of_nested_rules_the_one_ends_that_can() {
    let letters = vocabulary(&LETTERS);
    let source =
        "root ::= outer \"a\"*\nouter[max_tokens=2] ::= \"<\" inner \">\"\ninner[max_tokens=1] ::= [ab]*";
    let mut matcher = matcher(source, &letters);
    assert_eq!(along(&mut matcher, &letters, "< a > a"), ["a b ab > b>", ">", "a .", "a ."]);
}

#[test]
fn thousands_of_rules_that_cannot_end_are_looked_at_together() {
    let letters = vocabulary(&LETTERS);
    let mut matcher = matcher("root ::= text\ntext[max_tokens=5] ::= \"<\" text \">\" | [ab]*", &letters);
    for _ in 0..2_000 {
        assert!(matcher.accept_bytes(b"<") && matcher.accept_token(3));
    }
    assert_eq!(choices(&mut matcher, &letters), "a b ab < > <a b>");
    // None of those that are open can end but by its bracket.
    assert_eq!(along(&mut matcher, &letters, "a > >")[1..], [">", ">"]);
}

#[test]
fn no_tokens_at_all_are_a_rule_that_is_left_out() {
    let letters = vocabulary(&LETTERS);
    let mut matcher = matcher("root ::= \"<\" text \">\"\ntext[max_tokens=0] ::= [ab]*", &letters);
    assert_eq!(along(&mut matcher, &letters, "< >"), [">", "."]);
}

/// What comes before it has nothing left but to end.
#[test]
fn no_tokens_at_all_do_not_make_a_dead_end() {
    let letters = vocabulary(&LETTERS);
    let source = "root ::= AtMost(\"b\" | \"\", 0) text\ntext[max_tokens=0] ::= \"a\"";
    let mut matcher = matcher(source, &letters);
    assert_eq!(choices(&mut matcher, &letters), "a");
    assert_eq!(along(&mut matcher, &letters, "a"), ["."]);
}

#[test]
fn forks_and_rollbacks_count_for_themselves() {
    let letters = vocabulary(&LETTERS);
    let mut matcher = matcher("root ::= \"<\" text \">\"\ntext[max_tokens=2] ::= [ab]*", &letters);
    along(&mut matcher, &letters, "< a");
    let mut fork = matcher.fork();
    assert_eq!(along(&mut fork, &letters, "a"), [">"]);
    matcher.rollback(1).unwrap();
    assert_eq!(along(&mut matcher, &letters, "b b"), ["a b ab > b>", ">"]);
    matcher.rollback(1).unwrap();
    assert_eq!(choices(&mut matcher, &letters), "a b ab > b>");
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let vocab = vocabulary(&LETTERS).vocab;
    let try_compile = |source: &str| {
        CompiledGrammar::new(parse(source), Arc::clone(&vocab), EngineLimits::default(), &Budget::default())
    };
    let error = try_compile("root[max_tokens=3] ::= root \"a\" root | \"b\"").unwrap_err();
    assert!(error.message().contains("the rule calls itself before anything is read"), "{error}");
}

fn within(source: &str, vocabulary: &Vocabulary, max_tokens: u32) -> Matcher {
    let options = MatcherOptions { max_tokens: Some(max_tokens), ..MatcherOptions::default() };
    Matcher::with_budget(compiled(parse(source), &vocabulary.vocab, 1 << 26), options).expect("enough")
}

#[test]
fn a_rule_ends_after_its_tokens_within_a_budget() {
    let letters = vocabulary(&LETTERS);
    let source = "root ::= \"<\" text \">\"\ntext[max_tokens=2] ::= [ab]*";
    // Enough for all that the rule may have.
    let mut matcher = within(source, &letters, 5);
    assert_eq!(choices(&mut matcher, &letters), "< <a");
    assert_eq!(along(&mut matcher, &letters, "< a ab >"), ["a b ab > b>", "a b ab > b>", ">", "."]);
    // Too little for that.
    let mut matcher = within(source, &letters, 4);
    assert_eq!(along(&mut matcher, &letters, "< a"), ["a b ab > b>", "> b>"]);
    // Far more than that.
    let mut matcher = within(source, &letters, 1_000);
    assert_eq!(along(&mut matcher, &letters, "< a a >"), ["a b ab > b>", "a b ab > b>", ">", "."]);
    assert_eq!(matcher.tokens_left(), Some(996));
}

/// The rule has had its token after the first `a`, and the other way on would need thirteen more.
#[test]
fn a_rule_goes_on_where_the_budget_has_no_other_way() {
    let letters = vocabulary(&LETTERS);
    let source = "root ::= short | \"a\" \"b\"{13}\nshort[max_tokens=1] ::= \"a\" \"<\" \">\"";
    assert_eq!(along(&mut within(source, &letters, 15), &letters, "a b"), ["b", "b"]);
    let mut matcher = within(source, &letters, 14);
    assert_eq!(along(&mut matcher, &letters, "a < >"), ["<", ">", "."]);
}

/// The same grammar where a rule may take so many tokens.
pub(crate) fn with_limit(grammar: &Grammar, rule: RuleId, most: u32) -> Grammar {
    let root = grammar.root();
    let changed = grammar.rule(rule).clone();
    let mut builder = Builder::extend(grammar.clone(), &Limits::default());
    let mut options = changed.options;
    options.max_tokens = Some(most);
    builder.define(rule, changed.body, options);
    builder.finish(root).expect("only an option changed")
}

/// Walks that take any token of the mask: there always is one, and few tables give what many give.
fn random_walks(grammar: &Grammar, seed: u64) -> Result<(), String> {
    let mut dice = Dice::new(seed);
    let vocabulary = random::vocabulary(seed);
    let rules: Vec<RuleId> = grammar.rules().map(|(id, _)| id).collect();
    let limited = with_limit(grammar, rules[dice.below(rules.len())], dice.below(4) as u32);
    let compile = |grammar: &Grammar, cache_bytes| {
        let limits = EngineLimits { cache_bytes };
        CompiledGrammar::new(grammar.clone(), Arc::clone(&vocabulary.vocab), limits, &Budget::default())
    };
    let (Ok(plain), Ok(many), Ok(few)) =
        (compile(grammar, 1 << 26), compile(&limited, 1 << 26), compile(&limited, 1 << 10))
    else {
        return Ok(());
    };
    for _ in 0..4 {
        let mut matchers = [&plain, &many, &few]
            .map(|compiled| Matcher::new(Arc::clone(compiled), MatcherOptions::default()));
        for _ in 0..12 {
            let words = vocabulary.tokens.len().div_ceil(32);
            let rows = matchers.each_mut().map(|matcher| {
                let mut row = vec![0; words];
                matcher.fill_mask(&mut row);
                row
            });
            if rows[1] != rows[2] {
                return Err("few tables give another mask".to_owned());
            }
            let fits = |row: &[u32]| -> Vec<u32> {
                (0..vocabulary.tokens.len() as u32).filter(|&token| has(row, token)).collect()
            };
            let (all, left) = (fits(&rows[0]), fits(&rows[1]));
            if !left.iter().all(|token| all.contains(token)) {
                return Err("a limit lets more fit".to_owned());
            }
            if left.is_empty() {
                // The vocabulary may not be able to spell what is left, but then it was so before.
                if all.is_empty() || matchers[1].is_completed() {
                    break;
                }
                let is_spelled =
                    |matcher: &mut Matcher| (0..=u8::MAX).any(|byte| matcher.fork().accept_bytes(&[byte]));
                if !is_spelled(&mut matchers[1]) {
                    return Err("a dead end".to_owned());
                }
                break;
            }
            for token in 0..vocabulary.tokens.len() as u32 {
                if (matchers[1].validate_tokens(&[token]) == 1) != left.contains(&token) {
                    return Err(format!("the mask of {token} is not what is accepted"));
                }
            }
            let token = left[dice.below(left.len())];
            if !matchers.iter_mut().all(|matcher| matcher.accept_token(token)) {
                return Err(format!("{token} was not accepted"));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn a_limit_makes_no_dead_end(bodies in bodies(false), seed: u64) {
        random_walks(&build(&bodies), seed).map_err(TestCaseError::fail)?;
    }

    /// Where each token is a character and a rule may end anywhere, tokens are counted as characters are.
    #[test]
    fn tokens_of_one_letter_count_as_characters(most in 0_u32..5, repeats in 1_u32..4, seed: u64) {
        let letters = vocabulary(&["a", "b", "<", ">"]);
        let source = |option: &str| {
            format!("root ::= (\"<\" text \">\"){{1,{repeats}}}\ntext[{option}={most}] ::= [ab]*")
        };
        let (mut left, mut right) = (matcher(&source("max_tokens"), &letters), matcher(&source("max_chars"), &letters));
        let mut dice = Dice::new(seed);
        for _ in 0..40 {
            let fits = choices(&mut left, &letters);
            prop_assert_eq!(&fits, &choices(&mut right, &letters));
            let open: Vec<&str> = fits.split(' ').filter(|text| *text != ".").collect();
            let Some(text) = open.get(dice.below(open.len())).filter(|text| !text.is_empty()) else { break };
            let token = letters.tokens.iter().position(|token| token == text.as_bytes()).unwrap() as u32;
            prop_assert!(left.accept_token(token) && right.accept_token(token));
        }
    }
}
