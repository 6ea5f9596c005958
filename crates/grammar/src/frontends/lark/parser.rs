//! The parser of definitions and directives; bodies are in `body`, attributes in `attributes`.
//!
//! A document is read from its first line to its last, and only noted: names are looked up when it is lowered, so the
//! order of definitions and imports does not matter.

use super::ast::{
    Attributes, Body, Content, Definition, DefinitionId, Document, DocumentId, Node, Texts, is_terminal,
};
use super::common;
use super::lexer::{Lexer, Token, TokenKind};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::frontends::ebnf::nearest;
use crate::limits::Budget;

/// How deep grammars may stand in grammars; reading them recurses.
const DEEPEST_GRAMMAR: usize = 32;

/// The directives that stand for something in a body.
const INLINE: [&str; 4] = ["json", "lark", "regex", "if"];

/// Parses one text.
pub(super) struct Parser<'t, 's> {
    pub(super) source: &'s str,
    pub(super) budget: &'s Budget,
    pub(super) lexer: Lexer<'s>,
    next: Token<'s>,
    pub(super) texts: &'t mut Texts<'s>,
    /// The documents that are open, the innermost last.
    open: Vec<DocumentId>,
    /// How many templates are open around what is read.
    pub(super) template_depth: usize,
}

/// Reads `source` as a document of its own.
pub(super) fn parse<'s>(
    source: &'s str,
    name: Option<&'s str>,
    texts: &mut Texts<'s>,
    budget: &'s Budget,
) -> Result<DocumentId> {
    budget.check_source(source)?;
    let mut lexer = Lexer::new(source, budget);
    let next = lexer.next()?;
    let mut parser = Parser { source, budget, lexer, next, texts, open: Vec::new(), template_depth: 0 };
    let document = parser.begin_document(name, 0);
    parser.statements()?;
    match parser.peek() {
        TokenKind::End => Ok(document),
        _ => Err(Error::syntax(source, parser.at(), "no `{` is open here")),
    }
}

