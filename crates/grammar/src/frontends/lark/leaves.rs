//! What has no parts: strings, patterns, schemas, tokens, other grammars.

use std::sync::Arc;

use super::ast::{DocumentId, Node};
use super::lower::{Lowerer, Mode, Scope};
use super::{Named, guidance, parser};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::frontends::json_schema::{self, Embedded};
use crate::frontends::regex;
use crate::ir::{Automaton, ExprId, TokenSet, copy_into, quoted};
use crate::regular::{CharSet, substring};

/// In bytes; no special token has a text as short as most operators of grammars are.
const SHORTEST_MARKER: usize = 3;

impl<'s> Lowerer<'s> {
    /// The expression of a node without children.
    pub(super) fn leaf(
        &mut self,
        node: &Node<'s>,
        place: usize,
        scope: &Scope<'s>,
        mode: Mode,
    ) -> Result<ExprId> {
        let document = scope.document;
        match node {
            Node::Text { text, ignore_case: false } => Ok(self.literal(text)),
            Node::Text { text, .. } => Ok(self.folded(text)),
            Node::Range(low, high) => Ok(self.builder.class(CharSet::new([(*low, *high)]))),
            Node::Regex { pattern, flags } => self.pattern(pattern, flags, place, document),
            Node::Substring(chunks) => self.substring(chunks, place, document),
            _ if mode == Mode::Terminal => {
                let message = match node {
                    Node::Tokens(_) | Node::TokenText(_) => "a token cannot stand in a terminal",
                    _ => "a grammar cannot stand in a terminal",
                };
                Err(self.error(ErrorKind::Unsupported, document, place, message).with_help(
                    "so it is in what `&` and `~` join, and in rules with `lazy`, `suffix` or `stop`",
                ))
            }
            Node::Tokens(set) => Ok(self.builder.token(set.clone())),
            Node::TokenText(text) => {
                let ids = self.token_ids(text, place, document)?;
                Ok(self.builder.token(TokenSet::new(ids, false)))
            }
            Node::Json(schema) => self.schema(schema, place, document),
            Node::Nested(nested) => {
                let root = self.root_of(*nested)?;
                Ok(self.builder.rule(root))
            }
            Node::Named(name) => self.named_grammar(name, place, document),
            _ => unreachable!("the others have children or names"),
        }
    }

    /// A text, which may hold those of special tokens unless it is too short for any.
    fn literal(&mut self, text: &str) -> ExprId {
        if text.len() < SHORTEST_MARKER { self.builder.bytes(text) } else { self.builder.marker(text) }
    }

    /// A text in any case.
    fn folded(&mut self, text: &str) -> ExprId {
        let mut items = Vec::new();
        for c in text.chars() {
            items.push(self.builder.class(CharSet::new([(c, c)]).case_folded()));
        }
        self.builder.seq(items)
    }

    /// A terminal of the library.
    pub(super) fn library(&mut self, pattern: &str) -> Result<ExprId> {
        regex::parse(pattern, &regex::Syntax::part(), &mut self.builder, self.budget)
    }

    fn pattern(
        &mut self,
        pattern: &'s str,
        letters: &str,
        place: usize,
        document: DocumentId,
    ) -> Result<ExprId> {
        let mut syntax = regex::Syntax::part();
        for letter in letters.chars() {
            match letter {
                'i' => syntax.flags.ignore_case = true,
                's' => syntax.flags.dot_all = true,
                'x' => syntax.flags.extended = true,
                'm' => syntax.flags.multi_line = true,
                // It holds anyway.
                'u' => {}
                'l' => {
                    let message = "the flag `l` is not supported: what it matches depends on the machine";
                    return Err(self.error(ErrorKind::Unsupported, document, place, message));
                }
                _ => {
                    let message = format!("there is no flag `{letter}` of a regex");
                    return Err(self
                        .error(ErrorKind::Syntax, document, place, message)
                        .with_help("the flags are i, m, s, u and x"));
                }
            }
        }
        let parsed = regex::parse(pattern, &syntax, &mut self.builder, self.budget);
        parsed.map_err(|error| self.in_pattern(&error, pattern, place, document))
    }

    /// The same error at its place in the text that the pattern stands in.
    fn in_pattern(&self, error: &Error, pattern: &str, place: usize, document: DocumentId) -> Error {
        let offset = match error.place() {
            Place::Text { line, column, .. } => {
                let before: usize = pattern.split_inclusive('\n').take(line - 1).map(str::len).sum();
                before + pattern[before..].chars().take(column - 1).map(char::len_utf8).sum::<usize>()
            }
            _ => 0,
        };
        // A pattern of the library does not stand in the text.
        let stands_here = self.texts.document(document).source[place..].starts_with('/');
        let at = if stands_here { place + 1 + offset } else { place };
        let told = self.error(error.kind(), document, at, error.message());
        match error.help() {
            Some(help) => told.with_help(help),
            None => told,
        }
    }

