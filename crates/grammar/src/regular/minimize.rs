//! Minimisation, one knot after the other.
//!
//! States are looked at after those that they lead to. Then the classes of all targets are known, and two states are
//! equivalent if they look the same, which a table tells at once: that is Revuz's way with automata without circles, linear
//! in the edges. States that lead to each other, a *knot*, know nothing of each other's classes. They are told apart among
//! themselves by partition refinement, with what leads out of the knot as their colours, and are then compared with knots
//! that are done. States that reach no end are dead, and edges to them go.
//!
//! Why the comparison finds what there is to find. Let a state of a knot be equivalent to a state that is done, and `C` be
//! the knot that its class is in, in the smallest automaton. Then all states of the knot have classes in `C`, since they
//! reach each other. `C` was made from a knot that has all of `C`: one with less would lead to states of `C` that are done,
//! and would not have been made. If no way out of the knot at hand leads into `C`, it has all of `C` too, and both have the
//! same ways out: so it is found by a hash of these. If one does, it names `C`, and the state is found among those of `C`.
//! Either way it takes one guess for one state; all others follow from it ([`Classes::find_knot`]).
//!
//! Refining everything at once would come to the same, and takes several times as long: most knots are one state with a loop.
//! But it is never slow, where comparing knots is if there are many that look alike and are not. So that is done where the
//! comparisons come to too much ([`refined`]).

use super::builder::{Edge, Rows, byte_classes, useful_states};
use super::dfa::{Dfa, State, StateId};
use super::knots::{ACCEPTING, Class, Classes, INNER, Knot, OPEN};
use super::partition::{Transition, equivalence_classes};
use super::row_table::{RowTable, Way, add_way};
use crate::error::Result;
use crate::limits::Budget;

/// The state reaches no end.
const DEAD: Class = Class::MAX - 1;

/// The minimal automaton of the language that `rows` have from their first state.
pub(super) fn minimal(rows: &Rows, budget: &Budget) -> Result<Dfa> {
    const COMPARISONS_A_STATE: usize = 256;
    minimal_within(rows, COMPARISONS_A_STATE * rows.accepting.len() + 10_000, budget)
}

/// The same, with so many comparisons at most before everything is refined at once.
fn minimal_within(rows: &Rows, comparisons: usize, budget: &Budget) -> Result<Dfa> {
    if rows.accepting.is_empty() {
        return Ok(Dfa::empty());
    }
    let count = rows.accepting.len();
    let classes = Classes::new(count, comparisons);
    let mut work = Work {
        rows,
        class_of: vec![OPEN; count],
        place: vec![0; count],
        classes,
        row: Vec::new(),
        table: RowTable::default(),
        budget,
    };
    if work.visit_all()? { Ok(work.finish()) } else { refined(rows, budget) }
}

/// The minimal automaton by partition refinement alone.
fn refined(rows: &Rows, budget: &Budget) -> Result<Dfa> {
    const USELESS: u32 = 2;
    let is_useful = useful_states(&rows.accepting, |state| rows.of(state).iter().map(|edge| edge.to));
    if !is_useful[0] {
        return Ok(Dfa::empty());
    }
    let colour =
        |(&accepting, &is_useful): (&bool, &bool)| if is_useful { accepting.into() } else { USELESS };
    let colours: Vec<u32> = rows.accepting.iter().zip(&is_useful).map(colour).collect();
    let is_kept = |edge: &&Edge| is_useful[edge.from as usize] && is_useful[edge.to as usize];
    let transitions = transitions(|| rows.edges.iter().filter(is_kept), |state| state);
    let classes = equivalence_classes(&colours, &transitions, budget)?;
    let mut member: Vec<u32> = vec![0; rows.accepting.len()];
    (0..).zip(&classes).for_each(|(state, &class)| member[class as usize] = state);
    let row = |class: Class| {
        let state = member[class as usize] as usize;
        let edges = rows.of(state).iter().filter(is_kept);
        (rows.accepting[state], edges.map(|edge| (edge.low, edge.high, classes[edge.to as usize])))
    };
    Ok(numbered(rows.accepting.len(), classes[0], row))
}

