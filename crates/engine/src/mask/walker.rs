//! Following tokens that leave a terminal.
//!
//! Tokens go on at nodes of a trie, in the configuration after the terminal on top of some stack has ended. Nodes are
//! gathered by stack, so that each stack's configuration is looked up once however many tokens pass it. Where the
//! stack was cut off, what is left to do is put down as [`Pending`].

use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::{FxBuildHasher, FxHashSet};
use smallvec::SmallVec;
use tokenstile_grammar::regular::ByteSet;

use super::allowance::{Allowance, Spent};
use super::fan::Fan;
use super::table::{Exits, TerminalTable, WORTH_A_TABLE};
use super::tokens::{Mask, Part, Parts, gather};
use super::walk::{WalkStack, walk_terminal};
use crate::config::{Holes, SetId};
use crate::generation::Generation;
use crate::terminal::TerminalId;
use crate::vocab::trie::{NodeIndex, Trie};

/// Tokens that ran into a hole.
#[derive(Clone)]
pub(crate) enum Pending {
    /// At these nodes.
    Nodes { trie: Arc<Trie>, nodes: Box<[NodeIndex]>, hole: u32 },
    /// At all the places where they leave a table, which was made for the trie.
    Table { table: Arc<TerminalTable>, trie: Arc<Trie>, hole: u32 },
}

impl Pending {
    /// The number of the hole.
    pub(super) fn hole(&self) -> u32 {
        match self {
            Pending::Nodes { hole, .. } | Pending::Table { hole, .. } => *hole,
        }
    }

    /// How much there is to follow, roughly in nodes.
    pub(super) fn weight(&self) -> usize {
        match self {
            Pending::Nodes { nodes, .. } => nodes.len(),
            Pending::Table { table, .. } => table.exits.len(),
        }
    }

    /// All of these without the tokens in `lost`, which is sorted; `None` if some cannot be told apart.
    pub(super) fn all_without(all: &[Self], lost: &[u32]) -> Option<Box<[Self]>> {
        let mut left = Vec::new();
        for pending in all {
            let Pending::Nodes { trie, nodes, hole } = pending else { return None };
            let is_lost = |token: &u32| lost.binary_search(token).is_ok();
            let tokens = |node: NodeIndex| trie.tokens()[trie.token_range(node)].iter();
            let kept: Box<[NodeIndex]> =
                nodes.iter().copied().filter(|&node| !tokens(node).all(is_lost)).collect();
            if kept.iter().any(|&node| tokens(node).any(is_lost)) {
                return None;
            }
            if !kept.is_empty() {
                left.push(Pending::Nodes { trie: Arc::clone(trie), nodes: kept, hole: *hole });
            }
        }
        Some(left.into())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + if let Pending::Nodes { nodes, .. } = self { size_of_val(&**nodes) } else { 0 }
    }
}

/// Where a walk is among the walks that it is part of, and what all of them may cost.
#[derive(Clone, Copy)]
pub(super) struct Nesting<'w> {
    depth: u32,
    allowance: &'w Allowance,
}

impl<'w> Nesting<'w> {
    /// A walk that is no part of another.
    pub(super) fn outermost(allowance: &'w Allowance) -> Self {
        Nesting { depth: 0, allowance }
    }

    /// The same for one that keeps nothing for others, and looks for nothing that others have kept but the tables of
    /// terminals.
    pub(super) fn in_place(allowance: &'w Allowance) -> Self {
        Nesting { depth: MAX_NESTING, allowance }
    }

    /// A part of the outermost walk.
    pub(super) fn inner_of_first(self) -> Self {
        Nesting { depth: 1, ..self }
    }

    /// A walk that is part of this one.
    pub(super) fn inner(self) -> Self {
        Nesting { depth: self.depth + 1, ..self }
    }
}

