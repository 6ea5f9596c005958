//! Text that holds none of a set of strings.
//!
//! Aho and Corasick's automaton, cut where a string is complete and confined to valid UTF-8. A node of its trie is
//! the longest end of the text that begins one of the strings. Since each string is valid UTF-8, a node other than
//! the root knows how far into a code point the text is; so the product with UTF-8's automaton has no more states
//! than the trie has nodes, and one for each way of being inside of a code point of no interest.
//!
//! Beside plain absence there is the text *before* something: `t` such that no string begins in `t` and ends within
//! what follows it. That is what stands before a tag, when tags and excluded strings may overlap. It is the same
//! automaton with fewer accepting states; the states that are lost are the *spoiled* nodes.

use std::fmt::Write;

use super::builder::DfaBuilder;
use super::dfa::{Dfa, StateId};
use crate::error::Result;
use crate::ir::quoted;
use crate::limits::Budget;

/// The number of a node of the trie.
type NodeId = u32;

const ROOT: NodeId = 0;

/// How many edges the automaton may have for each state that is allowed.
const EDGES_A_STATE: usize = 32;

#[derive(Debug, Default)]
struct Node {
    depth: u32,
    /// The node of the longest proper end of this one.
    fail: NodeId,
    /// The length of the longest string that ends here, 0 for none.
    longest: u32,
    /// Whether a string that ends anywhere has this node as a proper end: then another may begin within it.
    overlaps: bool,
    /// The state of UTF-8's automaton here.
    inside: StateId,
    children: Vec<(u8, NodeId)>,
}

/// A set of strings, ready to tell texts that hold one from texts that do not.
#[derive(Debug)]
pub struct FreeText {
    strings: Vec<Box<str>>,
    nodes: Vec<Node>,
    /// For each node, the bytes that lead elsewhere than to the root, sorted: a slice of `steps` from `first[node]`.
    steps: Vec<(u8, NodeId)>,
    first: Vec<usize>,
}

/// Nodes at which a text must not end, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Spoiled(Vec<NodeId>);

/// The beginnings of one string that others end with, shortest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Overlaps(Vec<NodeId>);

impl Overlaps {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Spoiled {
    /// Whether a text may end anywhere.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FreeText {
    /// Prepares for these strings, none of which is empty.
    pub fn new<T: AsRef<str>>(strings: &[T], budget: &Budget) -> Result<Self> {
        let mut seen = hashbrown::HashSet::new();
        let strings: Vec<Box<str>> =
            strings.iter().map(AsRef::as_ref).filter(|&text| seen.insert(text)).map(Into::into).collect();
        let mut free =
            FreeText { strings, nodes: vec![Node::default()], steps: Vec::new(), first: Vec::new() };
        free.grow(budget)?;
        free.link(budget)?;
        Ok(free)
    }

    fn grow(&mut self, budget: &Budget) -> Result<()> {
        for string in std::mem::take(&mut self.strings) {
            let mut at = ROOT;
            for &byte in string.as_bytes() {
                at = self.child_or_new(at, byte);
            }
            budget.check_states(self.nodes.len())?;
            let node = &mut self.nodes[at as usize];
            node.longest = node.depth;
            self.strings.push(string);
        }
        Ok(())
    }

    fn child_or_new(&mut self, at: NodeId, byte: u8) -> NodeId {
        let fresh = self.nodes.len() as NodeId;
        let parent = &mut self.nodes[at as usize];
        match parent.children.binary_search_by_key(&byte, |&(byte, _)| byte) {
            Ok(found) => parent.children[found].1,
            Err(place) => {
                parent.children.insert(place, (byte, fresh));
                let depth = parent.depth + 1;
                let inside = Dfa::any_text().next(parent.inside, byte).unwrap_or(Dfa::START);
                self.nodes.push(Node { depth, inside, ..Node::default() });
                fresh
            }
        }
    }

    /// Numbers of the nodes in the order of their depth.
    fn by_depth(&self) -> Vec<NodeId> {
        let mut order = vec![ROOT];
        let mut at = 0;
        while at < order.len() {
            order.extend(self.nodes[order[at] as usize].children.iter().map(|&(_, child)| child));
            at += 1;
        }
        order
    }

