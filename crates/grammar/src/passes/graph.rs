//! Graphs, and the circles in them.
//!
//! Rules that call rules, entries that ask for others: several passes want to know what leads back to itself, and to do
//! callees before their callers. Graphs are rows of numbers, so that a grammar with a thousand rules takes two
//! allocations and not a thousand.

/// What leads to what, among numbers from 0 on: the targets of all of them in one row.
#[derive(Default)]
pub struct Graph {
    targets: Vec<u32>,
    /// Where the targets of each number end.
    ends: Vec<u32>,
}

impl Graph {
    /// Adds the next number, with what it leads to.
    pub fn push(&mut self, targets: impl IntoIterator<Item = u32>) {
        self.targets.extend(targets);
        self.ends.push(self.targets.len() as u32);
    }

    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// What a number leads to.
    pub fn of(&self, at: u32) -> &[u32] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.targets[start as usize..self.ends[at as usize] as usize]
    }
}

impl<T: IntoIterator<Item = u32>> FromIterator<T> for Graph {
    fn from_iter<I: IntoIterator<Item = T>>(rows: I) -> Self {
        let mut graph = Graph::default();
        rows.into_iter().for_each(|targets| graph.push(targets));
        graph
    }
}

/// The circles of a graph: its strongly connected parts, each after the parts that it leads to.
///
/// Tarjan's algorithm with a stack of its own.
pub fn strong_components(graph: &Graph) -> Components {
    const UNSEEN: u32 = u32::MAX;
    let mut index = vec![UNSEEN; graph.count()];
    let mut low = vec![0u32; graph.count()];
    let mut on_path = vec![false; graph.count()];
    let mut path: Vec<u32> = Vec::new();
    let mut calls: Vec<(u32, usize)> = Vec::new();
    let mut components = Components(Graph::default());
    let mut next = 0;
    for root in 0..graph.count() as u32 {
        if index[root as usize] != UNSEEN {
            continue;
        }
        calls.push((root, 0));
        while let Some(&mut (vertex, ref mut edge)) = calls.last_mut() {
            let at = vertex as usize;
            if *edge == 0 && index[at] == UNSEEN {
                index[at] = next;
                low[at] = next;
                next += 1;
                path.push(vertex);
                on_path[at] = true;
            }
            if let Some(&target) = graph.of(vertex).get(*edge) {
                *edge += 1;
                if index[target as usize] == UNSEEN {
                    calls.push((target, 0));
                } else if on_path[target as usize] {
                    low[at] = low[at].min(index[target as usize]);
                }
                continue;
            }
            calls.pop();
            if let Some(&(caller, _)) = calls.last() {
                low[caller as usize] = low[caller as usize].min(low[at]);
            }
            if low[at] == index[at] {
                let start = path.iter().rposition(|&other| other == vertex).unwrap_or(0);
                path[start..].iter().for_each(|&member| on_path[member as usize] = false);
                components.0.push(path.drain(start..));
            }
        }
    }
    components
}

/// The strongly connected parts of a graph.
pub struct Components(Graph);

impl Components {
    /// Each of them, after those that it leads to.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        (0..self.0.count() as u32).map(|at| self.0.of(at))
    }

    /// For each number the place of its part, counted from the last: what leads to it comes before it.
    pub fn ranks(&self) -> Vec<u32> {
        let mut ranks = vec![0; self.0.targets.len()];
        for (rank, part) in (0..self.0.count() as u32).rev().zip(self.iter()) {
            part.iter().for_each(|&member| ranks[member as usize] = rank);
        }
        ranks
    }

    /// Those that are circles in `graph`, whose parts they are.
    pub fn circles(&self, graph: &Graph) -> impl Iterator<Item = &[u32]> {
        self.iter().filter(|part| is_circle(graph, part))
    }
}

/// Whether the members of a part of `graph` lead back to themselves.
pub fn is_circle(graph: &Graph, part: &[u32]) -> bool {
    part.len() > 1 || graph.of(part[0]).contains(&part[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_circles_after_what_they_lead_to() {
        let mut graph = Graph::default();
        for targets in [&[1_u32][..], &[2], &[1, 3], &[], &[0]] {
            graph.push(targets.iter().copied());
        }
        let components = strong_components(&graph);
        let sorted = |part: &[u32]| {
            let mut part = part.to_vec();
            part.sort_unstable();
            part
        };
        let parts: Vec<_> = components.iter().map(sorted).collect();
        assert_eq!(parts, [vec![3], vec![1, 2], vec![0], vec![4]]);
        assert_eq!(components.ranks(), [1, 2, 2, 3, 0]);
        assert_eq!(components.circles(&graph).map(sorted).collect::<Vec<_>>(), [vec![1, 2]]);
    }
}
