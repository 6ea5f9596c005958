//! The nearest end of a state: how few bytes it is away, along which of them, and in how many tokens.
//!
//! How far it is can be read off a term: a sequence adds, alternatives take the least. So nothing is searched, and a
//! repeat of ten thousand costs what a repeat of two costs. From the numbers follows a way: from each state the byte that
//! leads nearest to an end, the first of equals. Which byte that is depends on the state alone, so the way of a state on
//! the way is the rest of the way; and what is true of bytes is then true of tokens: the fewest tokens that spell the way
//! are one more than those that spell what is left after the first of them. That is what budgets stand on (see
//! [`crate::completion`]).
//!
//! A byte that no token spells by itself weighs more than all others together, so ways avoid them where they can.
//!
//! Texts of a bounded length go along the fewest code points, and of those along the fewest bytes, because the fewest
//! bytes may be too many code points. A key that must not be an excluded one counts each byte as a token.

use rustc_hash::FxHashMap;
use tokenstile_grammar::ir::Escapes;

use super::arena::{Arena, Term, TerminalId};
use super::derive::Piece;
use super::json_text::stands_for_itself;
use super::key::Key;
use crate::vocab::trie::{NodeIndex, Trie};

/// No end is known. Sums of numbers below it do not overflow.
pub(crate) const NO_END: u32 = u32::MAX / 4;

/// A length: code points in the upper bits where they count, bytes in the lower ones.
type Length = u64;

const ENDLESS: Length = 1 << 62;
const POINT: Length = 1 << 40;

/// What a byte weighs that no token spells.
const HEAVY: u32 = 1 << 24;

/// Ways that are longer than this are counted in bytes.
const LONGEST_WAY: Length = 4096;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Mode(u8);

impl Mode {
    const BYTES: Self = Mode(0);
    /// The spellings of a text in JSON.
    const JSON: u8 = 1;
    /// Code points first.
    const POINTS: u8 = 2;
    /// No fewer bytes than there are, whatever they weigh.
    const LEAST: Self = Mode(4);

    fn with(self, more: u8) -> Self {
        Mode(self.0 | more)
    }

    fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

/// The tokens that texts may be spelled with.
pub(crate) struct Speller<'v> {
    pub(crate) trie: &'v Trie,
    /// Those that may not be used.
    pub(crate) barred: &'v [u32],
}

impl Speller<'_> {
    /// Whether a token ends at a node.
    pub(crate) fn ends(&self, node: NodeIndex) -> bool {
        self.trie.tokens_of(node).iter().any(|token| !self.barred.contains(token))
    }
}

/// The next byte on the way of a state, and the tokens that are left.
#[derive(Clone, Copy)]
struct Way {
    next: Option<(u8, TerminalId)>,
    tokens: u32,
}

/// What is known of the ends of states, for one arena and one choice of tokens.
pub(crate) struct Shortest {
    weights: Box<[u32; 256]>,
    lengths: FxHashMap<(TerminalId, Mode), Length>,
    automata: FxHashMap<(u32, Mode), Box<[Length]>>,
    texts: FxHashMap<(u32, Mode), Box<[Length]>>,
    ways: FxHashMap<TerminalId, Way>,
    worsts: FxHashMap<TerminalId, u32>,
}

fn plus(a: Length, b: Length) -> Length {
    a.saturating_add(b).min(ENDLESS)
}

fn times(a: Length, count: u32) -> Length {
    if count == Term::UNBOUNDED { ENDLESS } else { a.saturating_mul(count.into()).min(ENDLESS) }
}

fn bytes_of(length: Length) -> Length {
    if length >= ENDLESS { ENDLESS } else { length % POINT }
}

/// How many bytes a length is, whatever they weigh.
fn count_bytes(length: Length) -> Length {
    length / Length::from(HEAVY) + length % Length::from(HEAVY)
}

/// The bytes as tokens, one for each, if there is one for each.
fn as_tokens(length: Length) -> u32 {
    if length >= HEAVY.into() { NO_END } else { length as u32 }
}

