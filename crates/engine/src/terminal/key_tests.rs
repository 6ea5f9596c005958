//! Keys against a naive twin: a list of texts, and a matcher of spellings that knows nothing of terms.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use tokenstile_grammar::ir::Escapes;
use tokenstile_grammar::regular::CharSet;

use super::arena::{Arena, Term, TerminalId};
use crate::mask::{Narrowed, TerminalTable};
use crate::vocab::reach::Reach;
use crate::vocab::tokenizer_json::{self, FileOptions};
use crate::vocab::trie::{NodeIndex, Trie};
use crate::vocab::{TokenId, Vocab, VocabOptions};

/// Letters of one, two and four bytes, and those that JSON escapes.
const LETTERS: [char; 6] = ['a', 'b', 'é', '😀', '"', '\\'];
/// Texts of more letters than this are left out of the twin's lists.
const LONGEST: usize = 7;
/// Walks end when they have read more letters than this; what is excluded is no longer either.
const WALKED: usize = 3;

type Text = Vec<usize>;

/// A language, as proptest makes it.
#[derive(Clone, Debug)]
enum Language {
    Texts(Vec<Text>),
    Repeat(Vec<usize>, usize, Option<usize>),
    After(Text, Box<Language>),
    Either(Box<Language>, Box<Language>),
}

fn escapes() -> impl Strategy<Value = Escapes> {
    prop_oneof![Just(Escapes::Any), Just(Escapes::Canonical), Just(Escapes::Least)]
}

fn text() -> impl Strategy<Value = Text> {
    prop::collection::vec(0..LETTERS.len(), 0..=WALKED)
}

fn language() -> impl Strategy<Value = Language> {
    let letters = prop::collection::vec(0..LETTERS.len(), 1..3);
    let repeat = (letters, 0_usize..3, prop::option::of(0_usize..4))
        .prop_map(|(letters, min, more)| Language::Repeat(letters, min, more.map(|more| min + more)));
    let leaf = prop_oneof![prop::collection::vec(text(), 1..5).prop_map(Language::Texts), repeat];
    leaf.prop_recursive(2, 4, 2, |inner| {
        prop_oneof![
            (prop::collection::vec(0..LETTERS.len(), 0..2), inner.clone())
                .prop_map(|(text, rest)| Language::After(text, Box::new(rest))),
            (inner.clone(), inner).prop_map(|(a, b)| Language::Either(Box::new(a), Box::new(b))),
        ]
    })
}

fn spell(text: &[usize]) -> String {
    text.iter().map(|&letter| LETTERS[letter]).collect()
}

/// All texts of the language, up to a length.
fn texts(language: &Language) -> BTreeSet<Text> {
    match language {
        Language::Texts(texts) => texts.iter().cloned().collect(),
        Language::Repeat(letters, min, max) => {
            let mut found = BTreeSet::new();
            let mut round: BTreeSet<Text> = [Text::new()].into();
            for length in 0..=max.unwrap_or(LONGEST).min(LONGEST) {
                if length >= *min {
                    found.extend(round.iter().cloned());
                }
                let longer =
                    |text: &Text| letters.iter().map(|&l| [text.as_slice(), &[l]].concat()).collect();
                round = round.iter().flat_map(|text| -> Vec<Text> { longer(text) }).collect();
            }
            found
        }
        Language::After(text, rest) => {
            texts(rest).into_iter().map(|rest| [text.as_slice(), &rest].concat()).collect()
        }
        Language::Either(a, b) => texts(a).into_iter().chain(texts(b)).collect(),
    }
}

/// The term of the language.
fn term(arena: &Arena, language: &Language) -> TerminalId {
    match language {
        Language::Texts(texts) => arena.alt(texts.iter().map(|text| arena.literal(spell(text).as_bytes()))),
        Language::Repeat(letters, min, max) => {
            let set = CharSet::new(letters.iter().map(|&letter| (LETTERS[letter], LETTERS[letter])));
            let max = max.map_or(Term::UNBOUNDED, |max| max as u32);
            arena.repeat(arena.class(&set), *min as u32, max)
        }
        Language::After(text, rest) => arena.concat(arena.literal(spell(text).as_bytes()), term(arena, rest)),
        Language::Either(a, b) => arena.alt([term(arena, a), term(arena, b)]),
    }
}

