//! Sets of keys of an object, as keywords speak of them: by name, by pattern, and "all the others".
//!
//! They are predicates and not languages. A key that some keyword names is looked up one by one. All keys that nobody
//! names differ only in which patterns they match, so they fall into a few regions, and a region answers every
//! predicate at once.

use std::rc::Rc;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;
use indexmap::{IndexMap, IndexSet};

use super::texts::{Languages, TextSet};
use crate::error::{Error, ErrorKind, Result};
use crate::ir::{Builder, Expr, ExprId};
use crate::limits::Budget;
use crate::regular::{self, Dfa};

/// Names of keys, in order.
pub type NameSet = IndexSet<Rc<str>, DefaultHashBuilder>;

/// Something for each name of a key, in order.
pub type NameMap<V> = IndexMap<Rc<str>, V, DefaultHashBuilder>;

/// Names and patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyList {
    /// The names.
    pub names: NameSet,
    /// The patterns, as languages of whole keys.
    pub patterns: Vec<ExprId>,
}

impl KeyList {
    /// Adds a pattern. One that a single key matches is that key's name, which is much less work.
    pub fn add_pattern(&mut self, pattern: ExprId, languages: &Languages<'_>) {
        let name = match languages.builder.expr(pattern) {
            Expr::Bytes(bytes) => str::from_utf8(bytes).ok(),
            _ => None,
        };
        match name {
            Some(name) => _ = self.names.insert(Rc::from(name)),
            None => self.patterns.push(pattern),
        }
    }
}

/// A set of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Those listed.
    Listed(Rc<KeyList>),
    /// All but those listed.
    Unlisted(Rc<KeyList>),
    /// In none of these sets.
    NoneOf(Rc<[Keys]>),
}

impl Keys {
    /// Every key.
    pub fn all() -> Self {
        Keys::Unlisted(Rc::default())
    }

    /// One key.
    pub fn named(name: &Rc<str>) -> Self {
        Keys::Listed(Rc::new(KeyList {
            names: std::iter::once(Rc::clone(name)).collect(),
            patterns: Vec::new(),
        }))
    }

    /// The name, where it is the set of one named key.
    pub fn as_name(&self) -> Option<&Rc<str>> {
        match self {
            Keys::Listed(list) if list.patterns.is_empty() && list.names.len() == 1 => list.names.first(),
            _ => None,
        }
    }

    /// The keys that match a pattern.
    pub fn matching(pattern: ExprId, languages: &Languages<'_>) -> Self {
        let mut list = KeyList::default();
        list.add_pattern(pattern, languages);
        Keys::Listed(Rc::new(list))
    }

    /// The keys that are not in `texts`.
    pub fn outside(texts: &TextSet, languages: &mut Languages<'_>) -> Result<Self> {
        let list = match texts {
            TextSet::Finite(names) => {
                KeyList { names: names.iter().map(|name| Rc::from(&**name)).collect(), patterns: Vec::new() }
            }
            TextSet::Language { .. } => {
                KeyList { names: NameSet::default(), patterns: vec![texts.expr(languages)?] }
            }
        };
        Ok(Keys::Unlisted(Rc::new(list)))
    }

