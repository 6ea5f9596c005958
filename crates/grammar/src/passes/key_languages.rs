//! The texts that the keys of others may have.
//!
//! How many there are decides whether a list can run out of keys, and whether they go on decides what the engine has to look
//! at while one is being read. Both can be counted in an automaton. But that of a pattern with a bounded length is large, and
//! mostly it is plain that there are more texts than any list has members. So an automaton is made only where neither is
//! plain, and once for a grammar.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::lists::language;
use crate::error::Result;
use crate::ir::{Expr, ExprId, Grammar};
use crate::limits::Budget;
use crate::regular::{Dfa, Lengths};

/// No list has as many members. A family of so many keys is counted as one without end.
const PLENTY: u64 = 1 << 33;
/// Expressions that are nested deeper than this are not plain.
const MAX_DEPTH: u32 = 16;
/// Nor are those of more parts, however often each of them is in it.
const MAX_PARTS: u32 = 4096;

/// The languages of keys in a grammar, each made once.
pub(super) struct KeyLanguages<'g> {
    pub(super) grammar: &'g Grammar,
    known: RefCell<FxHashMap<ExprId, Arc<Dfa>>>,
    lengths: RefCell<Lengths>,
    /// How many more parts are looked at.
    fuel: Cell<u32>,
}

impl<'g> KeyLanguages<'g> {
    pub(super) fn new(grammar: &'g Grammar) -> Self {
        KeyLanguages { grammar, known: RefCell::default(), lengths: RefCell::default(), fuel: Cell::new(0) }
    }

    /// The texts of a regular expression.
    pub(super) fn of(&self, keys: ExprId, budget: &Budget) -> Result<Arc<Dfa>> {
        if let Some(known) = self.known.borrow().get(&keys) {
            return Ok(Arc::clone(known));
        }
        let language = language(self.grammar, keys, budget)?;
        self.known.borrow_mut().insert(keys, Arc::clone(&language));
        Ok(language)
    }

    /// Whether an expression is plainly without end, and every beginning of its texts too. That others are not so plain
    /// does not say that they end.
    pub(super) fn are_endless(&self, keys: ExprId) -> bool {
        match self.grammar.expr(keys) {
            Expr::Repeat { body, max: None, .. } => matches!(self.grammar.expr(*body), Expr::Class(_)),
            _ => false,
        }
    }

    /// Whether an expression plainly has a text. What is a conjunction or a complement is not so plain.
    pub(super) fn are_some(&self, keys: ExprId) -> bool {
        self.count_of(keys).is_some_and(|count| count > 0)
    }

    /// Whether an expression plainly has no text that is longer than some length.
    pub(super) fn are_bounded(&self, keys: ExprId) -> bool {
        self.lengths.borrow_mut().of(self.grammar, keys).1.is_some()
    }

    /// Whether an expression plainly has more texts than any list has members.
    pub(super) fn are_plenty(&self, keys: ExprId) -> bool {
        self.count_of(keys).is_some_and(|count| count >= PLENTY)
    }

    /// At least as many texts there are; none if that is not plain.
    fn count_of(&self, keys: ExprId) -> Option<u64> {
        self.fuel.set(MAX_PARTS);
        self.least_count(keys, u32::MAX, MAX_DEPTH)
    }

