//! The structure of a pattern: groups, alternatives, quantifiers.
//!
//! Open groups are a list, not native recursion, so a thousand parentheses cost a thousand entries. Runs of plain
//! characters are kept as one text; a quantifier takes the last character off it.

use rustc_hash::FxHashMap;

use super::ast::{Ast, NodeId};
use super::escapes::ClassName;
use super::groups::GroupKind;
use super::syntax::{Flags, Syntax};
use crate::error::{Error, Place, Result};
use crate::limits::Budget;
use crate::regular::CharSet;

/// The line ends of ECMA-262.
const LINE_ENDS: [(char, char); 3] = [('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')];

/// A pattern that was read.
pub(super) struct Parsed {
    pub(super) ast: Ast,
    pub(super) root: NodeId,
    /// Whether white space is ignored where the pattern ends, and a comment may be open.
    pub(super) ends_extended: bool,
}

/// A group that is still open; the outermost is the pattern itself.
pub(super) struct Group {
    pub(super) kind: GroupKind,
    pub(super) open: usize,
    pub(super) flags_outside: Flags,
    alternatives: Vec<NodeId>,
    items: Vec<NodeId>,
    text: String,
    /// How many quantifiers stand on the last item, one on the other.
    stacked: usize,
}

impl Group {
    pub(super) fn new(kind: GroupKind, open: usize, flags_outside: Flags) -> Self {
        Group {
            kind,
            open,
            flags_outside,
            alternatives: Vec::new(),
            items: Vec::new(),
            text: String::new(),
            stacked: 0,
        }
    }
}

pub(super) struct Parser<'p> {
    pub(super) pattern: &'p str,
    pub(super) at: usize,
    pub(super) flags: Flags,
    pub(super) ast: Ast,
    pub(super) budget: &'p Budget,
    /// The groups around the current one.
    pub(super) outer: Vec<Group>,
    pub(super) group: Group,
    folded: FxHashMap<char, NodeId>,
    /// Classes that were looked up, by their name and whether case is folded.
    pub(super) named: FxHashMap<(ClassName, bool), CharSet>,
    /// `.` without the flag `s`.
    inside_line: NodeId,
}

impl<'p> Parser<'p> {
    pub(super) fn new(pattern: &'p str, syntax: Syntax, budget: &'p Budget) -> Self {
        let mut ast = Ast::default();
        let flags = syntax.flags;
        let line_ends = if flags.newline_only { &LINE_ENDS[..1] } else { &LINE_ENDS[..] };
        let inside_line = ast.class(CharSet::new(line_ends.iter().copied()).complement());
        Parser {
            pattern,
            at: 0,
            flags,
            ast,
            budget,
            outer: Vec::new(),
            group: Group::new(GroupKind::Plain, 0, flags),
            folded: FxHashMap::default(),
            named: FxHashMap::default(),
            inside_line,
        }
    }

    pub(super) fn parse(mut self) -> Result<Parsed> {
        while self.skip_ignored() {
            self.ast.check(self.budget)?;
            self.item()?;
        }
        if !self.outer.is_empty() {
            return Err(self.error(self.group.open, "this group is never closed"));
        }
        let root = self.finish_group();
        Ok(Parsed { root, ends_extended: self.flags.extended, ast: self.ast })
    }

    fn item(&mut self) -> Result<()> {
        let here = self.at;
        let c = self.bump().expect("the caller has seen that there is more");
        match c {
            '(' => self.open_group(here)?,
            ')' => self.close_group(here)?,
            '|' => self.next_alternative(),
            '*' => self.quantify(here, 0, None)?,
            '+' => self.quantify(here, 1, None)?,
            '?' => self.quantify(here, 0, Some(1))?,
            '{' => match self.counts(here)? {
                Some((min, max)) => self.quantify(here, min, max)?,
                None => self.push_char('{'),
            },
            '[' => {
                let set = self.class(here, 0)?;
                self.push_class(set);
            }
            '.' if self.flags.dot_all => self.push_class(CharSet::any()),
            '.' => self.push(self.inside_line),
            '^' | '$' => self.push_line_anchor(c == '^'),
            '\\' => self.push_escape(here)?,
            c => self.push_char(c),
        }
        Ok(())
    }

    // The text.

