//! Walking the shapes of tokens with a terminal.
//!
//! One run over the nodes in their order. Where the terminal tells bytes of one kind apart, the walk goes on in the trie of
//! tokens. Where it takes any text of the kinds that are below a node, nothing there is looked at.
//!
//! A walk may count the characters of a string on its way, for tables of strings that may have so many
//! ([`counted`](super::counted)). Then everything is looked at but what is known from the beginning.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::together::Sets;
use crate::terminal::{Arena, Endless, ShapeRow, TerminalId};
use crate::vocab::TokenTable;
use crate::vocab::shapes::{KIND_OF, KindSet, ShapeIndex, Shapes, character_kind};
use crate::vocab::trie::{NodeIndex, Trie};

/// A walk among the shapes of the tokens of a trie.
pub(super) struct ShapeWalk<'w, T, E> {
    pub(super) arena: &'w Arena,
    pub(super) trie: &'w Trie,
    pub(super) shapes: &'w Shapes,
    /// Tokens that are made of these kinds and no longer than that are known to end inside, and need not be told of.
    pub(super) known: Endless,
    /// What characters are counted.
    pub(super) counting: Counting,
    /// Told the positions of tokens that end inside the terminal, or at its end, in the order of shapes; they come in order.
    pub(super) on_range: &'w mut dyn FnMut(Range<u32>, Tally),
    /// Told of other such tokens, and of ends, as in [`walk_terminal`](super::walk::walk_terminal).
    pub(super) on_tokens: &'w mut T,
    pub(super) on_end: &'w mut E,
    /// The bytes of tokens, if all tokens are walked and nobody counts.
    pub(super) tokens: Option<&'w TokenTable>,
    /// The states along tokens that have no way beside.
    pub(super) met: FxHashSet<TerminalId>,
    /// The sets of states that were followed at once.
    pub(super) sets: Sets,
}

/// What characters are counted: those that begin in a state, with bytes that are not of the kinds that close.
#[derive(Clone, Copy)]
pub(super) struct Counting {
    pub(super) state: TerminalId,
    pub(super) closing: KindSet,
}

impl Counting {
    /// None.
    pub(super) const NOTHING: Counting = Counting { state: TerminalId::NEVER, closing: 0 };
}

/// The characters that have begun, and whether they were closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tally {
    pub(super) count: u32,
    pub(super) is_closed: bool,
}

impl Tally {
    /// After a byte of a kind in a state.
    #[inline]
    fn after(self, state: TerminalId, kind: u8, counting: Counting) -> Self {
        match counting.closing >> kind & 1 {
            _ if state != counting.state || self.is_closed => self,
            0 => Tally { count: self.count + 1, ..self },
            _ => Tally { is_closed: true, ..self },
        }
    }
}

/// Where a walk is: how many bytes it has read while all of them were of the known kinds; then [`Depth::OTHER`].
#[derive(Clone, Copy)]
pub(super) struct Depth(u32);

impl Depth {
    const OTHER: Depth = Depth(u32::MAX);

    /// After a byte of a kind of characters.
    pub(super) fn after(self, kind: KindSet, known: Endless) -> Self {
        if kind & !known.kinds == 0 { Depth(self.0.saturating_add(1)) } else { Self::OTHER }
    }
}

/// A node of the trie of tokens to go on from, in a state.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) node: NodeIndex,
    pub(super) state: TerminalId,
    pub(super) depth: Depth,
    pub(super) tally: Tally,
}

/// What a step of a walk knows of where it is.
pub(super) struct Place<'w> {
    end: ShapeIndex,
    pub(super) state: TerminalId,
    row: &'w ShapeRow,
    endless: Endless,
    pub(super) depth: Depth,
    tally: Tally,
}

impl<'w, T: FnMut(&[u32], Tally), E: FnMut(NodeIndex, TerminalId, Tally)> ShapeWalk<'w, T, E> {
    /// Walks the shapes under `root` with a state.
    pub(super) fn walk(&mut self, root: ShapeIndex, state: TerminalId) {
        let (shapes, endless, row) = (self.shapes, self.arena.endless(state), self.arena.shape_row(state));
        let (end, tally) = (shapes.end(root), Tally::default());
        let mut path = vec![Place { end, state, row, endless, depth: Depth(0), tally }];
        let mut at = root + 1;
        while let Some(place) = path.last() {
            if at >= place.end {
                path.pop();
                continue;
            }
            let next = self.enter_shape(at, place, path.len() - 1);
            at = if next.is_some() { at + 1 } else { shapes.end(at) };
            path.extend(next);
        }
    }

