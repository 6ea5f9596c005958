//! `tag`: a begin, a content, an end.
//!
//! Free text in the content ends at the first end. With several ends the text before each may differ, since one may
//! begin within the text and end within another; so the content is lowered for each, and ends before which it came out
//! the same share it.

use super::super::fields::Fields;
use super::super::lowering::{Context, Lowered, Lowering};
use super::super::path::Path;
use crate::error::{Error, Result};
use crate::frontends::json_schema::documents::Json;
use crate::ir::{ExprId, TokenSet};

/// What a tag begins with.
#[derive(Clone, Debug)]
pub(in super::super) enum Begin {
    Text(Box<str>),
    Token(u32),
}

/// A tag, its begin apart.
#[derive(Clone, Debug)]
pub(in super::super) struct Tag {
    pub(super) begin: Begin,
    /// The content and the end.
    pub(super) rest: ExprId,
}

impl Tag {
    /// The whole tag.
    pub(super) fn expr(&self, lowering: &mut Lowering<'_>) -> ExprId {
        let begin = match &self.begin {
            Begin::Text(text) => lowering.shared.builder.marker(text),
            Begin::Token(token) => lowering.shared.builder.token(TokenSet::new(vec![*token], false)),
        };
        lowering.shared.builder.seq([begin, self.rest])
    }
}

/// What ends a tag.
enum End {
    Texts(Vec<Box<str>>),
    Token(u32),
}

pub(super) fn lower(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
) -> Result<Lowered> {
    let tag = read(lowering, fields, context)?;
    Ok(Lowered::closed(tag.expr(lowering)))
}

/// The tag that stands at `path`; nothing else may.
pub(super) fn at(
    lowering: &mut Lowering<'_>,
    json: &Json<'_>,
    path: &Path<'_>,
    context: Context<'_>,
) -> Result<Tag> {
    let Some(object) = json.as_object() else {
        return Err(path.invalid(format!("a tag is an object, not {}", json.type_name())));
    };
    let fields = Fields { object, path };
    if super::find(&fields)?.name != "tag" {
        return Err(path.invalid("only formats of type \"tag\" can stand here"));
    }
    read(lowering, &fields, context)
}

fn read(lowering: &mut Lowering<'_>, fields: &Fields<'_, '_>, context: Context<'_>) -> Result<Tag> {
    let key = std::ptr::from_ref(fields.object).cast();
    if let Some(known) = lowering.tags.get(&key) {
        return Ok(known.clone());
    }
    let begin = match fields.need("begin")? {
        Json::String(text) => Begin::Text((&**text).into()),
        other => Begin::Token(token_format(lowering, fields, "begin", other)?),
    };
    let rest = match end(lowering, fields)? {
        End::Token(token) => {
            let inside = lowering
                .child(fields, "content", context.in_tag(&[], "", Some(token)))
                .map_err(|error| named(error, &begin))?;
            let end = lowering.shared.builder.token(TokenSet::new(vec![token], false));
            lowering.shared.builder.seq([inside.expr, end])
        }
        End::Texts(ends) => up_to(lowering, fields, context, &ends).map_err(|error| named(error, &begin))?,
    };
    let tag = Tag { begin, rest };
    lowering.tags.insert(key, tag.clone());
    Ok(tag)
}

/// An error in a schema of a tag, with what the tag begins with: where there are many tools, that names the one.
fn named(error: Error, begin: &Begin) -> Error {
    let Begin::Text(begin) = begin else { return error };
    if begin.is_empty() || !error.message().starts_with("the schema") {
        return error;
    }
    let message = format!("in the tag that begins with {begin:?}, {}", error.message());
    let told = Error::new(error.kind(), message).at(error.place().clone());
    match error.help() {
        Some(help) => told.with_help(help),
        None => told,
    }
}

/// The content up to any one of `ends`, and that end.
fn up_to(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    context: Context<'_>,
    ends: &[Box<str>],
) -> Result<ExprId> {
    let strings: Vec<Box<str>> = ends.iter().filter(|end| !end.is_empty()).cloned().collect();
    let mut groups: Vec<(ExprId, Vec<ExprId>)> = Vec::new();
    for end in ends {
        let inside = lowering.child(fields, "content", context.in_tag(&strings, end, None))?;
        if inside.open && strings.is_empty() {
            return Err(fields
                .path
                .key("end")
                .invalid("the content ends with free text, so that the tag needs an `end` that is not empty")
                .with_help("give an `end`, or say in `excludes` what the text may not hold"));
        }
        let end = lowering.shared.builder.marker(end);
        match groups.iter_mut().find(|(known, _)| *known == inside.expr) {
            Some((_, ends)) => ends.push(end),
            None => groups.push((inside.expr, vec![end])),
        }
    }
    let mut alternatives = Vec::with_capacity(groups.len());
    for (inside, ends) in groups {
        let end = lowering.shared.builder.alt(ends);
        alternatives.push(lowering.shared.builder.seq([inside, end]));
    }
    Ok(lowering.shared.builder.alt(alternatives))
}

fn end(lowering: &mut Lowering<'_>, fields: &Fields<'_, '_>) -> Result<End> {
    match fields.need("end")? {
        Json::String(text) => Ok(End::Texts(vec![(&**text).into()])),
        Json::Array(items) if items.is_empty() => {
            Err(fields.path.key("end").invalid("`end` needs at least one string"))
        }
        Json::Array(items) => {
            let path = fields.path.key("end");
            let read = |(at, item): (usize, &Json<'_>)| match item {
                Json::String(text) => Ok((&**text).into()),
                other => {
                    let message = format!("`end` is a list of strings, not of {}", other.type_name());
                    Err(path.index(at).invalid(message))
                }
            };
            items.iter().enumerate().map(read).collect::<Result<_>>().map(End::Texts)
        }
        other => token_format(lowering, fields, "end", other).map(End::Token),
    }
}

/// The token of a format of type `token` where a string could stand too.
fn token_format(
    lowering: &mut Lowering<'_>,
    fields: &Fields<'_, '_>,
    key: &str,
    json: &Json<'_>,
) -> Result<u32> {
    let path = fields.path.key(key);
    let Some(object) = json.as_object() else {
        return Err(fields.wrong(key, "a string or a format of type \"token\"", json));
    };
    let fields = Fields { object, path: &path };
    if super::find(&fields)?.name != "token" {
        return Err(path.invalid(format!("`{key}` must be a string or a format of type \"token\"")));
    }
    lowering.token(fields.need("token")?, &path.key("token"))
}
