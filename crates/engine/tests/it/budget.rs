//! Texts within a number of tokens: every walk ends in time, whatever is chosen, and the masks say what is accepted.
//!
//! How few tokens a text can take is compared with a search over all of them, where the grammar and the vocabulary are
//! small enough for that.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use tokenstile_engine::vocab::{TokenId, Vocab, VocabOptions};
use tokenstile_engine::{BudgetError, CompiledGrammar, EngineLimits, Matcher, MatcherOptions};
use tokenstile_grammar::frontends::json_schema;
use tokenstile_grammar::{Budget, Grammar};

use crate::case::Case;
use crate::dice::Dice;
use crate::invariants::{compile, has, parse};
use crate::lists;
use crate::random;
use crate::rule_tokens::with_limit;
use crate::tree::{bodies, build};
use crate::vocabulary::Vocabulary;
use crate::walk::Check;

fn options(max_tokens: u32) -> MatcherOptions {
    MatcherOptions { max_tokens: Some(max_tokens), ..MatcherOptions::default() }
}

/// The least budget, or none if no text is known that can be spelled.
fn least_budget(compiled: &Arc<CompiledGrammar>, options: &MatcherOptions) -> Option<u32> {
    let options = MatcherOptions { max_tokens: Some(0), ..options.clone() };
    match Matcher::with_budget(Arc::clone(compiled), options) {
        Ok(_) => Some(0),
        Err(BudgetError::TooSmall { needed, .. }) => Some(needed),
        Err(BudgetError::Unspellable | BudgetError::Repeats { .. }) => None,
    }
}

/// How the next token is chosen.
#[derive(Clone, Copy, Debug)]
enum Taste {
    Any,
    /// The one after which most tokens are needed.
    Dearest,
    /// Any but a stop token.
    Endless,
}

fn mask(matcher: &mut Matcher) -> Vec<u32> {
    let mut row = vec![0xDEAD_BEEF; matcher.vocab_size().div_ceil(32)];
    matcher.fill_mask(&mut row);
    row
}

fn choices(matcher: &mut Matcher, every: bool) -> Check<Vec<u32>> {
    let row = mask(matcher);
    let size = matcher.vocab_size() as u32;
    for token in (0..size).filter(|_| every) {
        let accepted = matcher.validate_tokens(&[token]) == 1;
        if accepted != has(&row, token) {
            return Err(format!("the mask of {token} says {}", has(&row, token)));
        }
    }
    Ok((0..size).filter(|&token| has(&row, token)).collect())
}

fn choose(matcher: &Matcher, choices: &[u32], taste: Taste, dice: &mut Dice) -> u32 {
    let text: Vec<u32> =
        choices.iter().copied().filter(|token| !matcher.stop_token_ids().contains(token)).collect();
    let needed = |token: u32| {
        let mut after = matcher.fork();
        after.accept_token(token);
        after.tokens_needed()
    };
    match taste {
        Taste::Dearest if !text.is_empty() => {
            let offset = dice.below(text.len());
            let sample = text.iter().cycle().skip(offset).take(text.len().min(64));
            sample.copied().max_by_key(|&token| needed(token)).expect("there is one")
        }
        Taste::Endless if !text.is_empty() => text[dice.below(text.len())],
        _ => choices[dice.below(choices.len())],
    }
}

/// A walk that must end in time.
fn walk(matcher: &mut Matcher, taste: Taste, dice: &mut Dice) -> Check {
    let budget = matcher.tokens_left().expect("they are counted");
    let steps = matcher.history_len();
    while !matcher.is_terminated() {
        let so_far = matcher.history_len() - steps;
        let (left, needed) = (matcher.tokens_left(), matcher.tokens_needed());
        if left != Some(budget - so_far as u32) || needed > left {
            return Err(format!("{needed:?} of {left:?} tokens are needed after {so_far} of {budget}"));
        }
        let choices = choices(matcher, true)?;
        if choices.is_empty() && matcher.stop_token_ids().is_empty() && matcher.is_completed() {
            break;
        }
        if choices.is_empty() {
            return Err(format!("a dead end with {left:?} tokens left"));
        }
        let token = choose(matcher, &choices, taste, dice);
        let mut other = matcher.fork();
        if !matcher.accept_token(token) || !other.accept_token(token) {
            return Err(format!("{token} was not accepted"));
        }
        other.rollback(1).map_err(|error| error.to_string())?;
        if dice.below(4) == 0
            && mask(&mut other) != {
                matcher.rollback(1).map_err(|error| error.to_string())?;
                let row = mask(matcher);
                matcher.accept_token(token);
                row
            }
        {
            return Err("the mask is another after a rollback".to_owned());
        }
    }
    Ok(())
}

