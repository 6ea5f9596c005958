//! Keys of which there are few.
//!
//! Whether a list whose keys must differ can be completed does not depend on the keys that it has had, if wherever a key of
//! others may come there are more keys than the list can have had. Where there are fewer, these are told apart.

use hashbrown::{HashMap, HashSet};

use super::lists::{MOST_WORDS, Phase, Which, too_many_words};
use super::product::{Part, Product};
use super::spelled::Spelled;
use super::ways::Way;
use crate::error::Result;
use crate::ir::ExprId;
use crate::regular::{Dfa, StateId};

/// A list, and a word of one of its families of others.
type Scarce = (ExprId, (u32, Box<str>));

/// The least bytes that a member and what separates it from the next one take: `"":0,`.
const LEAST_MEMBER: u64 = 5;

impl Product<'_> {
    /// The words of lists that have to be told apart and are not yet, with the number of their family. The product must
    /// have been explored.
    pub(super) fn scarce_words(&mut self) -> Result<Vec<Scarce>> {
        let dfa = std::sync::Arc::clone(&self.dfa);
        let spelled = Spelled::new(&dfa);
        let most = longest(&dfa).map(|bytes| bytes / LEAST_MEMBER + 1);
        let mut looked_at: HashSet<(u32, u32, StateId)> = HashSet::new();
        let mut counted: HashSet<(u32, u32, Way)> = HashSet::new();
        let mut words: HashMap<(ExprId, Box<str>), u32> = HashMap::new();
        for &(part, state) in &self.meetings().to_vec() {
            let Part::Place(place) = part else { continue };
            let (list, phase) = (self.lists.place(place).list, self.lists.place(place).phase);
            if phase == Phase::After || !self.lists.list(list).is_tracked {
                continue;
            }
            for step in self.lists.steps(place)? {
                let Which::Others(family) = step.which else { continue };
                if !looked_at.insert((list, family, state)) {
                    continue;
                }
                let Some(texts) = self.lists.list(list).other_texts[family as usize].clone() else {
                    continue;
                };
                let keys = spelled.keys(&texts, state, self.budget)?;
                for to in keys.ends() {
                    if !counted.insert((list, family, self.ways.between(state, to, self.budget)?)) {
                        continue;
                    }
                    let texts = keys.texts(to, self.budget)?;
                    let count = texts.count_words();
                    if count.is_none_or(|count| most.is_some_and(|most| count > most)) {
                        continue;
                    }
                    for word in words_of(&texts)? {
                        words.insert((self.lists.id(list), word), family);
                    }
                }
            }
        }
        let mut words: Vec<_> =
            words.into_iter().map(|((list, word), family)| (list, (family, word))).collect();
        words.sort_unstable_by(|one, other| one.1.cmp(&other.1).then(one.0.cmp(&other.0)));
        Ok(words)
    }
}

/// The length of the longest word; none if there is no end of them.
fn longest(dfa: &Dfa) -> Option<u64> {
    // States in the order in which the last edge out of them is done with.
    let mut lengths: Vec<Option<u64>> = vec![None; dfa.len()];
    let mut is_open = vec![false; dfa.len()];
    let mut stack = vec![(Dfa::START, false)];
    while let Some((state, is_done)) = stack.pop() {
        let edges = dfa.edges(state);
        if is_done {
            let below = edges.iter().filter_map(|edge| lengths[edge.2 as usize]).max();
            lengths[state as usize] = Some(below.map_or(0, |below| below + 1));
            is_open[state as usize] = false;
            continue;
        }
        if lengths[state as usize].is_some() || is_open[state as usize] {
            continue;
        }
        is_open[state as usize] = true;
        stack.push((state, true));
        for edge in edges {
            if is_open[edge.2 as usize] {
                return None;
            }
            stack.push((edge.2, false));
        }
    }
    lengths[Dfa::START as usize]
}

/// The words of a language, if they are not too many.
fn words_of(texts: &Dfa) -> Result<Vec<Box<str>>> {
    let mut words = Vec::new();
    let mut open: Vec<(StateId, Vec<u8>)> = vec![(Dfa::START, Vec::new())];
    while let Some((state, read)) = open.pop() {
        if texts.is_accepting(state) {
            words.push(String::from_utf8_lossy(&read).into());
            if words.len() > MOST_WORDS {
                return Err(too_many_words());
            }
        }
        for &(low, high, to) in texts.edges(state) {
            for byte in low..=high {
                let mut longer = read.clone();
                longer.push(byte);
                open.push((to, longer));
                if open.len() > 1 << 16 {
                    return Err(too_many_words());
                }
            }
        }
    }
    Ok(words)
}