/// The ways to write a code point: for each byte of each way, the bytes that may stand there.
fn spellings(c: char, escapes: Escapes) -> Vec<Vec<Vec<u8>>> {
    let exact = |bytes: &[u8]| bytes.iter().map(|&byte| vec![byte]).collect::<Vec<_>>();
    let digits: Vec<Vec<u8>> = c
        .encode_utf16(&mut [0; 2])
        .iter()
        .flat_map(|unit| {
            let digits = format!("{unit:04x}").into_bytes();
            let digits = digits.into_iter().map(|d| vec![d, d.to_ascii_uppercase()]);
            exact(b"\\u").into_iter().chain(digits).collect::<Vec<_>>()
        })
        .collect();
    let short = if c.is_ascii_punctuation() { format!("\\{c}") } else { c.to_string() };
    let has_digits = match escapes {
        Escapes::Any => true,
        Escapes::Canonical => !c.is_ascii(),
        Escapes::Least => false,
    };
    let digits = has_digits.then_some(digits);
    digits.into_iter().chain([exact(short.as_bytes())]).collect()
}

/// What may follow the bytes read so far, and whether they are a whole key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ways {
    next: BTreeSet<u8>,
    read: Option<String>,
}

/// The ways on by which `read` can become the key of one of the texts.
fn ways(texts: &BTreeSet<Text>, escapes: Escapes, read: &[u8]) -> Ways {
    let mut ways = Ways { next: BTreeSet::new(), read: None };
    for text in texts {
        follow(&spell(text), escapes, read, &mut ways);
    }
    ways
}

fn follow(text: &str, escapes: Escapes, read: &[u8], ways: &mut Ways) {
    let quote = vec![b'"'];
    let Some((first, rest)) = read.split_first() else {
        ways.next.insert(quote[0]);
        return;
    };
    if *first != quote[0] {
        return;
    }
    let mut stack: Vec<(Vec<char>, &[u8])> = vec![(text.chars().rev().collect(), rest)];
    while let Some((mut left, read)) = stack.pop() {
        let closes = left.is_empty();
        let spelled = |c| spellings(c, escapes);
        let options = left.pop().map_or_else(|| vec![vec![quote.clone()]], spelled);
        for option in options {
            match option
                .iter()
                .zip(0..)
                .find(|(may, at)| !read.get(*at).is_some_and(|byte| may.contains(byte)))
            {
                Some((may, at)) if at == read.len() => ways.next.extend(may),
                Some(_) => {}
                None if closes && read.len() == option.len() => ways.read = Some(text.to_owned()),
                None if closes => {}
                None => stack.push((left.clone(), &read[option.len()..])),
            }
        }
    }
}

/// The bytes that a state goes on with.
fn next_bytes(arena: &Arena, state: TerminalId) -> BTreeSet<u8> {
    (0..=u8::MAX).filter(|&byte| arena.step(state, byte) != TerminalId::NEVER).collect()
}

/// The same by its row.
fn row_bytes(arena: &Arena, state: TerminalId) -> BTreeSet<u8> {
    arena.row(state).iter().flat_map(|&(low, high, _)| low..=high).collect()
}

struct Case {
    arena: Arena,
    start: TerminalId,
    allowed: BTreeSet<Text>,
    escapes: Escapes,
    remember: bool,
}

/// A key with its opening quote.
fn string(arena: &Arena, key: TerminalId) -> TerminalId {
    arena.concat(arena.literal(b"\""), key)
}