/// Walks of all tastes with budgets from the least one on.
pub(crate) fn check_budgets(
    compiled: &Arc<CompiledGrammar>,
    options: &MatcherOptions,
    seed: u64,
    most: u32,
) -> Check {
    let Some(least) = least_budget(compiled, options) else { return Ok(()) };
    if least > most {
        return Ok(());
    }
    let mut dice = Dice::new(seed);
    for more in [0, 1, 2, 5] {
        let options = MatcherOptions { max_tokens: Some(least + more), ..options.clone() };
        for taste in [Taste::Any, Taste::Dearest, Taste::Endless] {
            let mut matcher = Matcher::with_budget(Arc::clone(compiled), options.clone())
                .map_err(|error| error.to_string())?;
            walk(&mut matcher, taste, &mut dice)
                .map_err(|wrong| format!("budget {}, {taste:?}: {wrong}", least + more))?;
            matcher.reset();
            if matcher.tokens_left() != options.max_tokens {
                return Err("a reset does not give the budget back".to_owned());
            }
        }
    }
    if least > 0
        && Matcher::with_budget(
            Arc::clone(compiled),
            MatcherOptions { max_tokens: Some(least - 1), ..options.clone() },
        )
        .is_ok()
    {
        return Err(format!("a budget of {} is not too small", least - 1));
    }
    Ok(())
}

/// With a large budget the masks are those without one; if the vocabulary does not have `every_byte`, without what it
/// cannot spell.
pub(crate) fn check_far(compiled: &Arc<CompiledGrammar>, every_byte: bool, seed: u64) -> Check {
    if least_budget(compiled, &MatcherOptions::default()).is_none() {
        return Ok(());
    }
    let mut dice = Dice::new(seed);
    let mut plain = Matcher::new(Arc::clone(compiled), MatcherOptions::default());
    let mut matcher = Matcher::with_budget(Arc::clone(compiled), options(100_000_000))
        .map_err(|error| error.to_string())?;
    for _ in 0..12 {
        let row = mask(&mut matcher);
        let all = mask(&mut plain);
        if row != all && (every_byte || row.iter().zip(&all).any(|(word, all)| word & !all != 0)) {
            return Err("the mask is another far from the end".to_owned());
        }
        let choices: Vec<u32> = (0..plain.vocab_size() as u32).filter(|&token| has(&row, token)).collect();
        let Some(&token) = choices.get(dice.below(choices.len())) else { break };
        if !plain.accept_token(token) || !matcher.accept_token(token) {
            return Err(format!("{token} is accepted by one of them only"));
        }
    }
    Ok(())
}

/// The fewest tokens of any text, found by trying all; none if there is none within `most`.
fn fewest_tokens(compiled: &Arc<CompiledGrammar>, options: &MatcherOptions, most: usize) -> Option<u32> {
    let start = Matcher::new(Arc::clone(compiled), options.clone());
    let mut queue = VecDeque::from([start]);
    let mut seen: HashSet<Vec<u32>> = HashSet::new();
    while let Some(mut matcher) = queue.pop_front() {
        if matcher.is_terminated() {
            return Some(matcher.history_len() as u32);
        }
        if matcher.history_len() >= most || seen.len() > 3_000 {
            continue;
        }
        let row = mask(&mut matcher);
        for token in (0..matcher.vocab_size() as u32).filter(|&token| has(&row, token)) {
            let mut next = matcher.fork();
            next.accept_token(token);
            // Places with the same masks here and after each token are looked at again; only equal ones are not.
            if !queue.iter().any(|other| other.is_at_same_place(&next)) {
                queue.push_back(next);
            }
        }
        seen.insert(row);
        if queue.len() > 2_000 {
            return None;
        }
    }
    None
}

