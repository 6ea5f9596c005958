//! Sets of strings: regular languages of texts, with their lengths apart.
//!
//! A text is what a JSON string means, not how it is spelled; escapes come in when the language is emitted. A set is
//! either a finite list, or a conjunction of regular expressions with bounds of the length in code points. The bounds
//! are kept apart because the usual string has nothing else, and because most patterns say something about the length
//! themselves: then the bounds melt into the pattern, or turn out to be no news.
//!
//! The languages of some formats are narrower than the formats. Such a set has fewer texts than it stands for, and its
//! complement must not have those that are missing: it is the complement of a wider set. So a set is a lower bound of what
//! it stands for, [`TextSet::wider`] is an upper one, and a complement changes one for the other. Sets count as empty if
//! the upper bound is.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::frontends::regex::{self, Syntax};
use crate::ir::{Automaton, Builder, Expr, ExprId, Fragment, RuleOptions};
use crate::limits::Budget;
use crate::regular::{self, CharSet, Dfa};

use super::keys::Region;
use super::numbers::NumberSet;

/// The expressions of texts, and the automata of those that somebody asked about.
#[derive(Debug)]
pub struct Languages<'b> {
    /// Where the expressions are interned.
    pub builder: Builder,
    /// The account of the conversion.
    pub budget: &'b Budget,
    /// What was found out about them.
    pub known: Known,
}

/// What was found out about the expressions of a builder: it holds for all schemas that are put into the same one.
#[derive(Debug, Default)]
pub struct Known {
    automata: FxHashMap<ExprId, Arc<Dfa>>,
    /// The EBNF text of patterns, by expression.
    sources: FxHashMap<ExprId, String>,
    /// The texts that are not in a complement, by expression: a text is found among them without an automaton.
    complements: FxHashMap<ExprId, Rc<BTreeSet<Box<str>>>>,
    /// Languages that are narrower than what they stand for.
    narrowed: FxHashMap<ExprId, Narrowed>,
    /// The same, with the languages of those patterns, and what was made of them.
    wider: FxHashMap<ExprId, ExprId>,
    /// Expressions as automata that are ready.
    made: FxHashMap<ExprId, ExprId>,
    /// How patterns split all keys.
    pub(super) regions: FxHashMap<Box<[ExprId]>, Rc<[Region]>>,
    /// Sets of numbers as expressions, and whether they are spelled with digits only: most schemas have few sets.
    pub numbers: FxHashMap<(NumberSet, bool), ExprId>,
    /// Texts that hold none of some strings, and come before the first of them.
    pub free_texts: FxHashMap<Box<[Box<str>]>, ExprId>,
    /// Texts that hold none of some strings: a request has one such list for all of its tools.
    pub excluded: FxHashMap<Box<[String]>, ExprId>,
}

/// What is known of a language that is narrower than what it stands for.
#[derive(Clone, Copy, Debug)]
struct Narrowed {
    /// A pattern that is wider.
    pattern: &'static str,
    /// The bound of the length that came with the language, and narrows it too.
    bound: Option<u32>,
}

impl<'b> Languages<'b> {
    /// No automaton yet.
    pub fn new(builder: Builder, budget: &'b Budget) -> Self {
        Languages { builder, budget, known: Known::default() }
    }

    /// Remembers how a pattern is written in EBNF.
    pub fn name(&mut self, expr: ExprId, source: String) {
        self.known.sources.insert(expr, source);
    }

    /// A language that is wider than what `expr` stands for, where that is not `expr` itself.
    fn wider(&mut self, expr: ExprId) -> Result<Option<ExprId>> {
        if let Some(&wider) = self.known.wider.get(&expr) {
            return Ok(Some(wider));
        }
        let Some(&Narrowed { pattern, .. }) = self.known.narrowed.get(&expr) else { return Ok(None) };
        let (wider, _) = regex::parse_named(pattern, &Syntax::search(), &mut self.builder, self.budget)?;
        self.known.wider.insert(expr, wider);
        Ok(Some(wider))
    }

    /// The EBNF text of what matches all of `matched` and none of `others`, where all of them are known by name.
    pub fn source(&self, matched: &[ExprId], others: &[ExprId]) -> Option<String> {
        let texts =
            |list: &[ExprId]| list.iter().map(|expr| Some(self.known.sources.get(expr)?.as_str())).collect();
        let (matched, others): (Option<Vec<&str>>, Option<Vec<&str>>) = (texts(matched), texts(others));
        let (mut parts, others) = (matched?, others?);
        let none = format!("~({})", others.join(" | "));
        if !others.is_empty() {
            parts.push(&none);
        }
        Some(format!("({})", parts.join(" & ")))
    }

