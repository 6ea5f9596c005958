//! Lists of members as nodes.
//!
//! The position of such a node is a number for a [`Spot`]: what the list has had so far, and what comes next. The
//! numbers are given out as spots are met. What may come in a state is decided by [`Conditions`], which are checked
//! against all lists of small layouts elsewhere.
//!
//! The keys of entries are nodes that are called. Those of others are read by the list itself, byte by byte, because what
//! was read decides how the list goes on: each byte must lead to a key that is still free.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustc_hash::FxHashMap;
use tokenstile_grammar::ir::members::{Layout, Part, Variant};
use tokenstile_grammar::members::{Conditions, Member, Slot, State, capacity};
use tokenstile_grammar::regular::Dfa;
use tokenstile_grammar::{Budget, CancelFlag, Limits, Result};

use super::json_text::JsonText;
use super::node::{At, NodeId, START, text_alone};

/// What a list has had.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Had {
    state: State,
    /// The keys of the others, where none may come twice.
    keys: BTreeSet<String>,
}

/// Where a list stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Spot {
    /// Before the first member.
    Start(Had),
    /// After a separator.
    Before(Had),
    /// In a key of others, after its opening quote and these bytes.
    Key(Had, Vec<u8>),
    /// After a key of others.
    KeyRead(Had, String),
    /// After the key of an entry, whose value is this node; the member is counted already.
    Value(NodeId, Had),
    /// After a member.
    After(Had),
}

#[derive(Debug, Default)]
struct Spots {
    all: Vec<Spot>,
    numbers: FxHashMap<Spot, At>,
    /// What reads the keys of each family of others, without those that the list has had.
    readers: FxHashMap<(u32, BTreeSet<String>), Arc<JsonText>>,
}

/// A list of members.
#[derive(Debug)]
pub(super) struct ListNode {
    layout: Arc<Layout>,
    /// The nodes of the parts.
    parts: Box<[NodeId]>,
    /// The nodes of the keys of the entries, with their quotes.
    keys: Box<[Option<NodeId>]>,
    /// The languages of the keys of the others.
    other_keys: Box<[Option<Dfa>]>,
    conditions: Option<Conditions>,
    spots: Mutex<Spots>,
}

impl ListNode {
    pub(super) fn new(
        layout: Arc<Layout>,
        parts: Box<[NodeId]>,
        keys: Box<[Option<NodeId>]>,
        other_keys: Box<[Option<Dfa>]>,
    ) -> Self {
        ListNode { layout, parts, keys, other_keys, conditions: None, spots: Mutex::default() }
    }

    /// Finds the conditions, given which nodes generate something, and whether they can be met.
    pub(super) fn settle(&mut self, productive: &[bool], budget: &Budget) -> Result<bool> {
        let is_keys = |part: Part| self.layout.others.iter().any(|others| others.keys == Some(part));
        let is_live = |part: Part| is_keys(part) || productive[self.parts[part as usize].index()];
        let keys_left =
            |keys: &Option<Dfa>| keys.as_ref().and_then(|keys| capacity(keys, self.layout.keys()));
        let capacities: Vec<Option<u32>> = self.other_keys.iter().map(keys_left).collect();
        let conditions = Conditions::new(&self.layout, &capacities, &is_live, budget)?;
        let satisfiable = conditions.is_satisfiable();
        self.spots = Mutex::default();
        self.number(Spot::Start(Had { state: conditions.start(), keys: BTreeSet::new() }));
        self.conditions = Some(conditions);
        Ok(satisfiable)
    }

    /// Whether the separator is among the nodes that generate something.
    pub(super) fn separates(&self, productive: &[bool]) -> bool {
        productive[self.parts[self.layout.separator as usize].index()]
    }

    /// Whether the separator, a member without a key, or the value of others is among the nodes that can be empty.
    pub(super) fn may_be_empty(&self, nullable: &[bool]) -> bool {
        let layout = &self.layout;
        let entries = layout.entries.iter().filter(|entry| entry.key.is_none()).map(|entry| &entry.variants);
        let others = layout.others.iter().map(|others| &others.variants);
        let values = entries.chain(others).flatten().map(|variant| variant.value);
        values.chain([layout.separator]).any(|part| nullable[self.parts[part as usize].index()])
    }

    /// Whether the list may end at `at`.
    pub(super) fn is_end(&self, at: At) -> bool {
        match self.spot(at) {
            Spot::Start(had) | Spot::After(had) => self.conditions().may_end(&had.state),
            _ => false,
        }
    }

    /// The position after `byte`, which is a byte of a key of others.
    pub(super) fn after_byte(&self, at: At, byte: u8) -> Option<At> {
        let next = match self.spot(at) {
            Spot::Start(had) | Spot::Before(had) if byte == b'"' && !self.readers(&had).is_empty() => {
                Spot::Key(had, Vec::new())
            }
            Spot::Key(had, mut read) => {
                let readers = self.readers(&had);
                let positions = readers.iter().filter_map(|reader| Some((reader, follow(reader, &read)?)));
                let positions: Vec<_> = positions.collect();
                if positions.iter().any(|(reader, at)| reader.after_byte(*at, byte).is_some()) {
                    read.push(byte);
                    Spot::Key(had, read)
                } else if byte == b'"' && positions.iter().any(|(reader, at)| reader.is_end(*at)) {
                    Spot::KeyRead(had, decoded(&read)?)
                } else {
                    return None;
                }
            }
            _ => return None,
        };
        Some(self.number(next))
    }

