//! Sets of keys of an object, as keywords speak of them: by name, by pattern, and "all the others".
//!
//! They are predicates and not languages. A key that some keyword names is looked up one by one. All keys that nobody
//! names differ only in which patterns they match, so they fall into a few regions, and a region answers every
//! predicate at once.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;
use indexmap::{IndexMap, IndexSet};

use super::languages::Languages;
use super::texts::TextSet;
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
    /// Where it was split off last, unless it is all keys.
    cut: Option<Rc<Cut>>,
    /// A key in it: whichever part this falls into when the region is split has a key, and only the other is searched for one.
    example: Vec<u8>,
}

/// One side of a region that a pattern has split. Patterns that split nothing say nothing that others do not say.
#[derive(Debug)]
struct Cut {
    /// Where that region was split off.
    before: Option<Rc<Cut>>,
    pattern: ExprId,
    automaton: Arc<Dfa>,
    /// Whether it is the side of the keys that match.
    matches: bool,
    /// The keys on this side: regions that were split off here share them.
    keys: OnceCell<Arc<Dfa>>,
}

impl Region {
    /// The language of its keys. It is made when somebody asks for it: what may not be written has no need of one.
    pub fn language(&self, languages: &mut Languages<'_>) -> Result<ExprId> {
        let Some(last) = &self.cut else { return Ok(languages.of_length(0, None)) };
        let side = |matches: bool| {
            let cuts = self.cuts().into_iter().rev().filter(|cut| cut.matches == matches);
            cuts.map(|cut| cut.pattern).collect::<Vec<_>>()
        };
        let (inside, outside) = (side(true), side(false));
        let expr = conjunction(&inside, &outside, &mut languages.builder);
        let source = languages.source(&inside, &outside);
        languages.made(expr, source, |budget| last.keys(budget))
    }

    /// The cuts that made it, the last one first.
    fn cuts(&self) -> Vec<&Cut> {
        std::iter::successors(self.cut.as_deref(), |cut| cut.before.as_deref()).collect()
    }

    /// The part that matches a pattern and the part that does not, where there is anything in it.
    fn split(self, pattern: ExprId, automaton: &Arc<Dfa>, budget: &Budget) -> Result<Vec<Self>> {
        let is_inside = automaton.matches(&self.example);
        let side = |matches: bool| {
            let (before, automaton) = (self.cut.clone(), Arc::clone(automaton));
            let cut = Some(Rc::new(Cut { before, pattern, automaton, matches, keys: OnceCell::new() }));
            let matched = self.matched.iter().copied().chain(matches.then_some(pattern)).collect();
            Region { matched, cut, example: self.example.clone() }
        };
        let mut other = side(!is_inside);
        if other.finds_example(budget)? {
            let here = side(is_inside);
            return Ok(if is_inside { vec![here, other] } else { vec![other, here] });
        }
        Ok(vec![Region {
            matched: if is_inside { side(true).matched } else { self.matched.clone() },
            ..self
        }])
    }

    /// Looks for a key, and says whether there is one.
    fn finds_example(&mut self, budget: &Budget) -> Result<bool> {
        let side = |matches: bool| {
            let cuts = self.cuts().into_iter().filter(|cut| cut.matches == matches);
            cuts.map(|cut| Arc::clone(&cut.automaton)).collect::<Vec<_>>()
        };
        let found = regular::shortest_text(&side(true), &side(false), budget)?;
        let is_found = found.is_some();
        self.example = found.unwrap_or_default();
        Ok(is_found)
    }
}

impl Cut {
    /// The keys on its side. It recurses once for each cut before it, each of which has made one more region.
    fn keys(&self, budget: &Budget) -> Result<Arc<Dfa>> {
        if let Some(keys) = self.keys.get() {
            return Ok(Arc::clone(keys));
        }
        let keys = match (&self.before, self.matches) {
            (None, true) => Arc::clone(&self.automaton),
            (None, false) => Arc::new(Dfa::any_text().difference(&self.automaton, budget)?),
            (Some(before), true) => Arc::new(before.keys(budget)?.intersection(&self.automaton, budget)?),
            (Some(before), false) => Arc::new(before.keys(budget)?.difference(&self.automaton, budget)?),
        };
        Ok(Arc::clone(self.keys.get_or_init(|| keys)))
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
            let message = format!("keys can match the patterns of an object in more than {MAX_REGIONS} ways");
            return Err(Error::new(ErrorKind::Limit, message)
                .with_help("put patterns that ask for the same into one: `^(a|b)`"));
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