    /// At least as many texts of at most `room` code points there are; none if that is not plain.
    fn least_count(&self, expr: ExprId, room: u32, depth: u32) -> Option<u64> {
        let depth = depth.checked_sub(1)?;
        self.fuel.set(self.fuel.get().checked_sub(1)?);
        let least = |expr: ExprId, room: u32| self.least_count(expr, room, depth);
        let shortest = |expr: ExprId| self.lengths.borrow_mut().of(self.grammar, expr).0;
        match self.grammar.expr(expr) {
            Expr::Never => Some(0),
            Expr::Empty => Some(1),
            Expr::Bytes(bytes) => {
                let text = std::str::from_utf8(bytes).ok()?;
                Some(u64::from(text.chars().count() <= room as usize))
            }
            Expr::Class(set) => Some(if room == 0 { 0 } else { set.count() }),
            &Expr::Repeat { body, min, max } => {
                let most = max.unwrap_or(u32::MAX);
                if let Expr::Class(set) = self.grammar.expr(body) {
                    let times = most.min(room);
                    return Some(if times < min { 0 } else { set.count().saturating_pow(times) });
                }
                // One of them is any text of the body, and the others are the shortest.
                let others = shortest(body).saturating_mul(min.saturating_sub(1));
                let count = if others > room { 0 } else { least(body, room - others)? };
                Some(if most == 0 { u64::from(min == 0) } else { count.max(u64::from(min == 0)) })
            }
            // One of the items is any of its texts, and the others are the shortest: no two of these are the same.
            Expr::Seq(items) => {
                let all = items.iter().fold(0_u32, |all, &item| all.saturating_add(shortest(item)));
                let mut most = 1;
                for &item in items {
                    let others = all.saturating_sub(shortest(item));
                    let count = least(item, room.saturating_sub(others))?;
                    if others > room || count == 0 {
                        return Some(0);
                    }
                    most = most.max(count);
                }
                Some(most)
            }
            Expr::Alt(items) => {
                items.iter().try_fold(0, |most: u64, &item| Some(most.max(least(item, room)?)))
            }
            &Expr::AtMost { body, most } => least(body, room.min(most)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontends::ebnf;

    /// What is told of the root's texts: how many there are at least, and whether their lengths have a bound.
    fn told(grammar: &str) -> (Option<u64>, bool, Option<u64>) {
        let budget = Budget::default();
        let grammar = ebnf::parse(grammar, "root", budget.limits(), &budget).unwrap();
        let languages = KeyLanguages::new(&grammar);
        let root = grammar.rule(grammar.root()).body;
        let counted = languages.of(root, &budget).unwrap().count_words();
        (languages.count_of(root), languages.are_bounded(root), counted)
    }

    #[test]
    fn no_more_texts_are_promised_than_there_are() {
        for (grammar, least) in [
            (r#"root ::= "a""#, 1),
            ("root ::= [a-z]", 26),
            ("root ::= [a-c]{2, 3}", 27),
            (r#"root ::= "x" [a-c]{2} "y""#, 9),
            ("root ::= [ab] | [a-d]{2}", 16),
            (r#"root ::= ("ab" | "c"){1, 4}"#, 1),
            ("root ::= ([ab] [cd]?){2}", 2),
            (r#"root ::= "a"? "a"?"#, 1),
            ("root ::= AtMost([a-c]{1, 9}, 2)", 9),
            (r#"root ::= AtMost("x" [a-c]{1, 9} "yz", 5)"#, 9),
            ("root ::= AtMost([ab]{2} [cd]{2}, 4)", 4),
        ] {
            let (told, is_bounded, counted) = told(grammar);
            assert_eq!(told, Some(least), "{grammar}");
            assert!(counted.is_some_and(|counted| counted >= least), "{grammar}: {counted:?}");
            assert!(is_bounded, "{grammar}");
        }
    }

    #[test]
    fn what_does_not_end_has_no_bound() {
        for grammar in ["root ::= [ab]*", r#"root ::= "a" "bc"+"#] {
            let (_, is_bounded, counted) = told(grammar);
            assert!(!is_bounded && counted.is_none(), "{grammar}");
        }
    }

    #[test]
    fn large_expressions_are_not_plain() {
        let alternatives: Vec<String> =
            (0..1500).map(|at| format!("\"x\" [ab]{{{}}} \"y\"", at + 1)).collect();
        let budget = Budget::default();
        let text = format!("root ::= {}", alternatives.join(" | "));
        let grammar = ebnf::parse(&text, "root", budget.limits(), &budget).unwrap();
        assert!(!KeyLanguages::new(&grammar).are_plenty(grammar.rule(grammar.root()).body));
    }

    #[test]
    fn conjunctions_may_be_empty() {
        let budget = Budget::default();
        let grammar = ebnf::parse("root ::= [ab] & [cd]", "root", budget.limits(), &budget).unwrap();
        assert!(!KeyLanguages::new(&grammar).are_some(grammar.rule(grammar.root()).body));
    }

    #[test]
    fn what_is_not_plain_is_counted() {
        assert_eq!(told("root ::= [a-z] & [^x]"), (None, true, Some(25)));
        assert_eq!(told(r#"root ::= "ab" | "a" "b""#).2, Some(1));
    }
}