    pub(super) fn rest(&self) -> &'p str {
        &self.pattern[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    pub(super) fn error(&self, offset: usize, message: impl Into<String>) -> Error {
        Error::syntax(self.pattern, offset, message)
    }

    pub(super) fn unsupported(&self, offset: usize, message: impl Into<String>) -> Error {
        Error::unsupported(message).at(Place::in_text(self.pattern, offset))
    }

    /// Skips what the flag `x` ignores, and says whether anything is left.
    fn skip_ignored(&mut self) -> bool {
        while self.flags.extended {
            match self.peek() {
                Some(' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}') => self.at += 1,
                Some('#') => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                _ => break,
            }
        }
        self.at < self.pattern.len()
    }

    // Items of the current group.

    pub(super) fn push(&mut self, node: NodeId) {
        self.flush_text();
        self.group.items.push(node);
        self.group.stacked = 0;
    }

    pub(super) fn push_char(&mut self, c: char) {
        if self.flags.ignore_case {
            let ast = &mut self.ast;
            let fold = || ast.class(CharSet::new([(c, c)]).case_folded());
            let node = *self.folded.entry(c).or_insert_with(fold);
            if self.ast.single(node).is_some_and(|set| set.ranges() != [(c, c)]) {
                self.push(node);
                return;
            }
        }
        self.group.text.push(c);
        self.group.stacked = 0;
    }

    pub(super) fn push_class(&mut self, set: CharSet) {
        let node = self.ast.class(set);
        self.push(node);
    }

    fn flush_text(&mut self) {
        if !self.group.text.is_empty() {
            let text = self.ast.text(&self.group.text);
            self.group.items.push(text);
            self.group.text.clear();
        }
    }

    fn next_alternative(&mut self) {
        self.flush_text();
        let items = std::mem::take(&mut self.group.items);
        let alternative = self.ast.seq(items);
        self.group.alternatives.push(alternative);
        self.group.stacked = 0;
    }

    /// The node of the current group, which is left empty.
    pub(super) fn finish_group(&mut self) -> NodeId {
        self.next_alternative();
        let alternatives = std::mem::take(&mut self.group.alternatives);
        self.ast.alt(alternatives)
    }

    // Anchors.

    /// `^` or `$`. With the flag `m` it says that the neighbour, if there is one, is a line end.
    fn push_line_anchor(&mut self, behind: bool) {
        let node = if self.flags.multi_line {
            self.ast.look(behind, true, self.inside_line, self.at)
        } else if behind {
            self.ast.start()
        } else {
            self.ast.end()
        };
        self.push(node);
    }

    /// `\b` or `\B`: the two neighbours differ in whether they are word characters, or do not.
    pub(super) fn push_word_boundary(&mut self, negated: bool, word: CharSet) {
        let word = self.ast.class(word);
        let place = self.at;
        let sides = [false, true].map(|before| {
            let after = before == negated;
            let behind = self.ast.look(true, !before, word, place);
            let ahead = self.ast.look(false, !after, word, place);
            self.ast.seq(vec![behind, ahead])
        });
        let node = self.ast.alt(sides.into());
        self.push(node);
    }

    // Quantifiers.

    fn quantify(&mut self, here: usize, min: u32, max: Option<u32>) -> Result<()> {
        if self.rest().starts_with('+') {
            return Err(self
                .unsupported(here, "possessive quantifiers are not supported")
                .with_help("leave the `+` away unless the pattern relies on not backtracking"));
        }
        // The strings that match are the same; only a search would choose another one of them.
        self.eat("?");
        let stacked = self.group.stacked + 1;
        self.budget
            .check_depth(self.outer.len() + stacked)
            .map_err(|error| error.at(Place::in_text(self.pattern, here)))?;
        let atom = match self.group.text.pop() {
            Some(last) => {
                self.flush_text();
                self.ast.text(last.encode_utf8(&mut [0; 4]))
            }
            None => self
                .group
                .items
                .pop()
                .ok_or_else(|| self.error(here, "there is nothing to repeat before this"))?,
        };
        let node = self.ast.repeat(atom, min, max);
        self.group.items.push(node);
        self.group.stacked = stacked;
        Ok(())
    }

    /// The counts of `{n}`, `{n,}` or `{n,m}`; `None` where the brace is a plain character.
    fn counts(&mut self, here: usize) -> Result<Option<(u32, Option<u32>)>> {
        let Some(length) = self.rest().find(|c: char| !c.is_ascii_digit() && !matches!(c, ',' | ' ' | '\t'))
        else {
            return Ok(None);
        };
        let inner = &self.rest()[..length];
        if !self.rest()[length..].starts_with('}')
            || !inner.contains(|c: char| c.is_ascii_digit() || c == ',')
        {
            return Ok(None);
        }
        let (low, high) = inner.split_once(',').map_or((inner, None), |(low, high)| (low, Some(high)));
        if inner.contains([' ', '\t']) || low.is_empty() {
            return Err(self
                .error(here, format!("`{{{inner}}}` means different things in different dialects"))
                .with_help("write {n}, {n,} or {n,m} without spaces, or escape the brace"));
        }
        if high.is_some_and(|high| high.contains(',')) {
            return Ok(None);
        }
        let number =
            |digits: &str| digits.parse::<u32>().map_err(|_| self.error(here, "this count is too large"));
        let min = number(low)?;
        let max = match high {
            None => Some(min),
            Some("") => None,
            Some(high) => Some(number(high)?),
        };
        if max.is_some_and(|max| max < min) {
            return Err(self.error(here, "the counts of this quantifier are out of order"));
        }
        self.at += length + 1;
        Ok(Some((min, max)))
    }
}
