//! The one error type of this crate.
//!
//! An error always says what is wrong; where it can, it also says where ([`Place`]) and what to do ([`Error::help`]).
//! The kinds are what a caller acts upon: a syntax error is the author's, a limit is a matter of settings, an
//! unsupported construct is ours.

use std::fmt;

/// What kind of failure it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text does not follow the syntax of its front end.
    Syntax,
    /// The grammar is well formed but means nothing: an undefined rule, an empty language.
    Invalid,
    /// A construct that cannot be enforced exactly, and is therefore refused.
    Unsupported,
    /// A limit of [`crate::Limits`] was reached.
    Limit,
    /// The caller cancelled the work.
    Cancelled,
}

/// Where in the input the failure is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// No place can be named.
    #[default]
    Nowhere,
    /// A place in a text: line and column count from 1, the column in code points.
    Text {
        /// The line, from 1.
        line: usize,
        /// The column in code points, from 1.
        column: usize,
        /// The text of that line, shortened around the column where it is long.
        excerpt: String,
        /// How many code points of the excerpt stand before the caret.
        caret: usize,
    },
    /// A JSON Pointer into a document.
    Pointer(String),
    /// A path into a structural tag, such as `format.tags[2].content`.
    Path(String),
}

impl Place {
    /// How much of a line is quoted on each side of the caret, in code points.
    const EXCERPT_RADIUS: usize = 60;

    /// The place of byte `offset` in `source`; offsets past the end or inside a code point are moved back.
    pub fn in_text(source: &str, offset: usize) -> Self {
        let mut offset = offset.min(source.len());
        while !source.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &source[..offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line_end = source[offset..].find('\n').map_or(source.len(), |at| offset + at);
        let column = source[line_start..offset].chars().count();
        let skip = column.saturating_sub(Self::EXCERPT_RADIUS);
        let excerpt = source[line_start..line_end]
            .chars()
            .skip(skip)
            .take(2 * Self::EXCERPT_RADIUS)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        Place::Text {
            line: before.matches('\n').count() + 1,
            column: column + 1,
            excerpt,
            caret: column - skip,
        }
    }
}

/// A failure, with its place and a hint where there is one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    place: Place,
    help: Option<String>,
}

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A failure without a place; add one with [`Error::at`].
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, message: cut(message.into()), place: Place::Nowhere, help: None }
    }

    /// A syntax error at byte `offset` of `source`.
    pub fn syntax(source: &str, offset: usize, message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Syntax, message).at(Place::in_text(source, offset))
    }

    /// A construct that is refused because it cannot be enforced exactly.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Unsupported, message)
    }

    /// A limit that was reached: what, how much it was, and the name of the setting.
    pub fn limit(what: &str, limit: impl fmt::Display, setting: &str) -> Self {
        Error::new(ErrorKind::Limit, format!("{what} exceeds the limit of {limit}"))
            .with_help(format!("raise `{setting}` in the limits if the input is trusted"))
    }

    /// The same error at `place`, unless it has one already.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        if self.place == Place::Nowhere {
            self.place = place;
        }
        self
    }

    /// The same error without its place, told as one of a part of something larger, where it can be placed anew.
    #[must_use]
    pub fn without_place(&self, part: &str) -> Self {
        let message = match &self.place {
            Place::Text { column, .. } => format!("{part}, column {column}: {}", self.message),
            _ => format!("{part}: {}", self.message),
        };
        let help = self.help.clone().filter(|_| self.kind != ErrorKind::Cancelled);
        Error { kind: self.kind, message: cut(message), place: Place::Nowhere, help }
    }

    /// The same error with a line that says what to do.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(cut(help.into()));
        self
    }

    /// What kind of failure it was.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What to do about it, where that is known.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

/// A text for people to read: what is long is told by its beginning and its end. Messages repeat what strangers wrote, and
/// that may be megabytes.
fn cut(text: String) -> String {
    const LONGEST: usize = 1_000;
    const END: usize = 200;
    if text.len() <= LONGEST {
        return text;
    }
    let boundary_from =
        |place: usize| (place..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    let (first, last) = (boundary_from(LONGEST - END), boundary_from(text.len() - END));
    format!("{} ... {}", &text[..first], &text[last..])
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Nowhere => write!(out, "{}", self.message)?,
            Place::Pointer(pointer) => write!(out, "at {:?}: {}", cut(pointer.clone()), self.message)?,
            Place::Path(path) => write!(out, "at {}: {}", cut(path.clone()), self.message)?,
            Place::Text { line, column, excerpt, caret } => {
                writeln!(out, "line {line}, column {column}: {}", self.message)?;
                write!(out, "  {excerpt}\n  {:caret$}^", "")?;
            }
        }
        match &self.help {
            Some(help) => write!(out, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_cut_between_characters() {
        let message = format!("there is no type \"{}\" here", "\u{e9}".repeat(100_000));
        let error = Error::new(ErrorKind::Invalid, message).at(Place::Pointer("/\u{1f600}".repeat(1_000)));
        let told = error.to_string();
        assert!(told.len() < 5_000, "{}", told.len());
        assert!(told.contains("there is no type") && told.ends_with("\u{e9}\" here"), "{told}");
    }

    #[test]
    fn what_is_short_is_not() {
        let message = "x".repeat(1_000);
        assert_eq!(Error::new(ErrorKind::Invalid, message.clone()).to_string(), message);
    }
}
