//! Lists whose keys must differ, with the automaton beside them.
//!
//! Which keys were read is carried by the engine, in the frame of the list. So such a list stays a list, and its track says at
//! each node what may come: a node is a place of the list and a state of the automaton. Nodes that cannot come to the end
//! are left out.

use std::sync::Arc;

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::lists::{Phase, Which};
use super::product::{Meeting, Part, Product, Rules};
use super::spelled::{Keys, Spelled};
use super::ways::Way;
use crate::error::{Error, Result};
use crate::ir::ExprId;
use crate::ir::members::{
    Entry, Layout, Order, Others, Part as PartId, TrackMember, TrackNode, Variant, Variants,
};
use crate::regular::StateId;

/// A list that is being written.
struct Draft {
    end: StateId,
    parts: Vec<ExprId>,
    part_numbers: HashMap<ExprId, PartId>,
    /// The nodes, by place and state, and those whose ways on are not known yet.
    numbers: HashMap<(u32, StateId), u32>,
    open: Vec<(u32, StateId)>,
    nodes: Vec<TrackNode>,
    entries: Vec<Entry>,
    others: Vec<Others>,
    /// The families of others, by that of the list and the way of their keys.
    families: HashMap<(u32, Way), u32>,
    /// The keys of a family from a state on.
    keys: HashMap<(u32, StateId), Arc<Keys>>,
}

impl Draft {
    fn part(&mut self, expr: ExprId) -> PartId {
        let next = self.parts.len() as PartId;
        let number = *self.part_numbers.entry(expr).or_insert(next);
        if number == next {
            self.parts.push(expr);
        }
        number
    }

    fn node(&mut self, place: u32, state: StateId) -> u32 {
        let next = self.nodes.len() as u32;
        let number = *self.numbers.entry((place, state)).or_insert(next);
        if number == next {
            self.nodes.push(TrackNode::default());
            self.open.push((place, state));
        }
        number
    }
}

/// The number of a variant, which is added if it is new.
fn variant_of(variants: &mut Variants, value: PartId) -> u32 {
    let known = variants.iter().position(|variant| variant.value == value);
    known.unwrap_or_else(|| {
        variants.push(Variant { value, counters: SmallVec::new() });
        variants.len() - 1
    }) as u32
}