    /// The nodes that can be called from `at`, each with the position after it has ended.
    pub(super) fn calls(&self, at: At) -> Vec<(NodeId, At)> {
        match self.spot(at) {
            Spot::Start(had) | Spot::Before(had) => self.members(&had),
            Spot::Key(..) => Vec::new(),
            Spot::KeyRead(had, key) => self.values_of(&had, &key),
            Spot::Value(value, had) => vec![(value, self.number(Spot::After(had)))],
            Spot::After(had) if !self.layout.track.is_empty() => self.separated(&had),
            Spot::After(had) if self.conditions().allowed(&had.state).is_empty() => Vec::new(),
            Spot::After(had) => {
                let separator = self.parts[self.layout.separator as usize];
                vec![(separator, self.number(Spot::Before(had)))]
            }
        }
    }

    /// What may separate two members where an automaton runs beside the list.
    fn separated(&self, had: &Had) -> Vec<(NodeId, At)> {
        let conditions = self.conditions();
        let node = conditions.track_node(&had.state).expect("the list has a track");
        let parts = self.layout.track[node as usize].separators.iter().map(|&(part, _)| part);
        let states = conditions.separated(&had.state).expect("the list has a track");
        let before = |state| self.number(Spot::Before(Had { state, keys: had.keys.clone() }));
        parts.zip(states).map(|(part, state)| (self.parts[part as usize], before(state))).collect()
    }

    /// The keys of the entries that may come, and the values of the members without keys.
    fn members(&self, had: &Had) -> Vec<(NodeId, At)> {
        let mut calls = Vec::new();
        for member in self.conditions().allowed(&had.state) {
            let key = match member.slot {
                Slot::Entry(entry) => self.keys[entry as usize],
                Slot::Others(others) if self.other_keys[others as usize].is_some() => continue,
                Slot::Others(_) => None,
            };
            let next = Had { state: self.conditions().take(&had.state, member), keys: had.keys.clone() };
            let value = self.value(member);
            calls.push(match key {
                Some(key) => (key, self.number(Spot::Value(value, next))),
                None => (value, self.number(Spot::After(next))),
            });
        }
        calls
    }

    /// The values of the others that have this key.
    fn values_of(&self, had: &Had, key: &str) -> Vec<(NodeId, At)> {
        let mut calls = Vec::new();
        for (family, member) in self.others(had) {
            if self.other_keys[family as usize].as_ref().is_some_and(|keys| keys.matches(key.as_bytes())) {
                let mut keys = had.keys.clone();
                if self.layout.unique {
                    keys.insert(key.to_owned());
                }
                let state = self.conditions().take(&had.state, member);
                calls.push((self.value(member), self.number(Spot::After(Had { state, keys }))));
            }
        }
        calls
    }

    fn value(&self, member: Member) -> NodeId {
        let variants: &[Variant] = match member.slot {
            Slot::Entry(entry) => &self.layout.entries[entry as usize].variants,
            Slot::Others(others) => &self.layout.others[others as usize].variants,
        };
        self.parts[variants[member.variant as usize].value as usize]
    }

    /// The others that may come, with the number of their family.
    fn others(&self, had: &Had) -> Vec<(u32, Member)> {
        let allowed = self.conditions().allowed(&had.state).into_iter();
        let family = |member: Member| match member.slot {
            Slot::Others(family) => Some((family, member)),
            Slot::Entry(_) => None,
        };
        allowed.filter_map(family).collect()
    }

    /// What reads the keys that are free, one for each family of others that may come.
    fn readers(&self, had: &Had) -> Vec<Arc<JsonText>> {
        let families: BTreeSet<u32> = self.others(had).into_iter().map(|(family, _)| family).collect();
        let keyed = families.into_iter().filter(|&family| self.other_keys[family as usize].is_some());
        keyed.map(|family| self.reader(family, had)).filter(|reader| !reader.is_empty()).collect()
    }

    fn reader(&self, family: u32, had: &Had) -> Arc<JsonText> {
        let key = (family, had.keys.clone());
        if let Some(known) = self.spots().readers.get(&key) {
            return Arc::clone(known);
        }
        let endless = Limits { max_states: usize::MAX, max_compile_time: Duration::MAX, ..Limits::default() };
        let budget = Budget::new(endless, CancelFlag::default());
        let mut free = self.other_keys[family as usize].clone().expect("the family has keys");
        for text in self.layout.keys().chain(had.keys.iter().map(String::as_str)) {
            let without = text_alone(text, &budget).and_then(|text| free.difference(&text, &budget));
            free = without.expect("there is no limit");
        }
        let reader = Arc::new(JsonText::of(free, self.layout.escapes));
        self.spots().readers.insert(key, Arc::clone(&reader));
        reader
    }

    /// The positions that were met.
    pub(super) fn positions(&self) -> std::ops::Range<At> {
        0..self.spots().all.len() as At
    }

    fn conditions(&self) -> &Conditions {
        self.conditions.as_ref().expect("they are found before the node is used")
    }

    fn spots(&self) -> std::sync::MutexGuard<'_, Spots> {
        self.spots.lock().expect("nothing panics while it is held")
    }

    fn spot(&self, at: At) -> Spot {
        self.spots().all[at as usize].clone()
    }

    fn number(&self, spot: Spot) -> At {
        let mut spots = self.spots();
        if let Some(&known) = spots.numbers.get(&spot) {
            return known;
        }
        let at = spots.all.len() as At;
        spots.all.push(spot.clone());
        spots.numbers.insert(spot, at);
        at
    }
}

/// The position of a reader after some bytes.
fn follow(reader: &JsonText, bytes: &[u8]) -> Option<At> {
    bytes.iter().try_fold(START, |at, &byte| reader.after_byte(at, byte))
}

/// The text that is spelled between two quotes.
fn decoded(spelling: &[u8]) -> Option<String> {
    serde_json::from_slice(&[b"\"", spelling, b"\""].concat()).ok()
}
