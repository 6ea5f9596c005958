//! Known answers for each format, and the official test suite.

mod known;
mod labels;
mod suite;

use super::{REGISTRY, find, language, names};
use crate::ir::{Builder, Expr, ExprId};
use crate::limits::{Budget, Limits};
use crate::regular::{Dfa, StateId, determinize};

/// The language of a format as schemas have it, bounds of the length apart.
struct Language {
    /// Automata, and the greatest length of texts in each.
    parts: Vec<(Dfa, Option<u32>)>,
}

impl Language {
    fn of(name: &str) -> Self {
        let budget = Budget::default();
        let mut builder = Builder::new(&Limits::default());
        let root = language(name, &mut builder, &budget).expect("a known format").expect("a language");
        let items = match builder.expr(root) {
            Expr::Alt(items) => items.to_vec(),
            _ => vec![root],
        };
        let is_bounded = |item: &ExprId| matches!(builder.expr(*item), Expr::AtMost { .. });
        let items = if items.iter().any(is_bounded) { items } else { vec![root] };
        let part = |item| {
            let (body, most) = match *builder.expr(item) {
                Expr::AtMost { body, most } => (body, Some(most)),
                _ => (item, None),
            };
            (determinize(&builder, body, &budget).expect("a regular language"), most)
        };
        Language { parts: items.into_iter().map(part).collect() }
    }

    fn matches(&self, text: &str) -> bool {
        let is_within = |most: &Option<u32>| most.is_none_or(|most| text.chars().count() <= most as usize);
        self.parts.iter().any(|(dfa, most)| is_within(most) && dfa.matches(text.as_bytes()))
    }
}

#[test]
fn names_are_unique_and_known() {
    let mut all: Vec<&str> = names().collect();
    assert_eq!(all.len(), REGISTRY.len());
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), REGISTRY.len());
    for name in all {
        assert!(find(name).is_some_and(|format| format.name == name && !format.about.is_empty()));
    }
}

#[test]
fn other_names_are_no_formats() {
    let mut builder = Builder::new(&Limits::default());
    for name in ["", "Date", "date ", "int32", "url", "password"] {
        assert!(language(name, &mut builder, &Budget::default()).is_none(), "{name}");
    }
}

#[test]
fn a_format_is_one_expression_however_often_it_is_asked_for() {
    let (mut builder, budget) = (Builder::new(&Limits::default()), Budget::default());
    for name in names() {
        let first = language(name, &mut builder, &budget).unwrap().unwrap();
        assert_eq!(language(name, &mut builder, &budget).unwrap().unwrap(), first, "{name}");
    }
}

/// A conjunction with a length or a pattern unrolls the language, which should stay far from the limit on states.
#[test]
fn automata_are_of_modest_size() {
    for name in names() {
        let states: usize = Language::of(name).parts.iter().map(|(dfa, _)| dfa.len()).sum();
        assert!(states < 20_000, "{name} has {states} states");
    }
}

#[test]
fn the_longest_text_is_as_long_as_it_says() {
    for format in &REGISTRY {
        let parts = Language::of(format.name).parts;
        let longest = parts
            .iter()
            .map(|(dfa, most)| most.or_else(|| longest(dfa)))
            .max_by_key(|&longest| longest.unwrap_or(u32::MAX));
        assert_eq!(longest, Some(format.longest), "{}", format.name);
    }
}

/// The length in code points of the longest text, or `None` where there is none: the longest way, found by taking away
/// states that nothing leads to any more.
fn longest(dfa: &Dfa) -> Option<u32> {
    let mut ways_in = vec![0; dfa.len()];
    let states = 0..dfa.len() as StateId;
    for (_, _, target) in states.flat_map(|state| dfa.edges(state)) {
        ways_in[*target as usize] += 1;
    }
    let mut lengths = vec![0; dfa.len()];
    let mut open = vec![Dfa::START];
    let mut done = 0;
    while let Some(state) = open.pop() {
        done += 1;
        for &(low, _, target) in dfa.edges(state) {
            let continues = (0x80..0xc0).contains(&low);
            let length = lengths[state as usize] + u32::from(!continues);
            lengths[target as usize] = length.max(lengths[target as usize]);
            ways_in[target as usize] -= 1;
            if ways_in[target as usize] == 0 {
                open.push(target);
            }
        }
    }
    // What a loop leads to is never taken away.
    (done == dfa.len()).then(|| lengths.into_iter().max().unwrap_or(0))
}
