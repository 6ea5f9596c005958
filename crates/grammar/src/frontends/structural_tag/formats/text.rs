//! Texts: `const_string`, `any_text`, `regex`, `grammar`.

use super::super::fields::Fields;
use super::super::lowering::{Context, Lowered, Lowering, joined};
use crate::error::Result;
use crate::frontends::{ebnf, regex as regexes};
use crate::ir::{Expr, RuleOptions};
use crate::passes::analysis;
use crate::passes::trim::GENERATES_NOTHING;

/// Just this text.
pub(super) fn const_string(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    _: Context<'_>,
) -> Result<Lowered> {
    let value = fields.text("value")?;
    Ok(Lowered::closed(lowering.shared.builder.marker(value)))
}

/// Free text.
pub(super) fn any_text(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Lowered> {
    let excludes = fields.excludes()?;
    let (max_tokens, max_chars) = (fields.count("max_tokens")?, fields.count("max_chars")?);
    let open = excludes.is_empty();
    let strings = joined(excludes, context.ends);
    let mut expr = lowering.free_text(&strings, context.before)?;
    if let Some(most) = max_chars {
        expr = lowering.shared.builder.at_most(expr, most);
    }
    if max_tokens.is_some() {
        let rule = lowering.rule_with("text", expr, RuleOptions { max_tokens, ..RuleOptions::default() });
        expr = lowering.shared.builder.rule(rule);
    }
    Ok(Lowered { expr, open })
}

/// What a regular expression matches as a whole.
pub(super) fn regex(lowering: &mut Lowering<'_>, fields: &Fields<'_, '_>, _: Context<'_>) -> Result<Lowered> {
    let pattern = fields.text("pattern")?;
    let syntax = regexes::Syntax::default();
    let place = fields.path.key("pattern");
    let expr = regexes::parse(pattern, &syntax, &mut lowering.shared.builder, lowering.budget)
        .map_err(|error| place.within("the pattern", &error))?;
    if matches!(lowering.shared.builder.expr(expr), Expr::Never) {
        return Err(place.invalid("the pattern matches no text"));
    }
    Ok(Lowered::closed(expr))
}

/// The language of an EBNF text.
pub(super) fn grammar(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    _: Context<'_>,
) -> Result<Lowered> {
    let text = fields.text("grammar")?;
    let key = format!("ebnf {text}");
    if let Some(&known) = lowering.parts.get(&key) {
        return Ok(Lowered::closed(known));
    }
    let place = fields.path.key("grammar");
    let (tokens, budget) = (lowering.token_resolver(), lowering.budget);
    let parsed = ebnf::parse_with_tokens(text, "root", tokens, budget.limits(), budget)
        .map_err(|error| place.within("the grammar", &error))?;
    if !analysis::productive(&parsed, budget)?[parsed.rule(parsed.root()).body.index()] {
        return Err(place.invalid(GENERATES_NOTHING));
    }
    let expr = lowering.take_in(&parsed)?;
    lowering.parts.insert(key, expr);
    Ok(Lowered::closed(expr))
}
