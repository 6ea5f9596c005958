//! Inputs that are meant to hurt: each gives a result or a clear error, soon, on a small native stack.
//!
//! Every case runs in a thread with a stack of 512 KiB, under a watchdog that turns a hang into a failure. Time
//! decides nothing else: how long a case took is printed, not judged.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokenstile_engine::{CompiledGrammar, EngineLimits, Matcher, MatcherOptions};
use tokenstile_grammar::frontends::json_schema::Spelling;
use tokenstile_grammar::frontends::regex::Syntax;
use tokenstile_grammar::frontends::{ebnf, regex};
use tokenstile_grammar::{Budget, CancelFlag, Error, ErrorKind, Grammar, Limits, Result};

use crate::dice::Dice;
use crate::vocabulary::Vocabulary;

/// How long a case may take before it counts as hanging: far longer than any takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);
/// The native stack of a case.
const STACK: usize = 512 << 10;

/// Runs `case` on a small stack, under the watchdog.
pub(crate) fn guarded(name: &str, case: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = std::sync::mpsc::channel();
    let started = Instant::now();
    let run = move || {
        case();
        // The watchdog may have gone.
        let _ = sender.send(());
    };
    let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(STACK).spawn(run);
    let thread = thread.expect("a thread can be started");
    let outcome = receiver.recv_timeout(PATIENCE);
    assert!(outcome != Err(std::sync::mpsc::RecvTimeoutError::Timeout), "{name} hangs");
    assert!(thread.join().is_ok(), "{name} panicked");
    println!("{name}: {:?}", started.elapsed());
}

fn ebnf(source: &str) -> Result<Grammar> {
    ebnf::parse(source, "root", &Limits::default(), &Budget::default())
}

fn regex(pattern: &str) -> Result<Grammar> {
    regex::to_grammar(pattern, &Syntax::whole(), &Limits::default(), &Budget::default())
}

/// The texts that `line` makes of some numbers, one after the other.
fn lines(numbers: impl IntoIterator<Item = usize>, line: impl Fn(usize) -> String) -> String {
    numbers.into_iter().map(line).collect::<Vec<_>>().concat()
}

fn vocabulary() -> Vocabulary {
    let texts =
        ["aaaaaaaa", "{\"a\": [1, 2], \"b\": true}", "[[[[[[", "]]]]]]", "a+a+a", "abababab", "xyz\u{e9}"];
    let mut texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    texts.push((0..=u8::MAX).collect());
    Vocabulary::merged(&texts, &mut Dice::new(11))
}

fn compile(grammar: Grammar, limits: EngineLimits) -> Result<Arc<CompiledGrammar>> {
    CompiledGrammar::new(grammar, vocabulary().vocab, limits, &Budget::default())
}

fn mask(matcher: &mut Matcher) -> Vec<u32> {
    let mut row = vec![0; matcher.vocab_size().div_ceil(32)];
    matcher.fill_mask(&mut row);
    row
}

fn allowed(row: &[u32]) -> Vec<u32> {
    (0..row.len() as u32 * 32).filter(|id| row[*id as usize / 32] >> (id % 32) & 1 == 1).collect()
}

/// Everything that can be asked of a matcher, along a random walk of `steps` tokens.
fn drive(grammar: &Arc<CompiledGrammar>, steps: usize) {
    let mut matcher = Matcher::new(Arc::clone(grammar), MatcherOptions::default());
    let mut dice = Dice::new(3);
    for _ in 0..steps {
        let choices = allowed(&mask(&mut matcher));
        assert!(!choices.is_empty() || matcher.is_stopped(), "a dead end");
        let Some(&token) = choices.get(dice.below(choices.len())) else { break };
        assert!(matcher.accept_token(token), "the mask allows {token}");
    }
    let _ = (matcher.jump_forward(), matcher.temperature(), matcher.is_completed());
    let fork = matcher.fork();
    assert!(matcher.rollback(matcher.history_len() / 2).is_ok());
    assert_eq!(matcher.vocab_size(), fork.vocab_size());
    let _ = mask(&mut matcher);
}

/// Compiles and drives; the error where there is one.
fn attempt(grammar: Result<Grammar>, steps: usize) -> Option<Error> {
    let grammar = match grammar {
        Ok(grammar) => grammar,
        Err(error) => return Some(error),
    };
    let compiled = match compile(grammar, EngineLimits::default()) {
        Ok(compiled) => compiled,
        Err(error) => return Some(error),
    };
    drive(&compiled, steps);
    None
}

