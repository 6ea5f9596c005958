use super::*;
use crate::frontends::ebnf;

/// The rules of a grammar for special tokens with these texts, whose ids are their places, and no others.
fn lowered_for(source: &str, special: &[&str]) -> Grammar {
    let budget = Budget::default();
    let grammar = ebnf::parse(source, "root", budget.limits(), &budget).unwrap();
    let special = Special::new(special.iter().map(|text| text.as_bytes()).zip(0..));
    super::super::trim::trim(lower(grammar, &special, &budget).unwrap(), &budget).unwrap()
}

#[track_caller]
fn check(source: &str, special: &[&str], expected: &str) {
    assert_eq!(lowered_for(source, special).to_string(), format!("{expected}\n"));
}

const X: &str = "<|x|>";

#[test]
fn a_marker_without_special_tokens_is_text() {
    check("root ::= Marker(\"<|x|>\") \"a\"", &[], "root ::= \"<|x|>a\"");
    check("root ::= Marker(\"<|x|>\") \"a\"", &["<|y|>"], "root ::= \"<|x|>a\"");
    check("root ::= \"<|x|>\" [<] \"|x|>\"", &[X], "root ::= \"<|x|><|x|>\"");
}

#[test]
fn a_special_token_may_stand_for_its_text() {
    check("root ::= Marker(\"<|x|>\")", &[X], "root ::= \"<|x|>\" | Token(0)");
    check(
        "root ::= Marker(\"a<|x|>b<|x|><|y|>\")",
        &[X, "<|y|>", X],
        "root ::= \"a\" (\"<|x|>\" | Token(0, 2)) \"b\" (\"<|x|>\" | Token(0, 2)) (\"<|y|>\" | Token(1))",
    );
}

#[test]
fn markers_side_by_side_are_one() {
    let expected = "root ::= \"<\" a | \"<\" b\na ::= \"x\"\nb ::= \"y\"";
    check("root ::= \"<\" a | \"<\" b\na ::= \"x\"\nb ::= \"y\"", &["<x"], expected);
    check("root ::= Marker(\"<|\") Marker(\"x|>\")", &[X], "root ::= \"<|x|>\" | Token(0)");
    check(
        "root ::= Marker(\"<|\") (Marker(\"x|>1\") | Marker(\"y|>2\"))",
        &[X],
        "root ::= \"<|\" (\"x|>1\" | \"y|>2\") | Token(0) marker_1\nmarker_1 ::= \"1\"",
    );
    // Through the rule of the tags behind a trigger.
    check(
        "root ::= Marker(\"<|\") tags\ntags ::= Marker(\"x|>1\") | Marker(\"y|>2\")",
        &[X],
        "root ::= \"<|\" tags | Token(0) marker_1\ntags ::= \"x|>1\" | \"y|>2\"\nmarker_1 ::= \"1\"",
    );
}

#[test]
fn tokens_that_overlap_are_all_there() {
    let budget = Budget::default();
    let grammar = lowered_for("root ::= Marker(\"aaaa\")", &["a", "aa", "aaa"]);
    let texts = ["a", "aa", "aaa"];
    // Every way to write it with the tokens and with the letter, which has the number 3.
    let mut open: Vec<(usize, Vec<u32>)> = vec![(0, Vec::new())];
    let mut ways = 0;
    while let Some((length, way)) = open.pop() {
        if length == 4 {
            ways += 1;
            continue;
        }
        for (token, text) in (0..).zip(texts.iter().copied().chain(["a"])) {
            if length + text.len() <= 4 {
                open.push((length + text.len(), [&way[..], &[token]].concat()));
            }
        }
    }
    assert_eq!(count_words(&grammar, grammar.rule(grammar.root()).body), ways);
    assert!(budget.ticks() < 1_000);
}

/// How many ways an expression without loops can be written.
fn count_words(grammar: &Grammar, expr: ExprId) -> usize {
    match grammar.expr(expr) {
        Expr::Seq(items) => items.iter().map(|&item| count_words(grammar, item)).product(),
        Expr::Alt(items) => items.iter().map(|&item| count_words(grammar, item)).sum(),
        Expr::Rule(rule) => count_words(grammar, grammar.rule(*rule).body),
        _ => 1,
    }
}

#[test]
fn recursion_that_goes_on_reaching_is_an_error() {
    let budget = Budget::default();
    let source = "root ::= Marker(\"a\") s\ns ::= Marker(\"ba\") s Marker(\"z\") | \"y\"";
    let grammar = ebnf::parse(source, "root", budget.limits(), &budget).unwrap();
    let special = Special::new([(&b"ab"[..], 0)]);
    assert!(lower(grammar, &special, &budget).is_err());
    // One that comes back to the same place is a rule.
    let grammar = lowered_for("root ::= Marker(\"a\") s\ns ::= Marker(\"ba\") s | \"y\"", &["ab"]);
    assert!(grammar.rules().len() < 8, "{grammar}");
}

#[test]
fn what_must_be_regular_has_text_alone() {
    check(
        "root ::= a (a & [^b]*)\na ::= Marker(\"<|x|>\")",
        &[X],
        "root ::= a (a_text & [^b]*)\na ::= \"<|x|>\" | Token(0)\na_text ::= \"<|x|>\"",
    );
    check(
        "root ::= a b\na[lazy] ::= [a-z]* Marker(\"<|x|>\")\nb ::= Marker(\"<|x|>\")",
        &[X],
        "root ::= a b\na[lazy] ::= [a-z]* \"<|x|>\"\nb ::= \"<|x|>\" | Token(0)",
    );
}

#[test]
fn a_tag_may_be_begun_with_a_token() {
    check(
        "root ::= TagDispatch((\"<|x|>a\", t), (\"b\", t), markers=true)\nt ::= \"!\"",
        &[X],
        "root ::= TagDispatch((\"<|x|>a\", t), (\"b\", t), loop_after_dispatch=true, excludes=()) (Token(0) \"a\" t \
         TagDispatch((\"<|x|>a\", t), (\"b\", t), loop_after_dispatch=true, excludes=()))*\nt ::= \"!\"",
    );
    check(
        "root ::= TagDispatch((\"<|x|>\", t), markers=true, loop_after_dispatch=false)\nt ::= \"!\"",
        &[X],
        "root ::= TagDispatch((\"<|x|>\", t), loop_after_dispatch=false, excludes=()) | FreeText(\"<|x|>\") Token(0) t\n\
         t ::= \"!\"",
    );
    check(
        "root ::= TagDispatch((\"<|x|>\", t))\nt ::= \"!\"",
        &[X],
        "root ::= TagDispatch((\"<|x|>\", t), loop_after_dispatch=true, excludes=())\nt ::= \"!\"",
    );
}

#[test]
fn a_tag_that_another_would_begin_before_is_kept_apart() {
    let grammar = lowered_for(
        "root ::= TagDispatch((\"a<|x|>\", s), (\"<|x|>\", t), markers=true)\ns ::= \"1\"\nt ::= \"2\"",
        &[X],
    )
    .to_string();
    assert!(grammar.contains("before=\"<|x|>\") Token(0) t"), "{grammar}");
    assert!(grammar.contains("\"a\" Token(0) s"), "{grammar}");
}
