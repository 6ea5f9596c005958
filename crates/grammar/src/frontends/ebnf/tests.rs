//! Tests of the front end as a whole: what is read, how it prints, what is refused and in which words.

use std::time::{Duration, Instant};

use super::*;
use crate::error::ErrorKind;
use crate::frontends::json_schema::Spelling;
use crate::ir::RuleOptions;
use crate::regular::{Dfa, determinize};

mod errors;
mod round_trip;

fn read(source: &str) -> Result<Grammar> {
    let budget = Budget::default();
    parse(source, "root", budget.limits(), &budget)
}

fn printed(source: &str) -> String {
    read(source).unwrap_or_else(|error| panic!("{source}\n{error}")).to_string()
}

fn automaton(source: &str) -> Dfa {
    let grammar = read(source).unwrap_or_else(|error| panic!("{source}\n{error}"));
    determinize(&grammar, grammar.rule(grammar.root()).body, &Budget::default()).unwrap()
}

#[track_caller]
fn check(source: &str, accepted: &[&str], refused: &[&str]) {
    let dfa = automaton(source);
    for text in accepted {
        assert!(dfa.matches(text.as_bytes()), "{source} should accept {text:?}");
    }
    for text in refused {
        assert!(!dfa.matches(text.as_bytes()), "{source} should refuse {text:?}");
    }
}

