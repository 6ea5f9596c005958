//! Expressions of the intermediate form as automata.
//!
//! Only what stands below a conjunction or a complement comes here, so counted repeats are simply unrolled, within
//! the limit on states. A survey first finds what is not regular; the conjunctions, complements and bounds of the length
//! inside are then made one after the other, innermost first, and stand as ready automata in what is around them. Nothing recurses:
//! expressions may nest as deep as a chain of rules is long.

use rustc_hash::{FxHashMap, FxHashSet};

use super::dfa::Dfa;
use super::nfa::{Nfa, NfaStateId};
use super::tag_text::TagText;
use crate::error::{Error, Result};
use crate::ir::{Builder, Expr, ExprId, Grammar, RuleId, RuleOptions};
use crate::limits::Budget;

/// Where expressions and rules are looked up.
pub trait ExprSource {
    /// The expression `id`.
    fn expr(&self, id: ExprId) -> &Expr;

    /// The body of a rule, or `None` where it has none yet.
    fn rule_body(&self, rule: RuleId) -> Option<ExprId>;

    /// What a rule says beside its body.
    fn rule_options(&self, rule: RuleId) -> &RuleOptions;
}

impl ExprSource for Builder {
    fn expr(&self, id: ExprId) -> &Expr {
        Builder::expr(self, id)
    }

    fn rule_body(&self, rule: RuleId) -> Option<ExprId> {
        Builder::rule_body(self, rule)
    }

    fn rule_options(&self, rule: RuleId) -> &RuleOptions {
        Builder::rule_options(self, rule)
    }
}

impl ExprSource for Grammar {
    fn expr(&self, id: ExprId) -> &Expr {
        Grammar::expr(self, id)
    }

    fn rule_body(&self, rule: RuleId) -> Option<ExprId> {
        Some(self.rule(rule).body)
    }

    fn rule_options(&self, rule: RuleId) -> &RuleOptions {
        &self.rule(rule).options
    }
}

/// The minimal automaton of a regular expression.
///
/// Rules are followed. Fails with [`crate::ErrorKind::Unsupported`] on what is not regular or not text: a recursive
/// rule, tokens, tag dispatch, and rules with limits or captures of their own.
pub fn determinize(source: &impl ExprSource, root: ExprId, budget: &Budget) -> Result<Dfa> {
    let mut ready = FxHashMap::default();
    let mut survey = Survey::new(source, "a conjunction or a complement", budget);
    survey.visit(root)?;
    for id in survey.found {
        let dfa = combine(source, id, &ready, budget)?;
        ready.insert(id, dfa);
    }
    automaton_of(source, root, &ready, budget)
}

/// What is still to be done for an expression.
enum Visit {
    Enter(ExprId),
    Leave(ExprId),
}

/// A look at expressions that checks that all of them are regular text, each once.
#[derive(Debug)]
pub(crate) struct Survey<'s, S> {
    source: &'s S,
    /// What they stand inside of, for messages.
    inside: &'static str,
    open: FxHashSet<ExprId>,
    done: FxHashSet<ExprId>,
    /// The conjunctions, complements and bounds of length, innermost first.
    found: Vec<ExprId>,
    budget: &'s Budget,
}

impl<'s, S: ExprSource> Survey<'s, S> {
    /// Nothing is looked at yet.
    pub(crate) fn new(source: &'s S, inside: &'static str, budget: &'s Budget) -> Self {
        let (open, done) = (FxHashSet::default(), FxHashSet::default());
        Survey { source, inside, open, done, found: Vec::new(), budget }
    }

