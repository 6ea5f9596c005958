//! The first invariant at full scale: with vocabularies of real models, the mask is compared with the acceptance of
//! every single id.
//!
//! Small vocabularies reach neither the slices of plain text, nor merged tries, nor tables of subtrees. These do. The
//! tokenizers are not part of the project: where they are absent the tests say so and pass. `TOKENSTILE_WALKS` sets
//! how many walks are made from each start, in place of three.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use flate2::read::GzDecoder;
use tokenstile_engine::vocab::tokenizer_json::{self, FileOptions};
use tokenstile_engine::vocab::{TokenId, Vocab};
use tokenstile_engine::{Matcher, MatcherOptions};
use tokenstile_grammar::frontends::ebnf;
use tokenstile_grammar::frontends::json_schema::Spelling;

use crate::dice::Dice;
use crate::invariants::{compile, has, mask, parse};

/// Gives a vocabulary, which the tests that need it share.
fn load(name: &'static str) -> Option<Arc<Vocab>> {
    static LOADED: Mutex<BTreeMap<&str, Option<Arc<Vocab>>>> = Mutex::new(BTreeMap::new());
    LOADED.lock().expect("no test panicked while it loaded").entry(name).or_insert_with(|| read(name)).clone()
}

fn read(name: &str) -> Option<Arc<Vocab>> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/tokenizers")).join(name);
    let Ok(file) = std::fs::File::open(folder.join("tokenizer.json.gz")) else {
        println!("skipped: {} is not there", folder.display());
        return None;
    };
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).expect("a gzipped text");
    Some(tokenizer_json::from_text(&text, FileOptions::default()).expect("a tokenizer"))
}

fn walks() -> u64 {
    std::env::var("TOKENSTILE_WALKS").ok().and_then(|count| count.parse().ok()).unwrap_or(3)
}

/// The built-in grammar.
const JSON: &str = "";

