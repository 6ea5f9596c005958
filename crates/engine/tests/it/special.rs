//! Special tokens: no text, and there where a grammar names them.

use std::sync::Arc;

use tokenstile_engine::oracle::Oracle;
use tokenstile_engine::vocab::{TokenId, Vocab, VocabOptions};
use tokenstile_engine::{CompiledGrammar, Matcher, MatcherOptions};
use tokenstile_grammar::frontends::json_schema::Spelling;
use tokenstile_grammar::frontends::structural_tag;
use tokenstile_grammar::{Budget, Grammar, passes};

use crate::dice::Dice;
use crate::invariants::{check_every_token, compile, has, mask, parse};

const STOP: u32 = 0;
const X: u32 = 1;
const Y: u32 = 2;
/// One whose text begins with the text of another.
const XY: u32 = 3;
const TOKENS: [&[u8]; 18] = [
    b"</s>",
    b"<|x|>",
    b"<|y|>",
    b"<|x|><|y|>",
    b"<",
    b"|",
    b"x",
    b"y",
    b">",
    b"a",
    b"{",
    b"}",
    b"<|",
    b"|>",
    b"a<|x|>",
    b"\"",
    b"1",
    b"",
];
const SPECIAL: [u32; 4] = [STOP, X, Y, XY];

fn vocab() -> Arc<Vocab> {
    let options = VocabOptions {
        stop_token_ids: Some(vec![TokenId(STOP)]),
        special_token_ids: SPECIAL.map(TokenId).to_vec(),
        ..VocabOptions::default()
    };
    Vocab::new(TOKENS, options).unwrap()
}

fn tag(source: &str) -> Grammar {
    structural_tag::parse(source, Spelling::Any, None, &Budget::default())
        .unwrap_or_else(|error| panic!("{source}: {error}"))
}

fn matcher(grammar: Grammar) -> Matcher {
    Matcher::new(compile(grammar, &vocab(), usize::MAX), MatcherOptions::default())
}

/// How many of `tokens` are accepted.
fn accepted(grammar: &Grammar, tokens: &[u32]) -> usize {
    matcher(grammar.clone()).validate_tokens(tokens)
}