    /// The automaton of `expr`.
    pub fn automaton(&mut self, expr: ExprId) -> Result<Arc<Dfa>> {
        if let Some(dfa) = self.known.automata.get(&expr) {
            return Ok(Arc::clone(dfa));
        }
        let dfa = Arc::new(regular::determinize(&self.builder, expr, self.budget)?);
        self.known.automata.insert(expr, Arc::clone(&dfa));
        Ok(dfa)
    }

    /// A text to be emitted: a conjunction or a complement that was made an automaton, because somebody asked about it, is
    /// that from here on, so that it is not made again.
    pub fn settled(&mut self, expr: ExprId) -> Result<ExprId> {
        let (body, most) = self.unbounded(expr);
        if !matches!(self.builder.expr(body), Expr::And(_) | Expr::Not(_)) {
            return Ok(expr);
        }
        let Some(dfa) = self.known.automata.get(&body).map(Arc::clone) else { return Ok(expr) };
        let made = self.made(body, None, |_| Ok(dfa))?;
        Ok(most.map_or(made, |most| self.builder.at_most(made, most)))
    }

    /// An expression as its automaton, unless it takes rules to write it down; `source` is its EBNF text if that is known,
    /// and `compute` gives the automaton if that is not.
    pub fn made(
        &mut self,
        expr: ExprId,
        source: Option<String>,
        compute: impl FnOnce(&Budget) -> Result<Arc<Dfa>>,
    ) -> Result<ExprId> {
        if let Some(&made) = self.known.made.get(&expr) {
            return Ok(made);
        }
        let source = source.map_or_else(|| self.printed(expr), |source| Ok(Some(source.into())))?;
        let made = match source {
            Some(source) => {
                let dfa = match self.known.automata.get(&expr) {
                    Some(dfa) => Arc::clone(dfa),
                    None => compute(self.budget)?,
                };
                self.known.automata.insert(expr, Arc::clone(&dfa));
                self.builder.automaton(Automaton { source, dfa: dfa.into() })
            }
            None => expr,
        };
        self.known.made.insert(expr, made);
        Ok(made)
    }

    /// The EBNF text of an expression of texts, which names no rule, unless it takes rules to write it down.
    fn printed(&self, expr: ExprId) -> Result<Option<Arc<str>>> {
        let mut builder = Builder::new(self.budget.limits());
        let root = builder.declare("root");
        let body = Fragment::new(&self.builder, expr).copy_into(&mut builder, self.budget)?;
        builder.define(root, body, RuleOptions::default());
        let text = builder.finish(root)?.to_string();
        let text = text.strip_prefix("root ::= ").map(str::trim_end);
        Ok(text.filter(|text| !text.contains('\n')).map(|text| format!("({text})").into()))
    }

