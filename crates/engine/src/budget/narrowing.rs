//! Which tokens of a mask can be afforded.
//!
//! Tokens are followed along their trie, and subtrees in which nothing can become too dear are left out. Inside of a
//! string hardly any are: nearly all tokens fit there, and lead back to where they began. So where all text of certain
//! characters leads to places that can be afforded, or to none that can, the tokens made of these characters are decided at
//! one stroke (see [`super::plain`]), and only the others are followed.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::TokenBudget;
use super::plain::PlainText;
use crate::completion::Cost;
use crate::config::SetId;
use crate::generation::Generation;
use crate::mask::clear_bit;
use crate::vocab::TokenId;
use crate::vocab::slices::{ANY_LENGTH, Slice};
use crate::vocab::trie::{NodeIndex, Trie};

/// A subtree with fewer tokens than this is followed token by token.
const WORTH_A_STROKE: usize = 64;

/// A mask that is being narrowed.
pub(super) struct Narrowing<'b> {
    budget: &'b TokenBudget,
    generation: &'b Generation,
    /// The configuration whose mask it is.
    start: SetId,
    /// What may be needed after a token; none if nothing can be afforded.
    limit: Option<u32>,
    text: PlainText<'b>,
    /// The tokens of that text, if they are many.
    slice: Option<Arc<Slice>>,
    costs: FxHashMap<SetId, Cost>,
    /// Whether a configuration can be afforded.
    verdicts: FxHashMap<SetId, bool>,
    /// Whether all that text leads to can be afforded, or nothing of it; none if neither is known. By where it begins, and
    /// whether keys forget there.
    strokes: FxHashMap<(SetId, bool), Option<bool>>,
}

/// A node of the trie that tokens go on from.
#[derive(Clone, Copy)]
struct Place {
    node: NodeIndex,
    /// The same place in the trie of the tokens that are not in the slice, if any of them pass it.
    other: Option<NodeIndex>,
    config: SetId,
    /// The bytes before it.
    depth: usize,
    /// The bytes that the last character still lacks.
    lacks: u8,
    /// Whether keys have forgotten their texts.
    forgets: bool,
}

impl<'b> Narrowing<'b> {
    pub(super) fn new(
        budget: &'b TokenBudget,
        generation: &'b Generation,
        start: SetId,
        limit: Option<u32>,
    ) -> Self {
        let text = PlainText::around(generation, start);
        let slice = generation.tokens().index().slice(text.kinds(), ANY_LENGTH, generation.tokens());
        let (costs, verdicts, strokes) = Default::default();
        Narrowing { budget, generation, start, limit, text, slice, costs, verdicts, strokes }
    }

    /// Takes out of `row` the tokens that cannot be afforded.
    ///
    /// Keys that remember their texts would have a state for each text. What it costs to complete them does not depend on
    /// the text while they are read, so it is forgotten up to there. The few tokens that read on are followed with it.
    pub(super) fn run(mut self, row: &mut [u32]) {
        let generation = self.generation;
        let config = generation.without_texts(self.start);
        let other = self.slice.as_ref().map(|_| Trie::ROOT);
        let forgets = config != self.start;
        let start = Place { node: Trie::ROOT, other, config, depth: 0, lacks: 0, forgets };
        let others = self.follow(generation.tokens().index().trie(), vec![start], row);
        if let Some(slice) = self.slice.take() {
            self.follow(&slice.rest, others, row);
        }
    }

    /// Follows all tokens below some places of a trie that may become too dear. Where those of the slice were decided at
    /// one stroke, the places at which to follow the others.
    fn follow(&mut self, trie: &Trie, mut stack: Vec<Place>, row: &mut [u32]) -> Vec<Place> {
        let mut others = Vec::new();
        while let Some(place) = stack.pop() {
            if self.decide_slice(trie, place, row) {
                others.extend(place.other.map(|node| Place { node, other: None, ..place }));
                continue;
            }
            for child in trie.children(place.node) {
                let Some(next) = self.step(trie, place, child) else { continue };
                if !self.is_within(trie, child, next.config) {
                    self.narrow_node(trie, child, next.config, row);
                    stack.push(next);
                }
            }
        }
        others
    }

