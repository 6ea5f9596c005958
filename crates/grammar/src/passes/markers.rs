//! Markers become their text, or the special tokens that they hold the text of.
//!
//! A special token has no bytes, so that no text leads to it. But people write the markers of a model's format as text:
//! `<|channel|>analysis` is a token and a word. So such literals are markers ([`Expr::Marker`], the tags of a dispatch with
//! `markers`), and this pass, the only one that is told of a vocabulary, says what a marker matches:
//!
//! > its text; and wherever the text holds the whole text of a special token, that token in place of it.
//!
//! Markers that follow one another are one marker, so it makes no difference where a front end cuts them: the begins of many
//! tags are a tree. What a grammar matches with special tokens is then what it matches without, some markers' text being
//! exchanged for tokens, and nothing more. A special token in the free text of a dispatch is the beginning of a tag, and the
//! rest of the tag must follow, whereas the same characters as text may turn out to be none.
//!
//! Where an expression must be regular (in conjunctions, complements and the like, and in rules that are lazy or bounded)
//! markers are text alone: an automaton reads no tokens.

use hashbrown::HashMap;

use super::graph::strong_components;
use super::{analysis, spelled::Special};
use crate::error::{Error, Result};
use crate::ir::{
    Automaton, Builder, Expr, ExprId, Grammar, Rule, RuleId, RuleOptions, TagDispatch, TokenSet, copy_expr,
};
use crate::limits::Budget;
use crate::regular::FreeText;

/// How many expressions deep a special token is followed that reaches beyond its marker.
const DEEPEST: usize = 64;

/// How many rules there may be for what is left behind such tokens; recursion could go on making them.
const MOST_LEFT: usize = 10_000;

/// `grammar` without markers.
pub fn lower(grammar: Grammar, special: &Special, budget: &Budget) -> Result<Grammar> {
    Ok(lowered(&grammar, special, budget)?.unwrap_or(grammar))
}

pub(super) fn lowered(grammar: &Grammar, special: &Special, budget: &Budget) -> Result<Option<Grammar>> {
    let is_marked = |expr: &Expr| match expr {
        Expr::Marker(_) => true,
        Expr::TagDispatch(dispatch) => dispatch.markers,
        _ => false,
    };
    if !grammar.exprs().any(|(_, expr)| is_marked(expr)) {
        return Ok(None);
    }
    let mut builder = Builder::new(budget.limits());
    let rules: Vec<RuleId> = grammar.rules().map(|(_, rule)| builder.declare(&rule.name)).collect();
    let names = holders(grammar, special, budget)?;
    // What must be regular is written a second time, if it holds a special token.
    let text_rules: Vec<RuleId> = if names.iter().any(|&holds| holds) && has_regular_parts(grammar, &names) {
        grammar.rules().map(|(_, rule)| builder.declare(format!("{}_text", rule.name))).collect()
    } else {
        rules.clone()
    };
    let is_apart = text_rules != rules;
    let count = grammar.exprs().len();
    let mut lowering = Lowering {
        grammar,
        special,
        budget,
        builder,
        rules,
        text_rules,
        exprs: Vec::with_capacity(count),
        texts: Vec::with_capacity(count),
        places: 0,
        left: HashMap::new(),
        open: Vec::new(),
    };
    for (id, expr) in grammar.exprs() {
        budget.tick()?;
        let text = if is_apart { Some(lowering.as_text(expr)) } else { None };
        let lowered = if names[id.index()] { lowering.named(expr, id)? } else { lowering.unnamed(expr) };
        lowering.exprs.push(lowered);
        lowering.texts.push(text.unwrap_or(lowered));
        lowering.builder.check()?;
    }
    lowering.finish().map(Some)
}

/// Whether a rule must be regular.
fn is_restricted(options: &RuleOptions) -> bool {
    options.lazy || options.max_chars.is_some()
}

/// Whether the parts of an expression must be regular.
fn has_regular_children(expr: &Expr) -> bool {
    matches!(expr, Expr::And(_) | Expr::Not(_) | Expr::JsonText { .. } | Expr::AtMost { .. })
}

/// Whether something that must be regular is among `holders`.
fn has_regular_parts(grammar: &Grammar, holders: &[bool]) -> bool {
    grammar.exprs().any(|(id, expr)| holders[id.index()] && has_regular_children(expr))
        || grammar.rules().any(|(_, rule)| holders[rule.body.index()] && is_restricted(&rule.options))
}

