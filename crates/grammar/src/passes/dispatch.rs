//! Tag dispatch becomes free text, tags and calls.
//!
//! The language of a dispatch: free text holds no tag and no excluded string. A tag may end it, and then the tag's
//! rule follows, and after that free text again if the dispatch repeats, else the end. No tag need ever come.
//!
//! Tags and excluded strings may overlap, so "the tag comes after free text" is not enough: after `a`, the tag `aa`
//! would be found in `aaa` too late. What holds is this: in the text up to the end of the tag no tag and no excluded
//! string begins before the tag itself. Within it, others may stand: of `<a>` and `<a>b` both can be had, as in
//! XGrammar. An excluded string within a tag makes that tag impossible.
//!
//! Which tag has been read is a property of all of the text before it. So text and tags stay together, as one automaton
//! ([`TagText`]) whose states know it, with a part for what follows each tag ([`Expr::Tagged`]). As expressions, free text
//! and then a tag, each tag would need free text of its own, and a thousand tags that overlap a thousand automata.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::error::Result;
use crate::ir::{Builder, Expr, ExprId, Grammar, RuleId, TagDispatch, TokenSet, TokenTagDispatch, copy_expr};
use crate::limits::Budget;
use crate::regular::TagText;

/// `grammar` without [`Expr::TagDispatch`] and [`Expr::TokenTagDispatch`].
pub fn lower(grammar: Grammar, budget: &Budget) -> Result<Grammar> {
    Ok(lowered(&grammar, budget)?.unwrap_or(grammar))
}

pub(super) fn lowered(grammar: &Grammar, budget: &Budget) -> Result<Option<Grammar>> {
    let is_dispatch = |expr: &Expr| matches!(expr, Expr::TagDispatch(_) | Expr::TokenTagDispatch(_));
    if !grammar.exprs().any(|(_, expr)| is_dispatch(expr)) {
        return Ok(None);
    }
    let mut builder = Builder::new(budget.limits());
    let rules: Vec<RuleId> = grammar.rules().map(|(_, rule)| builder.declare(&rule.name)).collect();
    let mut exprs: Vec<ExprId> = Vec::with_capacity(grammar.exprs().len());
    for (_, expr) in grammar.exprs() {
        budget.tick()?;
        let lowered = match expr {
            Expr::TagDispatch(dispatch) => text_dispatch(&mut builder, dispatch, budget)?,
            Expr::TokenTagDispatch(dispatch) => token_dispatch(&mut builder, dispatch),
            other => copy_expr(&mut builder, other, &exprs, &rules),
        };
        exprs.push(lowered);
        builder.check()?;
    }
    for (id, rule) in grammar.rules() {
        builder.define(rules[id.index()], exprs[rule.body.index()], rule.options.clone());
    }
    builder.finish(rules[grammar.root().index()]).map(Some)
}

/// The text, with one part for each different tag: any of the rules that it is given with.
fn text_dispatch(builder: &mut Builder, dispatch: &TagDispatch, budget: &Budget) -> Result<ExprId> {
    let tags: Vec<&str> = dispatch.tags.iter().map(|(tag, _)| &**tag).collect();
    let excludes: Vec<&str> = dispatch.excludes.iter().map(|text| &**text).collect();
    let text = Arc::new(TagText::new(&tags, &excludes, &dispatch.before, budget)?);
    let numbers: HashMap<&str, usize> = text.tags().iter().map(|tag| &**tag).zip(0..).collect();
    let mut rules: Vec<Vec<ExprId>> = vec![Vec::new(); numbers.len()];
    for (tag, rule) in &dispatch.tags {
        budget.tick()?;
        rules[numbers[&**tag]].push(builder.rule(*rule));
    }
    let parts = rules.into_iter().map(|rules| builder.alt(rules)).collect();
    Ok(builder.tagged(&text, parts, dispatch.repeats))
}

/// The same for tokens, where nothing can overlap.
fn token_dispatch(builder: &mut Builder, dispatch: &TokenTagDispatch) -> ExprId {
    let tags = dispatch.tags.iter().map(|&(token, _)| token);
    let free = TokenSet::new(tags.chain(dispatch.excludes.iter().copied()).collect(), true);
    let free = builder.token(free);
    let plain = builder.repeat(free, 0, None);
    let mut units = Vec::with_capacity(dispatch.tags.len());
    for &(token, rule) in &dispatch.tags {
        let token = builder.token(TokenSet::new(vec![token], false));
        let call = builder.rule(rule);
        units.push(builder.seq([token, call]));
    }
    let tags = builder.alt(units);
    let after = if dispatch.repeats { builder.seq([tags, plain]) } else { tags };
    let after = builder.repeat(after, 0, if dispatch.repeats { None } else { Some(1) });
    builder.seq([plain, after])
}

#[cfg(test)]
#[path = "dispatch_tests.rs"]
mod tests;