impl Case {
    fn new(
        language: &Language,
        (names, seen): (&[Text], &[Text]),
        escapes: Escapes,
        remember: bool,
        longest_token: usize,
    ) -> Self {
        let arena = Arena::new(Arc::new(Reach::of_any(longest_token as u32)), std::iter::empty(), None);
        let names_spelled: Vec<String> = names.iter().map(|text| spell(text)).collect();
        let mut exclusion = arena.exclusion(names_spelled.iter().map(String::as_str));
        for text in seen {
            exclusion = arena.exclude(exclusion, &spell(text));
        }
        let start = string(&arena, arena.key(term(&arena, language), exclusion, escapes, remember));
        let mut allowed = texts(language);
        allowed.retain(|text| !names.contains(text) && !seen.contains(text));
        Case { arena, start, allowed, escapes, remember }
    }

    /// Compares a state with the twin's opinion.
    fn check(&self, state: TerminalId, read: &[u8]) -> Result<Ways, TestCaseError> {
        let arena = &self.arena;
        let ways = ways(&self.allowed, self.escapes, read);
        let shown = read.escape_ascii().to_string();
        prop_assert_eq!(&next_bytes(arena, state), &ways.next, "after {}", &shown);
        prop_assert_eq!(&row_bytes(arena, state), &ways.next, "in the row after {}", &shown);
        let saturated = arena.saturate(state);
        prop_assert_eq!(&next_bytes(arena, saturated), &ways.next, "saturated after {}", &shown);
        prop_assert_eq!(arena.is_nullable(state), ways.read.is_some(), "the end after {}", &shown);
        prop_assert_eq!(arena.is_finished(state), ways.read.is_some());
        let known = ways.read.as_deref().filter(|_| self.remember);
        prop_assert_eq!(arena.finished_text(state), known);
        Ok(ways)
    }

    /// Walks by random bytes, and gives the states on the way.
    fn walk(&self, dice: &mut u64) -> Result<Vec<TerminalId>, TestCaseError> {
        let (mut state, mut read) = (self.start, Vec::new());
        let mut states = Vec::new();
        loop {
            let ways = self.check(state, &read)?;
            states.push(state);
            let letters = read.iter().filter(|&&byte| byte == b'\\' || !byte.is_ascii_hexdigit()).count();
            *dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let choices: Vec<u8> = ways.next.into_iter().collect();
            if choices.is_empty() || read.len() > 30 || letters > 4 * WALKED {
                return Ok(states);
            }
            let byte = choices[(*dice >> 33) as usize % choices.len()];
            state = self.arena.step(state, byte);
            read.push(byte);
            if decoded_letters(&read) > WALKED {
                return Ok(states);
            }
        }
    }
}

/// How many letters were read, roughly: enough to stay within the twin's lists.
fn decoded_letters(read: &[u8]) -> usize {
    let text = String::from_utf8_lossy(&read[1..]).replace("\\u", "#");
    text.chars().filter(|&c| "#ab\\é😀".contains(c)).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn keys_read_what_is_not_excluded(
        language in language(),
        names in prop::collection::vec(text(), 0..6),
        seen in prop::collection::vec(text(), 0..4),
        escapes in escapes(),
        remember in any::<bool>(),
        longest_token in 1_usize..6,
        mut dice in any::<u64>(),
    ) {
        let case = Case::new(&language, (&names, &seen), escapes, remember, longest_token);
        if case.allowed.is_empty() {
            prop_assert_eq!(case.start, TerminalId::NEVER);
            return Ok(());
        }
        for _ in 0..6 {
            case.walk(&mut dice)?;
        }
    }

    /// What was carried over to another arena goes on in the same way.
    #[test]
    fn keys_are_carried_over(
        language in language(),
        names in prop::collection::vec(text(), 0..6),
        escapes in escapes(),
        remember in any::<bool>(),
        mut dice in any::<u64>(),
    ) {
        let case = Case::new(&language, (&names, &[]), escapes, remember, 4);
        if case.start == TerminalId::NEVER {
            return Ok(());
        }
        let other = Arena::new(Arc::new(Reach::of_any(4)), std::iter::empty(), None);
        for state in case.walk(&mut dice)? {
            let copy = other.carry(&case.arena, state, &mut hashbrown::HashMap::new());
            prop_assert_eq!(next_bytes(&other, copy), next_bytes(&case.arena, state));
            prop_assert_eq!(other.finished_text(copy), case.arena.finished_text(state));
            prop_assert_eq!(other.fingerprint(copy), case.arena.fingerprint(state));
        }
    }

    #[test]
    fn tables_of_keys_are_those_of_a_walk(
        language in language(),
        names in prop::collection::vec(text(), 1..6),
        seed in any::<u64>(),
    ) {
        let vocab = random_vocabulary(seed);
        let case = Case::new(&language, (&names, &[]), Escapes::Any, false, vocab.table().max_token_bytes());
        if case.start == TerminalId::NEVER {
            return Ok(());
        }
        let mut dice = seed;
        for _ in 0..3 {
            for state in case.walk(&mut dice)? {
                check_table(&case.arena, case.arena.saturate(state), &vocab)?;
            }
        }
    }
}

