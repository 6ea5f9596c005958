//! JSON texts and texts of bounded length are checked: they must be regular languages of text.
//!
//! It is done before rules are inlined, because an inlined rule no longer shows that it captures or is limited, and
//! inside of a JSON text neither could be kept: what is read there are spellings.

use super::booleans::in_rule;
use crate::error::Result;
use crate::ir::{Expr, Grammar};
use crate::limits::Budget;
use crate::regular::Survey;

/// Fails unless the texts of all [`Expr::JsonText`] and [`Expr::AtMost`] are regular.
pub fn check(grammar: &Grammar, budget: &Budget) -> Result<()> {
    let mut seen = vec![false; grammar.exprs().len()];
    let mut survey = Survey::new(grammar, "JsonText or AtMost", budget);
    for (_, rule) in grammar.rules() {
        let mut stack = vec![rule.body];
        while let Some(id) = stack.pop() {
            budget.tick()?;
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            match grammar.expr(id) {
                Expr::JsonText(text) | Expr::AtMost { body: text, .. } => {
                    survey.visit(*text).map_err(|error| in_rule(&error, &rule.name))?;
                }
                other => stack.extend(other.children()),
            }
        }
    }
    Ok(())
}