/// `source` gives a matcher that works.
fn works(name: &str, grammar: impl FnOnce() -> Result<Grammar> + Send + 'static) {
    guarded(name, move || {
        let error = attempt(grammar(), 40);
        assert!(error.is_none(), "{error:?}");
    });
}

/// `source` meets a limit.
fn is_limited(name: &str, grammar: impl FnOnce() -> Result<Grammar> + Send + 'static) {
    guarded(name, move || {
        let error = attempt(grammar(), 1).expect("a limit");
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(error.to_string().len() < 2_000, "the message is as long as the input");
    });
}

#[test]
fn nesting_in_the_source() {
    is_limited("parentheses, never closed", || ebnf(&format!("root ::= {}", "(".repeat(30_000))));
    is_limited("parentheses", || {
        ebnf(&format!("root ::= {}\"a\"{}", "(".repeat(30_000), ")".repeat(30_000)))
    });
    is_limited("regex, never closed", || regex(&"(".repeat(30_000)));
    is_limited("regex", || regex(&format!("{}a{}", "(".repeat(30_000), ")".repeat(30_000))));
    works("complements", || ebnf(&format!("root ::= {}\"a\"", "~".repeat(30_000))));
    is_limited("stars", || regex(&format!("a{}", "{2}".repeat(30_000))));
}

#[test]
fn nesting_just_within_the_limit() {
    for (name, open, close) in [
        ("groups", "(", ")"),
        ("stars", "(", ")*"),
        ("counts", "(", " \"b\"){2,3}"),
        ("wide", "([^x]* ", " \"b\")"),
        ("calls", "(r ", " r)"),
        ("alternatives", "(r | ", " | \"b\" r)"),
        ("counted calls", "(r? ", " r){2,3}"),
        ("options", "(\"b\" r ", ")?"),
        ("complements", "~(", ")"),
        ("conjunctions", "(\"a\" & ", ")"),
    ] {
        guarded(name, move || {
            let source = format!(
                "root ::= {}\"a\"{}\nr ::= \"[\" r \"]\" | \"c\"",
                open.repeat(490),
                close.repeat(490)
            );
            let grammar = ebnf(&source).unwrap();
            let printed = ebnf(&grammar.to_string());
            assert!(printed.is_ok(), "{printed:?}");
            if let Some(error) = attempt(Ok(grammar), 20) {
                assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
            }
        });
    }
}

#[test]
fn repeats() {
    works("nested stars", || regex("((((a*)*)*)*)*"));
    works("nested stars of a choice", || regex("((((a*|b)*|c)*|d)*|e)*"));
    works("a million", || regex("a{1000000}"));
    works("up to a million", || regex("(ab?){0,1000000}"));
    works("a thousand thousands", || regex("(a{1000}){1000}"));
    works("a thousand options", || regex("(a?){1000}"));
    works("a choice of lengths", || regex("(aa|a){0,1000}"));
    works("nested options", || regex("((a?){1000}){1000}"));
    works("nested ranges", || regex("(((a{0,50}){0,50}){0,50}){0,50}"));
    works("classes in ranges", || regex("([a-z]{0,200}[^x]{0,300}){0,500}"));
    works("rules in counts", || {
        ebnf("root ::= (r{0,1000} s){0,1000}\nr ::= \"a\" r \"b\" | s\ns ::= \"[\" root \"]\" | \"\"")
    });
    works("empty rules in nested counts", || {
        ebnf("root ::= (((r{0,50}){0,50}){0,50}){0,50}\nr ::= \"\" | \"(\" r \")\"")
    });
    works("empty rules that must come often", || {
        ebnf("root ::= (((r{9,50}){9,50}){9,50}){9,50}\nr ::= \"\" | \"(\" r \")\"")
    });
    works("a count that begins with itself", || ebnf("root ::= root{0,3} \"a\" | \"b\""));
    guarded("a great count that begins with itself", || {
        let error = attempt(ebnf("root ::= root{0,1000} \"a\" | \"b\""), 1).unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    });
}

#[test]
fn far_choices() {
    works("a byte thirty before the end", || regex(".*a.{30}"));
    works("the same as a rule", || ebnf("root ::= r* \"a\" r{30}\nr ::= \"a\" | \"b\" | \"(\" r \")\""));
    works("all orders", || regex("(a|b|[ab]c)*[ab][abc]{40}(a|b)?"));
}

