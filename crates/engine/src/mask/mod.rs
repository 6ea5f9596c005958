//! Masks: which tokens keep the text completable.
//!
//! A token either ends inside the terminal that is being read, or leaves it. Whether it ends inside depends on the
//! terminal's state alone, so that part is a table for each state and vocabulary, shared by all grammars
//! ([`table`]). What leaves is walked on from where the terminal ended ([`walker`]): that depends on the stack, but
//! nearly always on its top alone, so the result is kept for the top ([`compute`]), and the few tokens that reach
//! further down are followed for each configuration.
//!
//! Where that would be too much work ([`allowance`]), all tokens are read instead ([`by_configs`]). Masks that are interrupted
//! go on from where they had come to ([`put_by`]).
//!
//! - [`tokens`]: a set of tokens as it is kept; [`rows`]: rows of bits, each kept once.
//! - [`fan`]: the terminals of a configuration and the bytes that they take.
//! - [`walk`]: walking a trie with one terminal; [`text`]: along a text that must come, or may not.
//! - [`doubtful`]: tokens that hold a whole key, about which a walk may be wrong.
//! - [`shapes`]: walking the shapes of tokens; [`near`]: the states of a walk; [`together`]: several of them at once;
//!   [`stay`]: the tokens that it finds; [`counted`]: strings that count their characters.
//! - [`spaced`]: tables of what stands behind spaces.
//! - [`shared`]: the tables that grammars of one vocabulary share.
//! - [`decided`]: how much of a mask the terminals decide by themselves, for people.

mod allowance;
mod by_configs;
mod compute;
mod counted;
mod decided;
mod doubtful;
mod fan;
mod near;
mod put_by;
mod rows;
mod shapes;
mod shared;
mod spaced;
mod stay;
mod table;
mod text;
mod together;
mod tokens;
mod walk;
mod walker;

pub(crate) use allowance::Failures;
pub(crate) use compute::KeptMask;
pub use decided::{Decided, DecidedByTerminal, DecidedTokens};
pub(crate) use doubtful::Doubtful;
pub(crate) use fan::Fan;
pub(crate) use put_by::PutBy;
pub(crate) use rows::{Row, Rows, clear_bit, has_bit, set_bit};
pub(crate) use shared::{
    FarBounds, KeyMasks, LostByKey, LostByNodes, SharedKeyParts, SharedLost, SharedParts, SharedTables,
    SubtreeMasks, SubtreeTables, WholeMasks,
};
#[cfg(test)]
pub(crate) use table::Narrowed;
pub(crate) use table::TerminalTable;
pub(crate) use tokens::Mask;
