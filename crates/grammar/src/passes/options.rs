//! Rule options that are part of the language become expressions.
//!
//! - `lazy`: a rule ends at its first chance. Its language is that of its body without the strings that go on after
//!   a string of the body: `body & ~(body .+)`.
//! - `max_chars=N`: the body and at most N code points, `body & .{0, N}`. XGrammar lets a rule overrun that cannot
//!   end in time; here such a string is not in the language.
//! - `lazy` and `max_tokens=N` together: a lazy rule cannot end but at its marker, so the tokens could run out and nothing
//!   would end it. See [`super::closing`].
//!
//! Captures and temperatures say nothing about the language and stay, and so does `max_tokens`, which counts what only the
//! engine sees, and `distinct_items`, which compares what the engine reads. But a conjunction becomes one automaton, in
//! which the rules that it was made of are gone; so a rule that captures, advises on temperature, counts its tokens or
//! compares its items cannot be used below one that is lazy or bounded.

use super::closing::{Closing, closing};
use super::{analysis, graph, linear};
use crate::error::{Error, Result};
use crate::ir::{Builder, Expr, Grammar, RuleId, RuleOptions, TokenSet};
use crate::limits::Budget;
use crate::regular::CharSet;

/// `grammar` without the options that restrict the language.
pub fn lower(grammar: Grammar, budget: &Budget) -> Result<Grammar> {
    Ok(lowered(&grammar, budget)?.unwrap_or(grammar))
}

pub(super) fn lowered(grammar: &Grammar, budget: &Budget) -> Result<Option<Grammar>> {
    let restricted: Vec<RuleId> =
        grammar.rules().filter(|(_, rule)| restriction(&rule.options).is_some()).map(|(id, _)| id).collect();
    if restricted.is_empty() {
        return Ok(None);
    }
    check_regular(grammar, &restricted, budget)?;
    let root = grammar.root();
    let rules: Vec<_> = restricted.iter().map(|&id| (id, grammar.rule(id).clone())).collect();
    let mut builder = Builder::extend(grammar.clone(), budget.limits());
    for (id, rule) in rules {
        budget.tick()?;
        let mut body = rule.body;
        let any = builder.class(CharSet::any());
        let closes = match closing(&mut builder, &rule, budget)? {
            Closing::Never => None,
            Closing::After(text) => Some(text),
        };
        if rule.options.lazy {
            let more = builder.repeat(any, 1, None);
            let longer = builder.seq([body, more]);
            let not_longer = builder.not(longer);
            body = builder.and([body, not_longer]);
        }
        let bounded = |builder: &mut Builder, body| match rule.options.max_chars {
            None => body,
            Some(most) => {
                let bounded = builder.repeat(any, 0, Some(most));
                builder.and([body, bounded])
            }
        };
        body = bounded(&mut builder, body);
        if let Some(text) = closes {
            let text = bounded(&mut builder, text);
            let spent = builder.token(TokenSet::spent());
            let at_bound = builder.seq([text, spent]);
            body = builder.alt([body, at_bound]);
        }
        builder.define(id, body, RuleOptions { lazy: false, max_chars: None, ..rule.options });
    }
    builder.finish(root).map(Some)
}

/// The name of an option that restricts the language, if there is one.
fn restriction(options: &RuleOptions) -> Option<&'static str> {
    if options.lazy {
        Some("lazy")
    } else if options.max_chars.is_some() {
        Some("max_chars")
    } else {
        None
    }
}

fn unsupported(rule: &str, option: &str, why: &str) -> Error {
    Error::unsupported(format!("the option `{option}` of rule `{rule}` cannot be enforced: {why}"))
}

/// Fails unless the rules are regular, once those that recurse at one end are loops.
fn check_regular(grammar: &Grammar, restricted: &[RuleId], budget: &Budget) -> Result<()> {
    let loops = linear::unroll(grammar.clone(), budget)?;
    let obstacles = find_obstacles(&loops, budget)?;
    for &id in restricted {
        let rule = grammar.rule(id);
        if let (Some(why), Some(option)) = (&obstacles[id.index()], restriction(&rule.options)) {
            return Err(unsupported(&rule.name, option, why));
        }
    }
    Ok(())
}

/// Why the language of each rule cannot become one automaton, by rule.
fn find_obstacles(grammar: &Grammar, budget: &Budget) -> Result<Vec<Option<String>>> {
    let graph = analysis::rule_references(grammar, |_| true);
    let tokens = rules_with(grammar, |expr| matches!(expr, Expr::Token(_) | Expr::TokenTagDispatch(_)));
    let lists = rules_with(grammar, |expr| matches!(expr, Expr::Members { .. }));
    let mut obstacles: Vec<Option<String>> = vec![None; graph.count()];
    // Callees come before their callers.
    for component in graph::strong_components(&graph).iter() {
        let is_cyclic = graph::is_circle(&graph, component);
        for &at in component {
            budget.tick()?;
            let name = rule_name(grammar, at);
            obstacles[at as usize] = if is_cyclic {
                Some(format!("its language is not regular, because rule `{name}` recurses"))
            } else if tokens[at as usize] {
                Some(format!("rule `{name}` holds tokens"))
            } else if lists[at as usize] {
                Some(format!("rule `{name}` holds a list of members"))
            } else {
                graph.of(at).iter().find_map(|&callee| obstacle_below(grammar, &obstacles, callee))
            };
        }
    }
    Ok(obstacles)
}

