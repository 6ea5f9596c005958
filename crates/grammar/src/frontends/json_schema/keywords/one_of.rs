//! `oneOf`: just one of the branches.
//!
//! That is the union of each branch without the others. Branches are usually told apart by a type or by the value of a
//! key; those that have nothing in common need not be taken out of each other, so that is looked at first.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::report::Outcome;
use super::super::values::numbers::NumberSet;
use super::super::values::tally::{Counted, Tally};
use super::super::values::texts::TextSet;
use super::super::values::{self, ValueSet};
use super::{any_of, read};
use crate::error::{ErrorKind, Result};

pub(super) fn apply(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    if expander.options.coerce_one_of {
        return any_of::unite(expander, schema, value, set, "oneOf");
    }
    let mut branches = Vec::new();
    // Branches of a string or a number each may be many. They are counted, and looked at as one.
    let (mut tally, mut tallied) = (Tally::default(), Vec::new());
    let mut is_loose = false;
    for place in 0..read::list(value)?.len() {
        let formula = expander.child_at(schema, "oneOf", place)?;
        // What stands beside `oneOf` often tells its branches apart, or makes one of them impossible.
        let mut branch = (*expander.expand(formula)?).clone();
        is_loose |= expander.is_loose(formula);
        expander.narrow_to(&mut branch, set)?;
        let list = if tally.add(&branch) { &mut tallied } else { &mut branches };
        list.push((formula, branch));
    }
    if is_loose {
        // To take out more than there is would leave too little.
        expander.note(
            schema.at,
            "oneOf",
            Outcome::Widened,
            "branches that are enforced only in part may overlap",
        );
        return any_of::unite(expander, schema, value, set, "oneOf");
    }
    let counted = tally.counted(expander.algebra.languages.budget);
    let Counted { once: mut union, any: listed } = match counted {
        // One by one may be simpler than all together.
        Err(error) if error.kind() == ErrorKind::Limit => {
            branches.extend(tallied);
            Counted { once: ValueSet::never(), any: ValueSet::never() }
        }
        counted => counted?,
    };
    for (_, branch) in &branches {
        exclude(expander, &mut union, branch)?;
    }
    for (place, (formula, branch)) in branches.iter().enumerate() {
        let mut alone = branch.clone();
        exclude(expander, &mut alone, &listed)?;
        for (other_place, (other_formula, other)) in branches.iter().enumerate() {
            if place == other_place {
                continue;
            }
            if formula == other_formula {
                alone = ValueSet::never();
            } else {
                exclude(expander, &mut alone, other)?;
            }
        }
        union = union.unite(&alone, &mut expander.algebra)?;
    }
    *set = union;
    Ok(())
}

/// Takes `other` out of `alone`.
fn exclude(expander: &mut Expander<'_>, alone: &mut ValueSet, other: &ValueSet) -> Result<()> {
    let budget = expander.algebra.languages.budget;
    budget.tick()?;
    // In draft 4 whole numbers with a point may be in the other, which writes none of them.
    if other.digits_only && !alone.digits_only && alone.numbers.are_integers(budget)? {
        alone.digits_only = true;
    }
    let mut objects = std::mem::take(&mut alone.objects);
    for excluded in &other.objects {
        let mut left = Vec::new();
        for shape in &objects {
            left.extend(expander.without_object(shape, excluded)?);
            values::check_count(left.len())?;
        }
        left.dedup();
        values::absorb_objects(&mut left, &mut expander.algebra)?;
        objects = left;
    }
    exclude_others(expander, alone, &other.without_objects())?;
    alone.objects = objects;
    Ok(())
}

/// The same where there are no objects in either.
fn exclude_others(expander: &mut Expander<'_>, alone: &mut ValueSet, other: &ValueSet) -> Result<()> {
    if alone.is_never() || other.is_never() {
        return Ok(());
    }
    let mut common = alone.intersect(other, &mut expander.algebra)?;
    expander.prune(&mut common)?;
    if !expander.is_nothing(&common)? {
        let mut rest = relevant(expander, other, &common)?.complement(&mut expander.algebra)?;
        expander.prune(&mut rest)?;
        expander.narrow_to(alone, &rest)?;
    }
    Ok(())
}

/// The part of `other` that has anything to do with `common`: taking out the rest would change nothing.
fn relevant(expander: &mut Expander<'_>, other: &ValueSet, common: &ValueSet) -> Result<ValueSet> {
    let mut part = other.clone();
    if common.numbers.is_empty() {
        part.numbers = NumberSet::none();
    }
    if common.texts.is_empty(&mut expander.algebra.languages)? {
        part.texts = TextSet::never();
    }
    part.arrays.clear();
    for shape in &other.arrays {
        let alone = ValueSet { arrays: vec![shape.clone()], ..ValueSet::never() };
        let mut both = common.intersect(&alone, &mut expander.algebra)?;
        expander.prune(&mut both)?;
        if !expander.is_nothing(&both)? {
            part.arrays.push(shape.clone());
        }
    }
    Ok(part)
}
