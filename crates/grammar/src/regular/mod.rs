//! Regular languages: sets of code points, automata over bytes, and the algebra on them.
//!
//! What needs intersection or complement is determinised here, ahead of time and within limits, so that the engine
//! only ever sees automata in which every state can still reach an end.

mod charset;
mod dfa;

pub use charset::CharSet;
pub use dfa::{Dfa, StateId};
