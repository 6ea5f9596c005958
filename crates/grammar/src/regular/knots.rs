//! Knots: states that lead to each other, and the classes of those that are done.
//!
//! A knot is known by its look from outside, or by a knot that it leads into; [`minimize`](super::minimize) says why that
//! finds all that there is to find.

use std::hash::Hasher;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use super::row_table::{RowTable, Way};
use crate::error::Result;
use crate::limits::Budget;

/// The number of a class of states, or of a group of the knot at hand with [`INNER`] added.
pub(super) type Class = u32;

/// Added to the number of a group.
pub(super) const INNER: Class = 1 << 31;

/// The state is not done yet.
pub(super) const OPEN: Class = Class::MAX;

/// The class is in no knot.
const NO_KNOT: u32 = u32::MAX;

/// The colour of the rows of accepting states; that of others is 0.
pub(super) const ACCEPTING: u32 = 1;

/// States that lead to each other, by groups of equivalent ones.
pub(super) struct Knot {
    accepting: Vec<bool>,
    /// Where the groups lead: to classes, and to groups with [`INNER`] added. No row is empty.
    ways: Vec<Way>,
    /// Where the row of each group ends.
    ends: Vec<u32>,
    /// A hash of how it looks from outside, that knows its groups by nothing but where they lead out of it.
    look: u64,
}

impl Knot {
    pub(super) fn with_capacity(groups: usize) -> Self {
        let (accepting, ways, ends) =
            (Vec::with_capacity(groups), Vec::with_capacity(2 * groups), Vec::with_capacity(groups));
        Knot { accepting, ways, ends, look: 0 }
    }

    pub(super) fn push(&mut self, accepting: bool, row: &[Way]) {
        self.accepting.push(accepting);
        self.ways.extend_from_slice(row);
        self.ends.push(self.ways.len() as u32);
        // The order of groups has no meaning.
        self.look = self.look.wrapping_add(look_of(accepting, row, |to| to >= INNER));
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn row(&self, group: usize) -> &[Way] {
        let first = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.ways[first as usize..self.ends[group] as usize]
    }
}

/// A hash of how a state of a knot looks that knows its like by nothing but that they are in the same knot.
fn look_of(accepting: bool, row: &[Way], is_inside: impl Fn(Class) -> bool) -> u64 {
    hash_row(accepting, row, |to| if is_inside(to) { u64::MAX } else { u64::from(to) })
}

/// A hash of a row in which `seen` stands for where it leads. Neighbours that look the same are one: whether they are one
/// class may not be known yet.
fn hash_row(accepting: bool, row: &[Way], seen: impl Fn(Class) -> u64) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u8(accepting.into());
    let mut ways = row.iter().map(|&(low, high, to)| (low, high, seen(to))).peekable();
    while let Some((low, mut high, to)) = ways.next() {
        let goes_on = |next: &(u8, u8, u64), high: u8| high.checked_add(1) == Some(next.0) && next.2 == to;
        while let Some(next) = ways.next_if(|next| goes_on(next, high)) {
            high = next.1;
        }
        hasher.write_u16(u16::from_be_bytes([low, high]));
        hasher.write_u64(to);
    }
    hasher.finish()
}

/// The classes that were found.
#[derive(Default)]
pub(super) struct Classes {
    /// Each is a row of where it leads.
    rows: RowTable,
    /// The knot of each class, or [`NO_KNOT`]; what lies behind the end is in none.
    knot_of: Vec<u32>,
    /// The classes of each knot.
    knots: Vec<Range<Class>>,
    /// Knots by how many classes they have, and their look.
    looks: FxHashMap<(usize, u64), Vec<u32>>,
    /// The outlines of the classes of large knots, sorted, where somebody has asked for them.
    outlines: FxHashMap<u32, Vec<(u64, Class)>>,
    /// How many comparisons are left.
    comparisons: usize,
}

impl Classes {
    /// In knots with more classes than this not each of them is compared.
    const MANY: usize = 16;

    /// None yet, with room for so many and with so many comparisons.
    pub(super) fn new(count: usize, comparisons: usize) -> Self {
        Classes { rows: RowTable::with_capacity(count), comparisons, ..Classes::default() }
    }

    /// Whether all comparisons were made that there were.
    pub(super) fn is_exhausted(&self) -> bool {
        self.comparisons == 0
    }

    /// The class of a state that is in no knot, by its colour and where it leads.
    pub(super) fn single(&mut self, colour: u32, row: &[Way]) -> Class {
        self.rows.intern(colour, row)
    }

    /// All of them, as rows of where they lead.
    pub(super) fn into_rows(self) -> RowTable {
        self.rows
    }

    fn knot_of(&self, class: Class) -> u32 {
        self.knot_of.get(class as usize).copied().unwrap_or(NO_KNOT)
    }

    fn look(&self, class: Class) -> u64 {
        let knot = self.knot_of(class);
        look_of(self.rows.colour(class) == ACCEPTING, self.rows.ways(class), |to| self.knot_of(to) == knot)
    }

