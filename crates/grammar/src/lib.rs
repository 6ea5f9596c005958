//! Grammars as text, turned into one intermediate form.
//!
//! Every front end (EBNF, regex, and whatever follows) emits the same [`ir::Grammar`]: rules whose bodies are
//! hash-consed expressions. The engine reads that form and knows nothing of where it came from. This crate knows
//! no vocabulary and no Python.
//!
//! Reading order:
//!
//! 1. [`error`] and [`limits`]: what can go wrong, and what keeps strangers' input bounded.
//! 2. [`ir`]: expressions, rules, the builder that interns them, the printer.
//! 3. [`regular`]: sets of code points, explicit automata over bytes, and the algebra on them.
//! 4. [`frontends`]: text to [`ir::Grammar`].
//! 5. [`passes`]: [`ir::Grammar`] to [`machine::Machine`], the form that the engine runs.
//! 6. [`members`]: lists with conditions between their members.
//! 7. [`machine`]: rules as small automata whose edges are terminals, calls and tokens; it can be printed.

pub mod error;
pub mod frontends;
pub mod ir;
pub mod limits;
pub mod machine;
mod machine_text;
pub mod members;
pub mod passes;
pub mod regular;
mod repeats;

pub use error::{Error, ErrorKind, Place, Result};
pub use ir::{Builder, Expr, ExprId, Grammar, Rule, RuleId, RuleOptions};
pub use limits::{Budget, CancelFlag, Limits};
