//! Tokens: `token`, `exclude_token`, `any_tokens`.

use super::super::fields::Fields;
use super::super::lowering::{Context, Lowered, Lowering};
use crate::error::Result;
use crate::ir::TokenSet;

/// Just this token.
pub(super) fn token(lowering: &mut Lowering<'_>, fields: &Fields<'_, '_>, _: Context<'_>) -> Result<Lowered> {
    let token = lowering.token(fields.need("token")?, &fields.path.key("token"))?;
    Ok(Lowered::closed(lowering.shared.builder.token(TokenSet::new(vec![token], false))))
}

/// One token that is not listed, nor ends the nearest tag.
pub(super) fn exclude_token(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Lowered> {
    let mut listed = lowering.tokens(fields, "exclude_tokens", fields.list_or_none("exclude_tokens")?)?;
    listed.extend(context.end_token);
    Ok(Lowered::closed(lowering.shared.builder.token(TokenSet::new(listed, true))))
}

/// Any number of tokens that are not listed and do not end the tag around them.
pub(super) fn any_tokens(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Lowered> {
    let most = fields.count("max_tokens")?;
    let mut listed = lowering.tokens(fields, "exclude_tokens", fields.list_or_none("exclude_tokens")?)?;
    let open = listed.is_empty() && most.is_none();
    listed.extend(context.end_token);
    let one = lowering.shared.builder.token(TokenSet::new(listed, true));
    Ok(Lowered { expr: lowering.shared.builder.repeat(one, 0, most), open })
}