    /// What there is at a shape, `read` bytes below the root and one. The place to go on from, if its children are to be
    /// walked.
    fn enter_shape(&mut self, shape: ShapeIndex, place: &Place<'_>, read: usize) -> Option<Place<'w>> {
        let shapes = self.shapes;
        let (kind, end) = (shapes.kind(shape), shapes.end(shape));
        let (kinds, height) = (shapes.characters(shape), shapes.height(shape));
        let depth = place.depth.after(character_kind(kind, kinds), self.known);
        let tally = place.tally.after(place.state, kind, self.counting);
        if self.is_known(depth, kinds, height) {
            return None;
        }
        if self.takes_all(place.endless, kinds, height) {
            (self.on_range)(shapes.token_range(shape, end), tally);
            return None;
        }
        let next = if place.row.mixed >> kind & 1 == 0 {
            place.row.next[usize::from(kind)]
        } else if let Some(common) = self.common_next(shape, place.state) {
            common
        } else if self.walk_together(shape, place, read) {
            return None;
        } else {
            self.walk_members(shapes.members(shape), place);
            return None;
        };
        if next == TerminalId::NEVER {
            return None;
        }
        if !self.is_known(depth, 0, 0) {
            (self.on_range)(shapes.token_range(shape, shape + 1), tally);
        }
        self.end_at(shapes.members(shape), next, tally);
        if shape + 1 == end || next == TerminalId::EMPTY {
            return None;
        }
        if let &[node] = shapes.members(shape)
            && self.is_path(node)
            && !self.arena.has_shape_row(next)
        {
            self.walk_nodes(&mut vec![Member { node, state: next, depth, tally }]);
            return None;
        }
        let row = self.arena.shape_row(next);
        let endless = self.arena.known_endless(next, row);
        Some(Place { end, state: next, row, endless, depth, tally })
    }

    /// Whether all tokens end inside that go on with up to `height` more bytes of `kinds`, where a state takes `endless`, and
    /// nobody counts how far.
    pub(super) fn takes_all(&self, endless: Endless, kinds: KindSet, height: u32) -> bool {
        kinds & !endless.kinds == 0 && height < endless.length && self.counting.state == TerminalId::NEVER
    }

    /// Whether tokens are known to end inside that go on at a depth with up to `height` more bytes, of `kinds`.
    pub(super) fn is_known(&self, depth: Depth, kinds: KindSet, height: u32) -> bool {
        kinds & !self.known.kinds == 0
            && depth.0.saturating_add(height) <= self.known.length.min(u32::MAX - 1)
    }

    /// The state that all members of a shape are in, after `state`.
    fn common_next(&self, shape: ShapeIndex, state: TerminalId) -> Option<TerminalId> {
        let dense = self.arena.dense(state);
        let mut after =
            self.shapes.members(shape).iter().map(|&node| dense[usize::from(self.trie.byte(node))]);
        let first = after.next()?;
        after.all(|next| next == first).then_some(first)
    }

    /// Walks on in the trie of tokens: at `nodes`, each after its byte.
    fn walk_members(&mut self, nodes: &[NodeIndex], place: &Place<'_>) {
        let mut stack: Vec<Member> = Vec::new();
        let dense = self.arena.dense(place.state);
        for &node in nodes {
            let next = dense[usize::from(self.trie.byte(node))];
            let before = Member { node, state: place.state, depth: place.depth, tally: place.tally };
            self.enter_node(node, next, before, place.endless, &mut stack);
        }
        self.walk_nodes(&mut stack);
    }

    /// Walks on in the trie of tokens from all nodes on the stack.
    pub(super) fn walk_nodes(&mut self, stack: &mut Vec<Member>) {
        let (arena, trie) = (self.arena, self.trie);
        while let Some(member) = stack.pop() {
            let Member { node, state, .. } = member;
            // The states along a token of many spaces are asked for nothing else, so that their rows are not made.
            if self.is_path(node) && !arena.has_shape_row(state) {
                let child = node + 1;
                // Of a state that is met again, more than one way on will be asked.
                if !self.met.insert(state) {
                    arena.row(state);
                }
                let next = arena.step(state, trie.byte(child));
                self.enter_node(child, next, member, Endless::NOTHING, stack);
                continue;
            }
            let dense = arena.dense(state);
            let endless = arena.known_endless(state, arena.shape_row(state));
            for child in trie.children(node) {
                let next = dense[usize::from(trie.byte(child))];
                self.enter_node(child, next, member, endless, stack);
            }
        }
    }

    /// Whether a node of the trie of tokens has one child.
    fn is_path(&self, node: NodeIndex) -> bool {
        !self.trie.is_leaf(node) && self.trie.end(node + 1) == self.trie.end(node)
    }

    /// What there is at a node of the trie of tokens, with its state, after one `before` it that takes `endless`.
    fn enter_node(
        &mut self,
        node: NodeIndex,
        state: TerminalId,
        before: Member,
        endless: Endless,
        stack: &mut Vec<Member>,
    ) {
        if state == TerminalId::NEVER {
            return;
        }
        let (trie, kind) = (self.trie, KIND_OF[usize::from(self.trie.byte(node))]);
        let (kinds, height) = (self.shapes.characters_at(node), trie.height(node));
        let depth = before.depth.after(character_kind(kind, kinds), self.known);
        let tally = before.tally.after(before.state, kind, self.counting);
        if self.is_known(depth, kinds, height) {
            return;
        }
        if self.takes_all(endless, kinds, height) {
            (self.on_tokens)(&trie.tokens()[trie.token_range(node)], tally);
        } else {
            if !self.is_known(depth, 0, 0) {
                (self.on_tokens)(trie.tokens_of(node), tally);
            }
            self.end_at(&[node], state, tally);
            if !trie.is_leaf(node) && state != TerminalId::EMPTY {
                stack.push(Member { node, state, depth, tally });
            }
        }
    }

    /// Tells of nodes at which the terminal may end.
    pub(super) fn end_at(&mut self, nodes: &[NodeIndex], state: TerminalId, tally: Tally) {
        if self.arena.is_nullable(state) {
            let inner = nodes.iter().filter(|&&node| !self.trie.is_leaf(node));
            inner.for_each(|&node| (self.on_end)(node, state, tally));
        }
    }
}
