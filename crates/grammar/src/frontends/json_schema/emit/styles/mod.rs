//! Values as tags: the styles in which models write the arguments of a call.
//!
//! The members of the outermost object are tags one after the other, with white space between them. A string is its
//! text as it is, up to the closing tag; everything else is JSON, or tags again in the styles that nest. What a style
//! looks like is data ([`Tags`]), a file for each family, and what it allows is the same algebra of sets as for JSON.
//!
//! - The text of a string does not hold the tag that closes it, nor what overlaps with that. Conditions of the schema
//!   (`pattern`, `maxLength`, `enum`) hold of the text without the white space around it, where the style allows any.
//! - A value that may be a string or something else may be written in both ways.
//! - Names are written as they are, but for the styles that escape them. One that holds what ends a name, or a mark of the
//!   style, is refused, as a reader would take it for another. Keys that the schema does not list are
//!   identifiers, `[a-zA-Z_][a-zA-Z0-9_]*`; that no two of them are equal is not enforced. Where a key closes its tag
//!   too, no grammar holds the two together, so only listed keys are written: a schema that asks for others is refused,
//!   and one that is silent about them (`{"type": "object"}`) has none.
//! - An object that can have no members is nothing at all, without white space; in braces it is empty braces.
//!
//! As tags need no separator and a list of members does ([`crate::ir::members`]), the last character of the closing tag
//! is taken for it.

mod cohere;
mod deepseek;
mod gemma;
mod glm;
mod kimi;
mod minimax;
mod qwen;

use std::rc::Rc;
use std::sync::{LazyLock, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::super::style::Style;
use super::super::values::ValueSet;
use super::super::values::arrays::ArrayShape;
use super::super::values::formula::FormulaId;
use super::super::values::numbers::NumberSet;
use super::super::values::objects::ObjectShape;
use super::super::values::texts::{TextSet, prefix_tree};
use super::Emitter;
use super::layout::Layout;
use super::objects::{Form, Key};
use crate::error::{Error, ErrorKind, Result};
use crate::ir::{Automaton, ExprId};
use crate::limits::Budget;
use crate::regular::CharSet;

/// The kinds of values that a tag may have to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Null,
    Boolean,
    Number,
    Array,
    Object,
}

const KINDS: [Kind; 6] = [Kind::Text, Kind::Null, Kind::Boolean, Kind::Number, Kind::Array, Kind::Object];

/// How the values below the outermost object are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nesting {
    /// As JSON.
    Json,
    /// As tags; the items of an array are tags that open so, up to the kind.
    Tags {
        /// What opens an item, up to the kind.
        item: &'static str,
        /// What closes an item.
        item_close: &'static str,
    },
    /// In braces and brackets, with commas between members; the outermost object too.
    Brackets,
}

/// What the tags of a style look like: `before_key K after_key kind after_kind V close`.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing about a style, and no two belong together"
)]
pub(super) struct Tags {
    before_key: &'static str,
    after_key: &'static str,
    /// How the kind of the value is told, empty where it is not.
    kind: fn(Kind) -> &'static str,
    after_kind: &'static str,
    /// How a whole number may be told too, where the schema says nothing of the value.
    free_integer: Option<&'static str>,
    /// What closes a tag, up to the key where the key closes it.
    close: &'static str,
    /// Whether the key and a bracket come after `close`.
    closes_with_key: bool,
    /// What stands around the text of a string.
    quote: &'static str,
    /// Characters of a key that are written otherwise.
    escapes: &'static [(char, &'static str)],
    /// Whether white space may stand between key and value tags: for styles in which a key is a tag of its own.
    space_after_key: bool,
    /// Whether white space may stand around a value.
    space_around: bool,
    /// Whether it may stand around a string, whose conditions then hold of the text without it.
    space_around_text: bool,
    /// What the text of a string may not hold.
    text_end: &'static str,
    /// What a key may not hold besides what ends it, as readers look for it.
    marks: &'static [&'static str],
    nesting: Nesting,
}

