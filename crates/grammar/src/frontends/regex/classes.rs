//! Classes in brackets.
//!
//! As in ECMA-262, `[]` is nothing and `[^]` is anything, and a bracket inside is a plain character unless it opens a
//! POSIX class such as `[:alpha:]`. A hyphen beside a class, as in `[\w-.]`, is a hyphen, as browsers read it. The
//! flag `v` gives nesting and set operators. Case is folded before the class is negated.

use super::escapes::Escape;
use super::parser::Parser;
use super::properties::posix_class;
use crate::error::{Place, Result};
use crate::regular::CharSet;

/// How deep classes nest; they are read by recursion, so this is a limit of its own.
const DEEPEST: usize = 100;

/// One member of a class.
enum Member {
    Code(u32),
    Set(CharSet),
}

/// Operators of the flag `v`.
#[derive(Clone, Copy)]
enum Operator {
    And,
    Minus,
    Either,
}

impl Parser<'_> {
    /// A class after its opening bracket at `here`.
    pub(super) fn class(&mut self, here: usize, depth: usize) -> Result<CharSet> {
        self.budget
            .check_depth(self.outer.len() + depth)
            .map_err(|error| error.at(Place::in_text(self.pattern, here)))?;
        if depth > DEEPEST {
            return Err(self.error(here, format!("classes nest deeper than {DEEPEST}")));
        }
        let negated = self.eat("^");
        let mut result: Option<(CharSet, Operator)> = None;
        let set = loop {
            let operand = self.class_operand(here, depth)?;
            let operand = if self.flags.ignore_case { operand.case_folded() } else { operand };
            let joined = match result.take() {
                None => operand,
                Some((left, operator)) => apply(&left, operator, &operand),
            };
            match self.class_operator() {
                Some(operator) => result = Some((joined, operator)),
                None => break joined,
            }
        };
        Ok(if negated { set.complement() } else { set })
    }

    /// After the members: an operator, or the closing bracket.
    fn class_operator(&mut self) -> Option<Operator> {
        if self.eat("]") {
            return None;
        }
        let operator = self.operator_here();
        self.at += 2;
        operator
    }

    fn operator_here(&self) -> Option<Operator> {
        if !self.flags.class_sets {
            return None;
        }
        match self.rest().get(..2) {
            Some("&&") => Some(Operator::And),
            Some("--") => Some(Operator::Minus),
            Some("~~") => Some(Operator::Either),
            _ => None,
        }
    }

    /// Members up to the closing bracket or an operator, neither of which is taken.
    fn class_operand(&mut self, here: usize, depth: usize) -> Result<CharSet> {
        let mut ranges: Vec<(char, char)> = Vec::new();
        loop {
            self.budget.tick()?;
            match self.peek() {
                None => return Err(self.error(here, "this class is never closed")),
                Some(']') => break,
                Some(_) if self.operator_here().is_some() => break,
                Some(_) => {}
            }
            let at = self.at;
            let member = self.class_member(depth)?;
            let is_range = self.rest().starts_with('-')
                && !self.rest().starts_with("-]")
                && self.operator_here().is_none()
                && self.rest().len() > 1;
            if !is_range {
                add_member(&mut ranges, &member);
                continue;
            }
            self.eat("-");
            match (member, self.class_member(depth)?) {
                (Member::Code(low), Member::Code(high)) if low > high => {
                    return Err(self.error(at, "this range is out of order"));
                }
                (Member::Code(low), Member::Code(high)) => add_range(&mut ranges, low, high),
                (left, right) => {
                    add_member(&mut ranges, &left);
                    ranges.push(('-', '-'));
                    add_member(&mut ranges, &right);
                }
            }
        }
        Ok(CharSet::new(ranges))
    }

    fn class_member(&mut self, depth: usize) -> Result<Member> {
        let here = self.at;
        let Some(c) = self.bump() else {
            return Err(self.error(here, "this class is never closed"));
        };
        match c {
            '\\' if self.eat("b") => Ok(Member::Code(0x08)),
            '\\' => match self.escape(here)? {
                Escape::Code(code) => Ok(Member::Code(code)),
                Escape::Class(set) => Ok(Member::Set(set)),
                Escape::WordBoundary { .. } | Escape::Start | Escape::End => {
                    Err(self.error(here, "this escape has no meaning inside a class"))
                }
            },
            '[' => match self.posix_member(here)? {
                Some(set) => Ok(Member::Set(set)),
                None if self.flags.class_sets => Ok(Member::Set(self.class(here, depth + 1)?)),
                None => Ok(Member::Code(u32::from('['))),
            },
            ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '#' if self.flags.extended => {
                let message =
                    "white space and `#` in a class mean different things in different dialects under (?x)";
                Err(self.error(here, message).with_help("escape it"))
            }
            c => Ok(Member::Code(u32::from(c))),
        }
    }

    /// A POSIX class after its bracket, as in `[[:alpha:][:^digit:]]`.
    fn posix_member(&mut self, here: usize) -> Result<Option<CharSet>> {
        let Some(inner) = self.rest().strip_prefix(':') else {
            return Ok(None);
        };
        let length = inner.find(|c: char| !c.is_ascii_lowercase() && c != '^').unwrap_or(inner.len());
        if length == 0 || !inner[length..].starts_with(":]") {
            return Ok(None);
        }
        let name = &inner[..length];
        let (name, negated) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
        let set =
            posix_class(name).ok_or_else(|| self.error(here, format!("unknown POSIX class {name:?}")))?;
        self.at += 1 + length + 2;
        let set = if self.flags.ignore_case { set.case_folded() } else { set };
        Ok(Some(if negated { set.complement() } else { set }))
    }
}

fn apply(left: &CharSet, operator: Operator, right: &CharSet) -> CharSet {
    let minus = |left: &CharSet, right: &CharSet| left.intersection(&right.complement());
    match operator {
        Operator::And => left.intersection(right),
        Operator::Minus => minus(left, right),
        Operator::Either => minus(left, right).union(&minus(right, left)),
    }
}

fn add_member(ranges: &mut Vec<(char, char)>, member: &Member) {
    match member {
        Member::Code(code) => add_range(ranges, *code, *code),
        Member::Set(set) => ranges.extend_from_slice(set.ranges()),
    }
}

/// Adds the code points from `low` to `high`; the surrogates among them are in no text.
fn add_range(ranges: &mut Vec<(char, char)>, low: u32, high: u32) {
    let parts = [(low, high.min(0xd7ff)), (low.max(0xe000), high)];
    for (low, high) in parts {
        if let (Some(low), Some(high)) = (char::from_u32(low), char::from_u32(high))
            && low <= high
        {
            ranges.push((low, high));
        }
    }
}
