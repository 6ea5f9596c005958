//! A machine as text, for people who want to see what became of their grammar.
//!
//! Each rule is listed with its nodes and their ways on, and then the terminals, as EBNF. Numbers of nodes are those of
//! the machine.

use std::fmt;

use crate::ir::{Builder, Expr, ExprId, RuleOptions, copy_expr};
use crate::limits::Limits;
use crate::machine::{Label, Machine, MachineRuleId, Node, NodeId};

impl fmt::Display for Machine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, rule) in self.rules.iter().enumerate() {
            let root = if self.root.0 as usize == at { ", the root" } else { "" };
            writeln!(out, "rule {at} {:?} from node {}{root}", rule.name, rule.start.0)?;
            for node in self.nodes_of(rule.start) {
                writeln!(out, "  {}: {}", node.0, self.ways_on(self.node(node)).join(", "))?;
            }
        }
        out.write_str(&self.terminals())
    }
}

impl Machine {
    /// The nodes that a rule reaches by itself, from `start` on, in order.
    fn nodes_of(&self, start: NodeId) -> Vec<NodeId> {
        let mut seen: hashbrown::HashSet<NodeId> = [start].into_iter().collect();
        let mut found = vec![start];
        let mut at = 0;
        while let Some(&node) = found.get(at) {
            found.extend(self.node(node).successors().filter(|&next| seen.insert(next)));
            at += 1;
        }
        found.sort_unstable();
        found
    }

    fn ways_on(&self, node: &Node) -> Vec<String> {
        let name = |rule: MachineRuleId| format!("rule {} {:?}", rule.0, self.rule(rule).name);
        let mut ways: Vec<String> = Vec::new();
        for edge in &node.edges {
            let label = match edge.label {
                Label::Terminal(expr) => format!("terminal_{}", expr.index()),
                Label::Call(rule) => name(rule),
                Label::Token(set) => format!("tokens {:?}", self.token_sets[set as usize]),
                Label::Tagged(at) => {
                    let tagged = &self.tagged[at as usize];
                    let tags = tagged.text.tags().iter().zip(&tagged.rules);
                    let tags = tags.filter_map(|(tag, rule)| Some(format!("{tag:?}: {}", name((*rule)?))));
                    format!("text with tags {{{}}}", tags.collect::<Vec<_>>().join(", "))
                }
            };
            ways.push(format!("{label} -> {}", edge.target.0));
        }
        ways.extend(node.jumps.iter().map(|jump| format!("-> {}", jump.0)));
        if let Some(counter) = node.counter {
            let most = if counter.max == u32::MAX { String::new() } else { counter.max.to_string() };
            ways.push(format!("{}{{{},{most}}} -> {}", name(counter.rule), counter.min, counter.next.0));
        }
        if let Some(list) = node.list {
            ways.push(format!("list {} -> {}", list.list.0, list.next.0));
        }
        if node.accepting {
            ways.push("may end".to_owned());
        }
        ways
    }

    /// The terminals of all edges, a rule of EBNF each.
    fn terminals(&self) -> String {
        let mut builder = Builder::new(&Limits::default());
        let mut copies: Vec<ExprId> = Vec::with_capacity(self.exprs.len());
        for expr in self.exprs.iter() {
            let copy = match expr {
                Expr::Rule(_) | Expr::TagDispatch(_) | Expr::Tagged { .. } | Expr::TokenTagDispatch(_) => {
                    builder.never()
                }
                other => copy_expr(&mut builder, other, &copies, &[]),
            };
            copies.push(copy);
        }
        let root = builder.declare("root");
        let mut used: Vec<usize> =
            self.nodes.iter().flat_map(|node| &node.edges).filter_map(terminal).collect();
        used.sort_unstable();
        used.dedup();
        let mut named = Vec::with_capacity(used.len());
        for at in used {
            let rule = builder.declare(format!("terminal_{at}"));
            builder.define(rule, copies[at], RuleOptions::default());
            named.push(builder.rule(rule));
        }
        let all = builder.alt(named);
        builder.define(root, all, RuleOptions::default());
        let text = builder.finish(root).map(|grammar| grammar.to_string()).unwrap_or_default();
        text.split_once('\n').map_or(String::new(), |(_, rest)| rest.to_owned())
    }
}

fn terminal(edge: &crate::machine::Edge) -> Option<usize> {
    match edge.label {
        Label::Terminal(expr) => Some(expr.index()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::frontends::ebnf;
    use crate::limits::{Budget, Limits};
    use crate::passes;

    #[test]
    fn has_rules_nodes_and_terminals() {
        let text = "root ::= \"a\" list\nlist ::= \"(\" list{2,3} \")\" | [0-9]";
        let budget = Budget::default();
        let grammar = ebnf::parse(text, "root", &Limits::default(), &budget).unwrap();
        let shown = passes::compile(&grammar, &budget).unwrap().to_string();
        for part in ["\"root\" from node", "the root", "\"list\"{2,3} ->", "may end", "::= \"a\"", "[0-9]"] {
            assert!(shown.contains(part), "{part} is not in\n{shown}");
        }
    }
}
