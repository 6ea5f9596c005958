//! Shapes: the trie of all tokens, by kinds of bytes.
//!
//! Nearly no pattern tells one small letter from another, so nearly no pattern tells `hello` from `world`. In the trie of
//! shapes the ways from node to node are kinds of bytes, and words of one length share a path: it has a tenth of the nodes.
//! A state that treats all bytes of a kind alike walks it instead of the trie of tokens. Where it does not, the walk goes on
//! among the *members* of a node: the nodes of the trie of tokens whose paths have that shape.
//!
//! Invariants:
//!
//! 1. Nodes lie in depth-first order, as in a [`Trie`]; a sentinel closes the list.
//! 2. Every node of the trie of tokens is a member of one shape, and its tokens are among that shape's.

use std::sync::Arc;

use super::trie::{NodeIndex, Trie};

/// The number of a node in the trie of shapes.
pub(crate) type ShapeIndex = u32;

/// A set of kinds of bytes, a bit for each; or of kinds of characters, where a bit is for a byte that is a character by itself.
pub(crate) type KindSet = u64;

/// How many kinds there are.
pub(crate) const KINDS: usize = 59;

/// The kind of each byte. Letters are of two kinds, and so are the bytes that go on in a character, and those that are in no
/// text; the bytes that begin a character are told apart by what may follow them. All others are of their own kind.
pub(crate) const KIND_OF: [u8; 256] = kinds();

/// The kind of the bytes that go on in a character.
const INNER: u8 = 2;

/// The kinds of bytes that are characters by themselves.
pub(crate) const ASCII: KindSet = (1 << KINDS) - 1 - 0b111_1111_1100;
/// All other characters, as a kind of characters,
pub(crate) const OTHER: KindSet = 1 << 62;
/// those [among them](is_space) that patterns tell apart, such as spaces and ends of lines, which are of both kinds,
pub(crate) const SPACES: KindSet = 1 << 60;
/// tokens that end within one,
pub(crate) const BEGUN: KindSet = 1 << 61;
/// and bytes that are none.
pub(crate) const BROKEN: KindSet = 1 << 63;

/// What may stand unescaped in a JSON string: all but quotes, backslashes and control characters.
pub(crate) const JSON_TEXT: KindSet = OTHER | SPACES | ASCII & !kinds_of(b"\0\t\n\r\"\\");

/// The kinds of some bytes.
pub(crate) const fn kinds_of(bytes: &[u8]) -> KindSet {
    let (mut kinds, mut at) = (0, 0);
    while at < bytes.len() {
        kinds |= 1 << KIND_OF[bytes[at] as usize];
        at += 1;
    }
    kinds
}

/// Whether a character of some kinds may begin with a byte of a range.
pub(crate) fn meets(kinds: KindSet, low: u8, high: u8) -> bool {
    let is_of = |byte: u8| kinds & ASCII & 1 << KIND_OF[usize::from(byte)] != 0;
    (low..=high.min(0x7F)).any(is_of) || (high >= 0x80 && kinds & OTHER != 0)
}

/// Whether a character outside of ASCII is a space, a line's end or a control character: what `\s` and `.` tell apart.
fn is_space(code: u32) -> bool {
    matches!(code, 0x80..=0xA0 | 0x1680 | 0x2000..=0x202F | 0x205F | 0x3000 | 0xFEFF)
}

/// The kind of characters that a byte belongs to, where `all` is the kinds on its way and below: if something is broken among
/// them, that byte may be it, and if there is a space, that byte may be its last.
#[inline]
pub(crate) fn character_kind(kind: u8, all: KindSet) -> KindSet {
    match (1 << kind) & ASCII {
        0 if all & BROKEN != 0 => BROKEN,
        0 if kind == INNER && all & SPACES != 0 => SPACES,
        0 => OTHER,
        own => own,
    }
}

const fn kinds() -> [u8; 256] {
    let mut kinds = [0; 256];
    let mut own = 12;
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b'a'..=b'z' => 0,
            b'A'..=b'Z' => 1,
            0x80..=0xBF => INNER,
            0xC2..=0xDF => 3,
            0xE0 => 4,
            0xED => 5,
            0xE1..=0xEF => 6,
            0xF0 => 7,
            0xF1..=0xF3 => 8,
            0xF4 => 9,
            0xC0..=0xFF => 10,
            0..=0x08 | 0x0B | 0x0C | 0x0E..=0x1F => 11,
            _ => {
                own += 1;
                own - 1
            }
        };
        byte += 1;
    }
    assert!(own as usize == KINDS, "every kind has a number");
    kinds
}