    /// Whether `text` is in the language of `expr`.
    pub fn matches(&mut self, expr: ExprId, text: &str) -> Result<bool> {
        if let Expr::Bytes(bytes) = self.builder.expr(expr) {
            return Ok(**bytes == *text.as_bytes());
        }
        if let Some(excluded) = self.known.complements.get(&expr) {
            return Ok(!excluded.contains(text));
        }
        let (body, most) = self.unbounded(expr);
        if most.is_some_and(|most| text.chars().count() > most as usize) {
            return Ok(false);
        }
        if !self.has_bounded_items(body) {
            return Ok(self.automaton(body)?.matches(text.as_bytes()));
        }
        for item in self.builder.expr(body).children().to_vec() {
            if self.matches(item, text)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the language of `expr` has no text.
    pub fn is_empty(&mut self, expr: ExprId) -> Result<bool> {
        let (body, most) = self.unbounded(expr);
        Ok(match self.builder.expr(body) {
            Expr::Never => true,
            Expr::Not(_) if most.is_none() && self.known.complements.contains_key(&body) => false,
            Expr::And(_) | Expr::Not(_) => {
                let dfa = self.automaton(body)?;
                match most {
                    None => dfa.is_empty(),
                    Some(most) => dfa.shortest().is_none_or(|shortest| shortest > most),
                }
            }
            Expr::Alt(items) => {
                for item in items.clone() {
                    let item = most.map_or(item, |most| self.builder.at_most(item, most));
                    if !self.is_empty(item)? {
                        return Ok(false);
                    }
                }
                true
            }
            _ => most.is_some_and(|most| regular::lengths(&self.builder, body).0 > most),
        })
    }

    /// What is in all of `parts`. A bound of the length within a conjunction would be counted by an automaton, which would
    /// multiply by it. So bounds are drawn out: those of the parts, and those of alternatives, unless these are too many.
    fn all_of(&mut self, parts: &[ExprId]) -> ExprId {
        const MOST_ALTERNATIVES: usize = 64;
        let bodies: Vec<(ExprId, Option<u32>)> = parts.iter().map(|&part| self.unbounded(part)).collect();
        let most = bodies.iter().filter_map(|&(_, most)| most).min();
        let mut bodies: Vec<ExprId> = bodies.into_iter().map(|(body, _)| body).collect();
        let is_choice = |body: &&ExprId| self.has_bounded_items(**body);
        let counts = bodies.iter().filter(is_choice).map(|&body| self.builder.expr(body).children().len());
        let is_small = counts.fold(1, usize::saturating_mul) <= MOST_ALTERNATIVES;
        let all = match bodies.iter().position(|body| is_choice(&body)).filter(|_| is_small) {
            None => self.builder.and(bodies),
            Some(at) => {
                let items = self.builder.expr(bodies.swap_remove(at)).children().to_vec();
                let both: Vec<ExprId> = items
                    .into_iter()
                    .map(|item| {
                        bodies.push(item);
                        let both = self.all_of(&bodies);
                        bodies.pop();
                        both
                    })
                    .collect();
                self.builder.alt(both)
            }
        };
        most.map_or(all, |most| self.builder.at_most(all, most))
    }

    /// Whether an expression is a choice, and some alternative has a bound of its own.
    fn has_bounded_items(&self, expr: ExprId) -> bool {
        match self.builder.expr(expr) {
            Expr::Alt(items) => items.iter().any(|&item| self.unbounded(item).1.is_some()),
            _ => false,
        }
    }

    /// The texts that `expr` is the complement of, if it is one.
    fn outside_of(&self, expr: ExprId) -> Option<TextSet> {
        if let Some(texts) = self.known.complements.get(&expr) {
            return Some(TextSet::Finite(Rc::clone(texts)));
        }
        let inner = match *self.builder.expr(expr) {
            Expr::Not(inner) => inner,
            Expr::Repeat { body, min, max } => {
                return self.is_any_character(body).then(|| outside_of_length(min, max)).flatten();
            }
            _ => return None,
        };
        let (body, max) = self.unbounded(inner);
        let conjuncts = match self.builder.expr(body) {
            Expr::And(items) => items.iter().copied().collect(),
            _ => SmallVec::from_slice(&[body]),
        };
        Some(TextSet::Language { conjuncts, min: 0, max })
    }

    fn is_any_character(&self, expr: ExprId) -> bool {
        matches!(self.builder.expr(expr), Expr::Class(set) if *set == CharSet::any())
    }

    /// The texts of `expr`, the bound of their length apart. With `wider` they are fewer than what they stand for, and all
    /// of that matches this pattern.
    pub fn text_set(&mut self, expr: ExprId, wider: Option<&'static str>) -> TextSet {
        let (body, max) = self.unbounded(expr);
        if let Some(pattern) = wider {
            self.known.narrowed.insert(body, Narrowed { pattern, bound: max });
        }
        TextSet::Language { conjuncts: SmallVec::from_slice(&[body]), min: 0, max }
    }

    /// An expression without the bound of its length, and that.
    fn unbounded(&self, expr: ExprId) -> (ExprId, Option<u32>) {
        match *self.builder.expr(expr) {
            Expr::AtMost { body, most } => (body, Some(most)),
            _ => (expr, None),
        }
    }

    /// Any text of `min` to `max` code points.
    pub fn of_length(&mut self, min: u32, max: Option<u32>) -> ExprId {
        let any = self.builder.class(CharSet::any());
        self.builder.repeat(any, min, max)
    }
}

/// A set of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextSet {
    /// These.
    Finite(Rc<BTreeSet<Box<str>>>),
    /// All that are in each of these languages and have a length within the bounds.
    Language {
        /// The languages.
        conjuncts: SmallVec<[ExprId; 2]>,
        /// The least length in code points.
        min: u32,
        /// The greatest length.
        max: Option<u32>,
    },
}

impl TextSet {
    /// Every text.
    pub fn any() -> Self {
        TextSet::of_length(0, None)
    }

