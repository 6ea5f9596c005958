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

/// The costs of the configurations of one generation.
pub(super) struct Joined {
    /// The same costs, where each byte is a token.
    bytes: Completion,
    known: Mutex<Known>,
}

type Known = FxHashMap<SetId, Rest>;

/// What is left of a completion: its cost, the next step and the configuration after it.
#[derive(Clone, Copy)]
struct Rest {
    cost: u32,
    next: Option<(Way, SetId)>,
}

/// A completion: its steps, and the configuration before each of them and after the last.
struct Walk {
    configs: Vec<SetId>,
    ways: Vec<Way>,
}

impl Joined {
    pub(super) fn new(generation: &Generation, speller: &Speller<'_>) -> Self {
        let bytes = Arc::new(bytes_of(speller));
        let nodes = NodeCosts::without_growth(generation, Speller { trie: &bytes, barred: &[] });
        let bytes = Completion::new(bytes, Box::default(), Arc::new(nodes));
        Joined { bytes, known: Mutex::default() }
    }

    /// The fewest tokens that spell the completion of `config`; [`NO_END`] if that is not known.
    pub(super) fn cost(&self, generation: &Generation, speller: &Speller<'_>, config: SetId) -> u32 {
        // What a key was does not matter for any way that is looked at.
        let config = generation.without_texts(config);
        let mut known = self.known.lock();
        if let Some(rest) = known.get(&config) {
            return rest.cost;
        }
        if self.bytes.cost(generation, config).least as usize > MOST_BYTES {
            return NO_END;
        }
        match self.walk(generation, speller, config, &known) {
            Err(met) => {
                let unknown = Rest { cost: NO_END, next: None };
                met.into_iter().for_each(|config| _ = known.insert(config, unknown));
            }
            Ok(walk) => walk.spell(generation, speller, &mut known),
        }
        known[&config].cost
    }

    /// The completion of `config`, or a part of it that is long enough behind configurations that are known. An error are
    /// the configurations that have none.
    fn walk(
        &self,
        generation: &Generation,
        speller: &Speller<'_>,
        config: SetId,
        known: &Known,
    ) -> Result<Walk, Vec<SetId>> {
        let mut walk = Walk { configs: vec![config], ways: Vec::new() };
        let (mut at, mut left) = (config, generation.longest_token() as usize);
        while !generation.sets().ends(at) && left > 0 {
            let next = match known.get(&at) {
                Some(rest) => {
                    left -= 1;
                    rest.next
                }
                None => self.step(generation, speller, at),
            };
            let Some((way, next)) = next else { return Err(walk.configs) };
            walk.ways.push(way);
            walk.configs.push(next);
            at = next;
        }
        Ok(walk)
    }

    /// What brings the end nearest, and the configuration after it.
    fn step(&self, generation: &Generation, speller: &Speller<'_>, config: SetId) -> Option<(Way, SetId)> {
        let way = self.bytes.way_on(generation, config, speller.barred)?;
        let next = match way {
            Way::Byte(byte) => generation.step(config, byte),
            Way::Token(token) => {
                let token = TokenId(token);
                generation.step_token(config, token, generation.tokens().token_bytes(token))
            }
        };
        let cost = |config| self.bytes.cost(generation, config).least;
        // It is nearer by one; this only keeps a mistake from going round for ever.
        (next != SetId::DEAD && cost(next) < cost(config)).then_some((way, next))
    }

    /// How many configurations are known.
    pub(super) fn len(&self) -> usize {
        self.known.lock().len()
    }
}

impl Walk {
    /// Finds the fewest tokens for each rest of the completion.
    fn spell(&self, generation: &Generation, speller: &Speller<'_>, known: &mut Known) {
        let count = self.ways.len();
        let mut fewest = vec![NO_END; count + 1];
        fewest[count] = known.entry(self.configs[count]).or_insert(Rest { cost: 0, next: None }).cost;
        for start in (0..count).rev() {
            let config = self.configs[start];
            fewest[start] = match known.get(&config) {
                Some(rest) => rest.cost,
                None => self.fewest_from(start, &fewest, generation, speller),
            };
            let next = Some((self.ways[start], self.configs[start + 1]));
            known.entry(config).or_insert(Rest { cost: fewest[start], next });
        }
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
                let is_named =
                    || generation.named_tokens(self.configs[start]).any(|set| set.contains(*token));
                !speller.barred.contains(token) && !is_named()
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

/// The bytes that stand in any token, each as a token.
fn bytes_of(speller: &Speller<'_>) -> Trie {
    let mut stands = [false; 256];
    let trie = speller.trie;
    let mut stack = vec![Trie::ROOT];
    while let Some(node) = stack.pop() {
        for child in trie.children(node) {
            stands[usize::from(trie.byte(child))] = true;
            stack.push(child);
        }
    }
    let bytes: Vec<[u8; 1]> =
        (0..=u8::MAX).filter(|&byte| stands[usize::from(byte)]).map(|byte| [byte]).collect();
    Trie::from_sorted(bytes.iter().map(|byte| (byte.as_slice(), u32::from(byte[0]))))
}
