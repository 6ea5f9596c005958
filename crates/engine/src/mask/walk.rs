//! Walking a trie with a terminal.

use super::text::walk_text;
use crate::terminal::{Arena, TerminalId};
use crate::vocab::trie::{NodeIndex, Trie};

/// A state with at most this many ranges looks its bytes up in the trie, rather than the trie's bytes in the state.
const FEW_RANGES: usize = 2;

/// What is left to walk; kept by the caller so that short walks need no memory of their own.
pub(super) type WalkStack = Vec<(NodeIndex, TerminalId)>;

/// Walks the subtree under `root` with `state`. `on_tokens` is told the tokens that end inside the
/// terminal, or at its end, with their node; `on_end` the inner nodes at which the terminal may end.
pub(super) fn walk_terminal(
    arena: &Arena,
    trie: &Trie,
    root: NodeIndex,
    state: TerminalId,
    stack: &mut WalkStack,
    on_tokens: &mut impl FnMut(NodeIndex, &[u32]),
    on_end: &mut impl FnMut(NodeIndex),
) {
    stack.push((root, state));
    while let Some((node, state)) = stack.pop() {
        if let Some(text) = arena.forced_text(state) {
            walk_text(trie, node, &text, on_tokens, &mut |read| {
                if arena.is_nullable(text.then) {
                    on_end(read);
                }
                if text.then != TerminalId::EMPTY {
                    stack.push((read, text.then));
                }
            });
            continue;
        }
        let mut visit = |child: NodeIndex, next: TerminalId| {
            if next == TerminalId::NEVER {
                return;
            }
            let tokens = trie.tokens_of(child);
            if !tokens.is_empty() {
                on_tokens(child, tokens);
            }
            if trie.is_leaf(child) {
                return;
            }
            if arena.is_nullable(next) {
                on_end(child);
            }
            if next != TerminalId::EMPTY {
                stack.push((child, next));
            }
        };
        let row = arena.row(state);
        let narrow = row.len() <= FEW_RANGES && row.iter().all(|&(low, high, _)| high - low < 2);
        if narrow {
            for &(low, high, next) in row {
                (low..=high).filter_map(|byte| trie.child(node, byte)).for_each(|child| visit(child, next));
            }
        } else {
            for child in trie.children(node) {
                visit(child, arena.next_dense(state, trie.byte(child)));
            }
        }
    }
}
