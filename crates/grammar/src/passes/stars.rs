//! Which nodes are stars.
//!
//! In `e ::= e "+" e | number` the node after `e` is where `("+" e)*` starts. Each `+` calls `e` with that node to come
//! back to, so after ten of them ten frames lie on each other, and all the shorter stacks are possible too. But two
//! stars in a row are one star, so the engine need not push a second. That keeps ambiguous grammars flat.
//!
//! A node is a star if the rule may end there, and if wherever the rule may end after something was read, it could
//! also go on from that node.

use hashbrown::HashSet;

use crate::error::Result;
use crate::limits::Budget;
use crate::machine::{MachineRule, Node, NodeId};

/// Rules with more nodes than this are left as they are.
const MAX_NODES: usize = 4_096;

/// So are rules for which, in the mean, more jumps than this would be followed for each node.
const JUMPS_A_NODE: usize = 32;

/// Marks the nodes that are stars.
pub(super) fn mark(nodes: &mut [Node], rules: &[MachineRule], budget: &Budget) -> Result<()> {
    for rule in rules {
        for star in stars_of(nodes, rule.start, budget)? {
            nodes[star.0 as usize].star = true;
        }
    }
    Ok(())
}

fn stars_of(nodes: &[Node], start: NodeId, budget: &Budget) -> Result<HashSet<NodeId>> {
    let mut found: Option<HashSet<NodeId>> = None;
    let mut seen: HashSet<NodeId> = HashSet::from_iter([start]);
    let mut stack = vec![start];
    let mut jumps_left = MAX_NODES;
    while let Some(id) = stack.pop() {
        budget.tick()?;
        jumps_left += JUMPS_A_NODE;
        let node = &nodes[id.0 as usize];
        if (node.counter.is_some() || node.list.is_some()) && node.accepting || seen.len() > MAX_NODES {
            return Ok(HashSet::new());
        }
        stack.extend(node.successors().filter(|&next| seen.insert(next)));
        for target in node.edges.iter().map(|edge| edge.target) {
            if !nodes[target.0 as usize].accepting {
                continue;
            }
            let Some(jumps) = jump_closure(nodes, target, &mut jumps_left) else { return Ok(HashSet::new()) };
            let left = match found {
                None => jumps.into_iter().filter(|id| nodes[id.0 as usize].accepting).collect(),
                Some(known) => known.intersection(&jumps).copied().collect::<HashSet<_>>(),
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
fn jump_closure(nodes: &[Node], start: NodeId, jumps_left: &mut usize) -> Option<HashSet<NodeId>> {
    let mut seen: HashSet<NodeId> = HashSet::from_iter([start]);
    let mut stack = vec![start];
    while let Some(id) = stack.pop() {
        let jumps = &nodes[id.0 as usize].jumps;
        *jumps_left = jumps_left.checked_sub(jumps.len())?;
        stack.extend(jumps.iter().copied().filter(|&next| seen.insert(next)));
    }
    Some(seen)
}