    /// No text.
    pub fn never() -> Self {
        TextSet::Finite(Rc::default())
    }

    /// Every text of such a length.
    pub fn of_length(min: u32, max: Option<u32>) -> Self {
        TextSet::Language { conjuncts: SmallVec::new(), min, max }
    }

    /// The texts of a regular expression.
    pub fn of_expr(expr: ExprId) -> Self {
        TextSet::Language { conjuncts: SmallVec::from_slice(&[expr]), min: 0, max: None }
    }

    /// Whether it is known to be all texts.
    pub fn is_any(&self) -> bool {
        matches!(self, TextSet::Language { conjuncts, min: 0, max: None } if conjuncts.is_empty())
    }

    /// Whether it is known to have no text, without work.
    pub fn is_never(&self) -> bool {
        match self {
            TextSet::Finite(texts) => texts.is_empty(),
            TextSet::Language { min, max, .. } => max.is_some_and(|max| max < *min),
        }
    }

    /// The upper bound of what it stands for, where that is not the set itself.
    fn wider(&self, languages: &mut Languages<'_>) -> Result<Option<Self>> {
        let TextSet::Language { conjuncts, min, max } = self else { return Ok(None) };
        if languages.known.narrowed.is_empty() {
            return Ok(None);
        }
        let (mut all, mut max) = (conjuncts.clone(), *max);
        for conjunct in &mut all {
            let Some(wider) = languages.wider(*conjunct)? else { continue };
            if languages.known.narrowed.get(conjunct).is_some_and(|narrowed| narrowed.bound == max) {
                max = None;
            }
            *conjunct = wider;
        }
        Ok((all != *conjuncts).then_some(TextSet::Language { conjuncts: all, min: *min, max }))
    }

    /// Whether it has fewer texts than it stands for.
    pub fn is_narrowed(&self, languages: &mut Languages<'_>) -> Result<bool> {
        Ok(self.wider(languages)?.is_some())
    }

    /// Whether it has no text.
    pub fn is_empty(&self, languages: &mut Languages<'_>) -> Result<bool> {
        if !self.has_no_text(languages)? {
            return Ok(false);
        }
        self.wider(languages)?.map_or(Ok(true), |wider| wider.has_no_text(languages))
    }

    fn has_no_text(&self, languages: &mut Languages<'_>) -> Result<bool> {
        match self {
            TextSet::Language { conjuncts, .. } if !conjuncts.is_empty() && !self.is_never() => {
                let expr = self.expr(languages)?;
                languages.is_empty(expr)
            }
            _ => Ok(self.is_never()),
        }
    }

    /// What both have.
    pub fn intersect(&self, other: &Self, languages: &mut Languages<'_>) -> Result<Self> {
        match (self, other) {
            (TextSet::Finite(texts), set) | (set, TextSet::Finite(texts)) => {
                let mut kept = Vec::with_capacity(texts.len());
                for text in texts.iter() {
                    if set.contains(text, languages)? {
                        kept.push(text);
                    } else if let Some(wider) = set.wider(languages)?
                        && wider.contains(text, languages)?
                    {
                        return Err(Error::unsupported(format!(
                            "the string {text:?} may be of a format that is narrower here than its definition"
                        )));
                    }
                }
                if kept.len() == texts.len() {
                    return Ok(TextSet::Finite(Rc::clone(texts)));
                }
                Ok(TextSet::Finite(Rc::new(kept.into_iter().cloned().collect())))
            }
            (
                TextSet::Language { conjuncts, min, max },
                TextSet::Language { conjuncts: more, min: other_min, max: other_max },
            ) => {
                let mut conjuncts = conjuncts.clone();
                conjuncts.extend(more.iter().copied());
                conjuncts.sort_unstable();
                conjuncts.dedup();
                let max = match (max, other_max) {
                    (Some(a), Some(b)) => Some(*a.min(b)),
                    (a, b) => a.or(*b),
                };
                Ok(TextSet::Language { conjuncts, min: *min.max(other_min), max })
            }
        }
    }