#[test]
fn literals_and_escapes() {
    check(r#"root ::= "\x41\u00e9\U0001F600\ud83d\ude00" "" "\"""#, &["Aé😀😀\""], &["Aé😀"]);
    check(r#"root ::= "\x000041""#, &["A"], &[]);
    check(r#"root ::= "\?\'\a\b\f\v\e\/\0\[\]""#, &["?'\u{7}\u{8}\u{c}\u{b}\u{1b}/\0[]"], &[]);
    check(r#"root ::= """#, &[""], &["a"]);
}

#[test]
fn classes() {
    check("root ::= [a-c-e]", &["a", "c", "-", "e"], &["d"]);
    check("root ::= [^a\\n]", &["b", "é", "^"], &["a", "\n"]);
    check("root ::= [^]", &["a", "\n", "😀"], &["", "aa"]);
    check("root ::= [] | \"a\"", &["a"], &["", "b"]);
    check("root ::= [\"#|]", &["\"", "#", "|"], &[]);
}

#[test]
fn quantifiers() {
    for (quantifier, counts) in [
        ("?", &[0, 1][..]),
        ("*", &[0, 1, 2, 3, 4, 5]),
        ("+", &[1, 2, 3, 4, 5]),
        ("{2}", &[2]),
        ("{2,}", &[2, 3, 4, 5]),
        ("{2, -1}", &[2, 3, 4, 5]),
        (" { 2 , 4 }", &[2, 3, 4]),
        ("{0}", &[0]),
        (" *", &[0, 1, 2, 3, 4, 5]),
    ] {
        let dfa = automaton(&format!("root ::= \"ab\"{quantifier}"));
        for count in 0..6 {
            assert_eq!(
                dfa.matches("ab".repeat(count).as_bytes()),
                counts.contains(&count),
                "{quantifier} {count}"
            );
        }
    }
}

#[test]
fn groups_sequences_and_alternatives() {
    check("root ::= \"a\" (\"b\" | \"c\" \"d\")+ ( ) | \"e\"", &["ab", "acdb", "e"], &["a", "ac", "abe"]);
    check("root ::= ()*", &[""], &["a"]);
}

#[test]
fn line_breaks_and_comments() {
    let expected = "root ::= \"x\" b | \"y\"\nb ::= \"z\"\n";
    for source in [
        "root ::= \"x\" b | \"y\"\nb ::= \"z\"",
        "root ::=\n  \"x\"\n  b\n  | \"y\"\nb ::= \"z\"\n",
        "# first\r\nroot ::= \"x\" b # one\r\n# two ::=\r\n | \"y\"\r\n  b\r\n::= \"z\" # end",
        "\u{feff}root ::= (\"x\" b |\n\"y\")\n\n\nb ::= \"z\"",
        "b ::= \"z\"\nroot ::= \"x\" b | \"y\"",
    ] {
        assert_eq!(printed(source), expected, "{source}");
    }
}

#[test]
fn a_name_first_on_its_line_may_continue_a_sequence() {
    assert_eq!(printed("root ::= \"x\"\n b[yz]\nb ::= \"a\""), "root ::= \"x\" b [yz]\nb ::= \"a\"\n");
}

#[test]
fn names() {
    for name in
        ["a.b", "-a", "_", "a-1", "A", "root-x", "Bytes", "FreeText", "AnyToken", "JsonText", "trueish"]
    {
        let source = format!("root ::= {name} (\"y\")\n{name} ::= \"x\"");
        check(&source, &["xy"], &["x"]);
        let grammar = read(&source).unwrap();
        assert_eq!(grammar.rules().map(|(_, rule)| rule.name.as_str()).collect::<Vec<_>>(), ["root", name]);
    }
}

#[test]
fn another_root() {
    let budget = Budget::default();
    let grammar = parse("root ::= \"r\"\nstart ::= root \"s\"", "start", budget.limits(), &budget).unwrap();
    assert_eq!(grammar.to_string(), "root ::= root_1 \"s\"\nroot_1 ::= \"r\"\n");
}

#[test]
fn rule_options() {
    let grammar =
        read("root ::= a b c\na[max_tokens=3, max_chars = 4] ::= \"a\"\nb[capture, lazy] ::= \"b\"\nc[capture=\"]x\", temperature=.5] ::= \"c\"")
            .unwrap();
    let options: Vec<RuleOptions> = grammar.rules().map(|(_, rule)| rule.options.clone()).skip(1).collect();
    let base = RuleOptions::default;
    assert_eq!(options[0], RuleOptions { max_tokens: Some(3), max_chars: Some(4), ..base() });
    assert_eq!(options[1], RuleOptions { capture: Some("b".to_owned()), lazy: true, ..base() });
    assert_eq!(options[2], RuleOptions { capture: Some("]x".to_owned()), temperature: Some(0.5), ..base() });
}

#[test]
fn a_lookahead_is_checked_and_means_nothing() {
    let expected = "root ::= \"a\" b\nb ::= \"c\"\n";
    assert_eq!(printed("root ::= \"a\" b (= [x-z]* b?)\nb ::= \"c\" (=\"d\" Token(1))"), expected);
}

#[test]
fn conjunction_and_complement() {
    check("root ::= [a-z]+ & ~(\"if\" | \"else\")", &["i", "ifx"], &["if", "else", ""]);
    check("root ::= \"a\"* & (\"aa\")* | \"b\" [^]", &["", "aa", "bx"], &["a", "aaa"]);
    check("root ::= ~\"a\"*", &["b", "ab"], &["", "a", "aa"]);
    check("root ::= (~\"a\"){1}", &["", "b", "aa"], &["a"]);
    check("root ::= ~~\"a\" \"b\"", &["ab"], &["b"]);
}

#[test]
fn gbnf() {
    check("root ::= . \"a\" ..", &["éabc"], &["abc", "éab"]);
    assert_eq!(printed("root ::= <[12]> !<[3, 4]>"), "root ::= Token(12) ExcludeToken(3, 4)\n");
    let budget = Budget::default();
    let find = |text: &str| (text == "<think>").then_some(7);
    let source = "root ::= <think> !<think>* \"x\"";
    let grammar = parse_with_tokens(source, "root", Some(&find), budget.limits(), &budget).unwrap();
    assert_eq!(grammar.to_string(), "root ::= Token(7) ExcludeToken(7)* \"x\"\n");
}

#[test]
fn regex_macro() {
    check("root ::= Regex(\"a.b\")", &["axb", "a\nb"], &["AxB"]);
    check("root ::= Regex(\"a.b\", flags=\"i\")", &["axb", "AxB"], &["a\nb"]);
    check("root ::= Regex(\"a.b\", flags=\"\")", &["axb"], &["a\nb", "AxB"]);
    check("root ::= Regex(\"a.b\", json_string=true)", &["axb"], &["a\nb", "a\"b", "a\\b"]);
    check("root ::= Regex(\"\\\\d+\") \"x\"", &["12x"], &["x"]);
}

#[test]
fn substring_macro() {
    check("root ::= Substring(\"ab\", \"cd\", \"ef\")", &["", "ab", "abcd", "cdef"], &["abef", "b", "abc"]);
    check("root ::= Substring(\"ab\", \"\", \"cd\")", &["", "abcd"], &["a"]);
    check("root ::= Substring() \"x\"", &["x"], &["ax"]);
}

#[test]
fn our_own_macros() {
    check("root ::= FreeText(\"aa\", \"b\")", &["", "a", "xaxa"], &["aa", "xb"]);
    check("root ::= FreeText(\"ab\", before=\"b\") \"b\"", &["b", "xb"], &["ab", "xab"]);
    let dfa = automaton("root ::= Bytes(\"\\u00ff\\u0041\") \"é\"");
    assert!(dfa.matches(b"\xffA\xc3\xa9"));
}

#[test]
fn builtin_json_has_a_canonical_form() {
    let grammar = builtin_json(Spelling::Canonical);
    let printed = grammar.to_string();
    assert_eq!(parse(&printed, "root", &Limits::default(), &Budget::default()).unwrap().to_string(), printed);
    assert!(printed.contains("\"least\"") && printed.contains("\"canonical\""), "{printed}");
}

#[test]
fn builtin_json_is_json() {
    let grammar = builtin_json(Spelling::Any);
    assert_eq!(grammar.rules().len(), 9);
    // Recursion is not regular, so the parts are checked one by one.
    let part = |name: &str, text: &str| {
        let (_, rule) = grammar.rules().find(|(_, rule)| rule.name == name).unwrap();
        determinize(&grammar, rule.body, &Budget::default()).unwrap().matches(text.as_bytes())
    };
    for text in ["0", "-0", "1e5", "1E+5", "1.5e-3", "10"] {
        assert!(part("number", text), "{text}");
    }
    for text in ["01", "1.", ".5", "+1", "-", "-01", "1e", ""] {
        assert!(!part("number", text), "{text}");
    }
    for text in [r#""""#, r#""\ud800""#, r#""\u00E9é😀""#, r#""\"\\\/\b\f\n\r\t""#, "\"\x7f\""] {
        assert!(part("string", text), "{text}");
    }
    for text in [r#"""""#, r#""\x""#, "\"\t\"", r#""\u12""#, r#"""#] {
        assert!(!part("string", text), "{text}");
    }
    assert!(part("blank", " \n\r\t") && !part("blank", "\x0b"));
}

/// What strangers may send: each is answered at once, and none touches the native stack.
#[test]
fn large_and_deep_inputs() {
    let lines =
        |count: u32, line: &dyn Fn(u32) -> String| (0..count).map(line).collect::<Vec<_>>().join("\n");
    let ring = lines(50_000, &|at| format!("r{at} ::= \"a\" r{}", (at + 1) % 50_000));
    let rules = lines(100_000, &|at| format!("r{at} ::= \"{at}\""));
    let cases: [(String, Option<ErrorKind>); 11] = [
        (format!("root ::= {}", "(".repeat(30_000)), Some(ErrorKind::Limit)),
        (format!("root ::= {}\"a\"{}", "(".repeat(30_000), ")".repeat(30_000)), Some(ErrorKind::Limit)),
        (format!("root ::= {}\"a\"{}", "(".repeat(1_000), ")*".repeat(1_000)), None),
        (format!("root ::= {}\"a\"", "~".repeat(1_000_001)), None),
        (format!("root ::= r0\n{ring}"), None),
        (format!("root ::= r0\n{rules}"), None),
        (format!("root ::= \"{}\"", "x".repeat(10 << 20)), None),
        (format!("root ::= {}", "\"a\" ".repeat(500_000)), None),
        (format!("root ::= \"a\"{}", " | \"b\"".repeat(500_000)), None),
        (format!("root ::= Token({}1)", "(".repeat(100_000)), Some(ErrorKind::Syntax)),
        (format!("root ::= {}", "<[1]> ".repeat(300_000)), None),
    ];
    for (source, error) in cases {
        let started = Instant::now();
        let result = read(&source);
        let start: String = source.chars().take(40).collect();
        assert_eq!(result.as_ref().err().map(crate::Error::kind), error, "{start}");
        if let Ok(grammar) = result {
            let _ = grammar.to_string();
        }
        assert!(started.elapsed() < Duration::from_secs(120), "{start} took {:?}", started.elapsed());
    }
}

#[test]
fn limits_are_kept() {
    let small = Limits { max_source_bytes: 100, max_rules: 2, max_depth: 3, ..Limits::default() };
    let budget = Budget::new(small.clone(), crate::CancelFlag::default());
    for source in [
        "root ::= \"a\"\nb ::= \"b\"\nc ::= \"c\"".to_owned(),
        "root ::= ((((\"a\"))))".to_owned(),
        format!("root ::= \"{}\"", "a".repeat(100)),
    ] {
        assert_eq!(parse(&source, "root", &small, &budget).unwrap_err().kind(), ErrorKind::Limit, "{source}");
    }
    assert!(parse("root ::= (((\"a\")))", "root", &small, &budget).is_ok());
}
