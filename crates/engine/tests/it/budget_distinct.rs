//! Budgets where the items of arrays must differ: what completes an array depends on the items before.

use tokenstile_engine::MatcherOptions;

use crate::budget::{check_budgets, check_far, compiled};
use crate::dice::Dice;
use crate::distinct::CASES;
use crate::invariants::parse;
use crate::vocabulary::Vocabulary;

/// Arrays that must have several items, and items with much in common.
const MORE: [(&str, &str); 7] = [
    (
        "two numbers",
        r#"root[distinct_items] ::= "[" n ("," n){1,3} "]"
n ::= "0" | "-"? [1-9] [0-9]* ("." [0-9]+)?"#,
    ),
    (
        "three strings",
        r#"root[distinct_items] ::= "[" s ("," s){2,} "]"
s ::= "\"" [a-c]* "\"""#,
    ),
    (
        "two or none",
        r#"root ::= "{" ("\"x\":" i)? "}"
i[distinct_items] ::= "[" (b ("," b)+)? "]"
b ::= "\"" JsonText([ab]*) "\"" | "{}" | "[" (b ("," b)*)? "]""#,
    ),
    (
        "any number",
        r#"root[distinct_items] ::= "[" (v ("," v)*)? "]"
v ::= "{\"a\":" ("true" | "false") (",\"b\":" [0-9]+)? "}" | "\"" [ab]* "\"""#,
    ),
    (
        "arrays of arrays",
        r#"root[distinct_items] ::= "[" (i ("," i)*)? "]"
i[distinct_items] ::= "[" (b ("," b)*)? "]"
b ::= "\"" [ab]+ "\"" | "0" | "null""#,
    ),
    (
        "behind text",
        r#"root ::= [a-c]{0,3} list [a-c]+
list[distinct_items] ::= "[" " "? ([0-9]+ ("," " "? [0-9]+)*)? " "? "]""#,
    ),
    (
        "far to differ",
        r#"root[distinct_items] ::= "[" v ("," v)* "]"
v ::= "{\"abc\":{\"a\":true,\"ab\":[1,1,1]" (",\"abab\":" [0-9]+)? "}}""#,
    ),
];

fn check(name: &str, source: &str) {
    let grammar = parse(source);
    let texts: Vec<Vec<u8>> =
        ["[1,2,3]", "[\"a\",\"b\"]", "{\"a\":true,\"b\":1}", "[[],[\"a\"]]", ",\"ab\":", "[0, 1, 12]"]
            .map(|text| text.as_bytes().to_vec())
            .to_vec();
    let mut dice = Dice::new(name.len() as u64);
    for vocabulary in [Vocabulary::bytes(), Vocabulary::merged(&texts, &mut dice)] {
        let Some(compiled) = compiled(&grammar, &vocabulary) else { panic!("{name} does not compile") };
        for seed in 0..4 {
            let checked = check_budgets(&compiled, &MatcherOptions::default(), seed, 60)
                .and_then(|()| check_far(&compiled, false, seed));
            assert_eq!(checked, Ok(()), "{name}, {}, seed {seed}", vocabulary.name);
        }
    }
}

#[test]
fn items_that_differ_end_in_time() {
    for (name, source, _) in CASES {
        check(name, source);
    }
    for (name, source) in MORE {
        check(name, source);
    }
}