const SPACED: &str = "root ::= stmt (\";\" ws stmt)*\nstmt ::= ws name ws (\"=\" | \"+=\" | \"==\") expr
expr ::= ws (name | [0-9]+ | \"(\" expr ws \")\") (ws [-+*/] expr)?\nname ::= [a-zA-Z_] [a-zA-Z0-9_]*\nws ::= [ \\t\\n]*";
const AMBIGUOUS: &str =
    "root ::= root (\" \" | \"\") root | [a-z]+ | [A-Z] [a-z]* | \"(\" root \")\" | [0-9]{1,3}";
const COUNTED: &str =
    "root ::= \"[\" (text \", \"){0,40} text \"]\"\ntext ::= \"\\\"\" [^\"]{0,300} \"\\\"\"";

const SPELLED: &str = "root ::= \"{\" pair (\", \" pair)* \"}\"
pair ::= \"\\\"\" JsonText(\"name\" | \"n\\u00famero\" | \"a\\\"b\") \"\\\": \" (text | short | word)
text ::= \"\\\"\" JsonText([^]*) \"\\\"\"\nshort ::= \"<\" JsonText([^]{3,150}) \">\"
word ::= \"'\" JsonText(Regex(\"[\\\\p{L}\\\\n]+\") & ~\"if\") \"'\"";

const LISTED: &str = "root ::= \"{\" Members((\"name\", true, text), (\"names\", false, number), (\"id\", false, number, text),
(\"\u{e9}\", false, root_value), separator=\", \", order=\"any\", others=((key, number, text),), unique=true) \"}\"
key ::= [^]*\ntext ::= \": \\\"\" JsonText([^]*) \"\\\"\"\nnumber ::= \": \" [0-9]+\nroot_value ::= \": \" root";

const BOUNDED: &str = "root ::= \"\\\"\" JsonText(name | address) \"\\\"\" | \"<\" AtMost([a-z]+ (\"-\" [a-z]+)*, 30) [a-z>]+
| \"(\" AtMost(Format(\"uri\"), 70) \")\" | \"[\" [a-z-]{2,50} \"]\" | \"{\" ([^\\n]{0,25} \"\\n\"){0,30} \"}\"
name ::= AtMost(AtMost([a-z0-9-]+, 40) (\".\" AtMost([a-z0-9-]+, 20))*, 60)\naddress ::= AtMost([^@\\\"]+, 64) \"@\" name";

/// Where each walk starts, so that few steps see many kinds of places. Each grammar has a test in `walk_all_grammars`.
const STARTS: [(&str, &[&str]); 7] = [
    (
        LISTED,
        &[
            "{",
            "{\"",
            "{\"name",
            "{\"name\": \"x\", ",
            "{\"names\": 1, \"n",
            "{\"nam\": 1, \"nam",
            "{\"\\u00",
            "{\"name\": \"a",
            "{\"id\": 12",
            "{\"\u{e9}\": {\"name\": \"\", \"",
        ],
    ),
    (JSON, &["", "{", "{\"a", "{\"a\": ", "[1", "[-1.5e", "[\"x\\", "[[true, {\"k\": \"", "[1, "]),
    (SPACED, &["", "x", "x1 ", "x =", "x = (", "x = (y + 2) ", "x = 1; "]),
    (
        BOUNDED,
        &[
            "\"",
            "\"a",
            "\"abc.d",
            "\"a-b-c-d-e-f-g-h-i-j-k-l-m-n",
            "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaa.a",
            "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaa",
            "\"\\u00e9x@",
            "\"a a a a a a a a a a a a a a a a a a a a a a a a ",
            "<",
            "<ab",
            "<abcdefghij-klmnop",
            "<abcdefghij-klmnop-abcdefghijk",
            "(http://example.org/",
            "(http://example.org/------------------------/",
            "(http://example.org/--------------------------------------------/",
            "[",
            "[ab-",
            "[abcdefghijklmnopqrstuvwxyz",
            "[abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqr",
            "{",
            "{ab cd",
            "{ab cd efgh ijkl mnop",
            "{\n\n\nx",
        ],
    ),
    (AMBIGUOUS, &["", "a", "Ab ", "(a b", "12", "(ab)cd"]),
    (COUNTED, &["[\"", "[\"abc", "[\"\u{65e5}"]),
    (
        SPELLED,
        &[
            "{\"",
            "{\"n",
            "{\"\\u00",
            "{\"a\\",
            "{\"name\": \"",
            "{\"name\": \"x\\",
            "{\"name\": \"\\u",
            "{\"name\": \"\\ud83d\\u",
            "{\"name\": <ab",
            "{\"name\": <\\u1",
            "{\"name\": 'i",
            "{\"name\": 'if",
            "{\"name\": '\\u0",
            "{\"name\": \"\", \"",
        ],
    ),
];

/// The same, up to some characters before the bound of 300.
fn near_the_bound() -> Vec<String> {
    [299, 296, 280, 170, 40].map(|length| format!("[\"a\", \"{}", "x".repeat(length))).into()
}

fn check(name: &'static str, source: &str) {
    let Some(vocab) = load(name) else { return };
    let grammar = if source == JSON { ebnf::builtin_json(Spelling::Any) } else { parse(source) };
    let compiled = compile(grammar, &vocab, usize::MAX);
    let (_, starts) = STARTS.iter().find(|(of, _)| *of == source).expect("a grammar of the list");
    let mut starts: Vec<String> = starts.iter().map(|&start| start.to_owned()).collect();
    if source == COUNTED {
        starts.extend(near_the_bound());
    }
    for start in &starts {
        let mut first: Option<Vec<u32>> = None;
        for seed in 0..walks() {
            let mut dice = Dice::new(seed);
            let mut matcher = Matcher::new(Arc::clone(&compiled), MatcherOptions::default());
            assert!(start.is_empty() || matcher.accept_bytes(start.as_bytes()), "{source}: {start}");
            let mut text = start.clone().into_bytes();
            for step in 0..2 {
                // Where a walk starts, every id was tried by the first of them.
                let row = match &first {
                    Some(row) if step == 0 => {
                        assert_eq!(&mask(&mut matcher), row, "{name}: another mask after {start}");
                        row.clone()
                    }
                    _ => check_every_id(&mut matcher, &vocab, &text, name),
                };
                let choices: Vec<u32> = (0..vocab.len() as u32).filter(|&token| has(&row, token)).collect();
                assert!(!choices.is_empty(), "{name}: a dead end after {}", text.escape_ascii());
                let token = choices[dice.below(choices.len())];
                assert!(matcher.accept_token(token));
                text.extend_from_slice(vocab.token_bytes(TokenId(token)));
                first.get_or_insert(row);
            }
        }
    }
}

fn check_every_id(matcher: &mut Matcher, vocab: &Vocab, text: &[u8], name: &str) -> Vec<u32> {
    let row = mask(matcher);
    let wrong: Vec<String> = (0..vocab.len() as u32)
        .filter(|&token| {
            let accepted = matcher.accept_token(token);
            if accepted {
                matcher.rollback(1).expect("it was one step");
            }
            accepted != has(&row, token)
        })
        .take(8)
        .map(|token| format!("{token} {:?}", vocab.token_bytes(TokenId(token)).escape_ascii().to_string()))
        .collect();
    assert!(wrong.is_empty(), "{name}, after {}: the mask is wrong about {wrong:?}", text.escape_ascii());
    row
}

/// A test for each grammar, so that they share the processors.
macro_rules! walk_all_grammars {
    ($vocabulary:ident) => {
        mod $vocabulary {
            use super::{AMBIGUOUS, BOUNDED, COUNTED, JSON, LISTED, SPACED, SPELLED, check};

            const NAME: &str = stringify!($vocabulary);

            #[test]
            fn bounded() {
                check(NAME, BOUNDED);
            }

            #[test]
            fn spelled() {
                check(NAME, SPELLED);
            }

            #[test]
            fn listed() {
                check(NAME, LISTED);
            }

            #[test]
            fn json() {
                check(NAME, JSON);
            }

            #[test]
            fn spaced() {
                check(NAME, SPACED);
            }

            #[test]
            fn ambiguous() {
                check(NAME, AMBIGUOUS);
            }

            #[test]
            fn counted() {
                check(NAME, COUNTED);
            }
        }
    };
}

walk_all_grammars!(llama3_1);
walk_all_grammars!(gemma4);
walk_all_grammars!(smollm2);
