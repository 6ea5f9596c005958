//! Keywords and schemas that are relaxed: a question leaves out what they ask for.
//!
//! A set with something relaxed has all the values that it has otherwise, and more. So what a keyword does for others
//! stays: `properties` goes on listing its keys, and what is evaluated counts as such. Where nobody can tell what that
//! would have been, the set is left open.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::super::documents::Json;
use super::super::expand::Expander;
use super::super::values::ValueSet;
use super::super::values::keys::{KeyList, Keys, NameSet};
use super::parts::{Child, Kind, Part};

/// What is relaxed: values of keywords, and schemas in them, by address. The documents are borrowed, so no value moves.
#[derive(Clone, Debug, Default)]
pub struct Relaxed(FxHashSet<usize>);

impl Relaxed {
    /// Whether the value of a keyword, or a schema, is relaxed.
    pub fn has(&self, json: &Json<'_>) -> bool {
        self.0.contains(&std::ptr::from_ref(json).addr())
    }

    fn insert(&mut self, json: &Json<'_>) {
        self.0.insert(std::ptr::from_ref(json).addr());
    }

    /// The same with a keyword, and with the schemas in it.
    pub(super) fn with(mut self, part: &Part<'_>) -> Self {
        self.insert(part.json);
        self.with_children(&part.children)
    }

    /// The same with some schemas.
    pub(super) fn with_children(mut self, children: &[Child<'_>]) -> Self {
        children.iter().for_each(|child| self.insert(child.json));
        self
    }
}

/// Whether a keyword of a set is left out, because it is relaxed. Then the set is as open as it might have been with it.
pub(in super::super) fn relax(
    expander: &Expander<'_>,
    keyword: &str,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> bool {
    if !expander.is_relaxed(value) {
        return false;
    }
    match Kind::of(keyword) {
        Kind::Same | Kind::Branches if says_nothing_of_others(value) => {}
        Kind::Same | Kind::Branches => open(set),
        Kind::Container => {
            leave_others_open(set);
            return false;
        }
        Kind::Required if expander.options.strict_mode => keep_names(value, set),
        Kind::Required | Kind::Key | Kind::Plain => {}
    }
    true
}

/// Whether nothing in the value of a keyword can have evaluated, listed or closed anything.
fn says_nothing_of_others(value: &Json<'_>) -> bool {
    let mut open = vec![value];
    while let Some(json) = open.pop() {
        match json {
            Json::Array(items) => open.extend(items.iter()),
            Json::Object(members) => {
                if members.keys().any(speaks_of_parts) {
                    return false;
                }
                open.extend(members.iter().map(|(_, json)| json));
            }
            // A reference: who knows.
            Json::String(text) if text.contains('#') || text.contains('/') => return false,
            _ => {}
        }
    }
    true
}

/// Whether a keyword says something of the members or items of a value, or refers to what may.
fn speaks_of_parts(keyword: &str) -> bool {
    keyword.starts_with('$')
        || matches!(Kind::of(keyword), Kind::Container | Kind::Key | Kind::Required)
        || matches!(keyword, "dependencies" | "dependentRequired" | "enum" | "const")
}

/// Leaves a set open: all that it has may have been evaluated, and nothing is closed.
pub(in super::super) fn open(set: &mut ValueSet) {
    leave_others_open(set);
    set.objects.iter_mut().for_each(|shape| shape.evaluated.push(Keys::all()));
    set.arrays.iter_mut().for_each(|shape| shape.evaluated.all = true);
}

/// Strict mode closes nothing.
fn leave_others_open(set: &mut ValueSet) {
    set.objects.iter_mut().for_each(|shape| shape.openness.says_others = true);
    set.arrays.iter_mut().for_each(|shape| shape.says_rest = true);
}

/// Keys that are asked for may be there, also where strict mode closes an object.
fn keep_names(required: &Json<'_>, set: &mut ValueSet) {
    let names = required.as_array().unwrap_or_default().iter().filter_map(Json::as_str);
    let names: NameSet = names.map(Rc::from).collect();
    let keys = Keys::Listed(Rc::new(KeyList { names, patterns: Vec::new() }));
    set.objects.iter_mut().for_each(|shape| shape.evaluated.push(keys.clone()));
}