    /// What either has.
    pub fn unite(&self, other: &Self, languages: &mut Languages<'_>) -> Result<Self> {
        if self == other || self.is_any() || other.is_never() {
            return Ok(self.clone());
        }
        if other.is_any() || self.is_never() {
            return Ok(other.clone());
        }
        if let (TextSet::Finite(left), TextSet::Finite(right)) = (self, other) {
            return Ok(TextSet::Finite(Rc::new(left.union(right).cloned().collect())));
        }
        let parts = [self.expr(languages)?, other.expr(languages)?];
        let either = languages.builder.alt(parts);
        let wider = [self.wider(languages)?, other.wider(languages)?];
        if wider.iter().any(Option::is_some) {
            let [left, right] =
                [(self, &wider[0]), (other, &wider[1])].map(|(set, wider)| wider.as_ref().unwrap_or(set));
            let parts = [left.expr(languages)?, right.expr(languages)?];
            let wider = languages.builder.alt(parts);
            languages.known.wider.insert(either, wider);
        }
        Ok(TextSet::of_expr(either))
    }

    /// All other texts.
    pub fn complement(&self, languages: &mut Languages<'_>) -> Result<Self> {
        let Some(wider) = self.wider(languages)? else { return self.exact_complement(languages) };
        let (others, wider_others) = (wider.exact_complement(languages)?, self.exact_complement(languages)?);
        let (others, wider_others) = (others.expr(languages)?, wider_others.expr(languages)?);
        if languages.is_empty(others)? {
            return Err(Error::unsupported(
                "the complement of a format that is narrower here than its definition, and may be any text",
            ));
        }
        languages.known.wider.insert(others, wider_others);
        Ok(TextSet::of_expr(others))
    }

    fn exact_complement(&self, languages: &mut Languages<'_>) -> Result<Self> {
        if self.is_any() {
            return Ok(TextSet::never());
        }
        if self.is_never() {
            return Ok(TextSet::any());
        }
        if let TextSet::Language { conjuncts, min, max } = self
            && conjuncts.is_empty()
            && let Some(others) = outside_of_length(*min, *max)
        {
            return Ok(others);
        }
        match self {
            TextSet::Language { conjuncts, min, max: Some(max) } if conjuncts.is_empty() => {
                let shorter = TextSet::of_length(0, Some(min - 1));
                shorter.unite(&TextSet::of_length(max.saturating_add(1), None), languages)
            }
            TextSet::Language { conjuncts, min: 0, max: None } if conjuncts.len() == 1 => {
                let items = match languages.builder.expr(conjuncts[0]) {
                    Expr::Alt(items) => items.clone(),
                    _ => conjuncts.as_slice().into(),
                };
                // None of several complements is all of what they are complements of.
                let inner: Option<Vec<TextSet>> =
                    items.iter().map(|&item| languages.outside_of(item)).collect();
                match inner {
                    Some(sets) => {
                        sets.iter().try_fold(TextSet::any(), |all, set| all.intersect(set, languages))
                    }
                    None => Ok(TextSet::of_expr(languages.builder.not(conjuncts[0]))),
                }
            }
            TextSet::Language { .. } => {
                let expr = self.expr(languages)?;
                Ok(TextSet::of_expr(languages.builder.not(expr)))
            }
            TextSet::Finite(texts) => {
                let expr = self.expr(languages)?;
                let others = languages.builder.not(expr);
                languages.known.complements.insert(others, Rc::clone(texts));
                Ok(TextSet::of_expr(others))
            }
        }
    }

