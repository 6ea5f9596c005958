//! Text that holds none of a set of strings.
//!
//! Aho and Corasick's automaton, cut where a string is complete and confined to valid UTF-8. A node of its trie is
//! the longest end of the text that begins one of the strings. Since each string is valid UTF-8, a node other than
//! the root knows how far into a code point the text is; so the product with UTF-8's automaton has no more states
//! than the trie has nodes, and one for each way of being inside of a code point of no interest.
//!
//! Beside plain absence there is the text *before* something: `t` such that no string begins in `t` and ends within
//! what follows it. That is what stands before the end of a tag, when the end and excluded strings may overlap. It is
//! the same automaton with fewer accepting states; the states that are lost are the *spoiled* nodes.

use std::fmt::Write;

use super::builder::DfaBuilder;
use super::dfa::{Dfa, StateId};
use super::string_trie::{NodeId, ROOT, StringTrie};
use crate::error::Result;
use crate::ir::quoted;
use crate::limits::Budget;

/// How many edges the automaton may have for each state that is allowed.
const EDGES_A_STATE: usize = 32;

/// A set of strings, ready to tell texts that hold one from texts that do not.
#[derive(Debug)]
pub struct FreeText {
    strings: Vec<Box<str>>,
    trie: StringTrie,
    /// The nodes that are proper ends of strings.
    proper_ends: Vec<bool>,
}

/// Nodes at which a text must not end, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Spoiled(Vec<NodeId>);

impl Spoiled {
    /// Whether a text may end anywhere.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `strings`, each once.
pub(super) fn distinct<T: AsRef<str>>(strings: impl IntoIterator<Item = T>) -> Vec<Box<str>> {
    let mut seen: hashbrown::HashSet<Box<str>> = hashbrown::HashSet::new();
    let mut distinct = Vec::new();
    for string in strings {
        let string = string.as_ref();
        if !seen.contains(string) {
            seen.insert(string.into());
            distinct.push(string.into());
        }
    }
    distinct
}

impl FreeText {
    /// Prepares for these strings, none of which is empty.
    pub fn new<T: AsRef<str>>(strings: &[T], budget: &Budget) -> Result<Self> {
        let strings = distinct(strings);
        let trie = StringTrie::new(&strings, budget)?;
        let proper_ends = trie.proper_ends();
        Ok(FreeText { strings, trie, proper_ends })
    }

    /// One of the strings that `text` holds, if it holds any.
    pub fn held_by(&self, text: &str) -> Option<&str> {
        if !self.trie.is_in(text) {
            return None;
        }
        self.strings.iter().map(|string| &**string).find(|string| text.contains(string))
    }

    /// The nodes where a text must not end if `before` follows it, because one of the strings would begin in the
    /// text and end within `before`.
    pub fn spoiled_by(&self, before: &str, budget: &Budget) -> Result<Spoiled> {
        // PERF: so it is for nearly all tags and triggers, and looking at all strings for each of them is quadratic: the
        // text before 3,000 triggers took 0.9 s.
        if self.is_apart(before) {
            return Ok(Spoiled::default());
        }
        let spoiled = self.trie.spoiled_by(&self.strings, before, budget)?;
        let is_text = |node: &NodeId| self.trie.node(*node).longest == 0;
        let nodes = (0..).zip(spoiled).filter(|&(_, spoiled)| spoiled).map(|(node, _)| node);
        Ok(Spoiled(nodes.filter(is_text).collect()))
    }

    /// Whether `before` begins one of the strings, and no proper end of one begins it.
    fn is_apart(&self, before: &str) -> bool {
        let mut node = ROOT;
        before.bytes().all(|byte| {
            self.trie.child(node, byte).is_some_and(|child| {
                node = child;
                !self.proper_ends[child as usize]
            })
        })
    }

    /// For each node the bytes that lead elsewhere than to the root, sorted.
    fn steps(&self, budget: &Budget) -> Result<Vec<Vec<(u8, NodeId)>>> {
        let mut steps: Vec<Vec<(u8, NodeId)>> = vec![Vec::new(); self.trie.nodes.len()];
        let mut count = 0;
        for id in self.trie.by_depth() {
            let node = self.trie.node(id);
            let own = if id == ROOT {
                node.children.clone()
            } else {
                merge(&node.children, &steps[node.fail as usize])
            };
            count += own.len();
            budget.check_states(count / EDGES_A_STATE)?;
            steps[id as usize] = own;
        }
        Ok(steps)
    }

    /// The automaton of the texts that hold none of the strings and do not end at a spoiled node.
    pub fn dfa(&self, spoiled: &Spoiled, budget: &Budget) -> Result<Dfa> {
        let any = Dfa::any_text();
        let nodes = &self.trie.nodes;
        let mut builder = DfaBuilder::new();
        for node in nodes {
            builder.add_state(any.is_accepting(node.inside));
        }
        for &node in &spoiled.0 {
            builder.set_accepting(node, false);
        }
        // The root inside of a code point: one state more for each way.
        let at_root: Vec<StateId> =
            (0..any.len()).map(|inside| if inside == 0 { ROOT } else { builder.add_state(false) }).collect();
        budget.check_states(builder.len())?;
        for ((node, state), steps) in (0..).zip(nodes).zip(self.steps(budget)?) {
            budget.tick()?;
            if state.longest == 0 {
                self.add_edges(&mut builder, node, any.edges(state.inside), &steps, &at_root);
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
                if self.trie.node(target).longest == 0 {
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
    }

    #[test]
    fn the_short_way_finds_what_the_long_way_does() {
        let budget = Budget::default();
        for strings in
            [&["ab", "bc"][..], &["<a>", "<b>"], &["aa"], &["ab", "xaby"], &["é", "aé"], &["ab", "abb"]]
        {
            let free = FreeText::new(strings, &budget).unwrap();
            for string in strings {
                let long = free.trie.spoiled_by(&free.strings, string, &budget).unwrap();
                assert!(!free.is_apart(string) || !long.contains(&true), "{strings:?}, {string:?}");
            }
        }
        let apart = FreeText::new(&["<a>", "<b>"], &budget).unwrap();
        assert!(apart.is_apart("<a>") && !apart.is_apart("a>"));
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
