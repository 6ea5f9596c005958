//! Sets of strings: regular languages of texts, with their lengths apart.
//!
//! A text is what a JSON string means, not how it is spelled; escapes come in when the language is emitted. A set is
//! either a finite list, or a conjunction of regular expressions with bounds of the length in code points. The bounds
//! are kept apart because the usual string has nothing else, and because most patterns say something about the length
//! themselves: then the bounds melt into the pattern, or turn out to be no news.
//!
//! The languages of some formats are narrower than the formats. Such a set writes fewer texts than it means, and its
//! complement must not write those that are missing: it writes what is not meant, and means what is not written. So a set has
//! both, and what is meant is an upper bound. Sets count as empty if that is.

use std::collections::BTreeSet;
use std::rc::Rc;

use smallvec::{SmallVec, smallvec};

use crate::error::{Error, Result};
use crate::ir::{Builder, Expr, ExprId};
use crate::regular;

use super::languages::Languages;

/// A language of a conjunction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conjunct {
    /// The texts that are written.
    expr: ExprId,
    meant: Meant,
}

/// The texts that a language stands for, and perhaps more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Meant {
    /// Those that are written.
    Written,
    /// All that match a pattern, which is seldom looked at.
    Pattern(&'static str),
    /// Those of another language.
    Expr(ExprId),
}

impl Conjunct {
    /// What is written is what is meant.
    fn exact(expr: ExprId) -> Self {
        Conjunct { expr, meant: Meant::Written }
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
        conjuncts: SmallVec<[Conjunct; 2]>,
        /// The least length in code points.
        min: u32,
        /// The greatest length.
        max: Option<u32>,
        /// The greatest length of what is written; longer texts may be meant.
        written_max: Option<u32>,
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
        TextSet::exactly([], min, max)
    }

    /// The texts of a regular expression.
    pub fn of_expr(expr: ExprId) -> Self {
        TextSet::exactly([expr], 0, None)
    }

    /// The texts of a format: what is written, and where that is less than it means, a pattern that matches all of that.
    pub fn of_format(expr: ExprId, meant: Option<&'static str>, languages: &Languages<'_>) -> Self {
        let (body, most) = languages.unbounded(expr);
        let Some(pattern) = meant else { return TextSet::exactly([body], 0, most) };
        let conjuncts = smallvec![Conjunct { expr: body, meant: Meant::Pattern(pattern) }];
        TextSet::Language { conjuncts, min: 0, max: None, written_max: most }
    }

    /// The texts that are in all of these languages, and of such a length.
    pub(super) fn exactly(conjuncts: impl IntoIterator<Item = ExprId>, min: u32, max: Option<u32>) -> Self {
        let conjuncts = conjuncts.into_iter().map(Conjunct::exact).collect();
        TextSet::Language { conjuncts, min, max, written_max: None }
    }

    /// The texts of `written`, which stands for all of `meant`.
    fn narrowed(written: &Self, meant: &Self, languages: &mut Languages<'_>) -> Result<Self> {
        let (expr, meant) = (written.expr(languages)?, meant.expr(languages)?);
        let conjuncts = smallvec![Conjunct { expr, meant: Meant::Expr(meant) }];
        Ok(TextSet::Language { conjuncts, min: 0, max: None, written_max: None })
    }

    /// Whether it is known to be all texts.
    pub fn is_any(&self) -> bool {
        matches!(self, TextSet::Language { conjuncts, min: 0, max: None, written_max: None } if conjuncts.is_empty())
    }

    /// Whether it is known to have no text, without work.
    pub fn is_never(&self) -> bool {
        match self {
            TextSet::Finite(texts) => texts.is_empty(),
            TextSet::Language { min, max, .. } => max.is_some_and(|max| max < *min),
        }
    }

    /// The texts that are written, and mean nothing else.
    fn written(&self) -> Self {
        match self {
            TextSet::Finite(_) => self.clone(),
            TextSet::Language { conjuncts, min, max, written_max } => {
                let exprs = conjuncts.iter().map(|conjunct| conjunct.expr);
                TextSet::exactly(exprs, *min, least(*max, *written_max))
            }
        }
    }

    /// The texts that are meant, where those are more than what is written.
    fn meant(&self, languages: &mut Languages<'_>) -> Result<Option<Self>> {
        let TextSet::Language { conjuncts, min, max, .. } = self else { return Ok(None) };
        if !self.is_narrowed() {
            return Ok(None);
        }
        let mut all = Vec::with_capacity(conjuncts.len());
        for conjunct in conjuncts {
            all.push(match conjunct.meant {
                Meant::Written => conjunct.expr,
                Meant::Pattern(pattern) => languages.meant(pattern)?,
                Meant::Expr(meant) => meant,
            });
        }
        all.sort_unstable();
        all.dedup();
        Ok(Some(TextSet::exactly(all, *min, *max)))
    }

