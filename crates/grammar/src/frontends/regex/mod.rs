//! Regular expressions.
//!
//! One reader for every place where a regex can appear: `from_regex`, the EBNF macro `Regex("...")`, JSON Schema's
//! `pattern`, and whatever follows. It takes the union of ECMA-262, Rust and Python, and where they contradict each
//! other, ECMA-262 with code points (its flag `u`) decides; what would be read in two ways without anyone noticing is
//! refused. No parser on the registry reads that union: `regex-syntax` has no lookaround and reads brackets in classes
//! as Rust does, the ECMA parsers have no `(?P<n>)`, `(?x)`, `\A` or POSIX classes. So the structure is read here, and
//! every table of Unicode (properties, `\w`, case folding, UTF-8) is that of `regex-syntax`.
//!
//! What is read how:
//!
//! * Captures, group names, laziness and the flag `U` change no language, and are dropped.
//! * `.` without the flag `s` leaves out `\n`, `\r`, U+2028 and U+2029; `^` and `$` with the flag `m` go by the same.
//! * `$` is the very end, as in ECMA-262 and Rust, and so are `\z` and `\Z`.
//! * A lone surrogate such as `\uD800` matches nothing, since no text has one; a pair is its code point.
//! * A brace that opens no quantifier is a plain character; `{,n}` and spaces in a quantifier are refused, as some
//!   dialects count there and others do not.
//! * Quantifiers may stand on quantifiers, as in Rust, but `a++` is refused, as it is possessive elsewhere.
//! * Atomic and possessive groups, conditionals, recursion and backreferences are refused by name.
//!
//! A pattern without assertions is a plain expression. One with lookaround, `\b` or anchors inside is one exact
//! automaton (`lookaround`), which prints as the macro that it came from.
//!
//! Reading order: `syntax`, `ast`, `parser` with `groups`, `escapes`, `classes` and `properties`, then
//! `reach`, `anchors`, `lower`, `lookaround`.

mod anchors;
mod ast;
mod classes;
mod escapes;
mod groups;
mod lookaround;
mod lower;
mod parser;
mod properties;
mod reach;
mod source;
mod syntax;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::error::Result;
use crate::ir::{Automaton, Builder, ExprId, Grammar, RuleOptions};
use crate::limits::{Budget, Limits};

pub use syntax::{Anchoring, Flags, Syntax};

/// Reads a pattern into `builder`, and gives the expression of the strings that it stands for.
pub fn parse(pattern: &str, syntax: &Syntax, builder: &mut Builder, budget: &Budget) -> Result<ExprId> {
    parse_named(pattern, syntax, builder, budget).map(|(expr, _)| expr)
}

/// The same with the EBNF macro that reads the pattern so.
pub fn parse_named(
    pattern: &str,
    syntax: &Syntax,
    builder: &mut Builder,
    budget: &Budget,
) -> Result<(ExprId, String)> {
    budget.check_source(pattern)?;
    if let Some(word) = word_between_anchors(pattern, *syntax) {
        return Ok((builder.bytes(word), source::macro_text(pattern, *syntax, false)));
    }
    let parsed = parser::Parser::new(pattern, *syntax, budget).parse()?;
    let mut ast = parsed.ast;
    if syntax.anchoring == Anchoring::Part {
        reach::check(&ast, parsed.root, pattern, budget)?;
    }
    let root = anchors::settle(&mut ast, parsed.root, syntax.anchoring);
    let source = source::macro_text(pattern, *syntax, parsed.ends_extended);
    if !ast.asserts(root) {
        return Ok((lower::lower(&ast, root, builder, budget)?, source));
    }
    let dfa = lookaround::automaton(&ast, root, pattern, budget)?;
    let automaton = Automaton { source: source.as_str().into(), dfa: Arc::new(dfa).into() };
    Ok((builder.automaton(automaton), source))
}

/// The word that a pattern is, if it is a word between anchors: schemas that name their keys so have dozens of them.
fn word_between_anchors(pattern: &str, syntax: Syntax) -> Option<&str> {
    let word = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (syntax == Syntax::search() && !word.is_empty() && word.bytes().all(is_plain)).then_some(word)
}

/// The grammar of one rule, `root`, that is the pattern.
pub fn to_grammar(pattern: &str, syntax: &Syntax, limits: &Limits, budget: &Budget) -> Result<Grammar> {
    let mut builder = Builder::new(limits);
    let root = builder.declare("root");
    let body = parse(pattern, syntax, &mut builder, budget)?;
    builder.define(root, body, RuleOptions::default());
    builder.finish(root)
}
