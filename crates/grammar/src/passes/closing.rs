//! Lazy rules whose tokens are counted close at their bound.
//!
//! A lazy rule ends at its first chance: none of its texts is the beginning of another. So when its tokens have run out it
//! can never end but by the text that it waits for, and `max_tokens` would bound nothing. XGrammar closes such a rule
//! without its marker where any text may stand before it, and so does this pass:
//!
//! ```text
//! rule[max_tokens=N, lazy] ::= any marker
//!   =>  rule[max_tokens=N] ::= (any marker, at its first chance) | (any & ~(any marker any)) TokensSpent()
//! ```
//!
//! The second alternative is what the first has read while it has not come to its end. [`TokenSet::spent`] is no token:
//! the engine goes on behind it where the rule has had its tokens. `suffix` and `stop` of Lark become the same where they
//! are lowered, with any body.
//!
//! Other lazy rules are refused if they have texts without end, since their tokens would be counted for nothing. One whose
//! texts are finite in number ends by itself.
//!
//! [`TokenSet::spent`]: crate::ir::TokenSet::spent

use crate::error::{Error, ErrorKind, Result};
use crate::ir::{Builder, Expr, ExprId, Rule};
use crate::limits::Budget;
use crate::regular::{CharSet, Dfa, determinize};

/// How a rule ends when its tokens have run out.
pub(super) enum Closing {
    /// As it ends in any case.
    Never,
    /// After any of these texts too.
    After(ExprId),
}

/// How `rule` ends when its tokens have run out. An error if it is lazy and might not.
pub(super) fn closing(builder: &mut Builder, rule: &Rule, budget: &Budget) -> Result<Closing> {
    if !rule.options.lazy || rule.options.max_tokens.is_none() {
        return Ok(Closing::Never);
    }
    if let Some((before, marker)) = any_text_and_marker(builder, rule.body, budget)? {
        let captures_part = rule.options.hidden_bytes > 0 || rule.options.stop_capture.is_some();
        if captures_part {
            let why = "what its capture leaves out at the end would be missing";
            return Err(unbound(&rule.name, why));
        }
        return Ok(Closing::After(without_marker(builder, before, marker)));
    }
    if rule.options.max_chars.is_some() || is_finite(builder, rule.body, budget)? {
        return Ok(Closing::Never);
    }
    Err(unbound(
        &rule.name,
        "it can end only at its first chance, and there is none before what it waits for",
    ))
}

/// The texts of `before` in which no `marker` has ended one earlier.
pub(crate) fn without_marker(builder: &mut Builder, before: ExprId, marker: ExprId) -> ExprId {
    let any = builder.class(CharSet::any());
    let any = builder.repeat(any, 0, None);
    let ended = builder.seq([before, marker, any]);
    let not_ended = builder.not(ended);
    builder.and([before, not_ended])
}

fn unbound(rule: &str, why: &str) -> Error {
    let message = format!("the option `max_tokens` of the lazy rule `{rule}` could not end it: {why}");
    Error::unsupported(message).with_help(
        "let any text (`[^]*`, in Lark `/(.|\\n)*/`) stand before a marker, or in Lark write the marker as `suffix=` or \
         `stop=`: then the rule closes without it; or bound it by `max_chars`",
    )
}

/// `body` as any text and what follows it, if it is that.
fn any_text_and_marker(
    builder: &mut Builder,
    body: ExprId,
    budget: &Budget,
) -> Result<Option<(ExprId, ExprId)>> {
    let Some(items) = sequence(builder, body) else { return Ok(None) };
    let Some((&before, marker)) = items.split_first() else { return Ok(None) };
    if marker.is_empty() || regular(builder, before, budget)?.as_ref() != Some(Dfa::any_text()) {
        return Ok(None);
    }
    let marker = builder.seq(marker.iter().copied());
    Ok(Some((before, marker)))
}

/// The parts of `body`, itself or behind the name of a rule.
fn sequence(builder: &Builder, body: ExprId) -> Option<Vec<ExprId>> {
    let mut at = body;
    // As deep as anybody nests names for nothing but to name them.
    for _ in 0..16 {
        match builder.expr(at) {
            Expr::Seq(items) => return Some(items.to_vec()),
            Expr::Rule(rule) => at = builder.rule_body(*rule)?,
            _ => return None,
        }
    }
    None
}

/// Whether a lazy rule with this body has a greatest text.
fn is_finite(builder: &mut Builder, body: ExprId, budget: &Budget) -> Result<bool> {
    let any = builder.class(CharSet::any());
    let more = builder.repeat(any, 1, None);
    let longer = builder.seq([body, more]);
    let not_longer = builder.not(longer);
    let first = builder.and([body, not_longer]);
    Ok(regular(builder, first, budget)?.is_some_and(|dfa| dfa.count_words().is_some()))
}

/// The automaton of an expression, if it is regular as it stands.
fn regular(builder: &Builder, expr: ExprId, budget: &Budget) -> Result<Option<Dfa>> {
    match determinize(builder, expr, budget) {
        Ok(dfa) => Ok(Some(dfa)),
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use crate::frontends::ebnf;
    use crate::limits::Budget;
    use crate::passes::options;

    fn lowered(source: &str) -> Result<String, String> {
        let budget = Budget::default();
        let grammar = ebnf::parse(source, "root", budget.limits(), &budget).unwrap();
        let lowered = options::lower(grammar, &budget);
        lowered.map(|grammar| grammar.to_string()).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn any_text_before_a_marker_closes_without_it() {
        for source in [
            "root[max_tokens=3, lazy] ::= [^]* \"</t>\"",
            "root[max_tokens=3, lazy] ::= text\ntext ::= any \"</t>\"\nany ::= [^]*",
            "root[max_tokens=3, lazy, max_chars=9] ::= [^]* \"</\" \"t\"? \">\"",
        ] {
            let printed = lowered(source).unwrap();
            assert!(printed.contains("TokensSpent()") && printed.contains("max_tokens=3"), "{printed}");
        }
    }

    #[test]
    fn texts_that_are_finite_in_number_end_by_themselves() {
        for source in [
            "root[max_tokens=3, lazy] ::= [a-z] [a-z]*",
            "root[max_tokens=3, lazy] ::= [a-z]{0,9} \"!\"",
            "root[max_tokens=3, lazy, max_chars=9] ::= [a-z]* \"!\"",
        ] {
            assert!(!lowered(source).unwrap().contains("TokensSpent"), "{source}");
        }
    }

    #[test]
    fn others_are_refused_by_name() {
        let error = lowered("root ::= \"<\" text\ntext[max_tokens=3, lazy] ::= [a-z]* \"!\"").unwrap_err();
        assert_eq!(
            error,
            "the option `max_tokens` of the lazy rule `text` could not end it: it can end only at its first chance, and \
             there is none before what it waits for"
        );
        let source = "root[max_tokens=3, lazy, capture, capture_hidden_suffix_bytes=1] ::= [^]* \"!\"";
        assert!(lowered(source).unwrap_err().contains("what its capture leaves out"));
    }
}