    /// Decides the tokens of the slice below a place, if that can be done at one stroke.
    fn decide_slice(&mut self, trie: &Trie, place: Place, row: &mut [u32]) -> bool {
        let range = trie.token_range(place.node);
        let Some(slice) = self.slice.clone().filter(|_| place.lacks == 0 && range.len() >= WORTH_A_STROKE)
        else {
            return false;
        };
        match self.stroke(place) {
            None => return false,
            Some(true) => {}
            Some(false) if place.node == Trie::ROOT => {
                row.iter_mut().zip(slice.mask.words()).for_each(|(word, slice)| *word &= !slice);
            }
            Some(false) => {
                let dear = trie.tokens()[range].iter().filter(|&&token| slice.contains(token));
                dear.for_each(|&token| clear_bit(row, token));
            }
        }
        true
    }

    /// Whether all that text leads to from a place can be afforded, or nothing of it.
    fn stroke(&mut self, place: Place) -> Option<bool> {
        let key = (place.config, place.forgets);
        if let Some(&known) = self.strokes.get(&key) {
            return known;
        }
        let stroke = self.reached(place).and_then(|configs| {
            let first = self.is_enough(configs[0]);
            configs[1..].iter().all(|&config| self.is_enough(config) == first).then_some(first)
        });
        self.strokes.insert(key, stroke);
        stroke
    }

    /// All that text leads to from a place, unless keys remember it there, or it ends one that has forgotten its text.
    fn reached(&self, place: Place) -> Option<Vec<SetId>> {
        let generation = self.generation;
        if !generation.remembers_keys() {
            return self.text.reached(place.config);
        }
        let is_as_before = |&config: &SetId| generation.is_in_other_key(config) == place.forgets;
        let reached = is_as_before(&place.config).then(|| self.text.reached(place.config))?;
        reached.filter(|configs| configs.iter().all(is_as_before))
    }

    /// The place at `child`, a node right below that of `place`, if tokens go on there.
    fn step(&self, trie: &Trie, place: Place, child: NodeIndex) -> Option<Place> {
        let (generation, byte) = (self.generation, trie.byte(child));
        let depth = place.depth + 1;
        let mut config = generation.step(place.config, byte);
        let mut forgets = place.forgets;
        if forgets && !generation.is_in_other_key(config) {
            let token = TokenId(trie.tokens()[trie.token_range(child).start]);
            let bytes = &generation.tokens().token_bytes(token)[..depth];
            config = generation.step_bytes(self.start, bytes);
            forgets = generation.is_in_other_key(config);
            if forgets {
                config = generation.without_texts(config);
            }
        }
        let others = self.slice.as_ref().map(|slice| &slice.rest);
        let other = others.zip(place.other).and_then(|(others, node)| others.child(node, byte));
        let lacks = lacking(byte, place.lacks);
        (config != SetId::DEAD).then_some(Place { node: child, other, config, depth, lacks, forgets })
    }

    fn cost(&mut self, config: SetId) -> Cost {
        let (budget, generation) = (self.budget, self.generation);
        *self.costs.entry(config).or_insert_with(|| budget.cost(generation, config))
    }

    /// Whether a configuration can be afforded.
    fn is_enough(&mut self, config: SetId) -> bool {
        let (budget, generation, limit) = (self.budget, self.generation, self.limit);
        let verdict = || limit.is_some_and(|limit| budget.is_enough(generation, config, limit));
        *self.verdicts.entry(config).or_insert_with(verdict)
    }

    /// Whether all tokens at `node` and below it can be afforded.
    fn is_within(&mut self, trie: &Trie, node: NodeIndex, config: SetId) -> bool {
        let Some(limit) = self.limit else { return false };
        let height = trie.heights()[node as usize];
        if height == 0 {
            return self.is_enough(config);
        }
        let growth = self.budget.completion.nodes.growth(height.into());
        height < u8::MAX && self.cost(config).most + growth <= limit
    }

    fn narrow_node(&mut self, trie: &Trie, node: NodeIndex, config: SetId, row: &mut [u32]) {
        let tokens = trie.tokens_of(node);
        if !tokens.is_empty() && !self.is_enough(config) {
            tokens.iter().for_each(|&token| clear_bit(row, token));
        }
    }
}

/// How many bytes a character lacks after `byte`, where it lacked so many before it.
fn lacking(byte: u8, before: u8) -> u8 {
    match byte {
        0x00..=0x7F => 0,
        0x80..=0xBF => before.saturating_sub(1),
        0xC0..=0xDF => 1,
        0xE0..=0xEF => 2,
        0xF0.. => 3,
    }
}
