//! `dependentSchemas`, and `dependencies` of older drafts, which has both a list of keys and a schema: with a key, the
//! whole object is of a schema.

use std::rc::Rc;

use super::super::documents::{Json, Step};
use super::super::expand::{Expander, Schema};
use super::super::report::Outcome;
use super::super::values::ValueSet;
use super::super::values::objects::ObjectShape;
use super::{dependent_required, read};
use crate::error::Result;

pub(super) fn apply(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    for name in read::object(value)?.keys() {
        depend(expander, schema, &["dependentSchemas", name], set)?;
    }
    Ok(())
}

pub(super) fn apply_dependencies(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    for (name, dependency) in read::object(value)?.iter() {
        match dependency {
            Json::Array(_) => dependent_required::require(name, &read::strings(dependency)?, set),
            Json::String(other) => dependent_required::require(name, &[other], set),
            _ => depend(expander, schema, &["dependencies", name], set)?,
        }
    }
    Ok(())
}

/// Either the key is not there, or it is and the schema holds.
fn depend(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    path: &[&str; 2],
    set: &mut ValueSet,
) -> Result<()> {
    // Each schema splits the set in two, and one that only asks for keys need not.
    let dependency = schema.json.get(path[0]).and_then(|all| all.get(path[1]));
    if let Some(Json::Object(members)) = dependency
        && let Some(keys @ Json::Array(_)) = members.get("required")
        && members.iter().all(|(name, _)| name == "required" || !super::says(name))
    {
        dependent_required::require(path[1], &read::strings(keys)?, set);
        let way = [Step::Key(path[0]), Step::Key(path[1])];
        if let Some(child) = expander.documents.descend(schema.at.schema, &way) {
            let at = expander.documents.locate(child, schema.at.scope)?;
            expander.note(at, "required", Outcome::Exact, "");
        }
        return Ok(());
    }
    let name: Rc<str> = Rc::from(path[1]);
    let formula = expander.child_at(schema, path[0], path[1])?;
    let dependent = expander.expand(formula)?;
    let mut union = ValueSet::any();
    union.objects = vec![ObjectShape::without(&name, &mut expander.algebra)];
    for shape in &dependent.objects {
        let mut shape = shape.clone();
        shape.require(&name);
        union.objects.push(shape);
    }
    expander.narrow_to(set, &union)
}
