//! The cases of `testdata/*.toml`, each in many ways: by the oracle; by the engine, as it comes and with its smallest
//! caches; byte by byte, and by the tokens of several vocabularies, with the whole mask compared with the oracle's at
//! every step, and with rollback and fork at every step.

use std::sync::Arc;

use crate::case::{Captured, Case, Outcome};
use crate::dice::Dice;
use crate::vocabulary::Vocabulary;
use crate::walk::{Check, Twins, Walk, configurations};
use tokenstile_engine::oracle::{Capture, Oracle, OracleState};
use tokenstile_engine::{CompiledGrammar, Matcher, MatcherOptions};
use tokenstile_grammar::{Budget, Place};

/// Runs `check` on every case that `wanted` picks, and fails with all that went wrong.
fn run(wanted: impl Fn(&Case) -> bool, check: impl Fn(&Case) -> Check) {
    let cases: Vec<Case> = Case::load_all().into_iter().filter(wanted).collect();
    assert!(!cases.is_empty(), "no case was found");
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| check(case).err().map(|wrong| format!("{}: {wrong}", case.name)))
        .collect();
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

fn oracle(case: &Case) -> Check<Oracle> {
    let grammar = case.grammar().map_err(|error| error.to_string())?;
    Oracle::new(&grammar).map_err(|error| error.to_string())
}

fn expect(text: &str, outcome: Outcome, expected: Outcome) -> Check {
    if outcome == expected { Ok(()) } else { Err(format!("{text} is {outcome:?} and not {expected:?}")) }
}

fn oracle_outcome(state: &OracleState<'_>) -> Outcome {
    Outcome::new(state.is_alive(), state.is_complete())
}

/// The texts of a case as vocabularies are made from them.
fn all_texts(case: &Case) -> Vec<Vec<u8>> {
    case.texts().into_iter().map(|(text, _)| text).collect()
}

