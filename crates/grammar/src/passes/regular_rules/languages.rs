//! What is known of the languages of rules, and what may become an automaton.

use crate::error::Result;
use crate::ir::{Expr, ExprId, Grammar, RuleId};
use crate::passes::analysis::nullable;
use crate::passes::graph::{Graph, is_circle};
use crate::regular::Dfa;

/// What is known of a grammar's rules, callees before their callers.
pub(super) struct Languages<'g> {
    pub(super) grammar: &'g Grammar,
    /// Which expressions match the empty string, by expression.
    pub(super) nullable: Vec<bool>,
    /// Which expressions are made of regular parts and calls alone, by expression.
    plain: Vec<bool>,
    /// The languages of recursive rules that turned out to be regular, by rule.
    pub(super) of_rules: Vec<Option<Dfa>>,
    /// Which rules are known to be regular, by rule.
    regular: Vec<bool>,
}

impl<'g> Languages<'g> {
    pub(super) fn new(grammar: &'g Grammar) -> Result<Self> {
        let mut plain: Vec<bool> = Vec::with_capacity(grammar.exprs().len());
        for (_, expr) in grammar.exprs() {
            let is_plain = is_plain(expr) && expr.children().iter().all(|child| plain[child.index()]);
            plain.push(is_plain);
        }
        let rules = grammar.rules().len();
        let (of_rules, regular) = (vec![None; rules], vec![false; rules]);
        Ok(Languages { grammar, nullable: nullable(grammar, |_| false)?, plain, of_rules, regular })
    }

    /// Whether the rules of a component say nothing beside their bodies, and are made of regular parts and calls of each
    /// other alone.
    fn is_plain(&self, graph: &Graph, component: &[u32]) -> bool {
        component.iter().all(|&rule| {
            let body = self.grammar.rule(RuleId(rule)).body;
            let is_known = |callee: &u32| component.contains(callee) || self.regular[*callee as usize];
            self.plain[body.index()]
                && says_nothing(self.grammar, RuleId(rule))
                && graph.of(rule).iter().all(is_known)
        })
    }

    /// The recursive rules of `component` that might be regular. Takes note of rules that are not recursive.
    pub(super) fn recursive<'l>(&'l mut self, graph: &Graph, component: &'l [u32]) -> Option<Component<'l>> {
        let is_plain = self.is_plain(graph, component);
        if !is_circle(graph, component) {
            component.iter().for_each(|&rule| self.regular[rule as usize] = is_plain);
            return None;
        }
        is_plain.then_some(Component { languages: self, rules: component })
    }

    /// Takes note of what some recursive rules match.
    pub(super) fn define(&mut self, component: &[u32], languages: Vec<Dfa>) {
        for (&rule, language) in component.iter().zip(languages) {
            self.regular[rule as usize] = true;
            self.of_rules[rule as usize] = Some(language);
        }
    }
}

/// Whether the engine need not know that it is in a rule, nor what it matched.
fn says_nothing(grammar: &Grammar, rule: RuleId) -> bool {
    let options = &grammar.rule(rule).options;
    let is_ready = grammar.ready().is_some_and(|(ready, _)| *ready == rule);
    !is_ready
        && !options.needs_frame()
        && !options.captures()
        && !options.lazy
        && options.max_chars.is_none()
        && options.temperature.is_none()
}

fn is_plain(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Never
            | Expr::Empty
            | Expr::Bytes(_)
            | Expr::Class(_)
            | Expr::Seq(_)
            | Expr::Alt(_)
            | Expr::Repeat { .. }
            | Expr::Automaton(_)
            | Expr::Rule(_)
    )
}

/// Rules that call each other.
pub(super) struct Component<'l> {
    pub(super) languages: &'l Languages<'l>,
    rules: &'l [u32],
}

impl Component<'_> {
    /// The bodies of its rules.
    pub(super) fn bodies(&self) -> impl ExactSizeIterator<Item = ExprId> {
        self.rules.iter().map(|&rule| self.languages.grammar.rule(RuleId(rule)).body)
    }

    /// The place of a rule in it.
    pub(super) fn place_of(&self, rule: RuleId) -> Option<usize> {
        self.rules.iter().position(|&member| member == rule.0)
    }
}
