//! Walking shapes with several states at once.
//!
//! A pattern that asks for a hexadecimal digit somewhere tells `fast` from `slow`, but for most of what follows it makes no
//! difference in which of two states one is: both go on. So where the members of a shape part, the walk need not go on
//! among each of them. It goes on among shapes with all states that members may be in, as long as none of them ends, and
//! only where some members go on and others do not each of them is followed, from where they parted.

use std::ops::Range;

use smallvec::SmallVec;

use super::shapes::{Branch, Depth, Place, ShapeWalk, Tally, is_path};
use crate::terminal::{Arena, Endless, TerminalId};
use crate::vocab::shapes::{ASCII, KIND_OF, KINDS, KindSet, ShapeIndex, bytes_of, character_kind};
use crate::vocab::trie::NodeIndex;
use crate::vocab::{TokenId, TokenTable};

/// More states than this are not followed at once,
const MOST_STATES: usize = 4;
/// and no more sets of them are made in a walk.
const MOST_SETS: usize = 256;
/// The ways on of so many states are at hand when tokens are followed.
const ROWS_AT_HAND: usize = 32;
/// The texts of so many tokens are fetched at once.
const AT_ONCE: usize = 16;

/// States that members of a shape may be in: sorted, no two the same.
type States = SmallVec<[TerminalId; MOST_STATES]>;

/// Such states, with what is known of all of them.
struct Set {
    states: States,
    /// What keeps each of them alive.
    endless: Endless,
    /// Where they lead with each kind of bytes, once that was asked.
    ahead: [Option<Ahead>; KINDS],
}

/// Where states lead with a kind of bytes.
#[derive(Clone, Copy)]
enum Ahead {
    Nowhere,
    /// All of them on, to the set with this number. No token may end the terminal there.
    On(usize),
    /// Some lead nowhere or to an end, or there are too many.
    Apart,
}

/// The sets of a walk.
#[derive(Default)]
pub(super) struct Sets(Vec<Set>);

impl Sets {
    /// The number of the set of some states.
    fn intern(&mut self, arena: &Arena, mut states: States) -> usize {
        states.sort_unstable();
        if let Some(known) = self.0.iter().position(|set| set.states == states) {
            return known;
        }
        let all = states.iter().map(|&state| arena.easily_endless(state));
        let endless = all.reduce(|a, b| Endless { kinds: a.kinds & b.kinds, length: a.length.min(b.length) });
        let endless = endless.unwrap_or(Endless::NOTHING);
        self.0.push(Set { states, endless, ahead: [None; KINDS] });
        self.0.len() - 1
    }

    /// Where a set leads with a kind of bytes. Not all members of a shape need come to all of the states.
    fn ahead(&mut self, arena: &Arena, set: usize, kind: u8) -> Ahead {
        if let Some(known) = self.0[set].ahead[usize::from(kind)] {
            return known;
        }
        let next = after(arena, &self.0[set].states, kind);
        let ends = |state: &TerminalId| *state == TerminalId::NEVER || arena.is_nullable(*state);
        let ahead = match next.len() {
            1 if next[0] == TerminalId::NEVER => Ahead::Nowhere,
            1..=MOST_STATES if self.0.len() < MOST_SETS && !next.iter().any(ends) => {
                Ahead::On(self.intern(arena, next))
            }
            _ => Ahead::Apart,
        };
        self.0[set].ahead[usize::from(kind)] = Some(ahead);
        ahead
    }
}

/// The states after some states and any byte of a kind, none more than once.
fn after(arena: &Arena, states: &[TerminalId], kind: u8) -> States {
    let mut next = States::new();
    for &state in states {
        let dense = arena.dense(state);
        // Most bytes lead where the one before them does.
        let mut targets = bytes_of(kind).iter().map(|&byte| dense[usize::from(byte)]);
        let mut change = targets.next();
        while let Some(target) = change {
            if !next.contains(&target) {
                next.push(target);
            }
            change = targets.find(|&other| other != target);
        }
    }
    next
}

