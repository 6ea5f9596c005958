//! Tests of the lowering of dispatches: against a slow search in the text, and against XGrammar's answers.

use proptest::prelude::*;

use super::*;
use crate::frontends::ebnf;
use crate::regular::{Dfa, determinize};

/// The rule that follows the n-th tag is the digit n.
fn source(tags: &[&str], excludes: &[&str], repeats: bool) -> String {
    let rules: Vec<String> = (0..tags.len()).map(|at| format!("r{at} ::= \"{at}\"")).collect();
    let tags = tags.iter().enumerate().map(|(at, tag)| format!("({tag:?}, r{at})"));
    let excludes: Vec<String> = excludes.iter().map(|text| format!("{text:?}")).collect();
    let options = [format!("loop_after_dispatch={repeats}"), format!("excludes=({})", excludes.join(", "))];
    let arguments: Vec<String> = tags.chain(options).collect();
    format!("root ::= TagDispatch({})\n{}", arguments.join(", "), rules.join("\n"))
}

fn lowered(source: &str) -> Grammar {
    let budget = Budget::default();
    let grammar = ebnf::parse(source, "root", budget.limits(), &budget).unwrap();
    lower(grammar, &budget).unwrap()
}

fn automaton(source: &str) -> Dfa {
    let grammar = lowered(source);
    let body = grammar.rule(grammar.root()).body;
    determinize(&grammar, body, &Budget::default()).unwrap()
}

/// The definition, by search: which tags may end at `end` of a text whose free part begins at 0.
fn tags_that_end(text: &str, end: usize, tags: &[&str], excludes: &[&str]) -> Vec<usize> {
    let fits = |tag: &&str| {
        let Some(start) = end.checked_sub(tag.len()).filter(|_| text[..end].ends_with(*tag)) else {
            return false;
        };
        let strings = || tags.iter().chain(excludes);
        let starts_before = |at: usize| strings().any(|string| text[at..end].starts_with(*string));
        let is_dead = excludes.iter().any(|exclude| tag.contains(exclude));
        !is_dead && (0..start).all(|at| !starts_before(at))
    };
    (0..tags.len()).filter(|&at| fits(&tags[at])).collect()
}

/// Whether the dispatch matches, by search. The texts are ASCII.
fn matches_slowly(text: &str, tags: &[&str], excludes: &[&str], repeats: bool) -> bool {
    let is_free = !tags.iter().chain(excludes).any(|string| text.contains(string));
    is_free
        || (1..text.len()).any(|end| {
            tags_that_end(text, end, tags, excludes).iter().any(|&tag| {
                let rest = text[end..].strip_prefix(&tag.to_string());
                rest.is_some_and(|rest| {
                    if repeats { matches_slowly(rest, tags, excludes, true) } else { rest.is_empty() }
                })
            })
        })
}

/// Tags, excluded strings, what is accepted and what is refused without repeats.
type Case = (Texts, Texts, Texts, Texts);
type Texts = &'static [&'static str];

/// The answers are those of xgrammar 0.2.8.
#[test]
fn answers_as_xgrammar_does() {
    let cases: &[Case] = &[
        (&["<a>"], &[], &["", "xx", "x<a>0", "<", "<a"], &["x<a>", "x<a>0y", "x<a>0<a>0"]),
        (&["<a>"], &["bb"], &["b", "b<a>0"], &["bb", "abba"]),
        (&["<a>", "<a>b"], &[], &["<a>0", "<a>b1"], &["<a>1", "<a>b0"]),
        (&["<a>", "a>"], &[], &["<a>0", "a>1"], &["<a>1", "a>0"]),
        (&["<ab", "a"], &[], &["<ab0", "<a1", "a1"], &["<ab1", "ab"]),
        (&["ab", "bc"], &[], &["ab0", "bc1", "xbc1"], &["abc1"]),
        (&["ab", "bcd"], &[], &["ab0", "bcd1"], &["abcd1"]),
        (&["aa"], &[], &["aa0", "a0", "ba0"], &["aaa0", "aaaa0"]),
        (&["ab", "abab"], &[], &["ab0", "abab1"], &["abab0", "ababab0"]),
        (&["ab", "aab"], &[], &["ab0", "aab1", "aaab1"], &["aab0", "aaab0"]),
        (&["abc"], &["cd"], &["abc0", "ab"], &["cd"]),
        (&["abc"], &["xab"], &["abc0", "xa"], &["xabc0", "xab"]),
        (&["abc"], &["xabcd"], &["xabc0", "abc0"], &["xabcd"]),
        (&[], &[], &["", "anything"], &[]),
        (&[], &["a"], &["", "b"], &["a", "ba"]),
    ];
    for (tags, excludes, accepted, refused) in cases {
        let dfa = automaton(&source(tags, excludes, false));
        for text in *accepted {
            assert!(dfa.matches(text.as_bytes()), "{tags:?} {excludes:?} should accept {text:?}");
        }
        for text in *refused {
            assert!(!dfa.matches(text.as_bytes()), "{tags:?} {excludes:?} should refuse {text:?}");
        }
    }
}

#[test]
fn a_repeating_dispatch_goes_on() {
    let dfa = automaton(&source(&["<a>"], &["bb"], true));
    for text in ["", "x<a>0", "x<a>0y", "x<a>0<a>0", "x<a>0<", "b<a>0b"] {
        assert!(dfa.matches(text.as_bytes()), "{text:?}");
    }
    for text in ["x<a>", "x<a>0bb", "<a>0<a>"] {
        assert!(!dfa.matches(text.as_bytes()), "{text:?}");
    }
}

