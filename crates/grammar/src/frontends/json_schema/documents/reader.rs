//! The reader of JSON text.
//!
//! It is written here and not taken from `serde_json` because of what that would have to be told: to keep numbers as
//! text and keys in order are features that a crate switches on for the whole process. It reads strict JSON: no `NaN`,
//! no comments, no trailing commas. A lone surrogate in an escape is refused, since no text has one.
//!
//! Open arrays and objects are a list on the heap. Their items gather on two stacks that all levels share, so that each
//! array and object is allocated once, at its final size.

use std::borrow::Cow;

use super::document::Mentions;
use super::json::{Entry, Json, MAX_DEPTH, Object};
use crate::error::{Error, Place, Result};
use crate::limits::Budget;

/// Reads the one value that `text` is.
pub(super) fn read<'text>(text: &'text str, budget: &Budget) -> Result<(Json<'text>, Mentions)> {
    budget.check_source(text)?;
    let mut reader = Reader {
        text,
        bytes: text.as_bytes(),
        at: 0,
        open: Vec::new(),
        items: Vec::new(),
        entries: Vec::new(),
        keys: Vec::new(),
        mentions: Mentions::default(),
    };
    let json = reader.document(budget)?;
    Ok((json, reader.mentions))
}

/// An array or object that is not closed yet, and where its items begin on their stack.
#[derive(Clone, Copy)]
enum Open {
    Array(usize),
    Object(usize),
}

/// What was read: a whole value, or the bracket that opens one that is not empty.
enum Read<'text> {
    Value(Json<'text>),
    Opened,
}

struct Reader<'text> {
    text: &'text str,
    bytes: &'text [u8],
    at: usize,
    open: Vec<Open>,
    items: Vec<Json<'text>>,
    entries: Vec<Entry<'text>>,
    /// For each open object, the key whose value is being read.
    keys: Vec<Cow<'text, str>>,
    mentions: Mentions,
}

