//! What follows an opening parenthesis.

use super::parser::{Group, Parser};
use super::syntax::Flags;
use crate::error::{Place, Result};

/// What a group is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GroupKind {
    /// It only groups; captures are not kept.
    Plain,
    /// A lookahead or lookbehind.
    Look { behind: bool, negated: bool },
}

/// Openings that are refused, with their names.
const REFUSED: &[(&str, &str)] = &[
    ("?>", "atomic groups are not supported"),
    ("?(", "conditional groups are not supported"),
    ("?|", "branch reset groups are not supported"),
    ("?P=", "backreferences are not supported: they are not regular"),
    ("?P>", "recursion is not supported in a regex: use a grammar"),
    ("?&", "recursion is not supported in a regex: use a grammar"),
    ("?R", "recursion is not supported in a regex: use a grammar"),
    ("?~", "absent groups are not supported"),
    ("*", "verbs such as `(*FAIL)` are not supported"),
];

/// Openings of lookarounds: `(behind, negated)`.
const LOOKS: &[(&str, (bool, bool))] =
    &[("?=", (false, false)), ("?!", (false, true)), ("?<=", (true, false)), ("?<!", (true, true))];

impl Parser<'_> {
    /// After `(`.
    pub(super) fn open_group(&mut self, here: usize) -> Result<()> {
        if let Some((_, message)) = REFUSED.iter().find(|(opening, _)| self.rest().starts_with(opening)) {
            return Err(self.unsupported(here, *message));
        }
        if self.rest().starts_with('?') && self.rest()[1..].starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.unsupported(here, "recursion is not supported in a regex: use a grammar"));
        }
        for &(opening, (behind, negated)) in LOOKS {
            if self.eat(opening) {
                return self.enter(GroupKind::Look { behind, negated }, here, self.flags);
            }
        }
        if self.eat("?#") {
            return self.skip_comment(here);
        }
        if self.eat("?P<") || self.eat("?<") {
            self.group_name()?;
        } else if !self.eat("?:") && self.eat("?") {
            return self.inline_flags(here);
        }
        self.enter(GroupKind::Plain, here, self.flags)
    }

    fn enter(&mut self, kind: GroupKind, here: usize, flags_outside: Flags) -> Result<()> {
        let group = Group::new(kind, here, flags_outside);
        self.outer.push(std::mem::replace(&mut self.group, group));
        self.budget
            .check_depth(self.outer.len())
            .map_err(|error| error.at(Place::in_text(self.pattern, here)))
    }

    /// After `)`.
    pub(super) fn close_group(&mut self, here: usize) -> Result<()> {
        let Some(outer) = self.outer.pop() else {
            return Err(self.error(here, "this parenthesis closes nothing"));
        };
        let body = self.finish_group();
        let group = std::mem::replace(&mut self.group, outer);
        self.flags = group.flags_outside;
        let node = match group.kind {
            GroupKind::Plain => body,
            GroupKind::Look { behind, negated } => self.ast.look(behind, negated, body, group.open),
        };
        self.push(node);
        Ok(())
    }

    fn skip_comment(&mut self, here: usize) -> Result<()> {
        let end = self.rest().find(')').ok_or_else(|| self.error(here, "this comment is never closed"))?;
        self.at += end + 1;
        Ok(())
    }

    /// A name up to `>`. It is checked and forgotten.
    fn group_name(&mut self) -> Result<()> {
        let start = self.at;
        let end =
            self.rest().find('>').ok_or_else(|| self.error(start, "this group name is never closed"))?;
        let name = &self.rest()[..end];
        let mut chars = name.chars();
        let letter = |c: char| c.is_alphabetic() || c == '_' || c == '$';
        let well_formed = chars.next().is_some_and(letter)
            && chars.all(|c| letter(c) || c.is_alphanumeric() || matches!(c, '.' | '[' | ']' | '-'));
        if !well_formed {
            return Err(self.error(start, format!("{name:?} is not a group name")));
        }
        self.at += end + 1;
        Ok(())
    }

    /// `(?ims-x)` for the rest of the group, or `(?ims-x:` for a group of its own; after `(?`.
    fn inline_flags(&mut self, here: usize) -> Result<()> {
        let flags_outside = self.flags;
        let mut flags = self.flags;
        let mut value = true;
        loop {
            let at = self.at;
            match self.bump() {
                Some(':') => {
                    self.flags = flags;
                    return self.enter(GroupKind::Plain, here, flags_outside);
                }
                Some(')') => {
                    self.flags = flags;
                    return Ok(());
                }
                Some('-') if value => value = false,
                // Python's name for the opposite of `u`.
                Some('a') if value => flags.unicode_classes = false,
                // Rust's flag that swaps greedy and lazy, which match the same strings.
                Some('U') => {}
                Some(letter) => match flags.by_letter(letter).filter(|_| letter != 'n') {
                    Some(flag) => *flag = value,
                    None => {
                        return Err(
                            self.unsupported(at, format!("unknown group or flag {letter:?} after `(?`"))
                        );
                    }
                },
                None => return Err(self.error(here, "this group is never closed")),
            }
        }
    }
}
