//! Lists of members beside the automaton.
//!
//! What a list has had is a state of its conditions, and there are finitely many that are met. So a list is a right-linear
//! part: at each *place* it may end, or go on with a member after which it stands at another place.
//!
//! Where no two keys of others may be the same, there would be a place for each set of keys that were read. But whether the
//! list can be completed does not depend on these sets, as long as there are more keys than the list can have members; and
//! then the engine carries the set, as it does for any list (see `tracked`). Keys that are fewer, because the automaton
//! leaves only some words there, are *scarce*: these words are told apart like entries.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::leaves::Leaves;
use crate::error::{Error, ErrorKind, Result};
use crate::ir::members::Layout;
use crate::ir::{Escapes, Expr, ExprId, Grammar};
use crate::limits::Budget;
use crate::members::{Conditions, Slot, State};
use crate::passes::key_languages::KeyLanguages;
use crate::regular::{Dfa, Nfa};

/// So many words of a list may be told apart, each of which may double its places.
pub(super) const MOST_WORDS: usize = 16;

/// The lists of a conjunction may have so many places. Keys in any order have one for each set of them.
const MOST_PLACES: usize = 1 << 14;

/// Words of others that are told apart: the number of the family, and the key.
pub(super) type Words = Vec<(u32, Box<str>)>;

/// A list, taken apart.
pub(super) struct List<'g> {
    pub(super) layout: &'g Layout,
    pub(super) parts: &'g [ExprId],
    conditions: Conditions,
    /// The keys of the entries, with their quotes, as leaves.
    entry_keys: Vec<Option<u32>>,
    /// The same of the others.
    other_keys: Vec<Option<u32>>,
    /// The texts of the keys of others that are no entry's and not among the words.
    pub(super) other_texts: Vec<Option<Arc<Dfa>>>,
    pub(super) words: Words,
    word_keys: Vec<u32>,
    /// Whether the engine carries the keys that were read.
    pub(super) is_tracked: bool,
}

/// Where a list stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Start,
    Before,
    After,
}

/// A place in a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) list: u32,
    pub(super) phase: Phase,
    state: State,
    /// The words that were read, a bit for each.
    words: u32,
}

/// Which member it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Which {
    Entry(u32),
    Others(u32),
    Word(u32),
}

/// A member that may come at a place.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) which: Which,
    /// The key with its quotes, as a leaf.
    pub(super) key: Option<u32>,
    pub(super) value: ExprId,
    /// The place after it.
    pub(super) next: u32,
}

/// The lists of a grammar.
pub(super) struct Lists<'g> {
    grammar: &'g Grammar,
    budget: &'g Budget,
    languages: KeyLanguages<'g>,
    words: &'g HashMap<ExprId, Words>,
    all: Vec<List<'g>>,
    ids: Vec<ExprId>,
    numbers: HashMap<ExprId, u32>,
    places: Vec<Place>,
    place_numbers: HashMap<Place, u32>,
}

impl<'g> Lists<'g> {
    pub(super) fn new(grammar: &'g Grammar, words: &'g HashMap<ExprId, Words>, budget: &'g Budget) -> Self {
        Lists {
            grammar,
            budget,
            languages: KeyLanguages::new(grammar),
            words,
            all: Vec::new(),
            ids: Vec::new(),
            numbers: HashMap::new(),
            places: Vec::new(),
            place_numbers: HashMap::new(),
        }
    }

    /// The number of a list, which is taken apart when it is first asked for.
    pub(super) fn number(&mut self, id: ExprId, leaves: &mut Leaves<'g>) -> Result<u32> {
        if let Some(&number) = self.numbers.get(&id) {
            return Ok(number);
        }
        let list = self.take_apart(id, leaves)?;
        let number = self.all.len() as u32;
        self.all.push(list);
        self.ids.push(id);
        self.numbers.insert(id, number);
        Ok(number)
    }

