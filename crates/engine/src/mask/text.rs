//! Walking a trie along a text that must come, or along texts that may not.
//!
//! The text may have to be spelled in JSON, where each of its code points may be an escape. The walk knows the spellings
//! itself: there is no state for each byte of them.

use smallvec::SmallVec;

use crate::terminal::{ExcludedTexts, ForcedText, short_escapes, stands_for_itself};
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
                && let Some(c) = text.escapable(place)
            {
                let ends = walk_escapes(trie, backslash, c, on_tokens);
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
    texts: ExcludedTexts<'_>,
) -> Vec<NodeIndex> {
    let mut closed = Vec::new();
    let start = before.iter().try_fold(node, |at, &byte| trie.child(at, byte));
    let mut stack: SmallVec<[(NodeIndex, ExcludedTexts<'_>); 4]> = SmallVec::new();
    stack.extend(start.map(|start| (start, texts)));
    while let Some((node, texts)) = stack.pop() {
        if texts.has_end() {
            closed.extend(trie.child(node, b'"'));
        }
        for byte in texts.next_bytes().into_iter().filter(|&byte| stands_for_itself(byte)) {
            let child = trie.child(node, byte).filter(|&child| !trie.is_leaf(child));
            stack.extend(child.map(|child| (child, texts.after(&[byte]))));
        }
        if let Some(backslash) = trie.child(node, b'\\') {
            for c in texts.next_chars() {
                let ends = walk_escapes(trie, backslash, c, &mut |_, _| {});
                let after = |end| (end, texts.after(c.encode_utf8(&mut [0; 4]).as_bytes()));
                stack.extend(ends.into_iter().map(after));
            }
        }
    }
    closed.sort_unstable();
    closed
}

/// Walks along the escapes of `c` from the node of a backslash. The inner nodes at which one of them is whole.
pub(super) fn walk_escapes(
    trie: &Trie,
    backslash: NodeIndex,
    c: char,
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
    for written in short_escapes(c) {
        ends.extend(step(&[backslash], &[written]));
    }
    let mut at = step(&[backslash], b"u");
    for (unit, &value) in c.encode_utf16(&mut [0; 2]).iter().enumerate() {
        if unit > 0 {
            let between = step(&at, b"\\");
            at = step(&between, b"u");
        }
        for place in (0..4).rev() {
            at = step(&at, digits(value >> (4 * place) & 0xF));
        }
    }
    ends.extend(at);
    ends
}

/// How a hexadecimal digit may be written.
fn digits(value: u16) -> &'static [u8] {
    const BOTH: &[u8; 22] = b"0123456789AaBbCcDdEeFf";
    let value = usize::from(value);
    if value < 10 { &BOTH[value..=value] } else { &BOTH[2 * value - 10..2 * value - 8] }
}
