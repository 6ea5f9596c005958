//! Terminals: regular byte languages, determinised lazily.
//!
//! A state is what is left to match, as a hash-consed term: after reading `a` of `ab*`, the state is `b*`. Stepping
//! takes the derivative of the term. Nothing is built before it is asked for, equal rests are one state, and a
//! bounded repeat is a term with two numbers in it rather than copies of its body.
//!
//! Why not an automaton that is built ahead of time: a schema has hundreds of terminals of which a request visits
//! few, and the first mask must be there within a fraction of a millisecond.
//!
//! Files: [`arena`], the terms; [`convert`], from expressions; [`derive`](mod@derive), the ways on; [`json_text`], the spellings of
//! text in JSON; [`bounded`], texts of a bounded length; [`key`], keys of objects, with [`exclusion`], [`excluded`] and [`escaped`]; [`forced`], texts that must come; [`tagged`], text with tags; [`saturate`], [`fingerprint`], [`shape_row`], [`carry`]; [`shortest`], the way to the nearest end.
//!
//! Invariants:
//!
//! 1. No term but [`TerminalId::NEVER`] denotes the empty language, so a state that is not `NEVER` can be completed.
//! 2. Within one [`Arena`] equal terms have equal ids; across arenas equal terms have equal
//!    [`fingerprints`](Arena::fingerprint).

mod arena;
mod automata;
mod bounded;
mod carry;
mod common;
mod convert;
mod counted;
mod derive;
mod escaped;
mod excluded;
mod exclusion;
mod fingerprint;
mod forced;
mod freed;
mod json_text;
mod key;
#[cfg(test)]
mod key_tests;
mod longest;
mod saturate;
mod shape_row;
mod shortest;
mod spaced;
mod tagged;

pub(crate) use arena::{Arena, CommonTerms, TableSlot, TerminalId};
pub(crate) use counted::Turns;
pub(crate) use escaped::Escaped;
pub(crate) use excluded::ExcludedTexts;
pub(crate) use exclusion::ExclusionId;
pub(crate) use fingerprint::{automaton_fingerprint, fingerprint_hasher};
pub(crate) use forced::{ForcedText, first_char, short_escapes};
pub(crate) use json_text::stands_for_itself;
pub(crate) use longest::Longest;
pub(crate) use shape_row::{Endless, SEQUENCES, ShapeRow};
pub(crate) use shortest::{NO_END, Shortest, Speller};
pub(crate) use spaced::Spaced;