/// Tokens made of pieces of spellings, some of which close the string.
fn random_vocabulary(seed: u64) -> Arc<Vocab> {
    const PIECES: [&[u8]; 18] = [
        b"a",
        b"b",
        b"ab",
        "é".as_bytes(),
        b"\xc3",
        b"\xa9",
        "😀".as_bytes(),
        b"\\",
        b"\\\"",
        b"u00",
        b"\\u0061",
        b"e9",
        b"\"",
        b"\":",
        b"\"x",
        b"a\"",
        b"62",
        b"c",
    ];
    let mut dice = seed;
    let mut roll = |below: usize| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (dice >> 33) as usize % below
    };
    let mut tokens: BTreeSet<Vec<u8>> = PIECES.iter().map(|piece| piece.to_vec()).collect();
    for _ in 0..300 {
        tokens.insert((0..=roll(4)).flat_map(|_| PIECES[roll(PIECES.len())]).copied().collect());
    }
    Vocab::new(tokens, VocabOptions::default()).expect("a vocabulary")
}

/// Compares the table that is derived from the plain one with what each token does byte by byte.
fn check_table(arena: &Arena, state: TerminalId, vocab: &Vocab) -> Result<(), TestCaseError> {
    let Some(plain) = arena.plain(state) else { return Ok(()) };
    let tokens = vocab.table();
    let trie = tokens.index().trie();
    let all = TerminalTable::build(arena, plain, tokens, tokens.index().trie(), Trie::ROOT);
    let table = match all.without_excluded(arena, state, plain, trie, Trie::ROOT) {
        Narrowed::Same => all,
        Narrowed::Fewer(fewer) => fewer,
        Narrowed::Unknown => panic!("no token of a vocabulary is at several nodes"),
    };
    let mut ends = BTreeSet::new();
    for (id, bytes) in tokens.iter().filter(|(_, bytes)| !bytes.is_empty()) {
        let mut at = state;
        for (read, &byte) in (1..).zip(bytes) {
            at = arena.step(at, byte);
            if at == TerminalId::NEVER {
                break;
            }
            if arena.is_nullable(at) && read < bytes.len() {
                ends.insert(bytes[..read].to_vec());
            }
        }
        let shown = bytes.escape_ascii().to_string();
        prop_assert_eq!(table.stay.contains(id.0), at != TerminalId::NEVER, "{}", shown);
    }
    let paths = paths(trie);
    let found: BTreeSet<Vec<u8>> = table.ends().iter().map(|&end| paths[end as usize].clone()).collect();
    prop_assert_eq!(found, ends);
    Ok(())
}