impl Shortest {
    pub(crate) fn new(speller: &Speller<'_>) -> Self {
        let mut weights = Box::new([HEAVY; 256]);
        for node in speller.trie.children(Trie::ROOT).filter(|&node| speller.ends(node)) {
            weights[usize::from(speller.trie.byte(node))] = 1;
        }
        Shortest {
            weights,
            lengths: FxHashMap::default(),
            automata: FxHashMap::default(),
            texts: FxHashMap::default(),
            ways: FxHashMap::default(),
            worsts: FxHashMap::default(),
        }
    }

    /// The memory that it takes, roughly.
    pub(crate) fn memory_bytes(&self) -> usize {
        (self.lengths.len() + self.ways.len() + self.worsts.len()) * 32
    }

    /// No more bytes than any text of a state has.
    pub(crate) fn least_bytes(&mut self, arena: &Arena, id: TerminalId) -> u32 {
        self.length(arena, id, Mode::LEAST).min(NO_END.into()) as u32
    }

    /// No fewer bytes than the nearest end is away from any state that `id` may come to; [`NO_END`] if that is not known.
    pub(crate) fn worst_bytes(&mut self, arena: &Arena, id: TerminalId) -> u32 {
        if let Some(&known) = self.worsts.get(&id) {
            return known;
        }
        let worst = as_tokens(self.worst(arena, id));
        self.worsts.insert(id, worst);
        worst
    }

    /// The same for any state, also within keys and escapes.
    pub(crate) fn worst_after(&mut self, arena: &Arena, id: TerminalId) -> u32 {
        if ends_in_key(arena, id) || is_in_escape(arena, id) { NO_END } else { self.worst_bytes(arena, id) }
    }

    /// No fewer tokens than the nearest end is away in them; and there is a token after which it is one less.
    pub(crate) fn tokens(&mut self, arena: &Arena, speller: &Speller<'_>, id: TerminalId) -> u32 {
        let id = arena.without_text(id);
        if arena.is_nullable(id) {
            return 0;
        }
        if let Some(way) = self.ways.get(&id) {
            return way.tokens;
        }
        let mut path = Vec::new();
        let mut at = id;
        while !arena.is_nullable(at) && !self.ways.contains_key(&at) {
            let length = self.length(arena, at, Mode::BYTES);
            let is_long = count_bytes(length) > LONGEST_WAY;
            let next = if is_long || ends_in_key(arena, at) { None } else { self.next(arena, at) };
            let known = Way { next, tokens: if next.is_some() { NO_END } else { as_tokens(length) } };
            self.ways.insert(at, known);
            let Some((_, next)) = next else { break };
            path.push(at);
            at = next;
        }
        for &at in path.iter().rev() {
            let tokens = self.spell(arena, speller, at);
            self.ways.insert(at, Way { tokens, ..self.ways[&at] });
        }
        self.ways[&id].tokens
    }

    /// The fewest tokens for the way of a state, where those of the states behind it are known.
    fn spell(&self, arena: &Arena, speller: &Speller<'_>, id: TerminalId) -> u32 {
        let (mut node, mut at, mut fewest) = (Trie::ROOT, id, NO_END);
        while let Some(Way { next: Some((byte, next)), .. }) = self.ways.get(&at) {
            let Some(child) = speller.trie.child(node, *byte) else { break };
            (node, at) = (child, *next);
            if speller.ends(node) {
                let rest = if arena.is_nullable(at) { 0 } else { self.ways[&at].tokens };
                fewest = fewest.min(rest + 1);
            }
            if arena.is_nullable(at) {
                break;
            }
        }
        fewest.min(NO_END)
    }

    /// The bytes on the way from a state to its end, if there is one and it is not too long.
    pub(crate) fn word(&mut self, arena: &Arena, id: TerminalId) -> Option<Vec<u8>> {
        let mut word = Vec::new();
        let mut at = id;
        while !arena.is_nullable(at) {
            let (byte, next) = self.next(arena, at).filter(|_| word.len() as Length <= LONGEST_WAY)?;
            word.push(byte);
            at = next;
        }
        Some(word)
    }

    /// The next byte on the way from a state.
    pub(crate) fn next_byte(&mut self, arena: &Arena, id: TerminalId) -> Option<u8> {
        let id = arena.without_text(id);
        match self.ways.get(&id) {
            Some(&Way { next: Some((byte, _)), .. }) => Some(byte),
            _ => self.next(arena, id).map(|(byte, _)| byte),
        }
    }

