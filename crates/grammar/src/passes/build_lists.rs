//! Lists of members become nodes of the machine.
//!
//! The value of an entry with a key begins with the key's closing quote here. As much of the value as is one terminal
//! with it, which is nearly always the colon and the white space behind it, becomes the *head*, and the rest a rule.
//! The engine reads the key and the head as one terminal. Equal values of different keys are one rule. The keys of others
//! are wide terminals, which stand alone with their quotes; their values are rules.

use std::sync::Arc;

use super::build::{self, Work};
use super::edge_bytes::{Side, edge_bytes};
use crate::error::{Error, ErrorKind, Result};
use crate::ir::members::{Entry, Layout, Others, Part, TrackNode, Variant};
use crate::ir::{Automaton, Escapes, Expr, ExprId, Grammar};
use crate::machine::{List, ListId, ListOthers, ListUse, MemberValue, MemberValues, NodeId};
use crate::members::KeyTree;
use crate::regular::ByteSet;

/// Where a value stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the start of its member.
    First,
    /// After the text of a key, before the closing quote.
    AfterText,
    /// After a key.
    AfterKey,
}

impl Place {
    fn of_entry(entry: &Entry) -> Self {
        if entry.key.is_some() { Place::AfterText } else { Place::First }
    }

    fn of_others(others: &Others) -> Self {
        if others.keys.is_some() { Place::AfterKey } else { Place::First }
    }
}

/// Whether all bytes of an expression without rules are UTF-8 by themselves.
fn is_text(grammar: &Grammar, expr: ExprId) -> bool {
    let mut seen: hashbrown::HashSet<ExprId> = hashbrown::HashSet::from([expr]);
    let mut stack = vec![expr];
    while let Some(id) = stack.pop() {
        match grammar.expr(id) {
            Expr::Bytes(bytes) if std::str::from_utf8(bytes).is_err() => return false,
            Expr::Automaton(_) => return false,
            other => stack.extend(other.children().iter().filter(|child| seen.insert(**child))),
        }
    }
    true
}