    /// New classes for the groups of a knot; gives the first, the others follow.
    pub(super) fn add_knot(&mut self, knot: &Knot) -> Class {
        let base = self.rows.len() as Class;
        let number = self.knots.len() as u32;
        let mut row: Vec<Way> = Vec::new();
        for (group, &accepting) in knot.accepting.iter().enumerate() {
            let target = |to: Class| if to < INNER { to } else { base + to - INNER };
            row.clear();
            row.extend(knot.row(group).iter().map(|&(low, high, to)| (low, high, target(to))));
            self.rows.add(accepting.into(), &row);
        }
        self.knot_of.resize(base as usize, NO_KNOT);
        self.knot_of.resize(self.rows.len(), number);
        self.knots.push(base..self.rows.len() as Class);
        self.looks.entry((knot.len(), knot.look)).or_default().push(number);
        base
    }

    /// The classes of the groups of a knot, by group, if they are equivalent to some that are done.
    pub(super) fn find_knot(&mut self, knot: &Knot, budget: &Budget) -> Result<Option<Vec<Class>>> {
        let first = look_of(knot.accepting[0], knot.row(0), |to| to >= INNER);
        let alike = self.looks.get(&(knot.len(), knot.look)).into_iter().flatten();
        let alike: SmallVec<[Class; 16]> = alike
            .flat_map(|&number| self.knots[number as usize].clone())
            .filter(|&class| first == self.look(class))
            .collect();
        let mut entered: SmallVec<[u32; 16]> =
            knot.ways.iter().map(|way| self.knot_of(way.2)).filter(|&number| number != NO_KNOT).collect();
        entered.sort_unstable();
        entered.dedup();
        let found = self.find_among(&alike, knot, budget)?;
        if found.is_some() {
            return Ok(found);
        }
        for number in entered {
            let candidates = self.candidates(number, knot);
            let found = self.find_among(&candidates, knot, budget)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The same, if the first group is in one of these classes. Without comparisons left nothing is looked for.
    fn find_among(
        &mut self,
        candidates: &[Class],
        knot: &Knot,
        budget: &Budget,
    ) -> Result<Option<Vec<Class>>> {
        for &class in candidates {
            if self.comparisons == 0 {
                return Ok(None);
            }
            budget.tick()?;
            let is_first = u32::from(knot.accepting[0]) == self.rows.colour(class)
                && self.rows.ways(class).first().is_some_and(|way| way.0 == knot.row(0)[0].0);
            self.comparisons = self.comparisons.saturating_sub(if is_first { knot.len() } else { 1 });
            if let Some(classes) = is_first.then(|| self.follow(knot, class)).flatten() {
                return Ok(Some(classes));
            }
        }
        Ok(None)
    }

    /// The classes of a knot, or of a large one those that the first group of another knot may be equivalent to.
    fn candidates(&mut self, number: u32, knot: &Knot) -> SmallVec<[Class; 16]> {
        let all = self.knots[number as usize].clone();
        if all.len() <= Self::MANY {
            return all.collect();
        }
        if !self.outlines.contains_key(&number) {
            let row = |class: Class| (self.rows.colour(class) == ACCEPTING, self.rows.ways(class));
            let mut sorted: Vec<(u64, Class)> =
                all.map(|class| (self.outline(Self::DEPTH, row(class), &row), class)).collect();
            sorted.sort_unstable();
            self.outlines.insert(number, sorted);
        }
        let row = |to: Class| match to.checked_sub(INNER) {
            Some(group) => (knot.accepting[group as usize], knot.row(group as usize)),
            None => (self.rows.colour(to) == ACCEPTING, self.rows.ways(to)),
        };
        let outline = self.outline(Self::DEPTH, row(INNER), &row);
        let sorted = &self.outlines[&number];
        let first = sorted.partition_point(|entry| entry.0 < outline);
        sorted[first..].iter().take_while(|entry| entry.0 == outline).map(|entry| entry.1).collect()
    }

    /// How far an outline looks.
    const DEPTH: u32 = 1;

    /// A hash of what a state of a knot has in common with all that are equivalent to it: the bytes that lead on, where they
    /// lead out of all knots, and the outlines of those in knots. It recurses on the depth.
    fn outline<'r>(
        &self,
        depth: u32,
        (accepting, ways): (bool, &'r [Way]),
        row: &impl Fn(Class) -> (bool, &'r [Way]),
    ) -> u64 {
        hash_row(accepting, ways, |to| match depth.checked_sub(1) {
            _ if to < INNER && self.knot_of(to) == NO_KNOT => u64::from(to),
            Some(depth) => self.outline(depth, row(to), row),
            None => u64::MAX,
        })
    }

    /// The classes of all groups if `class` is that of the first, which has its colour, unless that cannot be.
    fn follow(&self, knot: &Knot, class: Class) -> Option<Vec<Class>> {
        let agrees = |group: usize, class: Class| u32::from(knot.accepting[group]) == self.rows.colour(class);
        let mut classes = vec![OPEN; knot.len()];
        classes[0] = class;
        let mut open = vec![0_usize];
        while let Some(group) = open.pop() {
            let class = classes[group];
            let (mut left, mut right) = (knot.row(group), self.rows.ways(class));
            let mut from = 0;
            while let (Some(&(low, high, to)), Some(&(other_low, other_high, other))) =
                (left.first(), right.first())
            {
                if low.max(from) != other_low.max(from) {
                    return None;
                }
                if let Some(next) = to.checked_sub(INNER) {
                    let known = &mut classes[next as usize];
                    if *known == OPEN && agrees(next as usize, other) {
                        *known = other;
                        open.push(next as usize);
                    } else if *known != other {
                        return None;
                    }
                } else if to != other {
                    return None;
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
