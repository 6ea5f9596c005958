//! Which nodes are stars.
//!
//! In `e ::= e "+" e | number` the node after `e` is where `("+" e)*` starts. Each `+` calls `e` with that node to come
//! back to, so after ten of them ten frames lie on each other, and all the shorter stacks are possible too. But two
//! stars in a row are one star, so the engine need not push a second. That keeps ambiguous grammars flat.
//!
//! A node is a star if the rule may end there, and if wherever the rule may end after something was read, it could
//! also go on from that node.

use super::marks::Marks;
use crate::error::Result;
use crate::limits::Budget;
use crate::machine::{MachineRule, Node, NodeId};

/// Rules with more nodes than this are left as they are.
const MAX_NODES: usize = 4_096;

/// So are rules for which, in the mean, more jumps than this would be followed for each node.
const JUMPS_A_NODE: usize = 32;

/// Marks the nodes that are stars.
pub(super) fn mark(nodes: &mut [Node], rules: &[MachineRule], budget: &Budget) -> Result<()> {
    let mut search = Search { seen: Marks::new(nodes.len()), jumped: Marks::new(nodes.len()), jumps_left: 0 };
    for rule in rules {
        for star in search.stars_of(nodes, rule.start, budget)? {
            nodes[star.0 as usize].star = true;
        }
    }
    Ok(())
}

/// Looks for the stars of one rule after the other.
struct Search {
    /// The nodes of the rule.
    seen: Marks,
    /// What was reached by jumps last.
    jumped: Marks,
    jumps_left: usize,
}

impl Search {
    fn stars_of(&mut self, nodes: &[Node], start: NodeId, budget: &Budget) -> Result<Vec<NodeId>> {
        let mut found: Option<Vec<NodeId>> = None;
        self.seen.clear(0);
        self.seen.insert(start.0 as usize);
        let (mut stack, mut count) = (vec![start], 1);
        self.jumps_left = MAX_NODES;
        while let Some(id) = stack.pop() {
            budget.tick()?;
            self.jumps_left += JUMPS_A_NODE;
            let node = &nodes[id.0 as usize];
            if (node.counter.is_some() || node.list.is_some()) && node.accepting || count > MAX_NODES {
                return Ok(Vec::new());
            }
            for next in node.successors().filter(|next| self.seen.insert(next.0 as usize)) {
                stack.push(next);
                count += 1;
            }
            for target in node.edges.iter().map(|edge| edge.target) {
                if !nodes[target.0 as usize].accepting {
                    continue;
                }
                let Some(jumps) = self.jump_closure(nodes, target) else { return Ok(Vec::new()) };
                let left: Vec<NodeId> = match found {
                    None => jumps.into_iter().filter(|id| nodes[id.0 as usize].accepting).collect(),
                    Some(known) => {
                        known.into_iter().filter(|id| self.jumped.contains(id.0 as usize)).collect()
                    }
                };
                if left.is_empty() {
                    return Ok(left);
                }
                found = Some(left);
            }
        }
        Ok(found.unwrap_or_default())
    }

    /// What is reached by jumps, or `None` if that takes more than are left.
    fn jump_closure(&mut self, nodes: &[Node], start: NodeId) -> Option<Vec<NodeId>> {
        self.jumped.clear(0);
        self.jumped.insert(start.0 as usize);
        let mut reached = vec![start];
        let mut at = 0;
        while let Some(&id) = reached.get(at) {
            let jumps = &nodes[id.0 as usize].jumps;
            self.jumps_left = self.jumps_left.checked_sub(jumps.len())?;
            reached.extend(jumps.iter().copied().filter(|next| self.jumped.insert(next.0 as usize)));
            at += 1;
        }
        Some(reached)
    }
}
