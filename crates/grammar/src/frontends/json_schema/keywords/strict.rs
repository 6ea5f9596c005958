//! Strict mode: what a schema leaves open is closed.
//!
//! An object for which some keyword lists keys has no other keys but those that are required, and an array for which some
//! keyword lists the first items has no other items, unless a keyword says what the others are. It is as if
//! `unevaluatedProperties: false` and `unevaluatedItems: false` stood in the outermost schema of the value, so that `allOf`
//! and `$ref` go on adding keys. And a schema that speaks of keys or items without giving a type means objects or arrays.

use std::rc::Rc;

use super::super::documents::Object;
use super::super::values::ValueSet;
use super::super::values::formula::FormulaId;
use super::super::values::keys::{KeyList, Keys, NameSet};

const OBJECT_KEYWORDS: &[&str] =
    &["properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "required"];
const ARRAY_KEYWORDS: &[&str] = &["items", "prefixItems", "unevaluatedItems"];

/// Keywords that say of what type the value is, or leave it to other schemas.
const DECIDING: &[&str] = &[
    "type",
    "enum",
    "const",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
];

/// Leaves only the type that the keywords of a schema without a type speak of.
pub fn imply_types(schema: &Object<'_>, set: &mut ValueSet) {
    if DECIDING.iter().any(|name| schema.contains_key(name)) {
        return;
    }
    let speaks = |keywords: &[&str]| keywords.iter().any(|name| schema.contains_key(name));
    let (objects, arrays) = (speaks(OBJECT_KEYWORDS), speaks(ARRAY_KEYWORDS));
    if objects || arrays {
        let any = std::mem::replace(set, ValueSet::never());
        set.objects = if objects { any.objects } else { Vec::new() };
        set.arrays = if arrays { any.arrays } else { Vec::new() };
    }
}

/// Closes the shapes of a value.
pub fn close(set: &mut ValueSet) {
    for shape in &mut set.objects {
        if shape.openness.lists_names && !shape.openness.says_others {
            let asked_for = shape.required.iter().chain(shape.implies.iter().map(|(_, second)| second));
            let names: NameSet = asked_for.cloned().collect();
            let mut known = shape.evaluated.clone();
            if !names.is_empty() {
                known.push(Keys::Listed(Rc::new(KeyList { names, patterns: Vec::new() })));
            }
            shape.families.push((Keys::NoneOf(known.into()), FormulaId::NEVER));
        }
    }
    for shape in &mut set.arrays {
        if !shape.prefix.is_empty()
            && !shape.says_rest
            && shape.prefix.len() == shape.evaluated.prefix as usize
        {
            shape.rest = FormulaId::NEVER;
        }
    }
}