#[test]
fn two_tags_of_one_text_give_a_choice() {
    let dfa = automaton(&source(&["<a>", "<a>"], &[], true));
    assert!(dfa.matches(b"<a>0<a>1") && !dfa.matches(b"<a>2"));
}

#[test]
fn text_is_utf8() {
    let dfa = automaton(&source(&["é!"], &[], true));
    assert!(dfa.matches("éè!é!0é".as_bytes()));
    assert!(!dfa.matches(b"\xc3") && !dfa.matches(b"\xff") && !dfa.matches("é!".as_bytes()));
}

#[test]
fn the_lowered_grammar_prints_and_parses() {
    for tags in [&["<a>", "<b>"][..], &["aa", "ab"]] {
        let grammar = lowered(&source(tags, &["zz"], true));
        let printed = grammar.to_string();
        let budget = Budget::default();
        let again = ebnf::parse(&printed, "root", budget.limits(), &budget).unwrap();
        assert_eq!(again.to_string(), printed);
        let again = lower(again, &budget).unwrap();
        let body =
            |grammar: &Grammar| determinize(grammar, grammar.rule(grammar.root()).body, &budget).unwrap();
        assert_eq!(body(&again), body(&grammar), "{printed}");
    }
}

#[test]
fn tokens_dispatch() {
    let grammar = lowered("root ::= TokenTagDispatch((5, r), (7, r), excludes=(9,))\nr ::= \"x\"");
    let expected =
        "root ::= ExcludeToken(5, 7, 9)* ((Token(5) r | Token(7) r) ExcludeToken(5, 7, 9)*)*\nr ::= \"x\"\n";
    assert_eq!(grammar.to_string(), expected);
    let grammar = lowered("root ::= TokenTagDispatch((5, r), loop_after_dispatch=false)\nr ::= \"x\"");
    assert_eq!(grammar.to_string(), "root ::= ExcludeToken(5)* (Token(5) r)?\nr ::= \"x\"\n");
    let grammar = lowered("root ::= TokenTagDispatch()");
    assert_eq!(grammar.to_string(), "root ::= AnyToken()*\n");
}

/// Words of eight letters, the same ones each time. Their ends are others' beginnings.
fn words(count: u64) -> Vec<String> {
    let word = |at: u64| {
        let bits = (at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (0..8).map(|place| char::from(b'a' + (bits >> (8 * place) & 0xFF) as u8 % 26)).collect()
    };
    (0..count).map(word).collect()
}

#[test]
fn work_is_linear_in_the_length_of_the_tags() {
    let numbered =
        |shape: &str| (0..4_000).map(|at| shape.replace("NUMBER", &at.to_string())).collect::<Vec<_>>();
    for tags in [numbered("<function=tool_NUMBER>"), numbered("|NUMBER|"), words(4_000)] {
        let pairs: Vec<String> = tags.iter().map(|tag| format!("({tag:?}, r)")).collect();
        let source = format!("r ::= \"x\"\nroot ::= TagDispatch({})", pairs.join(", "));
        let budget = Budget::default();
        let grammar = ebnf::parse(&source, "root", budget.limits(), &budget).unwrap();
        let before = budget.ticks();
        let machine = crate::passes::compile(&grammar, &budget).unwrap();
        let bytes: usize = tags.iter().map(String::len).sum();
        let ticks = budget.ticks() - before;
        assert!(ticks as usize <= 20 * bytes, "{ticks} steps for {bytes} bytes of {:?}", tags[0]);
        let [tagged] = &machine.tagged[..] else { panic!("one text with tags") };
        assert!(tagged.text.len() <= bytes + Dfa::any_text().len());
        assert!(machine.nodes.len() < 16, "{} nodes", machine.nodes.len());
    }
}

#[test]
fn a_conjunction_with_overlapping_tags_is_refused_by_a_limit() {
    let pairs: Vec<String> = words(2_000).iter().map(|tag| format!("({tag:?}, r)")).collect();
    let recursive = "r ::= \"(\" r \")\" | \"x\"";
    let source = format!("{recursive}\nall ::= TagDispatch({})\nroot ::= all & ~\"no\"", pairs.join(", "));
    let budget = Budget::default();
    let grammar = ebnf::parse(&source, "root", budget.limits(), &budget).unwrap();
    let error = crate::passes::compile(&grammar, &budget).unwrap_err();
    assert!(error.message().contains("free text with so many tags"), "{error}");
}

#[test]
fn a_conjunction_with_a_few_tags_is_exact() {
    let source = "r ::= \"(\" r \")\" | \"x\"\nall ::= TagDispatch((\"ab\", r), (\"bc\", r))\nroot ::= all & ~(\"ab((\" .*)";
    let budget = Budget::default();
    let grammar = ebnf::parse(source, "root", budget.limits(), &budget).unwrap();
    assert!(crate::passes::compile(&grammar, &budget).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn agrees_with_search(
        tags in prop::collection::vec("[ab<]{1,3}", 0..4),
        excludes in prop::collection::vec("[ab<]{1,3}", 0..3),
        repeats: bool,
        texts in prop::collection::vec("[ab<012]{0,8}", 30),
    ) {
        let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
        let is_held = |text: &&String| tags.iter().any(|tag| tag.contains(text.as_str()));
        let excludes: Vec<&str> = excludes.iter().filter(|text| !is_held(text)).map(String::as_str).collect();
        let dfa = automaton(&source(&tags, &excludes, repeats));
        for text in &texts {
            let expected = matches_slowly(text, &tags, &excludes, repeats);
            prop_assert_eq!(dfa.matches(text.as_bytes()), expected, "{:?} {:?} {:?}", tags, excludes, text);
        }
    }
}
