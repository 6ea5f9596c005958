//! `format`: a string of a known format. An unknown format says nothing.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::report::Outcome;
use super::super::values::ValueSet;
use super::super::{Formats, formats};
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
    if let Some(note) = formats::find(name).and_then(|format| format.narrower) {
        expander.note(schema.at, "format", Outcome::Narrowed, note);
    }
    Ok(())
}
