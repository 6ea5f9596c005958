//! Members: the list of a JSON object or array whose conditions reach from one member to another.
//!
//! Which member may come next depends on those that came before: a key is written once, required keys may not be
//! forgotten, counts have bounds, one key asks for another. As rules that would be a rule for every set of keys. So the
//! conditions are data here, and the engine carries what it has seen in the frame of the list.
//!
//! A list is some members with the separator between them. The brackets around it, and the white space inside them, are
//! the business of the expression that holds the list. The empty list is in the language if the conditions allow it.
//!
//! The expressions that a list is made of are its *parts*, kept apart from the rest so that passes see them as children.

use smallvec::SmallVec;

use super::escapes::Escapes;
use super::expr::ExprId;
use crate::error::{Error, ErrorKind, Result};

/// A part of the list, by its place among the parts.
pub type Part = u32;

/// The order in which the entries of a list come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Entry after entry without a gap, and then the others: the items of an array. The list may end anywhere that the
    /// conditions allow.
    Sequence,
    /// Entries in the order in which they are listed, any of which may be left out if the conditions allow it, and
    /// then the others: the keys of an object.
    Declared,
    /// Entries and others in any order.
    Any,
}

/// One way to write the value of an entry, and what that counts for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// What stands after the key: the colon and the value; the whole item where there is no key. Any expression.
    pub value: Part,
    /// The counters that it adds one to, sorted, each once.
    pub counters: SmallVec<[u32; 4]>,
}

/// The ways to write a value: nearly always one.
pub type Variants = SmallVec<[Variant; 1]>;

/// An entry that may be in the list once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The key, as text; it is written as a JSON string with its quotes. `None` has no key.
    pub key: Option<Box<str>>,
    /// Whether the list must have it.
    pub required: bool,
    /// The ways to write its value. None at all forbids the key; it is then no key of the others either.
    pub variants: Variants,
}

/// Entries beyond those listed, any number of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Others {
    /// The keys, a regular language of texts (not of their JSON spellings): the keys of the list's own entries are
    /// taken out of it without saying. `None` has no key. The languages of two families of one list have no
    /// text in common.
    pub keys: Option<Part>,
    /// The ways to write their values.
    pub variants: Variants,
}

/// Bounds of a count of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Count {
    /// The least count.
    pub min: u32,
    /// The greatest count; `None` is no bound.
    pub max: Option<u32>,
}

/// A place in a list beside which an automaton runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TrackNode {
    /// Whether the list may end here.
    pub ends: bool,
    /// What may separate the next member from what was read, and the node after it.
    pub separators: Box<[(Part, u32)]>,
    /// The members that may come.
    pub members: Box<[TrackMember]>,
}

/// A member that may come at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrackMember {
    /// Whether it is of the others, and no entry.
    pub is_other: bool,
    /// The number of the entry, or of the family of others.
    pub at: u32,
    /// The number of the variant.
    pub variant: u32,
    /// The node after it.
    pub to: u32,
}

/// Everything of a list but its parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The order of the entries.
    pub order: Order,
    /// What stands between two members: regular, never empty.
    pub separator: Part,
    /// The entries, in order.
    pub entries: Box<[Entry]>,
    /// The others.
    pub others: Box<[Others]>,
    /// The bounds of the counters. A variant says which counters it counts for.
    pub counters: Box<[Count]>,
    /// Pairs of entries: with the first in the list, the second must be in it too.
    pub implies: Box<[(u32, u32)]>,
    /// Whether no two of the others may have the same key.
    pub unique: bool,
    /// The escapes that keys may have.
    pub escapes: Escapes,
    /// Where a list stands in the product with an automaton, from node 0 on: then the nodes say which members may come, in
    /// place of the order, of what is required, of counters and of implications, and what separates them. All members have
    /// keys, each node can come to an end, and whatever keys a list has had there is another one for each member of the
    /// others. Empty for all other lists.
    pub track: Box<[TrackNode]>,
}

impl Layout {
    /// Fails unless all numbers in it name something, with `parts` parts, and no key is listed twice.
    pub fn check(&self, parts: usize) -> Result<()> {
        let wrong = |what: &str| Err(Error::new(ErrorKind::Invalid, format!("a list of members {what}")));
        let keys = self.others.iter().filter_map(|others| others.keys);
        let separators = self.track.iter().flat_map(|node| node.separators.iter().map(|&(part, _)| part));
        let own = separators.chain([self.separator]);
        let mut used = self.variants().map(|variant| variant.value).chain(keys).chain(own);
        if !used.all(|part| (part as usize) < parts) {
            return wrong("names a part that it does not have");
        }
        let mut counters = self.variants().flat_map(|variant| &variant.counters);
        if !counters.all(|&counter| (counter as usize) < self.counters.len()) {
            return wrong("names a counter that it does not have");
        }
        if !self.variants().all(|variant| variant.counters.is_sorted_by(|a, b| a < b)) {
            return wrong("has a variant whose counters are not sorted, each once");
        }
        let entries = self.entries.len();
        if !self.implies.iter().all(|&(a, b)| (a as usize) < entries && (b as usize) < entries) {
            return wrong("has an implication of an entry that it does not have");
        }
        if !self.track.iter().all(|node| self.has_track_node(node)) {
            return wrong("names a node, an entry or a variant that it does not have");
        }
        let mut seen = hashbrown::HashSet::with_capacity(self.entries.len());
        let twice =
            self.entries.iter().filter_map(|entry| entry.key.as_deref()).find(|key| !seen.insert(*key));
        twice.map_or(Ok(()), |key| wrong(&format!("has two entries with the key {key:?}")))
    }