fn grammars() -> Vec<(&'static str, Grammar)> {
    let ebnf = [
        "root ::= Marker(\"a<|x|>{\") [a-z]* Marker(\"<|y|>\")",
        "root ::= Marker(\"<|x|><|y|>a<|x|>\")",
        "root ::= (Marker(\"<|\") (Marker(\"x|>a\") | Marker(\"y|>1\")))*",
        "root ::= a* Marker(\"<|x|>\")\na[capture] ::= Marker(\"a<|y|>\") | \"1\"",
        "root ::= (Marker(\"<|x|>\") | \"<|\") [ax|>]*",
        "root ::= Token(1) | AnyToken() \"a\" | ExcludeToken(1, 4) \"1\"",
        "root ::= [^\"]* Token(1, 2) \"<|x|>\"",
        "root ::= r \"}\"\nr ::= \"{\" r \"}\" | Marker(\"<|x|>\") r | \"\"",
    ];
    let tags = [
        r#"{"type": "triggered_tags", "triggers": ["<|x|>"], "excludes": ["1"], "tags": [
            {"begin": "<|x|>a", "content": {"type": "any_text"}, "end": "<|y|>"},
            {"begin": "<|x|><|y|>{", "content": {"type": "regex", "pattern": "[ay]*"}, "end": "}"}]}"#,
        r#"{"type": "triggered_tags", "triggers": ["<|", "a"], "stop_after_first": true, "tags": [
            {"begin": "<|x|>1", "content": {"type": "const_string", "value": "y<|x|>"}, "end": ""},
            {"begin": "<|y|>1", "content": {"type": "const_string", "value": "y"}, "end": "<|x|>"},
            {"begin": "a<|x|>", "content": {"type": "const_string", "value": "y"}, "end": ""}]}"#,
        r#"{"type": "dispatch", "excludes": ["{"], "rules": [
            ["a<|x|>", {"type": "const_string", "value": "1"}], ["<|x|>", {"type": "const_string", "value": "y"}]]}"#,
        r#"{"type": "dispatch", "loop": false, "rules": [["|<|x|>a", {"type": "any_text", "excludes": ["1"]}]]}"#,
        r#"{"type": "tag", "begin": "<|x|>", "content": {"type": "json_schema", "json_schema": {"type": "string"}},
            "end": ["<|y|>", "a"]}"#,
        r#"{"type": "tags_with_separator", "separator": "<|y|>", "tags": [
            {"begin": "a", "content": {"type": "any_text"}, "end": "<|x|>"}]}"#,
    ];
    let tags = tags.iter().map(|format| (*format, tag(&format!(r#"{{"format": {format}}}"#))));
    ebnf.iter().map(|source| (*source, parse(source))).chain(tags).collect()
}

#[test]
fn masks_are_those_of_the_oracle() {
    let (vocab, budget) = (vocab(), Budget::default());
    for (source, grammar) in grammars() {
        let lowered = passes::markers::lower(grammar.clone(), vocab.table().special(), &budget).unwrap();
        let oracle = Oracle::new(&lowered).unwrap();
        let compiled = compile(grammar.clone(), &vocab, usize::MAX);
        let small = compile(grammar, &vocab, 0);
        for seed in 0..40 {
            let mut dice = Dice::new(seed);
            let mut state = oracle.start();
            let mut matcher = Matcher::new(Arc::clone(&compiled), MatcherOptions::default());
            let mut twin = Matcher::new(Arc::clone(&small), MatcherOptions::default());
            for step in 0..14 {
                let at = format!("{source}, seed {seed}, step {step}");
                let row = if seed < 4 { check_every_token(&mut matcher, &at) } else { mask(&mut matcher) };
                assert_eq!(mask(&mut twin), row, "{at}: with the smallest caches");
                if matcher.is_stopped() {
                    break;
                }
                let mut choices = Vec::new();
                for token in (0..TOKENS.len() as u32).filter(|&token| token != STOP) {
                    let (bytes, text) = (vocab.token_bytes(TokenId(token)), vocab.token_text(TokenId(token)));
                    let is_special = bytes.is_empty();
                    let expected = if is_special {
                        state.would_accept_special(text, token)
                    } else {
                        state.would_accept(bytes, token)
                    };
                    assert_eq!(has(&row, token), expected, "{at}: {}", text.escape_ascii());
                    // Special tokens are rare, and what happens behind them is what this is about.
                    choices.extend(std::iter::repeat_n(
                        token,
                        if expected { 1 + 6 * usize::from(is_special) } else { 0 },
                    ));
                }
                assert_eq!(matcher.jump_forward(), state.jump_forward(), "{at}");
                assert_eq!(matcher.is_completed(), state.is_complete(), "{at}");
                let Some(&token) = choices.get(dice.below(choices.len())) else { break };
                match vocab.token_bytes(TokenId(token)) {
                    [] => state.advance_special(vocab.token_text(TokenId(token)), token),
                    bytes => state.advance_token(bytes, token),
                }
                assert!(matcher.accept_token(token) && twin.accept_token(token), "{at}");
            }
        }
    }
}

/// What is written with special tokens is what the grammar has as text, some of the text being tokens; and a text of
/// markers alone may be written with any of them.
#[test]
fn with_special_tokens_it_is_the_same_text() {
    let vocab = vocab();
    for (source, grammar) in grammars().into_iter().filter(|(source, _)| !source.contains("Token(")) {
        let compiled = compile(grammar, &vocab, usize::MAX);
        let mut seen = 0;
        for seed in 0..60 {
            let mut dice = Dice::new(seed);
            let mut matcher = Matcher::new(Arc::clone(&compiled), MatcherOptions::default());
            let mut text = Matcher::new(Arc::clone(&compiled), MatcherOptions::default());
            for _ in 0..14 {
                let row = mask(&mut matcher);
                let choices: Vec<u32> = (1..TOKENS.len() as u32).filter(|&token| has(&row, token)).collect();
                let Some(&token) = choices.get(dice.below(choices.len())) else { break };
                assert!(matcher.accept_token(token));
                assert!(text.accept_bytes(vocab.token_text(TokenId(token))), "{source}");
                // The characters of a token may be free text, the token is the beginning of a tag.
                assert!(text.is_completed() || !matcher.is_completed(), "{source}");
                seen += usize::from(SPECIAL.contains(&token));
            }
        }
        assert!(seen > 0, "{source}");
    }
}

#[test]
fn markers_alone_may_be_written_in_any_way() {
    let text = b"<|x|><|y|>a<|x|>";
    let grammar = parse("root ::= Marker(\"<|x|><|y|>\") Marker(\"a<|x|>\")");
    let compiled = compile(grammar, &vocab(), usize::MAX);
    let mut open: Vec<(usize, Vec<u32>)> = vec![(0, Vec::new())];
    let mut ways = 0;
    while let Some((length, way)) = open.pop() {
        let mut matcher = Matcher::new(Arc::clone(&compiled), MatcherOptions::default());
        let count = matcher.validate_tokens(&way);
        // A token that is text and holds a special token's text is text all the same.
        assert_eq!(count, way.len(), "{way:?}");
        ways += usize::from(length == text.len());
        for (token, bytes) in (1..).zip(&TOKENS[1..]) {
            if !bytes.is_empty() && text[length..].starts_with(bytes) {
                open.push((length + bytes.len(), [&way[..], &[token]].concat()));
            }
        }
    }
    assert!(ways > 100, "{ways}");
}

#[test]
fn text_has_none() {
    for source in ["root ::= \"<|x|>\"*", "root ::= [^a]*", "root ::= ~\"a\"", "root ::= FreeText(\"a\")"] {
        let mut matcher = matcher(parse(source));
        let row = mask(&mut matcher);
        assert_eq!([X, Y, XY].map(|token| has(&row, token)), [false; 3], "{source}");
        assert!(has(&row, STOP), "{source}");
        assert!(matcher.accept_bytes(b"<|x|>"), "{source}");
    }
}

#[test]
fn they_are_there_where_they_are_named() {
    let any = parse("root ::= AnyToken()*");
    assert_eq!(accepted(&any, &[X, Y, 9, 15]), 4);
    assert_eq!(accepted(&any, &[17]), 0, "there is no such token");
    assert_eq!(accepted(&parse("root ::= ExcludeToken(1)*"), &[Y, X]), 1);
    assert_eq!(accepted(&parse("root ::= Token(1) \"a\""), &[X, 9, STOP]), 3);
}

#[test]
fn a_special_token_in_free_text_begins_a_tag() {
    let grammar = tag(r#"{"format": {"type": "triggered_tags", "triggers": ["<|x|>a"], "tags": [
            {"begin": "<|x|>a", "content": {"type": "const_string", "value": "1"}, "end": "<|y|>"}]}}"#);
    assert_eq!(accepted(&grammar, &[9, X, 9, 16, Y, 9, X, 9, 16, 12, 7, 13, STOP]), 13);
    assert_eq!(accepted(&grammar, &[X, 16]), 1, "after the token comes the rest of the tag");
    assert_eq!(accepted(&grammar, &[12, 6, 13, 16, STOP]), 5, "the same as text need not be a tag");
    assert_eq!(accepted(&grammar, &[Y]), 0);
}

#[test]
fn forced_text_goes_on_over_markers() {
    let mut matcher = matcher(parse("root ::= \"a\" Marker(\"<|x|>{\") Token(2)"));
    assert_eq!(matcher.jump_forward(), b"a<|x|>{");
    assert!(matcher.accept_token(9) && matcher.accept_token(X));
    assert_eq!(matcher.jump_forward(), b"{");
}

#[test]
fn captures_hold_the_text_of_special_tokens() {
    let source = "root ::= a Marker(\"<|y|>\")\na[capture] ::= \"a\" Marker(\"<|x|>\") \"1\"";
    let mut matcher = matcher(parse(source));
    matcher.watch_captures().unwrap();
    for token in [9, X, 16, Y, STOP] {
        assert!(matcher.accept_token(token));
    }
    let expected = ("a".to_owned(), b"a<|x|>1".to_vec());
    assert_eq!(matcher.captures(true).unwrap(), std::slice::from_ref(&expected));
    let told = matcher.new_captures().unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].byte_span.clone(), told[0].token_span.clone()), (0..7, 0..3));
}

#[test]
fn a_special_stop_token_may_be_the_end_of_the_grammar() {
    let mut matcher = matcher(parse("root ::= \"a\" Marker(\"</s>\")"));
    assert!(matcher.accept_token(9));
    assert!(has(&mask(&mut matcher), STOP));
    assert!(matcher.accept_token(STOP));
    assert!(matcher.is_stopped());
}

#[test]
fn budgets_count_a_special_token_as_one() {
    let compiled: Arc<CompiledGrammar> =
        compile(parse("root ::= Marker(\"<|x|>\") [a]* Marker(\"<|y|>\")"), &vocab(), usize::MAX);
    let with = |max_tokens| {
        let options = MatcherOptions { max_tokens: Some(max_tokens), ..MatcherOptions::default() };
        Matcher::with_budget(Arc::clone(&compiled), options)
    };
    assert!(with(2).is_err());
    let mut matcher = with(3).unwrap();
    let row = check_every_token(&mut matcher, "three tokens");
    assert!(has(&row, X) && !has(&row, 4));
    assert!(matcher.accept_token(X));
    let row = check_every_token(&mut matcher, "two tokens");
    assert!(has(&row, Y) && !has(&row, 9));
}