    /// The state at the end of the way from a state, if there is one and it is not too long.
    pub(crate) fn end(&mut self, arena: &Arena, id: TerminalId) -> Option<TerminalId> {
        let mut at = id;
        for _ in 0..=LONGEST_WAY {
            if arena.is_nullable(at) {
                return Some(at);
            }
            at = self.next(arena, at)?.1;
        }
        None
    }

    /// The next byte on the way of a state, and the state after it.
    ///
    /// What may be left out of a sequence is: a string of at most a hundred characters has a hundred states with as many
    /// ways on each, and the way of all of them is the closing quote.
    fn next(&mut self, arena: &Arena, id: TerminalId) -> Option<(u8, TerminalId)> {
        let here = self.length(arena, id, Mode::BYTES);
        let mut best: Option<(Length, u8)> = None;
        for &(low, high, target) in arena.row(without_optional_head(arena, id)) {
            let (weight, byte) = (low..=high).map(|byte| (self.weights[usize::from(byte)], byte)).min()?;
            let is_nearer =
                |length: Length| best.is_none_or(|(least, _)| plus(weight.into(), length) < least);
            if !is_nearer(arena.least_digits(target)) {
                continue;
            }
            let length = self.length(arena, target, Mode::BYTES);
            if is_nearer(length) {
                best = Some((plus(weight.into(), length), byte));
            }
        }
        let (_, byte) = best?;
        let next = arena.step(id, byte);
        // It is nearer by what was read; this only keeps a mistake from going round for ever.
        (self.length(arena, next, Mode::BYTES) < here).then_some((byte, next))
    }

    fn length(&mut self, arena: &Arena, id: TerminalId, mode: Mode) -> Length {
        if let Some(&known) = self.lengths.get(&(id, mode)) {
            return known;
        }
        let mut stack = vec![(id, mode)];
        while let Some(&(at, mode)) = stack.last() {
            let waiting = stack.len();
            if !self.lengths.contains_key(&(at, mode)) {
                self.push_unknown_parts(arena, at, mode, &mut stack);
                if stack.len() == waiting {
                    let length = self.compute_length(arena, at, mode);
                    self.lengths.insert((at, mode), length);
                }
            }
            if stack.len() == waiting {
                stack.pop();
            }
        }
        self.lengths[&(id, mode)]
    }

    /// Adds the parts of a term to `stack` whose lengths are not known and matter.
    fn push_unknown_parts(
        &self,
        arena: &Arena,
        id: TerminalId,
        mode: Mode,
        stack: &mut Vec<(TerminalId, Mode)>,
    ) {
        if let Term::JsonEscape { .. } = arena.term(id) {
            stack.extend(self.escape_length(arena, id, mode).err().map(|part| (part, mode)));
        } else {
            let is_unknown = |part: &(TerminalId, Mode)| !self.lengths.contains_key(part);
            stack.extend(parts(arena, id, mode).into_iter().filter(is_unknown));
        }
    }

    /// The length of an escape, or else a state behind its next byte whose length has to be known for that. Not all of them
    /// have to: there are many ways to go on with digits, mostly to the same, and none of them is less than its digits.
    fn escape_length(&self, arena: &Arena, id: TerminalId, mode: Mode) -> Result<Length, TerminalId> {
        let mut least = ENDLESS;
        for &(low, high, target) in arena.row(id) {
            let byte = self.lightest(low, high, mode);
            if plus(byte, arena.least_digits(target)) < least {
                let rest = self.lengths.get(&(target, mode)).ok_or(target)?;
                least = least.min(plus(byte, *rest));
            }
        }
        Ok(least)
    }

