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
    if are_plain(grammar) {
        return Ok(());
    }
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
                Expr::JsonText { text, .. } | Expr::AtMost { body: text, .. } => {
                    survey.visit(*text).map_err(|error| in_rule(&error, &rule.name))?;
                }
                other => stack.extend(other.children()),
            }
        }
    }
    Ok(())
}

/// Whether all of them are plainly regular: nothing in them names a rule, or could not stand there.
fn are_plain(grammar: &Grammar) -> bool {
    let mut plain: Vec<bool> = Vec::with_capacity(grammar.exprs().len());
    for (_, expr) in grammar.exprs() {
        let are_children_plain = expr.children().iter().all(|child| plain[child.index()]);
        if matches!(expr, Expr::JsonText { .. } | Expr::AtMost { .. }) && !are_children_plain {
            return false;
        }
        plain.push(are_children_plain && is_text(expr));
    }
    true
}

/// Whether an expression is text if its children are.
fn is_text(expr: &Expr) -> bool {
    match expr {
        Expr::Never
        | Expr::Empty
        | Expr::Bytes(_)
        | Expr::Marker(_)
        | Expr::Class(_)
        | Expr::Seq(_)
        | Expr::Alt(_)
        | Expr::Repeat { .. }
        | Expr::And(_)
        | Expr::Not(_)
        | Expr::Automaton(_)
        | Expr::AtMost { .. } => true,
        Expr::JsonText { .. }
        | Expr::Members { .. }
        | Expr::Rule(_)
        | Expr::Token(_)
        | Expr::TagDispatch(_)
        | Expr::Tagged { .. }
        | Expr::TokenTagDispatch(_) => false,
    }
}
