//! Configurations: where a parse stands, as one number.
//!
//! A parse stands in a terminal, and behind the terminal lies a stack of frames: what to go on with when it ends. An
//! ambiguous grammar is in several places at once, so a configuration is a *set* of stacks. The set is kept as its
//! smallest automaton read from the top: a sorted list of `(symbol, set of the rests)` in which each symbol occurs
//! once. That form is unique, so hash-consing it makes equal configurations equal numbers, alternatives with the same
//! rest share it, and the number of stacks may be exponential while the form stays small.
//!
//! - [`symbol`]: what stands on a stack.
//! - [`sets`]: the hash-consed sets; [`unions`]: their unions; [`put_off`]: those that are put off.
//! - [`close`]: what follows from ending a terminal without reading anything: pops, jumps and calls.
//! - [`step`]: reading a byte or a token.
//! - [`truncate`]: the top of a stack, for masks.
//! - [`lists`]: places in lists of members.
//! - [`deadlines`]: rules that may take so many tokens.
//! - [`spent`]: what follows where one of them has had its tokens.
//! - [`distinct`]: arrays of which no two items are equal.
//! - [`rewrite`](mod@rewrite): a configuration with other frames, and what is known of one from the bottom up.
//! - [`within`]: reading without a number for each byte, as far as no terminal ends.
//! - [`copy`]: the same configuration in another generation.

mod close;
mod copy;
mod deadlines;
mod distinct;
mod lists;
mod put_off;
mod rewrite;
mod sets;
mod spent;
mod step;
mod symbol;
mod truncate;
mod unions;
mod within;

pub(crate) use deadlines::{Deadlines, Settled};
pub(crate) use distinct::{Copies, Crossing, Distinct};
pub(crate) use lists::{KnownCut, Lists, PartCosts, PlaceCosts};
pub(crate) use sets::{Holes, Item, SetId, Sets};
pub(crate) use symbol::{Symbol, SymbolKind};
pub(crate) use truncate::LOST_HOLE;