/// How families write the tokens that structure their texts: a key that holds one would be read as that token.
const TOKEN_MARKS: [&str; 4] = ["<|", "|>", "<｜", "｜>"];

fn no_kind(_: Kind) -> &'static str {
    ""
}

/// The tags of a style; JSON has none.
pub(super) fn tags(style: Style) -> Option<&'static Tags> {
    match style {
        Style::Json => None,
        Style::QwenXml => Some(&qwen::TAGS),
        Style::MinimaxXml => Some(&minimax::TAGS),
        Style::MinimaxM3Xml => Some(&minimax::M3_TAGS),
        Style::DeepseekXml => Some(&deepseek::TAGS),
        Style::DeepseekV41Xml => Some(&deepseek::V4_1_TAGS),
        Style::GlmXml => Some(&glm::TAGS),
        Style::CohereXml => Some(&cohere::TAGS),
        Style::KimiK3Xml => Some(&kimi::TAGS),
        Style::Gemma => Some(&gemma::TAGS),
    }
}

impl Tags {
    /// Whether a tag is closed by its key, so that only keys that are known can be written.
    pub(super) fn closes_with_key(&self) -> bool {
        self.closes_with_key
    }

    fn escaped(&self, key: &str) -> String {
        let mut out = String::with_capacity(key.len());
        for c in key.chars() {
            match self.escapes.iter().find(|(escaped, _)| *escaped == c) {
                Some((_, spelling)) => out.push_str(spelling),
                None => out.push(c),
            }
        }
        out
    }

    /// Fails if whoever reads the tag would take the key to end before it does, or something in it for a mark.
    fn check_key(&self, key: &str) -> Result<()> {
        let end = if self.after_key.starts_with('"') { "\"" } else { self.after_key };
        let escaped = self.escaped(key);
        let (what, role) = if format!("{escaped}{end}").find(end) != Some(escaped.len()) {
            (end, "its end")
        } else if let Some(mark) = TOKEN_MARKS.iter().chain(self.marks).find(|&&mark| escaped.contains(mark))
        {
            (*mark, "a mark")
        } else if self.closes_with_key && key.starts_with('/') {
            ("/", "a tag that closes")
        } else if self.closes_with_key && key.is_empty() {
            let message = "the key \"\" cannot be written in this style, in which a key is the name of a tag";
            return Err(Error::unsupported(message).with_help("give the property a name"));
        } else {
            return Ok(());
        };
        let message = format!(
            "the key {key:?} cannot be written in this style: {what:?} in it would be taken for {role}"
        );
        Err(Error::unsupported(message).with_help("give the property another name"))
    }
}

/// That keys without a name are asked for in a style that cannot write them.
fn unlisted_keys(what: &str) -> Error {
    let message = format!("{what} cannot be written in this style, in which a key closes its tag");
    Error::unsupported(message).with_help("list the keys in `properties`, and drop what speaks of other keys")
}

