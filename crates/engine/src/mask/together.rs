//! Walking shapes with several states at once.
//!
//! A pattern that asks for a hexadecimal digit somewhere tells `fast` from `slow`, but for most of what follows it makes no
//! difference in which of two states one is: both go on. So where the members of a shape part, the walk need not go on
//! among each of them. It goes on among shapes with all states that members may be in, as long as none of them ends, and
//! only where some members go on and others do not each of them is followed, from where they parted.

use smallvec::SmallVec;

use super::shapes::{Depth, Member, Place, ShapeWalk, Tally};
use crate::terminal::{Arena, Endless, ShapeRow, TerminalId};
use crate::vocab::shapes::{KIND_OF, KindSet, ShapeIndex, bytes_of, character_kind};
use crate::vocab::trie::NodeIndex;
use crate::vocab::{TokenId, TokenTable};

/// More states than this are not followed at once.
const MOST_STATES: usize = 4;

/// The states that members of a shape may be in: no two the same.
type States = SmallVec<[TerminalId; MOST_STATES]>;

/// The state in which all members were once, and how many bytes were read before it.
#[derive(Clone, Copy)]
struct Origin<'w> {
    tokens: &'w TokenTable,
    state: TerminalId,
    read: usize,
}

/// Where the walk is.
struct Crossing<'w> {
    end: ShapeIndex,
    states: SmallVec<[(TerminalId, &'w ShapeRow, Endless); MOST_STATES]>,
    depth: Depth,
}

/// Where the states lead with a kind of bytes.
enum Ahead {
    Nowhere,
    On(States),
    /// Some lead nowhere, or there are too many.
    Apart,
}

impl<'w, T: FnMut(&[u32], Tally), E: FnMut(NodeIndex, TerminalId, Tally)> ShapeWalk<'w, T, E> {
    /// Walks `shape`, whose members part after `place`, where `read` bytes were read. Whether it is worth it.
    pub(super) fn walk_together(&mut self, shape: ShapeIndex, place: &Place<'w>, read: usize) -> bool {
        let Some(tokens) = self.tokens.filter(|_| self.is_hardly_endless(shape, place.state)) else {
            return false;
        };
        let origin = Origin { tokens, state: place.state, read };
        let before = [(place.state, place.row, place.endless)];
        let before = Crossing { end: shape, states: SmallVec::from_slice(&before), depth: place.depth };
        let Ahead::On(_) = self.ahead(&before, shape) else { return false };
        let mut path: Vec<Crossing<'w>> = Vec::new();
        path.extend(self.cross(shape, &before, origin, read + 1));
        let mut at = shape + 1;
        while let Some(here) = path.last() {
            if at >= here.end {
                path.pop();
                continue;
            }
            let next = self.cross(at, here, origin, read + 1 + path.len());
            at = if next.is_some() { at + 1 } else { self.shapes.end(at) };
            path.extend(next);
        }
        true
    }

    /// Whether most members of a shape come to states that little is known to keep alive, so that much of what is below has
    /// to be looked at.
    fn is_hardly_endless(&self, shape: ShapeIndex, state: TerminalId) -> bool {
        let kind = self.shapes.kind(shape);
        let height = self.shapes.height(shape);
        let (dense, bytes) = (self.arena.dense(state), bytes_of(kind));
        let goes_on = |byte: &&u8| {
            let next = dense[usize::from(**byte)];
            let endless = self.arena.easily_endless(next);
            endless.kinds >> kind & 1 == 1 && endless.length >= height
        };
        2 * bytes.iter().filter(goes_on).count() < bytes.len()
    }

    /// What there is at a shape, up to whose members `read` bytes are read. Where to go on from, if that is its children.
    fn cross(
        &mut self,
        shape: ShapeIndex,
        here: &Crossing<'w>,
        origin: Origin<'w>,
        read: usize,
    ) -> Option<Crossing<'w>> {
        let (arena, shapes) = (self.arena, self.shapes);
        let (kinds, height, end) = (shapes.characters(shape), shapes.height(shape), shapes.end(shape));
        let depth = here.depth.after(character_kind(shapes.kind(shape), kinds), self.known);
        if self.is_known(depth, kinds, height) {
            return None;
        }
        if here.states.iter().all(|&(_, _, endless)| self.takes_all(endless, kinds, height)) {
            (self.on_range)(shapes.token_range(shape, end), Tally::default());
            return None;
        }
        let states = match self.ahead(here, shape) {
            Ahead::Nowhere => return None,
            Ahead::On(states) if states.iter().all(|&state| !arena.is_nullable(state)) => states,
            _ => {
                self.part(shape, here, depth, origin, read);
                return None;
            }
        };
        if !self.is_known(depth, 0, 0) {
            (self.on_range)(shapes.token_range(shape, shape + 1), Tally::default());
        }
        if shape + 1 == end {
            return None;
        }
        let with_row = |&state: &TerminalId| {
            let row = arena.shape_row(state);
            (state, row, arena.known_endless(state, row))
        };
        Some(Crossing { end, states: states.iter().map(with_row).collect(), depth })
    }

    /// The states after the way to a shape. Members may be in fewer.
    fn ahead(&self, here: &Crossing<'_>, shape: ShapeIndex) -> Ahead {
        let kind = self.shapes.kind(shape);
        let (mut states, mut ends) = (States::new(), false);
        let mut add = |state: TerminalId| {
            ends |= state == TerminalId::NEVER;
            if state != TerminalId::NEVER && !states.contains(&state) {
                states.push(state);
            }
        };
        for &(state, row, _) in &here.states {
            if row.mixed >> kind & 1 == 0 {
                add(row.next[usize::from(kind)]);
            } else {
                let dense = self.arena.dense(state);
                bytes_of(kind).iter().for_each(|&byte| add(dense[usize::from(byte)]));
            }
        }
        match states.len() {
            0 => Ahead::Nowhere,
            1..=MOST_STATES if !ends => Ahead::On(states),
            _ => Ahead::Apart,
        }
    }

    /// Follows each member of a shape by itself.
    fn part(
        &mut self,
        shape: ShapeIndex,
        here: &Crossing<'_>,
        depth: Depth,
        origin: Origin<'_>,
        read: usize,
    ) {
        let (shapes, trie, arena) = (self.shapes, self.trie, self.arena);
        let own = shapes.token_range(shape, shape + 1);
        for token in &shapes.tokens()[own.start as usize..own.end as usize] {
            if origin.follow(arena, *token, read) != TerminalId::NEVER {
                (self.on_tokens)(&[*token], Tally::default());
            }
        }
        if !self.may_go_on(shape, here) {
            return;
        }
        let mut stack: Vec<Member> = Vec::new();
        for &node in shapes.members(shape).iter().filter(|&&node| !trie.is_leaf(node)) {
            let state = origin.follow(arena, trie.tokens()[trie.token_range(node).start], read);
            if state != TerminalId::NEVER && state != TerminalId::EMPTY {
                stack.push(Member { node, state, depth, tally: Tally::default() });
            }
            self.end_at(&[node], state, Tally::default());
        }
        self.walk_nodes(&mut stack);
    }

    /// Whether any member of a shape may end there or go on below.
    fn may_go_on(&self, shape: ShapeIndex, here: &Crossing<'_>) -> bool {
        let kind = self.shapes.kind(shape);
        let mut children: KindSet = 0;
        let mut child = shape + 1;
        while child < self.shapes.end(shape) {
            children |= 1 << self.shapes.kind(child);
            child = self.shapes.end(child);
        }
        let goes_on = |state: TerminalId| {
            let takes = |&(low, high, _): &(u8, u8, TerminalId)| {
                (low..=high).any(|byte| children >> KIND_OF[usize::from(byte)] & 1 == 1)
            };
            self.arena.is_nullable(state) || self.arena.row(state).iter().any(takes)
        };
        let mut seen = TerminalId::NEVER;
        children != 0
            && here.states.iter().any(|&(state, _, _)| {
                let dense = self.arena.dense(state);
                bytes_of(kind).iter().any(|&byte| {
                    let next = dense[usize::from(byte)];
                    let is_new = next != TerminalId::NEVER && next != seen;
                    seen = next;
                    is_new && goes_on(next)
                })
            })
    }
}

impl Origin<'_> {
    /// The state after the first `read` bytes of a token.
    fn follow(&self, arena: &Arena, token: u32, read: usize) -> TerminalId {
        let bytes = self.tokens.token_bytes(TokenId(token));
        let bytes = bytes.get(self.read..read).unwrap_or_default();
        bytes.iter().fold(self.state, |state, &byte| arena.next(state, byte))
    }
}