/// Edges over the coarsest classes of bytes that none of them tells apart, between states by their names.
fn transitions<'e, E: Iterator<Item = &'e Edge>>(
    edges: impl Fn() -> E,
    name: impl Fn(StateId) -> u32,
) -> Vec<Transition> {
    let label_of = byte_classes(edges().map(|edge| (edge.low, edge.high)));
    let mut transitions = Vec::with_capacity(edges().count());
    for edge in edges() {
        let (from, to) = (name(edge.from), name(edge.to));
        let labels = label_of[edge.low as usize]..=label_of[edge.high as usize];
        transitions.extend(labels.map(|label| Transition { from, label: u32::from(label), to }));
    }
    transitions
}

/// The states from `start` on, numbered breadth first, as an automaton. Each has its ways in order.
pub(super) fn numbered<W: IntoIterator<Item = Way>>(
    count: usize,
    start: u32,
    row: impl Fn(u32) -> (bool, W),
) -> Dfa {
    let mut number: Vec<StateId> = vec![StateId::MAX; count];
    let mut found = vec![start];
    number[start as usize] = 0;
    let mut states: Vec<State> = Vec::new();
    let mut edges: Vec<Way> = Vec::new();
    while let Some(&at) = found.get(states.len()) {
        let (accepting, ways) = row(at);
        edges.clear();
        for (low, high, to) in ways {
            let slot = &mut number[to as usize];
            if *slot == StateId::MAX {
                *slot = found.len() as StateId;
                found.push(to);
            }
            add_way(&mut edges, (low, high, *slot));
        }
        states.push(State { accepting, edges: edges.as_slice().into() });
    }
    Dfa::from_states(states)
}

struct Work<'r> {
    rows: &'r Rows,
    class_of: Vec<Class>,
    /// For each state when it was come to, from 1 on; while its knot is at hand, its place there, from 1 on.
    place: Vec<u32>,
    classes: Classes,
    /// Scratch space.
    row: Vec<Way>,
    /// The same, for small knots: to clear a large table takes long.
    table: RowTable,
    budget: &'r Budget,
}