/// The language of keys that no schema names.
fn identifier(builder: &mut crate::ir::Builder) -> ExprId {
    let first = builder.class(CharSet::new([('A', 'Z'), ('_', '_'), ('a', 'z')]));
    let other = builder.class(CharSet::new([('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]));
    let others = builder.repeat(other, 0, None);
    builder.seq([first, others])
}

/// Text that holds none of `strings`, and up to the first of them. Those of one string are kept: they are the ends of the
/// styles, of which there are a few, and every request with tools needs one.
fn free_automaton(strings: &[&str], budget: &Budget) -> Result<Automaton> {
    static KNOWN: LazyLock<Mutex<FxHashMap<Box<str>, Automaton>>> = LazyLock::new(Mutex::default);
    let end = strings[0];
    let alone = strings.len() == 1;
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(automaton) = known().get(end).filter(|_| alone) {
        return Ok(automaton.clone());
    }
    let automaton = Automaton::free_text(strings, end, budget)?;
    if alone {
        known().insert(end.into(), automaton.clone());
    }
    Ok(automaton)
}

impl Emitter<'_> {
    /// The objects of a set as tags; the outermost value can be nothing else.
    pub(super) fn outermost(&mut self, set: &ValueSet, tags: &'static Tags) -> Result<ExprId> {
        if set.objects.is_empty() {
            let message =
                "the schema allows no object, and only the members of an object can be written as tags";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if tags.closes_with_key && *set == ValueSet::any() {
            return Err(unlisted_keys("a schema that allows any value"));
        }
        let padded = |text: &String| text.trim() != text;
        if let Some(text) = self.expander.options.excludes.iter().find(|text| padded(text)) {
            let message = format!(
                "the excluded string {text:?} begins or ends with white space, which may stand around values"
            );
            return Err(Error::unsupported(message));
        }
        self.objects_as_tags(&set.objects, tags)
    }

    fn objects_as_tags(&mut self, shapes: &[ObjectShape], tags: &'static Tags) -> Result<ExprId> {
        let mut alternatives = Vec::with_capacity(shapes.len());
        for shape in shapes {
            alternatives.push(self.object_as_tags(shape, tags)?);
        }
        Ok(self.builder().alt(alternatives))
    }

    /// The members of an object, one after the other.
    fn object_as_tags(&mut self, shape: &ObjectShape, tags: &'static Tags) -> Result<ExprId> {
        if tags.nesting == Nesting::Brackets {
            return self.object_in_braces(shape, tags);
        }
        let space = self.space();
        let builder = self.builder();
        let bracket = builder.bytes(">");
        let separator = builder.seq([bracket, space]);
        let (mut layout, parts) = self.members_as_tags(shape, separator, tags)?;
        let may_be_empty = shape.min == 0 && shape.required.is_empty() && shape.witnesses.is_empty();
        let can_have_members = layout.others.len() + layout.entries.len() > 0 && shape.max != Some(0);
        let builder = self.builder();
        if !can_have_members {
            return Ok(if may_be_empty { builder.empty() } else { builder.never() });
        }
        layout.counters[0].min = layout.counters[0].min.max(1);
        let members = builder.members(layout, parts.0);
        let some = builder.seq([space, members, separator]);
        Ok(if may_be_empty { builder.alt([space, some]) } else { some })
    }

    /// A member as a tag, without the bracket at its end.
    pub(super) fn member_as_tag(
        &mut self,
        key: &Key<'_>,
        value: FormulaId,
        tags: &'static Tags,
    ) -> Result<ExprId> {
        let (key, close) = match key {
            Key::Named(name) => {
                tags.check_key(name).map_err(|error| self.place(error, value))?;
                let name = self.builder().bytes(tags.escaped(name));
                (name, name)
            }
            Key::Unlisted { .. } if tags.closes_with_key => {
                return Err(unlisted_keys("a schema that asks for keys that it does not list"));
            }
            Key::Unlisted { language, names } => (self.unlisted(*language, names), *language),
        };
        let builder = self.builder();
        let close = if tags.closes_with_key { close } else { builder.empty() };
        let space = self.space();
        let mut alternatives = Vec::new();
        for (kind, content) in self.contents(value, tags)? {
            let builder = self.builder();
            let [before, after, kind, open, end] =
                [tags.before_key, tags.after_key, kind, tags.after_kind, tags.close]
                    .map(|text| builder.bytes(text));
            let gap = if tags.space_after_key { space } else { builder.empty() };
            alternatives.push(builder.seq([before, key, after, gap, kind, open, content, end, close]));
        }
        Ok(self.builder().alt(alternatives))
    }

    /// Identifiers of a language that are no names of the schema.
    fn unlisted(&mut self, language: ExprId, names: &[&str]) -> ExprId {
        let builder = self.builder();
        let any = builder.class(CharSet::any());
        let any = builder.repeat(any, 0, None);
        let mut conditions = vec![identifier(builder)];
        if language != any {
            conditions.push(language);
        }
        let mut names = names.to_vec();
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            let listed = prefix_tree(builder, &names);
            conditions.push(builder.not(listed));
        }
        builder.and(conditions)
    }

    /// What may stand in a tag, by how its kind is told.
    fn contents(&mut self, value: FormulaId, tags: &'static Tags) -> Result<Vec<(&'static str, ExprId)>> {
        if let Some(known) = self.contents.get(&value) {
            return Ok(known.clone());
        }
        let set = self.set_of(value)?;
        let mut contents: Vec<(&'static str, Vec<ExprId>)> = Vec::new();
        for kind in KINDS {
            let Some(expr) =
                self.content(kind, &set, value, tags).map_err(|error| self.place(error, value))?
            else {
                continue;
            };
            let label = (tags.kind)(kind);
            match contents.iter_mut().find(|(known, _)| *known == label) {
                Some((_, exprs)) => exprs.push(expr),
                None => contents.push((label, vec![expr])),
            }
        }
        // Its texts may be bounded by what the request excludes.
        let is_free = *set == ValueSet { texts: set.texts.clone(), ..ValueSet::any() };
        if let Some(label) = tags.free_integer.filter(|_| is_free) {
            let integers = ValueSet { numbers: NumberSet::integers(), ..ValueSet::never() };
            let expr = self.content(Kind::Number, &integers, value, tags);
            contents.extend(expr.map_err(|error| self.place(error, value))?.map(|expr| (label, vec![expr])));
        }
        let join = |(label, exprs)| (label, self.builder().alt(exprs));
        let contents: Vec<_> = contents.into_iter().map(join).collect();
        self.contents.insert(value, contents.clone());
        Ok(contents)
    }

    /// The values of one kind.
    fn content(
        &mut self,
        kind: Kind,
        set: &ValueSet,
        value: FormulaId,
        tags: &'static Tags,
    ) -> Result<Option<ExprId>> {
        let only = set.only(kind);
        if only.is_never() {
            return Ok(None);
        }
        let nests = tags.nesting != Nesting::Json;
        let expr = match kind {
            Kind::Text if set.texts.is_any() => return self.quoted_text(&set.texts, tags).map(Some),
            Kind::Text => self.quoted_text(&set.texts, tags)?,
            Kind::Array | Kind::Object if nests => {
                return self.nested(only, value, Form::Tags(tags)).map(Some);
            }
            Kind::Array | Kind::Object => self.nested(only, value, Form::Json)?,
            Kind::Null | Kind::Boolean | Kind::Number => self.scalars(&only)?,
        };
        let padded = if kind == Kind::Text { tags.space_around_text } else { tags.space_around };
        if !padded {
            return Ok(Some(expr));
        }
        let space = self.space();
        Ok(Some(self.builder().seq([space, expr, space])))
    }

    /// A rule for the containers of a set, defined later.
    fn nested(&mut self, only: ValueSet, value: FormulaId, form: Form) -> Result<ExprId> {
        self.expander.algebra.languages.budget.tick()?;
        let name = format!("value_{}", self.builder().rule_count());
        let rule = self.builder().declare(name);
        self.wait_for(rule, value, Layout::start(), Rc::new(only), form);
        Ok(self.builder().rule(rule))
    }

    /// Texts as they are, with what stands around them.
    fn quoted_text(&mut self, texts: &TextSet, tags: &Tags) -> Result<ExprId> {
        let text = self.raw_text(texts, tags)?;
        let builder = self.builder();
        let quote = builder.bytes(tags.quote);
        Ok(builder.seq([quote, text, quote]))
    }

    /// Texts as they are, up to what ends them.
    fn raw_text(&mut self, texts: &TextSet, tags: &Tags) -> Result<ExprId> {
        if let TextSet::Finite(listed) = texts {
            let excludes = &self.expander.options.excludes;
            let fits = |text: &str| {
                let whole = format!("{text}{}", tags.text_end);
                whole.find(tags.text_end) == Some(text.len())
                    && !excludes.iter().any(|other| text.contains(&**other))
            };
            let kept: Vec<&str> = listed.iter().map(|text| &**text).filter(|text| fits(text)).collect();
            return Ok(prefix_tree(&mut self.expander.algebra.languages.builder, &kept));
        }
        let free = self.free_text(tags)?;
        let languages = &mut self.expander.algebra.languages;
        let both = texts.intersect(&TextSet::of_expr(free), languages)?;
        if !texts.is_any() && both.is_empty(languages)? {
            return Ok(languages.builder.never());
        }
        both.expr(languages)
    }

    /// Any text up to what ends it.
    fn free_text(&mut self, tags: &Tags) -> Result<ExprId> {
        if let Some(known) = self.raw {
            return Ok(known);
        }
        let excludes = self.expander.options.excludes.iter().map(String::as_str);
        let strings: Vec<&str> = std::iter::once(tags.text_end).chain(excludes).collect();
        let key: Box<[Box<str>]> = strings.iter().map(|&text| text.into()).collect();
        let languages = &mut self.expander.algebra.languages;
        let free = if let Some(&known) = languages.known.free_texts.get(&key) {
            known
        } else {
            let automaton = free_automaton(&strings, languages.budget)?;
            let made = languages.builder.automaton(automaton);
            languages.known.free_texts.insert(key, made);
            made
        };
        self.raw = Some(free);
        Ok(free)
    }

    /// The items of an array, each a tag.
    fn array_as_tags(&mut self, shape: &ArrayShape, tags: &'static Tags) -> Result<ExprId> {
        if shape.unique || shape.repeats || !shape.contains.is_empty() {
            return Err(Error::unsupported("uniqueItems and contains, where the items are tags"));
        }
        let Nesting::Tags { item, item_close } = tags.nesting else {
            return self.array_in_brackets(shape, tags);
        };
        let space = self.space();
        let mut prefix = Vec::with_capacity(shape.prefix.len());
        for &formula in &shape.prefix {
            prefix.push(self.item_as_tag(formula, (item, item_close), tags)?);
        }
        let listed = prefix.len() as u32;
        let rest = self.item_as_tag(shape.rest, (item, item_close), tags)?;
        let builder = self.builder();
        let following = builder.seq([rest, space]);
        let more = shape.max.map(|max| max.saturating_sub(listed));
        let mut tail = builder.repeat(following, shape.min.saturating_sub(listed), more);
        for (place, item) in prefix.into_iter().enumerate().rev() {
            let through = builder.seq([item, space, tail]);
            tail = if (place as u32) < shape.min { through } else { builder.optional(through) };
        }
        Ok(builder.seq([space, tail]))
    }

    fn item_as_tag(
        &mut self,
        value: FormulaId,
        (open, close): (&str, &str),
        tags: &'static Tags,
    ) -> Result<ExprId> {
        let mut alternatives = Vec::new();
        for (kind, content) in self.contents(value, tags)? {
            let builder = self.builder();
            let [open, kind, after, close] =
                [open, kind, tags.after_kind, close].map(|text| builder.bytes(text));
            alternatives.push(builder.seq([open, kind, after, content, close]));
        }
        Ok(self.builder().alt(alternatives))
    }

    /// The containers of a set as tags.
    pub(super) fn containers_as_tags(&mut self, set: &ValueSet, tags: &'static Tags) -> Result<ExprId> {
        let mut alternatives = vec![self.objects_as_tags(&set.objects, tags)?];
        for shape in &set.arrays {
            alternatives.push(self.array_as_tags(shape, tags)?);
        }
        Ok(self.builder().alt(alternatives))
    }

    /// White space where it is free.
    fn space(&mut self) -> ExprId {
        self.layout.space(&mut self.expander.algebra.languages.builder)
    }
}

impl ValueSet {
    /// The values of one kind.
    fn only(&self, kind: Kind) -> ValueSet {
        let mut only = ValueSet::never();
        match kind {
            Kind::Text => only.texts = self.texts.clone(),
            Kind::Null => only.null = self.null,
            Kind::Boolean => (only.truth, only.falsity) = (self.truth, self.falsity),
            Kind::Number => {
                (only.numbers, only.digits_only) = (self.numbers.clone(), self.digits_only);
            }
            Kind::Array => only.arrays.clone_from(&self.arrays),
            Kind::Object => only.objects.clone_from(&self.objects),
        }
        only
    }
}