impl Product<'_> {
    /// A list that is met in `start` and leaves the automaton in `end`.
    pub(super) fn tracked(
        &mut self,
        number: u32,
        start: StateId,
        end: StateId,
        rules: &mut Rules<'_>,
    ) -> Result<ExprId> {
        let dfa = Arc::clone(&self.dfa);
        let spelled = Spelled::new(&dfa);
        let list = self.lists.list(number);
        let entry = |key: Option<&str>| Entry {
            key: key.map(Into::into),
            required: false,
            variants: Variants::new(),
        };
        let entries = list.layout.entries.iter().map(|one| entry(one.key.as_deref()));
        let words = list.words.iter().map(|(_, word)| entry(Some(word)));
        let mut draft = Draft {
            end,
            parts: Vec::new(),
            part_numbers: HashMap::new(),
            numbers: HashMap::new(),
            open: Vec::new(),
            nodes: Vec::new(),
            entries: entries.chain(words).collect(),
            others: Vec::new(),
            families: HashMap::new(),
            keys: HashMap::new(),
        };
        let escapes = list.layout.escapes;
        let separator = draft.part(self.lists.separator(number));
        let first = self.lists.start(number);
        draft.node(first, start);
        while let Some((place, state)) = draft.open.pop() {
            self.budget.tick()?;
            self.budget.check_nodes(draft.nodes.len())?;
            let node = self.track_node(&mut draft, (place, state), &spelled, rules)?;
            let number = draft.numbers[&(place, state)];
            draft.nodes[number as usize] = node;
        }
        let layout = Layout {
            order: Order::Declared,
            separator,
            entries: draft.entries.into(),
            others: draft.others.into(),
            counters: Box::default(),
            implies: Box::default(),
            unique: true,
            escapes,
            track: draft.nodes.into(),
        };
        Ok(rules.builder.members(layout, draft.parts))
    }

    fn track_node(
        &mut self,
        draft: &mut Draft,
        (place, state): (u32, StateId),
        spelled: &Spelled<'_>,
        rules: &mut Rules<'_>,
    ) -> Result<TrackNode> {
        let ends = state == draft.end && self.lists.may_end(place);
        let &super::lists::Place { list, phase, .. } = self.lists.place(place);
        if phase != Phase::After {
            let members = self.track_members(draft, (place, state), spelled, rules)?;
            return Ok(TrackNode { ends, separators: Box::default(), members: members.into() });
        }
        let mut separators = Vec::new();
        let between: Meeting = (Part::Expr(self.lists.separator(list)), state);
        let next = self.lists.separated(place);
        for after in self.ends_of(between) {
            if self.leaves_at((Part::Place(next), after), draft.end) {
                let expr = self.between(between, after, rules)?;
                separators.push((draft.part(expr), draft.node(next, after)));
            }
        }
        Ok(TrackNode { ends, separators: separators.into(), members: Box::default() })
    }

    /// The members that may come at a place.
    fn track_members(
        &mut self,
        draft: &mut Draft,
        (place, state): (u32, StateId),
        spelled: &Spelled<'_>,
        rules: &mut Rules<'_>,
    ) -> Result<Vec<TrackMember>> {
        let list = self.lists.place(place).list;
        let mut members = Vec::new();
        for step in self.lists.steps(place)? {
            let named = match step.which {
                Which::Entry(entry) => Some(entry),
                Which::Word(word) => Some(self.lists.list(list).layout.entries.len() as u32 + word),
                Which::Others(_) => None,
            };
            if let Some(at) = named {
                let key = draft.entries[at as usize].key.clone();
                let Some(behind) = key.and_then(|key| spelled.after_key(state, &key)) else { continue };
                for (value, to) in self.track_values(draft, (step.value, behind), step.next, rules)? {
                    let variant = variant_of(&mut draft.entries[at as usize].variants, value);
                    members.push(TrackMember { is_other: false, at, variant, to });
                }
            }
            let Which::Others(family) = step.which else { continue };
            let Some(texts) = self.lists.list(list).other_texts[family as usize].clone() else {
                return Err(Error::unsupported("an object with keys has members without keys"));
            };
            if !draft.keys.contains_key(&(family, state)) {
                let keys = spelled.keys(&texts, state, self.budget)?;
                draft.keys.insert((family, state), keys.into());
            }
            let all = Arc::clone(&draft.keys[&(family, state)]);
            for behind in all.ends() {
                for (value, to) in self.track_values(draft, (step.value, behind), step.next, rules)? {
                    let way = self.ways.between(state, behind, self.budget)?;
                    let at = if let Some(&at) = draft.families.get(&(family, way)) {
                        at
                    } else {
                        let texts = self.keys_on_way((list, family, way), &all, behind, rules)?;
                        let texts = draft.part(texts);
                        draft.others.push(Others { keys: Some(texts), variants: Variants::new() });
                        let at = draft.others.len() as u32 - 1;
                        draft.families.insert((family, way), at);
                        at
                    };
                    let variant = variant_of(&mut draft.others[at as usize].variants, value);
                    members.push(TrackMember { is_other: true, at, variant, to });
                }
            }
        }
        members.sort_unstable();
        Ok(members)
    }

    /// The texts of the keys of a family on a way.
    fn keys_on_way(
        &mut self,
        key: (u32, u32, Way),
        keys: &Keys,
        behind: StateId,
        rules: &mut Rules<'_>,
    ) -> Result<ExprId> {
        if let Some(&known) = rules.keys.get(&key) {
            return Ok(known);
        }
        let texts = keys.texts(behind, self.budget)?;
        let expr = self.leaves.express(texts, rules.builder);
        rules.keys.insert(key, expr);
        Ok(expr)
    }

    /// The ways to write a value that is met behind its key, and the node after each.
    fn track_values(
        &mut self,
        draft: &mut Draft,
        (value, behind): (ExprId, StateId),
        next: u32,
        rules: &mut Rules<'_>,
    ) -> Result<Vec<(PartId, u32)>> {
        let mut found = Vec::new();
        let meeting = (Part::Expr(value), behind);
        for after in self.ends_of(meeting) {
            if self.leaves_at((Part::Place(next), after), draft.end) {
                let expr = self.between(meeting, after, rules)?;
                found.push((draft.part(expr), draft.node(next, after)));
            }
        }
        Ok(found)
    }
}