#[test]
fn long_sources() {
    works("a literal of 10 MB", || ebnf(&format!("root ::= \"{}\"", "a".repeat(10 << 20))));
    works("a regex of 10 MB", || regex(&"a".repeat(10 << 20)));
    works("a rule of 1,000,000 calls", || {
        ebnf(&format!("root ::= {}\nr ::= \"a\" | \"[\" r \"]\"", "r ".repeat(1_000_000)))
    });
    works("100,000 rules", || {
        let mut source = String::from("root ::= r0 | r99999\n");
        source += &lines(0..100_000, |at| format!("r{at} ::= \"x{at}\" | \"y\" r{}\n", at / 2));
        ebnf(&source)
    });
    works("100,000 rules in a row", || {
        let mut source = String::from("root ::= r0\n");
        source += &lines(0..100_000, |at| format!("r{at} ::= \"a\" r{}\n", at + 1));
        ebnf(&(source + "r100000 ::= \"b\""))
    });
    works("100,000 rules in a row, each with alternatives", || {
        let mut source = String::from("root ::= r0\n");
        source +=
            &lines(0..100_000, |at| format!("r{at} ::= \"a\" r{} | \"b\" | [c-e] r{}\n", at + 1, at + 1));
        ebnf(&(source + "r100000 ::= \"b\""))
    });
    works("long rules that are called once", || {
        let mut source = String::from("root ::= r0\n");
        let (text, classes) = ("a".repeat(40_000), "[ab] ".repeat(4_000));
        source += &lines(0..400, |at| format!("r{at} ::= \"{text}\" {classes} r{}\n", at + 1));
        ebnf(&(source + "r400 ::= \"b\""))
    });
    works("100,000 alternatives", || {
        let literals: Vec<String> = (0..100_000).map(|at| format!("\"a{at}\"")).collect();
        ebnf(&format!("root ::= {}", literals.join(" | ")))
    });
    works("100,000 alternatives with a long head", || {
        let literals: Vec<String> = (0..100_000).map(|at| format!("\"abababababababab{at}\"")).collect();
        ebnf(&format!("root ::= {}", literals.join(" | ")))
    });
    works("100,000 rules as alternatives", || {
        let names: Vec<String> = (0..100_000).map(|at| format!("r{at}")).collect();
        let rules: Vec<String> =
            (0..100_000).map(|at| format!("r{at} ::= \"a{at}\" r{at} \"b\" | \"c\"\n")).collect();
        ebnf(&format!("root ::= {}\n{}", names.join(" | "), rules.concat()))
    });
}

#[test]
fn options_in_a_row() {
    works("50,000 equal options", || ebnf(&format!("root ::= {}", "\"a\"? ".repeat(50_000))));
    works("5,000 different options", || {
        let items: Vec<String> = (0..5_000).map(|at| format!("\"a{at}\"? ")).collect();
        ebnf(&format!("root ::= {}", items.concat()))
    });
    works("20,000 options of two kinds", || ebnf(&format!("root ::= {}", "\"a\"? \"b\"? ".repeat(10_000))));
    works("20,000 optional calls", || {
        ebnf(&format!("root ::= {}\nr ::= \"[\" r \"]\" | \"a\"", "r? ".repeat(20_000)))
    });
    works("20,000 rules that may be empty", || {
        let calls = lines(0..20_000, |at| format!("r{at} "));
        let rules = lines(0..20_000, |at| format!("r{at} ::= \"[\" r{at} \"]\" | \"\"\n"));
        ebnf(&format!("root ::= {calls}\n{rules}"))
    });
}

/// A ring of rules, each made by `body` from its number and the next.
fn ring(count: usize, body: impl Fn(usize, usize) -> String) -> Result<Grammar> {
    let rules: Vec<String> =
        (0..count).map(|at| format!("r{at} ::= {}\n", body(at, (at + 1) % count))).collect();
    ebnf(&format!("root ::= r0\n{}", rules.concat()))
}