fn obstacle_below(grammar: &Grammar, obstacles: &[Option<String>], callee: u32) -> Option<String> {
    let options = &grammar.rule(RuleId(callee)).options;
    let name = || rule_name(grammar, callee);
    if options.captures() || options.temperature.is_some() {
        return Some(format!("rule `{}`, which it uses, has a capture or a temperature of its own", name()));
    }
    if options.max_tokens.is_some() {
        return Some(format!("the tokens of rule `{}`, which it uses, are counted", name()));
    }
    if options.distinct_items {
        return Some(format!("the items of rule `{}`, which it uses, are compared", name()));
    }
    obstacles[callee as usize].clone()
}

fn rule_name(grammar: &Grammar, rule: u32) -> &str {
    &grammar.rule(RuleId(rule)).name
}

/// Which rules hold such an expression in their own body.
fn rules_with(grammar: &Grammar, wanted: impl Fn(&Expr) -> bool) -> Vec<bool> {
    let mut holds: Vec<bool> = Vec::with_capacity(grammar.exprs().len());
    for (_, expr) in grammar.exprs() {
        holds.push(wanted(expr) || expr.children().iter().any(|child| holds[child.index()]));
    }
    grammar.rules().map(|(_, rule)| holds[rule.body.index()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontends::ebnf;
    use crate::regular::determinize;

    fn lowered(source: &str) -> Result<Grammar> {
        let budget = Budget::default();
        let grammar = ebnf::parse(source, "root", budget.limits(), &budget)?;
        lower(grammar, &budget)
    }

    fn matches(source: &str, text: &str) -> bool {
        let grammar = lowered(source).unwrap();
        let body = grammar.rule(grammar.root()).body;
        determinize(&grammar, body, &Budget::default()).unwrap().matches(text.as_bytes())
    }

    #[test]
    fn lazy_ends_at_the_first_chance() {
        for (body, accept, reject) in [
            ("[a-z]+", "a", "ab"),
            ("[a-z]*", "", "a"),
            ("[a-w]* \"x\"", "aax", "aaxx"),
            ("\"a\" | \"ab\"", "a", "ab"),
            ("\"é\" . | \"é\" . \"b\"", "éa", "éab"),
        ] {
            let source = format!("root[lazy] ::= {body}");
            assert!(matches(&source, accept), "{body}");
            assert!(!matches(&source, reject), "{body}");
        }
    }

    #[test]
    fn max_chars_counts_code_points() {
        let source = "root[max_chars=2] ::= .*";
        assert!(matches(source, "éé") && matches(source, "") && !matches(source, "ééé"));
        assert!(matches("root[max_chars=0] ::= .*", "") && !matches("root[max_chars=0] ::= .*", "a"));
    }

    #[test]
    fn lowered_options_are_gone_and_the_others_stay() {
        let grammar = lowered("root[lazy, max_chars=3, capture=\"c\", temperature=0.5] ::= \"a\"*").unwrap();
        let expected =
            RuleOptions { capture: Some("c".to_owned()), temperature: Some(0.5), ..RuleOptions::default() };
        assert_eq!(grammar.rule(grammar.root()).options, expected);
    }

    #[test]
    fn what_cannot_be_enforced_is_refused_by_name() {
        for (source, message) in [
            (
                "root[lazy] ::= \"a\" b\nb[max_tokens=3] ::= \"c\"",
                "the option `lazy` of rule `root` cannot be enforced: the tokens of rule `b`, which it uses, are counted",
            ),
            (
                "root[max_chars=9] ::= b\nb ::= \"(\" b \")\" | \"x\"",
                "the option `max_chars` of rule `root` cannot be enforced: its language is not regular, because rule \
                 `b` recurses",
            ),
            (
                "root[lazy] ::= b\nb ::= \"x\" Token(3)",
                "the option `lazy` of rule `root` cannot be enforced: rule `b` holds tokens",
            ),
            (
                "root[lazy] ::= b\nb[capture] ::= \"x\"",
                "the option `lazy` of rule `root` cannot be enforced: rule `b`, which it uses, has a capture or a \
                 temperature of its own",
            ),
        ] {
            let error = lowered(source).unwrap_err();
            assert_eq!(error.message(), message);
            assert_eq!(error.kind(), crate::ErrorKind::Unsupported);
        }
    }

    #[test]
    fn recursion_at_one_end_is_regular() {
        assert!(lowered("root[max_chars=9] ::= b\nb ::= \"x\" b | \"y\"").is_ok());
    }
}