    /// Whether all that a node names is there.
    fn has_track_node(&self, node: &TrackNode) -> bool {
        let is_node = |node: u32| (node as usize) < self.track.len();
        let variants = |member: &TrackMember| {
            let at = member.at as usize;
            if member.is_other {
                self.others.get(at).filter(|others| others.keys.is_some()).map(|others| others.variants.len())
            } else {
                self.entries.get(at).filter(|entry| entry.key.is_some()).map(|entry| entry.variants.len())
            }
        };
        let is_member = |member: &TrackMember| {
            is_node(member.to) && variants(member).is_some_and(|count| (member.variant as usize) < count)
        };
        node.separators.iter().all(|&(_, to)| is_node(to)) && node.members.iter().all(is_member)
    }

    /// The layout without variants and others that are made of parts for which `is_never` says that they match
    /// nothing, and the parts that are left, in the order in which they are used.
    pub(super) fn prune(
        mut self,
        parts: &[ExprId],
        is_never: impl Fn(Part) -> bool,
    ) -> (Layout, Box<[ExprId]>) {
        // The nodes of a track name variants and others by number.
        let is_never = |part: Part| self.track.is_empty() && is_never(part);
        if (0..parts.len() as Part).any(is_never) {
            let keep = |variants: &mut Variants| variants.retain(|variant| !is_never(variant.value));
            self.entries.iter_mut().for_each(|entry| keep(&mut entry.variants));
            self.others.iter_mut().for_each(|others| keep(&mut others.variants));
        }
        let has_members = |others: &Others| !others.keys.is_some_and(is_never) && !others.variants.is_empty();
        if !self.others.iter().all(has_members) {
            self.others = self.others.into_vec().into_iter().filter(has_members).collect();
        }
        self.renumber(parts)
    }

    /// The layout with the parts that it uses alone.
    fn renumber(mut self, parts: &[ExprId]) -> (Layout, Box<[ExprId]>) {
        // What is refused by the check, with any layout that names it, keeps the number of nothing.
        const NONE: Part = Part::MAX;
        let mut numbers = vec![NONE; parts.len()];
        let mut kept = Vec::with_capacity(parts.len());
        let mut renumber = |part: &mut Part| {
            let Some(number) = numbers.get_mut(*part as usize) else {
                *part = NONE;
                return;
            };
            if *number == NONE {
                *number = kept.len() as Part;
                kept.push(parts[*part as usize]);
            }
            *part = *number;
        };
        renumber(&mut self.separator);
        let separators = self.track.iter_mut().flat_map(|node| &mut node.separators);
        separators.for_each(|(part, _)| renumber(part));
        let others = self.others.iter_mut().flat_map(|others| {
            let values = others.variants.iter_mut().map(|variant| &mut variant.value);
            others.keys.iter_mut().chain(values)
        });
        let entries = self.entries.iter_mut().flat_map(|entry| &mut entry.variants);
        entries.map(|variant| &mut variant.value).chain(others).for_each(&mut renumber);
        (self, kept.into())
    }

    /// The keys of the entries.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| entry.key.as_deref())
    }

    /// All variants: those of the entries, then those of the others.
    pub fn variants(&self) -> impl Iterator<Item = &Variant> {
        let entries = self.entries.iter().flat_map(|entry| &entry.variants);
        entries.chain(self.others.iter().flat_map(|others| &others.variants))
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        let variants = self.variants().map(|variant| size_of::<Variant>() + 4 * variant.counters.len());
        let keys = self
            .entries
            .iter()
            .map(|entry| size_of::<Entry>() + entry.key.as_ref().map_or(0, |key| key.len()));
        let nodes = self.track.iter().map(|node| {
            size_of::<TrackNode>()
                + size_of_val(&*node.separators)
                + node.members.len() * size_of::<TrackMember>()
        });
        nodes.sum::<usize>()
            + variants.sum::<usize>()
            + keys.sum::<usize>()
            + 16 * self.others.len()
            + 12 * self.counters.len()
    }
}