impl Work<'_> {
    /// How often the states of a knot are told apart by those that they lead to, all of them at a time, before it is done by
    /// parts. Mostly nothing changes any more after a few times, and that is quicker.
    const ROUNDS: usize = 12;

    /// Knots with so many states are small.
    const FEW: usize = 64;

    /// The automaton of the classes, when all of them are found.
    fn finish(self) -> Dfa {
        let Work { class_of, classes, .. } = self;
        if class_of[0] == DEAD {
            return Dfa::empty();
        }
        let rows = classes.into_rows();
        let row = |class: Class| (rows.colour(class) == ACCEPTING, rows.ways(class).iter().copied());
        numbered(rows.len(), class_of[0], row)
    }

    /// Tarjan's walk: settles the knots, and the states that are in none, each after all that it leads to. Says whether that
    /// came to its end.
    fn visit_all(&mut self) -> Result<bool> {
        let rows = self.rows;
        let mut lowest: Vec<u32> = vec![1; self.class_of.len()];
        let mut come_to = 1;
        // The states whose knot is not complete, and the way to the state at hand with the next edge of each.
        let mut waiting: Vec<u32> = vec![0];
        let mut path: Vec<(u32, u32)> = vec![(0, rows.starts[0])];
        self.place[0] = come_to;
        while let Some((state, next)) = path.last_mut() {
            let at = *state as usize;
            if *next < rows.starts[at + 1] {
                let to = rows.edges[*next as usize].to as usize;
                *next += 1;
                if self.place[to] == 0 {
                    self.budget.tick()?;
                    come_to += 1;
                    (self.place[to], lowest[to]) = (come_to, come_to);
                    waiting.push(to as u32);
                    path.push((to as u32, rows.starts[to]));
                } else if self.class_of[to] == OPEN {
                    lowest[at] = lowest[at].min(self.place[to]);
                }
                continue;
            }
            path.pop();
            if let Some(&(before, _)) = path.last() {
                lowest[before as usize] = lowest[before as usize].min(lowest[at]);
            }
            if lowest[at] == self.place[at] {
                let first = waiting.iter().rposition(|&state| state as usize == at).unwrap_or(0);
                self.settle(&waiting[first..])?;
                if self.classes.is_exhausted() {
                    return Ok(false);
                }
                waiting.truncate(first);
            }
        }
        Ok(true)
    }

    /// Finds the classes of states that lead to each other, or of a single one. All else that they lead to is done.
    fn settle(&mut self, states: &[u32]) -> Result<()> {
        let rows = self.rows;
        if let &[state] = states
            && rows.of(state as usize).iter().all(|edge| edge.to != state)
        {
            self.class_of[state as usize] = self.class_of_single(state);
            return Ok(());
        }
        let reaches_end = |state: u32| {
            let mut edges = rows.of(state as usize).iter();
            rows.accepting[state as usize] || edges.any(|edge| self.class_of[edge.to as usize] < INNER)
        };
        if !states.iter().any(|&state| reaches_end(state)) {
            states.iter().for_each(|&state| self.class_of[state as usize] = DEAD);
            return Ok(());
        }
        let group_of = self.groups(states)?;
        let knot = self.knot(states, &group_of);
        let known = self.classes.find_knot(&knot, self.budget)?;
        let base = if known.is_none() { self.classes.add_knot(&knot) } else { 0 };
        for (&state, &group) in states.iter().zip(&group_of) {
            self.class_of[state as usize] =
                known.as_ref().map_or(base + group, |known| known[group as usize]);
        }
        Ok(())
    }

    fn class_of_single(&mut self, state: u32) -> Class {
        self.row.clear();
        for edge in self.rows.of(state as usize) {
            let class = self.class_of[edge.to as usize];
            if class != DEAD {
                add_way(&mut self.row, (edge.low, edge.high, class));
            }
        }
        let colour = u32::from(self.rows.accepting[state as usize]);
        if self.row.is_empty() && colour != ACCEPTING { DEAD } else { self.classes.single(colour, &self.row) }
    }

    /// For each state of a knot the number of its group of equivalent ones.
    fn groups(&mut self, states: &[u32]) -> Result<Vec<u32>> {
        (1..).zip(states).for_each(|(place, &state)| self.place[state as usize] = place);
        if states.len() == 1 {
            return Ok(vec![0]);
        }
        let mut table =
            if states.len() <= Self::FEW { std::mem::take(&mut self.table) } else { RowTable::default() };
        let groups = self.recoloured(states, &mut table);
        if states.len() <= Self::FEW {
            self.table = table;
        }
        groups
    }

    /// The same for several states.
    fn recoloured(&self, states: &[u32], table: &mut RowTable) -> Result<Vec<u32>> {
        let mut colours = vec![0; states.len()];
        for (colour, &state) in colours.iter_mut().zip(states) {
            *colour = self.rows.accepting[state as usize].into();
        }
        let out = |_: &[u32], class: Class, _: u32| (class < INNER).then_some(class);
        let mut count = self.recolour(states, &mut colours, table, out)?;
        for _ in 0..Self::ROUNDS {
            let inner = |colours: &[u32], class: Class, to: u32| {
                (class == OPEN).then(|| colours[self.place[to as usize] as usize - 1])
            };
            let before = std::mem::replace(&mut count, self.recolour(states, &mut colours, table, inner)?);
            if count == before {
                return Ok(colours);
            }
        }
        let inner = || {
            let edges = states.iter().flat_map(|&state| self.rows.of(state as usize));
            edges.filter(|edge| self.class_of[edge.to as usize] == OPEN)
        };
        let transitions = transitions(inner, |state| self.place[state as usize] - 1);
        equivalence_classes(&colours, &transitions, self.budget)
    }

    /// Tells states of one colour apart by where they lead, as `target` sees it; gives the number of colours.
    fn recolour(
        &self,
        states: &[u32],
        colours: &mut Vec<u32>,
        table: &mut RowTable,
        target: impl Fn(&[u32], Class, u32) -> Option<u32>,
    ) -> Result<usize> {
        table.clear();
        let mut row: Vec<Way> = Vec::new();
        let mut next = Vec::with_capacity(states.len());
        for (&state, &colour) in states.iter().zip(&*colours) {
            self.budget.tick()?;
            row.clear();
            for edge in self.rows.of(state as usize) {
                if let Some(to) = target(colours, self.class_of[edge.to as usize], edge.to) {
                    add_way(&mut row, (edge.low, edge.high, to));
                }
            }
            next.push(table.intern(colour, &row));
        }
        *colours = next;
        Ok(table.len())
    }

    /// A knot by its groups.
    fn knot(&self, states: &[u32], group_of: &[u32]) -> Knot {
        let mut members: Vec<u32> = Vec::new();
        for (&state, &group) in states.iter().zip(group_of) {
            let group = group as usize;
            if members.len() <= group {
                members.resize(group + 1, u32::MAX);
            }
            members[group] = state;
        }
        let mut knot = Knot::with_capacity(members.len());
        let mut row = Vec::new();
        for member in members {
            row.clear();
            for edge in self.rows.of(member as usize) {
                let to = match self.class_of[edge.to as usize] {
                    DEAD => continue,
                    OPEN => INNER + group_of[self.place[edge.to as usize] as usize - 1],
                    class => class,
                };
                add_way(&mut row, (edge.low, edge.high, to));
            }
            knot.push(self.rows.accepting[member as usize], &row);
        }
        knot
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::DfaBuilder;
    use super::*;

    /// A number below `below`.
    fn draw(seed: &mut u64, below: usize) -> usize {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) as usize % below
    }

    /// Where each state leads by each of a few letters.
    struct Table {
        accepting: Vec<bool>,
        next: Vec<Vec<Option<usize>>>,
    }

    impl Table {
        fn random(seed: &mut u64) -> Self {
            let (states, letters) = (1 + draw(seed, 9), 1 + draw(seed, 3));
            let gaps = draw(seed, 3);
            let next = |seed: &mut u64| {
                (0..letters).map(|_| Some(draw(seed, states + gaps)).filter(|&to| to < states)).collect()
            };
            Table {
                accepting: (0..states).map(|_| draw(seed, 3) == 0).collect(),
                next: (0..states).map(|_| next(seed)).collect(),
            }
        }

        /// Two copies that lead into each other here and there: nothing new is said by that.
        fn doubled(&self, seed: &mut u64) -> Self {
            let count = self.accepting.len();
            let rows = self.next.iter().chain(&self.next);
            let next = rows
                .map(|row| row.iter().map(|to| to.map(|to| to + count * draw(seed, 2))).collect())
                .collect();
            Table { accepting: [&self.accepting[..], &self.accepting[..]].concat(), next }
        }

        fn minimal(&self) -> Dfa {
            self.builder().finish(&Budget::default()).unwrap()
        }

        fn builder(&self) -> DfaBuilder {
            let mut builder = DfaBuilder::new();
            self.accepting.iter().for_each(|&accepting| _ = builder.add_state(accepting));
            for (from, row) in self.next.iter().enumerate() {
                for (byte, to) in (0..).zip(row) {
                    to.iter().for_each(|&to| builder.add_edge(from as u32, byte, byte, to as u32));
                }
            }
            builder
        }

        /// How many states the minimal automaton has, by telling apart all that some word tells apart.
        fn count(&self) -> usize {
            let states = self.accepting.len();
            let alive: Vec<bool> =
                (0..states).map(|state| self.reached(state).iter().any(|&end| self.accepting[end])).collect();
            let mut class: Vec<usize> =
                self.accepting.iter().map(|&accepting| usize::from(accepting)).collect();
            for _ in 0..states {
                let look = |state: usize| {
                    let targets =
                        self.next[state].iter().map(|to| to.filter(|&to| alive[to]).map(|to| class[to]));
                    (class[state], targets.collect::<Vec<_>>())
                };
                let looks: Vec<_> = (0..states).map(look).collect();
                class = looks
                    .iter()
                    .map(|look| looks.iter().position(|other| other == look).unwrap_or(0))
                    .collect();
            }
            let mut used: Vec<usize> =
                self.reached(0).into_iter().filter(|&state| alive[state]).map(|state| class[state]).collect();
            used.sort_unstable();
            used.dedup();
            used.len()
        }

        fn reached(&self, from: usize) -> Vec<usize> {
            let mut reached = vec![from];
            let mut at = 0;
            while at < reached.len() {
                for &to in self.next[reached[at]].iter().flatten() {
                    if !reached.contains(&to) {
                        reached.push(to);
                    }
                }
                at += 1;
            }
            reached
        }

        fn matches(&self, word: &[u8]) -> bool {
            let end = word
                .iter()
                .try_fold(0, |state, &byte| self.next[state].get(byte as usize).copied().flatten());
            end.is_some_and(|state| self.accepting[state])
        }
    }
    /// All words over three letters, up to a length.
    fn words(length: usize) -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new()];
        let mut from = 0;
        for _ in 0..length {
            let until = all.len();
            for at in from..until {
                all.extend((0..3).map(|byte| [&all[at][..], &[byte]].concat()).collect::<Vec<_>>());
            }
            from = until;
        }
        all
    }

    #[test]
    fn random_automata_become_minimal() {
        let (mut seed, words) = (11, words(6));
        for round in 0..3_000 {
            let table = Table::random(&mut seed);
            let dfa = table.minimal();
            assert_eq!(dfa.len(), table.count(), "round {round}");
            for word in words.iter().take(if round % 20 == 0 { words.len() } else { 40 }) {
                assert_eq!(dfa.matches(word), table.matches(word), "round {round}, {word:?}");
            }
            let rows = table.builder().into_rows(&Budget::default()).unwrap();
            assert_eq!(minimal_within(&rows, 1, &Budget::default()).unwrap(), dfa, "round {round}");
            assert_eq!(refined(&rows, &Budget::default()).unwrap(), dfa, "round {round}");
            let doubled = table.doubled(&mut seed);
            assert_eq!(doubled.minimal(), dfa, "round {round}");
            assert_eq!(doubled.doubled(&mut seed).minimal(), dfa, "round {round}");
        }
    }

    #[test]
    fn a_knot_that_leads_into_its_like_is_found_there() {
        // After a: b loops, a goes to a pair that is the same with one state more.
        let table = Table {
            accepting: vec![true, false, true],
            next: vec![vec![Some(1), Some(0)], vec![Some(2), None], vec![Some(1), Some(2)]],
        };
        assert_eq!(table.minimal().len(), 2);
        // Without an end in the pair nothing is left of it.
        let apart = Table { accepting: vec![true, false, false], ..table }.minimal();
        assert!(apart.len() == 1 && apart.matches(&[1, 1]) && !apart.matches(&[1, 0, 0]));
    }

    #[test]
    fn large_rings_that_lead_into_each_other_become_minimal() {
        for (length, rings, odd) in [(20, 3, None), (40, 2, Some(7)), (200, 2, None), (60, 4, Some(59))] {
            let next = |at: usize| {
                let (ring, place) = (at / length, at % length);
                let round = ring * length + (place + 1) % length;
                let over = (ring + 1).min(rings - 1) * length + place;
                vec![Some(round), Some(over)]
            };
            let accepting = (0..length * rings).map(|at| at % length == 0 || Some(at) == odd).collect();
            let table = Table { accepting, next: (0..length * rings).map(next).collect() };
            // The rings are alike, but for the first if it has one end more.
            let rings_left = if odd.is_some() { 2 } else { 1 };
            assert_eq!(table.minimal().len(), rings_left * length, "{length}");
            let rows = table.builder().into_rows(&Budget::default()).unwrap();
            for comparisons in [1, length, 10 * length] {
                let dfa = minimal_within(&rows, comparisons, &Budget::default()).unwrap();
                assert_eq!(dfa, table.minimal(), "{length} {comparisons}");
            }
        }
    }
}