const GRAMMARS: [&str; 25] = [
    "root ::= \"a\" root \"b\" | \"\"",
    "root ::= \"a\" root \"b\" | \"x\"",
    "root ::= \"(\" root \")\" root | \"x\"",
    "root ::= [ab]{3,9} \"x\"?",
    "root ::= \"[\" (item \",\"){2,5} item \"]\"\nitem ::= \"(\" item \")\" | \"a\" | \"ab\"",
    "root ::= \"ab\" \"ab\" \"ab\" | \"x\" \"x\" \"x\" \"x\"",
    "root ::= e\ne ::= e \"+\" e | e \"*\" e | \"a\" | \"(\" e \")\"",
    "root ::= \"a\" Token(3) \"b\" | \"b\" Token(5)",
    "root ::= \"a\" Token(3, 8, 44) root | \"x\"",
    "root ::= ExcludeToken(0, 3) \"b\" | \"abab\" root",
    "root ::= (Token(5) | \"a\")* \"b\"",
    "root ::= TagDispatch((\"ab\", tag), loop_after_dispatch=true)\ntag ::= \"x\" \"a\"",
    "root ::= \"a\" \"</s>\" \"b\" | \"a</s>\" | \"x\"",
    "root ::= \"\\\"\" JsonText([^]{2,4}) \"\\\"\" | \"\\\"\" JsonText(\"a\\\"\\u0001\" root_end) \"\\\"\"\nroot_end ::= \"b\"",
    "root ::= AtMost([a-z]{2,} \"-\" [a-z]+, 9) \"x\"",
    "root ::= \"{\" Members((\"a\", true, v), (\"ab\", false, v, w), (\"b\", true, v), separator=\",\", order=\"any\", others=((k, v),), unique=true) \"}\"\nk ::= [^]*\nv ::= \":a\"\nw ::= \":\" root",
    // Rules that count tokens of their own.
    "root ::= \"(\" text \")\" \"x\"\ntext[max_tokens=2] ::= [abx]*",
    "root ::= text \"b\"* \"x\"\ntext[max_tokens=1] ::= (\"a\" \"a\" \"b\")+",
    "root ::= short | \"a\" \"b\"{12}\nshort[max_tokens=1] ::= \"a\" \"b\" \"x\"",
    "root ::= short | \"aa\" \"b\"{12}\nshort[max_tokens=0] ::= \"a\"{2} \"b\" \"x\"",
    "root ::= outer \"a\"*\nouter[max_tokens=2] ::= \"(\" inner \")\"\ninner[max_tokens=1] ::= [ab]* | outer",
    "root ::= text\ntext[max_tokens=3] ::= \"a\" text | \"b\"",
    "root ::= text{2}\ntext[max_tokens=0] ::= \"a\"+",
    "root ::= (word \",\")* word\nword[max_tokens=1] ::= \"a\" | \"ab\" | \"(\" word \")\" | Token(5) word",
    "root ::= \"[\" (item \",\"){2,5} item \"]\"\nitem[max_tokens=2] ::= \"(\" item \")\" | \"a\"{3} | \"ab\"*",
];

/// Tokens with stop tokens of every kind, as in the tests of what always holds, and all that the grammars need.
fn odd_vocabulary() -> Arc<Vocab> {
    let tokens = [
        "a", "b", "ab", "</s>", "b</s>", "", "a", "ab", "", "<", "/s>", "ba", "x", "abab", "\u{e9}", "]",
        "[", "(", ")", ",", "(a", "),", "aa", "+", "*", "\"", "\\", "u", "0", "1", "00", "\\u", "{", "}",
        ":", ":a", "\":", "{\"", "-", "\\\"", "))", "xx", "a\"", "((((", "",
    ];
    let stop_token_ids = Some(vec![TokenId(3), TokenId(4), TokenId(5)]);
    let options =
        VocabOptions { stop_token_ids, vocab_size: Some(tokens.len() + 3), ..VocabOptions::default() };
    Vocab::new(tokens.map(str::as_bytes), options).expect("a small vocabulary")
}

#[test]
fn every_walk_ends_in_time() {
    let vocab = odd_vocabulary();
    let stop_tokens = [None, Some(vec![0]), Some(vec![]), Some(vec![44, 8, 2])];
    for source in GRAMMARS {
        for cache_bytes in [1, usize::MAX] {
            let compiled = compile(parse(source), &vocab, cache_bytes);
            for (stop_tokens, ends) in stop_tokens.iter().flat_map(|stop| [(stop, false), (stop, true)]) {
                let options = MatcherOptions {
                    stop_tokens: stop_tokens.clone(),
                    terminate_without_stop_token: ends,
                    ..MatcherOptions::default()
                };
                let checked = check_budgets(&compiled, &options, 1, 40);
                assert!(checked.is_ok(), "{source} {options:?} {cache_bytes}: {checked:?}");
            }
            assert_eq!(check_far(&compiled, false, 3), Ok(()), "{source}");
        }
    }
}

