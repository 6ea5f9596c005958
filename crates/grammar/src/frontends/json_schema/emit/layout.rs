//! White space and separators: how the parts of a value are put together.

use std::sync::OnceLock;

use super::super::{Options, Spelling};
use crate::error::Result;
use crate::frontends::regex;
use crate::ir::{Automaton, Builder, ExprId};
use crate::limits::Budget;
use crate::regular::CharSet;

/// The depth to which values are indented; what lies deeper is written in one line.
///
/// Indentation needs a rule for every depth, and a recursive schema has no last one.
const MAX_INDENTED: u32 = 24;

/// The widest indentation of a level, where white space is free and written as printers write it: eight spaces, or a tab.
const SPACES: usize = 8;

/// How far down lines are indented by how deep they are. From here on they may be indented as far as [`MOST_LEVELS`] would
/// be: what lies there may be of any depth, and a rule for each would be many.
const DEEP: u32 = 4;
const MOST_LEVELS: usize = 16;

/// How deep a value lies, as far as its white space depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Depth(u32);

impl Depth {
    /// The same as a number, from 0 on.
    pub(super) fn level(self) -> u8 {
        self.0 as u8
    }
}

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
    /// What pretty printers write, by how deep it stands.
    Printed { spaces: [ExprId; DEEP as usize + 1] },
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
            (None, true, _)
                if options.spelling == Spelling::Canonical && options.max_whitespace.is_none() =>
            {
                Style::Printed { spaces: Self::printed(builder, budget)? }
            }
            (None, true, _) => Style::Free { space: Self::free(builder, options) },
            (None, false, None) => Style::Line,
            (None, false, Some(width)) => Style::Indented { width },
        };
        let (usual_item, usual_key) = match (&options.separators, &style) {
            (_, Style::Free { .. } | Style::Printed { .. }) => (",", ":"),
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

    /// The depths that differ in their white space.
    pub(super) fn depths(&self) -> impl Iterator<Item = Depth> + use<> {
        let last = match self.style {
            Style::Free { .. } | Style::Line => 0,
            Style::Printed { .. } => DEEP,
            Style::Indented { .. } => MAX_INDENTED,
        };
        (0..=last).map(Depth)
    }

    /// The depth of what lies in a value.
    pub(super) fn below(&self, depth: Depth) -> Depth {
        match self.style {
            Style::Indented { .. } => Depth((depth.0 + 1).min(MAX_INDENTED)),
            Style::Printed { .. } => Depth((depth.0 + 1).min(DEEP)),
            _ => depth,
        }
    }

    /// The depth at which a value is written that may be anything, and so of any depth itself.
    pub(super) fn of_anything(&self, depth: Depth) -> Depth {
        match self.style {
            Style::Printed { .. } => Depth(DEEP),
            _ => depth,
        }
    }

    /// White space where it is free and of any depth, else nothing.
    pub(super) fn space(&self, builder: &mut Builder) -> ExprId {
        self.space_at(Depth(DEEP)).unwrap_or_else(|| builder.empty())
    }

    /// White space around values at a depth, where it is free.
    fn space_at(&self, depth: Depth) -> Option<ExprId> {
        match &self.style {
            Style::Free { space } => Some(*space),
            Style::Printed { spaces } => Some(spaces[depth.0 as usize]),
            _ => None,
        }
    }

    fn free(builder: &mut Builder, options: &Options) -> ExprId {
        let space = builder.class(CharSet::new([('\t', '\n'), ('\r', '\r'), (' ', ' ')]));
        builder.repeat(space, 0, options.max_whitespace)
    }

    /// What pretty printers write at each depth: nothing, a space, or a line break and the indentation of the next line.
    fn printed(builder: &mut Builder, budget: &Budget) -> Result<[ExprId; DEEP as usize + 1]> {
        static KNOWN: [OnceLock<Automaton>; DEEP as usize + 1] =
            [const { OnceLock::new() }; DEEP as usize + 1];
        let mut spaces = [builder.empty(); DEEP as usize + 1];
        for (depth, (known, space)) in KNOWN.iter().zip(&mut spaces).enumerate() {
            if known.get().is_none() {
                let levels = if depth < DEEP as usize { depth } else { MOST_LEVELS };
                let _ = known.set(indentation(levels, budget)?);
            }
            *space = known.get().map_or(builder.empty(), |known| builder.automaton(known.clone()));
        }
        Ok(spaces)
    }

    /// What stands between a key and its value at a depth.
    pub(super) fn colon(&self, builder: &mut Builder, depth: Depth) -> ExprId {
        match self.space_at(depth) {
            Some(space) => builder.seq([space, self.key_separator, space]),
            None => self.key_separator,
        }
    }

    /// What stands around the members of a list that lie at a depth, where white space is free.
    pub(super) fn freely_around(&self, builder: &mut Builder, depth: Depth) -> Option<Around> {
        let (space, close) = (self.space_at(depth)?, builder.empty());
        let separator = builder.seq([self.item_separator, space]);
        Some(Around { open: space, after: space, separator, close, tight_if_empty: false })
    }

    /// What stands around the members of a list at `depth`.
    pub(super) fn around(&self, builder: &mut Builder, depth: Depth) -> Around {
        if let Some(around) = self.freely_around(builder, self.below(depth)) {
            return around;
        }
        let empty = builder.empty();
        match self.style {
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

/// Nothing, a space, or a line break with an indentation of at most so many levels.
///
/// It is an automaton, and not an expression that counts, so that its states are the same in all grammars.
fn indentation(levels: usize, budget: &Budget) -> Result<Automaton> {
    let counted = |count: usize| u32::try_from(count).ok();
    let make = |builder: &mut Builder| {
        let [space, tab, line_break] = [" ", "\t", "\n"].map(|text| builder.bytes(text));
        let spaces = builder.repeat(space, 0, counted(SPACES * levels));
        let tabs = builder.repeat(tab, 0, counted(levels));
        let indented = builder.alt([spaces, tabs]);
        let line = builder.seq([line_break, indented]);
        let some = builder.alt([space, line]);
        Ok(builder.optional(some))
    };
    Automaton::of_expr(make, budget)
}