/// The state in which all members were before they parted, and how many bytes were read before it.
struct Origin<'w> {
    tokens: &'w TokenTable,
    state: TerminalId,
    read: usize,
    rows: Rows<'w>,
}

impl Origin<'_> {
    /// The state after the first `read` bytes of each of some tokens.
    fn follow(&mut self, some: &[u32], read: usize, mut on_state: impl FnMut(u32, TerminalId)) {
        for some in some.chunks(AT_ONCE) {
            let text = |token: &u32| self.tokens.token_bytes(TokenId(*token)).get(self.read..read);
            let texts: SmallVec<[&[u8]; AT_ONCE]> =
                some.iter().map(|token| text(token).unwrap_or_default()).collect();
            // PERF: the texts are all over the memory, and in this way are fetched all at once, not one after the other.
            std::hint::black_box(texts.iter().fold(0, |all, text| all | text.first().copied().unwrap_or(0)));
            for (&token, text) in some.iter().zip(texts) {
                let rows = &mut self.rows;
                let next = |state: TerminalId, byte: &u8| rows.get(state)[usize::from(*byte)];
                on_state(token, text.iter().fold(self.state, next));
            }
        }
    }
}

/// The ways on of states on which tokens were followed, nearer at hand than in the arena.
struct Rows<'w> {
    arena: &'w Arena,
    /// By the last bits of the number of the state.
    last: [(TerminalId, &'w [TerminalId; 256]); ROWS_AT_HAND],
}

impl<'w> Rows<'w> {
    fn new(arena: &'w Arena) -> Self {
        let never = (TerminalId::NEVER, arena.dense(TerminalId::NEVER));
        Rows { arena, last: [never; ROWS_AT_HAND] }
    }

    #[inline]
    fn get(&mut self, state: TerminalId) -> &'w [TerminalId; 256] {
        let slot = &mut self.last[state.0 as usize % ROWS_AT_HAND];
        if slot.0 != state {
            *slot = (state, self.arena.dense(state));
        }
        slot.1
    }
}

/// Where the walk is: in a set, at a shape with this end.
#[derive(Clone, Copy)]
struct Crossing {
    end: ShapeIndex,
    set: usize,
    depth: Depth,
}

