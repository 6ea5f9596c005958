//! Whether a set has a value: the twin of the grammar that tests hold beside it.
//!
//! It looks at the sets of the algebra and at nothing of what is emitted, so that a wrong answer of the grammar can be
//! blamed on one or the other.

use super::documents::{Document, Documents, Draft, Json, Object};
use super::expand::Expander;
use super::values::arrays::ArrayShape;
use super::values::formula::{Formula, FormulaId};
use super::values::numbers::Decimal;
use super::values::objects::ObjectShape;
use super::{Options, keywords};
use crate::error::Result;
use crate::ir::Builder;
use crate::limits::Budget;

/// Whether a schema admits each of some JSON texts, by its set of values. Only the schema itself, without a registry.
pub fn admits(schema: &str, instances: &[&str], options: &Options, budget: &Budget) -> Result<Vec<bool>> {
    let root = Document::parse(schema, budget)?;
    let values = instances.iter().map(|text| Document::parse(text, budget)).collect::<Result<Vec<_>>>()?;
    let mut documents = Documents::new(&root, &[], Draft::default(), budget)?;
    let start = documents.start()?;
    let mut expander = Expander::new(documents, options, Builder::new(budget.limits()), budget);
    let formula = expander.formula_of(start);
    values.iter().map(|value| value_in(&mut expander, formula, value.root())).collect()
}

fn value_in(expander: &mut Expander<'_>, formula: FormulaId, value: &Json<'_>) -> Result<bool> {
    let mut set = (*expander.expand(formula)?).clone();
    if expander.options.strict_mode {
        if let Formula::Schema(at) = expander.algebra.formulas.get(formula)
            && let Some(schema) = expander.documents.json(at.schema).as_object()
        {
            keywords::imply_types(schema, &mut set);
        }
        keywords::close(&mut set);
    }
    match value {
        Json::Null => Ok(set.null),
        Json::Bool(true) => Ok(set.truth),
        Json::Bool(false) => Ok(set.falsity),
        Json::Number(text) => Ok(set.numbers.contains(&Decimal::parse(text)?)),
        Json::String(text) => set.texts.contains(text, &mut expander.algebra.languages),
        Json::Array(items) => any(&set.arrays, |shape| array_in(expander, shape, items)),
        Json::Object(members) => any(&set.objects, |shape| object_in(expander, shape, members)),
    }
}

fn any<T>(items: impl IntoIterator<Item = T>, mut test: impl FnMut(T) -> Result<bool>) -> Result<bool> {
    for item in items {
        if test(item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn all<T>(items: impl IntoIterator<Item = T>, mut test: impl FnMut(T) -> Result<bool>) -> Result<bool> {
    Ok(!any(items, |item| test(item).map(|holds| !holds))?)
}

fn array_in(expander: &mut Expander<'_>, shape: &ArrayShape, items: &[Json<'_>]) -> Result<bool> {
    let count = items.len();
    if count < shape.min as usize || shape.max.is_some_and(|max| count > max as usize) {
        return Ok(false);
    }
    let distinct =
        items.iter().enumerate().all(|(at, item)| !items[..at].iter().any(|other| same(item, other)));
    if (shape.unique && !distinct) || (shape.repeats && distinct) {
        return Ok(false);
    }
    for contains in &shape.contains {
        let mut found = 0;
        for item in items.iter().skip(contains.from as usize) {
            found += u32::from(value_in(expander, contains.value, item)?);
        }
        if found < contains.min || contains.max.is_some_and(|max| found > max) {
            return Ok(false);
        }
    }
    all(items.iter().enumerate(), |(place, item)| value_in(expander, shape.item(place), item))
}

fn object_in(expander: &mut Expander<'_>, shape: &ObjectShape, members: &Object<'_>) -> Result<bool> {
    let count = members.len();
    let has = |name: &str| members.contains_key(name);
    let counted = count >= shape.min as usize && shape.max.is_none_or(|max| count <= max as usize);
    let required = shape.required.iter().all(|name| has(name));
    let implied = shape.implies.iter().all(|(first, second)| !has(first) || has(second));
    if !(counted && required && implied) {
        return Ok(false);
    }
    for witness in &shape.witnesses {
        let borne = any(members.iter(), |(name, value)| {
            let formula = witness.value_of(name, &mut expander.algebra)?;
            value_in(expander, formula, value)
        })?;
        if !borne {
            return Ok(false);
        }
    }
    all(members.iter(), |(name, value)| {
        let formula = shape.value_of(name, &mut expander.algebra)?;
        value_in(expander, formula, value)
    })
}

/// Whether two values are equal as JSON values.
fn same(left: &Json<'_>, right: &Json<'_>) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => match (Decimal::parse(left), Decimal::parse(right)) {
            (Ok(left), Ok(right)) => left == right,
            _ => left == right,
        },
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right.iter()).all(|(left, right)| same(left, right))
        }
        (Json::Object(left), Json::Object(right)) => {
            let matches =
                |(name, value): (&str, &Json<'_>)| right.get(name).is_some_and(|other| same(value, other));
            left.len() == right.len() && left.iter().all(matches)
        }
        _ => left == right,
    }
}
