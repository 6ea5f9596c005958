//! Regular languages: sets of code points, automata over bytes, and the algebra on them.
//!
//! What needs intersection or complement is determinised here, ahead of time and within limits, so that the engine
//! only ever sees automata in which every state can still reach an end.
//!
//! Reading order: [`CharSet`] and [`ByteSet`]; [`Dfa`], what every operation gives; [`DfaBuilder`], which makes one,
//! `minimize`, `knots`, `row_table` and `partition`, which make it small; `utf8` and `algebra`, operations that walk
//! states; [`Nfa`], for constructions with choice; `letters`, text without the bytes; [`determinize`], which turns an
//! expression of the intermediate form into an automaton; `string_trie`, with `free_text` and [`TagText`] on it, text
//! without strings and text between tags; [`LazyDfa`]; [`substring`]; `lengths`, what can be said about the lengths of
//! texts; `spelling`, texts as JSON writes them.

mod algebra;
mod builder;
mod byte_set;
mod charset;
mod determinize;
mod dfa;
mod free_text;
mod knots;
mod lazy_dfa;
mod lengths;
mod letters;
mod minimize;
mod nfa;
mod partition;
mod row_table;
mod spelling;
mod string_trie;
mod substring;
mod tag_text;
mod utf8;

#[cfg(test)]
mod tests;

pub use algebra::shortest_text;
pub use builder::DfaBuilder;
pub(crate) use builder::useful_states;
pub use byte_set::ByteSet;
pub use charset::CharSet;
pub(crate) use determinize::Survey;
pub use determinize::{ExprSource, determinize};
pub(crate) use dfa::MinimalStates;
pub use dfa::{Dfa, StateId};
pub use free_text::{FreeText, Spoiled};
pub use lazy_dfa::LazyDfa;
pub use lengths::{Lengths, lengths};
pub use nfa::{Nfa, NfaStateId};
pub(crate) use partition::{Transition, equivalence_classes};
pub use substring::substring;
pub use tag_text::TagText;
