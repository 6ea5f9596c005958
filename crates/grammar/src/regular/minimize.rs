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
//! same ways out: so it is found by a hash of these ([`Group::look`]). If one does, it names `C`, and the state is found
//! among those of `C` ([`Outline`]). Either way it takes one guess for one state; all others follow from it.
//!
//! Refining everything at once would come to the same, and takes several times as long: most knots are one state with a loop.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHasher};

use super::builder::{Rows, byte_classes};
use super::dfa::{Dfa, State, StateId};
use super::partition::{Transition, equivalence_classes};
use super::row_table::{RowTable, Way, add_way};
use crate::error::Result;
use crate::limits::Budget;

/// The number of a class of states, or of a group of the knot at hand with [`INNER`] added.
type Class = u32;

/// Added to the number of a group.
const INNER: Class = 1 << 31;

/// The state is not done yet.
const OPEN: Class = Class::MAX;

/// The state reaches no end.
const DEAD: Class = Class::MAX - 1;

/// The colour of the rows of accepting states; that of others is 0.
const ACCEPTING: u32 = 1;

/// The minimal automaton of the language that `rows` have from their first state.
pub(super) fn minimal(rows: &Rows, budget: &Budget) -> Result<Dfa> {
    if rows.accepting.is_empty() {
        return Ok(Dfa::empty());
    }
    let count = rows.accepting.len();
    let work = Work {
        rows,
        class_of: vec![OPEN; count],
        place: vec![0; count],
        classes: Classes { rows: RowTable::with_capacity(count), ..Classes::default() },
        row: Vec::new(),
        budget,
    };
    work.run()
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
    budget: &'r Budget,
}

impl Work<'_> {
    /// How often the states of a knot are told apart by those that they lead to, all of them at a time, before it is done by
    /// parts. Mostly nothing changes any more after a few times, and that is quicker.
    const ROUNDS: usize = 12;

    fn run(mut self) -> Result<Dfa> {
        self.visit_all()?;
        let Work { class_of, classes, .. } = self;
        if class_of[0] == DEAD {
            return Ok(Dfa::empty());
        }
        let rows = classes.rows;
        let row = |class: Class| (rows.colour(class) == ACCEPTING, rows.ways(class).iter().copied());
        Ok(numbered(rows.len(), class_of[0], row))
    }

    /// Tarjan's walk: gives the knots, and the states that are in none, each after all that it leads to.
    fn visit_all(&mut self) -> Result<()> {
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
                waiting.truncate(first);
            }
        }
        Ok(())
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
        let classes = match self.classes.find_knot(&knot, self.budget)? {
            Some(classes) => classes,
            None => self.classes.add_knot(&knot),
        };
        for (&state, &group) in states.iter().zip(&group_of) {
            self.class_of[state as usize] = classes[group as usize];
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
        if self.row.is_empty() && colour != ACCEPTING {
            DEAD
        } else {
            self.classes.rows.intern(colour, &self.row)
        }
    }

    /// For each state of a knot the number of its group of equivalent ones.
    fn groups(&mut self, states: &[u32]) -> Result<Vec<u32>> {
        (1..).zip(states).for_each(|(place, &state)| self.place[state as usize] = place);
        let mut colours = vec![0; states.len()];
        if states.len() == 1 {
            return Ok(colours);
        }
        let mut table = RowTable::default();
        for (colour, &state) in colours.iter_mut().zip(states) {
            *colour = self.rows.accepting[state as usize].into();
        }
        let out = |_: &[u32], class: Class, _: u32| (class < INNER).then_some(class);
        let mut count = self.recolour(states, &mut colours, &mut table, out)?;
        for _ in 0..Self::ROUNDS {
            let inner = |colours: &[u32], class: Class, to: u32| {
                (class == OPEN).then(|| colours[self.place[to as usize] as usize - 1])
            };
            let before =
                std::mem::replace(&mut count, self.recolour(states, &mut colours, &mut table, inner)?);
            if count == before {
                return Ok(colours);
            }
        }
        equivalence_classes(&colours, &self.inner_transitions(states), self.budget)
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

    /// The edges within a knot, over the coarsest classes of bytes that none of them tells apart.
    fn inner_transitions(&self, states: &[u32]) -> Vec<Transition> {
        let inner = || {
            let edges = states.iter().flat_map(|&state| self.rows.of(state as usize));
            edges.filter(|edge| self.class_of[edge.to as usize] == OPEN)
        };
        let label_of = byte_classes(inner().map(|edge| (edge.low, edge.high)));
        let mut transitions = Vec::with_capacity(inner().count());
        for edge in inner() {
            let (from, to) = (self.place[edge.from as usize] - 1, self.place[edge.to as usize] - 1);
            let labels = label_of[edge.low as usize]..=label_of[edge.high as usize];
            transitions.extend(labels.map(|label| Transition { from, label: u32::from(label), to }));
        }
        transitions
    }

    /// A knot by its groups.
    fn knot(&self, states: &[u32], group_of: &[u32]) -> Knot {
        let count = group_of.iter().max().map_or(0, |&last| last as usize + 1);
        let mut groups: Vec<Group> = vec![Group::default(); count];
        for (&state, &group) in states.iter().zip(group_of) {
            let group = &mut groups[group as usize];
            if !group.row.is_empty() {
                continue;
            }
            group.accepting = self.rows.accepting[state as usize];
            for edge in self.rows.of(state as usize) {
                let to = match self.class_of[edge.to as usize] {
                    DEAD => continue,
                    OPEN => INNER + group_of[self.place[edge.to as usize] as usize - 1],
                    class => class,
                };
                add_way(&mut group.row, (edge.low, edge.high, to));
            }
        }
        Knot::new(groups, &self.classes)
    }
}

