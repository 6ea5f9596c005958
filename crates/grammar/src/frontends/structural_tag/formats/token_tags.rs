//! Free tokens in which a token switches to something else: `token_triggered_tags`, `token_dispatch`.

use super::super::fields::Fields;
use super::super::lowering::{Context, Lowered, Lowering};
use super::dispatch::pair;
use super::tag::Begin;
use super::tags::{any_tag, read_tags};
use crate::error::Result;
use crate::ir::{ExprId, RuleId, TokenTagDispatch};

/// Free tokens in which a token switches to the tags that begin with it.
pub(super) fn token_triggered_tags(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Lowered> {
    let triggers = lowering.tokens(fields, "trigger_tokens", fields.list("trigger_tokens")?)?;
    let excludes = lowering.tokens(fields, "exclude_tokens", fields.list_or_none("exclude_tokens")?)?;
    let at_least_one = fields.flag("at_least_one", false)?;
    let stop_after_first = fields.flag("stop_after_first", false)?;
    let tags = read_tags(lowering, fields, context)?;
    let mut behind: Vec<(u32, Vec<ExprId>)> = triggers.iter().map(|&token| (token, Vec::new())).collect();
    for (at, tag) in tags.iter().enumerate() {
        let path = fields.path.key("tags");
        let path = path.index(at);
        let path = path.key("begin");
        let Begin::Token(token) = tag.begin else {
            return Err(path.invalid("the tags of `token_triggered_tags` begin with a token"));
        };
        match behind.iter_mut().find(|(trigger, _)| *trigger == token) {
            Some((_, rests)) => rests.push(tag.rest),
            None => return Err(path.invalid(format!("the token {token} is not among `trigger_tokens`"))),
        }
    }
    let open = excludes.is_empty() && !stop_after_first;
    let first = if at_least_one { Some(any_tag(lowering, &tags)) } else { None };
    if let (Some(first), true) = (first, stop_after_first) {
        return Ok(Lowered::closed(first));
    }
    let mut rules = Vec::with_capacity(behind.len());
    for (token, rests) in behind {
        let body = lowering.shared.builder.alt(rests);
        rules.push((token, lowering.rule("tags", body)));
    }
    let free = free_tokens_with(lowering, fields, context, rules, !stop_after_first, excludes)?;
    let expr = match first {
        Some(first) => lowering.shared.builder.seq([first, free]),
        None => free,
    };
    Ok(Lowered { expr, open })
}

/// Free tokens in which a token switches to a format.
pub(super) fn token_dispatch(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Lowered> {
    let repeats = fields.flag("loop", true)?;
    let excludes = lowering.tokens(fields, "exclude_tokens", fields.list_or_none("exclude_tokens")?)?;
    let open = repeats && excludes.is_empty();
    let path = fields.path.key("rules");
    let mut rules: Vec<(u32, RuleId)> = Vec::new();
    for (at, rule) in fields.list("rules")?.iter().enumerate() {
        let place = path.index(at);
        let (token, format) = pair(rule, &place)?;
        let token = lowering.token(token, &place.index(0))?;
        if rules.iter().any(|&(known, _)| known == token) {
            return Err(place.index(0).invalid(format!("the token {token} has two rules")));
        }
        let body = lowering.format(format, &place.index(1), context.inside())?;
        rules.push((token, lowering.rule("rule", body.expr)));
    }
    let expr = free_tokens_with(lowering, fields, context, rules, repeats, excludes)?;
    Ok(Lowered { expr, open })
}

/// Free tokens in which tokens switch to rules, in what surrounds the format.
fn free_tokens_with(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
    tags: Vec<(u32, RuleId)>,
    repeats: bool,
    mut excludes: Vec<u32>,
) -> Result<ExprId> {
    excludes.extend(context.end_token);
    if let Some((token, _)) = tags.iter().find(|(token, _)| excludes.contains(token)) {
        return Err(fields.path.invalid(format!("the token {token} both switches and is excluded")));
    }
    Ok(lowering.shared.builder.token_tag_dispatch(TokenTagDispatch { tags, repeats, excludes }))
}
