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
    let mut search = Search::new(nodes.len());
    for rule in rules {
        if search.find_stars(nodes, rule.start, budget)? {
            search.stars.iter().for_each(|star| nodes[star.0 as usize].star = true);
        }
    }
    Ok(())
}

/// Looks for the stars of one rule after the other.
struct Search {
    /// The nodes of the rule.
    seen: Marks,
    /// Those of them that are still to be looked at.
    open: Vec<NodeId>,
    /// What was reached by jumps last.
    jumped: Marks,
    reached: Vec<NodeId>,
    jumps_left: usize,
    /// The nodes that may be stars, by all that was seen.
    stars: Vec<NodeId>,
}

impl Search {
    fn new(nodes: usize) -> Self {
        Search {
            seen: Marks::new(nodes),
            open: Vec::new(),
            jumped: Marks::new(nodes),
            reached: Vec::new(),
            jumps_left: 0,
            stars: Vec::new(),
        }
    }

    /// Finds the stars of the rule that starts at `start`. Whether there are any.
    fn find_stars(&mut self, nodes: &[Node], start: NodeId, budget: &Budget) -> Result<bool> {
        self.seen.clear(0);
        self.seen.insert(start.0 as usize);
        self.open.clear();
        self.open.push(start);
        self.jumps_left = MAX_NODES;
        let (mut count, mut has_ended) = (1, false);
        while let Some(id) = self.open.pop() {
            budget.tick()?;
            self.jumps_left += JUMPS_A_NODE;
            let node = &nodes[id.0 as usize];
            if (node.counter.is_some() || node.list.is_some()) && node.accepting || count > MAX_NODES {
                return Ok(false);
            }
            for next in node.successors().filter(|next| self.seen.insert(next.0 as usize)) {
                self.open.push(next);
                count += 1;
            }
            for target in node.edges.iter().map(|edge| edge.target) {
                if !nodes[target.0 as usize].accepting {
                    continue;
                }
                if !self.close_under_jumps(nodes, target) {
                    return Ok(false);
                }
                self.narrow_stars(nodes, has_ended);
                if self.stars.is_empty() {
                    return Ok(false);
                }
                has_ended = true;
            }
        }
        Ok(has_ended)
    }

    /// Leaves those stars that the rule, which may end where jumps were followed from, could go on from.
    fn narrow_stars(&mut self, nodes: &[Node], has_ended: bool) {
        if has_ended {
            self.stars.retain(|id| self.jumped.contains(id.0 as usize));
        } else {
            self.stars.clear();
            let accepting = self.reached.iter().filter(|id| nodes[id.0 as usize].accepting);
            self.stars.extend(accepting);
        }
    }

    /// Finds what is reached by jumps. Whether it took no more than are left.
    fn close_under_jumps(&mut self, nodes: &[Node], start: NodeId) -> bool {
        self.jumped.clear(0);
        self.jumped.insert(start.0 as usize);
        self.reached.clear();
        self.reached.push(start);
        let mut at = 0;
        while let Some(&id) = self.reached.get(at) {
            let jumps = &nodes[id.0 as usize].jumps;
            let Some(left) = self.jumps_left.checked_sub(jumps.len()) else { return false };
            self.jumps_left = left;
            let fresh = jumps.iter().filter(|next| self.jumped.insert(next.0 as usize));
            self.reached.extend(fresh);
            at += 1;
        }
        true
    }
}
