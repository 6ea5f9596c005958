//! Several tags: `triggered_tags`, `tags_with_separator`.

use hashbrown::HashMap;

use super::super::fields::Fields;
use super::super::lowering::{Context, Lowered, Lowering};
use super::super::tree::tree;
use super::dispatch::free_text_with;
use super::tag::{self, Begin, Tag};
use crate::error::Result;
use crate::ir::ExprId;

/// Free text in which a trigger switches to the tags that begin with it.
pub(super) fn triggered_tags(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Lowered> {
    let triggers = fields.texts("triggers", fields.list("triggers")?)?;
    let excludes = fields.excludes()?;
    let at_least_one = fields.flag("at_least_one", false)?;
    let stop_after_first = fields.flag("stop_after_first", false)?;
    let tags = read_tags(lowering, fields, context)?;
    let by_trigger = group(fields, &triggers, &tags)?;
    let open = excludes.is_empty() && !(at_least_one && stop_after_first);
    let first = if at_least_one { Some(any_tag(lowering, &tags)) } else { None };
    if let (Some(first), true) = (first, stop_after_first) {
        return Ok(Lowered::closed(first));
    }
    let mut rules = Vec::with_capacity(triggers.len());
    for (trigger, behind) in triggers.into_iter().zip(by_trigger) {
        let branches = behind.iter().map(|&(text, rest)| (&text[trigger.len()..], rest)).collect();
        let body = tree(&mut lowering.shared.builder, branches);
        let rule = lowering.rule("tags", body);
        rules.push((trigger, rule));
    }
    let path = fields.path.key("triggers");
    let place = |at: usize, message: String| path.index(at).invalid(message);
    let text = free_text_with(lowering, &place, context, rules, !stop_after_first, excludes)?;
    let expr = match first {
        Some(first) => lowering.shared.builder.seq([first, text]),
        None => text,
    };
    Ok(Lowered { expr, open: open && !stop_after_first })
}

/// For each trigger, the tags that begin with it.
fn group<'t>(
    fields: &Fields<'_, '_>,
    triggers: &[Box<str>],
    tags: &'t [Tag],
) -> Result<Vec<Vec<(&'t str, ExprId)>>> {
    let places: HashMap<&str, usize> =
        triggers.iter().enumerate().map(|(at, trigger)| (&**trigger, at)).collect();
    if places.len() < triggers.len() {
        return Err(fields.path.key("triggers").invalid("a trigger is given twice"));
    }
    let mut lengths: Vec<usize> = triggers.iter().map(|trigger| trigger.len()).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut groups = vec![Vec::new(); triggers.len()];
    for (at, tag) in tags.iter().enumerate() {
        let path = fields.path.key("tags");
        let path = path.index(at);
        let path = path.key("begin");
        let Begin::Text(begin) = &tag.begin else {
            return Err(path
                .invalid("the tags of `triggered_tags` begin with a string")
                .with_help("tags that begin with a token go into `token_triggered_tags`"));
        };
        let mut found = lengths.iter().filter_map(|&length| places.get(begin.get(..length)?));
        match (found.next(), found.next()) {
            (Some(&trigger), None) => groups[trigger].push((&**begin, tag.rest)),
            (None, _) => return Err(path.invalid(format!("{begin:?} begins with none of the triggers"))),
            (Some(&one), Some(&other)) => {
                let (one, other) = (&triggers[one], &triggers[other]);
                let message = format!("{begin:?} begins with more than one trigger: {one:?} and {other:?}");
                return Err(path.invalid(message));
            }
        }
    }
    Ok(groups)
}

/// Tags with a separator between them, and nothing else.
pub(super) fn tags_with_separator(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Lowered> {
    let separator = fields.text("separator")?;
    let at_least_one = fields.flag("at_least_one", false)?;
    let stop_after_first = fields.flag("stop_after_first", false)?;
    let tags = read_tags(lowering, fields, context)?;
    let any = any_tag(lowering, &tags);
    let rule = lowering.rule("tags", any);
    let builder = &mut lowering.shared.builder;
    let (any, separator) = (builder.rule(rule), builder.marker(separator));
    let mut expr = any;
    if !stop_after_first {
        let next = builder.seq([separator, any]);
        let more = builder.repeat(next, 0, None);
        expr = builder.seq([any, more]);
    }
    Ok(Lowered::closed(if at_least_one { expr } else { builder.optional(expr) }))
}

/// The tags of the field `tags`.
pub(super) fn read_tags(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Vec<Tag>> {
    let path = fields.path.key("tags");
    let read = |(index, json)| tag::at(lowering, json, &path.index(index), context);
    fields.list("tags")?.iter().enumerate().map(read).collect()
}

/// Any one of the tags, as a whole.
pub(super) fn any_tag(lowering: &mut Lowering<'_>, tags: &[Tag]) -> ExprId {
    let text = |tag: &'_ Tag| matches!(tag.begin, Begin::Text(_));
    let mut alternatives: Vec<ExprId> = Vec::new();
    for tag in tags.iter().filter(|tag| !text(tag)) {
        alternatives.push(tag.expr(lowering));
    }
    let branches = tags.iter().filter_map(|tag| match &tag.begin {
        Begin::Text(begin) => Some((&**begin, tag.rest)),
        Begin::Token(_) => None,
    });
    alternatives.push(tree(&mut lowering.shared.builder, branches.collect()));
    lowering.shared.builder.alt(alternatives)
}
