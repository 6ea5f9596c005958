//! Entries that ask for others.

use crate::passes::graph::{Graph, strong_components};

/// Which entries each entry asks for, and which ask for it.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Implications {
    /// By entry; empty where there are no implications at all.
    asks: Vec<Vec<u32>>,
    asked_by: Vec<Vec<u32>>,
    pairs: usize,
}

impl Implications {
    pub(super) fn new(entries: usize, pairs: &[(u32, u32)]) -> Self {
        let mut all = Implications::default();
        let telling = || pairs.iter().filter(|(first, second)| first != second);
        if telling().next().is_some() {
            all.asks = vec![Vec::new(); entries];
            all.asked_by = vec![Vec::new(); entries];
        }
        for &(first, second) in telling() {
            all.asks[first as usize].push(second);
            all.asked_by[second as usize].push(first);
            all.pairs += 1;
        }
        all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pairs == 0
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.pairs
    }

    /// Whether an entry asks for another or is asked for.
    pub(super) fn concern(&self, entry: u32) -> bool {
        let asks = |graph: &[Vec<u32>]| graph.get(entry as usize).is_some_and(|others| !others.is_empty());
        asks(&self.asks) || asks(&self.asked_by)
    }

    /// All pairs.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..).zip(&self.asks).flat_map(|(first, asks)| asks.iter().map(move |&second| (first, second)))
    }

    /// All entries that others ask for.
    pub(super) fn asked(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.asked_by).filter(|(_, by)| !by.is_empty()).map(|(entry, _)| entry)
    }

    /// Marks all that the marked entries ask for, and what those ask for.
    pub(super) fn spread(&self, marked: &mut [bool]) {
        spread(&self.asks, marked);
    }

    /// Marks all that ask for marked entries, and those that ask for them.
    pub(super) fn spread_back(&self, marked: &mut [bool]) {
        spread(&self.asked_by, marked);
    }

    /// Whether `holds` for all that `entry` asks for, directly or not.
    pub(super) fn all_asked(&self, entry: u32, mut holds: impl FnMut(u32) -> bool) -> bool {
        if self.is_empty() || self.asks[entry as usize].is_empty() {
            return true;
        }
        let mut seen: hashbrown::HashSet<u32> = hashbrown::HashSet::from([entry]);
        let mut stack = vec![entry];
        while let Some(at) = stack.pop() {
            for &next in &self.asks[at as usize] {
                if seen.insert(next) {
                    if !holds(next) {
                        return false;
                    }
                    stack.push(next);
                }
            }
        }
        true
    }

    /// Whether two entries that can be there ask for each other, directly or not.
    pub(super) fn have_circles(&self, is_there: impl Fn(u32) -> bool) -> bool {
        let asked_by = |entry: u32, asked: &[u32]| -> Vec<u32> {
            if is_there(entry) {
                asked.iter().copied().filter(|&other| is_there(other)).collect()
            } else {
                Vec::new()
            }
        };
        let graph: Graph = (0..).zip(&self.asks).map(|(entry, asked)| asked_by(entry, asked)).collect();
        strong_components(&graph).iter().any(|part| part.len() > 1)
    }
}

fn spread(graph: &[Vec<u32>], marked: &mut [bool]) {
    if graph.is_empty() {
        return;
    }
    let mut stack: Vec<u32> = (0..).zip(&*marked).filter(|&(_, &is)| is).map(|(at, _)| at).collect();
    while let Some(at) = stack.pop() {
        for &next in &graph[at as usize] {
            if !std::mem::replace(&mut marked[next as usize], true) {
                stack.push(next);
            }
        }
    }
}