fn seed(case: &Case) -> u64 {
    case.name.bytes().fold(7, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

#[test]
fn every_case_says_something() {
    run(
        |_| true,
        |case| {
            let says = !case.texts().is_empty()
                || !case.token_texts().is_empty()
                || !case.captures.is_empty()
                || case.error.is_some();
            if says { Ok(()) } else { Err("nothing is tested".to_owned()) }
        },
    );
}

/// Schemas become machines in two ways, which the walks compare: all plain ones and many others go the short one.
#[test]
fn plain_schemas_need_no_passes() {
    run(
        |case| case.name.starts_with("json_schema/plain/") && case.error.is_none(),
        |case| case.machine().map(drop).ok_or_else(|| "it has no outline".to_owned()),
    );
    let short = Case::load_all().iter().filter(|case| case.machine().is_some()).count();
    assert!(short > 100, "only {short} cases become machines without the passes");
}

#[test]
fn oracle_on_bytes() {
    run(
        |case| case.error.is_none(),
        |case| {
            let oracle = oracle(case)?;
            for (text, expected) in case.texts() {
                let mut state = oracle.start();
                state.advance_bytes(&text);
                expect(&format!("{:?}", text.escape_ascii().to_string()), oracle_outcome(&state), expected)?;
            }
            Ok(())
        },
    );
}

#[test]
fn oracle_on_tokens() {
    run(
        |case| case.tokens().is_some() && case.error.is_none(),
        |case| {
            let (oracle, tokens) = (oracle(case)?, case.tokens().unwrap_or_default());
            for (ids, expected) in case.token_texts() {
                let mut state = oracle.start();
                for &id in &ids {
                    state.advance_token(&tokens[id as usize], id);
                }
                expect(&format!("{ids:?}"), oracle_outcome(&state), expected)?;
            }
            Ok(())
        },
    );
}

#[test]
fn forced_text() {
    run(
        |case| !case.jumps().is_empty(),
        |case| {
            let oracle = oracle(case)?;
            for (text, expected) in case.jumps() {
                let mut state = oracle.start();
                state.advance_bytes(&text);
                let forced = state.jump_forward();
                if forced != expected {
                    let [text, forced] = [text, forced].map(|bytes| bytes.escape_ascii().to_string());
                    return Err(format!("after {text:?} comes {forced:?}"));
                }
            }
            Ok(())
        },
    );
}

#[test]
fn captures() {
    run(
        |case| !case.captures.is_empty(),
        |case| {
            let oracle = oracle(case)?;
            for captured in &case.captures {
                let mut state = oracle.start();
                state.advance_bytes(captured.text.as_bytes());
                let bytes = |capture: &Capture| (capture.name.to_string(), state.captured_bytes(capture));
                let settled = state.captures().iter().map(bytes).collect();
                let all = state.all_captures().iter().map(bytes).collect();
                check_captures(captured, settled, all)?;
            }
            Ok(())
        },
    );
}

/// The same through a matcher, with the text in pieces, and after a detour that was taken back.
#[test]
fn captures_of_a_matcher() {
    let vocabulary = Vocabulary::bytes();
    run(
        |case| !case.captures.is_empty(),
        |case| {
            let grammar = case.grammar().map_err(|error| error.to_string())?;
            let [(_, limits), _] = configurations();
            let compiled =
                CompiledGrammar::new(grammar, Arc::clone(&vocabulary.vocab), limits, &Budget::default())
                    .map_err(|error| error.to_string())?;
            for captured in &case.captures {
                let mut matcher = Matcher::new(Arc::clone(&compiled), MatcherOptions::default());
                let (head, tail) = captured.text.as_bytes().split_at(captured.text.len() / 2);
                let accepted = matcher.accept_bytes(head)
                    && tail.iter().all(|&byte| matcher.accept_token(u32::from(byte)))
                    && matcher.rollback(tail.len()).is_ok()
                    && tail.iter().all(|&byte| matcher.accept_token(u32::from(byte)));
                if !accepted {
                    return Err(format!("{:?} is refused", captured.text));
                }
                let settled = matcher.captures(true).map_err(|error| error.to_string())?;
                let all = matcher.captures(false).map_err(|error| error.to_string())?;
                check_captures(captured, settled, all)?;
            }
            Ok(())
        },
    );
}

fn check_captures(
    captured: &Captured,
    settled: Vec<(String, Vec<u8>)>,
    all: Vec<(String, Vec<u8>)>,
) -> Check {
    let spell = |spans: Vec<(String, Vec<u8>)>| -> Vec<String> {
        spans.iter().map(|(name, bytes)| format!("{name}={}", String::from_utf8_lossy(bytes))).collect()
    };
    let (settled, all) = (spell(settled), spell(all));
    if settled != captured.spans {
        return Err(format!("after {:?}: captures {settled:?}", captured.text));
    }
    match &captured.all {
        Some(expected) if *expected != all => Err(format!("after {:?}: all captures {all:?}", captured.text)),
        _ => Ok(()),
    }
}

#[test]
fn refusals() {
    let vocabulary = Vocabulary::bytes();
    run(
        |case| case.error.is_some(),
        |case| {
            let grammar = match case.grammar() {
                Err(error) => return check_refusal(case, &error),
                Ok(grammar) => grammar,
            };
            let Err(from_oracle) = Oracle::new(&grammar) else {
                return Err("the oracle does not refuse it".to_owned());
            };
            check_refusal(case, &from_oracle)?;
            let vocab = Arc::clone(&vocabulary.vocab);
            let [(_, limits), _] = configurations();
            match CompiledGrammar::new(grammar, vocab, limits, &Budget::default()) {
                Err(error) => check_refusal(case, &error),
                Ok(_) => Err("the engine does not refuse it".to_owned()),
            }
        },
    );
}

fn check_refusal(case: &Case, error: &tokenstile_grammar::Error) -> Check {
    let part = case.error.as_deref().unwrap_or_default();
    let place = match *error.place() {
        Place::Text { line, column, .. } => Some((line, column)),
        _ => None,
    };
    let line_fits = case.line.is_none_or(|line| place.is_some_and(|place| place.0 == line));
    let column_fits = case.column.is_none_or(|column| place.is_some_and(|place| place.1 == column));
    let pointer_fits = case
        .pointer
        .as_deref()
        .is_none_or(|pointer| matches!(error.place(), Place::Pointer(found) if found == pointer));
    let path_fits =
        case.path.as_deref().is_none_or(|path| matches!(error.place(), Place::Path(found) if found == path));
    if error.to_string().contains(part) && line_fits && column_fits && pointer_fits && path_fits {
        Ok(())
    } else {
        Err(format!("refused, but otherwise than expected:\n{error}"))
    }
}

/// The whole text at once, by bytes alone.
#[test]
fn engine_on_bytes() {
    run(
        |case| case.error.is_none() && case.tokens().is_none(),
        |case| {
            let vocabulary = Vocabulary::bytes();
            for (name, limits) in configurations() {
                let grammar = case.grammar().map_err(|error| error.to_string())?;
                let vocab = Arc::clone(&vocabulary.vocab);
                let compiled = CompiledGrammar::new(grammar, vocab, limits, &Budget::default())
                    .map_err(|error| error.to_string())?;
                let mut matcher = Matcher::new(compiled, MatcherOptions::default());
                for (text, expected) in case.texts() {
                    matcher.reset();
                    let alive = matcher.accept_bytes(&text);
                    let outcome = Outcome::new(alive, alive && matcher.is_completed());
                    let text = text.escape_ascii().to_string();
                    expect(&format!("[{name}] {text:?}"), outcome, expected)?;
                }
            }
            Ok(())
        },
    );
}

/// How many vocabularies take turns with cases of which there are many alike.
const TURNS: u64 = 3;

/// Whether a case is walked in a vocabulary. The families of models and the styles of their arguments are hundreds of long
/// texts made in the same ways: each of those is walked in the vocabulary that has no turn and in one of the others. With
/// `TOKENSTILE_ALL_WALKS` in the environment, in all.
fn has_its_turn(case: &Case, turn: Option<u64>) -> bool {
    let alike = ["tool_calling/", "structural_tag/style_"].iter().any(|folder| case.name.starts_with(folder));
    let is_next = turn.is_none_or(|turn| seed(case) % TURNS == turn);
    is_next || !alike || std::env::var_os("TOKENSTILE_ALL_WALKS").is_some()
}

/// Walks along the tokens of the texts, in a vocabulary that `make` makes for the case.
fn walk_texts(turn: Option<u64>, make: impl Fn(&[Vec<u8>], &mut Dice) -> Vocabulary) {
    run(
        |case| case.error.is_none() && case.tokens().is_none() && has_its_turn(case, turn),
        |case| {
            let mut dice = Dice::new(seed(case));
            let grammar = case.grammar().map_err(|error| error.to_string())?;
            let vocabulary = make(&all_texts(case), &mut dice);
            let mut twins = Twins::new(&grammar, vocabulary)?.map_err(|error| error.to_string())?;
            if let Some(machine) = case.machine() {
                twins.add_machine(&machine).map_err(|error| error.to_string())?;
            }
            for (text, expected) in case.texts() {
                let ids = twins.vocabulary.tokenize(&text, &mut dice);
                walk(&twins, &ids, expected, &mut dice)?;
            }
            Ok(())
        },
    );
}

fn walk(twins: &Twins, ids: &[u32], expected: Outcome, dice: &mut Dice) -> Check {
    let mut walk = Walk::new(twins)?;
    let mut alive = true;
    for &id in ids {
        alive = alive && walk.step(id, dice)?;
    }
    let outcome = Outcome::new(alive, alive && walk.is_complete());
    expect(&format!("[{}] {ids:?}", twins.vocabulary.name), outcome, expected)?;
    walk.stop()?;
    walk.replay()
}

#[test]
fn tokens_of_one_byte() {
    walk_texts(Some(0), |_, _| Vocabulary::bytes());
}

#[test]
fn tokens_of_several_bytes() {
    walk_texts(None, Vocabulary::merged);
}

#[test]
fn tokens_with_duplicates() {
    walk_texts(Some(1), Vocabulary::duplicates);
}

#[test]
fn tokens_of_partial_utf8() {
    walk_texts(Some(2), Vocabulary::partial_utf8);
}

#[test]
fn tokens_of_the_case() {
    run(
        |case| case.tokens().is_some() && case.error.is_none(),
        |case| {
            let mut dice = Dice::new(seed(case));
            let grammar = case.grammar().map_err(|error| error.to_string())?;
            let vocabulary = Vocabulary::new("of the case", case.tokens().unwrap_or_default());
            let twins = Twins::new(&grammar, vocabulary)?.map_err(|error| error.to_string())?;
            case.token_texts().iter().try_for_each(|(ids, expected)| walk(&twins, ids, *expected, &mut dice))
        },
    );
}