    /// Whether it writes fewer texts than it means.
    pub fn is_narrowed(&self) -> bool {
        match self {
            TextSet::Finite(_) => false,
            TextSet::Language { conjuncts, .. } => {
                conjuncts.iter().any(|conjunct| conjunct.meant != Meant::Written)
            }
        }
    }

    /// Whether it means no text.
    pub fn is_empty(&self, languages: &mut Languages<'_>) -> Result<bool> {
        if !self.writes_nothing(languages)? {
            return Ok(false);
        }
        self.meant(languages)?.map_or(Ok(true), |meant| meant.writes_nothing(languages))
    }

    /// Whether it writes no text.
    pub fn writes_nothing(&self, languages: &mut Languages<'_>) -> Result<bool> {
        match self {
            TextSet::Language { conjuncts, .. } if !conjuncts.is_empty() && !self.is_never() => {
                if self.is_plainly_more_than_excluded(languages) {
                    return Ok(false);
                }
                let expr = self.expr(languages)?;
                languages.is_empty(expr)
            }
            _ => Ok(self.is_never()),
        }
    }

    /// Whether it is all texts but some, and those are fewer than there are texts of one character.
    fn is_plainly_more_than_excluded(&self, languages: &Languages<'_>) -> bool {
        const MANY: usize = 1_000_000;
        let TextSet::Language { conjuncts, min, max, written_max } = self else { return false };
        let has_room = least(*max, *written_max).is_none_or(|max| max >= (*min).max(1));
        let counts = conjuncts
            .iter()
            .map(|conjunct| languages.known.complements.get(&conjunct.expr).map(|excluded| excluded.len()));
        has_room && counts.sum::<Option<usize>>().is_some_and(|excluded| excluded < MANY)
    }

    /// Whether it does not write `text`, and may mean it.
    pub fn is_in_doubt(&self, text: &str, languages: &mut Languages<'_>) -> Result<bool> {
        let Some(meant) = self.meant(languages)? else { return Ok(false) };
        Ok(!self.contains(text, languages)? && meant.contains(text, languages)?)
    }

