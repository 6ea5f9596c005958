//! Macro calls: their arguments, and what each of them becomes.
//!
//! | macro | what it matches |
//! |---|---|
//! | `Regex("p", json_string=false, flags="ismxuv")` | the whole of the pattern |
//! | `Substring("a", "b", ...)` | any run of neighbouring chunks, the empty one too |
//! | `TagDispatch(("tag", rule), ..., loop_after_dispatch=true, excludes=("s",), before="t", markers=false)` | free text with tags, in which nothing begins that would end in `t` |
//! | `Token(id, "text", ...)`, `ExcludeToken(id, "text", ...)` | one token of these, or of the others |
//! | `TokenTagDispatch((id, rule), ..., loop_after_dispatch=true, excludes=(id,))` | free tokens with tags |
//! | `FreeText("s", ..., before="t")` | text that holds none of the strings, not even one that would end in `t` |
//! | `Bytes("\u00ff")` | bytes: the code points up to U+00FF stand for one byte each |
//! | `AnyToken()` | any one token |
//! | `TokensSpent()` | nothing, where a rule around it has had its `max_tokens` |
//! | `Marker("text")` | the text, in which special tokens may stand for theirs; tags of `TagDispatch` with `markers=true` too |
//! | `Format("date-time")` | the texts of a format of JSON Schema |
//! | `Members(("key", required, value), ..., separator=",", ...)` | a list with conditions, see `members` |
//! | `JsonText(e, "any")` | the JSON spellings of the texts of `e`, any expression: what may stand between quotes; with the escapes `"any"` (or nothing), `"canonical"` or `"least"` |
//! | `AtMost(e, 9)` | the texts of `e` with at most so many code points |
//!
//! From `FreeText` on they are our own, for what the printer could not say otherwise. Their names are free for rules. The
//! first argument of the last two is an expression and no value, so it is the parser that reads it, as a group.

use std::borrow::Cow;
use std::sync::Arc;

use super::lexer::TokenKind;
use super::parser::Parser;
use super::suggest;
use crate::error::{Error, Place, Result};
use crate::frontends::json_schema::formats;
use crate::frontends::json_schema::values::numbers;
use crate::frontends::regex;
use crate::ir::{Automaton, ExprId, RuleId, TagDispatch, TokenSet, TokenTagDispatch, quoted};
use crate::regular::{self, CharSet, FreeText};

/// The macros whose arguments are values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Macro {
    Regex,
    Substring,
    TagDispatch,
    Token,
    ExcludeToken,
    TokenTagDispatch,
    FreeText,
    Bytes,
    AnyToken,
    TokensSpent,
    Marker,
    Decimals,
    Format,
    Members,
}

impl Macro {
    const ALL: [(&'static str, Macro); 14] = [
        ("Regex", Macro::Regex),
        ("Substring", Macro::Substring),
        ("TagDispatch", Macro::TagDispatch),
        ("Token", Macro::Token),
        ("ExcludeToken", Macro::ExcludeToken),
        ("TokenTagDispatch", Macro::TokenTagDispatch),
        ("FreeText", Macro::FreeText),
        ("Bytes", Macro::Bytes),
        ("AnyToken", Macro::AnyToken),
        ("TokensSpent", Macro::TokensSpent),
        ("Marker", Macro::Marker),
        ("Decimals", Macro::Decimals),
        ("Format", Macro::Format),
        ("Members", Macro::Members),
    ];

    pub(super) fn find(name: &str) -> Option<Macro> {
        Self::ALL.iter().find(|(other, _)| *other == name).map(|&(_, found)| found)
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|&&(_, other)| other == self).map_or("", |&(name, _)| name)
    }

    /// Whether no rule may have the name.
    pub(super) fn is_reserved(self) -> bool {
        !matches!(
            self,
            Macro::FreeText
                | Macro::Bytes
                | Macro::AnyToken
                | Macro::TokensSpent
                | Macro::Marker
                | Macro::Decimals
                | Macro::Format
                | Macro::Members
        )
    }

    /// Whether it may stand in a lookahead.
    pub(super) fn fits_lookahead(self) -> bool {
        matches!(self, Macro::Token | Macro::ExcludeToken | Macro::AnyToken | Macro::Bytes)
    }

