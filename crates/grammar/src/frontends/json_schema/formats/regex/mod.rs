//! Regular expressions of ECMA-262, as a language of their own.
//!
//! The language here is what ECMA-262 takes with its flag `u` and without it. What only the grammar for old pages allows
//! (a lone `]`, a quantified lookahead, `\a`) is left out. So is some of what is valid either way, because it is not
//! regular or would be large:
//!
//! * Groups nest up to [`DEPTH`] levels. An assertion in parentheses takes no quantifier and a group does, so each level
//!   would hold the one below twice; assertions therefore stand at the top or inside of one group, and groups nest
//!   inside of them once.
//! * Names of groups must be unique and backreferences must have their group, so there are neither, and no `\0`.
//! * The two numbers of `{n,m}` and the two ends of `[a-z]` must be in order, which takes an alternative for each
//!   value of the first. [`quantifier`] and `class` say which ones there are.

mod class;

use std::fmt::Write as _;

use super::texts::Texts;
use crate::error::Result;
use crate::ir::ExprId;

/// How deep groups may nest.
const DEPTH: u32 = 4;
/// How deep groups may nest inside of an assertion.
const DEPTH_IN_ASSERTIONS: u32 = 1;
/// How many groups an assertion may be inside of.
const DEPTH_OF_ASSERTIONS: u32 = 1;

/// Characters that are not syntax.
const PLAIN: &str = "[^\\^$\\\\.*+?()\\[\\]{}|]";

/// Escapes of one character, after the backslash: of syntax, controls, and code points by number. There are no halves of
/// surrogate pairs, which would be one character with the flag `u` and two without.
const CHARACTER_ESCAPES: &str = "[\\^$\\\\.*+?()\\[\\]{}|/tnvfr]|c[A-Za-z]|x[0-9A-Fa-f]{2}|\
    u(?:[0-9A-Ca-cEFef][0-9A-Fa-f]{3}|[Dd][0-7][0-9A-Fa-f]{2})";
/// Escapes of classes, after the backslash; of the properties, the general categories.
const CLASS_ESCAPES: &str =
    "[dDsSwW]|[pP]\\{(?:L[ulmot]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfosn]?)\\}";

pub(super) fn regex(texts: &mut Texts<'_>) -> Result<ExprId> {
    let quantifier = quantifier(texts)?;
    let simple = simple_term(texts, quantifier)?;
    let parenthesis = texts.literal(")");
    let close = texts.seq([parenthesis, quantifier]);
    let close = texts.determinized(close)?;
    let group = texts.pattern("\\((?:\\?:)?")?;
    let assertion = texts.pattern("\\(\\?<?[=!]")?;
    let mut body = texts.star(simple);
    let mut assertion_or_none = Vec::new();
    for depth in 1..=DEPTH {
        let grouped = texts.seq([group, body, close]);
        let asserted = assertion_or_none.iter().copied().filter(|_| depth + DEPTH_OF_ASSERTIONS >= DEPTH);
        let term = texts.alt([simple, grouped].into_iter().chain(asserted));
        body = texts.star(term);
        if depth == DEPTH_IN_ASSERTIONS {
            assertion_or_none.push(texts.seq([assertion, body, parenthesis]));
        }
    }
    Ok(body)
}

/// One term without parentheses, or the bar between two alternatives.
fn simple_term(texts: &mut Texts<'_>, quantifier: ExprId) -> Result<ExprId> {
    let character = texts.pattern(&format!("{PLAIN}|\\.|\\\\(?:{CHARACTER_ESCAPES}|{CLASS_ESCAPES})"))?;
    let class = class::class(texts)?;
    let atom = texts.alt([character, class]);
    let term = texts.seq([atom, quantifier]);
    let others = texts.pattern("[\\^$|]|\\\\[bB]")?;
    let term = texts.alt([term, others]);
    texts.determinized(term)
}

/// A quantifier or none. Two numbers are in order if the first has one digit, and also if it has two and the second
/// has another first digit; the second has four at most.
fn quantifier(texts: &mut Texts<'_>) -> Result<ExprId> {
    let mut counts = String::from("[0-9]+,?|[0-9],[1-9][0-9]{1,3}|[1-9][0-9],[1-9][0-9]{2,3}");
    for low in 0..10 {
        let _ = write!(counts, "|{low},[{low}-9]");
    }
    for tens in 1..9 {
        let _ = write!(counts, "|{tens}[0-9],[{}-9][0-9]", tens + 1);
    }
    texts.pattern(&format!("(?:(?:[*+?]|\\{{(?:{counts})\\}})\\??)?"))
}
