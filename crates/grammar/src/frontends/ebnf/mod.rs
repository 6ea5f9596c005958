//! EBNF as XGrammar reads it, GBNF as llama.cpp does, and what we add to both.
//!
//! ```text
//! root   ::= "a" [b-d] ("e" | f)* f{2, 3} ""     # literals, classes, groups, quantifiers
//! f[capture="f", lazy] ::= Regex("\\d+") .        # rule options, macros, any code point
//! g      ::= [a-z]+ & ~("if" | "else")            # and, not: of regular languages
//! h      ::= <[12, 13]> | !<think> | Token("\n")   # tokens, by id and by text
//! ```
//!
//! Line breaks mean nothing, but that a rule's name must be the first on its line; every GBNF file with one rule a
//! line, or with rules that go on after a `|`, reads the same so. Binding, from the tightest:
//!
//! 1. the quantifiers `? * + {n} {n, m} {n,}`, of which only one may follow an element;
//! 2. `~e`, any text that is not `e`: `~"a"*` is `~("a"*)`;
//! 3. the sequence;
//! 4. `a & b`, what is in both;
//! 5. `a | b`.
//!
//! A name of dots alone is that many `.`, each any code point. `a.` is a name, as in XGrammar; write `a .`.
//!
//! A lookahead `(= ...)` at the end of a rule is a hint to XGrammar's caches and not a part of its language. It is
//! checked for form here and dropped.
//!
//! Where XGrammar takes what has no meaning (a count that wraps around, `\ud800` in a literal, an escape beyond
//! U+10FFFF, a named argument given twice), this is an error.
//!
//! Where the two dialects disagree, XGrammar's reading counts: `\x` takes all the hexadecimal digits that follow, and
//! an alternative without elements is an error.
//!
//! Files: `lexer`, with `escape` and `options` for its details; `parser`, with `macros` and `members`; `suggest` for errors;
//! [`builtin_json`].

mod builtin_json;
mod escape;
mod lexer;
mod macros;
mod members;
mod options;
mod parser;
pub(crate) mod suggest;
#[cfg(test)]
mod tests;

pub use builtin_json::builtin_json;
pub(super) use escape::Context;
pub(super) use lexer::string_literal;
pub(super) use suggest::nearest;

use crate::error::Result;
use crate::ir::Grammar;
use crate::limits::{Budget, Limits};

/// Finds a token by its text, for `Token("text")` and for GBNF's `<text>`, which comes with its angle brackets.
pub type TokenResolver<'r> = dyn Fn(&str) -> Option<u32> + 'r;

/// The grammar of `source`, starting from `root_rule`. A token given by its text is an error.
pub fn parse(source: &str, root_rule: &str, limits: &Limits, budget: &Budget) -> Result<Grammar> {
    parse_with_tokens(source, root_rule, None, limits, budget)
}

/// The same with tokens given by text, which `token_id` finds.
pub fn parse_with_tokens(
    source: &str,
    root_rule: &str,
    token_id: Option<&TokenResolver<'_>>,
    limits: &Limits,
    budget: &Budget,
) -> Result<Grammar> {
    parser::Parser::new(source, token_id, limits, budget)?.parse(root_rule)
}

/// Whether `name` can be printed as the name of a rule and read back as one, whatever other rules there are.
pub(crate) fn is_free_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(lexer::is_name_start)
        && bytes.all(lexer::is_name_byte)
        && !name.bytes().all(|byte| byte == b'.')
        && !name.as_bytes().get(..2).is_some_and(|start| start[0] == b'-' && start[1].is_ascii_digit())
        && !matches!(name, "true" | "false")
        && macros::Macro::find(name).is_none()
        && !parser::is_macro(name)
}