    /// Fails unless `root` is regular text.
    pub(crate) fn visit(&mut self, root: ExprId) -> Result<()> {
        let mut stack = vec![Visit::Enter(root)];
        while let Some(visit) = stack.pop() {
            self.budget.tick()?;
            match visit {
                Visit::Enter(id) if self.done.contains(&id) => {}
                Visit::Enter(id) => {
                    if !self.open.insert(id) {
                        return Err(Error::unsupported("a recursive rule is not a regular language")
                            .with_help(format!("{} needs operands without recursion", self.inside)));
                    }
                    stack.push(Visit::Leave(id));
                    let expr = self.source.expr(id);
                    stack.extend(expr.children().iter().map(|&child| Visit::Enter(child)));
                    stack.extend(self.leaf_body(expr)?.map(Visit::Enter));
                }
                Visit::Leave(id) => {
                    self.open.remove(&id);
                    self.done.insert(id);
                    if matches!(self.source.expr(id), Expr::And(_) | Expr::Not(_) | Expr::AtMost { .. }) {
                        self.found.push(id);
                    }
                }
            }
        }
        Ok(())
    }

    /// The body of a rule reference, after a check that the expression is text.
    fn leaf_body(&self, expr: &Expr) -> Result<Option<ExprId>> {
        let misplaced =
            |what: &str| Error::unsupported(format!("{what} cannot stand inside {}", self.inside));
        match expr {
            Expr::Token(_) => Err(misplaced("a token")),
            Expr::TagDispatch(_) | Expr::TokenTagDispatch(_) => Err(misplaced("a tag dispatch")),
            Expr::JsonText(_) | Expr::Members { .. } => Err(misplaced("the form of JSON")
                .with_help("put the conjunction or the complement inside of JsonText")),
            Expr::Rule(rule) => {
                let options = self.source.rule_options(*rule);
                let limited = options.max_tokens.is_some() || options.max_chars.is_some() || options.lazy;
                if limited || options.captures() {
                    return Err(misplaced("a rule with a limit, `lazy` or a capture"));
                }
                let body = self.source.rule_body(*rule);
                body.map(Some)
                    .ok_or_else(|| Error::unsupported("a rule that is not defined yet is not regular"))
            }
            _ => Ok(None),
        }
    }
}

type Ready = FxHashMap<ExprId, Dfa>;

/// The automaton of a conjunction, complement or bound whose insides are ready.
fn combine(source: &impl ExprSource, id: ExprId, ready: &Ready, budget: &Budget) -> Result<Dfa> {
    match source.expr(id) {
        Expr::Not(item) => automaton_of(source, *item, ready, budget)?.complement(budget),
        Expr::And(items) => {
            let mut all: Option<Dfa> = None;
            for &item in items {
                let next = automaton_of(source, item, ready, budget)?;
                all = Some(match all {
                    None => next,
                    Some(all) => all.intersection(&next, budget)?,
                });
            }
            // A conjunction of nothing leaves all text.
            Ok(all.unwrap_or_else(|| Dfa::any_text().clone()))
        }
        Expr::AtMost { body, most } => automaton_of(source, *body, ready, budget)?.at_most(*most, budget),
        _ => unreachable!("the survey lists no others"),
    }
}

fn automaton_of(source: &impl ExprSource, id: ExprId, ready: &Ready, budget: &Budget) -> Result<Dfa> {
    if let Some(dfa) = ready.get(&id) {
        return Ok(dfa.clone());
    }
    if let Expr::Automaton(automaton) = source.expr(id) {
        return Ok(Dfa::clone(&automaton.dfa));
    }
    let mut nfa = Nfa::new(budget);
    let (start, end) = (nfa.add_state()?, nfa.add_state()?);
    let mut layout = Layout { source, ready, budget, nfa, tasks: Vec::new(), placed: FxHashSet::default() };
    layout.place(id, start, end);
    while let Some((id, from, to)) = layout.tasks.pop() {
        budget.tick()?;
        layout.lay(id, from, to)?;
    }
    layout.nfa.determinize(start, end)
}

/// An expression and the states that it is to connect.
type Task = (ExprId, NfaStateId, NfaStateId);

/// Lays expressions out as states, by a list of tasks instead of recursion.
struct Layout<'s, 'b, S> {
    source: &'s S,
    ready: &'s Ready,
    budget: &'b Budget,
    nfa: Nfa<'b>,
    tasks: Vec<Task>,
    /// Tasks that were given already; doing one twice adds nothing, and shared rules would do it without end.
    placed: FxHashSet<Task>,
}