/// The bytes on the way to each node.
fn paths(trie: &Trie) -> Vec<Vec<u8>> {
    let mut paths = vec![Vec::new(); trie.end(Trie::ROOT) as usize];
    let mut stack: Vec<NodeIndex> = vec![Trie::ROOT];
    while let Some(node) = stack.pop() {
        for child in trie.children(node) {
            paths[child as usize] = [paths[node as usize].as_slice(), &[trie.byte(child)]].concat();
            stack.push(child);
        }
    }
    paths
}

/// The names of an object as people write them, beside any other keys, with the tokens of a real model.
#[test]
fn tables_with_a_real_vocabulary() {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/tokenizers/llama3_1"));
    let Ok(file) = std::fs::File::open(path.join("tokenizer.json.gz")) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("a gzipped text");
    let whole = tokenizer_json::from_text(&text, FileOptions::default()).expect("a tokenizer");
    let is_kept = |(id, bytes): &(TokenId, &[u8])| {
        id.0.is_multiple_of(7) || bytes.contains(&b'"') || bytes.contains(&b'\\') || bytes.len() == 1
    };
    let kept = whole.table().iter().filter(is_kept).map(|(_, bytes)| bytes);
    let vocab = Vocab::new(kept, VocabOptions::default()).expect("a vocabulary");
    let arena = Arena::new(Arc::clone(vocab.table().reach()), std::iter::empty(), None);
    let any = arena.repeat(arena.class(&CharSet::any()), 0, Term::UNBOUNDED);
    let names = ["name", "names", "id", "type", "", "na\"me", "größe", "text", " key"];
    let start = string(&arena, arena.key(any, arena.exclusion(names), Escapes::Any, false));
    for read in [
        "",
        "\"",
        "\"n",
        "\"name",
        "\"name\\",
        "\"\\u006",
        "\"names",
        "\"na\\",
        "\"na\\\"me",
        "\"größ",
        "\" ",
    ] {
        let state = read.bytes().fold(start, |state, byte| arena.step(state, byte));
        assert!(arena.plain(arena.saturate(state)).is_some(), "{read}");
        check_table(&arena, arena.saturate(state), &vocab).unwrap_or_else(|wrong| panic!("{read}: {wrong}"));
    }
    let other = "\"nx".bytes().fold(start, |state, byte| arena.step(state, byte));
    assert_eq!(
        Some(other),
        arena.plain(start).map(|plain| { "\"nx".bytes().fold(plain, |state, byte| arena.step(state, byte)) })
    );
}

/// A thousand keys, one after the other: each set has few runs and costs little.
#[test]
fn exclusions_grow_by_one_at_a_time() {
    let arena = Arena::new(Arc::new(Reach::of_any(16)), std::iter::empty(), None);
    let mut exclusion = arena.exclusion(["k5", "declared"]);
    for number in 0..1_000 {
        exclusion = arena.exclude(exclusion, &format!("k{number}"));
    }
    assert_eq!(arena.exclude(exclusion, "k7"), exclusion);
    let other = Arena::new(Arc::new(Reach::of_any(16)), std::iter::empty(), None);
    let carried = other.carry_exclusion(&arena, exclusion);
    assert_eq!(other.exclude(carried, "k7"), carried);
    assert_ne!(other.exclude(carried, "new"), carried);
    assert!(arena.spans(exclusion).len() <= 12);
    assert!(arena.memory_bytes() < 2_000_000, "{}", arena.memory_bytes());
    let digits = arena.repeat(arena.class(&CharSet::new([('0', '9')])), 1, 3);
    let numbers = arena.concat(arena.literal(b"k"), digits);
    let key = string(&arena, arena.key(numbers, exclusion, Escapes::Any, true));
    let read = |text: &str| text.bytes().fold(key, |state, byte| arena.step(state, byte));
    assert_eq!(read("\"k17\""), TerminalId::NEVER);
    assert_eq!(arena.finished_text(read("\"k017\"")), Some("k017"));
    assert_eq!(arena.finished_text(read("\"k0\\u0030\"")), Some("k00"));
    assert_eq!(read("\"k1\\u0030\""), TerminalId::NEVER);
}
