//! Lists that the automaton does not move.
//!
//! There are states that each character leads back to, such as that of text without some letters. In such a state a list
//! stays a list, whatever the order of its keys and the conditions on them: its members are those that can be read from
//! this state, and what can be read of each is what it was, without what the automaton refuses. So there is no place for
//! each set of keys.

use std::sync::Arc;

use hashbrown::HashMap;

use super::product::{Part, Product, Rules};
use super::spelled::Spelled;
use crate::error::Result;
use crate::ir::members::{Count, Layout, Part as PartId, Variants};
use crate::ir::{Escapes, Expr, ExprId};
use crate::members::{Conditions, capacity};
use crate::regular::{Dfa, StateId};

/// Whether each character that can be read in a state leads back to it.
pub(super) fn is_still(dfa: &Dfa, state: StateId) -> bool {
    let mut open: Vec<(StateId, u32)> = vec![(state, 0)];
    while let Some((at, left)) = open.pop() {
        for &(low, high, to) in dfa.edges(at) {
            match left {
                0 => {
                    for first in low..=high {
                        let more = match first {
                            0x00..=0x7f => 0,
                            0x80..=0xdf => 1,
                            0xe0..=0xef => 2,
                            _ => 3,
                        };
                        if more == 0 && to != state {
                            return false;
                        }
                        if more > 0 && !open.contains(&(to, more)) {
                            open.push((to, more));
                        }
                    }
                }
                1 if to != state => return false,
                1 => {}
                _ => open.push((to, left - 1)),
            }
        }
    }
    true
}

/// What a part of a list is there for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Role {
    Separator,
    Value,
    Keys,
}

impl Product<'_> {
    /// Whether a part is a list that is met in a state that it does not leave in between.
    pub(super) fn is_still_list(&self, (part, state): (Part, StateId)) -> bool {
        let Part::Expr(id) = part else { return false };
        let Expr::Members { layout, .. } = self.grammar.expr(id) else { return false };
        let others = layout.others.iter().any(|others| others.keys.is_some());
        let has_keys = others || layout.entries.iter().any(|entry| entry.key.is_some());
        self.is_text
            && layout.track.is_empty()
            && (!has_keys || layout.escapes == Escapes::Least)
            && is_still(&self.dfa, state)
    }

    /// The parts of such a list that are to be met.
    pub(super) fn parts_of_still(&self, id: ExprId) -> Vec<Part> {
        let Expr::Members { layout, parts } = self.grammar.expr(id) else { return Vec::new() };
        let used = layout.variants().map(|variant| variant.value).chain([layout.separator]);
        used.map(|part| Part::Expr(parts[part as usize])).collect()
    }

    /// Whether such a list has a text, as far as its parts are known to have one.
    pub(super) fn has_still_text(&mut self, id: ExprId, state: StateId) -> Result<bool> {
        let Expr::Members { layout, parts } = self.grammar.expr(id) else { return Ok(false) };
        let (layout, keys) = self.still_layout(layout, parts, state)?;
        let capacities: Vec<Option<u32>> = layout
            .others
            .iter()
            .map(|others| others.keys.and_then(|part| capacity(&keys[&part], layout.keys())))
            .collect();
        let is_live = |part: PartId| {
            keys.contains_key(&part) || self.leaves_at((Part::Expr(parts[part as usize]), state), state)
        };
        Ok(Conditions::new(&layout, &capacities, &is_live, self.budget)?.is_satisfiable())
    }

    /// The layout of a list in a state, with the parts that it had, and the texts of the keys of others by part.
    fn still_layout(
        &self,
        layout: &Layout,
        parts: &[ExprId],
        state: StateId,
    ) -> Result<(Layout, HashMap<PartId, Dfa>)> {
        let dfa = Arc::clone(&self.dfa);
        let spelled = Spelled::new(&dfa);
        let mut layout = layout.clone();
        for entry in &mut layout.entries {
            if let Some(key) = &entry.key
                && spelled.after_key(state, key).is_none()
            {
                entry.variants = Variants::new();
            }
        }
        let mut keys = HashMap::new();
        for others in &layout.others {
            let Some(part) = others.keys else { continue };
            let texts = self.lists.key_texts(parts[part as usize])?;
            keys.insert(part, spelled.keys(&texts, state, self.budget)?.texts(state, self.budget)?);
        }
        let separator = parts[layout.separator as usize];
        if !self.leaves_at((Part::Expr(separator), state), state) {
            // Nothing separates two members, so there is one at most.
            let counter = layout.counters.len() as u32;
            let mut counters = layout.counters.to_vec();
            counters.push(Count { min: 0, max: Some(1) });
            layout.counters = counters.into();
            let entries = layout.entries.iter_mut().map(|entry| &mut entry.variants);
            let others = layout.others.iter_mut().map(|others| &mut others.variants);
            entries.chain(others).flatten().for_each(|variant| variant.counters.push(counter));
        }
        Ok((layout, keys))
    }

    /// Such a list as an expression.
    pub(super) fn still_list(&mut self, id: ExprId, state: StateId, rules: &mut Rules<'_>) -> Result<ExprId> {
        let grammar = self.grammar;
        let Expr::Members { layout, parts } = grammar.expr(id) else { return Ok(rules.builder.never()) };
        let (mut layout, keys) = self.still_layout(layout, parts, state)?;
        let mut written: Vec<ExprId> = Vec::new();
        let mut numbers: HashMap<(Role, PartId), PartId> = HashMap::new();
        let mut failed = None;
        let mut number = |role: Role, part: &mut PartId| {
            let next = written.len() as PartId;
            let new = *numbers.entry((role, *part)).or_insert(next);
            if new == next {
                match self.still_part(role, (*part, parts[*part as usize]), &keys, state, rules) {
                    Ok(expr) => written.push(expr),
                    Err(error) => failed = Some(error),
                }
            }
            *part = new;
        };
        number(Role::Separator, &mut layout.separator);
        for variant in layout.entries.iter_mut().flat_map(|entry| &mut entry.variants) {
            number(Role::Value, &mut variant.value);
        }
        for others in &mut layout.others {
            others.keys.iter_mut().for_each(|keys| number(Role::Keys, keys));
            others.variants.iter_mut().for_each(|variant| number(Role::Value, &mut variant.value));
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(rules.builder.members(layout, written)),
        }
    }

    fn still_part(
        &mut self,
        role: Role,
        (part, expr): (PartId, ExprId),
        keys: &HashMap<PartId, Dfa>,
        state: StateId,
        rules: &mut Rules<'_>,
    ) -> Result<ExprId> {
        if role == Role::Keys {
            return Ok(self.leaves.express(keys[&part].clone(), rules.builder));
        }
        let meeting = (Part::Expr(expr), state);
        match (self.leaves_at(meeting, state), role) {
            (true, _) => self.between(meeting, state, rules),
            // It is never read: there is one member at most.
            (false, Role::Separator) => Ok(expr),
            (false, _) => Ok(rules.builder.never()),
        }
    }
}