impl<S: ExprSource> Layout<'_, '_, S> {
    fn place(&mut self, id: ExprId, from: NfaStateId, to: NfaStateId) {
        if self.placed.insert((id, from, to)) {
            self.tasks.push((id, from, to));
        }
    }

    fn lay(&mut self, id: ExprId, from: NfaStateId, to: NfaStateId) -> Result<()> {
        let (source, ready) = (self.source, self.ready);
        match source.expr(id) {
            Expr::Never => {}
            Expr::Empty => self.nfa.add_empty(from, to),
            Expr::Bytes(bytes) => self.nfa.add_literal(from, bytes, to)?,
            Expr::Class(set) => self.nfa.add_class(from, set, to)?,
            Expr::Automaton(automaton) => self.nfa.add_dfa(from, &automaton.dfa, to)?,
            Expr::Seq(items) => self.lay_seq(items, from, to)?,
            Expr::Alt(items) => items.iter().for_each(|&item| self.place(item, from, to)),
            &Expr::Repeat { body, min, max } => self.lay_repeat(body, min, max, from, to)?,
            Expr::And(_) | Expr::Not(_) | Expr::AtMost { .. } => self.nfa.add_dfa(from, &ready[&id], to)?,
            Expr::Rule(rule) => {
                if let Some(body) = source.rule_body(*rule) {
                    self.place(body, from, to);
                }
            }
            Expr::Tagged { text, parts, repeats } => self.lay_tagged(text, parts, *repeats, from, to)?,
            Expr::JsonText(_)
            | Expr::Members { .. }
            | Expr::Token(_)
            | Expr::TagDispatch(_)
            | Expr::TokenTagDispatch(_) => {
                unreachable!("the survey refuses what is not text")
            }
        }
        Ok(())
    }

    fn lay_seq(&mut self, items: &[ExprId], from: NfaStateId, to: NfaStateId) -> Result<()> {
        let Some((&last, before)) = items.split_last() else {
            self.nfa.add_empty(from, to);
            return Ok(());
        };
        let mut at = from;
        for &item in before {
            let next = self.nfa.add_state()?;
            self.place(item, at, next);
            at = next;
        }
        self.place(last, at, to);
        Ok(())
    }

    /// A state for each of those of the text, and from those in which a tag was read what follows it.
    fn lay_tagged(
        &mut self,
        text: &TagText,
        parts: &[ExprId],
        repeats: bool,
        from: NfaStateId,
        to: NfaStateId,
    ) -> Result<()> {
        let states = (0..text.len()).map(|_| self.nfa.add_state()).collect::<Result<Vec<_>>>()?;
        self.nfa.add_empty(from, states[Dfa::START as usize]);
        let back = if repeats { states[Dfa::START as usize] } else { to };
        for (state, &at) in (0..).zip(&states) {
            self.budget.tick()?;
            for (low, high, target) in text.edges(state) {
                self.nfa.add_range(at, low, high, states[target as usize]);
            }
            if text.is_end(state) {
                self.nfa.add_empty(at, to);
            }
            if let Some(tag) = text.tag(state) {
                self.place(parts[tag as usize], at, back);
            }
        }
        Ok(())
    }

    fn lay_repeat(
        &mut self,
        body: ExprId,
        min: u32,
        max: Option<u32>,
        from: NfaStateId,
        to: NfaStateId,
    ) -> Result<()> {
        let mut at = from;
        for _ in 0..min {
            at = self.lay_once(body, at)?;
        }
        match max {
            None => {
                let around = self.nfa.add_state()?;
                self.nfa.add_empty(at, around);
                self.place(body, around, around);
                at = around;
            }
            Some(max) => {
                for _ in min..max {
                    self.nfa.add_empty(at, to);
                    at = self.lay_once(body, at)?;
                }
            }
        }
        self.nfa.add_empty(at, to);
        Ok(())
    }

    fn lay_once(&mut self, body: ExprId, from: NfaStateId) -> Result<NfaStateId> {
        self.budget.tick()?;
        let next = self.nfa.add_state()?;
        self.place(body, from, next);
        Ok(next)
    }
}
