//! Objects become lists of the machine.

use std::sync::Arc;

use smallvec::smallvec;

use super::Object;
use super::lower::Lowering;
use crate::error::Result;
use crate::machine::{List, ListOthers, MemberValue, MemberValues};
use crate::members::{Conditions, KeyTree};
use crate::regular::ByteSet;

impl Lowering<'_> {
    /// Makes the list of an object, which is the next one.
    pub(super) fn make_list(&mut self, object: usize) -> Result<()> {
        self.budget.tick()?;
        let Object { entries, others, level } = &mut self.objects[object];
        let object =
            Object { entries: std::mem::take(entries), others: std::mem::take(others), level: *level };
        let separator = self.joints_at(object.level).comma;
        let keys = KeyTree::new(object.entries.iter().map(|(key, ..)| Some(&**key)), self.escapes);
        let mut key_texts = Vec::with_capacity(keys.nodes.len());
        for node in &keys.nodes {
            let text = self.builder.bytes(&*node.text);
            key_texts.push(self.builder.json_text(text, self.escapes));
        }
        let member = |value: MemberValue| -> MemberValues { smallvec![value] };
        let mut entries = Vec::with_capacity(object.entries.len());
        for &(_, _, value) in &object.entries {
            entries.push(member(self.member(value)?));
        }
        let mut others = Vec::with_capacity(object.others.len());
        for family in &object.others {
            let variants = member(MemberValue { head: None, rule: Some(self.other(family.value)?) });
            others.push(ListOthers { keys: Some(family.keys), variants });
        }
        let quote = self.builder.bytes("\"");
        let has_others = !others.is_empty();
        let required = object.entries.iter().map(|&(_, required, _)| required).collect();
        let conditions = Arc::new(Conditions::plain(self.order, required, others.len()));
        let names = object.entries.into_iter().filter(|_| has_others).map(|(key, ..)| key).collect();
        self.draft.lists.push(List {
            nullable: conditions.may_end(&conditions.start()),
            conditions,
            keys,
            key_texts: key_texts.into(),
            quote,
            separator,
            entries: entries.into(),
            others: others.into(),
            names,
            unique: has_others,
            escapes: self.escapes,
            before_keys: self.before_keys,
            after_keys: if has_others { self.after_keys } else { ByteSet::NONE },
            always_free: object.others.iter().all(|family| family.always_free),
            track: Box::default(),
        });
        Ok(())
    }
}
