//! Lists beside which an automaton runs: what may come is said node by node.
//!
//! Such a list comes from a conjunction with a regular language. Its nodes were found, and those that cannot come to an end
//! left out, when the conjunction was lowered; so nothing is decided here.

use std::collections::VecDeque;

use super::conditions::{Member, Slot};
use crate::ir::members::TrackNode;

/// The nodes of a list.
#[derive(Clone, Debug, Hash)]
pub(super) struct Track {
    nodes: Box<[Node]>,
}

#[derive(Clone, Debug, Hash)]
struct Node {
    ends: bool,
    /// The nodes after what separates two members.
    separated: Box<[u32]>,
    /// The members that may come, sorted, and the nodes after them.
    members: Box<[(Member, u32)]>,
    /// How many members are missing, at least, until the list may end.
    distance: u32,
}

impl Track {
    pub(super) fn new(nodes: &[TrackNode]) -> Self {
        let mut nodes: Box<[Node]> = nodes.iter().map(node).collect();
        let mut before: Vec<Vec<(u32, u32)>> = vec![Vec::new(); nodes.len()];
        for (at, node) in (0..).zip(&nodes) {
            node.separated.iter().for_each(|&to| before[to as usize].push((at, 0)));
            node.members.iter().for_each(|&(_, to)| before[to as usize].push((at, 1)));
        }
        let mut open: VecDeque<(u32, u32)> =
            (0..).zip(&nodes).filter(|(_, node)| node.ends).map(|(at, _)| (at, 0)).collect();
        while let Some((at, distance)) = open.pop_front() {
            let known = &mut nodes[at as usize].distance;
            if *known <= distance {
                continue;
            }
            *known = distance;
            for &(from, members) in &before[at as usize] {
                // The nearest are first in the queue.
                if members == 0 {
                    open.push_front((from, distance));
                } else {
                    open.push_back((from, distance + 1));
                }
            }
        }
        Track { nodes }
    }

    pub(super) fn may_end(&self, node: u32) -> bool {
        self.nodes[node as usize].ends
    }

    pub(super) fn members(&self, node: u32) -> impl Iterator<Item = Member> {
        self.nodes[node as usize].members.iter().map(|&(member, _)| member)
    }

    /// The node after a member, which must be one that may come.
    pub(super) fn after(&self, node: u32, member: Member) -> u32 {
        let members = &self.nodes[node as usize].members;
        let found = members.binary_search_by_key(&member, |&(member, _)| member);
        found.map_or(node, |at| members[at].1)
    }

    pub(super) fn separated(&self, node: u32) -> &[u32] {
        &self.nodes[node as usize].separated
    }

    pub(super) fn distance(&self, node: u32) -> u32 {
        self.nodes[node as usize].distance
    }

    /// The greatest of the distances.
    pub(super) fn most_distance(&self) -> u32 {
        self.nodes.iter().map(|node| node.distance).max().unwrap_or(0)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let held = |node: &Node| size_of_val(&*node.separated) + size_of_val(&*node.members);
        self.nodes.iter().map(|node| size_of::<Node>() + held(node)).sum()
    }
}

fn node(node: &TrackNode) -> Node {
    let slot = |is_other: bool, at: u32| if is_other { Slot::Others(at) } else { Slot::Entry(at) };
    let mut members: Vec<(Member, u32)> = node
        .members
        .iter()
        .map(|member| (Member { slot: slot(member.is_other, member.at), variant: member.variant }, member.to))
        .collect();
    members.sort_unstable();
    Node {
        ends: node.ends,
        separated: node.separators.iter().map(|&(_, to)| to).collect(),
        members: members.into(),
        distance: u32::MAX,
    }
}
