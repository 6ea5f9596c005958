//! Walking the shapes of tokens with a terminal.
//!
//! One run over the nodes in their order. Where the terminal tells bytes of one kind apart, the walk goes on in the trie of
//! tokens. Where it takes any text of the kinds that are below a node, nothing there is looked at.
//!
//! A walk may count the characters of a string on its way, for tables of strings that may have so many
//! ([`counted`](super::counted)). Then everything is looked at but what is known from the beginning.

use std::ops::Range;

use super::near::{Near, NearStates};
use super::together::Sets;
use crate::terminal::{Arena, Endless, ShapeRow, TerminalId};
use crate::vocab::TokenTable;
use crate::vocab::shapes::{KIND_OF, KindSet, ShapeIndex, Shapes, character_kind};
use crate::vocab::trie::{NodeIndex, Trie};

/// A walk among the shapes of the tokens of a trie.
pub(super) struct ShapeWalk<'w, N, E> {
    pub(super) arena: &'w Arena,
    pub(super) trie: &'w Trie,
    pub(super) shapes: &'w Shapes,
    /// Tokens that are made of these kinds and no longer than that are known to end inside, and need not be told of.
    pub(super) known: Endless,
    /// What characters are counted.
    pub(super) counting: Counting,
    /// Told the positions of tokens that end inside the terminal, or at its end, in the order of shapes; they come in order.
    pub(super) on_range: &'w mut dyn FnMut(Range<u32>, Tally),
    /// Told the positions of other such tokens in the trie of tokens.
    pub(super) on_nodes: &'w mut N,
    /// Told of single tokens of that kind, where the walk is one with several states at once.
    pub(super) on_token: &'w mut dyn FnMut(u32),
    /// Told of ends, as in [`walk_terminal`](super::walk::walk_terminal).
    pub(super) on_end: &'w mut E,
    /// The states in the trie of tokens,
    pub(super) near: NearStates,
    /// and the way there.
    pub(super) above: Branches,
    /// The bytes of tokens, if all tokens are walked and nobody counts.
    pub(super) tokens: Option<&'w TokenTable>,
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
    fn after(self, state: impl FnOnce() -> TerminalId, kind: u8, counting: Counting) -> Self {
        match counting.closing >> kind & 1 {
            _ if counting.state == TerminalId::NEVER || state() != counting.state || self.is_closed => self,
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
    #[inline]
    pub(super) fn after(self, kind: KindSet, known: Endless) -> Self {
        if kind & !known.kinds == 0 { Depth(self.0.saturating_add(1)) } else { Self::OTHER }
    }

    /// Whether tokens are known to end inside that go on with up to `height` more bytes, of `kinds`.
    #[inline]
    pub(super) fn is_known(self, kinds: KindSet, height: u32, known: Endless) -> bool {
        kinds & !known.kinds == 0 && self.0.saturating_add(height) <= known.length.min(u32::MAX - 1)
    }
}

/// Where a walk is in the trie of tokens: below a node with this end.
#[derive(Clone, Copy)]
pub(super) struct Branch {
    pub(super) end: NodeIndex,
    pub(super) state: Near,
    pub(super) depth: Depth,
    pub(super) tally: Tally,
}

/// The branches that a walk goes back to, the last one first.
///
/// PERF: fields lie in words of their own. A branch is read soon after it is written, and a processor waits where it reads at
/// once what was written in pieces: that was a tenth of the time of a walk.
#[derive(Default)]
pub(super) struct Branches {
    places: Vec<u64>,
    depths: Vec<Depth>,
    tallies: Vec<Tally>,
}

impl Branches {
    #[inline]
    fn push(&mut self, branch: Branch) {
        self.places.push(u64::from(branch.end) << 32 | u64::from(branch.state.to_word()));
        self.depths.push(branch.depth);
        self.tallies.push(branch.tally);
    }

    #[inline]
    fn pop(&mut self) -> Option<Branch> {
        let (place, depth, tally) = (self.places.pop()?, self.depths.pop()?, self.tallies.pop()?);
        Some(Branch { end: (place >> 32) as u32, state: Near::of_word(place as u32), depth, tally })
    }
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

impl<'w, N: FnMut(Range<usize>, Tally), E: FnMut(NodeIndex, TerminalId, Tally)> ShapeWalk<'w, N, E> {
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
        let tally = place.tally.after(|| place.state, kind, self.counting);
        if depth.is_known(kinds, height, self.known) {
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
        if !depth.is_known(0, 0, self.known) {
            (self.on_range)(shapes.token_range(shape, shape + 1), tally);
        }
        self.end_at(shapes.members(shape), next, tally);
        if shape + 1 == end || next == TerminalId::EMPTY {
            return None;
        }
        if let &[node] = shapes.members(shape)
            && is_path(self.trie, node)
            && !self.arena.has_shape_row(next)
        {
            let state = self.near.number(self.arena, next);
            self.near.ask(self.arena, state, || true);
            self.walk_nodes(node + 1, Branch { end: self.trie.end(node), state, depth, tally });
            return None;
        }
        let row = self.arena.shape_row(next);
        let endless = self.arena.known_endless(next, row);
        Some(Place { end, state: next, row, endless, depth, tally })
    }

    /// Whether all tokens end inside that go on with up to `height` more bytes of `kinds`, where a state takes `endless`, and
    /// nobody counts how far.
    pub(super) fn takes_all(&self, endless: Endless, kinds: KindSet, height: u32) -> bool {
        endless.has_all(kinds, height) && self.counting.state == TerminalId::NEVER
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
        let state = self.near.number(self.arena, place.state);
        self.near.ask(self.arena, state, || false);
        for &node in nodes {
            let end = self.trie.end(node);
            self.walk_nodes(node, Branch { end, state, depth: place.depth, tally: place.tally });
        }
    }

    /// Walks the nodes of the trie of tokens from `at` to the end of a branch, in their order.
    pub(super) fn walk_nodes(&mut self, mut at: NodeIndex, branch: Branch) {
        let (arena, trie, shapes) = (self.arena, self.trie, self.shapes);
        let (known, counting, counts) = (self.known, self.counting, self.counting.state != TerminalId::NEVER);
        let mut above = std::mem::take(&mut self.above);
        let Branch { mut end, mut state, mut depth, mut tally } = branch;
        let (mut row, mut endless) = self.near.row(state);
        // Tokens side by side that end inside.
        let (mut some, mut some_tally) = (0..0, tally);
        loop {
            if at >= end {
                let Some(branch) = above.pop() else { break };
                (end, state, depth, tally) = (branch.end, branch.state, branch.depth, branch.tally);
                (row, endless) = self.near.row(state);
                continue;
            }
            let (node, byte) = (at, trie.byte(at));
            at = trie.end(node);
            let next = self.near.next(arena, state, row, byte);
            if next == Near::DEAD {
                continue;
            }
            let (kind, kinds) = (KIND_OF[usize::from(byte)], shapes.characters_at(node));
            let below = depth.after(character_kind(kind, kinds), known);
            let counted = tally.after(|| self.near.id(state), kind, counting);
            let is_leaf = node + 1 == at;
            let height = if is_leaf { 0 } else { trie.height(node) };
            if below.is_known(kinds, height, known) {
                continue;
            }
            let is_all = !counts && endless.has_all(kinds, height);
            if is_all || !below.is_known(0, 0, known) {
                let tokens = if is_all { trie.token_range(node) } else { trie.token_range_of(node) };
                if some.end == tokens.start && some_tally == counted {
                    some.end = tokens.end;
                } else {
                    (self.on_nodes)(std::mem::replace(&mut some, tokens), some_tally);
                    some_tally = counted;
                }
            }
            if is_all || is_leaf {
                continue;
            }
            if self.near.is_nullable(next) {
                (self.on_end)(node, self.near.id(next), counted);
            }
            if !self.near.is_over(next) {
                above.push(Branch { end, state, depth, tally });
                (end, state, depth, tally) = (at, next, below, counted);
                self.near.ask(arena, state, || is_path(trie, node));
                (row, endless) = self.near.row(state);
                at = node + 1;
            }
        }
        (self.on_nodes)(some, some_tally);
        self.above = above;
    }

    /// Tells of nodes at which the terminal may end.
    pub(super) fn end_at(&mut self, nodes: &[NodeIndex], state: TerminalId, tally: Tally) {
        if self.arena.is_nullable(state) {
            let inner = nodes.iter().filter(|&&node| !self.trie.is_leaf(node));
            inner.for_each(|&node| (self.on_end)(node, state, tally));
        }
    }
}

/// Whether a node of a trie has one child.
pub(super) fn is_path(trie: &Trie, node: NodeIndex) -> bool {
    !trie.is_leaf(node) && trie.end(node + 1) == trie.end(node)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use tokenstile_grammar::frontends::json_schema::{self, Options};
    use tokenstile_grammar::{Budget, CancelFlag, Limits, passes};

    use super::super::walk::{WalkStack, walk_terminal};
    use super::*;
    use crate::config::SymbolKind;
    use crate::generation::Generation;
    use crate::vocab::{Vocab, VocabOptions};

    /// All strings of up to four of these.
    fn tokens() -> Vec<String> {
        const PIECES: [&str; 10] = ["a", "x", "n", "gh", "F", "-", ".", "1", "\"", "\u{e9}"];
        let mut all: Vec<String> = vec![String::new()];
        let mut longest = all.clone();
        for _ in 0..4 {
            longest = longest.iter().flat_map(|text| PIECES.map(|piece| format!("{text}{piece}"))).collect();
            all.extend_from_slice(&longest);
        }
        all
    }

    /// The tokens that stay, and where the others leave.
    type Found = (BTreeSet<u32>, BTreeSet<NodeIndex>);

    /// What a walk of shapes finds, and whether it went on in the trie of tokens.
    fn walk_shapes(arena: &Arena, state: TerminalId, table: &TokenTable, is_together: bool) -> (Found, bool) {
        let (index, mut ranges, mut nodes) = (table.index(), Vec::new(), Vec::new());
        let (mut stay, mut ends) = (BTreeSet::new(), BTreeSet::new());
        let known = arena.endless(state);
        let mut single = Vec::new();
        ShapeWalk {
            arena,
            trie: index.trie(),
            shapes: index.shapes(),
            known,
            counting: Counting::NOTHING,
            on_range: &mut |range, _| ranges.push(range),
            on_nodes: &mut |range: Range<usize>, _| nodes.push(range),
            on_token: &mut |token| single.push(token),
            on_end: &mut |node, _, _| {
                ends.insert(node);
            },
            near: NearStates::default(),
            above: Branches::default(),
            tokens: is_together.then_some(table),
            sets: Sets::default(),
        }
        .walk(Shapes::ROOT, state);
        let went_on = !nodes.is_empty() || !single.is_empty();
        stay.extend(single);
        stay.extend(nodes.into_iter().flat_map(|range| index.trie().tokens()[range].iter().copied()));
        for range in ranges {
            stay.extend(&index.shapes().tokens()[range.start as usize..range.end as usize]);
        }
        let plain = index.plain_rows().get(known.kinds, known.length);
        stay.extend((0..table.len() as u32).filter(|&token| plain.has(token)));
        ((stay, ends), went_on)
    }

    fn walk_tokens(arena: &Arena, state: TerminalId, table: &TokenTable) -> Found {
        let (mut stay, mut ends) = (BTreeSet::new(), BTreeSet::new());
        let on_tokens = &mut |_: NodeIndex, tokens: &[u32]| stay.extend(tokens.iter().copied());
        let on_end = &mut |node: NodeIndex, _: TerminalId| {
            ends.insert(node);
        };
        let trie = table.index().trie();
        walk_terminal(arena, trie, Trie::ROOT, state, &mut WalkStack::new(), on_tokens, on_end);
        (stay, ends)
    }

    #[test]
    fn the_same_is_found_as_token_by_token() {
        let vocab = Vocab::new(tokens(), VocabOptions::default()).unwrap();
        for schema in [
            r#"{"type": "string", "pattern": "[0-9a-f]", "minLength": 4, "maxLength": 4}"#,
            r#"{"type": "string", "pattern": "[0-9a-f]", "minLength": 2, "maxLength": 3}"#,
            r#"{"type": "string", "pattern": "^(x[a-n1]{2}|[^x][a-z]{1,3})$"}"#,
            r#"{"type": "string", "format": "hostname"}"#,
            r#"{"type": "string", "format": "email"}"#,
            r#"{"type": "string", "not": {"pattern": "[xn]"}}"#,
            r#"{"type": "string", "not": {"pattern": "gh[a-n]gh"}}"#,
            r#"{"type": "string", "not": {"pattern": "[a-n]{4}"}}"#,
            r#"{"type": "string", "pattern": "^(\\((ghgha|[a-f]+)*\\)|[^x()])*$"}"#,
        ] {
            let budget = Budget::new(Limits::default(), CancelFlag::default());
            let grammar = json_schema::parse(schema, &Options::default(), &budget).unwrap().grammar;
            let machine = passes::compile(&grammar, &budget).unwrap();
            let generation = Generation::new(Arc::new(machine), Arc::clone(vocab.table()));
            let arena = generation.terminals();
            let mut ever_went_on = false;
            for text in ["\"", "\"x", "\"gh", "\"gha", "\"a@"] {
                let config = text.bytes().fold(generation.start(), |at, byte| generation.step(at, byte));
                for (symbol, _) in generation.sets().items(config) {
                    let SymbolKind::Terminal(state) = symbol.kind() else { continue };
                    let expected = walk_tokens(arena, state, vocab.table());
                    for is_together in [false, true] {
                        let (found, went_on) = walk_shapes(arena, state, vocab.table(), is_together);
                        assert_eq!(found, expected, "{schema} {text} {is_together}");
                        ever_went_on |= went_on;
                    }
                }
            }
            assert!(ever_went_on, "{schema}");
        }
    }
}