    fn substring(&mut self, chunks: &[String], place: usize, document: DocumentId) -> Result<ExprId> {
        let chunks: Vec<&String> = chunks.iter().filter(|chunk| !chunk.is_empty()).collect();
        if chunks.is_empty() {
            return Ok(self.builder.empty());
        }
        let source = self.texts.document(document).source;
        let dfa = substring(&chunks, self.budget).map_err(|error| error.at(Place::in_text(source, place)))?;
        let listed: Vec<String> = chunks.iter().map(|chunk| quoted(chunk)).collect();
        let source = format!("Substring({})", listed.join(", "));
        Ok(self.builder.automaton(Automaton { source: source.into(), dfa: Arc::new(dfa).into() }))
    }

    /// The tokens of a text, at least one.
    pub(super) fn token_ids(&self, text: &str, place: usize, document: DocumentId) -> Result<Vec<u32>> {
        let Some(resolver) = self.surroundings.token_ids else {
            let message = format!("the token `{text}` can be found by its text only with a tokenizer");
            return Err(self
                .error(ErrorKind::Invalid, document, place, message)
                .with_help("pass `tokenizer_info`, or write its id: `<[123]>`"));
        };
        let ids = resolver(text);
        if ids.is_empty() {
            let message = format!("there is no token `{text}` in the vocabulary");
            return Err(self.error(ErrorKind::Invalid, document, place, message));
        }
        Ok(ids)
    }

    /// The values of a schema as it stands, their keys in the order of the schema.
    fn schema(&mut self, schema: &str, place: usize, document: DocumentId) -> Result<ExprId> {
        let convert = || -> Result<_> {
            self.budget.check_source(schema)?;
            let read = json_schema::documents::Document::parse(schema, self.budget)?;
            let options = guidance::options(read.root(), self.surroundings.spelling)?;
            let converted = json_schema::convert(&read, &options, self.budget)?;
            json_schema::check_inhabited(&converted.grammar, schema, &options, self.budget)?;
            Ok(converted)
        };
        let converted = convert().map_err(|error| {
            let message = match error.place() {
                Place::Pointer(pointer) if !pointer.is_empty() => {
                    format!("in this schema, at {pointer:?}: {}", error.message())
                }
                _ => format!("in this schema: {}", error.message()),
            };
            let told = self.error(error.kind(), document, place, message);
            match error.help() {
                Some(help) => told.with_help(help),
                None => told,
            }
        })?;
        self.note_schema(schema, place, document)?;
        let root = copy_into(&mut self.builder, &converted.grammar, &mut self.names)?;
        Ok(self.builder.rule(root))
    }

    /// Notes a schema for who asks which there are, once for each place.
    fn note_schema(&mut self, schema: &str, place: usize, document: DocumentId) -> Result<()> {
        if self.schemas.is_none() {
            return Ok(());
        }
        let text = self.texts.document(document);
        let Place::Text { line, .. } = Place::in_text(text.source, place) else { return Ok(()) };
        let name = text.name.map_or_else(String::new, |name| format!("@{name} "));
        let read = json_schema::documents::Document::parse(schema, self.budget)?;
        let options = guidance::options(read.root(), self.surroundings.spelling)?;
        let found = Embedded { place: format!("{name}line {line}"), schema: schema.to_owned(), options };
        let is_same = |known: &Embedded| known.place == found.place && known.schema == found.schema;
        if let Some(schemas) = self.schemas.as_mut().filter(|schemas| !schemas.iter().any(is_same)) {
            schemas.push(found);
        }
        Ok(())
    }

    fn named_grammar(&mut self, name: &'s str, place: usize, document: DocumentId) -> Result<ExprId> {
        if let Some(&root) = self.named.get(name) {
            return Ok(self.builder.rule(root));
        }
        let found = self.surroundings.named.iter().find(|(other, _)| *other == name);
        let root = match found {
            None => {
                let message = format!("there is no grammar `@{name}`");
                return Err(self
                    .error(ErrorKind::Invalid, document, place, message)
                    .with_help("pass it in `named_grammars`"));
            }
            Some(&(_, Named::Grammar(grammar))) => copy_into(&mut self.builder, grammar, &mut self.names)?,
            Some(&(name, Named::Lark(source))) => {
                let parsed = parser::parse(source, Some(name), &mut self.texts, self.budget);
                let nested = parsed.map_err(|error| in_grammar(&error, name))?;
                self.root_of(nested)?
            }
        };
        self.named.insert(name, root);
        Ok(self.builder.rule(root))
    }
}

fn in_grammar(error: &Error, name: &str) -> Error {
    let message = format!("in the grammar `@{name}`: {}", error.message());
    let told = Error::new(error.kind(), message).at(error.place().clone());
    match error.help() {
        Some(help) => told.with_help(help),
        None => told,
    }
}