/// Which expressions hold, in themselves or in rules that they name, a marker that a special token may begin in.
fn holders(grammar: &Grammar, special: &Special, budget: &Budget) -> Result<Vec<bool>> {
    if special.is_empty() {
        return Ok(vec![false; grammar.exprs().len()]);
    }
    let mut own: Vec<bool> = Vec::with_capacity(grammar.exprs().len());
    for (_, expr) in grammar.exprs() {
        budget.tick()?;
        let begins = |text: &str| special.first_start(text, 0).is_some();
        own.push(match expr {
            Expr::Marker(text) => begins(text),
            Expr::TagDispatch(dispatch) => {
                dispatch.markers && dispatch.tags.iter().any(|(tag, _)| begins(tag))
            }
            _ => expr.children().iter().any(|child| own[child.index()]),
        });
    }
    let references = analysis::rule_references(grammar, |_| true);
    let mut rules: Vec<bool> = grammar.rules().map(|(_, rule)| own[rule.body.index()]).collect();
    // Callees come before their callers.
    for component in strong_components(&references).iter() {
        budget.tick()?;
        let holds =
            |&at: &u32| rules[at as usize] || references.of(at).iter().any(|&callee| rules[callee as usize]);
        let holds = component.iter().any(holds);
        component.iter().for_each(|&at| rules[at as usize] = holds);
    }
    let mut all: Vec<bool> = Vec::with_capacity(own.len());
    for ((_, expr), own) in grammar.exprs().zip(own) {
        let holds = own
            || expr.rules().iter().any(|rule| rules[rule.index()])
            || expr.children().iter().any(|child| all[child.index()]);
        all.push(holds);
    }
    Ok(all)
}

/// A part of a sequence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Item {
    /// A marker, or what is left of one.
    Text(String),
    /// Another expression of the grammar.
    Old(ExprId),
    /// A rule of the grammar.
    Rule(RuleId),
}

/// A special token that may begin at a place of a marker.
enum Start {
    /// It ends within the marker, there.
    Within(usize, TokenSet),
    /// It reaches into what follows, of which this is left.
    Beyond(TokenSet, Vec<Item>),
}

struct Lowering<'g> {
    grammar: &'g Grammar,
    special: &'g Special,
    budget: &'g Budget,
    builder: Builder,
    /// The new rules, by old rule.
    rules: Vec<RuleId>,
    /// The same without special tokens; the same rules where nothing needs them.
    text_rules: Vec<RuleId>,
    /// The new expressions, by old expression.
    exprs: Vec<ExprId>,
    /// The same without special tokens.
    texts: Vec<ExprId>,
    /// How many rules were made for places in markers.
    places: usize,
    /// The rules for what is left behind special tokens that reach beyond their markers.
    left: HashMap<Vec<Item>, RuleId>,
    /// Those of them that have no body yet.
    open: Vec<(RuleId, Vec<Item>)>,
}

