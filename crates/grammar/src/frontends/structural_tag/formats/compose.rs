//! Formats of formats: `sequence`, `or`, `optional`, `plus`, `star`, `repeat`.

use super::super::fields::Fields;
use super::super::lowering::{Context, Lowered, Lowering};
use crate::error::Result;

/// One after the other. What ends the tag around may follow the last one only.
pub(super) fn sequence(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Lowered> {
    let elements = fields.list("elements")?;
    let path = fields.path.key("elements");
    let mut parts = Vec::with_capacity(elements.len());
    let mut open = false;
    for (at, element) in elements.iter().enumerate() {
        let here = if at + 1 == elements.len() { context } else { context.inside() };
        let lowered = lowering.format(element, &path.index(at), here)?;
        open = lowered.open;
        parts.push(lowered.expr);
    }
    Ok(Lowered { expr: lowering.shared.builder.seq(parts), open })
}

/// Any one of them.
pub(super) fn or(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Lowered> {
    let path = fields.path.key("elements");
    let mut parts = Vec::new();
    let mut open = false;
    for (at, element) in fields.list("elements")?.iter().enumerate() {
        let lowered = lowering.format(element, &path.index(at), context)?;
        open |= lowered.open;
        parts.push(lowered.expr);
    }
    Ok(Lowered { expr: lowering.shared.builder.alt(parts), open })
}

/// The content or nothing.
pub(super) fn optional(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Lowered> {
    repeated(lowering, fields, context, 0, Some(1))
}

/// The content once or more.
pub(super) fn plus(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Lowered> {
    repeated(lowering, fields, context, 1, None)
}

/// The content any number of times.
pub(super) fn star(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Lowered> {
    repeated(lowering, fields, context, 0, None)
}

/// The content `min` to `max` times; a `max` of -1 is no bound.
pub(super) fn repeat(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Lowered> {
    let min = fields.count("min")?.unwrap_or(0);
    let unbounded = fields.get("max").and_then(|max| max.as_number()) == Some("-1");
    let max = if unbounded { None } else { fields.count("max")? };
    if max.is_some_and(|max| max < min) {
        return Err(fields.path.key("max").invalid("`max` is less than `min`"));
    }
    repeated(lowering, fields, context, min, max)
}

/// The content so many times. Only the last one is followed by what follows the whole.
fn repeated(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
    min: u32,
    max: Option<u32>,
) -> Result<Lowered> {
    let last = lowering.child(fields, "content", context)?;
    if max == Some(0) {
        return Ok(Lowered::closed(lowering.shared.builder.empty()));
    }
    let inner = if context.before.is_empty() || max == Some(1) {
        last
    } else {
        lowering.child(fields, "content", context.inside())?
    };
    let builder = &mut lowering.shared.builder;
    if inner.expr == last.expr {
        return Ok(Lowered { expr: builder.repeat(last.expr, min, max), open: last.open });
    }
    let first = builder.repeat(inner.expr, min.saturating_sub(1), max.map(|max| max - 1));
    let some = builder.seq([first, last.expr]);
    let expr = if min == 0 { builder.optional(some) } else { some };
    Ok(Lowered { expr, open: last.open })
}
