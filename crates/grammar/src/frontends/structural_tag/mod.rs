//! Structural tags: what a model writes, as a tree of formats in JSON.
//!
//! ```text
//! {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<f="], "tags": [
//!     {"type": "tag", "begin": "<f=add>", "content": {"type": "json_schema", ...}, "end": "</f>"}]}}
//! ```
//!
//! Each format is a language, and a structural tag is put together from the languages of its formats: there are no
//! modes and nothing happens at run time that is not in the grammar. Three rules go beyond concatenation:
//!
//! 1. *Free text* (`any_text`, and the text around triggered tags) does not hold the end of the nearest tag around it.
//!    Where the end follows right after the text, its first occurrence is the end, also where it overlaps itself.
//!    Tokens have the same rule for ends that are tokens; a text knows nothing of tokens, nor tokens of texts.
//! 2. A tag whose content ends with free text must say where it ends, be it by `end` or by strings that the text may
//!    not hold.
//! 3. Of the tags behind one trigger each is told apart by what its begin has beyond the trigger.
//!
//! Where XGrammar reads an object that has no `type`, so does this: it is the first format that has these fields. A
//! field that no such format has is an error, since most of them would widen the language if they were overlooked.
//!
//! Reading order: `path` and `fields`, how JSON is read and errors are placed; `lowering`, what all formats share; `tree`,
//! many tags as one expression; `formats`, the registry and a file for each family.

mod fields;
mod formats;
mod lowering;
mod path;
mod tree;

#[cfg(test)]
mod tests;

use super::ebnf::TokenResolver;
use super::json_schema::documents::{Document, Json};
use super::json_schema::{Embedded, Spelling};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::ir::{Grammar, RuleOptions};
use crate::limits::Budget;
use lowering::{Context, Lowering};
use path::Path;

pub use formats::names as format_names;

/// What is known of the tokens of a vocabulary.
#[derive(Clone, Copy)]
pub struct Tokens<'t> {
    /// Finds a token by its text.
    pub find: &'t TokenResolver<'t>,
    /// How many there are: ids are less.
    pub count: usize,
}

/// The grammar of a structural tag, given as a JSON text; JSON values in it are written in `spelling`. Tokens that are given by their text are found by `tokens`, which
/// also says which ids there are.
///
/// What is not JSON is a syntax error; all else that is wrong is an error at a path within the tag.
///
/// ```
/// use tokenstile_grammar::frontends::{json_schema::Spelling, structural_tag};
/// use tokenstile_grammar::Budget;
/// let tag = r#"{"format": {"type": "const_string", "value": "yes"}}"#;
/// let grammar = structural_tag::parse(tag, Spelling::Any, None, &Budget::default())?;
/// assert_eq!(grammar.to_string(), "root ::= Marker(\"yes\")\n");
/// # Ok::<(), tokenstile_grammar::Error>(())
/// ```
pub fn parse(
    source: &str,
    spelling: Spelling,
    tokens: Option<Tokens<'_>>,
    budget: &Budget,
) -> Result<Grammar> {
    let document = Document::parse(source, budget)?;
    let format = format_of(document.root())?;
    let mut lowering = Lowering::new(&document, spelling, tokens, budget);
    let root = lowering.declare("root");
    let body = lowering.format(format, &Path::root("format"), Context::outermost())?;
    lowering.shared.builder.define(root, body.expr, RuleOptions::default());
    lowering.finish(root)
}

/// The schemas of a structural tag, by their JSON Pointers in it. The arguments are those of [`parse`].
pub fn schemas(
    source: &str,
    spelling: Spelling,
    tokens: Option<Tokens<'_>>,
    budget: &Budget,
) -> Result<Vec<Embedded>> {
    let document = Document::parse(source, budget)?;
    let format = format_of(document.root())?;
    let mut lowering = Lowering::new(&document, spelling, tokens, budget);
    lowering.schemas = Some(Vec::new());
    lowering.declare("root");
    lowering.format(format, &Path::root("format"), Context::outermost())?;
    Ok(lowering.schemas.unwrap_or_default())
}

/// The format of a whole structural tag.
fn format_of<'j>(root: &'j Json<'j>) -> Result<&'j Json<'j>> {
    let wrong = |message: &str| Error::new(ErrorKind::Invalid, message).at(Place::Path("$".to_owned()));
    let Some(object) = root.as_object() else {
        return Err(wrong(&format!("a structural tag is an object, not {}", root.type_name())));
    };
    match object.get("type") {
        None | Some(Json::Null) => {}
        Some(Json::String(name)) if **name == *"structural_tag" => {}
        Some(_) => {
            return Err(wrong("the `type` of a structural tag is \"structural_tag\"")
                .with_help("a format by itself goes into the field `format`"));
        }
    }
    let format = object.get("format").ok_or_else(|| wrong("a structural tag needs the field `format`"))?;
    match object.keys().find(|key| !["type", "format"].contains(key)) {
        Some(stranger) => Err(wrong(&format!("a structural tag has no field {stranger:?}"))
            .with_help("it has `type` and `format`; all else goes into the format")),
        None => Ok(format),
    }
}