impl<N: FnMut(Range<usize>, Tally), E: FnMut(NodeIndex, TerminalId, Tally)> ShapeWalk<'_, N, E> {
    /// Walks `shape`, whose members part after `place`, where `read` bytes were read. Whether it is worth it.
    pub(super) fn walk_together(&mut self, shape: ShapeIndex, place: &Place<'_>, read: usize) -> bool {
        let kind = self.shapes.kind(shape);
        // Where nothing is counted, what keeps states alive for long is found in other ways.
        let is_worth_it = self.arena.is_bounded(place.state) && self.is_hardly_endless(shape, place.state);
        let Some(tokens) = self.tokens.filter(|_| is_worth_it) else { return false };
        let set = self.sets.intern(self.arena, States::from_slice(&[place.state]));
        let Ahead::On(_) = self.sets.ahead(self.arena, set, kind) else { return false };
        let mut origin = Origin { tokens, state: place.state, read, rows: Rows::new(self.arena) };
        let before = Crossing { end: self.shapes.end(shape), set, depth: place.depth };
        let mut path: Vec<Crossing> = vec![before];
        let mut at = shape;
        while let Some(&here) = path.last() {
            if at >= here.end {
                path.pop();
                continue;
            }
            let next = self.cross(at, here, &mut origin, read + path.len());
            at = if next.is_some() { at + 1 } else { self.shapes.end(at) };
            path.extend(next);
        }
        true
    }

    /// Whether most members of a shape come to states that little is known to keep alive, so that much of what is below has
    /// to be looked at.
    fn is_hardly_endless(&self, shape: ShapeIndex, state: TerminalId) -> bool {
        let (kind, height) = (self.shapes.kind(shape), self.shapes.height(shape));
        let (dense, bytes) = (self.arena.dense(state), bytes_of(kind));
        let goes_on = |next: TerminalId| {
            let endless = self.arena.easily_endless(next);
            endless.kinds >> kind & 1 == 1 && endless.length > height
        };
        let next = |byte: &u8| dense[usize::from(*byte)];
        let alike = bytes.chunk_by(|a, b| next(a) == next(b));
        let count: usize = alike.filter(|alike| goes_on(next(&alike[0]))).map(<[u8]>::len).sum();
        ASCII >> kind & 1 == 1 && 2 * count < bytes.len()
    }

    /// What there is at a shape, whose members are `read` bytes long. Where to go on from, if its children are to be walked.
    fn cross(
        &mut self,
        shape: ShapeIndex,
        here: Crossing,
        origin: &mut Origin<'_>,
        read: usize,
    ) -> Option<Crossing> {
        let shapes = self.shapes;
        let (kinds, height, end) = (shapes.characters(shape), shapes.height(shape), shapes.end(shape));
        let depth = here.depth.after(character_kind(shapes.kind(shape), kinds), self.known);
        if depth.is_known(kinds, height, self.known) {
            return None;
        }
        if self.takes_all(self.sets.0[here.set].endless, kinds, height) {
            (self.on_range)(shapes.token_range(shape, end), Tally::default());
            return None;
        }
        match self.sets.ahead(self.arena, here.set, shapes.kind(shape)) {
            Ahead::Nowhere => None,
            Ahead::Apart => {
                self.part(shape, Crossing { depth, ..here }, origin, read);
                None
            }
            Ahead::On(set) => {
                if !depth.is_known(0, 0, self.known) {
                    (self.on_range)(shapes.token_range(shape, shape + 1), Tally::default());
                }
                (shape + 1 < end).then_some(Crossing { end, set, depth })
            }
        }
    }

    /// Follows each member of a shape by itself, which is `read` bytes long and comes after `here`.
    fn part(&mut self, shape: ShapeIndex, here: Crossing, origin: &mut Origin<'_>, read: usize) {
        let (shapes, trie) = (self.shapes, self.trie);
        let own = shapes.token_range(shape, shape + 1);
        let own = &shapes.tokens()[own.start as usize..own.end as usize];
        origin.follow(own, read, |token, state| {
            if state != TerminalId::NEVER {
                (self.on_token)(token);
            }
        });
        if !self.may_go_on(shape, here.set) {
            return;
        }
        let members = shapes.members(shape).iter().copied();
        let inner: Vec<NodeIndex> = members.filter(|&node| !trie.is_leaf(node)).collect();
        let some: Vec<u32> = inner.iter().map(|&node| trie.tokens()[trie.token_range(node).start]).collect();
        let mut nodes = inner.into_iter();
        origin.follow(&some, read, |_, state| {
            let Some(node) = nodes.next() else { return };
            self.end_at(&[node], state, Tally::default());
            if state != TerminalId::NEVER && state != TerminalId::EMPTY {
                let state = self.near.number(self.arena, state);
                self.near.ask(self.arena, state, || is_path(trie, node));
                let branch =
                    Branch { end: trie.end(node), state, depth: here.depth, tally: Tally::default() };
                self.walk_nodes(node + 1, branch);
            }
        });
    }

    /// Whether any member of a shape after a set may end there or go on below.
    fn may_go_on(&self, shape: ShapeIndex, set: usize) -> bool {
        let mut children: KindSet = 0;
        let mut child = shape + 1;
        while child < self.shapes.end(shape) {
            children |= 1 << self.shapes.kind(child);
            child = self.shapes.end(child);
        }
        let is_child = |byte: u8| children >> KIND_OF[usize::from(byte)] & 1 == 1;
        let takes_one = |state: TerminalId| {
            self.arena.row(state).iter().any(|&(low, high, _)| (low..=high).any(is_child))
        };
        let next = after(self.arena, &self.sets.0[set].states, self.shapes.kind(shape));
        children != 0 && next.into_iter().any(|state| self.arena.is_nullable(state) || takes_one(state))
    }
}