#[test]
fn rings() {
    works("of units", || ring(50_000, |at, next| format!("r{next} | \"x{at}\"")));
    guarded("of units without an end", || {
        let error = attempt(ring(50_000, |_, next| format!("r{next}")), 1).unwrap();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    });
    works("right-recursive", || ring(50_000, |at, next| format!("\"a\" r{next} | \"x{at}\"")));
    works("left-recursive", || ring(50_000, |at, next| format!("r{next} \"a\" | \"x{at}\"")));
    works("nested", || ring(50_000, |at, next| format!("\"(\" r{next} \")\" | \"x{at}\"")));
    works("left-recursive behind something empty", || {
        ring(300, |at, next| format!("\"z\"? r{next} \"a\" | \"x{at}\""))
    });
    is_limited("left-recursive behind something empty, large", || {
        ring(20_000, |at, next| format!("\"z\"? r{next} \"a\" | \"x{at}\""))
    });
    works("of both", || ring(500, |at, next| format!("r{next} \"a\" r{} | \"x{at}\"", (at * 7) % 500)));
    is_limited("of both, large", || {
        ring(20_000, |at, next| format!("r{next} \"a\" r{} | \"x{at}\"", (at * 7) % 20_000))
    });
}

#[test]
fn chains_that_double() {
    for (name, text) in
        [("literals", "\"a\""), ("options", "\"a\"?"), ("classes", "[a-c]"), ("wide", "[^x]*")]
    {
        guarded(name, move || {
            let mut source = format!("root ::= r60\nr0 ::= {text}\n");
            source += &lines(1..=60, |at| format!("r{at} ::= r{} r{}\n", at - 1, at - 1));
            assert!(attempt(ebnf(&source), 40).is_none());
            let choice = source.replace("r0 ::=", "r0 ::= \"(\" r0 \")\" |");
            assert!(attempt(ebnf(&choice), 40).is_none());
        });
        guarded(name, move || {
            let mut source = format!("root ::= r60\nr0 ::= {text}\n");
            source += &lines(1..=60, |at| format!("r{at} ::= r{} | r{} \"b\" r{}\n", at - 1, at - 1, at - 1));
            assert!(attempt(ebnf(&source), 40).is_none());
        });
    }
    works("optional pairs", || {
        let mut source = String::from("root ::= r60\nr0 ::= \"(\" root \")\" | \"\"\n");
        source += &lines(1..=60, |at| format!("r{at} ::= r{} r{}\n", at - 1, at - 1));
        ebnf(&source)
    });
    guarded("conjunctions", || {
        let mut source = String::from("root ::= r60\nr0 ::= [ab]*\n");
        source += &lines(1..=60, |at| format!("r{at} ::= (r{} & ~\"a{at}\") r{}\n", at - 1, at - 1));
        if let Some(error) = attempt(ebnf(&source), 4) {
            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        }
    });
}

#[test]
fn unicode_and_tokens() {
    works("classes", || {
        let classes = "[\\u0100-\\u0fff\\u2000-\\u2fff\\U00010000-\\U0001ffff]";
        ebnf(&format!("root ::= ({classes}{{0,500}} | \"a\" {classes}+ | [^a-z]{{3,90}})*"))
    });
    works("properties", || regex(r"(\p{L}\p{N}{0,9}|\P{Lu}\p{Greek}?|\w{5,500})*"));
    works("every other character", || {
        let ranges: String = (0x100..0x8000).step_by(2).filter_map(char::from_u32).collect();
        ebnf(&format!("root ::= [{ranges}]* ([{ranges}] | \"a\")"))
    });
    guarded("100,000 token ids", || {
        let tokens: Vec<Vec<u8>> =
            (0..100_100).map(|at| format!("t{at}").into_bytes()).chain([b"t".to_vec()]).collect();
        let vocabulary = Vocabulary::new("many", tokens);
        let ids: Vec<String> = (0..100_000).map(|id| id.to_string()).collect();
        let source = format!("root ::= (Token({0}) \"t\" ExcludeToken({0}))*", ids.join(", "));
        let limits = EngineLimits::default();
        let compiled =
            CompiledGrammar::new(ebnf(&source).unwrap(), vocabulary.vocab, limits, &Budget::default())
                .unwrap();
        drive(&compiled, 9);
    });
    guarded("a token that no vocabulary has", || {
        let error = attempt(ebnf("root ::= Token(4294967295)"), 1).unwrap();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    });
}

/// Feeds `text` in pieces, looking at everything now and then.
fn feed(matcher: &mut Matcher, text: &[u8], piece: usize) {
    for (at, bytes) in text.chunks(piece).enumerate() {
        assert!(matcher.accept_bytes(bytes), "piece {at}");
        if at % 64 == 0 {
            assert!(!allowed(&mask(matcher)).is_empty());
        }
    }
    let _ = (matcher.jump_forward(), matcher.temperature());
}