/// Bytes of one kind, from the first to the last.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) low: u8,
    pub(crate) high: u8,
    pub(crate) kind: u8,
}

/// All bytes, in order.
pub(crate) static RUNS: [Run; count_runs()] = runs();

const fn count_runs() -> usize {
    let (mut count, mut byte) = (1, 1);
    while byte < 256 {
        count += (KIND_OF[byte] != KIND_OF[byte - 1]) as usize;
        byte += 1;
    }
    count
}

const fn runs() -> [Run; count_runs()] {
    let mut runs = [Run { low: 0, high: 0, kind: KIND_OF[0] }; count_runs()];
    let (mut at, mut byte) = (0, 1);
    while byte < 256 {
        if KIND_OF[byte] != KIND_OF[byte - 1] {
            at += 1;
            runs[at] = Run { low: byte as u8, high: byte as u8, kind: KIND_OF[byte] };
        }
        runs[at].high = byte as u8;
        byte += 1;
    }
    runs
}

/// The bytes of a kind.
pub(crate) fn bytes_of(kind: u8) -> &'static [u8] {
    const BEGINS: [usize; KINDS + 1] = begins();
    static BYTES: [u8; 256] = by_kind();
    &BYTES[BEGINS[usize::from(kind)]..BEGINS[usize::from(kind) + 1]]
}

/// Where the bytes of each kind begin, if all bytes are sorted by kind.
const fn begins() -> [usize; KINDS + 1] {
    let mut begins = [0; KINDS + 1];
    let mut byte = 0;
    while byte < 256 {
        let mut kind = KIND_OF[byte] as usize + 1;
        while kind <= KINDS {
            begins[kind] += 1;
            kind += 1;
        }
        byte += 1;
    }
    begins
}

/// All bytes, sorted by kind.
const fn by_kind() -> [u8; 256] {
    let (mut bytes, mut next) = ([0; 256], begins());
    let mut byte = 0;
    while byte < 256 {
        let kind = KIND_OF[byte] as usize;
        bytes[next[kind]] = byte as u8;
        next[kind] += 1;
        byte += 1;
    }
    bytes
}

/// A node, in the order in which a walk needs it.
#[derive(Clone, Copy, Debug)]
struct ShapeNode {
    /// The kinds of characters on the way to the node, its last byte, and on all ways below it.
    characters: KindSet,
    end: ShapeIndex,
    first_token: u32,
    first_member: u32,
    kind: u8,
    /// How many bytes follow at most.
    height: u16,
}

/// The trie of shapes of a vocabulary.
#[derive(Debug)]
pub(crate) struct Shapes {
    nodes: Box<[ShapeNode]>,
    /// All tokens in the order of shapes.
    tokens: Arc<[u32]>,
    /// The members of each shape, in the order of shapes.
    members: Box<[NodeIndex]>,
    /// The kinds of characters on the way to each node of the trie of tokens, its last byte, and on all ways below it.
    characters: Box<[KindSet]>,
    /// The root of the trie of tokens, and the nodes that are alone in their shape and have much under them: sorted, with the
    /// shape.
    alone: Box<[(NodeIndex, ShapeIndex)]>,
}

/// With fewer nodes than this under it, a node of the trie of tokens but the root is walked itself.
const WORTH_SHAPES: NodeIndex = 1_024;

impl Shapes {
    /// The root, whose only member is the root of the trie of tokens.
    pub(crate) const ROOT: ShapeIndex = 0;

    pub(super) fn new(trie: &Trie) -> Self {
        let mut draft = Draft { trie, nodes: Vec::new(), tokens: Vec::new(), members: Vec::new() };
        draft.add_all();
        let end = draft.nodes.len() as ShapeIndex;
        draft.add_node(end, 0, &[]);
        let mut shapes = Shapes {
            nodes: draft.nodes.into(),
            tokens: draft.tokens.into(),
            members: draft.members.into(),
            characters: characters(trie),
            alone: Box::default(),
        };
        shapes.look_below();
        shapes.find_alone(trie);
        shapes
    }

    fn look_below(&mut self) {
        for shape in (0..self.end(Self::ROOT)).rev() {
            let members = self.members(shape).iter();
            let characters = members.fold(0, |all, &member| all | self.characters[member as usize]);
            let mut height: u16 = 0;
            let mut child = shape + 1;
            while child < self.end(shape) {
                height = height.max(self.nodes[child as usize].height.saturating_add(1));
                child = self.end(child);
            }
            let node = &mut self.nodes[shape as usize];
            (node.characters, node.height) = (characters, height);
        }
    }

