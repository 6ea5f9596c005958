//! The rules of a strongly connected component as automata with choice, where calls between them stand for known languages.

use rustc_hash::FxHashSet;

use super::languages::{Component, Languages};
use crate::error::Result;
use crate::ir::{Expr, ExprId};
use crate::limits::Budget;
use crate::regular::{Dfa, Nfa, NfaStateId};

/// Which calls between the rules of a component are followed, whatever is known of the rule that is called.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Followed {
    /// Those that are the last of their rule: behind them nothing has to come.
    Last,
    /// Those that are the first.
    First,
}

/// An expression, the states that it is to connect, and whether a call in its place would be followed: no other part of its
/// rule has to be read behind it, or before it.
type Task = (ExprId, NfaStateId, NfaStateId, bool);

/// Lays expressions out as states, by a list of tasks instead of recursion.
struct Layout<'l, 'b> {
    component: &'l Component<'l>,
    /// What a call that is not followed matches, by the place of the rule in its component.
    known: &'l [Dfa],
    followed: Followed,
    nfa: Nfa<'b>,
    /// Where each rule starts where the last calls are followed, and where it ends where the first are.
    ends: Vec<NfaStateId>,
    /// The other end, which all rules have in common.
    common: NfaStateId,
    tasks: Vec<Task>,
    /// Tasks that were given already: doing one twice adds nothing, and shared parts would do it without end.
    placed: FxHashSet<Task>,
    budget: &'b Budget,
}

/// The languages of all rules of a component, where calls match what is `known`, but those that are `followed` match what
/// the rule that is called comes to.
pub(super) fn languages_of_rules(
    component: &Component<'_>,
    known: &[Dfa],
    followed: Followed,
    budget: &Budget,
) -> Result<Vec<Dfa>> {
    let mut layout = Layout::new(component, known, followed, budget)?;
    for (at, body) in component.bodies().enumerate() {
        let (own, common) = (layout.ends[at], layout.common);
        match followed {
            Followed::Last => layout.place((body, own, common, true)),
            Followed::First => layout.place((body, common, own, true)),
        }
    }
    layout.run()?;
    let (nfa, common) = (&layout.nfa, layout.common);
    let determinized = |&own: &NfaStateId| match followed {
        Followed::Last => nfa.determinize(own, common),
        Followed::First => nfa.determinize(common, own),
    };
    layout.ends.iter().map(determinized).collect()
}

impl<'l, 'b> Layout<'l, 'b> {
    fn new(
        component: &'l Component<'l>,
        known: &'l [Dfa],
        followed: Followed,
        budget: &'b Budget,
    ) -> Result<Self> {
        let mut nfa = Nfa::new(budget);
        let common = nfa.add_state()?;
        let ends = component.bodies().map(|_| nfa.add_state()).collect::<Result<Vec<_>>>()?;
        let (tasks, placed) = (Vec::new(), FxHashSet::default());
        Ok(Layout { component, known, followed, nfa, ends, common, tasks, placed, budget })
    }

    fn languages(&self) -> &'l Languages<'l> {
        self.component.languages
    }

    fn place(&mut self, task: Task) {
        if self.placed.insert(task) {
            self.tasks.push(task);
        }
    }

    fn run(&mut self) -> Result<()> {
        while let Some((id, from, to, is_edge)) = self.tasks.pop() {
            self.budget.tick()?;
            self.lay(id, from, to, is_edge)?;
        }
        Ok(())
    }

    fn lay(&mut self, id: ExprId, from: NfaStateId, to: NfaStateId, is_edge: bool) -> Result<()> {
        match self.languages().grammar.expr(id) {
            Expr::Empty => self.nfa.add_empty(from, to),
            Expr::Bytes(bytes) => self.nfa.add_literal(from, bytes, to)?,
            Expr::Class(set) => self.nfa.add_class(from, set, to)?,
            Expr::Automaton(automaton) => self.nfa.add_dfa(from, &automaton.dfa, to)?,
            Expr::Seq(items) => self.lay_seq(items, from, to, is_edge)?,
            Expr::Alt(items) => items.iter().for_each(|&item| self.place((item, from, to, is_edge))),
            &Expr::Repeat { body, min, max } => self.lay_repeat((body, min, max), from, to, is_edge)?,
            Expr::Rule(rule) => match self.component.place_of(*rule) {
                Some(at) => self.lay_call(at, from, to, is_edge)?,
                None => match &self.languages().of_rules[rule.index()] {
                    Some(language) => self.nfa.add_dfa(from, language, to)?,
                    None => self.place((self.languages().grammar.rule(*rule).body, from, to, false)),
                },
            },
            // Nothing else is plain, but what matches nothing.
            _ => {}
        }
        Ok(())
    }

    fn lay_call(&mut self, at: usize, from: NfaStateId, to: NfaStateId, is_edge: bool) -> Result<()> {
        let own = self.ends[at];
        let is_covered = match self.followed {
            Followed::Last if is_edge => {
                self.nfa.add_empty(from, own);
                to == self.common
            }
            Followed::First if is_edge => {
                self.nfa.add_empty(own, to);
                from == self.common
            }
            _ => false,
        };
        if is_covered { Ok(()) } else { self.nfa.add_dfa(from, &self.known[at], to) }
    }

    fn lay_seq(&mut self, items: &[ExprId], from: NfaStateId, to: NfaStateId, is_edge: bool) -> Result<()> {
        let nullable = |item: &ExprId| self.languages().nullable[item.index()];
        let edge_from = items.iter().rposition(|item| !nullable(item)).unwrap_or(0);
        let edge_to = items.iter().position(|item| !nullable(item)).unwrap_or(items.len());
        let mut at = from;
        for (place, &item) in items.iter().enumerate() {
            let next = if place + 1 == items.len() { to } else { self.nfa.add_state()? };
            let is_at_edge = match self.followed {
                Followed::Last => place >= edge_from,
                Followed::First => place <= edge_to,
            };
            self.place((item, at, next, is_edge && is_at_edge));
            at = next;
        }
        if items.is_empty() {
            self.nfa.add_empty(from, to);
        }
        Ok(())
    }

    fn lay_repeat(
        &mut self,
        (body, min, max): (ExprId, u32, Option<u32>),
        from: NfaStateId,
        to: NfaStateId,
        is_edge: bool,
    ) -> Result<()> {
        let nullable = self.languages().nullable[body.index()];
        // Whether nothing has to come behind the round, or before it, by its number from 1 on.
        let followed = self.followed;
        let at_edge = |round: u32| match followed {
            Followed::Last => is_edge && (nullable || round >= min),
            Followed::First => is_edge && (nullable || round == 1),
        };
        let mut at = from;
        for round in 1..=min {
            at = self.lay_round(body, at, at_edge(round))?;
        }
        match max {
            None => {
                let around = self.nfa.add_state()?;
                self.nfa.add_empty(at, around);
                self.place((body, around, around, at_edge(min + 1)));
                at = around;
            }
            Some(max) => {
                for round in min + 1..=max {
                    self.nfa.add_empty(at, to);
                    at = self.lay_round(body, at, at_edge(round))?;
                }
            }
        }
        self.nfa.add_empty(at, to);
        Ok(())
    }

    fn lay_round(&mut self, body: ExprId, from: NfaStateId, is_edge: bool) -> Result<NfaStateId> {
        self.budget.tick()?;
        let next = self.nfa.add_state()?;
        self.place((body, from, next, is_edge));
        Ok(next)
    }
}
