//! The lexer: text to tokens, one at a time.
//!
//! Tokens are made on demand and never kept, so a text of many megabytes costs no more memory than its longest
//! literal. The parser lexes twice instead: once for the names of the rules, once for their bodies.
//!
//! Line breaks mean nothing, but for one thing: a name that is first on its line and followed by `::=`, with or
//! without options between, begins a rule. The lexer looks ahead for that and emits a [`TokenKind::RuleHead`], so
//! the parser never has to.

use std::borrow::Cow;

use super::{escape, options};
use crate::error::{Error, Result};
use crate::ir::RuleOptions;
use crate::limits::Budget;
use crate::regular::CharSet;

/// The greatest integer that the syntax knows.
const GREATEST_INTEGER: i64 = 1_000_000_000_000_000;

/// A token and where it begins.
#[derive(Debug)]
pub(super) struct Token<'s> {
    pub(super) kind: TokenKind<'s>,
    pub(super) at: usize,
}

#[derive(Debug)]
pub(super) enum TokenKind<'s> {
    /// `name ::=` or `name[options] ::=`
    RuleHead(&'s str, Box<RuleOptions>),
    Name(&'s str),
    Literal(Cow<'s, str>),
    Class(CharSet),
    Integer(i64),
    Boolean(bool),
    /// `<[1, 2]>`, or `!<[1, 2]>` when negated.
    TokenIds(Vec<u32>, bool),
    /// `<text>`, or `!<text>` when negated.
    TokenText(&'s str, bool),
    Dot,
    Open,
    OpenLookahead,
    Close,
    OpenBrace,
    CloseBrace,
    Comma,
    Equals,
    Pipe,
    And,
    Not,
    Optional,
    Star,
    Plus,
    End,
}

impl TokenKind<'_> {
    /// What to call the token in an error.
    pub(super) fn describe(&self) -> String {
        let text = match self {
            TokenKind::RuleHead(name, _) => return format!("the rule `{name} ::=`"),
            TokenKind::Name(name) => return format!("`{name}`"),
            TokenKind::Integer(value) => return format!("`{value}`"),
            TokenKind::Boolean(value) => return format!("`{value}`"),
            TokenKind::Literal(_) => return "a string".to_owned(),
            TokenKind::Class(_) => return "a character class".to_owned(),
            TokenKind::TokenIds(..) | TokenKind::TokenText(..) => return "a token".to_owned(),
            TokenKind::End => return "the end of the text".to_owned(),
            TokenKind::Dot => ".",
            TokenKind::Open => "(",
            TokenKind::OpenLookahead => "(=",
            TokenKind::Close => ")",
            TokenKind::OpenBrace => "{",
            TokenKind::CloseBrace => "}",
            TokenKind::Comma => ",",
            TokenKind::Equals => "=",
            TokenKind::Pipe => "|",
            TokenKind::And => "&",
            TokenKind::Not => "~",
            TokenKind::Optional => "?",
            TokenKind::Star => "*",
            TokenKind::Plus => "+",
        };
        format!("`{text}`")
    }
}

/// Whether a name may begin with `byte`.
pub(super) fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.' | b'-')
}

/// Whether a name may go on with `byte`.
pub(super) fn is_name_byte(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit()
}

/// The string whose `"` is at `open`, and the offset behind the closing one.
pub(in crate::frontends) fn string_literal(
    source: &str,
    open: usize,
    context: escape::Context,
) -> Result<(Cow<'_, str>, usize)> {
    let bytes = source.as_bytes();
    let mut text: Cow<'_, str> = Cow::Borrowed("");
    let mut run = open + 1;
    let mut at = run;
    loop {
        match bytes.get(at) {
            Some(b'"') => {
                append(&mut text, &source[run..at]);
                return Ok((text, at + 1));
            }
            Some(b'\\') => {
                append(&mut text, &source[run..at]);
                let (c, after) = escape::literal_escape(source, at, context)?;
                text.to_mut().push(c);
                run = after;
                at = after;
            }
            None | Some(b'\n' | b'\r') => {
                return Err(Error::syntax(source, open, "this string is never closed on its line")
                    .with_help("close it with `\"`; a line break inside is written `\\n`"));
            }
            Some(_) => at += 1,
        }
    }
}

fn append<'s>(text: &mut Cow<'s, str>, run: &'s str) {
    if text.is_empty() {
        *text = Cow::Borrowed(run);
    } else if !run.is_empty() {
        text.to_mut().push_str(run);
    }
}