    /// Computes the failure links, and from them where each byte leads.
    fn link(&mut self, budget: &Budget) -> Result<()> {
        let mut steps: Vec<Vec<(u8, NodeId)>> = vec![Vec::new(); self.nodes.len()];
        let mut count = 0;
        for node in self.by_depth() {
            let fail = self.nodes[node as usize].fail;
            let children = &self.nodes[node as usize].children;
            let own = if node == ROOT { children.clone() } else { merge(children, &steps[fail as usize]) };
            count += own.len();
            budget.check_states(count / EDGES_A_STATE)?;
            for (byte, child) in self.nodes[node as usize].children.clone() {
                let target = if node == ROOT { ROOT } else { lookup(&steps[fail as usize], byte) };
                let longest = self.nodes[target as usize].longest;
                let child = &mut self.nodes[child as usize];
                child.fail = target;
                child.longest = child.longest.max(longest);
            }
            steps[node as usize] = own;
        }
        for own in steps {
            self.first.push(self.steps.len());
            self.steps.extend(own);
        }
        self.first.push(self.steps.len());
        self.mark_overlaps();
        Ok(())
    }

    fn mark_overlaps(&mut self) {
        for at in 0..self.nodes.len() {
            let node = &self.nodes[at];
            if node.longest != node.depth {
                continue;
            }
            let mut end = node.fail;
            while end != ROOT && !std::mem::replace(&mut self.nodes[end as usize].overlaps, true) {
                end = self.nodes[end as usize].fail;
            }
        }
    }

    fn steps(&self, node: NodeId) -> &[(u8, NodeId)] {
        &self.steps[self.first[node as usize]..self.first[node as usize + 1]]
    }

    fn next(&self, node: NodeId, byte: u8) -> NodeId {
        lookup(self.steps(node), byte)
    }

    /// Whether `text` holds one of the strings.
    pub fn is_in(&self, text: &str) -> bool {
        let mut node = ROOT;
        text.bytes().any(|byte| {
            node = self.next(node, byte);
            self.nodes[node as usize].longest > 0
        })
    }

    /// The beginnings of `string`, which must be one of the strings, that another one ends with. They decide what
    /// text `string` spoils, and where there are none it spoils nothing.
    pub fn overlaps(&self, string: &str) -> Overlaps {
        let mut node = ROOT;
        let path = string.bytes().map(|byte| {
            node = lookup(&self.nodes[node as usize].children, byte);
            node
        });
        Overlaps(path.filter(|&node| self.nodes[node as usize].overlaps).collect())
    }

    /// The nodes where a text must not end if `before` follows it, because one of the strings would begin in the
    /// text and end within `before`.
    pub fn spoiled_by(&self, before: &str, budget: &Budget) -> Result<Spoiled> {
        let mut spoiled = Vec::new();
        for (at, node) in (0..).zip(&self.nodes) {
            budget.tick()?;
            if node.longest == 0 && self.is_spoiled(at, before) {
                spoiled.push(at);
            }
        }
        Ok(Spoiled(spoiled))
    }

    fn is_spoiled(&self, from: NodeId, before: &str) -> bool {
        let mut at = from;
        for (read, byte) in (1_u32..).zip(before.bytes()) {
            at = self.next(at, byte);
            let node = &self.nodes[at as usize];
            if node.longest > read {
                return true;
            }
            // What begins in the text has been left behind.
            if node.depth <= read {
                return false;
            }
        }
        false
    }

    /// The automaton of the texts that hold none of the strings and do not end at a spoiled node.
    pub fn dfa(&self, spoiled: &Spoiled, budget: &Budget) -> Result<Dfa> {
        let any = Dfa::any_text();
        let mut builder = DfaBuilder::new();
        for node in &self.nodes {
            builder.add_state(any.is_accepting(node.inside));
        }
        for &node in &spoiled.0 {
            builder.set_accepting(node, false);
        }
        // The root inside of a code point: one state more for each way.
        let at_root: Vec<StateId> =
            (0..any.len()).map(|inside| if inside == 0 { ROOT } else { builder.add_state(false) }).collect();
        budget.check_states(builder.len())?;
        for (node, state) in (0..).zip(&self.nodes) {
            budget.tick()?;
            if state.longest == 0 {
                self.add_edges(&mut builder, node, any.edges(state.inside), self.steps(node), &at_root);
            }
        }
        for inside in 1..any.len() as StateId {
            self.add_edges(&mut builder, at_root[inside as usize], any.edges(inside), &[], &at_root);
        }
        // PERF: with one string each node has its own distance to the end of it, so no two states are equivalent.
        // Tags with ends of their own have an automaton each; 4,000 of them took 150 ms with the search for equivalent
        // states.
        if self.strings.len() == 1 && spoiled.is_empty() {
            return builder.finish_distinct(budget);
        }
        builder.finish(budget)
    }