    fn compute_length(&mut self, arena: &Arena, id: TerminalId, mode: Mode) -> Length {
        let known = |id: TerminalId, mode: Mode| self.lengths.get(&(id, mode)).copied().unwrap_or(ENDLESS);
        let beyond = |&(low, high, target): &Piece, mode: Mode| {
            plus(self.lightest(low, high, mode), known(target, mode))
        };
        match arena.term(id) {
            Term::Never => ENDLESS,
            Term::Empty | Term::KeyRead(_) => 0,
            &Term::Literal { literal, offset } => {
                let bytes = &arena.literals.get(literal).bytes[offset as usize..];
                bytes.iter().fold(0, |sum, &byte| plus(sum, self.letter(byte, mode)))
            }
            Term::Dispatch(row) => row.iter().map(|piece| beyond(piece, mode)).min().unwrap_or(ENDLESS),
            Term::JsonEscape { .. } => self.escape_length(arena, id, mode).unwrap_or(ENDLESS),
            &Term::Concat(a, b) => plus(known(a, mode), known(b, mode)),
            Term::Alt(items) => items.iter().map(|&item| known(item, mode)).min().unwrap_or(ENDLESS),
            &Term::Repeat { body, min, .. } => times(known(body, mode), min),
            &Term::Dfa { dfa, state } => self.in_automaton(arena, dfa, mode)[state as usize],
            &Term::Tagged { text, state } => self.in_text(arena, text, mode)[state as usize],
            &Term::JsonText { inner, .. } => known(inner, mode.with(Mode::JSON)),
            &Term::Bounded { inner, .. } if mode.has(Mode::LEAST.0 | Mode::POINTS) => {
                known(inner, bounded_mode(mode))
            }
            &Term::Bounded { inner, .. } => bytes_of(known(inner, bounded_mode(mode))),
            Term::Key(key) => {
                key_ways(arena, key).iter().map(|piece| beyond(piece, mode)).min().unwrap_or(ENDLESS)
            }
        }
    }

    /// What a byte adds to a length.
    fn letter(&self, byte: u8, mode: Mode) -> Length {
        let weight = |byte: u8| {
            if mode.has(Mode::LEAST.0) { 1 } else { Length::from(self.weights[usize::from(byte)]) }
        };
        let is_short = || Escapes::Least.short().iter().find(|&&(_, meant)| meant == byte);
        let bytes = if !mode.has(Mode::JSON) || stands_for_itself(byte) {
            weight(byte)
        } else if let Some(&(written, _)) = is_short() {
            weight(b'\\') + weight(written)
        } else {
            let digits = format!("\\u{byte:04x}");
            digits.bytes().map(weight).sum()
        };
        let leads = mode.has(Mode::POINTS) && !(0x80..0xC0).contains(&byte);
        bytes + if leads { POINT } else { 0 }
    }

    /// What an escape of any code point weighs at most.
    fn heaviest_escape(&self, escapes: Escapes) -> Length {
        let weight = |byte: u8| Length::from(self.weights[usize::from(byte)]);
        let capital = |digit: u8| if escapes.has_capitals() { digit.to_ascii_uppercase() } else { digit };
        let digit = |&digit: &u8| weight(digit).min(weight(capital(digit)));
        let heaviest = b"0123456789abcdef".iter().map(digit).max().unwrap_or(ENDLESS);
        weight(b'\\') + weight(b'u') + 4 * heaviest
    }

    fn lightest(&self, low: u8, high: u8, mode: Mode) -> Length {
        (low..=high).map(|byte| self.letter(byte, mode)).min().unwrap_or(ENDLESS)
    }

    /// How far the states of an automaton are from an end.
    fn in_automaton(&mut self, arena: &Arena, dfa: u32, mode: Mode) -> &[Length] {
        if !self.automata.contains_key(&(dfa, mode)) {
            let dfa_of = &arena.automata.get(dfa).dfa;
            let edges = |state: u32| dfa_of.edges(state).to_vec();
            let lengths = self.compute_lengths(dfa_of.len(), |state| dfa_of.is_accepting(state), edges, mode);
            self.automata.insert((dfa, mode), lengths);
        }
        &self.automata[&(dfa, mode)]
    }

    /// The same for a text with tags, where a tag that has been read is an end.
    fn in_text(&mut self, arena: &Arena, text: u32, mode: Mode) -> &[Length] {
        if !self.texts.contains_key(&(text, mode)) {
            let tagged = &arena.tagged[text as usize].text;
            let is_end = |state: u32| tagged.is_end(state) || tagged.tag(state).is_some();
            let lengths = self.compute_lengths(tagged.len(), is_end, |state| tagged.edges(state), mode);
            self.texts.insert((text, mode), lengths);
        }
        &self.texts[&(text, mode)]
    }