/// What is said to be needed is enough, and is not less than what is.
#[test]
fn the_least_budget_is_enough_and_not_less_than_needed() {
    let vocab = odd_vocabulary();
    let (mut exact, mut known) = (0, 0);
    for source in GRAMMARS {
        for ends in [false, true] {
            let compiled = compile(parse(source), &vocab, usize::MAX);
            let options = MatcherOptions { terminate_without_stop_token: ends, ..MatcherOptions::default() };
            let (Some(least), Some(fewest)) =
                (least_budget(&compiled, &options), fewest_tokens(&compiled, &options, 8))
            else {
                continue;
            };
            assert!(least >= fewest, "{source}: {least} of {fewest}");
            assert!(least <= 3 * fewest + 2, "{source}: {least} is far from {fewest}");
            known += 1;
            exact += u32::from(least == fewest);
        }
    }
    assert!(known > 20 && 2 * exact > known, "{exact} of {known} are exact");
}

/// The sum of what the parts cost is not the end of it: tokens that join them are reckoned with.
#[test]
fn tokens_that_join_parts_count() {
    let of = |tokens: &[&str], source: &str| {
        let stop_token_ids = Some(vec![TokenId(tokens.len() as u32 - 1)]);
        let options = VocabOptions { stop_token_ids, ..VocabOptions::default() };
        let vocab =
            Vocab::new(tokens.iter().map(|token| token.as_bytes()), options).expect("a small vocabulary");
        let compiled = compile(parse(source), &vocab, usize::MAX);
        let least = least_budget(&compiled, &MatcherOptions::default());
        assert_eq!(check_budgets(&compiled, &MatcherOptions::default(), 7, 60), Ok(()), "{source}");
        (least, fewest_tokens(&compiled, &MatcherOptions::default(), 8))
    };
    let nested = "root ::= \"(\" x \"),x\"\nx ::= \"(\" x \")\" | \"a\"";
    assert_eq!(of(&["(", "a", ")", ",", "x", "(a", "),", "a),", "</s>"], nested), (Some(4), Some(4)));
    // No token is wholly inside of one part.
    assert_eq!(of(&["(a", "),x", "a)", "</s>"], nested), (Some(3), Some(3)));
    // Ten strings, each with a name before it.
    let members: Vec<String> = (0..10).map(|at| format!("\"\\\"{at}\\\":\\\"\" [^\"]* \"\\\"\"")).collect();
    let object = format!("root ::= \"{{\" {} \"}}\"", members.join(" \",\" "));
    let mut tokens: Vec<String> = (32..127_u8).map(|byte| char::from(byte).to_string()).collect();
    tokens.extend(["{\"", "\":\"", "\",\"", "\"}", "</s>"].map(str::to_owned));
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    // `{"`, ten times a digit and `":"`, nine times `","`, `"}` and the stop token.
    assert_eq!(of(&tokens, &object).0, Some(1 + 20 + 9 + 1 + 1));
}

/// Also where the grammar names tokens.
#[test]
fn tokens_that_join_parts_count_beside_named_tokens() {
    let vocab = odd_vocabulary();
    let least = |source: &str| {
        let compiled = compile(parse(source), &vocab, usize::MAX);
        assert_eq!(check_budgets(&compiled, &MatcherOptions::default(), 7, 60), Ok(()), "{source}");
        let fewest = fewest_tokens(&compiled, &MatcherOptions::default(), 8);
        (least_budget(&compiled, &MatcherOptions::default()), fewest)
    };
    // Token 8 has no bytes. `(a`, `),` and `xx` join parts.
    let inside = "x ::= \"(\" [a] \")\"";
    assert_eq!(least(&format!("root ::= Token(8) x \",\" Token(8)\n{inside}")), (Some(5), Some(5)));
    assert_eq!(least("root ::= Token(8, 44) \"x\" [x] ExcludeToken(3)"), (Some(4), Some(4)));
    // Token 20 is `(a`: read as a named one it leads elsewhere too, and so does not count for the text.
    let nested = "y ::= \"(\" y \")\" | \"a\"";
    assert_eq!(least(&format!("root ::= \"(\" y \")\"\n{nested}")), (Some(3), Some(3)));
    let source = format!("root ::= \"(\" y \")\" | Token(20) \"ababab\"\n{nested}");
    assert_eq!(least(&source), (Some(4), Some(3)));
}