    fn find_alone(&mut self, trie: &Trie) {
        let mut alone = Vec::new();
        for shape in 0..self.end(Self::ROOT) {
            if let &[node] = self.members(shape)
                && (node == Trie::ROOT || trie.end(node) - node >= WORTH_SHAPES)
            {
                alone.push((node, shape));
            }
        }
        alone.sort_unstable();
        self.alone = alone.into();
    }

    /// The shape whose only member is `node`, if that is worth walking.
    pub(crate) fn of(&self, node: NodeIndex) -> Option<ShapeIndex> {
        let at = self.alone.binary_search_by_key(&node, |alone| alone.0).ok()?;
        Some(self.alone[at].1)
    }

    /// The kinds of characters at a node of the trie of tokens and on the ways below it.
    #[inline]
    pub(crate) fn characters_at(&self, node: NodeIndex) -> KindSet {
        self.characters[node as usize]
    }

    /// The kind of bytes on the way to `shape`.
    #[inline]
    pub(crate) fn kind(&self, shape: ShapeIndex) -> u8 {
        self.nodes[shape as usize].kind
    }

    /// The end of `shape`'s subtree.
    #[inline]
    pub(crate) fn end(&self, shape: ShapeIndex) -> ShapeIndex {
        self.nodes[shape as usize].end
    }

    /// The kinds of characters at `shape` and on the ways below it.
    #[inline]
    pub(crate) fn characters(&self, shape: ShapeIndex) -> KindSet {
        self.nodes[shape as usize].characters
    }

    /// How many bytes follow at most below `shape`.
    #[inline]
    pub(crate) fn height(&self, shape: ShapeIndex) -> u32 {
        match self.nodes[shape as usize].height {
            u16::MAX => u32::MAX,
            height => u32::from(height),
        }
    }

    /// The positions of the tokens from one shape up to another, in the order of shapes.
    #[inline]
    pub(crate) fn token_range(&self, from: ShapeIndex, to: ShapeIndex) -> std::ops::Range<u32> {
        self.nodes[from as usize].first_token..self.nodes[to as usize].first_token
    }

    /// All tokens, in the order of shapes.
    pub(crate) fn tokens(&self) -> &Arc<[u32]> {
        &self.tokens
    }

    /// The nodes of the trie of tokens with this shape.
    pub(crate) fn members(&self, shape: ShapeIndex) -> &[NodeIndex] {
        let shape = shape as usize;
        &self.members[self.nodes[shape].first_member as usize..self.nodes[shape + 1].first_member as usize]
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.nodes)
            + size_of_val(&*self.tokens)
            + size_of_val(&*self.members)
            + size_of_val(&*self.characters)
    }
}

/// The kinds of characters at each node of a trie and on all ways below it.
fn characters(trie: &Trie) -> Box<[KindSet]> {
    let count = trie.end(Trie::ROOT);
    let mut places = vec![Utf8::START; count as usize];
    let mut all: Vec<KindSet> = vec![0; count as usize];
    for node in 0..count {
        for child in trie.children(node) {
            let (place, kind) = places[node as usize].read(trie.byte(child));
            places[child as usize] = place;
            let ends = !trie.tokens_of(child).is_empty();
            all[child as usize] = kind | if ends { place.end() } else { 0 };
        }
    }
    for node in (0..count).rev() {
        all[node as usize] |= trie.children(node).map(|child| all[child as usize]).fold(0, |a, b| a | b);
    }
    all.into()
}

/// Where one is in a character: the bytes that may come next, how many come after that, and what was read of its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Utf8 {
    low: u8,
    high: u8,
    then: u8,
    code: u32,
}

impl Utf8 {
    /// Before a character.
    const START: Utf8 = Utf8 { low: 0, high: 0, then: 0, code: 0 };
    /// After bytes that no text has.
    const BROKEN: Utf8 = Utf8 { low: 1, high: 0, then: 0, code: 0 };

    /// What there is to say of a token that ends here.
    fn end(self) -> KindSet {
        if self == Self::START || self == Self::BROKEN { 0 } else { BEGUN }
    }

    /// After `byte`, and the kind of characters that it belongs to.
    fn read(self, byte: u8) -> (Self, KindSet) {
        let next = self.after(byte);
        let kind = match next {
            Self::BROKEN => BROKEN,
            Self::START if byte >= 0x80 && is_space(self.code_with(byte)) => OTHER | SPACES,
            _ => character_kind(KIND_OF[usize::from(byte)], 0),
        };
        (next, kind)
    }

