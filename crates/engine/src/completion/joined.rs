//! What it takes to complete a text with tokens that join its parts.
//!
//! The sum of what the parts cost (see [`super`]) reckons with no token that spells the end of one part and the start of
//! the next. Where that matters there is a second number: the fewest tokens that spell one certain completion. It is
//! found by walking: from a configuration the byte is read that brings its end nearest, in bytes, again and again up to
//! the end. Which byte that is depends on the configuration alone, so the completion of a configuration on the way is the
//! rest of the completion, and the fewest tokens are one less after the first of them. So this cost is kept as well,
//! and so is the lesser of both.
//!
//! A token that the grammar names is a step of its own. Where one may come, a token that spells bytes of the way is not
//! reckoned with if it could also be read as such a one: it would lead to more than the way does.
//!
//! Where the items of arrays are compared and one may be equal to one before, the way first goes to where that is settled
//! (`config/distinct/settling.rs`); that too depends on the configuration alone.
//!
//! The cost is not known where the way goes through a key that must not be one of those before it, and where it is very
//! long.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::{Completion, NodeCosts, Way};
use crate::config::SetId;
use crate::generation::Generation;
use crate::terminal::{NO_END, Speller};
use crate::vocab::TokenId;
use crate::vocab::trie::{NodeIndex, Trie};

/// Completions that are longer than this are not looked at, in bytes.
const MOST_BYTES: usize = 2_048;

/// The memory that an entry of what is known takes, roughly.
const A_REST: usize = 48;

/// The costs of the configurations of one generation.
pub(super) struct Joined {
    /// The same costs, where each byte is a token.
    bytes: Completion,
    known: Mutex<Known>,
}

type Known = FxHashMap<SetId, Rest>;

/// What is left of a completion: its cost, and the leg that it begins with.
#[derive(Clone)]
struct Rest {
    cost: u32,
    leg: Option<Arc<Leg>>,
}

/// Some steps of a completion. Before each but the last no terminal may end, so the configurations on the way are like the
/// first, and nothing is kept of them but what they cost.
struct Leg {
    ways: Box<[Way]>,
    /// What is left before each step, once that is known.
    costs: Box<[u32]>,
    after: SetId,
}

impl Leg {
    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.ways) + size_of_val(&*self.costs)
    }
}

/// A completion: its steps, and the spots before each of them and after the last.
struct Walk {
    spots: Vec<Spot>,
    ways: Vec<Way>,
}

/// What is known between two steps.
#[derive(Clone, Copy)]
struct Spot {
    /// The configuration, where a leg begins or the walk ends.
    config: Option<SetId>,
    /// What is left, within a leg for which that is known.
    cost: Option<u32>,
}

impl Joined {
    pub(super) fn new(generation: &Generation) -> Self {
        let bytes = Arc::clone(generation.tokens().index().bytes());
        let nodes = NodeCosts::without_growth(generation, Speller { trie: &bytes, barred: &[] });
        let bytes = Completion::new(bytes, Box::default(), Arc::new(nodes));
        Joined { bytes, known: Mutex::default() }
    }

    /// The fewest tokens that spell the completion of `config`; [`NO_END`] if that is not known. And the memory that was taken to
    /// keep what was found.
    pub(super) fn cost(&self, generation: &Generation, speller: &Speller<'_>, config: SetId) -> (u32, usize) {
        let config = plain(generation, config);
        let mut known = self.known.lock();
        if let Some(rest) = known.get(&config) {
            return (rest.cost, 0);
        }
        if self.bytes.cost(generation, config).least as usize > MOST_BYTES {
            return (NO_END, 0);
        }
        let bytes = match self.walk(generation, speller, config, &known) {
            Err(met) => {
                let unknown = Rest { cost: NO_END, leg: None };
                met.iter().for_each(|&config| _ = known.insert(config, unknown.clone()));
                met.len() * A_REST
            }
            Ok(walk) => walk.spell(generation, speller, &mut known),
        };
        (known[&config].cost, bytes)
    }

    /// The completion of `config`, or as much of it as tokens reach to from configurations that are not known. An error are
    /// configurations that have none.
    fn walk(
        &self,
        generation: &Generation,
        speller: &Speller<'_>,
        config: SetId,
        known: &Known,
    ) -> Result<Walk, Vec<SetId>> {
        let mut walk = Walk { spots: Vec::new(), ways: Vec::new() };
        let (mut at, mut open) = (config, OpenTokens::default());
        while !generation.sets().ends(at) {
            let leg = match known.get(&at) {
                Some(_) if open.is_empty() => break,
                Some(rest) => rest.leg.clone(),
                None => self.leg(generation, speller, at).map(Arc::new),
            };
            let Some(leg) = leg.filter(|_| walk.ways.len() <= MOST_BYTES) else {
                return Err(walk.configs().chain([at]).collect());
            };
            walk.go_along(&leg, at, &mut open, speller.trie);
            at = leg.after;
        }
        walk.spots.push(Spot { config: Some(at), cost: None });
        Ok(walk)
    }