/// Within an escape as much is needed as by the nearest of all that it may become.
#[test]
fn an_escape_is_as_near_as_the_nearest_that_it_may_become() {
    let tokens = (0..=u8::MAX).map(|byte| vec![byte]).chain([b"</s>".to_vec()]);
    let stop_token_ids = Some(vec![TokenId(256)]);
    let vocab_options = VocabOptions { stop_token_ids, ..VocabOptions::default() };
    let vocab = Vocab::new(tokens, vocab_options).expect("a small vocabulary");
    let schema = "{\"type\": \"string\", \"pattern\": \"^(abcd|b|\u{e9}x|\u{1f600}xyz)$\"}";
    let any =
        json_schema::Options { spelling: json_schema::Spelling::Any, ..json_schema::Options::default() };
    let grammar = json_schema::parse(schema, &any, &Budget::default()).expect("a plain schema").grammar;
    let compiled = compile(grammar, &vocab, usize::MAX);
    // What is left to come, with the closing quote and the stop token.
    for (text, left) in [
        (r#"""#, "b"),
        (r#""\"#, "u0062"),
        (r#""\u"#, "0062"),
        (r#""\u00"#, "62"),
        (r#""\u006"#, "2"),
        (r#""\u0061"#, "bcd"),
        (r#""\u00e"#, "9x"),
        (r#""\ud"#, r"83d\ude00xyz"),
        (r#""\ud83d\ude"#, "00xyz"),
    ] {
        let mut matcher = Matcher::with_budget(Arc::clone(&compiled), options(100)).expect("enough");
        assert!(matcher.accept_bytes(text.as_bytes()), "{text}");
        assert_eq!(matcher.tokens_needed(), Some(left.len() as u32 + 2), "{text}");
    }
    assert_eq!(check_budgets(&compiled, &MatcherOptions::default(), 11, 60), Ok(()));
}

#[test]
fn the_least_budget_of_some_grammars() {
    let vocab = odd_vocabulary();
    let least = |source: &str, ends: bool| {
        let compiled = compile(parse(source), &vocab, usize::MAX);
        let options = MatcherOptions { terminate_without_stop_token: ends, ..MatcherOptions::default() };
        least_budget(&compiled, &options)
    };
    assert_eq!(least("root ::= \"\"", true), Some(0));
    assert_eq!(least("root ::= \"\"", false), Some(1));
    assert_eq!(least("root ::= \"abab\"", false), Some(2));
    assert_eq!(least("root ::= \"abab\" | \"b\" \"b\"", true), Some(2));
    assert_eq!(least("root ::= \"a\"{10}", true), Some(5));
    assert_eq!(least("root ::= \"a\"{1000000}", true), Some(1_000_000));
    assert_eq!(least("root ::= \"z\"", true), None);
    assert_eq!(least("root ::= \"z\" | \"x\"", true), Some(1));
    assert_eq!(least("root ::= \"<\" \"/s>\"", true), Some(2));
    assert_eq!(least("root ::= Token(3)", true), Some(1));
    assert_eq!(least("root ::= ExcludeToken(3)", false), Some(2));
}

/// What cannot be spelled is never begun, not even far from the end.
#[test]
fn a_text_that_cannot_be_spelled_is_not_begun() {
    let vocab = odd_vocabulary();
    let compiled = compile(parse("root ::= \"az\" | \"x\" root | \"x\""), &vocab, usize::MAX);
    let mut matcher = Matcher::with_budget(Arc::clone(&compiled), options(1000)).expect("enough");
    assert_eq!(choices(&mut matcher, true), Ok(vec![12, 41]));
    let mut plain = Matcher::new(compiled, MatcherOptions::default());
    assert_eq!(choices(&mut plain, true), Ok(vec![0, 6, 12, 41]));
}

#[test]
fn strings_count_what_spells_them_or_what_they_are_said_to() {
    let vocab = odd_vocabulary();
    let compiled = compile(parse("root ::= \"a\"* \"b\""), &vocab, usize::MAX);
    let mut matcher = Matcher::with_budget(Arc::clone(&compiled), options(10)).expect("enough");
    assert!(matcher.accept_bytes(b"aaaa"));
    assert_eq!(matcher.tokens_left(), Some(8));
    assert!(matcher.accept_bytes_as(b"aaaa", Some(6)));
    assert_eq!((matcher.tokens_left(), matcher.tokens_needed()), (Some(2), Some(2)));
    assert!(!matcher.accept_bytes(b"a") && !matcher.accept_token(0));
    assert_eq!(choices(&mut matcher, true), Ok(vec![1, 2, 7]));
    assert!(matcher.accept_bytes_as(b"b", Some(0)));
    assert_eq!(matcher.tokens_left(), Some(2));
    matcher.rollback(2).expect("there were three");
    assert_eq!(matcher.tokens_left(), Some(8));
    assert!(matcher.accept_bytes_as(b"", Some(6)) && !matcher.accept_bytes_as(b"", Some(u32::MAX)));
    assert_eq!(matcher.tokens_left(), Some(2));
    matcher.reset();
    assert_eq!(matcher.tokens_left(), Some(10));
}

/// All cases, byte by byte and with tokens made of their texts.
#[test]
fn all_cases_end_in_time() {
    let mut failures = Vec::new();
    let mut count = 0;
    for case in Case::load_all() {
        let Ok(grammar) = case.grammar() else { continue };
        let texts: Vec<Vec<u8>> = case.texts().into_iter().map(|(text, _)| text).collect();
        let mut dice = Dice::new(count);
        for vocabulary in [Vocabulary::bytes(), Vocabulary::merged(&texts, &mut dice)] {
            let Some(compiled) = compiled(&grammar, &vocabulary) else { continue };
            count += 1;
            let checked = check_budgets(&compiled, &MatcherOptions::default(), count, 60)
                .and_then(|()| check_far(&compiled, vocabulary.name == "bytes", count));
            if let Err(wrong) = checked {
                failures.push(format!("{} {}: {wrong}", case.name, vocabulary.name));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {count} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(count > 500, "{count}");
}

pub(crate) fn compiled(grammar: &Grammar, vocabulary: &Vocabulary) -> Option<Arc<CompiledGrammar>> {
    let limits = EngineLimits { cache_bytes: usize::MAX };
    CompiledGrammar::new(grammar.clone(), Arc::clone(&vocabulary.vocab), limits, &Budget::default()).ok()
}

#[test]
fn random_lists_end_in_time() {
    for seed in 0..400 {
        let (grammar, vocabulary) = lists::random_list(seed);
        let Some(compiled) = compiled(&grammar, &vocabulary) else { continue };
        let checked = check_budgets(&compiled, &MatcherOptions::default(), seed, 60)
            .and_then(|()| check_far(&compiled, false, seed));
        assert!(checked.is_ok(), "seed {seed}: {checked:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 2_000, ..ProptestConfig::default() })]
    #[test]
    fn random_grammars_end_in_time(bodies in bodies(true), seed in 0..u64::MAX) {
        if let Some(compiled) = compiled(&build(&bodies), &random::vocabulary(seed)) {
            let checked = check_budgets(&compiled, &MatcherOptions::default(), seed, 40)
                .and_then(|()| check_far(&compiled, false, seed));
            checked.map_err(TestCaseError::fail)?;
        }
    }

    /// The same where some rules count tokens of their own.
    #[test]
    fn random_grammars_whose_rules_count_end_in_time(bodies in bodies(true), seed in 0..u64::MAX) {
        let mut grammar = build(&bodies);
        let mut dice = Dice::new(seed);
        for rule in grammar.rules().map(|(id, _)| id).collect::<Vec<_>>() {
            if dice.below(2) == 0 {
                grammar = with_limit(&grammar, rule, dice.below(4) as u32);
            }
        }
        if let Some(compiled) = compiled(&grammar, &random::vocabulary(seed)) {
            let checked = check_budgets(&compiled, &MatcherOptions::default(), seed, 40)
                .and_then(|()| check_far(&compiled, false, seed));
            checked.map_err(TestCaseError::fail)?;
        }
    }
}
