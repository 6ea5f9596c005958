//! `format`: a string of a known format. An unknown format says nothing.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::report::Outcome;
use super::super::values::ValueSet;
use super::super::{Formats, Spelling, formats};
use super::read;
use crate::error::Result;

pub(super) fn apply(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let name = read::string(value)?;
    if set.texts.is_never() {
        return Ok(());
    }
    if expander.options.formats == Formats::Annotate {
        expander.note(schema.at, "format", Outcome::Annotation, "formats are annotations by request");
        return Ok(());
    }
    let Some(texts) = expander.format(name) else {
        expander.note(schema.at, "format", Outcome::Annotation, format!("{name:?} is not a known format"));
        return Ok(());
    };
    let texts = texts?;
    expander.narrow_texts(set, &texts)?;
    let is_brief = expander.options.spelling == Spelling::Canonical && formats::is_brief(name);
    let brief = is_brief.then_some(formats::BRIEF_NOTE);
    let narrower = formats::find(name).and_then(|format| format.narrower);
    let notes: Vec<&str> = narrower.into_iter().chain(brief).collect();
    if !notes.is_empty() {
        expander.note(schema.at, "format", Outcome::Narrowed, notes.join("; "));
    }
    Ok(())
}
