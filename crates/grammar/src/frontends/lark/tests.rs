//! Tests of what cases in data cannot say: how a grammar prints, what strangers may send, and random garbage.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;

fn read(source: &str) -> Result<Grammar> {
    let budget = Budget::default();
    parse(source, &Surroundings::default(), budget.limits(), &budget)
}

fn printed(source: &str) -> String {
    read(source).unwrap_or_else(|error| panic!("{source}\n{error}")).to_string()
}

#[test]
fn prints_as_ebnf() {
    let source = "start: name (\",\" name)*\nname[capture]: NAME\nNAME: /[a-z]+/\n%ignore \" \"";
    let expected = "root ::= name ignored (\",\" ignored name ignored)*\n\
                    name[capture=\"name\"] ::= NAME\n\
                    ignored ::= \" \"*\n\
                    NAME ::= [a-z]+\n";
    assert_eq!(printed(source), expected);
}

#[test]
fn the_place_of_an_error_has_a_caret() {
    let error = read("start: \"a\"\n  | /b(c/").unwrap_err();
    let report = error.to_string();
    assert!(report.starts_with("line 2, column 7: "), "{report}");
    assert!(report.contains("\n    | /b(c/\n        ^"), "{report}");
}

/// What strangers may send: each is answered at once, and none touches the native stack.
#[test]
fn large_and_deep_inputs() {
    let lines =
        |count: u32, line: &dyn Fn(u32) -> String| (0..count).map(line).collect::<Vec<_>>().join("\n");
    let ring = lines(20_000, &|at| format!("r{at}: \"a\" r{}", (at + 1) % 20_000));
    let nested = format!("{}start: \"a\"{}", "start: %lark { ".repeat(100), " }".repeat(100));
    let cases: [(String, Option<ErrorKind>); 13] = [
        (format!("start: {}", "(".repeat(30_000)), Some(ErrorKind::Limit)),
        (format!("start: {}\"a\"{}", "[".repeat(900), "]".repeat(900)), None),
        (format!("start: {}\"a\"", "~".repeat(300_001)), None),
        (format!("start: r0\n{ring}"), None),
        (format!("start: {}", "\"a\" ".repeat(300_000)), None),
        (format!("start: \"a\"{}", " | \"b\"".repeat(300_000)), None),
        (nested, Some(ErrorKind::Limit)),
        ("start: grow{\"a\"}\ngrow{x}: x | grow{both{x}}\nboth{x}: x x".to_owned(), Some(ErrorKind::Limit)),
        ("start: p::0\np::_: \"a\" p::incr(_)".to_owned(), Some(ErrorKind::Limit)),
        ("start: <[0-4000000000]>".to_owned(), Some(ErrorKind::Syntax)),
        (
            format!("start: f{{{}\"a\"{}\nf{{x}}: x", "f{".repeat(5_000), "}".repeat(5_000)),
            Some(ErrorKind::Syntax),
        ),
        ("start: \"a\"{4294967296}".to_owned(), Some(ErrorKind::Limit)),
        (
            format!("start: p::0\np::_: \"a\" %if {}true{}", "not(".repeat(5_000), ")".repeat(5_000)),
            Some(ErrorKind::Syntax),
        ),
    ];
    for (source, error) in cases {
        let started = Instant::now();
        let limits = Limits { max_rules: 30_000, ..Limits::default() };
        let budget = Budget::new(limits.clone(), crate::CancelFlag::default());
        let result = parse(&source, &Surroundings::default(), &limits, &budget);
        let start: String = source.chars().take(40).collect();
        assert_eq!(result.as_ref().err().map(crate::Error::kind), error, "{start}: {:?}", result.err());
        assert!(started.elapsed() < Duration::from_secs(120), "{start} took {:?}", started.elapsed());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Any text is a grammar or an error, and what is a grammar prints as one.
    #[test]
    fn garbage_is_an_error(words in proptest::collection::vec(word(), 0..40)) {
        let source = format!("start: {}", words.concat());
        if let Ok(grammar) = read(&source) {
            let budget = Budget::default();
            let text = grammar.to_string();
            crate::frontends::ebnf::parse(&text, "root", budget.limits(), &budget)
                .unwrap_or_else(|error| panic!("{source}\n{text}\n{error}"));
        }
    }
}

fn word() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "\"a\"",
        "\"b\"i",
        " ",
        "\n",
        "a: ",
        "a",
        "A",
        "A: ",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        "|",
        "&",
        "~",
        "?",
        "*",
        "+",
        "~2",
        "~1..3",
        "{2}",
        "{1,}",
        "/a+/",
        "/[^b]/s",
        "/(/",
        "\"a\"..\"c\"",
        "-> x",
        "%ignore ",
        "%import common.INT\n",
        "INT",
        "%json {\"type\": \"null\"}",
        "%lark { start: \"x\" }",
        "%regex {\"substring_chars\": \"ab\"}",
        "<[1]>",
        "<[^2-3]>",
        "<[*]>",
        "<|x|>",
        "@g",
        "a{A}",
        "a{x}: x",
        "a[lazy]: ",
        "a[capture]: ",
        "a[suffix=\"b\"]: ",
        "p::_ : ",
        "p::0",
        "p::incr(_)",
        "%if bit_set(1)",
        "// c\n",
        "# c\n",
        "%declare B\n",
        "%extend ",
        "%override ",
        ".2",
        "é",
        "\"",
        "/",
        "'",
    ];
    proptest::sample::select(WORDS).prop_map(str::to_owned)
}
