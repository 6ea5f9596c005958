//! Walking a trie with a terminal.

use super::text::{enter, walk_text};
use crate::terminal::{Arena, TerminalId};
use crate::vocab::trie::{NodeIndex, Trie};

/// A state with at most this many ranges looks its bytes up in the trie, rather than the trie's bytes in the state.
const FEW_RANGES: usize = 2;

/// The same for one that takes at most this many bytes, where they are found at once.
const FEW_BYTES: u32 = 8;

/// A subtree with fewer nodes than this is not worth a table of bytes.
const FEW_NODES: NodeIndex = 128;

/// What is left to walk; kept by the caller so that short walks need no memory of their own.
pub(super) type WalkStack = Vec<(NodeIndex, TerminalId)>;

/// Walks the subtree under `root` with `state`. `on_tokens` is told the tokens that end inside the
/// terminal, or at its end, with their node; `on_end` the inner nodes at which the terminal may end, with its state there.
pub(super) fn walk_terminal(
    arena: &Arena,
    trie: &Trie,
    root: NodeIndex,
    state: TerminalId,
    stack: &mut WalkStack,
    on_tokens: &mut impl FnMut(NodeIndex, &[u32]),
    on_end: &mut impl FnMut(NodeIndex, TerminalId),
) {
    stack.push((root, state));
    while let Some((node, state)) = stack.pop() {
        if arena.has_forced_texts(state) {
            for text in arena.forced_texts(state) {
                walk_text(trie, node, &text, on_tokens, &mut |read| {
                    if arena.is_nullable(text.then) {
                        on_end(read, text.then);
                    }
                    if text.then != TerminalId::EMPTY {
                        stack.push((read, text.then));
                    }
                });
            }
            continue;
        }
        let row = arena.row(state);
        let is_narrow = row.len() <= FEW_RANGES && row.iter().all(|&(low, high, _)| high - low < 2);
        let is_thin =
            || row.iter().map(|&(low, high, _)| u32::from(high - low) + 1).sum::<u32>() <= FEW_BYTES;
        if is_narrow || (trie.finds_children(node) && is_thin()) {
            for &(low, high, next) in row {
                for child in (low..=high).filter_map(|byte| trie.child(node, byte)) {
                    visit(arena, trie, (child, next), stack, on_tokens, on_end);
                }
            }
        } else if trie.end(node) - node < FEW_NODES {
            for child in trie.children(node) {
                let next = arena.next(state, trie.byte(child));
                visit(arena, trie, (child, next), stack, on_tokens, on_end);
            }
        } else {
            walk_on(arena, trie, (node, state), stack, on_tokens, on_end);
        }
    }
}

/// What there is at a node that was reached in a state.
#[inline]
fn visit(
    arena: &Arena,
    trie: &Trie,
    (node, state): (NodeIndex, TerminalId),
    stack: &mut WalkStack,
    on_tokens: &mut impl FnMut(NodeIndex, &[u32]),
    on_end: &mut impl FnMut(NodeIndex, TerminalId),
) {
    if state == TerminalId::NEVER || !enter(trie, node, on_tokens) {
        return;
    }
    if arena.is_nullable(state) {
        on_end(node, state);
    }
    if state != TerminalId::EMPTY {
        stack.push((node, state));
    }
}

/// Walks on from a node as long as the state stays the same. Nodes lie in depth-first order, so this is one run over them.
fn walk_on(
    arena: &Arena,
    trie: &Trie,
    (node, state): (NodeIndex, TerminalId),
    stack: &mut WalkStack,
    on_tokens: &mut impl FnMut(NodeIndex, &[u32]),
    on_end: &mut impl FnMut(NodeIndex, TerminalId),
) {
    let (dense, is_nullable) = (arena.dense(state), arena.is_nullable(state));
    let (mut at, end) = (node + 1, trie.end(node));
    while at < end {
        let next = dense[usize::from(trie.byte(at))];
        if next != state {
            visit(arena, trie, (at, next), stack, on_tokens, on_end);
            at = trie.end(at);
            continue;
        }
        if enter(trie, at, on_tokens) && is_nullable {
            on_end(at, state);
        }
        at += 1;
    }
}
