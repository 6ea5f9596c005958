//! What it takes to complete a text with tokens that join its parts.
//!
//! The sum of what the parts cost (see [`super`]) reckons with no token that spells the end of one part and the start of
//! the next. Where that matters there is a second number: the fewest tokens that spell one certain completion. It is
//! found by walking: from a configuration the byte is read that brings its end nearest, in bytes, again and again up to
//! the end. Which byte that is depends on the configuration alone, so the completion of a configuration on the way is the
//! rest of the completion, and the fewest tokens are one less after the first of them. So this cost is kept as well,
//! and so is the lesser of both.
//!
//! It is not known where the grammar names tokens, whose ways are not made of bytes; where the way goes through a key that
//! must not be one of those before it; and where it is very long.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::{Completion, NodeCosts};
use crate::config::SetId;
use crate::generation::Generation;
use crate::terminal::{NO_END, Speller};
use crate::vocab::trie::Trie;

/// Completions that are longer than this are not looked at, in bytes.
const MOST_BYTES: usize = 2_048;

/// The costs of the configurations of one generation.
pub(super) struct Joined {
    /// The same costs, where each byte is a token.
    bytes: Completion,
    known: Mutex<Known>,
}

type Known = FxHashMap<SetId, Rest>;

/// What is left of a completion: its cost, the next byte and the configuration after it.
#[derive(Clone, Copy)]
struct Rest {
    cost: u32,
    next: Option<(u8, SetId)>,
}

/// A completion: its bytes, and the configuration before each of them and after the last.
struct Walk {
    configs: Vec<SetId>,
    bytes: Vec<u8>,
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
        match self.walk(generation, config, &known) {
            Err(met) => {
                let unknown = Rest { cost: NO_END, next: None };
                met.into_iter().for_each(|config| _ = known.insert(config, unknown));
            }
            Ok(walk) => spell(&walk, speller, &mut known),
        }
        known[&config].cost
    }

    /// The completion of `config`, or a part of it that is long enough behind configurations that are known. An error are
    /// the configurations that have none.
    fn walk(&self, generation: &Generation, config: SetId, known: &Known) -> Result<Walk, Vec<SetId>> {
        let mut walk = Walk { configs: vec![config], bytes: Vec::new() };
        let (mut at, mut left) = (config, generation.longest_token() as usize);
        while !generation.sets().ends(at) && left > 0 {
            let next = match known.get(&at) {
                Some(rest) => {
                    left -= 1;
                    rest.next
                }
                None => self.step(generation, at),
            };
            let Some((byte, next)) = next else { return Err(walk.configs) };
            walk.bytes.push(byte);
            walk.configs.push(next);
            at = next;
        }
        Ok(walk)
    }

    /// The byte that brings the end nearest, and the configuration after it.
    fn step(&self, generation: &Generation, config: SetId) -> Option<(u8, SetId)> {
        let byte = self.bytes.way_on(generation, config)?;
        let next = generation.step(config, byte);
        let cost = |config| self.bytes.cost(generation, config).least;
        // It is nearer by one; this only keeps a mistake from going round for ever.
        (next != SetId::DEAD && cost(next) < cost(config)).then_some((byte, next))
    }

    /// How many configurations are known.
    pub(super) fn len(&self) -> usize {
        self.known.lock().len()
    }
}

/// Finds the fewest tokens for each rest of a completion.
fn spell(walk: &Walk, speller: &Speller<'_>, known: &mut Known) {
    let count = walk.bytes.len();
    let mut fewest = vec![NO_END; count + 1];
    fewest[count] = known.entry(walk.configs[count]).or_insert(Rest { cost: 0, next: None }).cost;
    for start in (0..count).rev() {
        if let Some(rest) = known.get(&walk.configs[start]) {
            fewest[start] = rest.cost;
            continue;
        }
        let mut node = Trie::ROOT;
        for (end, &byte) in (start + 1..).zip(&walk.bytes[start..]) {
            let Some(child) = speller.trie.child(node, byte) else { break };
            node = child;
            if speller.ends(node) {
                fewest[start] = fewest[start].min(fewest[end] + 1).min(NO_END);
            }
        }
        let next = Some((walk.bytes[start], walk.configs[start + 1]));
        known.insert(walk.configs[start], Rest { cost: fewest[start], next });
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
