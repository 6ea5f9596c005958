//! Sets of keys of an object, as keywords speak of them: by name, by pattern, and "all the others".
//!
//! They are predicates and not languages. A key that some keyword names is looked up one by one. All keys that nobody
//! names differ only in which patterns they match, so they fall into a few regions, and a region answers every
//! predicate at once.

use std::rc::Rc;

use indexmap::IndexSet;

use super::texts::{Languages, TextSet};
use crate::error::{Error, ErrorKind, Result};
use crate::ir::ExprId;

/// Names and patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyList {
    /// The names.
    pub names: IndexSet<Rc<str>>,
    /// The patterns, as languages of whole keys.
    pub patterns: Vec<ExprId>,
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
    pub fn matching(pattern: ExprId) -> Self {
        Keys::Listed(Rc::new(KeyList { names: IndexSet::new(), patterns: vec![pattern] }))
    }

    /// The keys that are not in `texts`.
    pub fn outside(texts: &TextSet, languages: &mut Languages<'_>) -> Result<Self> {
        let list = match texts {
            TextSet::Finite(names) => {
                KeyList { names: names.iter().map(|name| Rc::from(&**name)).collect(), patterns: Vec::new() }
            }
            TextSet::Language { .. } => {
                KeyList { names: IndexSet::new(), patterns: vec![texts.expr(languages)?] }
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
const MAX_REGIONS: usize = 256;

/// Splits all keys by the patterns that they match; only regions with a key in them are given.
pub fn regions(patterns: &[ExprId], languages: &mut Languages<'_>) -> Result<Vec<Region>> {
    let mut found = vec![(Vec::new(), Vec::new())];
    for &pattern in patterns {
        let mut split = Vec::with_capacity(found.len() * 2);
        for (inside, outside) in found {
            let with = |list: &Vec<ExprId>| list.iter().copied().chain([pattern]).collect::<Vec<_>>();
            for candidate in [(with(&inside), outside.clone()), (inside, with(&outside))] {
                let language = language(&candidate.0, &candidate.1, languages);
                if !languages.is_empty(language)? {
                    split.push(candidate);
                }
            }
        }
        if split.len() > MAX_REGIONS {
            let message = format!("the patterns of keys overlap in more than {MAX_REGIONS} ways");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        found = split;
    }
    let region = |(matched, outside): (Vec<ExprId>, Vec<ExprId>), languages: &mut Languages<'_>| Region {
        language: language(&matched, &outside, languages),
        matched,
    };
    Ok(found.into_iter().map(|split| region(split, languages)).collect())
}

fn language(inside: &[ExprId], outside: &[ExprId], languages: &mut Languages<'_>) -> ExprId {
    let mut parts = inside.to_vec();
    if !outside.is_empty() {
        let union = languages.builder.alt(outside.iter().copied());
        parts.push(languages.builder.not(union));
    }
    if parts.is_empty() { languages.of_length(0, None) } else { languages.builder.and(parts) }
}