    /// The arguments that are given by name.
    fn named_arguments(self) -> &'static [&'static str] {
        match self {
            Macro::Regex => &["json_string", "flags"],
            Macro::TagDispatch => &["loop_after_dispatch", "excludes", "before", "markers"],
            Macro::TokenTagDispatch => &["loop_after_dispatch", "excludes"],
            Macro::FreeText => &["before"],
            Macro::Decimals => &["points"],
            Macro::Members => &["order", "separator", "counters", "implies", "others", "unique", "escapes"],
            _ => &[],
        }
    }
}

/// How deep tuples may nest; three is the most that any macro takes.
const DEEPEST_TUPLE: usize = 4;

/// An argument and where it begins.
pub(super) struct Argument<'s> {
    pub(super) value: Value<'s>,
    pub(super) at: usize,
}

pub(super) enum Value<'s> {
    Text(Cow<'s, str>),
    Integer(i64),
    Boolean(bool),
    Name(&'s str),
    Tuple(Vec<Argument<'s>>),
}

/// The arguments of one call.
pub(super) struct Call<'p, 's> {
    pub(super) parser: &'p mut Parser<'s>,
    called: Macro,
    pub(super) at: usize,
    pub(super) positional: Vec<Argument<'s>>,
    named: Vec<(&'s str, Argument<'s>)>,
}

/// Reads the arguments of `called`, whose name was at `at`, and gives what it becomes.
pub(super) fn call(parser: &mut Parser<'_>, called: Macro, at: usize) -> Result<ExprId> {
    if !matches!(parser.peek(), TokenKind::Open) {
        return Err(parser.expected(&format!("`(` after the macro `{}`", called.name())));
    }
    parser.bump()?;
    let mut call = Call { parser, called, at, positional: Vec::new(), named: Vec::new() };
    call.read_arguments()?;
    match called {
        Macro::Regex => call.regex(),
        Macro::Substring => call.substring(),
        Macro::TagDispatch => call.tag_dispatch(),
        Macro::Token => call.tokens(false),
        Macro::ExcludeToken => call.tokens(true),
        Macro::TokenTagDispatch => call.token_tag_dispatch(),
        Macro::FreeText => call.free_text(),
        Macro::Bytes => call.bytes(),
        Macro::AnyToken => call.any_token(),
        Macro::TokensSpent => call.tokens_spent(),
        Macro::Marker => call.marker(),
        Macro::Decimals => call.decimals(),
        Macro::Format => call.format(),
        Macro::Members => call.members(),
    }
}

fn read_value<'s>(parser: &mut Parser<'s>, depth: usize) -> Result<Argument<'s>> {
    if !matches!(
        parser.peek(),
        TokenKind::Literal(_)
            | TokenKind::Integer(_)
            | TokenKind::Boolean(_)
            | TokenKind::Name(_)
            | TokenKind::Open
    ) {
        return Err(parser.expected("a string, a number, `true`, `false`, a name or a tuple"));
    }
    let token = parser.bump()?;
    let value = match token.kind {
        TokenKind::Literal(text) => Value::Text(text),
        TokenKind::Integer(value) => Value::Integer(value),
        TokenKind::Boolean(value) => Value::Boolean(value),
        TokenKind::Name(name) => Value::Name(name),
        _ if depth >= DEEPEST_TUPLE => {
            return Err(Error::syntax(parser.source, token.at, "tuples do not nest this deep"));
        }
        _ => Value::Tuple(read_tuple(parser, depth + 1)?),
    };
    Ok(Argument { value, at: token.at })
}

fn read_tuple<'s>(parser: &mut Parser<'s>, depth: usize) -> Result<Vec<Argument<'s>>> {
    let mut items = Vec::new();
    while !matches!(parser.peek(), TokenKind::Close) {
        items.push(read_value(parser, depth)?);
        match parser.peek() {
            TokenKind::Comma => drop(parser.bump()?),
            TokenKind::Close => {}
            _ => return Err(parser.expected("`,` or `)`")),
        }
    }
    parser.bump()?;
    Ok(items)
}

