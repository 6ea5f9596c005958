//! `dispatch`: free text in which a string switches to a format.

use hashbrown::HashSet;

use super::super::fields::Fields;
use super::super::lowering::{Context, Lowered, Lowering, joined};
use crate::error::{Error, Result};
use crate::frontends::json_schema::documents::Json;
use crate::ir::{ExprId, RuleId, TagDispatch};
use crate::regular::FreeText;

pub(super) fn dispatch(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Lowered> {
    let repeats = fields.flag("loop", true)?;
    let excludes = fields.excludes()?;
    let open = repeats && excludes.is_empty();
    let within = if repeats { context.inside() } else { context };
    let mut rules: Vec<(Box<str>, RuleId)> = Vec::new();
    let path = fields.path.key("rules");
    let mut known: HashSet<&str> = HashSet::new();
    for (at, rule) in fields.list("rules")?.iter().enumerate() {
        let place = path.index(at);
        let (pattern, format) = pair(rule, &place)?;
        let Json::String(pattern) = pattern else {
            let message = format!("the first part of a rule is a string, not {}", pattern.type_name());
            return Err(place.index(0).invalid(message));
        };
        if pattern.is_empty() {
            return Err(place.index(0).invalid("the string of a rule is empty"));
        }
        if !known.insert(&**pattern) {
            return Err(place.index(0).invalid(format!("{pattern:?} has two rules")));
        }
        let body = lowering.format(format, &place.index(1), within)?;
        let rule = lowering.rule("rule", body.expr);
        rules.push(((&**pattern).into(), rule));
    }
    let place = |at: usize, message: String| path.index(at).index(0).invalid(message);
    let expr = free_text_with(lowering, &place, context, rules, repeats, excludes)?;
    Ok(Lowered { expr, open })
}

/// The two parts of a rule.
pub(super) fn pair<'j>(
    rule: &'j Json<'j>,
    place: &super::super::path::Path<'_>,
) -> Result<(&'j Json<'j>, &'j Json<'j>)> {
    match rule.as_array() {
        Some([pattern, format]) => Ok((pattern, format)),
        _ => Err(place.invalid("a rule is a pair: what to look for, and the format that follows it")),
    }
}

/// Free text in which strings switch to rules, in what surrounds the format. `place` puts an error where the tag of that
/// number is given.
pub(super) fn free_text_with(
    lowering: &mut Lowering<'_>,
    place: &dyn Fn(usize, String) -> Error,
    context: Context<'_>,
    tags: Vec<(Box<str>, RuleId)>,
    repeats: bool,
    excludes: Vec<Box<str>>,
) -> Result<ExprId> {
    let excludes = joined(excludes, context.ends);
    check_reachable(lowering, place, &excludes, &tags)?;
    let strings: Vec<&str> = tags.iter().map(|(tag, _)| tag).chain(&excludes).map(|text| &**text).collect();
    let spoils = !context.before.is_empty()
        && !FreeText::new(&strings, lowering.budget)?.spoiled_by(context.before, lowering.budget)?.is_empty();
    let before = if spoils { context.before.into() } else { Box::default() };
    Ok(lowering.shared.builder.tag_dispatch(TagDispatch { tags, repeats, excludes, before, markers: true }))
}

/// Fails where a tag holds a string that the text may not hold: it could then never be written.
fn check_reachable(
    lowering: &Lowering<'_>,
    place: &dyn Fn(usize, String) -> Error,
    excludes: &[Box<str>],
    tags: &[(Box<str>, RuleId)],
) -> Result<()> {
    if excludes.is_empty() {
        return Ok(());
    }
    let forbidden = FreeText::new(excludes, lowering.budget)?;
    for (at, (tag, _)) in tags.iter().enumerate() {
        lowering.budget.tick()?;
        let Some(exclude) = forbidden.held_by(tag) else { continue };
        let how = if tag.starts_with(exclude) { "with which it begins" } else { "which it holds" };
        let message =
            format!("{tag:?} can never be written: the text around it may not hold {exclude:?}, {how}");
        return Err(place(at, message).with_help(
            "take it out of `excludes`, or out of the ends of the tag around this, or change the string",
        ));
    }
    Ok(())
}