impl<'s> Parser<'_, 's> {
    pub(super) fn peek(&self) -> &TokenKind<'s> {
        &self.next.kind
    }

    /// Where the next token begins.
    pub(super) fn at(&self) -> usize {
        self.next.at
    }

    pub(super) fn bump(&mut self) -> Result<Token<'s>> {
        let following = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.next, following))
    }

    /// The token after the next one.
    pub(super) fn peek_second(&self) -> Result<TokenKind<'s>> {
        self.lexer.clone().next().map(|token| token.kind)
    }

    pub(super) fn is_mark(&self, mark: &str) -> bool {
        matches!(self.peek(), TokenKind::Mark(found) if *found == mark)
    }

    /// Reads a mark if it comes next.
    pub(super) fn take(&mut self, mark: &str) -> Result<bool> {
        let found = self.is_mark(mark);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    pub(super) fn expect(&mut self, mark: &str) -> Result<()> {
        if self.take(mark)? { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    pub(super) fn name(&mut self, what: &str) -> Result<&'s str> {
        let TokenKind::Name(name) = *self.peek() else {
            return Err(self.expected(what));
        };
        self.bump()?;
        Ok(name)
    }

    /// An error at the next token, which is not what was expected.
    pub(super) fn expected(&self, what: &str) -> Error {
        Error::syntax(self.source, self.at(), format!("expected {what} but found {}", self.peek().describe()))
    }

    pub(super) fn unsupported(&self, at: usize, message: impl Into<String>) -> Error {
        Error::unsupported(message).at(Place::in_text(self.source, at))
    }

    fn invalid(&self, at: usize, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Invalid, message).at(Place::in_text(self.source, at))
    }

    /// Whether a body ends here: at a definition, at a directive that is none of a body, at the end.
    pub(super) fn at_end_of_body(&self) -> bool {
        match self.peek() {
            TokenKind::End => true,
            TokenKind::Directive(word) => !INLINE.contains(word),
            TokenKind::Name(_) | TokenKind::Mark("?" | "!") => {
                self.next.first_on_line && self.lexer.begins_rule(self.at())
            }
            _ => false,
        }
    }

    fn document(&mut self) -> &mut Document<'s> {
        let open = self.open.last().expect("a document is open while text is read");
        &mut self.texts.documents[open.0 as usize]
    }

    fn begin_document(&mut self, name: Option<&'s str>, at: usize) -> DocumentId {
        let id = DocumentId(self.texts.documents.len() as u32);
        self.texts.documents.push(Document {
            source: self.source,
            name,
            names: hashbrown::HashMap::new(),
            ignored: Vec::new(),
            allow_initial_skip: false,
            ignore_once: false,
            at,
        });
        self.open.push(id);
        id
    }

    /// Reads `{ ... }` after `%lark`, which is the next token.
    pub(super) fn nested(&mut self) -> Result<DocumentId> {
        let at = self.bump()?.at;
        if self.open.len() > DEEPEST_GRAMMAR {
            let message = format!("grammars in grammars nest no deeper than {DEEPEST_GRAMMAR}");
            return Err(Error::new(ErrorKind::Limit, message).at(Place::in_text(self.source, at)));
        }
        self.expect("{")?;
        let document = self.begin_document(None, at);
        self.statements()?;
        self.open.pop();
        if !self.take("}")? {
            return Err(Error::syntax(self.source, at, "this grammar is never closed"));
        }
        Ok(document)
    }

    /// Reads definitions and directives up to the end, or to a `}` that closes a nested grammar.
    fn statements(&mut self) -> Result<()> {
        loop {
            match *self.peek() {
                TokenKind::End | TokenKind::Mark("}") => return Ok(()),
                TokenKind::Directive(word) => self.directive(word)?,
                TokenKind::Name(_) | TokenKind::Mark("?" | "!") => {
                    let definition = self.definition()?;
                    self.define(definition)?;
                }
                _ => return Err(self.expected("a rule, `name: ...`, or a directive")),
            }
        }
    }

    fn definition(&mut self) -> Result<Definition<'s>> {
        while self.take("?")? || self.take("!")? {}
        let at = self.at();
        let name = self.name("the name of a rule")?;
        let mut parameters = Vec::new();
        if self.take("{")? {
            parameters = self.template_parameters(name, at)?;
        }
        if self.is_mark(".") {
            let what = if is_terminal(name) { "terminal" } else { "rule" };
            return Err(self
                .unsupported(self.at(), format!("the priority of the {what} `{name}` is not supported"))
                .with_help(
                    "there is no lexer here, so nothing has to be preferred; leave the priority out",
                ));
        }
        let is_parametric = self.take("::")?;
        if is_parametric && self.name("`_`")? != "_" {
            return Err(Error::syntax(self.source, at, "the parameter of a rule is written `name::_`"));
        }
        let attributes = if self.is_mark("[") { self.attributes(name)? } else { Attributes::default() };
        self.expect(":")?;
        let body = self.body()?;
        let document = *self.open.last().expect("a document is open while text is read");
        let content = Content::Bodies(vec![body]);
        Ok(Definition { name, at, document, content, parameters, is_parametric, attributes })
    }

    fn template_parameters(&mut self, name: &str, at: usize) -> Result<Vec<&'s str>> {
        if is_terminal(name) {
            return Err(self.unsupported(at, format!("`{name}` is a terminal, and templates are rules")));
        }
        let mut parameters = Vec::new();
        loop {
            let at = self.at();
            let parameter = self.name("the name of a parameter")?;
            if parameters.contains(&parameter) {
                return Err(self.invalid(at, format!("the parameter `{parameter}` is there twice")));
            }
            parameters.push(parameter);
            if !self.take(",")? {
                self.expect("}")?;
                return Ok(parameters);
            }
        }
    }

    fn define(&mut self, definition: Definition<'s>) -> Result<()> {
        let (name, at) = (definition.name, definition.at);
        if let Some(&old) = self.document().names.get(name) {
            // A declared terminal may be defined after all.
            if matches!(self.texts.definition(old).content, Content::Declared) {
                self.texts.definitions[old.0 as usize] = definition;
                return Ok(());
            }
            return Err(self.invalid(at, format!("`{name}` is defined twice")));
        }
        let id = DefinitionId(self.texts.definitions.len() as u32);
        self.texts.definitions.push(definition);
        self.document().names.insert(name, id);
        let limit = self.budget.limits().max_rules;
        if self.texts.definitions.len() > limit {
            return Err(Error::limit("the number of rules", limit, "max_rules"));
        }
        Ok(())
    }

    fn directive(&mut self, word: &'s str) -> Result<()> {
        let at = self.bump_directive(word)?;
        match word {
            "import" => self.import(at),
            "ignore" => {
                if self.at_end_of_body() {
                    return Err(self.expected("what to ignore after `%ignore`"));
                }
                let body = self.body()?;
                self.document().ignored.push(body);
                Ok(())
            }
            "declare" => self.declare(),
            "override" | "extend" => self.change(word),
            "llguidance" | "grammar_options" => Ok(()),
            _ => {
                let error = Error::syntax(self.source, at, format!("there is no directive `%{word}`"));
                let known =
                    ["import", "ignore", "declare", "override", "extend", "llguidance", "grammar_options"];
                Err(match nearest(word, known) {
                    Some(near) => error.with_help(format!("did you mean `%{near}`?")),
                    None if INLINE.contains(&word) => error.with_help("it stands in the body of a rule"),
                    None => error,
                })
            }
        }
    }

    /// Reads the word of a directive, and the JSON object behind it where there has to be one.
    fn bump_directive(&mut self, word: &str) -> Result<usize> {
        if matches!(word, "llguidance" | "grammar_options") {
            let text = self.lexer.json_object(self.at())?;
            self.options(text)?;
        }
        Ok(self.bump()?.at)
    }

    fn options(&mut self, text: &str) -> Result<()> {
        let at = self.at();
        let options: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)
            .map_err(|error| Error::syntax(self.source, at, format!("this is not JSON: {error}")))?;
        for (name, value) in options {
            let serde_json::Value::Bool(value) = value else {
                return Err(Error::syntax(self.source, at, format!("the option `{name}` is true or false")));
            };
            match name.as_str() {
                "allow_initial_skip" => self.document().allow_initial_skip = value,
                "ignore_once" => self.document().ignore_once = value,
                // Whether forced text is tokenized canonically: masks leave that to the caller anyway.
                "no_forcing" => {}
                "allow_invalid_utf8" if !value => {}
                "allow_invalid_utf8" => {
                    return Err(self.unsupported(at, "the option `allow_invalid_utf8` is not supported"));
                }
                _ => return Err(Error::syntax(self.source, at, format!("there is no option `{name}`"))),
            }
        }
        Ok(())
    }

    fn import(&mut self, at: usize) -> Result<()> {
        if !matches!(self.peek(), TokenKind::Name("common")) {
            return Err(self
                .unsupported(at, format!("imports from elsewhere than `common` are not supported, such as {}", self.peek().describe()))
                .with_help("copy the rules that are needed into the grammar, or pass them as a named grammar, `@name`"));
        }
        self.bump()?;
        if self.take("(")? {
            loop {
                let at = self.at();
                let name = self.name("the name of a terminal")?;
                self.import_terminal(name, name, at)?;
                if !self.take(",")? {
                    return self.expect(")");
                }
            }
        }
        self.expect(".")?;
        let at = self.at();
        let name = self.name("the name of a terminal")?;
        let alias = if self.take("->")? { self.name("a name")? } else { name };
        self.import_terminal(name, alias, at)
    }

    fn import_terminal(&mut self, name: &str, alias: &'s str, at: usize) -> Result<()> {
        let Some(pattern) = common::pattern(name) else {
            let error = self.invalid(at, format!("there is no terminal `{name}` in `common`"));
            return Err(match nearest(name, common::names()) {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => error,
            });
        };
        self.define_terminal(alias, at, Content::Library(pattern))
    }

    fn declare(&mut self) -> Result<()> {
        loop {
            let at = self.at();
            let name = self.name("the name of a terminal")?;
            if !is_terminal(name) {
                return Err(
                    self.invalid(at, format!("`{name}` is no terminal: its first letter is not a capital"))
                );
            }
            if !self.document().names.contains_key(name) {
                self.define_terminal(name, at, Content::Declared)?;
            }
            if self.at_end_of_body() || self.is_mark("}") {
                return Ok(());
            }
        }
    }

    fn define_terminal(&mut self, name: &'s str, at: usize, content: Content) -> Result<()> {
        let document = *self.open.last().expect("a document is open while text is read");
        if !is_terminal(name) {
            return Err(
                self.invalid(at, format!("`{name}` is no terminal: its first letter is not a capital"))
            );
        }
        self.define(Definition {
            name,
            at,
            document,
            content,
            parameters: Vec::new(),
            is_parametric: false,
            attributes: Attributes::default(),
        })
    }

    /// `%override` replaces a definition, `%extend` adds alternatives to it.
    fn change(&mut self, word: &str) -> Result<()> {
        let new = self.definition()?;
        let Some(&old) = self.document().names.get(new.name) else {
            let message = format!("`{}` is not defined before, so `%{word}` has nothing to change", new.name);
            return Err(self.invalid(new.at, message));
        };
        if word == "override" {
            self.texts.definitions[old.0 as usize] = new;
            return Ok(());
        }
        let mut bodies = match &self.texts.definition(old).content {
            Content::Bodies(bodies) => bodies.clone(),
            Content::Declared => Vec::new(),
            Content::Library(pattern) => {
                let root = self.texts.add(Node::Regex { pattern, flags: "" }, new.at);
                vec![Body { first: root, root }]
            }
        };
        if let Content::Bodies(more) = new.content {
            bodies.extend(more);
        }
        self.texts.definitions[old.0 as usize].content = Content::Bodies(bodies);
        Ok(())
    }
}