impl<'s> Call<'_, 's> {
    /// Reads everything up to the closing parenthesis. A comma at the end is an error here, unlike in a tuple.
    fn read_arguments(&mut self) -> Result<()> {
        if matches!(self.parser.peek(), TokenKind::Close) {
            self.parser.bump()?;
            return Ok(());
        }
        loop {
            let argument = read_value(self.parser, 0)?;
            match (&argument.value, self.parser.peek()) {
                (&Value::Name(name), TokenKind::Equals) => {
                    self.parser.bump()?;
                    self.check_name(name, argument.at)?;
                    let value = read_value(self.parser, 0)?;
                    self.named.push((name, value));
                }
                _ => self.positional.push(argument),
            }
            match self.parser.peek() {
                TokenKind::Comma => drop(self.parser.bump()?),
                TokenKind::Close => break,
                _ => return Err(self.parser.expected("`,` or `)`")),
            }
        }
        self.parser.bump()?;
        Ok(())
    }

    fn check_name(&self, name: &str, at: usize) -> Result<()> {
        let known = self.called.named_arguments();
        let called = self.called.name();
        if self.named.iter().any(|(other, _)| *other == name) {
            return self.refuse(at, format!("the argument `{name}` is given twice"));
        }
        if known.contains(&name) {
            return Ok(());
        }
        let error =
            Error::syntax(self.parser.source, at, format!("`{called}` has no argument named `{name}`"));
        Err(match suggest::nearest(name, known.iter().copied()) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None if known.is_empty() => error,
            None => error.with_help(format!("its named arguments are {}", known.join(", "))),
        })
    }

    pub(super) fn refuse<T>(&self, at: usize, message: impl Into<String>) -> Result<T> {
        Err(Error::syntax(self.parser.source, at, message))
    }

    pub(super) fn take_named(&mut self, name: &str) -> Option<Argument<'s>> {
        let at = self.named.iter().position(|(other, _)| *other == name)?;
        Some(self.named.swap_remove(at).1)
    }

    pub(super) fn flag(&mut self, name: &str, default: bool) -> Result<bool> {
        match self.take_named(name) {
            None => Ok(default),
            Some(Argument { value: Value::Boolean(value), .. }) => Ok(value),
            Some(other) => self.refuse(other.at, format!("`{name}` is `true` or `false`")),
        }
    }

    pub(super) fn text(&self, argument: Argument<'s>, what: &str) -> Result<Cow<'s, str>> {
        match argument.value {
            Value::Text(text) => Ok(text),
            _ => self.refuse(argument.at, format!("{what} must be a string")),
        }
    }

    fn texts(&mut self, what: &str) -> Result<Vec<Cow<'s, str>>> {
        let arguments = std::mem::take(&mut self.positional);
        arguments.into_iter().map(|argument| self.text(argument, what)).collect()
    }

    /// A token, by its id or by its text.
    fn token_id(&self, argument: &Argument<'s>) -> Result<u32> {
        let id = match &argument.value {
            Value::Integer(id) => u32::try_from(*id).ok(),
            Value::Text(text) => return self.parser.find_token(text, argument.at),
            _ => None,
        };
        match id {
            Some(id) => Ok(id),
            None => self.refuse(
                argument.at,
                format!("a token is a number from 0 to {}, or its text in quotes", u32::MAX),
            ),
        }
    }

    /// The two parts of each tag.
    fn tags(&mut self) -> Result<Vec<(Argument<'s>, RuleId)>> {
        let mut tags = Vec::with_capacity(self.positional.len());
        for argument in std::mem::take(&mut self.positional) {
            let Value::Tuple(parts) = argument.value else {
                return self
                    .refuse(argument.at, "a tag is a pair: what to look for, and the rule that follows it");
            };
            let Ok([tag, rule]) = <[Argument<'s>; 2]>::try_from(parts) else {
                return self
                    .refuse(argument.at, "a tag is a pair: what to look for, and the rule that follows it");
            };
            let Value::Name(name) = rule.value else {
                return self.refuse(rule.at, "the second part of a tag is the name of a rule");
            };
            tags.push((tag, self.parser.rule_id(name, rule.at)?));
        }
        Ok(tags)
    }

    fn excludes(&mut self) -> Result<Vec<Argument<'s>>> {
        match self.take_named("excludes") {
            None => Ok(Vec::new()),
            Some(Argument { value: Value::Tuple(items), .. }) => Ok(items),
            Some(other) => self.refuse(other.at, "`excludes` is a tuple, such as `(\"a\", \"b\")`"),
        }
    }

    fn regex(&mut self) -> Result<ExprId> {
        let json_string = self.flag("json_string", false)?;
        let flags = self.take_named("flags");
        let mut patterns = self.texts("a pattern")?;
        let (Some(pattern), true) = (patterns.pop(), patterns.is_empty()) else {
            return self.refuse(self.at, "`Regex` takes exactly one pattern");
        };
        let syntax = self.regex_syntax(flags)?;
        let Parser { builder, budget, source, .. } = &mut *self.parser;
        let place = || Place::in_text(source, self.at);
        let body = regex::parse(&pattern, &syntax, builder, budget)
            .map_err(|error| error.without_place("in the pattern").at(place()))?;
        if !json_string {
            return Ok(body);
        }
        let special = CharSet::new([('\0', '\x1f'), ('"', '"'), ('\\', '\\')]);
        let plain = builder.class(special.complement());
        let plain = builder.repeat(plain, 0, None);
        Ok(builder.and([body, plain]))
    }

    /// Without `flags` a dot matches line breaks too; with it, exactly what it says holds.
    fn regex_syntax(&self, flags: Option<Argument<'s>>) -> Result<regex::Syntax> {
        let Some(argument) = flags else {
            return Ok(regex::Syntax::whole());
        };
        let place = Place::in_text(self.parser.source, argument.at);
        let letters = self.text(argument, "`flags`")?;
        let flags = regex::Flags::from_letters(&letters).map_err(|error| error.at(place))?;
        Ok(regex::Syntax::whole().with_flags(flags))
    }

    fn automaton(&mut self, source: String, dfa: regular::Dfa) -> ExprId {
        self.parser.builder.automaton(Automaton { source: source.into(), dfa: Arc::new(dfa).into() })
    }

    fn substring(&mut self) -> Result<ExprId> {
        let mut chunks = self.texts("a chunk")?;
        chunks.retain(|chunk| !chunk.is_empty());
        if chunks.is_empty() {
            return Ok(self.parser.builder.empty());
        }
        let place = Place::in_text(self.parser.source, self.at);
        let dfa = regular::substring(&chunks, self.parser.budget).map_err(|error| error.at(place))?;
        let listed: Vec<String> = chunks.iter().map(|chunk| quoted(chunk)).collect();
        Ok(self.automaton(format!("Substring({})", listed.join(", ")), dfa))
    }

    fn free_text(&mut self) -> Result<ExprId> {
        let before = self.before()?;
        let strings = self.texts("a string that the text may not hold")?;
        if strings.iter().any(|string| string.is_empty()) {
            return self.refuse(self.at, "every text holds the empty string");
        }
        let place = Place::in_text(self.parser.source, self.at);
        let budget = self.parser.budget;
        let free = regular::FreeText::new(&strings, budget).map_err(|error| error.at(place.clone()))?;
        let dfa = free.spoiled_by(&before, budget).and_then(|spoiled| free.dfa(&spoiled, budget));
        let dfa = dfa.map_err(|error| error.at(place))?;
        let source = free.source(&before);
        Ok(self.automaton(source, dfa))
    }

    /// What follows the text.
    fn before(&mut self) -> Result<Cow<'s, str>> {
        match self.take_named("before") {
            None => Ok(Cow::Borrowed("")),
            Some(argument) => self.text(argument, "`before`"),
        }
    }

    fn tag_dispatch(&mut self) -> Result<ExprId> {
        let before = self.before()?.into();
        let repeats = self.flag("loop_after_dispatch", true)?;
        let markers = self.flag("markers", false)?;
        let mut excludes: Vec<Box<str>> = Vec::new();
        for argument in self.excludes()? {
            let at = argument.at;
            let text = self.text(argument, "an excluded string")?;
            if text.is_empty() {
                return self.refuse(at, "an excluded string is empty");
            }
            excludes.push(text.into());
        }
        let forbidden = FreeText::new(&excludes, self.parser.budget)?;
        let mut tags: Vec<(Box<str>, RuleId)> = Vec::new();
        for (argument, rule) in self.tags()? {
            let at = argument.at;
            let tag = self.text(argument, "a tag")?;
            if tag.is_empty() {
                return self.refuse(at, "a tag is empty");
            }
            if let Some(exclude) = forbidden.held_by(&tag) {
                let how = if tag.starts_with(exclude) { "is a prefix of" } else { "lies in" };
                let message = format!(
                    "the excluded string {exclude:?} {how} the tag {tag:?}, which could never be written"
                );
                return self.refuse(at, message);
            }
            tags.push((tag.into(), rule));
        }
        Ok(self.parser.builder.tag_dispatch(TagDispatch { tags, repeats, excludes, before, markers }))
    }

    fn tokens(&mut self, negated: bool) -> Result<ExprId> {
        let ids =
            self.positional.iter().map(|argument| self.token_id(argument)).collect::<Result<Vec<u32>>>()?;
        if ids.is_empty() {
            return self.refuse(self.at, format!("`{}` needs at least one token", self.called.name()));
        }
        Ok(self.parser.builder.token(TokenSet::new(ids, negated)))
    }

    fn marker(&mut self) -> Result<ExprId> {
        let mut texts = self.texts("a marker")?;
        match (texts.pop(), texts.is_empty()) {
            (Some(text), true) => Ok(self.parser.builder.marker(&text)),
            _ => self.refuse(self.at, "`Marker` takes exactly one text"),
        }
    }

    fn any_token(&mut self) -> Result<ExprId> {
        if let Some(argument) = self.positional.first() {
            return self.refuse(argument.at, "`AnyToken` takes no arguments");
        }
        Ok(self.parser.builder.token(TokenSet::new(Vec::new(), true)))
    }

    fn tokens_spent(&mut self) -> Result<ExprId> {
        if let Some(argument) = self.positional.first() {
            return self.refuse(argument.at, "`TokensSpent` takes no arguments");
        }
        Ok(self.parser.builder.token(TokenSet::spent()))
    }

    fn decimals(&mut self) -> Result<ExprId> {
        let points = self.flag("points", true)?;
        let mut texts = self.texts("the description of the numbers")?;
        let (Some(text), true) = (texts.pop(), texts.is_empty()) else {
            return self.refuse(self.at, "`Decimals` takes exactly one description of numbers");
        };
        let place = Place::in_text(self.parser.source, self.at);
        let automaton =
            numbers::decimals(&text, points, self.parser.budget).map_err(|error| error.at(place))?;
        Ok(self.parser.builder.automaton(automaton))
    }

    fn format(&mut self) -> Result<ExprId> {
        let mut names = self.texts("the name of a format")?;
        let (Some(name), true) = (names.pop(), names.is_empty()) else {
            return self.refuse(self.at, "`Format` takes exactly one name");
        };
        let Parser { builder, budget, source, .. } = &mut *self.parser;
        let place = || Place::in_text(source, self.at);
        if let Some(language) = formats::language(&name, builder, budget) {
            return language.map_err(|error| error.at(place()));
        }
        let error = Error::syntax(source, self.at, format!("there is no format named {name:?}"));
        Err(match suggest::nearest(&name, formats::names()) {
            Some(near) => error.with_help(format!("did you mean {near:?}?")),
            None => error,
        })
    }

    fn token_tag_dispatch(&mut self) -> Result<ExprId> {
        let repeats = self.flag("loop_after_dispatch", true)?;
        let mut excludes = Vec::new();
        for argument in self.excludes()? {
            excludes.push(self.token_id(&argument)?);
        }
        let forbidden: hashbrown::HashSet<u32> = excludes.iter().copied().collect();
        let mut tags = Vec::new();
        for (argument, rule) in self.tags()? {
            let id = self.token_id(&argument)?;
            if forbidden.contains(&id) {
                return self.refuse(argument.at, format!("the token {id} is both a tag and excluded"));
            }
            tags.push((id, rule));
        }
        Ok(self.parser.builder.token_tag_dispatch(TokenTagDispatch { tags, repeats, excludes }))
    }

    fn bytes(&mut self) -> Result<ExprId> {
        let texts = self.texts("what stands for bytes")?;
        let bytes: Result<Vec<u8>, _> =
            texts.iter().flat_map(|text| text.chars()).map(u8::try_from).collect();
        match bytes {
            Ok(bytes) => Ok(self.parser.builder.bytes(bytes)),
            Err(_) => self.refuse(self.at, "in `Bytes` no code point stands for a byte beyond U+00FF"),
        }
    }
}