/// Equivalent states of a knot.
#[derive(Clone, Debug, Default)]
struct Group {
    accepting: bool,
    /// Where they lead: to classes, and to groups with [`INNER`] added. It is never empty.
    row: Vec<Way>,
}

impl Group {
    /// A hash of how it looks, in which `inner` stands for groups.
    fn look(&self, inner: impl Fn(Class) -> u64) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write_u8(self.accepting.into());
        for &(low, high, to) in &self.row {
            hasher.write_u16(u16::from_be_bytes([low, high]));
            hasher.write_u64(if to < INNER { u64::from(to) } else { inner(to - INNER) });
        }
        hasher.finish()
    }

    /// A hash of what its equals in any knot have in common with it, given that of those that it leads to.
    fn outline(&self, of: impl Fn(Class) -> u64) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write_u8(self.accepting.into());
        let mut ways = self.row.iter().map(|&(low, high, to)| (low, high, of(to))).peekable();
        while let Some((low, mut high, outline)) = ways.next() {
            // Whether two of those are one class is not known yet, so they are told apart by nothing else.
            let goes_on =
                |next: &(u8, u8, u64), high: u8| high.checked_add(1) == Some(next.0) && next.2 == outline;
            while let Some(next) = ways.next_if(|next| goes_on(next, high)) {
                high = next.1;
            }
            hasher.write_u16(u16::from_be_bytes([low, high]));
            hasher.write_u64(outline);
        }
        hasher.finish()
    }
}

/// States that lead to each other, by group.
struct Knot {
    groups: Vec<Group>,
    /// How each group looks if all look the same.
    looks: Vec<u64>,
    outlines: Vec<Outline>,
}

/// Hashes of what a state of a knot has in common with all that are equivalent to it: of itself, of it and those that it leads
/// to, and of those behind them too.
type Outline = [u64; 3];

impl Knot {
    fn new(groups: Vec<Group>, classes: &Classes) -> Self {
        const IN_A_KNOT: u64 = u64::MAX;
        let looks = groups.iter().map(|group| group.look(|_| IN_A_KNOT)).collect();
        let mut outlines: Vec<Outline> = vec![[IN_A_KNOT; 3]; groups.len()];
        for depth in 0..3 {
            let seen = |outline: &Outline| if depth == 0 { IN_A_KNOT } else { outline[depth - 1] };
            let of = |outlines: &[Outline], to: Class| match to.checked_sub(INNER) {
                Some(group) => seen(&outlines[group as usize]),
                None => classes.knot_of.get(&to).map_or(u64::from(to), |(_, outline)| seen(outline)),
            };
            for at in 0..groups.len() {
                outlines[at][depth] = groups[at].outline(|to| of(&outlines, to));
            }
        }
        Knot { groups, looks, outlines }
    }

    /// A hash of the looks of a group and of those that it leads to.
    fn wide_look(&self, group: usize) -> u64 {
        self.groups[group].look(|inner| self.looks[inner as usize])
    }
}