    fn compute_lengths(
        &self,
        count: usize,
        is_end: impl Fn(u32) -> bool,
        edges: impl Fn(u32) -> Vec<(u8, u8, u32)>,
        mode: Mode,
    ) -> Box<[Length]> {
        let mut into: Vec<Vec<(u32, Length)>> = vec![Vec::new(); count];
        for state in (0..count as u32).filter(|&state| !is_end(state)) {
            for (low, high, target) in edges(state) {
                into[target as usize].push((state, self.lightest(low, high, mode)));
            }
        }
        let mut lengths = vec![ENDLESS; count];
        let mut heap = std::collections::BinaryHeap::new();
        for state in (0..count as u32).filter(|&state| is_end(state)) {
            lengths[state as usize] = 0;
            heap.push((std::cmp::Reverse(0), state));
        }
        while let Some((std::cmp::Reverse(length), state)) = heap.pop() {
            if length > lengths[state as usize] {
                continue;
            }
            for &(from, step) in &into[state as usize] {
                let longer = plus(length, step);
                if longer < lengths[from as usize] {
                    lengths[from as usize] = longer;
                    heap.push((std::cmp::Reverse(longer), from));
                }
            }
        }
        lengths.into()
    }

    fn worst(&mut self, arena: &Arena, id: TerminalId) -> Length {
        let mut known: FxHashMap<(TerminalId, Mode), Length> = FxHashMap::default();
        let root = (id, Mode::BYTES);
        let mut stack = vec![root];
        while let Some(&(at, mode)) = stack.last() {
            let waiting = stack.len();
            if !known.contains_key(&(at, mode)) {
                let missing = parts(arena, at, mode).into_iter().filter(|part| !known.contains_key(part));
                stack.extend(missing);
                if stack.len() == waiting {
                    let worst = self.compute_worst(arena, at, mode, &known);
                    known.insert((at, mode), worst);
                }
            }
            if stack.len() == waiting {
                stack.pop();
            }
        }
        known[&root]
    }

    /// The most bytes to the nearest end from any state that a term may come to.
    fn compute_worst(
        &mut self,
        arena: &Arena,
        id: TerminalId,
        mode: Mode,
        known: &FxHashMap<(TerminalId, Mode), Length>,
    ) -> Length {
        let here = bytes_of(self.length(arena, id, mode));
        let later = match arena.term(id) {
            Term::Dispatch(row) => row.iter().map(|piece| known[&(piece.2, mode)]).max().unwrap_or(0),
            &Term::Concat(a, b) => {
                plus(known[&(a, mode)], bytes_of(self.length(arena, b, mode))).max(known[&(b, mode)])
            }
            Term::Alt(items) => items.iter().map(|&item| known[&(item, mode)]).max().unwrap_or(0),
            &Term::Repeat { body, min, .. } => {
                let others = times(bytes_of(self.length(arena, body, mode)), min.saturating_sub(1));
                plus(known[&(body, mode)], others)
            }
            &Term::Dfa { dfa, .. } => {
                self.in_automaton(arena, dfa, mode).iter().map(|&length| bytes_of(length)).max().unwrap_or(0)
            }
            &Term::Tagged { text, .. } => self
                .in_text(arena, text, mode)
                .iter()
                .filter(|&&length| length < ENDLESS)
                .copied()
                .max()
                .unwrap_or(0),
            // Two escapes may be under way, the halves of a pair.
            &Term::JsonText { inner, escapes, .. } => {
                plus(known[&(inner, mode.with(Mode::JSON))], 2 * self.heaviest_escape(escapes))
            }
            &Term::Bounded { inner, .. } => known[&(inner, bounded_mode(mode))],
            // States that no terminal starts with.
            Term::JsonEscape { .. } | Term::Key(_) => ENDLESS,
            _ => 0,
        };
        here.max(later)
    }
}

/// How the text under a bound is counted.
fn bounded_mode(mode: Mode) -> Mode {
    if mode.has(Mode::LEAST.0) { mode } else { mode.with(Mode::POINTS) }
}

