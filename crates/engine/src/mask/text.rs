//! Walking a trie along a text that must come, or along texts that may not.
//!
//! The text may have to be spelled in JSON, where each of its code points may be an escape. The walk knows the spellings
//! itself: there is no state for each byte of them.

use std::sync::Arc;

use smallvec::SmallVec;
use tokenstile_grammar::ir::Escapes;

use crate::terminal::{ExcludedTexts, ForcedText, first_char, short_escapes, stands_for_itself};
use crate::vocab::trie::{NodeIndex, Trie};

type Nodes = SmallVec<[NodeIndex; 8]>;

/// Walks from `node` along `text`. `on_tokens` is told the tokens on the way with their nodes, and `on_read` the inner nodes
/// at which all of the text was read.
pub(super) fn walk_text(
    trie: &Trie,
    node: NodeIndex,
    text: &ForcedText<'_>,
    on_tokens: &mut impl FnMut(NodeIndex, &[u32]),
    on_read: &mut impl FnMut(NodeIndex),
) {
    let mut stack: SmallVec<[(NodeIndex, usize); 4]> = SmallVec::from_slice(&[(node, 0)]);
    while let Some((mut at, mut place)) = stack.pop() {
        loop {
            if place == text.bytes.len() {
                on_read(at);
                break;
            }
            if let Some(backslash) = trie.child(at, b'\\')
                && let Some((c, escapes)) = text.escapable(place)
            {
                let ends = walk_escapes(trie, backslash, c, escapes, on_tokens);
                stack.extend(ends.into_iter().map(|end| (end, place + c.len_utf8())));
            }
            let next = if text.is_raw(place) { trie.child(at, text.bytes[place]) } else { None };
            let Some(child) = next.filter(|&child| enter(trie, child, on_tokens)) else { break };
            (at, place) = (child, place + 1);
        }
    }
}

/// Tells of the tokens of `node`. Whether anything is below it.
#[inline]
pub(super) fn enter(trie: &Trie, node: NodeIndex, on_tokens: &mut impl FnMut(NodeIndex, &[u32])) -> bool {
    let tokens = trie.tokens_of(node);
    if !tokens.is_empty() {
        on_tokens(node, tokens);
    }
    !trie.is_leaf(node)
}

/// The nodes under `node` at which a string has been closed whose text is one of `texts`, once `before` was read: sorted.
pub(super) fn closed_nodes(
    trie: &Trie,
    node: NodeIndex,
    before: &[u8],
    texts: &ExcludedTexts<'_>,
) -> Vec<NodeIndex> {
    let mut closed = Vec::new();
    if let Some(start) = before.iter().try_fold(node, |at, &byte| trie.child(at, byte)) {
        for (sorted, read) in texts.lists() {
            let levels = vec![(0, Nodes::from_slice(&[start]))];
            Spellings { trie, levels }.close_all(sorted, read, &mut closed);
        }
    }
    closed.sort_unstable();
    closed
}

/// The inner nodes at which the spellings of a text are, after each of its code points.
struct Spellings<'t> {
    trie: &'t Trie,
    /// How many bytes have been read, and the nodes there. Only the last may have none: no token goes on with that text.
    levels: Vec<(usize, Nodes)>,
}

impl Spellings<'_> {
    /// Adds the nodes at which strings are closed that have what is left of one of these texts, which are sorted, behind their
    /// first `depth` bytes. What a text begins with like the one before it is not walked again, and where no token goes on with
    /// the beginning of a text, all that begin so are passed over.
    fn close_all(&mut self, texts: &[Arc<str>], depth: usize, closed: &mut Vec<NodeIndex>) {
        let mut last: &[u8] = &[];
        let mut at = 0;
        while let Some(text) = texts.get(at) {
            let text = &text.as_bytes()[depth..];
            let same = text.iter().zip(last).take_while(|(a, b)| a == b).count();
            last = text;
            while self.levels.len() > 1 && self.levels[self.levels.len() - 1].0 > same {
                self.levels.pop();
            }
            while self.read_next(text) {}
            let Some((read, nodes)) = self.levels.last() else { return };
            if nodes.is_empty() {
                let beginning = &text[..*read];
                at += texts[at..].partition_point(|text| text.as_bytes()[depth..].starts_with(beginning));
                continue;
            }
            if *read == text.len() {
                closed.extend(nodes.iter().filter_map(|&node| self.trie.child(node, b'"')));
            }
            at += 1;
        }
    }

    /// Reads the next code point of a text, or what is left of one. Whether any token may go on behind it.
    fn read_next(&mut self, text: &[u8]) -> bool {
        let Some((read, nodes)) = self.levels.last() else { return false };
        if nodes.is_empty() || *read == text.len() {
            return false;
        }
        let rest = &text[*read..];
        let c = first_char(rest);
        let length =
            c.map_or_else(|| rest.iter().take_while(|&&byte| is_inside(byte)).count(), char::len_utf8);
        let mut next = Nodes::new();
        for &node in nodes {
            let raw = rest[..length].iter().try_fold(node, |at, &byte| {
                let child = self.trie.child(at, byte).filter(|_| stands_for_itself(byte))?;
                (!self.trie.is_leaf(child)).then_some(child)
            });
            next.extend(raw);
            if let (Some(c), Some(backslash)) = (c, self.trie.child(node, b'\\')) {
                next.extend(walk_escapes(self.trie, backslash, c, Escapes::Any, &mut |_, _| {}));
            }
        }
        let goes_on = !next.is_empty();
        self.levels.push((read + length, next));
        goes_on
    }
}

/// Whether a byte of UTF-8 goes on with a code point.
fn is_inside(byte: u8) -> bool {
    (0x80..0xC0).contains(&byte)
}

/// Walks along the escapes of `c` from the node of a backslash. The inner nodes at which one of them is whole.
pub(super) fn walk_escapes(
    trie: &Trie,
    backslash: NodeIndex,
    c: char,
    escapes: Escapes,
    on_tokens: &mut impl FnMut(NodeIndex, &[u32]),
) -> Nodes {
    let mut ends = Nodes::new();
    if !enter(trie, backslash, on_tokens) {
        return ends;
    }
    let mut step = |nodes: &[NodeIndex], bytes: &[u8]| -> Nodes {
        let children =
            nodes.iter().flat_map(|&node| bytes.iter().filter_map(move |&byte| trie.child(node, byte)));
        children.filter(|&child| enter(trie, child, on_tokens)).collect()
    };
    for written in short_escapes(c, escapes) {
        ends.extend(step(&[backslash], &[written]));
    }
    if !escapes.numbers(c) {
        return ends;
    }
    let mut at = step(&[backslash], b"u");
    for (unit, &value) in c.encode_utf16(&mut [0; 2]).iter().enumerate() {
        if unit > 0 {
            let between = step(&at, b"\\");
            at = step(&between, b"u");
        }
        for place in (0..4).rev() {
            at = step(&at, digits(value >> (4 * place) & 0xF, escapes));
        }
    }
    ends.extend(at);
    ends
}

/// How a hexadecimal digit may be written.
fn digits(value: u16, escapes: Escapes) -> &'static [u8] {
    const BOTH: &[u8; 22] = b"0123456789AaBbCcDdEeFf";
    let first = usize::from(!escapes.has_capitals());
    let value = usize::from(value);
    if value < 10 { &BOTH[value..=value] } else { &BOTH[2 * value - 10 + first..2 * value - 8] }
}