    /// What both have.
    pub fn intersect(&self, other: &Self, languages: &mut Languages<'_>) -> Result<Self> {
        match (self, other) {
            (TextSet::Finite(texts), set) | (set, TextSet::Finite(texts)) => {
                let mut kept = Vec::with_capacity(texts.len());
                for text in texts.iter() {
                    if set.contains(text, languages)? {
                        kept.push(text);
                    } else if set.is_in_doubt(text, languages)? {
                        return Err(in_doubt("string", text));
                    }
                }
                if kept.len() == texts.len() {
                    return Ok(TextSet::Finite(Rc::clone(texts)));
                }
                Ok(TextSet::Finite(Rc::new(kept.into_iter().cloned().collect())))
            }
            (
                TextSet::Language { conjuncts, min, max, written_max },
                TextSet::Language {
                    conjuncts: more,
                    min: other_min,
                    max: other_max,
                    written_max: other_written_max,
                },
            ) => {
                let mut conjuncts = conjuncts.clone();
                conjuncts.extend(more.iter().copied());
                conjuncts.sort_unstable();
                conjuncts.dedup();
                let (min, max) = (*min.max(other_min), least(*max, *other_max));
                let written_max = least(*written_max, *other_written_max);
                Ok(TextSet::Language { conjuncts, min, max, written_max })
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
        let written = self.either(other, languages)?;
        let [left, right] = [self.meant(languages)?, other.meant(languages)?];
        if left.is_none() && right.is_none() {
            return Ok(written);
        }
        let meant = left.as_ref().unwrap_or(self).either(right.as_ref().unwrap_or(other), languages)?;
        TextSet::narrowed(&written, &meant, languages)
    }

    /// The texts that are written by either.
    fn either(&self, other: &Self, languages: &mut Languages<'_>) -> Result<Self> {
        let parts = [self.expr(languages)?, other.expr(languages)?];
        Ok(TextSet::of_expr(languages.builder.alt(parts)))
    }

    /// All other texts.
    pub fn complement(&self, languages: &mut Languages<'_>) -> Result<Self> {
        let Some(meant) = self.meant(languages)? else { return self.written().exact_complement(languages) };
        let others = meant.exact_complement(languages)?;
        if others.writes_nothing(languages)? {
            return Err(Error::unsupported(
                "the complement of a format that is narrower here than its definition, and may be any text",
            ));
        }
        let unwritten = self.written().exact_complement(languages)?;
        TextSet::narrowed(&others, &unwritten, languages)
    }

    /// All other texts, where what is written is what is meant.
    fn exact_complement(&self, languages: &mut Languages<'_>) -> Result<Self> {
        if self.is_any() {
            return Ok(TextSet::never());
        }
        if self.is_never() {
            return Ok(TextSet::any());
        }
        if let TextSet::Language { conjuncts, min, max, .. } = self
            && conjuncts.is_empty()
            && let Some(others) = outside_of_length(*min, *max)
        {
            return Ok(others);
        }
        match self {
            TextSet::Language { conjuncts, min, max: Some(max), .. } if conjuncts.is_empty() => {
                let shorter = TextSet::of_length(0, Some(min - 1));
                shorter.unite(&TextSet::of_length(max.saturating_add(1), None), languages)
            }
            TextSet::Language { conjuncts, min: 0, max: None, .. } if conjuncts.len() == 1 => {
                let only = conjuncts[0].expr;
                let items = if let Expr::Alt(items) = languages.builder.expr(only) {
                    items.clone()
                } else {
                    smallvec![only]
                };
                // None of several complements is all of what they are complements of.
                let inner: Option<Vec<TextSet>> =
                    items.iter().map(|&item| languages.outside_of(item)).collect();
                match inner {
                    Some(sets) => {
                        sets.iter().try_fold(TextSet::any(), |all, set| all.intersect(set, languages))
                    }
                    None => Ok(TextSet::of_expr(languages.builder.not(only))),
                }
            }
            TextSet::Language { conjuncts, min, max, .. } => {
                // What is not in all of several complements is in some of what they are complements of.
                let inner: Option<Vec<TextSet>> = if *min == 0 && max.is_none() {
                    conjuncts.iter().map(|conjunct| languages.outside_of(conjunct.expr)).collect()
                } else {
                    None
                };
                if let Some(sets) = inner {
                    return sets.iter().try_fold(TextSet::never(), |any, set| any.unite(set, languages));
                }
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

    /// Whether it writes `text`.
    pub fn contains(&self, text: &str, languages: &mut Languages<'_>) -> Result<bool> {
        match self {
            TextSet::Finite(texts) => Ok(texts.contains(text)),
            TextSet::Language { conjuncts, min, max, written_max } => {
                let max = least(*max, *written_max);
                if *min > 0 || max.is_some() {
                    let length = text.chars().count();
                    if length < *min as usize || max.is_some_and(|max| length > max as usize) {
                        return Ok(false);
                    }
                }
                for conjunct in conjuncts {
                    if !languages.matches(conjunct.expr, text)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// How many texts it writes, where that is plain.
    pub fn count(&self, languages: &mut Languages<'_>) -> Result<Option<u64>> {
        if let TextSet::Finite(texts) = self {
            return Ok(Some(texts.len() as u64));
        }
        let expr = self.expr(languages)?;
        let (body, bound) = languages.unbounded(expr);
        Ok(if bound.is_some() { None } else { languages.automaton(body)?.count_words() })
    }

    /// Whether it is known to write no end of texts, or more than anybody lists.
    pub fn is_endless(&self, languages: &mut Languages<'_>) -> Result<bool> {
        /// No array has so many items.
        const ENDLESS: u64 = 1 << 32;
        /// Longer texts need not be looked at.
        const LONG: u32 = 64;
        let most = match self {
            TextSet::Finite(_) => return Ok(false),
            TextSet::Language { conjuncts, min, max, written_max } if conjuncts.is_empty() => {
                let most = least(*max, *written_max);
                return Ok(most.is_none_or(|most| most >= 2 && most >= *min));
            }
            TextSet::Language { max, written_max, .. } => least(*max, *written_max),
        };
        let expr = self.expr(languages)?;
        let (body, bound) = languages.unbounded(expr);
        let automaton = languages.automaton(body)?;
        let words = match least(most, bound) {
            None => automaton.count_words(),
            // A character has one byte at least, so these are not all that there are.
            Some(most) if automaton.has_words(ENDLESS, most.min(LONG)) => None,
            Some(most) => automaton.at_most(most.min(LONG), languages.budget)?.count_words(),
        };
        Ok(words.is_none_or(|words| words >= ENDLESS))
    }

    /// The expression of the texts that it writes rather than others, where there are such and others are not asked for.
    pub fn brief(&self, languages: &mut Languages<'_>) -> Result<Option<ExprId>> {
        let TextSet::Language { conjuncts, min, max, written_max } = self else { return Ok(None) };
        let mut brief = conjuncts.clone();
        for conjunct in &mut brief {
            conjunct.expr = languages.brief(conjunct.expr);
        }
        if brief == *conjuncts {
            return Ok(None);
        }
        let brief = TextSet::Language { conjuncts: brief, min: *min, max: *max, written_max: *written_max };
        Ok(if brief.writes_nothing(languages)? { None } else { Some(brief.expr(languages)?) })
    }

    /// The expression of the texts that it writes.
    pub fn expr(&self, languages: &mut Languages<'_>) -> Result<ExprId> {
        let (conjuncts, min, max) = match self {
            TextSet::Finite(texts) => {
                let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
                return Ok(prefix_tree(&mut languages.builder, &texts));
            }
            TextSet::Language { conjuncts, min, max, written_max } => {
                (conjuncts, *min, least(*max, *written_max))
            }
        };
        if max.is_some_and(|max| max < min) {
            return Ok(languages.builder.never());
        }
        let mut exprs: SmallVec<[ExprId; 2]> = conjuncts.iter().map(|conjunct| conjunct.expr).collect();
        exprs.dedup();
        exclude_together(&mut exprs, languages)?;
        Ok(match *exprs {
            [] => languages.of_length(min, max),
            [one] => with_length(one, min, max, languages),
            _ => {
                let all = languages.all_of(&exprs);
                with_length(all, min, max, languages)
            }
        })
    }
}

/// Makes one complement of several of a few texts each: what is outside of each is outside of all. That is one automaton
/// instead of a product of many.
fn exclude_together(exprs: &mut SmallVec<[ExprId; 2]>, languages: &mut Languages<'_>) -> Result<()> {
    let excluded: SmallVec<[Rc<BTreeSet<Box<str>>>; 4]> =
        exprs.iter().filter_map(|expr| languages.known.complements.get(expr)).cloned().collect();
    if excluded.len() < 2 {
        return Ok(());
    }
    let all: BTreeSet<Box<str>> = excluded.iter().flat_map(|texts| texts.iter().cloned()).collect();
    let others = TextSet::Finite(Rc::new(all)).exact_complement(languages)?;
    exprs.retain(|expr| !languages.known.complements.contains_key(expr));
    exprs.push(others.expr(languages)?);
    Ok(())
}

/// The refusal of a text of which nobody knows here whether it is of a format.
pub(super) fn in_doubt(what: &str, text: &str) -> Error {
    Error::unsupported(format!(
        "the {what} {text:?} may be of a format that is narrower here than its definition"
    ))
}

/// The lesser of two bounds.
pub fn least(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    one.into_iter().chain(other).min()
}

/// All texts but those of `min` to `max` code points, where that is one range of lengths.
pub(super) fn outside_of_length(min: u32, max: Option<u32>) -> Option<TextSet> {
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
        return languages.builder.repeat(body, low.max(min), least(high, max));
    }
    let (shortest, longest) = regular::lengths(&languages.builder, expr);
    let min = if shortest >= min { 0 } else { min };
    let max = max.filter(|&max| longest.is_none_or(|longest| longest > max));
    if min == 0 && max.is_none() {
        return expr;
    }
    let easily_said = match min {
        0 => Some(expr),
        1 => without_empty(expr, &mut languages.builder),
        _ => None,
    };
    let long = easily_said.unwrap_or_else(|| {
        let bounds = languages.of_length(min, None);
        languages.all_of(&[expr, bounds])
    });
    max.map_or(long, |max| languages.builder.at_most(long, max))
}

/// The texts of `expr` but the empty one, where that is easily said: of repetitions. They need no automaton then, and all
/// that is known of what is repeated holds for them.
fn without_empty(expr: ExprId, builder: &mut Builder) -> Option<ExprId> {
    let items = if let Expr::Alt(items) = builder.expr(expr) { items.clone() } else { smallvec![expr] };
    let mut others: SmallVec<[ExprId; 4]> = SmallVec::new();
    for item in items {
        let is_empty = |expr: ExprId| regular::lengths(&*builder, expr).0 == 0;
        if !is_empty(item) {
            others.push(item);
            continue;
        }
        match *builder.expr(item) {
            Expr::Empty => {}
            Expr::Repeat { body, min, max } if !is_empty(body) => {
                others.push(builder.repeat(body, min.max(1), max));
            }
            _ => return None,
        }
    }
    Some(builder.alt(others))
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
