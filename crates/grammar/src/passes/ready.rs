//! Rules whose machine is known before a grammar is compiled.
//!
//! What a JSON Schema leaves open may be any value, so nearly every schema has the rule of all arrays and objects, and it is
//! the same in all of them. To lower it anew took as long as all that is particular to a usual schema. So its machine is made
//! once, and whoever builds a grammar with that rule may say so ([`crate::ir::Builder::set_ready`]). The rule has its body all
//! the same: it is printed, the oracle reads it, and a pass that rebuilds the grammar forgets that it is ready. Those passes
//! that do not rebuild step over the body, and the last one puts the nodes in their place.
//!
//! Invariants:
//!
//! 1. The machine matches what the body of the rule matches, and not the empty string.
//! 2. It calls no rule but its own, so its rules may come last in the order of calls in first position.
//! 3. Its nodes are the last of every machine that it goes into, but for the first of them.
//! 4. Its terminals have the same numbers in every machine that it goes into, because those begin with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::Result;
use crate::ir::{Builder, Grammar, RuleId, SharedExprs};
use crate::limits::{Budget, Limits};
use crate::machine::{Block, ListId, Machine, MachineRule, MachineRuleId, NodeId};

/// How many were made in the process.
static MADE: AtomicU32 = AtomicU32::new(0);

/// The machine of a rule, to be put into others.
#[derive(Debug)]
pub struct Ready {
    /// Tells it from all others of the process.
    number: u32,
    machine: Machine,
    /// The expressions of its terminals.
    terminals: SharedExprs,
}

impl Ready {
    /// The machine of the rule `rule` of `grammar`; none if it is of a kind that cannot be put into others.
    pub fn new(grammar: &Grammar, rule: RuleId, budget: &Budget) -> Result<Option<Arc<Self>>> {
        let mut machine = super::compile(&grammar.clone().with_root(rule), budget)?;
        let is_plain = !machine.accepts_empty
            && !machine.has_temperatures
            && !machine.counts_tokens
            && !machine.compares_items
            && machine.token_sets.is_empty()
            && machine.tagged.is_empty();
        let is_first = machine.root == MachineRuleId(0) && machine.rules[0].start == NodeId(0);
        let exprs = std::mem::take(&mut machine.exprs);
        let terminals = Builder::of_exprs(&exprs, budget.limits()).into_shared();
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        Ok((is_plain && is_first).then(|| Arc::new(Ready { number, machine, terminals })))
    }

    /// A builder that has the expressions of the terminals.
    pub(crate) fn terminals(&self, limits: &Limits) -> Builder {
        Builder::beginning_with(&self.terminals, limits)
    }

    /// Puts the nodes into `machine`, as the body of its rule `rule`, of which it has the start alone.
    pub(super) fn link(&self, machine: &mut Machine, rule: MachineRuleId, budget: &Budget) -> Result<()> {
        let start = machine.rule(rule).start;
        let own = &self.machine;
        budget.check_nodes(machine.nodes.len() + own.nodes.len())?;
        // The first node and the first rule have a place already.
        let (nodes, rules, lists) = (machine.nodes.len(), machine.rules.len(), machine.lists.len());
        let node_id = |id: NodeId| if id.0 == 0 { start } else { NodeId(nodes as u32 + id.0 - 1) };
        let rule_id =
            |id: MachineRuleId| if id.0 == 0 { rule } else { MachineRuleId(rules as u32 + id.0 - 1) };
        let list_id = |id: ListId| ListId(lists as u32 + id.0);
        machine.block = Some(Block { number: self.number, start, others: NodeId(nodes as u32) });
        machine.nodes.reserve_exact(own.nodes.len());
        for (at, node) in own.nodes.iter().enumerate() {
            let mut node = node.clone();
            node.renumber(node_id, rule_id, list_id);
            match at {
                0 => machine.nodes[start.0 as usize] = node,
                _ => machine.nodes.push(node),
            }
        }
        for list in &own.lists {
            let mut list = list.clone();
            list.retarget(rule_id);
            machine.lists.push(list);
        }
        let above = machine.rules.iter().map(|rule| rule.rank + 1).max().unwrap_or(0);
        machine.rules[rule.0 as usize].rank = above + own.rules[0].rank;
        machine.rules.extend(own.rules[1..].iter().map(|rule| MachineRule {
            name: rule.name.clone(),
            start: node_id(rule.start),
            rank: above + rule.rank,
        }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontends::json_schema::{Options, parse};

    fn compiled(schema: &str, options: &Options) -> (Grammar, Machine) {
        let budget = Budget::default();
        let grammar = parse(schema, options, &budget).unwrap().grammar;
        let machine = super::super::compile(&grammar, &budget).unwrap();
        (grammar, machine)
    }

    fn lenient() -> Options {
        Options { strict_mode: false, ..Options::default() }
    }

    /// Fails unless everything that the machine names is there, and calls in first position go up in rank.
    fn check(machine: &Machine) {
        for rule in &machine.rules {
            let mut seen = vec![false; machine.nodes.len()];
            let mut open = vec![rule.start];
            while let Some(id) = open.pop() {
                if std::mem::replace(&mut seen[id.0 as usize], true) {
                    continue;
                }
                let node = machine.node(id);
                assert!(!node.is_end() || node.accepting, "a dead end");
                for called in node.left_calls(&machine.lists) {
                    assert!(machine.rule(called).rank > rule.rank, "{} calls {}", rule.name, called.0);
                }
                open.extend(node.jumps.iter().copied().chain(node.skip(&machine.lists)));
            }
        }
        for node in &machine.nodes {
            assert!(node.successors().all(|next| (next.0 as usize) < machine.nodes.len()));
            let rules = machine.rules.len();
            assert!(node.calls(&machine.lists, &machine.tagged).all(|rule| (rule.0 as usize) < rules));
        }
    }

    #[test]
    fn what_is_left_open_is_ready() {
        for schema in [
            r#"{"properties": {"a": {"type": "string", "maxLength": 3}}}"#,
            r#"{"type": "array", "prefixItems": [{"not": {"const": 1}}]}"#,
            r#"{"anyOf": [{"type": "object"}, {"type": ["array", "object"]}]}"#,
            r##"{"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "items": {"$ref": "#/$defs/a"}}"##,
        ] {
            let (grammar, machine) = compiled(schema, &lenient());
            assert!(grammar.ready().is_some(), "{schema}");
            check(&machine);
        }
    }

    #[test]
    fn with_other_white_space_or_in_strict_mode_nothing_is() {
        for options in [Options { max_whitespace: Some(2), ..lenient() }, Options::default()] {
            assert!(compiled("{\"minProperties\": 1}", &options).0.ready().is_none());
        }
    }

    #[test]
    fn its_nodes_count() {
        let limits = Limits { max_nodes: 12, ..Limits::default() };
        let budget = Budget::new(limits, crate::limits::CancelFlag::default());
        let grammar = parse("{\"minProperties\": 1}", &lenient(), &budget).unwrap().grammar;
        let error = super::super::compile(&grammar, &budget).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Limit);
    }
}