/// Reads tokens off a text.
pub(super) struct Lexer<'s> {
    source: &'s str,
    budget: &'s Budget,
    at: usize,
    /// Whether nothing but blanks stood before on the line.
    first_on_line: bool,
    /// How many more dots of a run of dots are to be given.
    dots: usize,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str, budget: &'s Budget) -> Self {
        let at = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Lexer { source, budget, at, first_on_line: true, dots: 0 }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.source.as_bytes().get(at).copied()
    }

    /// The offset behind the blanks and comments at `at`, and whether there was a line break among them.
    fn skip_blank(&self, mut at: usize) -> (usize, bool) {
        let mut broke = false;
        while let Some(byte) = self.byte(at) {
            match byte {
                b'\n' | b'\r' => broke = true,
                b' ' | b'\t' => {}
                b'#' => {
                    let rest = &self.source.as_bytes()[at..];
                    at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                    continue;
                }
                _ => break,
            }
            at += 1;
        }
        (at, broke)
    }

    /// The next token; [`TokenKind::End`] for ever at the end.
    pub(super) fn next(&mut self) -> Result<Token<'s>> {
        self.budget.tick()?;
        if self.dots > 0 {
            self.dots -= 1;
            self.at += 1;
            return Ok(Token { kind: TokenKind::Dot, at: self.at - 1 });
        }
        let (at, broke) = self.skip_blank(self.at);
        let first_on_line = self.first_on_line || broke;
        self.at = at;
        self.first_on_line = false;
        let kind = match self.byte(at) {
            None => TokenKind::End,
            Some(b'"') => {
                let (text, after) = string_literal(self.source, at, escape::Context::Literal)?;
                self.at = after;
                TokenKind::Literal(text)
            }
            Some(b'[') => {
                let (set, after) = escape::class(self.source, at)?;
                self.at = after;
                TokenKind::Class(set)
            }
            Some(b'<') => self.token(at, false)?,
            Some(b'!') if self.byte(at + 1) == Some(b'<') => self.token(at + 1, true)?,
            Some(byte) if byte.is_ascii_digit() => self.integer()?,
            Some(b'-') if self.byte(at + 1).is_some_and(|byte| byte.is_ascii_digit()) => self.integer()?,
            Some(byte) if is_name_start(byte) => self.name(first_on_line)?,
            Some(byte) => self.mark(byte)?,
        };
        Ok(Token { kind, at })
    }

    fn mark(&mut self, byte: u8) -> Result<TokenKind<'s>> {
        let kind = match byte {
            b'(' if self.byte(self.at + 1) == Some(b'=') => {
                self.at += 1;
                TokenKind::OpenLookahead
            }
            b'(' => TokenKind::Open,
            b')' => TokenKind::Close,
            b'{' => TokenKind::OpenBrace,
            b'}' => TokenKind::CloseBrace,
            b',' => TokenKind::Comma,
            b'=' => TokenKind::Equals,
            b'|' => TokenKind::Pipe,
            b'&' => TokenKind::And,
            b'~' => TokenKind::Not,
            b'?' => TokenKind::Optional,
            b'*' => TokenKind::Star,
            b'+' => TokenKind::Plus,
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(kind)
    }

    fn unexpected(&self) -> Error {
        let rest = &self.source[self.at..];
        if rest.starts_with("::=") {
            let message = "`::=` must follow the name of a rule, which must be the first on its line";
            return Error::syntax(self.source, self.at, message);
        }
        let c = rest.chars().next().unwrap_or('\0');
        let error = Error::syntax(self.source, self.at, format!("unexpected character {c:?}"));
        match c {
            '\'' => error.with_help("strings stand in double quotes"),
            ':' => error.with_help("a rule is written `name ::= ...`"),
            '!' => error.with_help("`!` stands before a token only, `!<text>`; the complement is `~`"),
            '/' => error.with_help("a comment begins with `#`; a regex is written `Regex(\"...\")`"),
            _ => error,
        }
    }

    fn name(&mut self, first_on_line: bool) -> Result<TokenKind<'s>> {
        let start = self.at;
        let bytes = &self.source.as_bytes()[start..];
        let end = start + bytes.iter().position(|&byte| !is_name_byte(byte)).unwrap_or(bytes.len());
        let name = &self.source[start..end];
        if first_on_line && let Some(head) = self.rule_head(name, end)? {
            return Ok(head);
        }
        if name.bytes().all(|byte| byte == b'.') {
            self.dots = name.len() - 1;
            self.at = start + 1;
            return Ok(TokenKind::Dot);
        }
        self.at = end;
        Ok(match name {
            "true" => TokenKind::Boolean(true),
            "false" => TokenKind::Boolean(false),
            _ => TokenKind::Name(name),
        })
    }

    /// The head of a rule, if the name that ends at `end` begins one.
    fn rule_head(&mut self, name: &'s str, end: usize) -> Result<Option<TokenKind<'s>>> {
        let mut options = RuleOptions::default();
        let mut at = end;
        if self.byte(end) == Some(b'[') && options::begin_here(self.source, end, |at| self.skip_blank(at).0) {
            (options, at) = options::parse(self.source, end, name)?;
        }
        let (at, _) = self.skip_blank(at);
        if !self.source[at..].starts_with("::=") {
            return Ok(None);
        }
        if name == "true" || name == "false" || name.bytes().all(|byte| byte == b'.') {
            return Err(Error::syntax(
                self.source,
                self.at,
                format!("`{name}` cannot be the name of a rule"),
            ));
        }
        self.at = at + "::=".len();
        Ok(Some(TokenKind::RuleHead(name, Box::new(options))))
    }

    fn integer(&mut self) -> Result<TokenKind<'s>> {
        let start = self.at;
        let digits = start + usize::from(self.byte(start) == Some(b'-'));
        let bytes = &self.source.as_bytes()[digits..];
        self.at = digits + bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len());
        let value = self.source[start..self.at].parse().ok();
        match value.filter(|value: &i64| value.abs() <= GREATEST_INTEGER) {
            Some(value) => Ok(TokenKind::Integer(value)),
            None => Err(Error::syntax(self.source, start, "this number is too large")),
        }
    }

    /// A token of the vocabulary, whose `<` is at `open`.
    fn token(&mut self, open: usize, negated: bool) -> Result<TokenKind<'s>> {
        let error = |message: &str| Err(Error::syntax(self.source, open, message));
        let bytes = &self.source.as_bytes()[open..];
        let length = match bytes.iter().position(|byte| matches!(byte, b'>' | b'\n')) {
            Some(length) if length > 1 && bytes[length] == b'>' => length,
            _ => return error("expected the text of a token between `<` and `>`"),
        };
        let text = &self.source[open..=open + length];
        self.at = open + text.len();
        let Some(list) = text.strip_prefix("<[") else {
            return Ok(TokenKind::TokenText(text, negated));
        };
        let ids =
            list.strip_suffix("]>").map(|list| list.split(',').map(|id| id.trim().parse::<u32>()).collect());
        match ids {
            Some(Ok(ids)) => Ok(TokenKind::TokenIds(ids, negated)),
            _ => error("between `<[` and `]>` stand token ids, such as `<[12, 13]>`"),
        }
    }
}
