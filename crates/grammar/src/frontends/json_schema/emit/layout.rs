//! White space and separators: how the parts of a value are put together.

use super::super::{Options, Spelling};
use crate::error::Result;
use crate::frontends::regex;
use crate::ir::{Builder, ExprId};
use crate::limits::Budget;
use crate::regular::CharSet;

/// The depth to which values are indented; what lies deeper is written in one line.
///
/// Indentation needs a rule for every depth, and a recursive schema has no last one.
const MAX_INDENTED: u32 = 24;

/// The widest indentation of a line, where white space is free and written as printers write it: sixteen levels of eight
/// spaces, or of a tab.
const MAX_SPACES: u32 = 128;
const MAX_TABS: u32 = 16;

/// How deep a value lies, as far as its white space depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Depth(u32);

/// The white space and the separators of one conversion.
#[derive(Debug)]
pub(super) struct Layout {
    style: Style,
    item_separator: ExprId,
    key_separator: ExprId,
}

#[derive(Debug)]
enum Style {
    /// This between any two tokens.
    Free { space: ExprId },
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
    pub(super) fn new(options: &Options, builder: &mut Builder, budget: &Budget) -> Result<Self> {
        let mut read = |name: &str, pattern: &Option<String>| match pattern {
            None => Ok(None),
            Some(pattern) => {
                let expr = regex::parse(pattern, &regex::Syntax::part(), builder, budget);
                expr.map(Some).map_err(|error| error.without_place(&format!("in the pattern of {name}")))
            }
        };
        let patterns = &options.patterns;
        let whitespace = read("white space", &patterns.whitespace)?;
        let item = read("the separator of items", &patterns.item_separator)?;
        let key = read("the separator of keys", &patterns.key_separator)?;
        let style = match (whitespace, options.any_whitespace, options.indent) {
            (Some(pattern), ..) => Style::Free { space: builder.optional(pattern) },
            (None, true, _) => Style::Free { space: Self::free(builder, options) },
            (None, false, None) => Style::Line,
            (None, false, Some(width)) => Style::Indented { width },
        };
        let (usual_item, usual_key) = match (&options.separators, &style) {
            (_, Style::Free { .. }) => (",", ":"),
            (Some((item, key)), _) => (item.as_str(), key.as_str()),
            (None, Style::Indented { .. }) => (",", ": "),
            (None, Style::Line) => (", ", ": "),
        };
        let item_separator = item.unwrap_or_else(|| builder.bytes(usual_item));
        let key_separator = key.unwrap_or_else(|| builder.bytes(usual_key));
        Ok(Layout { style, item_separator, key_separator })
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
            Style::Free { space } => space,
            _ => builder.empty(),
        }
    }

    fn free(builder: &mut Builder, options: &Options) -> ExprId {
        if options.spelling == Spelling::Canonical && options.max_whitespace.is_none() {
            return Self::printed(builder);
        }
        let space = builder.class(CharSet::new([('\t', '\n'), ('\r', '\r'), (' ', ' ')]));
        builder.repeat(space, 0, options.max_whitespace)
    }

    /// What pretty printers write: nothing, a space, or a line break and the indentation of the next line.
    fn printed(builder: &mut Builder) -> ExprId {
        let (space, tab, line_break) = (builder.bytes(" "), builder.bytes("\t"), builder.bytes("\n"));
        let indentation =
            [builder.repeat(space, 1, Some(MAX_SPACES)), builder.repeat(tab, 1, Some(MAX_TABS))];
        let indentation = builder.alt(indentation);
        let indentation = builder.optional(indentation);
        let line = builder.seq([line_break, indentation]);
        let some = builder.alt([space, line]);
        builder.optional(some)
    }

    /// What stands between a key and its value.
    pub(super) fn colon(&self, builder: &mut Builder) -> ExprId {
        match self.style {
            Style::Free { space } => builder.seq([space, self.key_separator, space]),
            _ => self.key_separator,
        }
    }

    /// What stands around the members of a list at `depth`.
    pub(super) fn around(&self, builder: &mut Builder, depth: Depth) -> Around {
        let empty = builder.empty();
        match self.style {
            Style::Free { space } => {
                let separator = builder.seq([self.item_separator, space]);
                Around { open: space, after: space, separator, close: empty, tight_if_empty: false }
            }
            Style::Indented { width } if depth.0 < MAX_INDENTED => {
                let line = |depth: u32| format!("\n{}", " ".repeat((width * depth) as usize));
                let inner = builder.bytes(line(depth.0 + 1));
                let separator = builder.seq([self.item_separator, inner]);
                let close = builder.bytes(line(depth.0));
                Around { open: inner, after: empty, separator, close, tight_if_empty: true }
            }
            _ => {
                let separator = self.item_separator;
                Around { open: empty, after: empty, separator, close: empty, tight_if_empty: false }
            }
        }
    }
}