/// The classes that were found.
#[derive(Default)]
struct Classes {
    /// Each is a row of where it leads.
    rows: RowTable,
    knots: u32,
    /// The knot that a class is in, if it is in one, and its outline.
    knot_of: FxHashMap<Class, (u32, Outline)>,
    /// The classes of knots by how many are in the knot, and the look of theirs.
    looks: FxHashMap<(usize, u64), Vec<Class>>,
    /// The classes of knots by knot and outline.
    outlines: FxHashMap<(u32, u64), Vec<Class>>,
}

impl Classes {
    /// New classes for the groups of a knot, by group.
    fn add_knot(&mut self, knot: &Knot) -> Vec<Class> {
        let base = self.rows.len() as Class;
        let number = self.knots;
        self.knots += 1;
        let mut added = Vec::with_capacity(knot.groups.len());
        for (at, group) in knot.groups.iter().enumerate() {
            let look = knot.wide_look(at);
            let outline = knot.outlines[at];
            let target = |to: Class| if to < INNER { to } else { base + to - INNER };
            let row: Vec<Way> = group.row.iter().map(|&(low, high, to)| (low, high, target(to))).collect();
            let class = self.rows.add(group.accepting.into(), &row);
            self.knot_of.insert(class, (number, outline));
            self.looks.entry((knot.groups.len(), look)).or_default().push(class);
            self.outlines.entry((number, outline[2])).or_default().push(class);
            added.push(class);
        }
        added
    }

    /// The classes of the groups of a knot, by group, if they are equivalent to some that are done.
    fn find_knot(&self, knot: &Knot, budget: &Budget) -> Result<Option<Vec<Class>>> {
        let mut entered: Vec<u32> = knot
            .groups
            .iter()
            .flat_map(|group| &group.row)
            .filter(|way| way.2 < INNER)
            .filter_map(|way| Some(self.knot_of.get(&way.2)?.0))
            .collect();
        entered.sort_unstable();
        entered.dedup();
        let alike = self.looks.get(&(knot.groups.len(), knot.wide_look(0)));
        let outline = knot.outlines[0][2];
        let behind = entered.into_iter().filter_map(|number| self.outlines.get(&(number, outline)));
        for &class in alike.into_iter().chain(behind).flatten() {
            budget.tick()?;
            if let Some(classes) = self.follow(knot, class) {
                return Ok(Some(classes));
            }
        }
        Ok(None)
    }

    /// The classes of all groups if `class` is that of the first, unless that cannot be.
    fn follow(&self, Knot { groups, .. }: &Knot, class: Class) -> Option<Vec<Class>> {
        let mut classes = vec![OPEN; groups.len()];
        classes[0] = class;
        let mut open = vec![0_usize];
        while let Some(group) = open.pop() {
            let class = classes[group];
            if u32::from(groups[group].accepting) != self.rows.colour(class) {
                return None;
            }
            let (mut left, mut right) = (groups[group].row.as_slice(), self.rows.ways(class));
            let mut from = 0;
            while let (Some(&(low, high, to)), Some(&(other_low, other_high, other))) =
                (left.first(), right.first())
            {
                if low.max(from) != other_low.max(from) {
                    return None;
                }
                if to < INNER {
                    if to != other {
                        return None;
                    }
                } else {
                    let known = &mut classes[(to - INNER) as usize];
                    if *known == OPEN {
                        *known = other;
                        open.push((to - INNER) as usize);
                    } else if *known != other {
                        return None;
                    }
                }
                let until = high.min(other_high);
                from = until.saturating_add(1);
                left = if high == until { &left[1..] } else { left };
                right = if other_high == until { &right[1..] } else { right };
            }
            if !left.is_empty() || !right.is_empty() {
                return None;
            }
        }
        Some(classes)
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
            let mut builder = DfaBuilder::new();
            self.accepting.iter().for_each(|&accepting| _ = builder.add_state(accepting));
            for (from, row) in self.next.iter().enumerate() {
                for (byte, to) in (0..).zip(row) {
                    to.iter().for_each(|&to| builder.add_edge(from as u32, byte, byte, to as u32));
                }
            }
            builder.finish(&Budget::default()).unwrap()
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
        let apart = Table { accepting: vec![true, false, true], ..table };
        assert!(apart.minimal().matches(&[1, 0, 0, 1]) && !apart.minimal().matches(&[0]));
    }
}