    /// The steps from a configuration up to one with which a terminal may end.
    fn leg(&self, generation: &Generation, speller: &Speller<'_>, config: SetId) -> Option<Leg> {
        let (within, last) = self.bytes.way_within(generation, config);
        let (way, after) = self.step(generation, speller, last)?;
        let ways = within.into_iter().map(Way::Byte).chain([way]).collect();
        Some(Leg { ways, costs: Box::default(), after })
    }

    /// What brings the end nearest, and the configuration after it.
    fn step(&self, generation: &Generation, speller: &Speller<'_>, config: SetId) -> Option<(Way, SetId)> {
        let cost = |config| self.bytes.cost(generation, config).least;
        if !generation.is_settled(config) {
            let byte = generation.way_to_settle(config)?;
            let next = plain(generation, generation.step_comparing(config, byte));
            return (next != SetId::DEAD).then_some((Way::Byte(byte), next));
        }
        let way = self.bytes.way_on(generation, config, speller.barred)?;
        let next = match way {
            Way::Byte(byte) => generation.step_comparing(config, byte),
            Way::Token(token) => {
                let token = TokenId(token);
                generation.step_token(config, token, generation.tokens().token_bytes(token))
            }
        };
        // It is nearer by one; this only keeps a mistake from going round for ever.
        let is_nearer = next != SetId::DEAD && cost(next) < cost(config);
        is_nearer.then(|| (way, plain(generation, next)))
    }
}

/// The tokens that may be under way, of those that begin where the cost is not known: as far as these reach it matters what
/// comes.
#[derive(Default)]
struct OpenTokens {
    nodes: Vec<NodeIndex>,
}

impl OpenTokens {
    fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A token may begin here.
    fn begin(&mut self) {
        self.nodes.push(Trie::ROOT);
    }

    fn read(&mut self, trie: &Trie, way: Way) {
        let Way::Byte(byte) = way else { return self.nodes.clear() };
        self.nodes.retain_mut(|node| {
            let child = trie.child(*node, byte);
            *node = child.unwrap_or(*node);
            child.is_some()
        });
    }
}

impl Walk {
    /// Goes on along a leg that begins at a configuration.
    fn go_along(&mut self, leg: &Leg, config: SetId, open: &mut OpenTokens, trie: &Trie) {
        let mut config = Some(config);
        for (step, &way) in leg.ways.iter().enumerate() {
            let cost = leg.costs.get(step).copied();
            if cost.is_none() {
                open.begin();
            }
            open.read(trie, way);
            self.spots.push(Spot { config: config.take(), cost });
            self.ways.push(way);
        }
    }

    /// The configurations at which legs begin.
    fn configs(&self) -> impl Iterator<Item = SetId> {
        self.spots.iter().filter_map(|spot| spot.config)
    }

    /// Finds the fewest tokens for each rest of the completion, and keeps them. The memory that they take.
    fn spell(&self, generation: &Generation, speller: &Speller<'_>, known: &mut Known) -> usize {
        let count = self.ways.len();
        let mut fewest = vec![NO_END; count + 1];
        let (mut bytes, mut end) = (0, count);
        for start in (0..=count).rev() {
            let Spot { config, cost } = self.spots[start];
            let known_cost = cost.or_else(|| known.get(&config?).map(|rest| rest.cost));
            let find = || {
                if start == count { 0 } else { self.fewest_from(start, &fewest, generation, speller) }
            };
            fewest[start] = known_cost.unwrap_or_else(find);
            let Some(config) = config else { continue };
            if known_cost.is_none() {
                let leg = self.spots[end].config.filter(|_| start < count).map(|after| Leg {
                    ways: self.ways[start..end].into(),
                    costs: fewest[start..end].into(),
                    after,
                });
                bytes += A_REST + leg.as_ref().map_or(0, Leg::memory_bytes);
                known.insert(config, Rest { cost: fewest[start], leg: leg.map(Arc::new) });
            }
            end = start;
        }
        bytes
    }

    /// The fewest tokens from a step on, where those from later ones on are known.
    fn fewest_from(
        &self,
        start: usize,
        fewest: &[u32],
        generation: &Generation,
        speller: &Speller<'_>,
    ) -> u32 {
        if let Way::Token(_) = self.ways[start] {
            return (fewest[start + 1] + 1).min(NO_END);
        }
        let may_end = |node: NodeIndex| {
            let mut tokens = speller.trie.tokens_of(node).iter();
            tokens.any(|token| {
                let is_named = |config| generation.named_tokens(config).any(|set| set.contains(*token));
                !speller.barred.contains(token) && !self.spots[start].config.is_some_and(is_named)
            })
        };
        let (mut node, mut best) = (Trie::ROOT, NO_END);
        for (end, way) in (start + 1..).zip(&self.ways[start..]) {
            let Way::Byte(byte) = *way else { break };
            let Some(child) = speller.trie.child(node, byte) else { break };
            node = child;
            if fewest[end] + 1 < best && may_end(node) {
                best = fewest[end] + 1;
            }
        }
        best.min(NO_END)
    }
}

/// The same configuration as far as completions go: what keys and items were does not matter for any way that is looked at,
/// once it is settled that they differ.
fn plain(generation: &Generation, config: SetId) -> SetId {
    let config = generation.without_texts(config);
    if generation.is_settled(config) { generation.forgetful(config).unwrap_or(config) } else { config }
}
