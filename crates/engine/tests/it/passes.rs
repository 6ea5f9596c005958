//! The passes from one grammar to another, and the printer: none of them changes the language, as the oracle sees it.

use proptest::prelude::*;
use tokenstile_engine::oracle::Oracle;
use tokenstile_grammar::frontends::ebnf;
use tokenstile_grammar::passes::{
    booleans, dispatch, inline, intersect, json_text, linear, options, regular_rules, trim,
};
use tokenstile_grammar::{Budget, Grammar, Limits, Result};

use crate::case::{Case, Outcome};
use crate::tree::{LETTERS, bodies, build, text};
use crate::walk::Check;

/// A pass and its name.
type Pass<'a> = (&'static str, &'a dyn Fn(&Grammar) -> Result<Grammar>);

/// The grammar after each pass, by name; the error of the first pass that refuses it ends the list.
fn stages(grammar: &Grammar) -> Vec<(&'static str, Result<Grammar>)> {
    let (limits, budget) = (Limits::default(), Budget::default());
    let passes: [Pass<'_>; 10] = [
        ("options", &|grammar| options::lower(grammar.clone(), &budget)),
        ("dispatch", &|grammar| dispatch::lower(grammar.clone(), &budget)),
        ("trim", &|grammar| trim::trim(grammar.clone(), &budget)),
        ("linear", &|grammar| linear::unroll(grammar.clone(), &budget)),
        ("intersect", &|grammar| intersect::lower(grammar.clone(), &budget)),
        ("json_text", &|grammar| json_text::check(grammar, &budget).map(|()| grammar.clone())),
        ("inline", &|grammar| inline::inline(grammar.clone(), &budget)),
        ("booleans", &|grammar| booleans::determinize(grammar.clone(), &budget)),
        ("regular_rules", &|grammar| regular_rules::replace(grammar.clone(), &budget)),
        ("trim again", &|grammar| trim::trim(grammar.clone(), &budget)),
    ];
    let mut stages = vec![("printed", ebnf::parse(&grammar.to_string(), "root", &limits, &budget))];
    let mut current = grammar.clone();
    for (name, pass) in passes {
        let after = pass(&current);
        let go_on = after.clone().map(|after| current = after).is_ok();
        stages.push((name, after));
        if !go_on {
            break;
        }
    }
    stages
}

fn outcome(oracle: &Oracle, text: &[u8]) -> Outcome {
    let mut state = oracle.start();
    state.advance_bytes(text);
    Outcome::new(state.is_alive(), state.is_complete())
}

/// Compares what becomes of `texts` before the passes and after each of them.
fn check(grammar: &Grammar, texts: &[Vec<u8>]) -> Check {
    let oracle = Oracle::new(grammar);
    for (name, stage) in stages(grammar) {
        let after = stage.and_then(|stage| Oracle::new(&stage));
        match (&oracle, after) {
            (Ok(before), Ok(after)) => {
                let differs = |text: &&Vec<u8>| outcome(before, text) != outcome(&after, text);
                if let Some(text) = texts.iter().find(differs) {
                    return Err(format!(
                        "{name} changes what becomes of {:?}",
                        text.escape_ascii().to_string()
                    ));
                }
            }
            (Err(_), Err(_)) => {}
            (Ok(_), Err(error)) => return Err(format!("after {name} only: {error}")),
            (Err(error), Ok(_)) => return Err(format!("not after {name}: {error}")),
        }
    }
    Ok(())
}

#[test]
fn cases_keep_their_language() {
    let mut failures = Vec::new();
    for case in Case::load_all() {
        let Ok(grammar) = case.grammar() else { continue };
        let texts: Vec<Vec<u8>> = case.texts().into_iter().map(|(text, _)| text).collect();
        failures.extend(check(&grammar, &texts).err().map(|wrong| format!("{}: {wrong}", case.name)));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_grammars_keep_their_language(bodies in bodies(false)) {
        let mut texts: Vec<Vec<usize>> = vec![Vec::new()];
        for length in 0..3 {
            let longest = texts.iter().filter(|text| text.len() == length).cloned().collect::<Vec<_>>();
            for letter in 0..LETTERS.len() {
                texts.extend(longest.iter().map(|head| [head.as_slice(), &[letter]].concat()));
            }
        }
        let texts: Vec<Vec<u8>> = texts.iter().map(|letters| text(letters).into_bytes()).collect();
        check(&build(&bodies), &texts).map_err(TestCaseError::fail)?;
    }
}
