//! White space and separators: how the parts of a value are put together.

use super::super::Options;
use crate::ir::{Builder, ExprId};
use crate::regular::CharSet;

/// The depth to which values are indented; what lies deeper is written in one line.
///
/// Indentation needs a rule for every depth, and a recursive schema has no last one.
const MAX_INDENTED: u32 = 24;

/// How deep a value lies, as far as its white space depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Depth(u32);

/// The white space and the separators of one conversion.
#[derive(Debug)]
pub(super) struct Layout {
    style: Style,
    item_separator: String,
    key_separator: String,
}

#[derive(Debug)]
enum Style {
    /// Any white space, at most so much at one place.
    Free { most: Option<u32> },
    /// In one line.
    Line,
    /// Each member in a line of its own.
    Indented { width: u32 },
}

/// What stands around the members of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    /// After the opening bracket.
    pub(super) open: ExprId,
    /// After a member.
    pub(super) after: ExprId,
    /// Between the white space after a member and the next one.
    pub(super) separator: ExprId,
    /// Before the closing bracket, if there are members.
    pub(super) close: ExprId,
    /// Whether `open` and `close` are left out if there is no member.
    pub(super) tight_if_empty: bool,
}

impl Layout {
    /// The layout that the options ask for.
    pub(super) fn new(options: &Options) -> Self {
        let style = match (options.any_whitespace, options.indent) {
            (true, _) => Style::Free { most: options.max_whitespace },
            (false, None) => Style::Line,
            (false, Some(width)) => Style::Indented { width },
        };
        let (item, key) = match &options.separators {
            Some((item, key)) => (item.as_str(), key.as_str()),
            None if matches!(style, Style::Indented { .. }) => (",", ": "),
            None => (", ", ": "),
        };
        Layout { style, item_separator: item.to_owned(), key_separator: key.to_owned() }
    }

    /// The depth of the root.
    pub(super) fn start() -> Depth {
        Depth(0)
    }

    /// The depth of what lies in a value.
    pub(super) fn below(&self, depth: Depth) -> Depth {
        match self.style {
            Style::Indented { .. } => Depth((depth.0 + 1).min(MAX_INDENTED)),
            _ => depth,
        }
    }

    /// White space where it is free, else nothing.
    pub(super) fn space(&self, builder: &mut Builder) -> ExprId {
        match self.style {
            Style::Free { most } => Self::free(builder, most),
            _ => builder.empty(),
        }
    }

    fn free(builder: &mut Builder, most: Option<u32>) -> ExprId {
        let space = builder.class(CharSet::new([('\t', '\n'), ('\r', '\r'), (' ', ' ')]));
        builder.repeat(space, 0, most)
    }

    /// What stands between a key and its value.
    pub(super) fn colon(&self, builder: &mut Builder) -> ExprId {
        match self.style {
            Style::Free { most } => {
                let space = Self::free(builder, most);
                let colon = builder.bytes(":");
                builder.seq([space, colon, space])
            }
            _ => builder.bytes(&self.key_separator),
        }
    }

    /// What stands around the members of a list at `depth`.
    pub(super) fn around(&self, builder: &mut Builder, depth: Depth) -> Around {
        let empty = builder.empty();
        match self.style {
            Style::Free { most } => {
                let space = Self::free(builder, most);
                let comma = builder.bytes(",");
                let separator = builder.seq([comma, space]);
                Around { open: space, after: space, separator, close: empty, tight_if_empty: false }
            }
            Style::Indented { width } if depth.0 < MAX_INDENTED => {
                let line = |depth: u32| format!("\n{}", " ".repeat((width * depth) as usize));
                let inner = builder.bytes(line(depth.0 + 1));
                let item = builder.bytes(&self.item_separator);
                let separator = builder.seq([item, inner]);
                let close = builder.bytes(line(depth.0));
                Around { open: inner, after: empty, separator, close, tight_if_empty: true }
            }
            _ => {
                let separator = builder.bytes(&self.item_separator);
                Around { open: empty, after: empty, separator, close: empty, tight_if_empty: false }
            }
        }
    }
}
