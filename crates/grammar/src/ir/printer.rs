//! The printer: a grammar as EBNF text that parses back to the same language.
