//! Free text in which tags may come: where it may end, and where a tag has been read.
//!
//! A tag has been read if in the text up to its end no other tag and no excluded string begins before it and is whole.
//! Others may stand within it: of `<a>` and `<a>b` both can be had. An excluded string within a tag makes that tag
//! impossible.
//!
//! One automaton knows all of that, and its states are the nodes of the trie of all strings ([`StringTrie`]). A node is
//! the longest end of the text that begins a string. If no string is whole in it, the text is free so far, and goes on
//! as Aho and Corasick say. If one is, then the text can only become a tag that begins no later than the earliest whole
//! string in it. That place is a property of the node: a whole string that began before the node's first byte would
//! have ended the ways of the node itself. So from there only those ends of the node count that are long enough, and
//! where such an end is whole and begins at that very place, its tag has been read: one tag at most for each node.
//!
//! The states are no more than the strings have bytes, and the ways on are found along the links of the trie when they
//! are asked for. So thousands of tags cost what it takes to write them down, however their ends and beginnings overlap.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::builder::DfaBuilder;
use super::dfa::{Dfa, StateId};
use super::free_text::distinct;
use super::string_trie::{NodeId, ROOT, StringTrie};
use crate::error::Result;
use crate::limits::Budget;

/// No whole string in a node.
const NONE: u32 = u32::MAX;

/// The automaton of free text with tags.
#[derive(Clone, Debug)]
pub struct TagText {
    body: Arc<Body>,
    /// The tags after which nothing can come, by number.
    dead: Box<[bool]>,
    /// The states from which an end or a tag can be reached.
    alive: Box<[bool]>,
}

#[derive(Debug)]
struct Body {
    tags: Box<[Box<str>]>,
    excludes: Box<[Box<str>]>,
    before: Box<str>,
    trie: StringTrie,
    facts: Vec<Facts>,
}

/// What is known of a node beside what the trie knows.
#[derive(Clone, Copy, Debug)]
struct Facts {
    /// Where the earliest whole string in it begins.
    first: u32,
    /// The tag that has been read here.
    tag: u32,
    /// Whether an excluded string ends here.
    excluded: bool,
    /// Whether the text may not end here because of what follows it.
    spoiled: bool,
}

impl TagText {
    /// The text with `tags`, each once, and without `excludes`, which `before` follows: no tag and no excluded string may
    /// begin in the text and end within it. No string is empty but `before`.
    pub fn new<T: AsRef<str>>(tags: &[T], excludes: &[T], before: &str, budget: &Budget) -> Result<Self> {
        let tags: Box<[Box<str>]> = distinct(tags).into();
        let excludes: Box<[Box<str>]> = distinct(excludes).into();
        let strings = distinct(tags.iter().chain(&excludes));
        let trie = StringTrie::new(&strings, budget)?;
        let spoiled = trie.spoiled_by(&strings, before, budget)?;
        let facts = facts(&trie, &tags, &excludes, &spoiled);
        let dead = vec![false; tags.len()].into();
        let body = Arc::new(Body { tags, excludes, before: before.into(), trie, facts });
        TagText { body, dead, alive: Box::default() }.with_alive(budget)
    }

    /// The same where nothing can come after some of the tags: the text may not hold them all the same.
    pub fn without(&self, is_dead: impl Fn(usize) -> bool, budget: &Budget) -> Result<Self> {
        let dead: Box<[bool]> = (0..self.dead.len()).map(is_dead).collect();
        if dead == self.dead {
            return Ok(self.clone());
        }
        TagText { body: Arc::clone(&self.body), dead, alive: Box::default() }.with_alive(budget)
    }

    /// The tags, by number.
    pub fn tags(&self) -> &[Box<str>] {
        &self.body.tags
    }

    /// What the text may not hold.
    pub fn excludes(&self) -> &[Box<str>] {
        &self.body.excludes
    }

    /// What follows the text.
    pub fn before(&self) -> &str {
        &self.body.before
    }

    /// How many states there are. The first is the start.
    pub fn len(&self) -> usize {
        self.body.trie.nodes.len() + Dfa::any_text().len() - 1
    }

    /// Whether there is none: there always is.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Whether the text may end here, without a tag.
    pub fn is_end(&self, state: StateId) -> bool {
        self.body.facts.get(state as usize).is_some_and(|facts| {
            let inside = self.body.trie.node(state).inside;
            facts.first == NONE && !facts.spoiled && Dfa::any_text().is_accepting(inside)
        })
    }

    /// The number of the tag that has just been read.
    pub fn tag(&self, state: StateId) -> Option<u32> {
        let facts = self.body.facts.get(state as usize)?;
        (facts.tag != NONE && !self.dead[facts.tag as usize]).then_some(facts.tag)
    }

