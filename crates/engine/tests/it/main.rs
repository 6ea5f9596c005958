//! The tests of the engine: cases as data and random grammars, each checked against the oracle.
//!
//! One crate, so that all of them share what they need:
//!
//! 1. [`case`]: the cases of `testdata/*.toml`. [`tree`]: random grammars. [`vocabulary`]: small vocabularies.
//! 2. [`walk`]: a walk of the engine beside the oracle that checks everything at every step.
//! 3. [`data`], [`random`], [`lists`], [`conjunctions`], [`threads`], [`passes`], [`draft_rows`], [`distinct`]: the tests.
//!    [`special`]: control tokens. [`budget`]: texts within a number of tokens; [`budget_classes`], where classes
//!    split characters, and [`budget_distinct`], where items differ. [`rule_tokens`]: rules within one.
//!    [`long_outputs`]: many steps, and what one of them adds to the tables.
//! 4. [`invariants`]: what always holds. [`real_vocabularies`]: the same at full scale. [`limits`]: inputs that are meant
//!    to hurt. [`ambiguous`]: texts that can be read in so many ways that it hurts.

mod ambiguous;
mod budget;
mod budget_classes;
mod budget_distinct;
mod case;
mod conjunctions;
mod data;
mod dice;
mod distinct;
mod draft_rows;
mod invariants;
mod limits;
mod lists;
mod long_outputs;
mod passes;
mod random;
mod real_vocabularies;
mod rule_tokens;
mod special;
mod threads;
mod tree;
mod vocabulary;
mod walk;
