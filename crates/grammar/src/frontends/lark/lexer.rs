//! The lexer: text to tokens, one at a time.
//!
//! Line breaks mean nothing to it, but each token says whether it is the first on its line: with [`Lexer::begins_rule`]
//! that is all that the parser needs to tell a definition from one more line of the body before it. So a body may go on
//! over lines as it likes, where Lark itself wants a `|` at the start of the next one.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::frontends::ebnf::{Context, string_literal};
use crate::limits::Budget;

/// A token and where it begins.
#[derive(Clone, Debug)]
pub(super) struct Token<'s> {
    pub(super) kind: TokenKind<'s>,
    pub(super) at: usize,
    pub(super) first_on_line: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind<'s> {
    Name(&'s str),
    Literal {
        text: Cow<'s, str>,
        ignore_case: bool,
    },
    /// A pattern, which begins right behind the `/`, and the letters of its flags.
    Regex {
        pattern: &'s str,
        flags: &'s str,
    },
    /// Digits, maybe with a point and an exponent, or hexadecimal.
    Number(&'s str),
    /// `<[...]>`, without its marks.
    TokenIds(&'s str),
    /// `<text>`, with its marks.
    TokenText(&'s str),
    /// `%word`, without the mark.
    Directive(&'s str),
    /// `@name`, without the mark.
    Named(&'s str),
    Mark(&'static str),
    End,
}

/// The marks, the longer ones first.
const MARKS: [&str; 21] = [
    "::", "..", "->", ":", "|", "&", "~", "?", "!", "*", "+", "(", ")", "[", "]", "{", "}", ",", ".", "=",
    "-",
];

impl TokenKind<'_> {
    /// What to call the token in an error.
    pub(super) fn describe(&self) -> String {
        match self {
            TokenKind::Name(text) | TokenKind::Number(text) | TokenKind::TokenText(text) => {
                format!("`{text}`")
            }
            TokenKind::Literal { .. } => "a string".to_owned(),
            TokenKind::Regex { .. } => "a regex".to_owned(),
            TokenKind::TokenIds(_) => "a token".to_owned(),
            TokenKind::Directive(word) => format!("`%{word}`"),
            TokenKind::Named(name) => format!("`@{name}`"),
            TokenKind::Mark(mark) => format!("`{mark}`"),
            TokenKind::End => "the end of the text".to_owned(),
        }
    }
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

fn is_name_byte(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit()
}

/// Reads tokens off a text.
#[derive(Clone)]
pub(super) struct Lexer<'s> {
    source: &'s str,
    budget: &'s Budget,
    at: usize,
    first_on_line: bool,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str, budget: &'s Budget) -> Self {
        let at = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Lexer { source, budget, at, first_on_line: true }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.source.as_bytes().get(at).copied()
    }

    fn error(&self, at: usize, message: &str) -> Error {
        Error::syntax(self.source, at, message)
    }

    /// The offset behind the bytes from `at` on for which `fits` says so.
    fn run(&self, at: usize, fits: impl Fn(u8) -> bool) -> usize {
        let bytes = &self.source.as_bytes()[at..];
        at + bytes.iter().position(|&byte| !fits(byte)).unwrap_or(bytes.len())
    }

    /// Skips blanks and comments, and notes line breaks.
    fn skip_blank(&mut self) {
        while let Some(byte) = self.byte(self.at) {
            match byte {
                b'\n' | b'\r' => self.first_on_line = true,
                b' ' | b'\t' | 0x0c => {}
                b'#' => self.at = self.run(self.at, |byte| byte != b'\n') - 1,
                b'/' if self.byte(self.at + 1) == Some(b'/') => {
                    self.at = self.run(self.at, |byte| byte != b'\n') - 1;
                }
                _ => break,
            }
            self.at += 1;
        }
    }

    /// The next token; [`TokenKind::End`] for ever at the end.
    pub(super) fn next(&mut self) -> Result<Token<'s>> {
        self.budget.tick()?;
        self.skip_blank();
        let (at, first_on_line) = (self.at, self.first_on_line);
        self.first_on_line = false;
        let kind = match self.byte(at) {
            None => TokenKind::End,
            Some(b'"') => self.literal()?,
            Some(b'/') => self.regex()?,
            Some(b'<') => self.token()?,
            Some(b'%') => TokenKind::Directive(self.word(at + 1, "a directive, such as `%ignore`")?),
            Some(b'@') => {
                let end = self.run(at + 1, |byte| is_name_byte(byte) || byte == b'-');
                self.at = end;
                TokenKind::Named(&self.source[at + 1..end])
            }
            Some(byte) if byte.is_ascii_digit() => self.number(),
            Some(byte) if is_name_start(byte) => TokenKind::Name(self.word(at, "a name")?),
            Some(_) => self.mark()?,
        };
        Ok(Token { kind, at, first_on_line })
    }

    /// The name at `at`. A dash may be part of it, but not that of `->`.
    fn word(&mut self, at: usize, what: &str) -> Result<&'s str> {
        let end = self.name_end(at);
        if end == at {
            return Err(self.error(self.at, &format!("expected {what}")));
        }
        self.at = end;
        Ok(&self.source[at..end])
    }

    fn name_end(&self, at: usize) -> usize {
        let mut end = self.run(at, is_name_byte);
        while end > at && self.byte(end) == Some(b'-') && self.byte(end + 1).is_some_and(is_name_byte) {
            end = self.run(end + 1, is_name_byte);
        }
        end
    }

    fn mark(&mut self) -> Result<TokenKind<'s>> {
        let rest = &self.source[self.at..];
        if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            self.at += mark.len();
            return Ok(TokenKind::Mark(mark));
        }
        let c = rest.chars().next().unwrap_or('\0');
        let error = self.error(self.at, &format!("unexpected character {c:?}"));
        Err(match c {
            '\'' => error.with_help("strings stand in double quotes"),
            ';' => error.with_help("a rule ends where the next one begins"),
            _ => error,
        })
    }

    fn number(&mut self) -> TokenKind<'s> {
        let start = self.at;
        if self.source[start..].starts_with("0x") {
            self.at = self.run(start + 2, |byte| byte.is_ascii_hexdigit());
            return TokenKind::Number(&self.source[start..self.at]);
        }
        let digit = |byte: u8| byte.is_ascii_digit();
        let mut end = self.run(start, digit);
        if self.byte(end) == Some(b'.') && self.byte(end + 1).is_some_and(digit) {
            end = self.run(end + 1, digit);
        }
        if matches!(self.byte(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.byte(end + 1), Some(b'+' | b'-')));
            let after = self.run(end + 1 + sign, digit);
            end = if after > end + 1 + sign { after } else { end };
        }
        self.at = end;
        TokenKind::Number(&self.source[start..end])
    }

    fn literal(&mut self) -> Result<TokenKind<'s>> {
        let (text, after) = string_literal(self.source, self.at, Context::Lark)?;
        let ignore_case = self.byte(after) == Some(b'i') && !self.byte(after + 1).is_some_and(is_name_byte);
        self.at = after + usize::from(ignore_case);
        Ok(TokenKind::Literal { text, ignore_case })
    }

    fn regex(&mut self) -> Result<TokenKind<'s>> {
        let open = self.at;
        let close = self.regex_end(open).ok_or_else(|| {
            self.error(open, "this regex is never closed on its line")
                .with_help("a `/` inside is written `\\/`, a line break `\\n`")
        })?;
        let end = self.run(close + 1, |byte| byte.is_ascii_alphabetic());
        self.at = end;
        Ok(TokenKind::Regex { pattern: &self.source[open + 1..close], flags: &self.source[close + 1..end] })
    }

    /// Where the regex whose `/` is at `open` ends.
    fn regex_end(&self, open: usize) -> Option<usize> {
        let mut at = open + 1;
        loop {
            match self.byte(at)? {
                b'/' => return Some(at),
                b'\\' => at += 2,
                b'\n' => return None,
                _ => at += 1,
            }
        }
    }

    fn token(&mut self) -> Result<TokenKind<'s>> {
        let open = self.at;
        let end = self.run(open, |byte| !matches!(byte, b'>' | b'\n'));
        if self.byte(end) != Some(b'>') || end == open + 1 {
            return Err(self.error(open, "expected the text of a token between `<` and `>`"));
        }
        self.at = end + 1;
        let text = &self.source[open..=end];
        match text.strip_prefix("<[") {
            None => Ok(TokenKind::TokenText(text)),
            Some(list) => match list.strip_suffix("]>") {
                Some(list) => Ok(TokenKind::TokenIds(list)),
                None => Err(self.error(open, "token ids stand between `<[` and `]>`")),
            },
        }
    }

    /// The JSON object that comes next, as it stands in the text; it belongs to the directive at `directive`.
    pub(super) fn json_object(&mut self, directive: usize) -> Result<&'s str> {
        self.skip_blank();
        let (bytes, open) = (self.source.as_bytes(), self.at);
        if self.byte(open) != Some(b'{') {
            return Err(self.error(directive, "a JSON object has to follow this, `{ ... }`"));
        }
        let (mut at, mut depth) = (open, 0_usize);
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => at = self.json_string_end(at)?,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
            if depth == 0 {
                self.at = at;
                return Ok(&self.source[open..at]);
            }
        }
        Err(self.error(open, "this JSON object is never closed"))
    }

    fn json_string_end(&self, open: usize) -> Result<usize> {
        let mut at = open + 1;
        loop {
            match self.byte(at) {
                Some(b'"') => return Ok(at),
                Some(b'\\') => at += 2,
                Some(_) => at += 1,
                None => return Err(self.error(open, "this string is never closed")),
            }
        }
    }

    /// Whether a definition begins at `at`: a name, what may follow it, and a colon, all on one line but for attributes.
    pub(super) fn begins_rule(&self, at: usize) -> bool {
        let start = self.run(at, |byte| matches!(byte, b'?' | b'!'));
        let mut end = self.name_end(start);
        if end == start || !self.byte(start).is_some_and(is_name_start) {
            return false;
        }
        end = match self.byte(end) {
            Some(b'{') => self.run(end, |byte| byte != b'}' && byte != b'\n') + 1,
            Some(b'.') => self.run(end + 1, |byte| byte.is_ascii_digit() || byte == b'-'),
            _ if self.source[end..].starts_with("::_") => end + "::_".len(),
            _ => end,
        };
        if self.byte(end) == Some(b'[') {
            let Some(after) = self.attributes_end(end) else { return false };
            end = after;
        }
        let blank = |byte| matches!(byte, b' ' | b'\t');
        let colon = if end < self.source.len() { self.run(end, blank) } else { return false };
        self.byte(colon) == Some(b':') && self.byte(colon + 1) != Some(b':')
    }

    /// The offset behind the `]` of the attributes whose `[` is at `open`.
    fn attributes_end(&self, open: usize) -> Option<usize> {
        let mut at = open + 1;
        loop {
            match self.byte(at)? {
                b']' => return Some(at + 1),
                b'"' => at = self.json_string_end(at).ok()?,
                b'/' => at = self.regex_end(at)?,
                _ => {}
            }
            at += 1;
        }
    }
}
