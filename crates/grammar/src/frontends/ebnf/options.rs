//! Rule options: what stands between `[` and `]` right behind a rule's name.

use super::escape::Context;
use super::lexer::{is_name_byte, string_literal};
use super::suggest;
use crate::error::{Error, Result};
use crate::ir::RuleOptions;

const NAMES: [&str; 9] = [
    "max_tokens",
    "max_chars",
    "capture",
    "capture_hidden_suffix_bytes",
    "capture_hidden_stop_bytes",
    "stop_capture",
    "lazy",
    "temperature",
    "distinct_items",
];

/// What XGrammar's printer writes for markers of more than one length. The numbers are those of rules inside of XGrammar,
/// which a text does not have.
const PRIVATE_NAMES: [&str; 2] = ["capture_hidden_body_rule_id", "capture_hidden_marker_rule_id"];

/// Whether the `[` at `open` begins rule options, that is whether its `]` is followed by `::=`.
///
/// A name that is first on its line may also continue the sequence of the line before, and then `[` is a class.
pub(super) fn begin_here(source: &str, open: usize, skip_blank: impl FnOnce(usize) -> usize) -> bool {
    let bytes = source.as_bytes();
    let mut at = open + 1;
    let mut in_string = false;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\n' => return false,
            b'\\' => at += 1,
            b'"' => in_string = !in_string,
            b']' if !in_string => return source[skip_blank(at + 1)..].starts_with("::="),
            _ => {}
        }
        at += 1;
    }
    false
}

/// Parses the options whose `[` is at `open`, and gives the offset behind their `]`.
pub(super) fn parse(source: &str, open: usize, rule: &str) -> Result<(RuleOptions, usize)> {
    let mut reader = Reader { source, at: open + 1 };
    let mut options = RuleOptions::default();
    let mut seen: Vec<&str> = Vec::new();
    loop {
        reader.skip_spaces();
        let name_at = reader.at;
        let name = reader.word();
        if seen.contains(&name) {
            return Err(Error::syntax(source, name_at, format!("the option `{name}` is given twice")));
        }
        reader.option(name, name_at, rule, &mut options)?;
        seen.push(name);
        reader.skip_spaces();
        match reader.bump() {
            Some(b',') => {}
            Some(b']') => {
                if options.stop_capture.is_some()
                    && !seen.iter().any(|name| name.starts_with("capture_hidden_"))
                {
                    let message = "`stop_capture` needs `capture_hidden_stop_bytes=N`";
                    return Err(Error::syntax(source, open, message));
                }
                return Ok((options, reader.at));
            }
            _ => return Err(Error::syntax(source, reader.at.saturating_sub(1), "expected `,` or `]`")),
        }
    }
}

struct Reader<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Reader<'s> {
    fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    fn bump(&mut self) -> Option<u8> {
        let byte = self.peek();
        self.at += usize::from(byte.is_some());
        byte
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn take(&mut self, fits: impl Fn(u8) -> bool) -> &'s str {
        let start = self.at;
        while self.peek().is_some_and(&fits) {
            self.at += 1;
        }
        &self.source[start..self.at]
    }

    fn word(&mut self) -> &'s str {
        self.take(is_name_byte)
    }

    /// Whether `=` comes next; it is read.
    fn equals(&mut self) -> bool {
        self.skip_spaces();
        let found = self.peek() == Some(b'=');
        self.at += usize::from(found);
        if found {
            self.skip_spaces();
        }
        found
    }

    fn option(&mut self, name: &str, at: usize, rule: &str, options: &mut RuleOptions) -> Result<()> {
        let source = self.source;
        let has_value = self.equals();
        let needs = |wanted: bool, what: &str| {
            if has_value == wanted {
                Ok(())
            } else {
                Err(Error::syntax(source, at, format!("the option `{name}` takes {what}")))
            }
        };
        match name {
            "max_tokens" => {
                needs(true, "a number: `max_tokens=N`")?;
                options.max_tokens = Some(self.integer(u32::MAX)?);
            }
            "max_chars" => {
                needs(true, "a number: `max_chars=N`")?;
                options.max_chars = Some(self.integer(i32::MAX.unsigned_abs())?);
            }
            "temperature" => {
                needs(true, "a number: `temperature=F`")?;
                options.temperature = Some(self.temperature()?);
            }
            "lazy" => {
                needs(false, "no value")?;
                options.lazy = true;
            }
            "distinct_items" => {
                options.distinct_items = true;
                options.distinct_at =
                    if has_value { Some(self.text("the place of an array")?) } else { None };
            }
            "capture" if has_value => options.capture = Some(self.capture_name()?),
            "capture" => options.capture = Some(rule.to_owned()),
            "capture_hidden_suffix_bytes" | "capture_hidden_stop_bytes" if options.hidden_bytes > 0 => {
                return Err(Error::syntax(source, at, "a capture has one hidden end"));
            }
            "capture_hidden_suffix_bytes" | "capture_hidden_stop_bytes" => {
                needs(true, "a number of bytes")?;
                options.hidden_bytes = self.integer(u32::MAX)?;
                options.hides_stop = name == "capture_hidden_stop_bytes";
            }
            "stop_capture" => {
                needs(true, "a name: `stop_capture=\"name\"`")?;
                options.stop_capture = Some(self.capture_name()?);
            }
            _ if PRIVATE_NAMES.contains(&name) => {
                return Err(Error::unsupported(format!("the rule option `{name}` is not supported"))
                    .at(crate::error::Place::in_text(source, at)));
            }
            _ => return Err(unknown(source, at, name)),
        }
        Ok(())
    }

    fn integer(&mut self, most: u32) -> Result<u32> {
        let at = self.at;
        let digits = self.take(|byte| byte.is_ascii_digit());
        if digits.is_empty() {
            return Err(Error::syntax(self.source, at, "expected a number without a sign"));
        }
        let value = digits.parse().ok().filter(|&value: &u32| value <= most);
        value.ok_or_else(|| Error::syntax(self.source, at, format!("the greatest value here is {most}")))
    }

    fn temperature(&mut self) -> Result<f32> {
        let at = self.at;
        let text =
            self.take(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
        match text.parse::<f32>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
            _ => Err(Error::syntax(self.source, at, "a temperature is a finite number that is not negative")),
        }
    }

    fn capture_name(&mut self) -> Result<String> {
        let at = self.at;
        let name = self.text("the name of a capture")?;
        if name.is_empty() {
            return Err(Error::syntax(self.source, at, "the name of a capture is empty"));
        }
        Ok(name)
    }

    fn text(&mut self, what: &str) -> Result<String> {
        let at = self.at;
        if self.peek() != Some(b'"') {
            return Err(Error::syntax(self.source, at, format!("{what} stands in double quotes")));
        }
        let (text, after) = string_literal(self.source, at, Context::Literal)?;
        self.at = after;
        Ok(text.into_owned())
    }
}

fn unknown(source: &str, at: usize, name: &str) -> Error {
    if name.is_empty() {
        return Error::syntax(source, at, "expected the name of a rule option")
            .with_help(format!("the options are {}", NAMES.join(", ")));
    }
    let error = Error::syntax(source, at, format!("there is no rule option `{name}`"));
    match suggest::nearest(name, NAMES) {
        Some(near) => error.with_help(format!("did you mean `{near}`?")),
        None => error.with_help(format!("the options are {}", NAMES.join(", "))),
    }
}