impl<'text> Reader<'text> {
    fn document(&mut self, budget: &Budget) -> Result<Json<'text>> {
        loop {
            budget.tick()?;
            if let Read::Value(value) = self.value(budget)?
                && let Some(whole) = self.give(value)?
            {
                return self.finish(whole);
            }
        }
    }

    fn finish(&mut self, whole: Json<'text>) -> Result<Json<'text>> {
        match self.peek() {
            None => Ok(whole),
            Some(_) => Err(self.error("nothing may follow the value")),
        }
    }

    /// Hands a value to what it is in, closes whatever ends there, and gives the value of the text once it is whole.
    fn give(&mut self, mut value: Json<'text>) -> Result<Option<Json<'text>>> {
        while let Some(&open) = self.open.last() {
            let ended = match open {
                Open::Array(_) => self.give_item(value)?,
                Open::Object(_) => self.give_entry(value)?,
            };
            if !ended {
                return Ok(None);
            }
            self.open.pop();
            value = match open {
                Open::Array(start) => Json::Array(self.items.split_off(start).into()),
                Open::Object(start) => Json::Object(Object::new(self.entries.split_off(start))),
            };
        }
        Ok(Some(value))
    }

    /// Adds an item; tells whether the array ended.
    fn give_item(&mut self, value: Json<'text>) -> Result<bool> {
        self.items.push(value);
        match self.peek() {
            Some(b',') => self.at += 1,
            Some(b']') => {
                self.at += 1;
                return Ok(true);
            }
            _ => return Err(self.error("expected `,` or `]`")),
        }
        Ok(false)
    }

    /// Adds an entry, and reads the key of the next; tells whether the object ended.
    fn give_entry(&mut self, value: Json<'text>) -> Result<bool> {
        if let Some(key) = self.keys.pop() {
            self.mentions.note(&key, &value);
            self.entries.push((key, value));
        }
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.key()?;
                Ok(false)
            }
            Some(b'}') => {
                self.at += 1;
                Ok(true)
            }
            _ => Err(self.error("expected `,` or `}`")),
        }
    }

    fn value(&mut self, budget: &Budget) -> Result<Read<'text>> {
        let value = match self.peek() {
            Some(b'{') => return self.open_object(budget),
            Some(b'[') => return self.open_array(budget),
            Some(b'"') => Json::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => Json::Number(self.number()?),
            Some(b't') => self.word("true", Json::Bool(true))?,
            Some(b'f') => self.word("false", Json::Bool(false))?,
            Some(b'n') => self.word("null", Json::Null)?,
            Some(b'N' | b'I') => return Err(self.error("JSON has no NaN and no Infinity")),
            _ => return Err(self.error("expected a value")),
        };
        Ok(Read::Value(value))
    }

    fn open_array(&mut self, budget: &Budget) -> Result<Read<'text>> {
        self.check_depth(budget)?;
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Read::Value(Json::Array(Box::default())));
        }
        self.open.push(Open::Array(self.items.len()));
        Ok(Read::Opened)
    }

    fn open_object(&mut self, budget: &Budget) -> Result<Read<'text>> {
        self.check_depth(budget)?;
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Read::Value(Json::Object(Object::default())));
        }
        self.open.push(Open::Object(self.entries.len()));
        self.key()?;
        Ok(Read::Opened)
    }

    fn check_depth(&self, budget: &Budget) -> Result<()> {
        let depth = self.open.len() + 1;
        if depth > MAX_DEPTH {
            return Err(self.error(format!("JSON is read {MAX_DEPTH} levels deep at most")));
        }
        budget.check_depth(depth).map_err(|error| error.at(Place::in_text(self.text, self.at)))
    }

    fn key(&mut self) -> Result<()> {
        if self.peek() != Some(b'"') {
            return Err(self.error("expected a key, in double quotes"));
        }
        let key = self.string()?;
        if self.peek() != Some(b':') {
            return Err(self.error("expected `:`"));
        }
        self.at += 1;
        self.keys.push(key);
        Ok(())
    }

    fn word(&mut self, word: &str, value: Json<'text>) -> Result<Json<'text>> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.error("expected a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<&'text str> {
        let start = self.at;
        self.take(|byte| byte == b'-');
        match self.byte() {
            Some(b'0') => self.at += 1,
            Some(b'I') => return Err(self.error("JSON has no NaN and no Infinity")),
            _ => self.digits()?,
        }
        if self.take(|byte| byte == b'.') {
            self.digits()?;
        }
        if self.take(|byte| matches!(byte, b'e' | b'E')) {
            self.take(|byte| matches!(byte, b'+' | b'-'));
            self.digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    fn digits(&mut self) -> Result<()> {
        if !self.take(|byte| byte.is_ascii_digit()) {
            return Err(self.error("expected a digit"));
        }
        while self.take(|byte| byte.is_ascii_digit()) {}
        Ok(())
    }

    /// A string, from its opening quote past its closing one.
    fn string(&mut self) -> Result<Cow<'text, str>> {
        self.at += 1;
        let start = self.at;
        self.skip_plain();
        if self.byte() == Some(b'"') {
            self.at += 1;
            return Ok(self.text[start..self.at - 1].into());
        }
        let mut string = String::new();
        let mut from = start;
        loop {
            self.skip_plain();
            string.push_str(&self.text[from..self.at]);
            match self.byte() {
                Some(b'"') => break,
                Some(b'\\') => string.push(self.escape()?),
                Some(_) => return Err(self.error("a control character in a string must be escaped")),
                None => return Err(self.error("the string has no end")),
            }
            from = self.at;
        }
        self.at += 1;
        Ok(string.into())
    }

    /// Moves to the next quote, backslash or control character.
    fn skip_plain(&mut self) {
        let rest = &self.bytes[self.at..];
        let (words, few) = rest.as_chunks::<8>();
        for (at, &word) in words.iter().enumerate() {
            if let Some(place) = first_special(word) {
                self.at += 8 * at + place;
                return;
            }
        }
        let special = |&byte: &u8| byte == b'"' || byte == b'\\' || byte < b' ';
        self.at += 8 * words.len() + few.iter().position(special).unwrap_or(few.len());
    }

    fn escape(&mut self) -> Result<char> {
        let escaped = self.bytes.get(self.at + 1).copied();
        let c = match escaped {
            Some(b'u') => return self.unicode_escape(),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            _ => return Err(self.error("JSON has no such escape")),
        };
        self.at += 2;
        Ok(c)
    }

    fn unicode_escape(&mut self) -> Result<char> {
        let start = self.at;
        let first = self.code_unit()?;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        if first < 0xDC00 && self.bytes[self.at..].starts_with(b"\\u") {
            let second = self.code_unit()?;
            if (0xDC00..0xE000).contains(&second) {
                let code_point = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return char::from_u32(code_point).ok_or_else(|| self.error("no such code point"));
            }
        }
        self.at = start;
        Err(self.error("a lone surrogate: no text can hold it"))
    }

    /// The number of `\uXXXX`.
    fn code_unit(&mut self) -> Result<u32> {
        let digits = self.text.get(self.at + 2..self.at + 6).unwrap_or_default();
        let is_hexadecimal = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        match u32::from_str_radix(digits, 16) {
            Ok(unit) if is_hexadecimal => {
                self.at += 6;
                Ok(unit)
            }
            _ => Err(self.error("expected four hexadecimal digits after `\\u`")),
        }
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        while self.take(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')) {}
        self.byte()
    }

    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, wanted: impl Fn(u8) -> bool) -> bool {
        let taken = self.byte().is_some_and(wanted);
        self.at += usize::from(taken);
        taken
    }

    fn error(&self, message: impl Into<String>) -> Error {
        Error::syntax(self.text, self.at, message)
    }
}

/// The place of the first quote, backslash or control character among eight bytes, all of which are looked at together.
///
/// Taking one from each byte borrows from the high bit of those that were nought, and from the bytes after such; so what is
/// found first is right, and that is all that is asked for.
fn first_special(bytes: [u8; 8]) -> Option<usize> {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = EACH << 7;
    let word = u64::from_le_bytes(bytes);
    let below = |word: u64, bound: u8| word.wrapping_sub(EACH * u64::from(bound)) & !word;
    let is = |byte: u8| below(word ^ (EACH * u64::from(byte)), 1);
    let found = (below(word, b' ') | is(b'"') | is(b'\\')) & HIGH;
    (found != 0).then(|| found.trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_bytes_are_found_wherever_they_stand() {
        let is_special = |byte: u8| byte == b'"' || byte == b'\\' || byte < b' ';
        for plain in [b'a', 0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7F, 0x80, 0xA2, 0xFF] {
            assert_eq!(first_special([plain; 8]), None);
            for byte in 0..=255 {
                for place in 0..8 {
                    let mut bytes = [plain; 8];
                    bytes[place..].fill(byte);
                    assert_eq!(first_special(bytes), is_special(byte).then_some(place));
                }
            }
        }
    }
}