    /// The code with the bits of one more byte.
    fn code_with(self, byte: u8) -> u32 {
        self.code << 6 | u32::from(byte & 0x3F)
    }

    fn after(self, byte: u8) -> Self {
        let begins = |low, high, then| {
            let bits = byte & (0x1F_u8 >> then);
            Utf8 { low, high, then, code: u32::from(bits) }
        };
        match (self, byte) {
            (Self::START, 0..=0x7F) => Self::START,
            (Self::START, 0xC2..=0xDF) => begins(0x80, 0xBF, 0),
            (Self::START, 0xE0) => begins(0xA0, 0xBF, 1),
            (Self::START, 0xED) => begins(0x80, 0x9F, 1),
            (Self::START, 0xE1..=0xEF) => begins(0x80, 0xBF, 1),
            (Self::START, 0xF0) => begins(0x90, 0xBF, 2),
            (Self::START, 0xF1..=0xF3) => begins(0x80, 0xBF, 2),
            (Self::START, 0xF4) => begins(0x80, 0x8F, 2),
            (Utf8 { low, high, then: 0, .. }, _) if (low..=high).contains(&byte) => Self::START,
            (Utf8 { low, high, then, .. }, _) if (low..=high).contains(&byte) => {
                Utf8 { low: 0x80, high: 0xBF, then: then - 1, code: self.code_with(byte) }
            }
            _ => Self::BROKEN,
        }
    }
}

/// The kinds of characters in a token.
pub(crate) fn characters_of(bytes: &[u8]) -> KindSet {
    let mut place = Utf8::START;
    let all = bytes.iter().fold(0, |all, &byte| {
        let (next, kind) = place.read(byte);
        place = next;
        all | kind
    });
    all | place.end()
}

/// The trie of shapes while nodes are being added.
struct Draft<'t> {
    trie: &'t Trie,
    nodes: Vec<ShapeNode>,
    tokens: Vec<u32>,
    members: Vec<NodeIndex>,
}

/// The children of a shape that are still to be added, last one first, and the shape.
struct Frame {
    shape: usize,
    children: Vec<(u8, Vec<NodeIndex>)>,
}

