//! `anyOf`: the union.
//!
//! Where somebody asks which keys and items were evaluated, it matters that all branches that hold have their say: a
//! value in two branches has the keys of both evaluated. The union then also has the intersections of the branches.
//!
//! A branch that is the schema itself again adds nothing: it is left out. Under `oneOf` it would contradict itself.

use std::rc::Rc;

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::tally::Tally;
use super::read;
use crate::error::{Error, ErrorKind, Result};

/// So many branches may be combined with each other.
const MAX_COMBINED: usize = 8;

pub(super) fn apply(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    unite(expander, schema, value, set, "anyOf")
}

/// The same for the branches of another keyword.
pub(super) fn unite(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
    keyword: &'static str,
) -> Result<()> {
    let mut union = ValueSet::never();
    let mut branches = Vec::new();
    // Branches of a string or a number each may be many.
    let (mut tally, mut tallied) = (Tally::default(), Vec::new());
    let count = read::list(value)?.len();
    let own = expander.formula_of(schema.at);
    for place in 0..count {
        let formula = expander.child_at(schema, keyword, place)?;
        // Whatever holds because the schema itself holds, holds because of another branch.
        if formula == own && keyword == "anyOf" && count > 1 {
            continue;
        }
        let branch = expander.expand(formula)?;
        if tally.add(&branch) {
            tallied.push(Rc::clone(&branch));
        } else {
            union = union.unite(&branch, &mut expander.algebra)?;
        }
        branches.push(branch);
    }
    match tally.any(expander.algebra.languages.budget) {
        Ok(listed) => union = union.unite(&listed, &mut expander.algebra)?,
        // One that has all the others may make simple what is not simple without it.
        Err(error) if error.kind() == ErrorKind::Limit => {
            for branch in &tallied {
                union = union.unite(branch, &mut expander.algebra)?;
            }
        }
        Err(error) => return Err(error),
    }
    if expander.combines_branches() && branches.len() > 1 {
        if branches.len() > MAX_COMBINED {
            return Err(Error::unsupported(format!(
                "more than {MAX_COMBINED} branches under unevaluatedItems or unevaluatedProperties"
            )));
        }
        for chosen in 3_u32..1 << branches.len() {
            if chosen.count_ones() < 2 {
                continue;
            }
            let mut all = ValueSet::any();
            for (at, branch) in branches.iter().enumerate() {
                if chosen & (1 << at) != 0 {
                    all = all.intersect(branch, &mut expander.algebra)?;
                }
            }
            union = union.unite(&all, &mut expander.algebra)?;
        }
    }
    expander.narrow_to(set, &union)
}