    /// The state after `byte`, if anything can still come of it.
    pub fn next(&self, state: StateId, byte: u8) -> Option<StateId> {
        let (any, body) = (Dfa::any_text(), &*self.body);
        let Some(facts) = body.facts.get(state as usize) else {
            let inside = state - body.trie.nodes.len() as StateId + 1;
            return any.next(inside, byte).map(|inside| self.at_root(inside));
        };
        let inside = any.next(body.trie.node(state).inside, byte)?;
        let child = body.open_ends(state).find_map(|end| body.trie.child(end, byte));
        let target = child.or_else(|| (facts.first == NONE).then(|| self.at_root(inside)))?;
        (!body.is_excluded(target) && self.alive[target as usize]).then_some(target)
    }

    /// The ways on: `(low, high, target)`, sorted by byte.
    pub fn edges(&self, state: StateId) -> Vec<(u8, u8, StateId)> {
        self.edges_if(state, |target| self.alive[target as usize])
    }

    /// The ways on to those states for which `is_wanted` says so.
    fn edges_if(&self, state: StateId, is_wanted: impl Fn(StateId) -> bool) -> Vec<(u8, u8, StateId)> {
        let body = &*self.body;
        let Some(facts) = body.facts.get(state as usize) else {
            let inside = state - body.trie.nodes.len() as StateId + 1;
            return Dfa::any_text()
                .edges(inside)
                .iter()
                .map(|&(low, high, to)| (low, high, self.at_root(to)))
                .collect();
        };
        let node = body.trie.node(state);
        let ways = Dfa::any_text().edges(node.inside);
        let mut targets = [None; 256];
        if facts.first == NONE {
            for &(low, high, inside) in ways {
                targets[usize::from(low)..=usize::from(high)].fill(Some(self.at_root(inside)));
            }
        }
        let is_way = |byte: u8| ways.iter().any(|&(low, high, _)| low <= byte && byte <= high);
        let mut seen = [false; 256];
        for end in body.open_ends(state) {
            for &(byte, child) in &body.trie.node(end).children {
                if is_way(byte) && !std::mem::replace(&mut seen[usize::from(byte)], true) {
                    targets[usize::from(byte)] = Some(child);
                }
            }
        }
        gather(&targets, |target| !body.is_excluded(target) && is_wanted(target))
    }

    /// The state of text of no interest so far into a code point.
    fn at_root(&self, inside: StateId) -> StateId {
        if inside == Dfa::START { ROOT } else { self.body.trie.nodes.len() as StateId + inside - 1 }
    }

    /// Finds the states from which an end or a tag can be reached.
    fn with_alive(mut self, budget: &Budget) -> Result<Self> {
        let nodes = self.body.trie.nodes.len();
        let mut alive = vec![true; self.len()];
        let is_goal =
            |state: StateId| state as usize >= nodes || self.is_end(state) || self.tag(state).is_some();
        // Nearly all states are ends. The others wait for one of those that they lead to.
        let mut waiting: hashbrown::HashMap<StateId, Vec<StateId>> = hashbrown::HashMap::new();
        let mut found: Vec<StateId> = Vec::new();
        for state in (0..nodes as StateId).filter(|&state| !is_goal(state)) {
            budget.tick()?;
            alive[state as usize] = false;
            let targets = self.edges_if(state, |_| true);
            if targets.iter().any(|&(_, _, target)| is_goal(target)) {
                found.push(state);
            } else {
                targets.iter().for_each(|&(_, _, target)| waiting.entry(target).or_default().push(state));
            }
        }
        while let Some(state) = found.pop() {
            if !std::mem::replace(&mut alive[state as usize], true) {
                found.extend(waiting.remove(&state).unwrap_or_default());
            }
        }
        self.alive = alive.into();
        Ok(self)
    }

    /// The automaton of the texts after which `is_end` says so of the state.
    pub fn dfa(&self, is_end: impl Fn(StateId) -> bool, budget: &Budget) -> Result<Dfa> {
        let mut builder = DfaBuilder::new();
        for state in 0..self.len() as StateId {
            builder.add_state(is_end(state));
        }
        for state in 0..self.len() as StateId {
            budget.tick()?;
            for (low, high, target) in self.edges(state) {
                builder.add_edge(state, low, high, target);
            }
        }
        builder.finish(budget)
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        let texts = self.tags().iter().chain(self.excludes()).map(|text| text.len() + size_of::<Box<str>>());
        let body = self.body.trie.memory_bytes() + size_of_val(&*self.body.facts);
        texts.sum::<usize>() + body + self.alive.len() + self.dead.len()
    }

    /// What tells two of them apart.
    fn key(&self) -> impl Eq + Hash {
        (self.tags(), self.excludes(), self.before(), &self.dead)
    }
}

impl Body {
    fn is_excluded(&self, state: StateId) -> bool {
        self.facts.get(state as usize).is_some_and(|facts| facts.excluded)
    }

