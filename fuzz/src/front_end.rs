//! What must hold of any text that a front end is given.

use std::sync::Arc;
use std::time::Duration;

use tokenstile_engine::{CompiledGrammar, EngineLimits, Matcher, MatcherOptions};
use tokenstile_grammar::frontends::ebnf;
use tokenstile_grammar::frontends::structural_tag::Tokens;
use tokenstile_grammar::{Budget, CancelFlag, ErrorKind, Grammar, Limits, Result};

use crate::account::Allowance;
use crate::dice::Numbers;
use crate::vocabulary;
use crate::walk;

/// What a call that reads or compiles may take: twice the time after which it should give up by itself.
const COMPILE: Allowance = Allowance::new("compiling", 2.0 * COMPILE_SECONDS, 768);
const COMPILE_SECONDS: f64 = 0.5;

/// The account of one compilation, with limits of a service that is careful.
pub fn budget() -> Budget {
    let limits = Limits {
        max_source_bytes: 1 << 20,
        max_rules: 20_000,
        max_exprs: 200_000,
        max_states: 20_000,
        max_nodes: 200_000,
        max_compile_time: Duration::from_secs_f64(COMPILE_SECONDS * f64::from(crate::account::SLOWDOWN)),
        ..Limits::default()
    };
    Budget::new(limits, CancelFlag::default())
}

/// Compiles a grammar for a vocabulary; none if it was refused, for which there must be a reason.
pub fn compiled(
    vocab: &Arc<tokenstile_engine::vocab::Vocab>,
    read: impl FnOnce(&Budget) -> Result<Grammar>,
) -> Option<Arc<CompiledGrammar>> {
    let limits = EngineLimits { cache_bytes: 32 << 20 };
    let budget = budget();
    let compiled = COMPILE.check(|| {
        read(&budget).and_then(|grammar| CompiledGrammar::new(grammar, Arc::clone(vocab), limits, &budget))
    });
    compiled.map_err(|error| assert!(!error.to_string().is_empty())).ok()
}

/// The tokens of the small vocabulary by their text.
pub fn with_tokens<T>(call: impl FnOnce(&Tokens<'_>) -> T) -> T {
    let vocab = vocabulary::small();
    let find = |text: &str| {
        let id = |id: &u32| vocab.token_text(tokenstile_engine::vocab::TokenId(*id)) == text.as_bytes();
        (0..vocab.len() as u32).find(id)
    };
    call(&Tokens { find: &find, count: vocab.len() })
}

/// A text is refused, or it is a grammar that prints and reads back, and both have the same masks along a walk.
pub fn check(source: &[u8], read: impl FnOnce(&str, &Budget) -> Result<Grammar>) {
    let Ok(text) = std::str::from_utf8(source) else { return };
    let vocab = vocabulary::small();
    let Some(first) = compiled(vocab, |budget| read(text, budget)) else { return };
    let printed = first.grammar(&budget()).expect("the grammar that was compiled").to_string();
    let again = compile_printed(&printed);
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ source.len() as u64);
    let matcher =
        |compiled: &Arc<CompiledGrammar>| Matcher::new(Arc::clone(compiled), MatcherOptions::default());
    let mut matchers = vec![matcher(&first)];
    matchers.extend(again.as_ref().map(matcher));
    walk::side_by_side(&mut matchers, vocab, &mut numbers, 8);
}

/// The grammar of a printed text. It may be over a limit that the first was just below, and nothing else.
fn compile_printed(printed: &str) -> Option<Arc<CompiledGrammar>> {
    let budget = budget();
    let again = with_tokens(|tokens| {
        ebnf::parse_with_tokens(printed, "root", Some(tokens.find), budget.limits(), &budget).and_then(
            |grammar| {
                let limits = EngineLimits { cache_bytes: 32 << 20 };
                CompiledGrammar::new(grammar, Arc::clone(vocabulary::small()), limits, &budget)
            },
        )
    });
    match again {
        Ok(again) => Some(again),
        Err(error) if error.kind() == ErrorKind::Limit => None,
        Err(error) => panic!("what was printed does not read back: {error}\n{printed}"),
    }
}
