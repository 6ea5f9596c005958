//! The conditions of a list of members: what may come next, and when the list may end.
//!
//! [`Conditions`] is the meaning of a [`Layout`](crate::ir::members::Layout), without texts: members are numbers here,
//! and a [`State`] says which of them were taken and what was counted. The engine keeps states in the frames of its
//! stacks, and the oracle in its positions; both ask the same few questions.
//!
//! What is promised: a member is allowed if and only if the list can be completed after it. So nothing that is begun
//! comes to a dead end. Where that cannot be decided exactly the layout is refused while compiling; a state never
//! fails.
//!
//! - `conditions`: states, and the questions about them.
//! - `compile`: from a layout to conditions, with all that is refused.
//! - `dominant`: what may come where more members never hurt.
//! - `implications`: entries that ask for others.
//! - `sums`: what members can add to the counters together.
//! - `track`: lists beside which an automaton runs.
//! - `urgency`: which member brings a list nearer to where it may end.
//! - `keys`: the keys of the entries as a tree, so that those with a common beginning are read together.

mod compile;
mod conditions;
mod dominant;
mod implications;
mod keys;
mod sums;
#[cfg(test)]
mod tests;
mod track;
mod urgency;

pub use compile::capacity;
pub use conditions::{Conditions, Member, Slot, State};
pub use keys::{KeyNode, KeyTree};
pub use urgency::MostNeeded;