    /// The ends of a node that may still become a tag or an excluded string: all, or those that begin no later than the
    /// earliest whole string.
    fn open_ends(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let (depth, first) = (self.trie.node(node).depth, self.facts[node as usize].first);
        self.trie.ends(node).take_while(move |&end| depth - self.trie.node(end).depth <= first)
    }
}

impl PartialEq for TagText {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for TagText {}

impl Hash for TagText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// What is to be known of the nodes of the trie of the tags and the excluded strings.
fn facts(trie: &StringTrie, tags: &[Box<str>], excludes: &[Box<str>], spoiled: &[bool]) -> Vec<Facts> {
    let is_excluded: hashbrown::HashSet<&str> = excludes.iter().map(|text| &**text).collect();
    // The tags are the first of the strings.
    let excluded_tag = |number: u32| tags.get(number as usize).is_none_or(|tag| is_excluded.contains(&**tag));
    let blank = Facts { first: NONE, tag: NONE, excluded: false, spoiled: false };
    let mut facts = vec![blank; trie.nodes.len()];
    for id in trie.by_depth() {
        let node = trie.node(id);
        let own = node.longest == node.depth && node.depth > 0;
        facts[id as usize].excluded =
            (own && excluded_tag(node.string)) || (id != ROOT && facts[node.fail as usize].excluded);
        facts[id as usize].spoiled = spoiled[id as usize];
        let above = facts[id as usize].first;
        if node.longest > 0 && node.depth - node.longest <= above {
            facts[id as usize].first = node.depth - node.longest;
            facts[id as usize].tag = if (node.string as usize) < tags.len() { node.string } else { NONE };
        }
        let here = facts[id as usize];
        for &(_, child) in &node.children {
            facts[child as usize].first = here.first;
        }
    }
    facts
}

/// Ranges of bytes with the same target, without those targets that are not wanted.
fn gather(targets: &[Option<StateId>; 256], is_wanted: impl Fn(StateId) -> bool) -> Vec<(u8, u8, StateId)> {
    let mut edges: Vec<(u8, u8, StateId)> = Vec::new();
    for (byte, target) in (0..=u8::MAX).zip(targets) {
        let Some(target) = *target else { continue };
        match edges.last_mut() {
            Some(last) if last.2 == target && last.1 + 1 == byte => last.1 = byte,
            _ => edges.push((byte, byte, target)),
        }
    }
    edges.retain(|edge| is_wanted(edge.2));
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(tags: &[&str], excludes: &[&str], before: &str) -> TagText {
        TagText::new(tags, excludes, before, &Budget::default()).unwrap()
    }

    /// The state after a text, if it is alive.
    fn after(text: &TagText, read: &str) -> Option<StateId> {
        read.bytes().try_fold(0, |state, byte| text.next(state, byte))
    }

    fn tag_after(text: &TagText, read: &str) -> Option<u32> {
        after(text, read).and_then(|state| text.tag(state))
    }

    #[test]
    fn a_tag_that_began_first_goes_on() {
        let text = text(&["<a>", "<a>b", "b"], &[], "");
        assert_eq!(tag_after(&text, "x<a>"), Some(0));
        assert_eq!(tag_after(&text, "x<a>b"), Some(1));
        assert_eq!(tag_after(&text, "xb"), Some(2));
        assert_eq!(after(&text, "x<a>c"), None);
    }

    #[test]
    fn what_overlaps_a_whole_tag_is_no_tag() {
        let text = text(&["ab", "bc"], &[], "");
        assert_eq!(
            (tag_after(&text, "ab"), tag_after(&text, "bc"), after(&text, "abc")),
            (Some(0), Some(1), None)
        );
    }

    #[test]
    fn a_state_without_an_end_is_dead() {
        let mut text = text(&["ab", "abc", "x"], &["b"], "");
        assert_eq!(after(&text, "ab"), None);
        text = text.without(|tag| tag == 2, &Budget::default()).unwrap();
        assert_eq!(after(&text, "x"), None);
        assert!(text.is_end(after(&text, "a").unwrap()));
    }

    #[test]
    fn what_follows_spoils_the_end() {
        let text = text(&["<a>"], &[], ">");
        let state = after(&text, "<a").unwrap();
        assert!(!text.is_end(state) && text.is_end(after(&text, "<ab").unwrap()));
    }

    #[test]
    fn states_are_no_more_than_bytes() {
        // Every end of one is the beginning of others.
        let words: Vec<String> = (0..2_000_u64)
            .map(|at| {
                (0..8)
                    .map(|place| {
                        char::from(b'a' + (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (7 * place) & 3) as u8)
                    })
                    .collect()
            })
            .collect();
        let text = TagText::new(&words, &[], "", &Budget::default()).unwrap();
        assert!(text.len() <= words.len() * 8 + Dfa::any_text().len());
    }
}