impl Lowering<'_> {
    fn finish(mut self) -> Result<Grammar> {
        let is_apart = self.text_rules != self.rules;
        for (id, rule) in self.grammar.rules() {
            let Rule { body, options, .. } = rule;
            let body =
                if is_restricted(options) { self.texts[body.index()] } else { self.exprs[body.index()] };
            self.builder.define(self.rules[id.index()], body, options.clone());
            if is_apart {
                let text = self.texts[rule.body.index()];
                self.builder.define(self.text_rules[id.index()], text, options.clone());
            }
        }
        while let Some((rule, items)) = self.open.pop() {
            self.budget.tick()?;
            let body = self.sequence(&items)?;
            self.builder.define(rule, body, RuleOptions::default());
            self.builder.check()?;
        }
        self.builder.finish(self.rules[self.grammar.root().index()])
    }

    /// What is left behind a special token that reaches beyond its marker. It may be of a rule that was not looked at yet, and
    /// may hold the beginning of such a token again; so it is a rule, which gets its body at the end.
    fn left(&mut self, items: Vec<Item>) -> Result<ExprId> {
        if let Some(&known) = self.left.get(&items) {
            return Ok(self.builder.rule(known));
        }
        if self.left.len() >= MOST_LEFT {
            return Err(Error::limit("the markers that special tokens reach over", MOST_LEFT, "max_rules"));
        }
        let rule = self.place();
        self.left.insert(items.clone(), rule);
        self.open.push((rule, items));
        Ok(self.builder.rule(rule))
    }

    /// A new rule for a place in a marker.
    fn place(&mut self) -> RuleId {
        self.places += 1;
        self.builder.declare(format!("marker_{}", self.places))
    }

    /// An expression without special tokens.
    fn as_text(&mut self, expr: &Expr) -> ExprId {
        copy(&mut self.builder, expr, &self.texts, &self.text_rules)
    }

    /// An expression that holds no marker which a special token may begin in.
    fn unnamed(&mut self, expr: &Expr) -> ExprId {
        copy(&mut self.builder, expr, &self.exprs, &self.rules)
    }

    /// An expression that holds a marker which a special token may begin in.
    fn named(&mut self, expr: &Expr, id: ExprId) -> Result<ExprId> {
        match expr {
            Expr::Marker(_) => self.sequence(&[Item::Old(id)]),
            Expr::Seq(items) => {
                let items: Vec<Item> = items.iter().map(|&item| Item::Old(item)).collect();
                self.sequence(&items)
            }
            Expr::TagDispatch(dispatch) if dispatch.markers => self.dispatch(dispatch),
            _ if has_regular_children(expr) => Ok(self.as_text(expr)),
            _ => Ok(self.unnamed(expr)),
        }
    }

    /// One item after the other.
    fn sequence(&mut self, items: &[Item]) -> Result<ExprId> {
        let mut parts = Vec::new();
        let mut at = 0;
        while let Some(item) = items.get(at) {
            at += 1;
            match item {
                Item::Rule(rule) => parts.push(self.builder.rule(self.rules[rule.index()])),
                Item::Old(id) if !matches!(self.grammar.expr(*id), Expr::Marker(_)) => {
                    parts.push(self.exprs[id.index()]);
                }
                _ => {
                    let mut text = String::new();
                    at -= 1;
                    while let Some(more) = items.get(at).and_then(|item| self.marker(item)) {
                        text.push_str(more);
                        at += 1;
                    }
                    if self.literal(&text, &items[at..], &mut parts)? {
                        break;
                    }
                }
            }
        }
        Ok(self.builder.seq(parts))
    }

    /// The text of an item that is a marker.
    fn marker<'i>(&self, item: &'i Item) -> Option<&'i str>
    where
        Self: 'i,
    {
        match item {
            Item::Text(text) => Some(text),
            Item::Old(id) => match self.grammar.expr(*id) {
                Expr::Marker(text) => Some(text),
                _ => None,
            },
            Item::Rule(_) => None,
        }
    }

    /// A marker, put behind `parts`. Whether what follows it was put there too, because a special token may reach into it.
    fn literal(&mut self, text: &str, rest: &[Item], parts: &mut Vec<ExprId>) -> Result<bool> {
        let mut at = 0;
        while let Some((start, starts)) = self.next_start(text, at, rest)? {
            parts.push(self.builder.bytes(&text[at..start]));
            let (mut end, mut seen, mut is_beyond) = (start, start, false);
            let mut found = vec![(start, starts)];
            // What overlaps is looked at together.
            while let Some((_, starts)) = found.last() {
                for start in starts {
                    match start {
                        Start::Within(to, _) => end = end.max(*to),
                        Start::Beyond(..) => is_beyond = true,
                    }
                }
                seen += next_char(&text[seen..]);
                match self.next_start(text, seen, rest)? {
                    Some((next, starts)) if is_beyond || next < end => {
                        seen = next;
                        found.push((next, starts));
                    }
                    _ => break,
                }
            }
            if is_beyond {
                let rest = self.sequence(rest)?;
                parts.push(self.cluster(text, start, text.len(), found, Some(rest))?);
                return Ok(true);
            }
            parts.push(self.cluster(text, start, end, found, None)?);
            at = end;
        }
        parts.push(self.builder.bytes(&text[at..]));
        Ok(false)
    }

    /// The part of a text from `start` to `end`, in which `found` may begin, and then `rest`.
    fn cluster(
        &mut self,
        text: &str,
        start: usize,
        end: usize,
        found: Vec<(usize, Vec<Start>)>,
        rest: Option<ExprId>,
    ) -> Result<ExprId> {
        let is_plain = found.len() == 1;
        // From each place on where something begins or ends, the last first.
        let after = rest.unwrap_or_else(|| self.builder.empty());
        let mut places: HashMap<usize, ExprId> = HashMap::from([(end, after)]);
        let mut ends: Vec<usize> = Vec::new();
        for (_, starts) in &found {
            ends.extend(starts.iter().filter_map(|start| match start {
                Start::Within(to, _) => Some(*to),
                Start::Beyond(..) => None,
            }));
        }
        let mut starts_at: HashMap<usize, Vec<Start>> = found.into_iter().collect();
        let mut stops: Vec<usize> = starts_at.keys().copied().chain(ends).filter(|&at| at < end).collect();
        stops.sort_unstable();
        stops.dedup();
        let mut next = end;
        for at in stops.into_iter().rev() {
            self.budget.tick()?;
            let plain = self.builder.bytes(&text[at..next]);
            let mut ways = vec![self.builder.seq([plain, places[&next]])];
            for start in starts_at.remove(&at).unwrap_or_default() {
                let (set, then) = match start {
                    Start::Within(to, set) => (set, places[&to]),
                    Start::Beyond(set, items) => (set, self.left(items)?),
                };
                let token = self.builder.token(set);
                ways.push(self.builder.seq([token, then]));
            }
            let mut here = self.builder.alt(ways);
            if !is_plain && at > start {
                // It is come to in more than one way.
                let rule = self.place();
                self.builder.define(rule, here, RuleOptions::default());
                here = self.builder.rule(rule);
                self.builder.check()?;
            }
            places.insert(at, here);
            next = at;
        }
        Ok(places[&start])
    }

    /// The first place from `at` on where a special token may begin, and those that may.
    fn next_start(&self, text: &str, mut at: usize, rest: &[Item]) -> Result<Option<(usize, Vec<Start>)>> {
        while let Some(place) = self.special.first_start(text, at) {
            self.budget.tick()?;
            let starts = self.starts(text, place, rest)?;
            if !starts.is_empty() {
                return Ok(Some((place, starts)));
            }
            at = place + next_char(&text[place..]);
        }
        Ok(None)
    }

    /// The special tokens that may begin at a place of a marker.
    fn starts(&self, text: &str, at: usize, rest: &[Item]) -> Result<Vec<Start>> {
        let here = &text[at..];
        let mut found: Vec<Start> = self
            .special
            .within(here)
            .map(|(length, ids)| Start::Within(at + length, TokenSet::beside_text(ids)))
            .collect();
        for (whole, ids) in self.special.beyond(here) {
            let lists = self.behind(rest, &whole[here.len()..], &mut Vec::new(), 0)?;
            found.extend(lists.into_iter().map(|items| Start::Beyond(TokenSet::beside_text(ids), items)));
        }
        Ok(found)
    }

    /// What is left of `items` after `text`, which is read by markers alone: a list for each way to read it.
    fn behind(
        &self,
        items: &[Item],
        text: &str,
        path: &mut Vec<RuleId>,
        depth: usize,
    ) -> Result<Vec<Vec<Item>>> {
        self.budget.tick()?;
        if text.is_empty() {
            return Ok(vec![items.to_vec()]);
        }
        let Some((first, rest)) = items.split_first().filter(|_| depth < DEEPEST) else {
            return Ok(Vec::new());
        };
        if let Some(marker) = self.marker(first) {
            if let Some(left) = marker.strip_prefix(text) {
                let left = if left.is_empty() { None } else { Some(Item::Text(left.to_owned())) };
                return Ok(vec![left.into_iter().chain(rest.iter().cloned()).collect()]);
            }
            return match text.strip_prefix(marker) {
                Some(text) => self.behind(rest, text, &mut Vec::new(), depth + 1),
                None => Ok(Vec::new()),
            };
        }
        let with_rest = |items: &[ExprId]| -> Vec<Item> {
            items.iter().map(|&item| Item::Old(item)).chain(rest.iter().cloned()).collect()
        };
        let (lists, rule) = match first {
            Item::Rule(rule) => (vec![with_rest(&[self.grammar.rule(*rule).body])], Some(*rule)),
            Item::Old(id) => match self.grammar.expr(*id) {
                Expr::Seq(items) => (vec![with_rest(items)], None),
                Expr::Alt(items) => (items.iter().map(|&item| with_rest(&[item])).collect(), None),
                Expr::Rule(rule) => (vec![with_rest(&[self.grammar.rule(*rule).body])], Some(*rule)),
                _ => (Vec::new(), None),
            },
            Item::Text(_) => (Vec::new(), None),
        };
        if let Some(rule) = rule {
            // What a rule says of its text, it says of the whole of it.
            if path.contains(&rule) || self.grammar.rule(rule).options != RuleOptions::default() {
                return Ok(Vec::new());
            }
            path.push(rule);
        }
        let mut found = Vec::new();
        for items in lists {
            found.extend(self.behind(&items, text, path, depth + 1)?);
        }
        if rule.is_some() {
            path.pop();
        }
        Ok(found)
    }

    /// Free text in which markers switch to rules.
    ///
    /// Where a tag begins with text, that is read as before, and the first special token of a tag ends the free text: so it
    /// is free text with tags, and again after each tag that was begun with a token.
    fn dispatch(&mut self, dispatch: &TagDispatch) -> Result<ExprId> {
        let own = TagDispatch {
            tags: dispatch.tags.iter().map(|(tag, rule)| (tag.clone(), self.rules[rule.index()])).collect(),
            markers: false,
            ..dispatch.clone()
        };
        let groups = self.begun_with_tokens(dispatch)?;
        if groups.is_empty() {
            return Ok(self.builder.tag_dispatch(own));
        }
        if !dispatch.repeats {
            let mut ways = vec![self.builder.tag_dispatch(own)];
            let strings: Vec<&str> = strings(dispatch);
            for (before, tags) in groups {
                let text = self.builder.automaton(Automaton::free_text(&strings, &before, self.budget)?);
                ways.push(self.builder.seq([text, tags]));
            }
            return Ok(self.builder.alt(ways));
        }
        let last = self.builder.tag_dispatch(own.clone());
        if let [(before, tags)] = &groups[..]
            && before.is_empty()
            && dispatch.before.is_empty()
        {
            let again = self.builder.seq([*tags, last]);
            let again = self.builder.repeat(again, 0, None);
            return Ok(self.builder.seq([last, again]));
        }
        let mut ways = Vec::with_capacity(groups.len());
        for (before, tags) in groups {
            let text = self.builder.tag_dispatch(TagDispatch { before, ..own.clone() });
            ways.push(self.builder.seq([text, tags]));
        }
        let any = self.builder.alt(ways);
        let again = self.builder.repeat(any, 0, None);
        Ok(self.builder.seq([again, last]))
    }

    /// What follows the free text where a tag has a special token, the text of the tag before that token with it. They are
    /// grouped by what the text before may not begin.
    fn begun_with_tokens(&mut self, dispatch: &TagDispatch) -> Result<Vec<(Box<str>, ExprId)>> {
        let mut groups: Vec<(Box<str>, Vec<ExprId>)> = Vec::new();
        let mut search = None;
        for (tag, rule) in &dispatch.tags {
            let rest = [Item::Rule(*rule)];
            let mut ways = Vec::new();
            let mut at = 0;
            while let Some((place, starts)) = self.next_start(tag, at, &rest)? {
                let text = self.builder.bytes(&tag[..place]);
                for start in starts {
                    let (set, then) = match start {
                        Start::Within(to, set) => {
                            let left =
                                if to < tag.len() { Some(Item::Text(tag[to..].to_owned())) } else { None };
                            let items: Vec<Item> = left.into_iter().chain(rest.iter().cloned()).collect();
                            (set, self.sequence(&items)?)
                        }
                        Start::Beyond(set, items) => (set, self.left(items)?),
                    };
                    let token = self.builder.token(set);
                    ways.push(self.builder.seq([text, token, then]));
                }
                at = place + next_char(&tag[place..]);
            }
            if ways.is_empty() {
                continue;
            }
            let search = match &mut search {
                Some(search) => search,
                none => none.insert(FreeText::new(&strings(dispatch), self.budget)?),
            };
            let spoils = !search.spoiled_by(tag, self.budget)?.is_empty();
            let before = if spoils { tag.clone() } else { Box::default() };
            match groups.iter_mut().find(|(other, _)| *other == before) {
                Some((_, known)) => known.extend(ways),
                None => groups.push((before, ways)),
            }
            self.builder.check()?;
        }
        Ok(groups.into_iter().map(|(before, ways)| (before, self.builder.alt(ways))).collect())
    }
}

/// What is looked for in the free text of a dispatch.
fn strings(dispatch: &TagDispatch) -> Vec<&str> {
    dispatch.tags.iter().map(|(tag, _)| tag).chain(&dispatch.excludes).map(|text| &**text).collect()
}

/// The bytes of the first code point.
fn next_char(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// A copy in which markers are text.
fn copy(builder: &mut Builder, expr: &Expr, exprs: &[ExprId], rules: &[RuleId]) -> ExprId {
    match expr {
        Expr::Marker(text) => builder.bytes(&**text),
        Expr::TagDispatch(dispatch) if dispatch.markers => builder.tag_dispatch(TagDispatch {
            tags: dispatch.tags.iter().map(|(tag, rule)| (tag.clone(), rules[rule.index()])).collect(),
            markers: false,
            ..(**dispatch).clone()
        }),
        other => copy_expr(builder, other, exprs, rules),
    }
}

#[cfg(test)]
#[path = "markers_tests.rs"]
mod tests;