    fn take_apart(&self, id: ExprId, leaves: &mut Leaves<'g>) -> Result<List<'g>> {
        let Expr::Members { layout, parts } = self.grammar.expr(id) else {
            return Err(Error::unsupported("a list of members was expected"));
        };
        if !layout.track.is_empty() {
            return Err(Error::unsupported(
                "an object whose keys must differ cannot stand in two conjunctions, one inside of the other; \
                 put the regular languages into one conjunction",
            ));
        }
        let budget = self.budget;
        // That keys may run out is seen by going through all places.
        let endless = vec![None; layout.others.len()];
        let never = |part: u32| matches!(self.grammar.expr(parts[part as usize]), Expr::Never);
        let conditions = Conditions::new(layout, &endless, &|part| !never(part), budget)?;
        let words = self.words.get(&id).cloned().unwrap_or_default();
        let has_keys = layout.others.iter().any(|others| others.keys.is_some());
        let is_tracked = layout.unique && has_keys;
        if is_tracked && layout.escapes != Escapes::Least {
            return Err(Error::unsupported(
                "an object with any keys, no two of them equal, cannot stand in a conjunction with a regular language \
                 where keys have several spellings",
            )
            .with_help("`spelling=\"canonical\"` writes each key in one way"));
        }
        let names = self.names(layout, &words)?;
        let mut other_texts = Vec::with_capacity(layout.others.len());
        for others in &layout.others {
            other_texts.push(match others.keys {
                None => None,
                Some(keys) => {
                    let texts = self.languages.of(parts[keys as usize], budget)?;
                    Some(match &names {
                        None => texts,
                        Some(names) => Arc::new(texts.difference(names, budget)?),
                    })
                }
            });
        }
        let mut key = |texts: &Dfa| leaves.quoted(texts, layout.escapes);
        let entry_keys = layout.entries.iter().map(|entry| {
            let text = entry.key.as_deref().map(|key| only(key, budget)).transpose()?;
            text.map(|text| key(&text)).transpose()
        });
        let entry_keys = entry_keys.collect::<Result<_>>()?;
        let other_keys = other_texts.iter().map(|texts| texts.as_ref().map(|texts| key(texts)).transpose());
        let other_keys = other_keys.collect::<Result<_>>()?;
        let word_keys = words.iter().map(|(_, word)| key(&only(word, budget)?)).collect::<Result<_>>()?;
        Ok(List {
            layout,
            parts,
            conditions,
            entry_keys,
            other_keys,
            other_texts,
            words,
            word_keys,
            is_tracked,
        })
    }

    /// The keys of the entries, and the words that are told apart.
    fn names(&self, layout: &Layout, words: &Words) -> Result<Option<Dfa>> {
        let names: HashSet<&str> = layout.keys().chain(words.iter().map(|(_, word)| &**word)).collect();
        if names.is_empty() {
            return Ok(None);
        }
        let mut nfa = Nfa::new(self.budget);
        let (start, end) = (nfa.add_state()?, nfa.add_state()?);
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_unstable();
        for name in names {
            nfa.add_literal(start, name.as_bytes(), end)?;
        }
        nfa.determinize(start, end).map(Some)
    }

    /// The texts of the keys of others.
    pub(super) fn key_texts(&self, keys: ExprId) -> Result<Arc<Dfa>> {
        self.languages.of(keys, self.budget)
    }

    pub(super) fn list(&self, number: u32) -> &List<'g> {
        &self.all[number as usize]
    }

    /// The expression of a list.
    pub(super) fn id(&self, number: u32) -> ExprId {
        self.ids[number as usize]
    }

    pub(super) fn place(&self, number: u32) -> &Place {
        &self.places[number as usize]
    }

    /// The place before the first member.
    pub(super) fn start(&mut self, list: u32) -> u32 {
        let state = self.all[list as usize].conditions.start();
        self.intern(Place { list, phase: Phase::Start, state, words: 0 })
    }

    /// The same place after a separator.
    pub(super) fn separated(&mut self, place: u32) -> u32 {
        let place = Place { phase: Phase::Before, ..self.place(place).clone() };
        self.intern(place)
    }

    fn intern(&mut self, place: Place) -> u32 {
        if let Some(&known) = self.place_numbers.get(&place) {
            return known;
        }
        let number = self.places.len() as u32;
        self.places.push(place.clone());
        self.place_numbers.insert(place, number);
        number
    }

    /// Whether the list may end at a place.
    pub(super) fn may_end(&self, place: u32) -> bool {
        let place = self.place(place);
        place.phase != Phase::Before && self.all[place.list as usize].conditions.may_end(&place.state)
    }

    /// What stands between two members.
    pub(super) fn separator(&self, list: u32) -> ExprId {
        let list = self.list(list);
        list.parts[list.layout.separator as usize]
    }

    /// The members that may come at a place.
    pub(super) fn steps(&mut self, place: u32) -> Result<Vec<Step>> {
        let Place { list: number, state, words, .. } = self.place(place).clone();
        let list = &self.all[number as usize];
        let mut found: Vec<(Which, Option<u32>, ExprId, Place)> = Vec::new();
        for member in list.conditions.allowed(&state) {
            self.budget.tick()?;
            let after = |words| Place {
                list: number,
                phase: Phase::After,
                state: list.conditions.take(&state, member),
                words,
            };
            match member.slot {
                Slot::Entry(entry) => {
                    let variants = &list.layout.entries[entry as usize].variants;
                    let value = list.parts[variants[member.variant as usize].value as usize];
                    found.push((Which::Entry(entry), list.entry_keys[entry as usize], value, after(words)));
                }
                Slot::Others(family) => {
                    let variants = &list.layout.others[family as usize].variants;
                    let value = list.parts[variants[member.variant as usize].value as usize];
                    found.push((
                        Which::Others(family),
                        list.other_keys[family as usize],
                        value,
                        after(words),
                    ));
                    for (at, (of, _)) in (0..).zip(&list.words) {
                        if *of == family && words >> at & 1 == 0 {
                            let key = Some(list.word_keys[at as usize]);
                            found.push((Which::Word(at), key, value, after(words | 1 << at)));
                        }
                    }
                }
            }
        }
        if self.places.len() + found.len() > MOST_PLACES {
            return Err(too_many_places());
        }
        let step = |(which, key, value, next)| Step { which, key, value, next: self.intern(next) };
        Ok(found.into_iter().map(step).collect())
    }
}

/// The language of one text.
fn only(text: &str, budget: &Budget) -> Result<Dfa> {
    let mut nfa = Nfa::new(budget);
    let (start, end) = (nfa.add_state()?, nfa.add_state()?);
    nfa.add_literal(start, text.as_bytes(), end)?;
    nfa.determinize(start, end)
}

fn too_many_places() -> Error {
    let message = "an object whose keys come in any order has too many sets of keys to be compared with a regular language";
    Error::new(ErrorKind::Limit, message)
        .with_help("let the keys come in the order of the schema (`any_order=False`)")
}

/// What is said where the words of a list that are told apart would be too many.
pub(super) fn too_many_words() -> Error {
    let message = "a regular language leaves few keys to an object in too many places to tell them apart";
    Error::new(ErrorKind::Limit, message).with_help("name the keys of the object in its schema, and close it")
}