impl Work<'_> {
    /// Joins `from` and `to` by the list `id`.
    pub(super) fn list(&mut self, id: ExprId, from: NodeId, to: NodeId) -> Result<()> {
        let list = self.list_id(id)?;
        let node = self.node()?;
        self.draft.node_mut(node).list = Some(ListUse { list, next: to, nonempty: false });
        self.draft.jump(from, node);
        Ok(())
    }

    fn list_id(&mut self, id: ExprId) -> Result<ListId> {
        let key = (id, self.temperature.map(f32::to_bits));
        if let Some(&list) = self.lists.get(&key) {
            return Ok(list);
        }
        let grammar = self.grammar;
        let Expr::Members { layout, parts } = grammar.expr(id) else {
            return Err(Error::unsupported("a list of members was expected"));
        };
        let list = self.make_list(id, layout, parts)?;
        self.draft.lists.push(list);
        let list = ListId(self.draft.lists.len() as u32 - 1);
        self.lists.insert(key, list);
        Ok(list)
    }

    fn make_list(&mut self, id: ExprId, layout: &Layout, parts: &[ExprId]) -> Result<List> {
        let keys = KeyTree::new(layout.entries.iter().map(|entry| entry.key.as_deref()), layout.escapes);
        let key_texts = keys
            .nodes
            .iter()
            .map(|node| {
                self.budget.tick()?;
                Ok(self.key_text(&node.text, layout.escapes))
            })
            .collect::<Result<_>>()?;
        let mut values = |variants: &[Variant], place: Place| {
            let value = |variant: &Variant| self.member_value(parts[variant.value as usize], place);
            variants.iter().map(value).collect::<Result<MemberValues>>()
        };
        let entries = layout
            .entries
            .iter()
            .map(|entry| values(&entry.variants, Place::of_entry(entry)))
            .collect::<Result<_>>()?;
        let variants = layout
            .others
            .iter()
            .map(|others| values(&others.variants, Place::of_others(others)))
            .collect::<Result<Vec<_>>>()?;
        let mut others = Vec::with_capacity(variants.len());
        let mut always_free = true;
        for (family, variants) in layout.others.iter().zip(variants) {
            let keys = family.keys.map(|keys| self.other_keys(parts[keys as usize])).transpose()?;
            always_free &= keys.is_none_or(|(_, goes_on)| goes_on);
            others.push(ListOthers { keys: keys.map(|(keys, _)| keys), variants });
        }
        let has_keys = layout.others.iter().any(|others| others.keys.is_some());
        let names = layout.keys().filter(|_| has_keys).map(Into::into).collect();
        let is_nullable = |id: ExprId| self.nullable[id.index()];
        let edge = |part: Part, side| edge_bytes(self.grammar, is_nullable, parts[part as usize], side);
        let before_keys = edge(layout.separator, Side::Last);
        let mut after_keys = ByteSet::NONE;
        for variant in layout.others.iter().flat_map(|others| &others.variants) {
            let is_nothing = self.nullable[parts[variant.value as usize].index()];
            after_keys.add_all(if is_nothing { ByteSet::ALL } else { edge(variant.value, Side::First) });
        }
        let conditions = Arc::clone(&self.conditions[&id]);
        let nullable = self.nullable[id.index()];
        let separator = self.separator(parts[layout.separator as usize])?;
        let between = |node: &TrackNode| {
            let terminals = node.separators.iter().map(|&(part, _)| self.separator(parts[part as usize]));
            terminals.collect::<Result<Box<[ExprId]>>>()
        };
        let track = layout.track.iter().map(between).collect::<Result<_>>()?;
        let quote = self.terminals.bytes("\"");
        Ok(List {
            conditions,
            nullable,
            keys,
            key_texts,
            quote,
            separator,
            entries,
            others: others.into(),
            names,
            unique: layout.unique && has_keys,
            escapes: layout.escapes,
            before_keys,
            after_keys,
            always_free,
            track,
        })
    }

    /// The texts of the keys of others, and whether each beginning of one goes on without end.
    fn other_keys(&mut self, keys: ExprId) -> Result<(ExprId, bool)> {
        if self.languages.are_endless(keys) {
            return Ok((self.copy(keys)?, true));
        }
        let is_plain = self.shapes[keys.index()].regular && is_text(self.grammar, keys);
        if is_plain && self.languages.are_bounded(keys) {
            return Ok((self.copy(keys)?, false));
        }
        let dfa = self.languages.of(keys, self.budget)?;
        let goes_on = dfa.goes_on_everywhere();
        if is_plain {
            return Ok((self.copy(keys)?, goes_on));
        }
        let source = format!("keys {}", keys.index()).into();
        Ok((self.terminals.automaton(Automaton { source, dfa: dfa.into() }), goes_on))
    }

    /// The terminal of a piece of a key.
    fn key_text(&mut self, text: &str, escapes: Escapes) -> ExprId {
        let text = self.terminals.bytes(text);
        self.terminals.json_text(text, escapes)
    }

    fn separator(&mut self, part: ExprId) -> Result<ExprId> {
        if self.nullable[part.index()] {
            let message = "the separator of a list of members may be empty";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if !self.shapes[part.index()].regular {
            return Err(Error::unsupported("the separator of a list of members is not regular"));
        }
        self.copy(part)
    }

    /// How the value `part` is written.
    fn member_value(&mut self, part: ExprId, place: Place) -> Result<MemberValue> {
        if place == Place::AfterKey && *self.grammar.expr(part) == Expr::Empty {
            return Ok(MemberValue { head: None, rule: None });
        }
        if place != Place::AfterText && self.nullable[part.index()] {
            return Err(Error::unsupported("a member without a key, or the value of others, may be empty"));
        }
        if place != Place::AfterText {
            return Ok(MemberValue { head: None, rule: Some(self.repeated_rule(part)?) });
        }
        let key = (part, self.temperature.map(f32::to_bits));
        if let Some(&known) = self.values.get(&key) {
            return Ok(known);
        }
        let quote = self.terminals.bytes("\"");
        let grammar = self.grammar;
        let items = match grammar.expr(part) {
            Expr::Seq(items) => items.as_ref(),
            _ => std::slice::from_ref(&part),
        };
        let mut parts = self.gather(Some(quote), items)?;
        let rest = parts.split_off(1);
        let head = match parts.pop() {
            Some(build::Part::Terminal { items, .. }) => {
                self.terminals.seq(items.into_iter().map(|(item, _)| item))
            }
            _ => quote,
        };
        let rule = match rest.as_slice() {
            [] => None,
            &[build::Part::Other(item)] => Some(self.repeated_rule(item)?),
            _ => {
                let rule = self.declare(format!("value {}", part.index()), self.temperature)?;
                let (start, end) = self.draft.ends_of(rule);
                self.lay(&rest, start, end)?;
                Some(rule)
            }
        };
        let value = MemberValue { head: Some(head), rule };
        self.values.insert(key, value);
        Ok(value)
    }
}