/// Follows tokens until all of them have ended, failed, or run into a hole, or until that has cost what it may.
pub(super) struct Walker<'g, 'w> {
    generation: &'g Generation,
    alive: Vec<u32>,
    /// Parts whose tokens are alive as well.
    parts: SmallVec<[&'g Arc<Part>; 8]>,
    groups: HashMap<SetId, Group<'g>, FxBuildHasher>,
    /// The stacks whose groups have nodes to follow.
    waiting: SmallVec<[SetId; 8]>,
    pending: Vec<Pending>,
    stack: WalkStack,
    nesting: Nesting<'w>,
}

/// A part with more than this to resume is too shallow, up to a depth.
const MAX_PENDING: usize = 32;
const MAX_DEPTH: u32 = 8;

/// A subtree with at most so many tokens is walked in place with a state that takes few bytes.
const FEW_FOR_THIN: usize = 1_000;

/// The nodes at which a terminal has ended, each with the text and the tag if it read one.
type Ends = SmallVec<[(NodeIndex, Option<(u32, u32)>); 16]>;

/// How many tokens most walks find one by one, at most.
const EXPECTED_ALIVE: usize = 64;

/// What things cost, in steps: to go on with another stack, to walk a small subtree, to look at a set of stacks for its top.
const STEPS_OF_A_GROUP: usize = 16;
const STEPS_OF_A_WALK: usize = 2;
const STEPS_OF_A_TOP: usize = 8;
/// So many states are looked at in a step,
const STATES_A_STEP: usize = 4;
/// and so many tokens when a table is made, most of which are stepped over.
const TOKENS_A_STEP: usize = 4;

/// Walks nest up to this depth; beyond it they are done in place.
const MAX_NESTING: u32 = 12;

/// A place in a trie.
type Place<'g> = (&'g Arc<Trie>, NodeIndex);

/// The nodes that go on in one configuration.
#[derive(Default)]
struct Group<'g> {
    /// In the order in which they came, each once, so that an ambiguous grammar follows each once.
    nodes: SmallVec<[Place<'g>; 4]>,
    /// How many of them have been followed.
    followed: usize,
    /// All of them, once they have come more than once.
    seen: FxHashSet<(u64, NodeIndex)>,
}

impl<'g> Group<'g> {
    /// Adds nodes, which are all different. Whether there is anything to follow now that there was not before.
    fn add(&mut self, trie: &'g Arc<Trie>, nodes: &[NodeIndex]) -> bool {
        let waited = self.followed < self.nodes.len();
        if self.nodes.is_empty() {
            self.nodes.extend(nodes.iter().map(|&node| (trie, node)));
        } else {
            if self.seen.is_empty() {
                self.seen.extend(self.nodes.iter().map(|(trie, node)| (trie.number(), *node)));
            }
            let new = nodes.iter().filter(|&&node| self.seen.insert((trie.number(), node)));
            self.nodes.extend(new.map(|&node| (trie, node)));
        }
        !waited && self.followed < self.nodes.len()
    }

    /// Those that have not been followed yet.
    fn take(&mut self) -> SmallVec<[Place<'g>; 4]> {
        let waiting = self.nodes[self.followed..].into();
        self.followed = self.nodes.len();
        waiting
    }
}

impl<'g, 'w> Walker<'g, 'w> {
    pub(super) fn new(generation: &'g Generation, nesting: Nesting<'w>) -> Self {
        Walker {
            generation,
            alive: Vec::with_capacity(EXPECTED_ALIVE),
            parts: SmallVec::new(),
            groups: HashMap::with_hasher(FxBuildHasher),
            waiting: SmallVec::new(),
            pending: Vec::new(),
            stack: WalkStack::new(),
            nesting,
        }
    }