/// What the length of a term is made of, but for escapes.
fn parts(arena: &Arena, id: TerminalId, mode: Mode) -> Vec<(TerminalId, Mode)> {
    let in_mode = |mode: Mode, ids: Vec<TerminalId>| ids.into_iter().map(|id| (id, mode)).collect();
    match arena.term(id) {
        Term::JsonText { inner, .. } => vec![(*inner, mode.with(Mode::JSON))],
        Term::Bounded { inner, .. } => vec![(*inner, bounded_mode(mode))],
        Term::Key(key) => in_mode(mode, key_ways(arena, key).iter().map(|piece| piece.2).collect()),
        _ => in_mode(mode, arena.children(id)),
    }
}

/// The ways on of a key that leave all excluded texts behind; all ways on if there are none.
fn key_ways(arena: &Arena, key: &Key) -> Vec<Piece> {
    let stripped = arena.intern_key(Key { text: None, ..key.clone() });
    let row = arena.row(stripped);
    let is_free = |piece: &&Piece| !matches!(arena.term(piece.2), Term::Key(_));
    let free: Vec<Piece> = row.iter().filter(is_free).copied().collect();
    if free.is_empty() { row.to_vec() } else { free }
}

/// A sequence without the parts that may be left out at its beginning, as far as something else comes after them.
fn without_optional_head(arena: &Arena, id: TerminalId) -> TerminalId {
    let mut at = id;
    while let &Term::Concat(head, tail) = arena.term(at)
        && arena.is_nullable(head)
    {
        at = tail;
    }
    at
}

/// The last part of a sequence.
fn last_part(arena: &Arena, id: TerminalId) -> TerminalId {
    let mut at = id;
    while let &Term::Concat(_, tail) = arena.term(at) {
        at = tail;
    }
    at
}

/// Whether a state ends with a key that is told apart from others.
fn ends_in_key(arena: &Arena, id: TerminalId) -> bool {
    matches!(arena.term(last_part(arena, id)), Term::Key(_))
}

/// Whether a state begins within an escape.
fn is_in_escape(arena: &Arena, id: TerminalId) -> bool {
    let mut at = id;
    while let &Term::Concat(head, _) = arena.term(at) {
        at = head;
    }
    match arena.term(at) {
        Term::JsonEscape { .. } => true,
        Term::Alt(items) => items.iter().any(|&item| is_in_escape(arena, item)),
        _ => false,
    }
}

impl Arena {
    /// No more bytes than the escape has left that a state begins within; none if it is in no escape.
    fn least_digits(&self, id: TerminalId) -> Length {
        match self.term(id) {
            Term::JsonEscape { escape, .. } => escape.least_bytes(),
            &Term::Concat(head, _) => match self.term(head) {
                Term::JsonEscape { escape, .. } => escape.least_bytes(),
                _ => 0,
            },
            _ => 0,
        }
    }

    /// Whether a state is known to take texts of any length over many characters.
    pub(crate) fn is_any_text(&self, id: TerminalId) -> bool {
        const MANY: usize = 90;
        let &Term::Repeat { body, min: 0, max: Term::UNBOUNDED } = self.term(id) else { return false };
        let single = |&(low, high, _): &Piece| usize::from(high.min(0x7F).saturating_sub(low)) + 1;
        let single_bytes = self.row(body).iter().filter(|piece| piece.0 < 0x80).map(single).sum::<usize>();
        self.is_one_character(body) && single_bytes >= MANY
    }

    /// The same state, if it ends in a key that remembers its text, without that. It goes on alike up to the closing quote,
    /// and keys have a state for each text otherwise.
    pub(crate) fn without_text(&self, id: TerminalId) -> TerminalId {
        let Term::Key(key) = self.term(last_part(self, id)) else { return id };
        if key.text.is_none() {
            return id;
        }
        let mut heads = Vec::new();
        let mut at = id;
        while let &Term::Concat(head, tail) = self.term(at) {
            heads.push(head);
            at = tail;
        }
        let key = self.intern_key(Key { text: None, ..(**key).clone() });
        heads.into_iter().rev().fold(key, |tail, head| self.concat(head, tail))
    }

    /// The JSON spellings of the texts of a state.
    pub(crate) fn json_text_of(&self, texts: TerminalId, escapes: Escapes) -> TerminalId {
        self.json_text(texts, 0, escapes)
    }
}