    /// Whether `text` is in it.
    pub fn contains(&self, text: &str, languages: &mut Languages<'_>) -> Result<bool> {
        match self {
            TextSet::Finite(texts) => Ok(texts.contains(text)),
            TextSet::Language { conjuncts, min, max } => {
                if *min > 0 || max.is_some() {
                    let length = text.chars().count();
                    if length < *min as usize || max.is_some_and(|max| length > max as usize) {
                        return Ok(false);
                    }
                }
                for &conjunct in conjuncts {
                    if !languages.matches(conjunct, text)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// The expression of its texts.
    pub fn expr(&self, languages: &mut Languages<'_>) -> Result<ExprId> {
        match self {
            TextSet::Finite(texts) => {
                let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
                Ok(prefix_tree(&mut languages.builder, &texts))
            }
            TextSet::Language { min, max, .. } if max.is_some_and(|max| max < *min) => {
                Ok(languages.builder.never())
            }
            TextSet::Language { conjuncts, min, max } => match conjuncts.as_slice() {
                [] => Ok(languages.of_length(*min, *max)),
                &[one] => Ok(with_length(one, *min, *max, languages)),
                several => {
                    let all = languages.all_of(several);
                    Ok(with_length(all, *min, *max, languages))
                }
            },
        }
    }
}

/// All texts but those of `min` to `max` code points, where that is one range of lengths.
fn outside_of_length(min: u32, max: Option<u32>) -> Option<TextSet> {
    match (min, max) {
        (1.., None) => Some(TextSet::of_length(0, Some(min - 1))),
        (0, Some(max)) => Some(TextSet::of_length(max.saturating_add(1), None)),
        _ => None,
    }
}

/// The texts of `expr` with a length within the bounds.
fn with_length(expr: ExprId, min: u32, max: Option<u32>, languages: &mut Languages<'_>) -> ExprId {
    if min == 0 && max.is_none() {
        return expr;
    }
    if let &Expr::Repeat { body, min: low, max: high } = languages.builder.expr(expr)
        && matches!(languages.builder.expr(body), Expr::Class(_))
    {
        let high = match (high, max) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        return languages.builder.repeat(body, low.max(min), high);
    }
    let (shortest, longest) = regular::lengths(&languages.builder, expr);
    let min = if shortest >= min { 0 } else { min };
    let max = max.filter(|&max| longest.is_none_or(|longest| longest > max));
    if min == 0 && max.is_none() {
        return expr;
    }
    let long = if min == 0 {
        expr
    } else {
        let bounds = languages.of_length(min, None);
        languages.all_of(&[expr, bounds])
    };
    max.map_or(long, |max| languages.builder.at_most(long, max))
}

/// The alternatives of a sorted list of texts, with what they begin with in common written once.
///
/// An engine that reads a hundred thousand alternatives byte by byte looks at all of them for the first byte; in a
/// tree it looks at those that begin so.
pub fn prefix_tree(builder: &mut Builder, texts: &[&str]) -> ExprId {
    const FEW: usize = 4;
    struct Level<'t> {
        texts: &'t [&'t str],
        skip: usize,
        at: usize,
        alternatives: Vec<ExprId>,
        prefix: &'t str,
    }
    fn open<'t>(texts: &'t [&'t str], skip: usize) -> Level<'t> {
        let (first, last) = (&texts[0][skip..], &texts[texts.len() - 1][skip..]);
        let common: usize =
            first.chars().zip(last.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
        Level { texts, skip: skip + common, at: 0, alternatives: Vec::new(), prefix: &first[..common] }
    }
    if texts.len() <= FEW {
        let items: Vec<ExprId> = texts.iter().map(|text| builder.bytes(text)).collect();
        return builder.alt(items);
    }
    let mut levels = vec![open(texts, 0)];
    loop {
        let Some(level) = levels.last_mut() else { return builder.never() };
        let rest = &level.texts[level.at..];
        let Some(first) = rest.first() else {
            let body = builder.alt(std::mem::take(&mut level.alternatives));
            let prefix = builder.bytes(level.prefix);
            let done = builder.seq([prefix, body]);
            levels.pop();
            match levels.last_mut() {
                Some(parent) => parent.alternatives.push(done),
                None => return done,
            }
            continue;
        };
        let head = first[level.skip..].chars().next();
        let same = rest.partition_point(|text| text[level.skip..].chars().next() == head);
        let group = &level.texts[level.at..level.at + same];
        level.at += same;
        if group.len() == 1 {
            let tail = builder.bytes(&group[0][level.skip..]);
            level.alternatives.push(tail);
        } else {
            let skip = level.skip;
            levels.push(open(group, skip));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Options, parse};
    use crate::frontends::ebnf;
    use crate::limits::{Budget, Limits};

    #[test]
    fn texts_that_were_looked_into_print_and_read_back() {
        let schema = r#"{"type": "string", "maxLength": 9, "allOf": [
            {"pattern": "a|b"}, {"not": {"pattern": "ab"}}, {"not": {"pattern": "^c"}}]}"#;
        let printed = |text: &str| {
            let budget = Budget::default();
            ebnf::parse(text, "root", &Limits::default(), &budget).unwrap().to_string()
        };
        let text = parse(schema, &Options::default(), &Budget::default()).unwrap().grammar.to_string();
        assert!(text.contains('&') && text.contains('~'), "{text}");
        assert_eq!(printed(&text), text);
    }
}