impl Draft<'_> {
    fn add_all(&mut self) {
        let mut frames = vec![self.open(0, &[Trie::ROOT])];
        while let Some(frame) = frames.last_mut() {
            if let Some((kind, members)) = frame.children.pop() {
                let opened = self.open(kind, &members);
                frames.push(opened);
            } else {
                self.nodes[frame.shape].end = self.nodes.len() as ShapeIndex;
                frames.pop();
            }
        }
    }

    fn open(&mut self, kind: u8, members: &[NodeIndex]) -> Frame {
        let shape = self.nodes.len();
        self.add_node(0, kind, members);
        let mut children: Vec<(u8, NodeIndex)> = Vec::new();
        for &member in members {
            let kind = |child| KIND_OF[usize::from(self.trie.byte(child))];
            children.extend(self.trie.children(member).map(|child| (kind(child), child)));
        }
        children.sort_unstable_by_key(|&(kind, child)| (std::cmp::Reverse(kind), child));
        let group = |group: &[(u8, NodeIndex)]| (group[0].0, group.iter().map(|child| child.1).collect());
        Frame { shape, children: children.chunk_by(|a, b| a.0 == b.0).map(group).collect() }
    }

    fn add_node(&mut self, end: ShapeIndex, kind: u8, members: &[NodeIndex]) {
        let (first_token, first_member) = (self.tokens.len() as u32, self.members.len() as u32);
        self.nodes.push(ShapeNode { characters: 0, end, first_token, first_member, kind, height: 0 });
        members.iter().for_each(|&member| self.tokens.extend_from_slice(self.trie.tokens_of(member)));
        self.members.extend_from_slice(members);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trie(tokens: &[&[u8]]) -> Trie {
        let mut sorted: Vec<(&[u8], u32)> = tokens.iter().copied().zip(0..).collect();
        sorted.sort();
        Trie::from_sorted(sorted.into_iter())
    }

    #[test]
    fn every_kind_has_bytes_and_letters_are_alike() {
        for kind in 0..KINDS as u8 {
            assert!(KIND_OF.contains(&kind), "{kind}");
        }
        let kind = |byte: u8| KIND_OF[usize::from(byte)];
        assert_eq!(kind(b'a'), kind(b'z'));
        assert_ne!(kind(b'a'), kind(b'A'));
        assert_ne!(kind(b'0'), kind(b'1'));
        assert_ne!(kind(b'"'), kind(b'\\'));
    }

    #[test]
    fn json_text_is_what_json_lets_stand() {
        for byte in 0..128u8 {
            assert_eq!(meets(JSON_TEXT, byte, byte), byte >= 0x20 && byte != b'"' && byte != b'\\', "{byte}");
        }
        assert!(meets(JSON_TEXT, 0xC2, 0xDF) && !meets(ASCII, 0xC2, 0xDF));
    }

    #[test]
    fn words_of_one_length_share_a_shape() {
        let trie = trie(&[b"ab", b"cd", b"cd1", b"x", b"A", b"ab"]);
        let shapes = Shapes::new(&trie);
        // The root, a letter, two, two and a digit, a capital.
        assert_eq!(shapes.end(Shapes::ROOT), 5);
        assert_eq!(shapes.members(1).len(), 3);
        assert_eq!(shapes.members(2).len(), 2);
        let tokens = |from, to| {
            let range = shapes.token_range(from, to);
            let mut tokens = shapes.tokens()[range.start as usize..range.end as usize].to_vec();
            tokens.sort_unstable();
            tokens
        };
        assert_eq!(tokens(1, 2), [3]);
        assert_eq!(tokens(2, 3), [0, 1, 5]);
        assert_eq!(tokens(1, shapes.end(1)), [0, 1, 2, 3, 5]);
        assert_eq!((shapes.height(1), shapes.height(2), shapes.height(4)), (2, 1, 0));
        assert_eq!(shapes.characters(1), 1 << KIND_OF[usize::from(b'a')] | 1 << KIND_OF[usize::from(b'1')]);
    }

    #[test]
    fn characters_are_whole_begun_or_broken() {
        let kind = |byte: u8| 1 << KIND_OF[usize::from(byte)];
        assert_eq!(characters_of("aé".as_bytes()), kind(b'a') | OTHER);
        assert_eq!(characters_of(b"a\xE0\xA4"), kind(b'a') | OTHER | BEGUN);
        assert_eq!(characters_of(b"\xE0\x80"), OTHER | BROKEN);
        assert_eq!(characters_of(b"\x80a"), BROKEN);
        for space in ["\u{80}", "\u{a0}", "\u{2028}", "\u{202f}", "\u{3000}", "\u{feff}"] {
            assert_eq!(characters_of(space.as_bytes()), OTHER | SPACES, "{space:?}");
        }
        for text in [
            "\u{a1}",
            "\u{2030}",
            "\u{3001}",
            "\u{7ff}",
            "\u{800}",
            "\u{d7ff}",
            "\u{e000}",
            "\u{ffff}",
            "\u{10000}",
            "\u{10ffff}",
        ] {
            assert_eq!(characters_of(text.as_bytes()), OTHER, "{text:?}");
        }
        for broken in
            [&b"\xC3a"[..], b"\xED\xA0\x80", b"\xF4\x90\x80\x80", b"\xF0\x80\x80\x80", b"\xC1\x80", b"\xFF"]
        {
            assert_ne!(characters_of(broken) & BROKEN, 0, "{broken:?}");
        }
        let trie = trie(&[b"a\xC3\xA9", b"a\xA9", b"b", b"c\xC3", b"c\xC3\xA9"]);
        let shapes = Shapes::new(&trie);
        assert_eq!(shapes.characters_at(1), kind(b'a') | OTHER | BROKEN);
        assert_eq!(shapes.characters_at(trie.child(Trie::ROOT, b'b').unwrap()), kind(b'b'));
        assert_eq!(shapes.characters_at(trie.child(Trie::ROOT, b'c').unwrap()), kind(b'c') | OTHER | BEGUN);
    }

    #[test]
    fn members_are_all_nodes_once() {
        let trie =
            trie(&[b"one", b"two", b"three", b"\xC3\xA9", b"\xC3\xA8t\xC3\xA9", b" one", b" (", b"12"]);
        let shapes = Shapes::new(&trie);
        let mut members: Vec<NodeIndex> =
            (0..shapes.end(Shapes::ROOT)).flat_map(|shape| shapes.members(shape).iter().copied()).collect();
        members.sort_unstable();
        assert_eq!(members, (0..trie.end(Trie::ROOT)).collect::<Vec<_>>());
        for shape in 1..shapes.end(Shapes::ROOT) {
            let kinds = shapes.members(shape).iter().map(|&node| KIND_OF[usize::from(trie.byte(node))]);
            assert!(kinds.into_iter().all(|kind| kind == shapes.kind(shape)));
        }
    }
}