    pub(super) fn nesting(&self) -> Nesting<'w> {
        self.nesting
    }

    /// The tokens that are alive already.
    pub(super) fn alive(&mut self) -> &mut Vec<u32> {
        &mut self.alive
    }

    /// Takes the tokens of some parts.
    pub(super) fn take(&mut self, parts: impl Iterator<Item = &'g Arc<Part>>) {
        self.parts.extend(parts);
    }

    /// Takes the tokens that stay in `state`, of which `table` is the table for `trie`, and goes on with those that leave
    /// it on top of `rest`.
    pub(super) fn apply(
        &mut self,
        state: TerminalId,
        table: &'g Arc<TerminalTable>,
        trie: &'g Arc<Trie>,
        rest: SetId,
    ) {
        self.parts.push(&table.stay);
        self.leave(table, trie, rest);
        let Some(text) = self.generation.terminals().tagged_text(state) else { return };
        for group in table.tags.chunk_by(|a, b| a.0 == b.0) {
            let nodes: SmallVec<[NodeIndex; 16]> = group.iter().map(|&(_, node)| node).collect();
            let below = self.generation.behind_tag(text, group[0].0, rest);
            self.add(trie, &nodes, below);
        }
    }

    fn leave(&mut self, table: &'g Arc<TerminalTable>, trie: &'g Arc<Trie>, rest: SetId) {
        match &table.exits {
            Exits::Few(ends) => self.add(trie, ends, rest),
            Exits::ByByte(exits) => {
                let may_come = |bytes: &ByteSet| exits.iter().any(|exit| bytes.contains(exit.byte));
                if !self.generation.key_bytes(rest).is_none_or(may_come) {
                    return;
                }
                let (fan, holes) = self.fan(rest);
                for hole in numbers(holes) {
                    self.pending.push(Pending::Table {
                        table: Arc::clone(table),
                        trie: Arc::clone(trie),
                        hole,
                    });
                }
                for exit in exits {
                    self.nesting.allowance.take(1 + fan.states.len() / STATES_A_STEP);
                    if self.nesting.allowance.is_spent() {
                        return;
                    }
                    for (next, below) in fan.get(self.generation.terminals(), exit.byte) {
                        self.nesting.allowance.take(exit.len());
                        for &node in &exit.large {
                            self.enter(trie, node, next, below);
                        }
                        if let Some(merged) = exit.merged(trie) {
                            self.enter(merged, Trie::ROOT, next, below);
                        }
                    }
                }
            }
        }
    }

    /// The same for a state of spaces and what comes behind them, for all tokens. What comes behind is read where the spaces
    /// end, as though it were a terminal of its own, and so needs no table.
    pub(super) fn apply_spaced(
        &mut self,
        all_spaces: &'g Arc<TerminalTable>,
        then: TerminalId,
        trie: &'g Arc<Trie>,
        rest: SetId,
    ) {
        self.parts.push(&all_spaces.stay);
        let terminals = self.generation.terminals();
        match &all_spaces.exits {
            Exits::Few(ends) => {
                for &node in ends {
                    self.walk(trie, node, then, rest);
                }
            }
            Exits::ByByte(exits) => {
                for exit in exits {
                    let next = terminals.next_dense(then, exit.byte);
                    if next == TerminalId::NEVER {
                        continue;
                    }
                    for &node in &exit.large {
                        self.enter(trie, node, next, rest);
                    }
                    if let Some(merged) = exit.merged(trie) {
                        self.enter(merged, Trie::ROOT, next, rest);
                    }
                }
            }
        }
        self.walk(trie, Trie::ROOT, then, rest);
    }

    /// Goes on with what ran into a hole, now that `rest` is known to be in it.
    pub(super) fn resume(&mut self, pending: &'g Pending, rest: SetId) {
        match pending {
            Pending::Nodes { trie, nodes, .. } => self.add(trie, nodes, rest),
            Pending::Table { table, trie, .. } => self.leave(table, trie, rest),
        }
    }

    /// Goes on at some nodes on top of `rest`.
    fn add(&mut self, trie: &'g Arc<Trie>, nodes: &[NodeIndex], rest: SetId) {
        if nodes.is_empty() {
            return;
        }
        let Some(bytes) = self.generation.key_bytes(rest) else { return self.add_all(trie, nodes, rest) };
        let goes_on = |&node: &NodeIndex| trie.children(node).any(|child| bytes.contains(trie.byte(child)));
        let nodes: SmallVec<[NodeIndex; 16]> = nodes.iter().copied().filter(goes_on).collect();
        if !nodes.is_empty() {
            self.add_all(trie, &nodes, rest);
        }
    }

    fn add_all(&mut self, trie: &'g Arc<Trie>, nodes: &[NodeIndex], rest: SetId) {
        self.nesting.allowance.take(1 + nodes.len());
        if self.groups.entry(rest).or_default().add(trie, nodes) {
            self.waiting.push(rest);
        }
    }

    /// What may be read once the terminal on top of `rest` has ended, and the holes that then come to light.
    fn fan(&self, rest: SetId) -> (&'g Fan, Holes) {
        let generation = self.generation;
        let after = generation.after(rest);
        let fan = generation.sets().fan(after, || Fan::new(generation, after));
        (fan, generation.sets().holes(after))
    }

    /// At `node`, in `state`: what ends there and what goes on.
    fn enter(&mut self, trie: &'g Arc<Trie>, node: NodeIndex, state: TerminalId, below: SetId) {
        if self.nesting.allowance.is_spent() {
            return;
        }
        self.alive.extend_from_slice(trie.tokens_of(node));
        if trie.is_leaf(node) {
            return;
        }
        if self.generation.terminals().is_nullable(state) {
            self.add(trie, &[node], self.generation.below(state, below));
        }
        self.walk(trie, node, state, below);
    }

    /// Takes the tokens under `node` that stay in `state`, and goes on with those that leave it.
    pub(super) fn walk(&mut self, trie: &'g Arc<Trie>, node: NodeIndex, state: TerminalId, below: SetId) {
        let terminals = self.generation.terminals();
        let count = trie.token_range(node).len();
        let is_quick = || terminals.is_cheap(state) || (count <= FEW_FOR_THIN && terminals.is_thin(state));
        if count > WORTH_A_TABLE && !is_quick() {
            return self.walk_large(trie, node, state, below);
        }
        let ends = self.walk_through(trie, node, state);
        self.nesting.allowance.take(STEPS_OF_A_WALK);
        self.leave_at(trie, &ends, below);
    }

    /// Goes on at the nodes at which a terminal on top of `below` has ended, in the state there.
    fn leave_at(&mut self, trie: &'g Arc<Trie>, ends: &Ends, below: SetId) {
        let generation = self.generation;
        for group in ends.chunk_by(|a, b| a.1 == b.1) {
            let nodes: SmallVec<[NodeIndex; 16]> = group.iter().map(|&(node, _)| node).collect();
            let tag = group[0].1;
            self.add(trie, &nodes, tag.map_or(below, |(text, tag)| generation.behind_tag(text, tag, below)));
        }
    }

    /// Takes the tokens under `node` that stay in `state`. The nodes at which the others leave it, by the tag that was read.
    fn walk_through(&mut self, trie: &Trie, node: NodeIndex, state: TerminalId) -> Ends {
        let mut ends = Ends::new();
        let alive = &mut self.alive;
        let mut on_tokens = |_: NodeIndex, tokens: &[u32]| alive.extend_from_slice(tokens);
        let terminals = self.generation.terminals();
        walk_terminal(terminals, trie, node, state, &mut self.stack, &mut on_tokens, &mut |end, state| {
            ends.push((end, terminals.tag(state)));
        });
        // Nodes that come at once must all be different, and go on in one configuration.
        if ends.iter().any(|end| end.1.is_some()) {
            ends.sort_unstable_by_key(|&(node, tag)| (tag, node));
        }
        ends
    }

    /// A walk from the root with a state that is quicker walked than looked up. With `may_leave` it goes on with the tokens
    /// that leave the state; otherwise it says whether there were none.
    pub(super) fn walk_cheap(
        &mut self,
        trie: &'g Arc<Trie>,
        state: TerminalId,
        below: SetId,
        may_leave: bool,
    ) -> bool {
        let ends = self.walk_through(trie, Trie::ROOT, state);
        let is_inside = ends.is_empty();
        if may_leave {
            self.leave_at(trie, &ends, below);
        }
        may_leave || is_inside
    }

    /// A walk that is worth keeping, for all stacks with the same top.
    pub(super) fn walk_large(
        &mut self,
        trie: &'g Arc<Trie>,
        node: NodeIndex,
        state: TerminalId,
        below: SetId,
    ) {
        let generation = self.generation;
        let mut depth = 1;
        while self.nesting.depth < MAX_NESTING {
            let Some(top) = generation.truncate_stack(below, depth) else { break };
            self.nesting.allowance.take(STEPS_OF_A_TOP * (1 + top.looked_at));
            self.nesting.allowance.take_for(generation.sets());
            let kept = generation.mask_under(trie, node, state, top.stack, self.nesting.inner());
            let Ok(kept) = kept else { return };
            if kept.weight == usize::MAX {
                break;
            }
            if kept.weight > MAX_PENDING && depth < MAX_DEPTH {
                depth *= 2;
                continue;
            }
            self.parts.extend(&kept.parts);
            for pending in &kept.pending {
                self.resume(pending, top.holes[pending.hole() as usize]);
            }
            return;
        }
        if generation.terminals().is_cheap(state) {
            self.walk(trie, node, state, below);
        } else {
            self.apply(state, self.table(trie, node, state), trie, below);
        }
    }

    /// The table of a state for the tokens under a node.
    pub(super) fn table(
        &self,
        trie: &'g Arc<Trie>,
        node: NodeIndex,
        state: TerminalId,
    ) -> &'g Arc<TerminalTable> {
        let before = self.generation.noted_bytes();
        let table = self.generation.table_for(trie, node, state);
        if self.generation.noted_bytes() != before {
            self.nesting.allowance.take(trie.token_range(node).len() / TOKENS_A_STEP);
        }
        table
    }

    fn run(&mut self) {
        while let Some(rest) = self.waiting.pop() {
            let nodes = self.groups.get_mut(&rest).map(Group::take).unwrap_or_default();
            let (fan, holes) = self.fan(rest);
            self.nesting.allowance.take(STEPS_OF_A_GROUP + fan.states.len());
            self.nesting.allowance.take_for(self.generation.sets());
            if self.nesting.allowance.is_spent() {
                return;
            }
            for hole in numbers(holes) {
                self.put_down(&nodes, hole);
            }
            for &(trie, node) in &nodes {
                if trie.token_range(node).len() > WORTH_A_TABLE {
                    for &(state, below) in &fan.states {
                        self.walk(trie, node, state, below);
                    }
                    continue;
                }
                for child in trie.children(node) {
                    self.nesting.allowance.take(1 + fan.states.len() / STATES_A_STEP);
                    for (next, below) in fan.get(self.generation.terminals(), trie.byte(child)) {
                        self.enter(trie, child, next, below);
                    }
                }
            }
        }
    }

    /// Puts down that `nodes` ran into a hole.
    fn put_down(&mut self, nodes: &[Place<'g>], hole: u32) {
        for group in nodes.chunk_by(|a, b| a.0.number() == b.0.number()) {
            let nodes = group.iter().map(|&(_, node)| node).collect();
            self.pending.push(Pending::Nodes { trie: Arc::clone(group[0].0), nodes, hole });
        }
    }

    /// Follows everything to its end. The mask of the tokens that are alive.
    pub(super) fn finish_mask(mut self) -> Result<Mask, Spent> {
        self.run();
        self.nesting.allowance.check()?;
        debug_assert!(self.pending.is_empty(), "a whole configuration has no holes");
        Ok(Mask::new(self.generation.words(), &self.parts, self.alive))
    }

    /// The same for a part of a walk. The tokens that are alive, and what ran into holes.
    pub(super) fn finish(mut self) -> Result<(Parts, Box<[Pending]>), Spent> {
        self.run();
        self.nesting.allowance.check()?;
        Ok((gather(self.generation.words(), &self.parts, self.alive), self.pending.into()))
    }
}

/// The numbers of the bits that are set.
fn numbers(mut holes: Holes) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let number = (holes != 0).then(|| holes.trailing_zeros())?;
        holes &= holes - 1;
        Some(number)
    })
}