    /// Whether `name` is in the set.
    pub fn has_name(&self, name: &str, languages: &mut Languages<'_>) -> Result<bool> {
        match self {
            Keys::Listed(list) => listed(list, name, languages),
            Keys::Unlisted(list) => Ok(!listed(list, name, languages)?),
            Keys::NoneOf(sets) => {
                for set in sets.iter() {
                    if set.has_name(name, languages)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Whether the keys of `region` are in the set; names do not matter, as no key of a region is named.
    pub fn has_region(&self, region: &Region) -> bool {
        match self {
            Keys::Listed(list) => list.patterns.iter().any(|pattern| region.matched.contains(pattern)),
            Keys::Unlisted(list) => !list.patterns.iter().any(|pattern| region.matched.contains(pattern)),
            Keys::NoneOf(sets) => !sets.iter().any(|set| set.has_region(region)),
        }
    }

    /// Calls `name` and `pattern` for each that the set mentions.
    pub fn mentions(&self, name: &mut dyn FnMut(&Rc<str>), pattern: &mut dyn FnMut(ExprId)) {
        match self {
            Keys::Listed(list) | Keys::Unlisted(list) => {
                list.names.iter().for_each(&mut *name);
                list.patterns.iter().copied().for_each(&mut *pattern);
            }
            Keys::NoneOf(sets) => sets.iter().for_each(|set| set.mentions(name, pattern)),
        }
    }
}

fn listed(list: &KeyList, name: &str, languages: &mut Languages<'_>) -> Result<bool> {
    if list.names.contains(name) {
        return Ok(true);
    }
    for &pattern in &list.patterns {
        if languages.matches(pattern, name)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The keys that nobody names and that match just these patterns. Keys with a name of their own are still in it.
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// The patterns that its keys match.
    pub matched: Vec<ExprId>,
    /// Those of them that tell it from other regions.
    inside: Vec<Pattern>,
    /// The patterns that its keys do not match, and that tell it from other regions.
    outside: Vec<Pattern>,
    /// A key in it: whichever part this falls into when the region is split has a key, and only the other is searched for one.
    example: Vec<u8>,
}

/// A pattern and its automaton.
type Pattern = (ExprId, Arc<Dfa>);

impl Region {
    /// The language of its keys. It is made when somebody asks for it: what may not be written has no need of one.
    pub fn language(&self, languages: &mut Languages<'_>) -> Result<ExprId> {
        let ids = |patterns: &[Pattern]| patterns.iter().map(|(id, _)| *id).collect::<Vec<_>>();
        let (inside, outside) = (ids(&self.inside), ids(&self.outside));
        if inside.is_empty() && outside.is_empty() {
            return Ok(languages.of_length(0, None));
        }
        let expr = conjunction(&inside, &outside, &mut languages.builder);
        let source = languages.source(&inside, &outside);
        languages.made(expr, source, |budget| self.automaton(budget))
    }

    fn automaton(&self, budget: &Budget) -> Result<Dfa> {
        let (first, more) = match self.inside.split_first() {
            Some(((_, first), more)) => (&**first, more),
            None => (Dfa::any_text(), &self.inside[..]),
        };
        let both =
            more.iter().try_fold(first.clone(), |keys, (_, other)| keys.intersection(other, budget))?;
        self.outside.iter().try_fold(both, |keys, (_, other)| keys.difference(other, budget))
    }

    /// The part that matches a pattern and the part that does not, where there is anything in it.
    fn split(mut self, pattern: ExprId, automaton: &Arc<Dfa>, budget: &Budget) -> Result<Vec<Self>> {
        let mut other = self.clone();
        let is_inside = automaton.matches(&self.example);
        let (matching, failing) = if is_inside { (&mut self, &mut other) } else { (&mut other, &mut self) };
        matching.matched.push(pattern);
        matching.inside.push((pattern, Arc::clone(automaton)));
        failing.outside.push((pattern, Arc::clone(automaton)));
        if other.finds_example(budget)? {
            return Ok(if is_inside { vec![self, other] } else { vec![other, self] });
        }
        // The pattern says nothing about it that the others do not say.
        if is_inside {
            self.inside.pop()
        } else {
            self.outside.pop()
        };
        Ok(vec![self])
    }

    /// Looks for a key, and says whether there is one.
    fn finds_example(&mut self, budget: &Budget) -> Result<bool> {
        let automata = |list: &[Pattern]| list.iter().map(|(_, dfa)| Arc::clone(dfa)).collect::<Vec<_>>();
        let found = regular::shortest_text(&automata(&self.inside), &automata(&self.outside), budget)?;
        let is_found = found.is_some();
        self.example = found.unwrap_or_default();
        Ok(is_found)
    }
}

/// At most this many regions are told apart.
const MAX_REGIONS: usize = 64;

/// Splits all keys by the patterns that they match; only regions with a key in them are given.
pub fn regions(patterns: &[ExprId], languages: &mut Languages<'_>) -> Result<Rc<[Region]>> {
    if let Some(known) = languages.known.regions.get(patterns) {
        return Ok(Rc::clone(known));
    }
    let mut found = vec![Region::default()];
    for &pattern in patterns {
        let automaton = languages.automaton(pattern)?;
        let mut parts = Vec::with_capacity(found.len() * 2);
        for region in found {
            parts.extend(region.split(pattern, &automaton, languages.budget)?);
        }
        if parts.len() > MAX_REGIONS {
            let message = format!("the patterns of keys overlap in more than {MAX_REGIONS} ways");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        found = parts;
    }
    let regions: Rc<[Region]> = found.into();
    languages.known.regions.insert(patterns.into(), Rc::clone(&regions));
    Ok(regions)
}

/// The texts of all of `matched` and none of `others`.
fn conjunction(matched: &[ExprId], others: &[ExprId], builder: &mut Builder) -> ExprId {
    let mut parts = matched.to_vec();
    if !others.is_empty() {
        let union = builder.alt(others.iter().copied());
        parts.push(builder.not(union));
    }
    builder.and(parts)
}
