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
use crate::ir::{Automaton, Builder, Expr, ExprId};
use crate::limits::Budget;
use crate::regular::Dfa;

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

/// The keys that nobody names and that match just these patterns.
#[derive(Clone, Debug)]
pub struct Region {
    /// The patterns that its keys match.
    pub matched: Vec<ExprId>,
    /// The language of its keys; keys with a name of their own are still in it.
    pub language: ExprId,
}

/// At most this many regions are told apart.
const MAX_REGIONS: usize = 64;

/// Splits all keys by the patterns that they match; only regions with a key in them are given.
pub fn regions(patterns: &[ExprId], languages: &mut Languages<'_>) -> Result<Rc<[Region]>> {
    if let Some(known) = languages.known.regions.get(patterns) {
        return Ok(Rc::clone(known));
    }
    let mut found =
        vec![Split { matched: Vec::new(), others: Vec::new(), keys: Rc::new(Dfa::any_text().clone()) }];
    for &pattern in patterns {
        let automaton = languages.automaton(pattern)?;
        let mut parts = Vec::with_capacity(found.len() * 2);
        for split in found {
            parts.extend(split.by(pattern, &automaton, languages.budget)?);
        }
        if parts.len() > MAX_REGIONS {
            let message = format!("the patterns of keys overlap in more than {MAX_REGIONS} ways");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        found = parts;
    }
    let regions: Rc<[Region]> = found.into_iter().map(|split| split.region(languages)).collect();
    languages.known.regions.insert(patterns.into(), Rc::clone(&regions));
    Ok(regions)
}

/// The keys that match some patterns and not some others.
struct Split {
    matched: Vec<ExprId>,
    others: Vec<ExprId>,
    keys: Rc<Dfa>,
}

impl Split {
    /// The part that matches a pattern and the part that does not, where there is anything in it.
    fn by(self, pattern: ExprId, automaton: &Dfa, budget: &Budget) -> Result<Vec<Self>> {
        let with = |list: &[ExprId]| list.iter().copied().chain([pattern]).collect::<Vec<_>>();
        let inside = Rc::new(self.keys.intersection(automaton, budget)?);
        let outside = Rc::new(self.keys.difference(automaton, budget)?);
        let inside = Split { matched: with(&self.matched), others: self.others.clone(), keys: inside };
        let outside = Split { others: with(&self.others), matched: self.matched, keys: outside };
        Ok([inside, outside].into_iter().filter(|part| !part.keys.is_empty()).collect())
    }

    fn region(self, languages: &mut Languages<'_>) -> Region {
        let language = match (self.matched.as_slice(), self.others.as_slice()) {
            ([], []) => languages.of_length(0, None),
            (matched, others) => match languages.source(matched, others) {
                Some(source) => {
                    let dfa = Arc::new((*self.keys).clone());
                    languages.builder.automaton(Automaton { source: source.into(), dfa: dfa.into() })
                }
                None => conjunction(matched, others, &mut languages.builder),
            },
        };
        Region { matched: self.matched, language }
    }
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