    /// Adds the ways on from `from`: those of valid text, to the root but for the bytes in `steps`.
    fn add_edges(
        &self,
        builder: &mut DfaBuilder,
        from: StateId,
        ways: &[(u8, u8, StateId)],
        mut steps: &[(u8, NodeId)],
        at_root: &[StateId],
    ) {
        for &(low, high, inside) in ways {
            let mut start = u16::from(low);
            while let Some((&(byte, target), rest)) =
                steps.split_first().filter(|((byte, _), _)| *byte <= high)
            {
                steps = rest;
                if u16::from(byte) < start {
                    continue;
                }
                if u16::from(byte) > start {
                    builder.add_edge(from, start as u8, byte - 1, at_root[inside as usize]);
                }
                if self.nodes[target as usize].longest == 0 {
                    builder.add_edge(from, byte, byte, target);
                }
                start = u16::from(byte) + 1;
            }
            if start <= u16::from(high) {
                builder.add_edge(from, start as u8, high, at_root[inside as usize]);
            }
        }
    }

    /// The EBNF text of the automaton before `before`.
    pub fn source(&self, before: &str) -> String {
        let mut arguments: Vec<String> = self.strings.iter().map(|string| quoted(string)).collect();
        if !before.is_empty() {
            arguments.push(format!("before={}", quoted(before)));
        }
        let mut out = String::new();
        let _ = write!(out, "FreeText({})", arguments.join(", "));
        out
    }
}

fn lookup(steps: &[(u8, NodeId)], byte: u8) -> NodeId {
    steps.binary_search_by_key(&byte, |&(byte, _)| byte).map_or(ROOT, |at| steps[at].1)
}

/// Both lists by byte; where both know a byte, the first one counts.
fn merge(own: &[(u8, NodeId)], other: &[(u8, NodeId)]) -> Vec<(u8, NodeId)> {
    let mut merged = own.to_vec();
    merged
        .extend(other.iter().filter(|(byte, _)| own.binary_search_by_key(byte, |&(byte, _)| byte).is_err()));
    merged.sort_unstable();
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(strings: &[String], before: &str, text: &str) -> (bool, bool) {
        let budget = Budget::default();
        let free = FreeText::new(strings, &budget).unwrap();
        let dfa = free.dfa(&free.spoiled_by(before, &budget).unwrap(), &budget).unwrap();
        let both = format!("{text}{before}");
        let spoils = |string: &String| {
            let starts = both.char_indices().map(|(at, _)| at).filter(|&at| at < text.len());
            starts.into_iter().any(|at| both[at..].starts_with(string.as_str()))
        };
        (dfa.matches(text.as_bytes()), !strings.iter().any(spoils))
    }

    proptest! {
        #[test]
        fn agrees_with_search(
            strings in prop::collection::vec("[abé]{1,4}", 0..4),
            before in "[abé]{0,4}",
            text in "[abéc]{0,6}",
        ) {
            let (found, expected) = check(&strings, &before, &text);
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn overlaps_decide_what_is_spoiled(strings in prop::collection::vec("[abé]{1,4}", 1..5)) {
            let budget = Budget::default();
            let free = FreeText::new(&strings, &budget).unwrap();
            let mut known: hashbrown::HashMap<Overlaps, Spoiled> = hashbrown::HashMap::new();
            known.insert(Overlaps::default(), Spoiled::default());
            for string in &strings {
                let spoiled = free.spoiled_by(string, &budget).unwrap();
                let expected = known.entry(free.overlaps(string)).or_insert_with(|| spoiled.clone());
                prop_assert_eq!(&*expected, &spoiled, "{:?} of {:?}", string, strings);
            }
        }
    }

    #[test]
    fn no_string_is_any_text() {
        let budget = Budget::default();
        let free = FreeText::new::<&str>(&[], &budget).unwrap();
        assert_eq!(&free.dfa(&Spoiled::default(), &budget).unwrap(), Dfa::any_text());
        assert_eq!(free.source(""), "FreeText()");
    }

    #[test]
    fn a_lead_byte_with_nothing_left_to_follow_it_is_dead() {
        let strings: Vec<String> = ('\u{c0}'..='\u{ff}').map(String::from).collect();
        let budget = Budget::default();
        let dfa = FreeText::new(&strings, &budget).unwrap().dfa(&Spoiled::default(), &budget).unwrap();
        assert_eq!(dfa.next(Dfa::START, 0xc3), None);
        assert!(dfa.matches("\u{100}".as_bytes()));
    }
}