#[test]
fn deep_output() {
    for cache_bytes in [EngineLimits::default().cache_bytes, 64 << 10, 1] {
        guarded(&format!("brackets, {cache_bytes} bytes"), move || {
            let grammar = ebnf::builtin_json(Spelling::Any);
            let compiled = compile(grammar, EngineLimits { cache_bytes }).unwrap();
            let mut matcher = Matcher::new(compiled, MatcherOptions::default());
            feed(&mut matcher, &b"[".repeat(100_000), 1);
            let (before, mut fork) = (mask(&mut matcher), matcher.fork());
            assert!(matcher.rollback(50_000).is_ok());
            feed(&mut matcher, &b"[".repeat(50_000), 100);
            assert_eq!(mask(&mut matcher), before);
            assert_eq!(mask(&mut fork), before);
            feed(&mut matcher, &b"]".repeat(100_000), 10);
            assert!(matcher.is_completed());
        });
    }
}

#[test]
fn ambiguous_output() {
    let sources = [
        ("pairs", "root ::= root root | \"a\"", "a"),
        ("triples", "root ::= root root root | root root | \"a\"", "a"),
        ("empty pairs", "root ::= root root | \"a\" | \"\"", "a"),
        ("brackets", "root ::= \"a\" root \"b\" root | \"\"", "aabb"),
        ("open brackets", "root ::= \"a\" root \"b\" root | \"\"", "a"),
        ("operators", "root ::= root [+*] root | \"a\" | \"(\" root \")\"", "a+a*"),
        ("dangling else", "root ::= \"a\" root | \"a\" root \"b\" root | \"x\"", "a"),
        ("both ends", "root ::= \"a\" root \"a\" | \"a\" root | root \"a\" | \"a\"", "a"),
        ("palindromes", "root ::= \"a\" root \"a\" | \"b\" root \"b\" | \"a\" | \"b\" | \"\"", "ab"),
        ("palindromes of one letter", "root ::= \"a\" root \"a\" | \"a\" | \"\"", "a"),
        ("two kinds of a", "root ::= (x | y)*\nx ::= \"a\" x? \"b\"?\ny ::= \"a\" y? \"c\"?", "a"),
        (
            "sums",
            "root ::= s\ns ::= s \"+\" s | s \"*\" s | t\nt ::= \"a\" | t \"!\" | \"(\" s \")\"",
            "a+a!*",
        ),
    ];
    for (name, source, unit) in sources {
        guarded(name, move || {
            let compiled = compile(ebnf(source).unwrap(), EngineLimits::default()).unwrap();
            let mut matcher = Matcher::new(Arc::clone(&compiled), MatcherOptions::default());
            let text = unit.repeat(4_000 / unit.len());
            let started = Instant::now();
            feed(&mut matcher, text.as_bytes(), 1);
            let first = started.elapsed();
            feed(&mut matcher, text.as_bytes(), 1);
            println!(
                "  {name}: {first:?}, then {:?}, {:?}",
                started.elapsed().saturating_sub(first),
                compiled.stats()
            );
        });
    }
}

/// A grammar whose compilation takes long: a conjunction of many states.
fn slow() -> Grammar {
    ebnf("root ::= ([ab]* \"a\" [ab]{40}) & ([ab]* \"b\" [ab]{37}) & ~([ab]* \"a\" [ab]{50})").unwrap()
}

fn compile_within(limits: Limits, cancel: &CancelFlag) -> Error {
    let budget = Budget::new(limits, cancel.clone());
    let compiled = CompiledGrammar::new(slow(), vocabulary().vocab, EngineLimits::default(), &budget);
    compiled.expect_err("it cannot be done in time")
}

#[test]
fn a_running_compilation_can_be_cancelled() {
    guarded("cancelled from another thread", || {
        let cancel = CancelFlag::default();
        let limits = Limits { max_states: usize::MAX, max_compile_time: 10 * PATIENCE, ..Limits::default() };
        let flag = cancel.clone();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(150));
            flag.cancel();
        });
        let error = compile_within(limits, &cancel);
        thread.join().unwrap();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    });
    guarded("cancelled before it starts", || {
        let cancel = CancelFlag::default();
        cancel.cancel();
        assert_eq!(
            compile_within(Limits { max_states: usize::MAX, ..Limits::default() }, &cancel).kind(),
            ErrorKind::Cancelled
        );
    });
}

