//! A grammar and a vocabulary in, exact token masks out.
//!
//! Reading order:
//!
//! 1. `store`: what tables are made of, when many threads fill and read them at once.
//! 2. [`vocab`]: the bytes of tokens, tries of them, and their shapes.
//! 3. `terminal`: regular languages, determinised lazily.
//! 4. `config`: where a parse stands, as one number.
//! 5. `mask`: which tokens fit there.
//! 6. `generation` and `carry`: all tables of a grammar, and how they are dropped and filled again.
//! 7. `history`, [`compiled`], [`matcher`], [`compiler`], [`draft_tree`], [`draft_rows`]: what callers use.
//! 8. `completion` and [`budget`]: what it takes to complete a text, and texts that keep within a number of tokens; `outputs`:
//!    how many tokens the least and the greatest of them take.
//! 9. [`interrupt`]: how work that is under way is stopped, wherever it is.
//! 10. [`oracle`]: the slow, readable twin that all of this is tested against.

pub mod budget;
mod carry;
pub mod compiled;
pub mod compiler;
mod completion;
mod config;
mod content;
pub mod draft_rows;
pub mod draft_tree;
mod generation;
mod history;
mod interner;
pub mod interrupt;
pub mod limits;
mod mask;
pub mod matcher;
pub mod oracle;
mod outputs;
mod seldom;
mod small;
mod store;
mod terminal;
pub mod vocab;

pub use budget::BudgetError;
pub use compiled::{CompiledGrammar, Stats};
pub use limits::EngineLimits;
pub use mask::{Decided, DecidedByTerminal, DecidedTokens};
pub use matcher::{CaptureSpan, Matcher, MatcherOptions, RollbackError};
