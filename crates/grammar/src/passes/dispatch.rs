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
//! So each tag needs its own free text before it: that in which nothing begins that would end within the tag
//! ([`FreeText`] calls such a text spoiled). In practice nearly all tags begin with a mark that no other string ends
//! with, and share the plain one; the others are grouped by what spoils them, so thousands of tags cost a handful of
//! automata, each linear in the tags' length.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::error::Result;
use crate::ir::{
    Automaton, Builder, Expr, ExprId, Grammar, RuleId, TagDispatch, TokenSet, TokenTagDispatch, copy_expr,
};
use crate::limits::Budget;
use crate::regular::{FreeText, Overlaps, Spoiled};

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

/// The tags that share the free text before them.
#[derive(Default)]
struct Group {
    /// One of the tags, which stands for all in the text of the automaton; empty if nothing spoils.
    before: String,
    tags: Vec<ExprId>,
}

fn text_dispatch(builder: &mut Builder, dispatch: &TagDispatch, budget: &Budget) -> Result<ExprId> {
    text_dispatch_before(builder, dispatch, "", budget)
}

/// The same where `before` follows: nothing that begins in the last free text ends within it.
pub(crate) fn text_dispatch_before(
    builder: &mut Builder,
    dispatch: &TagDispatch,
    before: &str,
    budget: &Budget,
) -> Result<ExprId> {
    let tags = dispatch.tags.iter().map(|(tag, _)| tag);
    let strings: Vec<&str> = tags.chain(&dispatch.excludes).map(|text| &**text).collect();
    let free = FreeText::new(&strings, budget)?;
    let groups = group_tags(builder, dispatch, &free, budget)?;
    let free_text = |builder: &mut Builder, spoiled: &Spoiled, before: &str| {
        let dfa = Arc::new(free.dfa(spoiled, budget)?);
        Ok(builder.automaton(Automaton { source: free.source(before).into(), dfa }))
    };
    let plain = free_text(builder, &Spoiled::default(), "")?;
    let at_end = if before.is_empty() { Spoiled::default() } else { free.spoiled_by(before, budget)? };
    let last = if at_end.is_empty() { plain } else { free_text(builder, &at_end, before)? };
    let mut units = Vec::with_capacity(groups.len());
    for (spoiled, group) in groups {
        let text = if group.before.is_empty() { plain } else { free_text(builder, &spoiled, &group.before)? };
        let tags = builder.alt(group.tags);
        units.push((text, tags));
    }
    Ok(join(builder, plain, last, &units, dispatch.repeats))
}

/// The tags with the calls of their rules, by the free text that they need before them, in order of appearance.
fn group_tags(
    builder: &mut Builder,
    dispatch: &TagDispatch,
    free: &FreeText,
    budget: &Budget,
) -> Result<Vec<(Spoiled, Group)>> {
    let excluded = FreeText::new(&dispatch.excludes, budget)?;
    let mut by_overlaps: HashMap<Overlaps, usize> = HashMap::new();
    let mut by_spoiled: HashMap<Spoiled, usize> = HashMap::new();
    let mut groups: Vec<(Spoiled, Group)> = Vec::new();
    for (tag, rule) in &dispatch.tags {
        budget.tick()?;
        if excluded.is_in(tag) {
            continue;
        }
        let overlaps = free.overlaps(tag);
        let at = if let Some(&known) = by_overlaps.get(&overlaps) {
            known
        } else {
            let spoiled =
                if overlaps.is_empty() { Spoiled::default() } else { free.spoiled_by(tag, budget)? };
            let at = *by_spoiled.entry(spoiled).or_insert_with_key(|spoiled| {
                let before = if spoiled.is_empty() { String::new() } else { tag.to_string() };
                groups.push((spoiled.clone(), Group { before, tags: Vec::new() }));
                groups.len() - 1
            });
            by_overlaps.insert(overlaps, at);
            at
        };
        let literal = builder.bytes(tag.as_bytes());
        let call = builder.rule(*rule);
        let tagged = builder.seq([literal, call]);
        groups[at].1.tags.push(tagged);
    }
    Ok(groups)
}

/// Puts free text around `units` of a text and what may follow it; `last` is the text at the end.
fn join(
    builder: &mut Builder,
    plain: ExprId,
    last: ExprId,
    units: &[(ExprId, ExprId)],
    repeats: bool,
) -> ExprId {
    // The common case needs the free text but once, as a loop with the tags: `plain (tags plain)*`.
    if let [(text, tags)] = *units
        && text == plain
        && last == plain
    {
        let after = if repeats { builder.seq([tags, plain]) } else { tags };
        let after = builder.repeat(after, 0, if repeats { None } else { Some(1) });
        return builder.seq([plain, after]);
    }
    let units: Vec<ExprId> = units.iter().map(|&(text, tags)| builder.seq([text, tags])).collect();
    if repeats {
        let unit = builder.alt(units);
        let many = builder.repeat(unit, 0, None);
        builder.seq([many, last])
    } else {
        builder.alt(std::iter::once(last).chain(units))
    }
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
    join(builder, plain, plain, &[(plain, tags)], dispatch.repeats)
}

#[cfg(test)]
#[path = "dispatch_tests.rs"]
mod tests;