#[test]
fn a_compilation_ends_with_its_time() {
    guarded("out of time", || {
        let limits = Limits {
            max_states: usize::MAX,
            max_compile_time: Duration::from_millis(200),
            ..Limits::default()
        };
        let error = compile_within(limits, &CancelFlag::default());
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(
            error.message().contains("compile time")
                && error.help().is_some_and(|help| help.contains("max_compile_time"))
        );
    });
    // Each front end and each pass looks at the clock by itself.
    let no_time = || {
        Budget::new(Limits { max_compile_time: Duration::ZERO, ..Limits::default() }, CancelFlag::default())
    };
    guarded("no time to read", move || {
        let long = format!("root ::= {}", "\"a\" | ".repeat(10_000) + "\"b\"");
        let error = ebnf::parse(&long, "root", &Limits::default(), &no_time()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        let error =
            regex::to_grammar(&"(a|b)".repeat(10_000), &Syntax::whole(), &Limits::default(), &no_time())
                .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    });
    guarded("no time to compile", move || {
        let grammar = ring(5_000, |at, next| format!("\"(\" r{next} \")\" | \"x{at}\"")).unwrap();
        let compiled = CompiledGrammar::new(grammar, vocabulary().vocab, EngineLimits::default(), &no_time());
        assert_eq!(compiled.unwrap_err().kind(), ErrorKind::Limit);
    });
}

#[test]
fn captures_are_bounded() {
    guarded("captures", || {
        let source = "root ::= x\nx[capture=\"x\"] ::= x x | \"a\"";
        let compiled = compile(ebnf(source).unwrap(), EngineLimits::default()).unwrap();
        let mut matcher = Matcher::new(compiled, MatcherOptions::default());
        assert!(matcher.accept_bytes(b"aaa"));
        assert_eq!(matcher.captures(true).unwrap().len(), 3);
        assert!(matcher.accept_bytes(&b"a".repeat(20_000)));
        let error = matcher.captures(true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(matcher.rollback(1).is_ok() && matcher.captures(false).unwrap().len() > 3);
    });
}

/// A list of `count` keys.
fn list(order: &str, count: usize, more: &str) -> String {
    let entry = |at: usize| {
        let is_required = at.is_multiple_of(3) && at < 3_000;
        format!("(\"key {} {at}\", {is_required}, (value, 0)), ", at % 97)
    };
    format!(
        "root ::= \"{{\" Members({}order=\"{order}\", separator=\",\", {more}) \"}}\"\nvalue ::= \":\" (root | [0-9])",
        lines(0..count, entry)
    )
}

#[test]
fn lists_of_thousands_of_members() {
    for order in ["declared", "any", "sequence"] {
        guarded(order, move || {
            for more in [
                "counters=((0,),)",
                "counters=((1700, 4000),)",
                "counters=((700, 1900),), implies=((1, 2), (2, 4))",
            ] {
                let started = Instant::now();
                let count = if more.contains("implies") { 1_900 } else { 5_000 };
                let grammar = ebnf(&list(order, count, more)).expect("a grammar");
                let grammar = compile(grammar, EngineLimits::default()).expect("a machine");
                println!("{order} {more}: {:?}", started.elapsed());
                drive(&grammar, 40);
            }
        });
    }
}

#[test]
fn lists_that_ask_too_much_are_refused() {
    guarded("implications", || {
        let pairs = lines(0..4_000, |at| format!("({at}, {}), ", at + 1));
        let source = list("any", 5_000, &format!("counters=((1, 4500),), implies=({pairs})"));
        let error = ebnf(&source)
            .and_then(|grammar| compile(grammar, EngineLimits::default()))
            .expect_err("too large");
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    });
    guarded("counters", || {
        let entries = lines(0..300, |at| format!("(false, (\"x\", {}, {})), ", at % 8, (at + at / 8) % 8));
        let counters = lines(0..8, |_| "(90, 200), ".to_owned());
        let source =
            format!("root ::= Members({entries}order=\"any\", separator=\",\", counters=({counters}))");
        let error = ebnf(&source)
            .and_then(|grammar| compile(grammar, EngineLimits::default()))
            .expect_err("too many");
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    });
}
