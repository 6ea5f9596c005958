//! Lark's language for grammars, and llguidance's dialect of it.
//!
//! ```text
//! start: greeting ("," name)*                 // rules have small letters, terminals capital ones
//! greeting: "hello"i | /good (day|night)/ -> alias
//! name[capture]: NAME & ~RESERVED             // attributes; and, not: of terminals
//! NAME: LETTER+                               // a terminal is one piece: nothing is ignored inside
//! RESERVED: "if" | "else"
//! _list{item, mark}: item (mark item)*        // templates
//! call: %json {"type": "object"} | <|tool|> | @named
//! %import common (LETTER, WS)
//! %ignore WS
//! ```
//!
//! There is no lexer: the language is the grammar's. Terminals are regular parts whose ends nobody has to find, so a
//! text that can be cut into terminals in any way is in the language, and there is nothing for priorities to decide.
//! What is ignored may stand after each terminal, and before the first one where `allow_initial_skip` says so; that is
//! llguidance's reading.
//!
//! Since a terminal does not end where the lexer says, what depends on it is refused by name: lookaround and word
//! boundaries that may see beyond the terminal, priorities. Lazy quantifiers and anchors mean what they mean in a regex by
//! itself. Rules with `lazy`, `suffix` or `stop` end at
//! their first chance, exactly.
//!
//! Reading order: `lexer`, `ast`, `parser` with `attributes`, `body` and `parameters`; `lower` with `leaves`, `guidance`, `lazy`,
//! `enclosed` and `dispatch`; `common`, the library.

mod ast;
mod attributes;
mod body;
mod common;
mod dispatch;
mod enclosed;
mod guidance;
mod lazy;
mod leaves;
mod lexer;
mod lower;
mod parameters;
mod parser;
#[cfg(test)]
mod tests;

use super::json_schema::{Embedded, Spelling};
use crate::error::Result;
use crate::ir::Grammar;
use crate::limits::{Budget, Limits};

/// Finds the tokens of a text, for `<|text|>`; the text comes with its angle brackets.
pub type TokenResolver<'r> = dyn Fn(&str) -> Vec<u32> + 'r;

/// A grammar that others may name with `@name`.
#[derive(Clone, Copy, Debug)]
pub enum Named<'n> {
    /// One that was read already, of whatever front end.
    Grammar(&'n Grammar),
    /// A Lark text of its own, with names of its own.
    Lark(&'n str),
}

/// What a text may refer to.
#[derive(Clone, Copy, Default)]
pub struct Surroundings<'r> {
    /// The grammars for `@name`.
    pub named: &'r [(&'r str, Named<'r>)],
    /// The tokens for `<|text|>`; without it, they are an error.
    pub token_ids: Option<&'r TokenResolver<'r>>,
    /// Which of the texts of the values of `%json` are written.
    pub spelling: Spelling,
}

impl std::fmt::Debug for Surroundings<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Surroundings").field("named", &self.named).finish_non_exhaustive()
    }
}

/// The grammar of `source`, starting from its rule `start`.
///
/// ```
/// use tokenstile_grammar::frontends::lark;
/// use tokenstile_grammar::Budget;
/// let budget = Budget::default();
/// let source = "start: NUMBER (\"+\" NUMBER)*\nNUMBER: /[0-9]+/";
/// let grammar = lark::parse(source, &lark::Surroundings::default(), budget.limits(), &budget)?;
/// assert!(grammar.to_string().starts_with("root ::= NUMBER (\"+\" NUMBER)*"));
/// # Ok::<(), tokenstile_grammar::Error>(())
/// ```
pub fn parse(
    source: &str,
    surroundings: &Surroundings<'_>,
    limits: &Limits,
    budget: &Budget,
) -> Result<Grammar> {
    lower::grammar(source, surroundings, limits, budget)
}

/// The schemas of `source`, by the lines on which they begin. The arguments are those of [`parse`].
pub fn schemas(
    source: &str,
    surroundings: &Surroundings<'_>,
    limits: &Limits,
    budget: &Budget,
) -> Result<Vec<Embedded>> {
    lower::schemas(source, surroundings, limits, budget)
}
