//! What some members can add to the counters together.
//!
//! A variant adds one to some counters: a vector of noughts and ones. Several members add the sum of a vector of
//! each, and what can be chosen for each makes a set of such sums. Whether the bounds of all counters can be met is a
//! question about that set.
//!
//! Sums are cut off where more makes no difference: a counter without an upper bound at its least count, and a sum
//! beyond an upper bound is dropped. One counter, that with the greatest bound, is kept as intervals; it is nearly
//! always the number of all members, for which a bound of thousands is one pair of numbers.
//!
//! A sum that is nowhere better than another need not be looked at: more is better for a counter without an upper bound,
//! less for one without a lower bound. The members of an object that must break one of several conditions can often break
//! any of them; of all the sums of what they can break, the one that has all is left.

use std::convert::Infallible;

use smallvec::SmallVec;

use crate::ir::members::Count;

/// An amount for each counter but the widest.
type Point = SmallVec<[u32; 4]>;
/// Intervals of amounts for the widest counter: sorted, with gaps between them.
type Intervals = SmallVec<[(u32, u32); 1]>;

/// The bounds of a few counters.
type Counts = SmallVec<[Count; 4]>;

/// The counters that matter, and which of them is kept as intervals.
#[derive(Clone, Debug, Hash)]
pub(super) struct Bounds {
    counts: Counts,
    widest: usize,
}

impl Bounds {
    pub(super) fn new(counts: Counts) -> Self {
        let widest = (0..counts.len()).max_by_key(|&at| cap(counts[at])).unwrap_or(0);
        Bounds { counts, widest }
    }

    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// The amount of counter `at`, cut off where more makes no difference.
    pub(super) fn saturate(&self, at: usize, amount: u32) -> u32 {
        let count = self.counts[at];
        if count.max.is_none() { amount.min(count.min) } else { amount }
    }

    /// Whether every counter is within its bounds.
    pub(super) fn are_met(&self, amounts: &[u32]) -> bool {
        let met = |(count, &amount): (&Count, &u32)| {
            amount >= count.min && count.max.is_none_or(|max| amount <= max)
        };
        self.counts.iter().zip(amounts).all(met)
    }

    /// Whether no counter is above its greatest amount.
    pub(super) fn are_not_exceeded(&self, amounts: &[u32]) -> bool {
        self.counts.iter().zip(amounts).all(|(count, &amount)| count.max.is_none_or(|max| amount <= max))
    }

    /// Whether counter `at` is below its least amount.
    pub(super) fn is_below(&self, amounts: &[u32], at: usize) -> bool {
        amounts[at] < self.counts[at].min
    }

    /// By how much counter `at` is below its least amount.
    pub(super) fn lacking(&self, amounts: &[u32], at: usize) -> u32 {
        self.counts[at].min.saturating_sub(amounts[at])
    }

    /// How many members the least amounts of all counters can ask for at most.
    pub(super) fn least_members(&self) -> u32 {
        self.counts.iter().fold(0, |sum: u32, count| sum.saturating_add(count.min))
    }

    /// What is left of them once there are `amounts`; `None` if those are too much.
    pub(super) fn after(&self, amounts: &[u32]) -> Option<Self> {
        let mut left = self.clone();
        for (count, &amount) in left.counts.iter_mut().zip(amounts) {
            *count = after(*count, amount)?;
        }
        Some(left)
    }

    /// What is left of them after one more for each of some counters; `None` if that is too much.
    pub(super) fn after_one(&self, counters: &[u32]) -> Option<Self> {
        let mut left = self.clone();
        for &counter in counters {
            let count = &mut left.counts[counter as usize];
            *count = after(*count, 1)?;
        }
        Some(left)
    }

    /// Whether any sum meets them.
    pub(super) fn are_met_by_any(&self) -> bool {
        self.only_least() && self.only_greatest()
    }

    /// Whether they can be met by one of `sums`.
    pub(super) fn can_be_met(&self, sums: &Sums) -> bool {
        let within = |at: usize, low: u32, high: u32| {
            let count = self.counts[at];
            high >= count.min && count.max.is_none_or(|max| low <= max)
        };
        sums.entries.iter().any(|(point, intervals)| {
            let mut narrow = self.narrow().zip(point);
            narrow.all(|(at, &amount)| within(at, amount, amount))
                && intervals.iter().any(|&(low, high)| within(self.widest, low, high))
        })
    }

    /// All counters but the widest.
    fn narrow(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let widest = self.widest;
        (0..self.len()).filter(move |&at| at != widest)
    }

    /// Whether an amount of counter `at` is as good as another, whatever is added to both.
    fn is_as_good(&self, at: usize, amount: u32, other: u32) -> bool {
        match self.counts[at] {
            Count { min, max: None } => amount >= other.min(min),
            Count { min: 0, max: Some(_) } => amount <= other,
            _ => amount == other,
        }
    }

    /// Whether some sums are as good as others: wherever the others lead, one of them does.
    fn are_as_good(&self, some: &(Point, Intervals), others: &(Point, Intervals)) -> bool {
        let mut narrow = self.narrow().zip(some.0.iter().zip(&others.0));
        let is_within = |&(low, high): &(u32, u32)| match self.counts[self.widest] {
            Count { max: None, .. } => some.1.iter().any(|one| self.is_as_good(self.widest, one.1, high)),
            Count { min: 0, .. } => some.1.iter().any(|one| one.0 <= low),
            _ => some.1.iter().any(|one| one.0 <= low && high <= one.1),
        };
        narrow.all(|(at, (&amount, &other))| self.is_as_good(at, amount, other))
            && others.1.iter().all(is_within)
    }

    /// Whether no counter has an upper bound: more members never hurt.
    pub(super) fn only_least(&self) -> bool {
        self.counts.iter().all(|count| count.max.is_none())
    }

    /// Whether no counter has a lower bound: more members never help.
    pub(super) fn only_greatest(&self) -> bool {
        self.counts.iter().all(|count| count.min == 0)
    }

    /// How many members can make a difference at most.
    pub(super) fn most_members(&self) -> u32 {
        self.counts.iter().fold(0, |sum: u32, &count| sum.saturating_add(cap(count)))
    }

    /// A sum beyond an upper bound is `None`.
    fn narrow_sum(&self, a: &Point, b: &Point) -> Option<Point> {
        let add = |((&a, &b), at): ((&u32, &u32), usize)| {
            let sum = self.saturate(at, a.saturating_add(b));
            self.counts[at].max.is_none_or(|max| sum <= max).then_some(sum)
        };
        a.iter().zip(b).zip(self.narrow()).map(add).collect()
    }

    fn clip(&self, (low, high): (u32, u32)) -> Option<(u32, u32)> {
        let count = self.counts[self.widest];
        match count.max {
            Some(max) if low > max => None,
            Some(max) => Some((low, high.min(max))),
            None => Some((low.min(count.min), high.min(count.min))),
        }
    }
}

/// What is left of the bounds of a counter once there is an amount; `None` if that is too much.
fn after(count: Count, amount: u32) -> Option<Count> {
    let max = match count.max {
        Some(max) => Some(max.checked_sub(amount)?),
        None => None,
    };
    Some(Count { min: count.min.saturating_sub(amount), max })
}

fn cap(count: Count) -> u32 {
    count.max.unwrap_or(count.min)
}

/// A set of sums: for each point, what the widest counter may be. Sorted by point, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Sums {
    entries: Vec<(Point, Intervals)>,
}

impl Sums {
    /// Nothing added, and no other way.
    pub(super) fn nothing(bounds: &Bounds) -> Self {
        Sums::of(bounds, &[&[]])
    }

    /// Any one of some lists of counters, each adding one to each of its own.
    pub(super) fn of(bounds: &Bounds, choices: &[&[u32]]) -> Self {
        let mut sums = Sums { entries: Vec::new() };
        for counters in choices {
            let mut all = vec![0; bounds.len()];
            counters.iter().for_each(|&counter| all[counter as usize] = 1);
            let wide = if all.is_empty() { 0 } else { all.remove(bounds.widest) };
            let zero: Point = std::iter::repeat_n(0, all.len()).collect();
            let point = bounds.narrow_sum(&zero, &all.into_iter().collect());
            if let (Some(point), Some(interval)) = (point, bounds.clip((wide, wide))) {
                sums.entries.push((point, SmallVec::from_slice(&[interval])));
            }
        }
        sums.normalize();
        sums
    }

    /// Whether nothing is added in any way.
    pub(super) fn is_nothing(&self) -> bool {
        let [(point, intervals)] = &*self.entries else { return false };
        point.iter().all(|&amount| amount == 0) && **intervals == [(0, 0)]
    }

    /// How much there is of it.
    pub(super) fn len(&self) -> usize {
        self.entries.iter().map(|(_, intervals)| intervals.len()).sum()
    }

    /// A sum of either.
    pub(super) fn or(mut self, other: &Sums) -> Self {
        self.entries.extend_from_slice(&other.entries);
        self.normalize();
        self
    }

    /// A sum of one and a sum of the other.
    pub(super) fn and(&self, other: &Sums, bounds: &Bounds) -> Self {
        let mut sums = Sums { entries: Vec::with_capacity(self.entries.len() * other.entries.len()) };
        for (point, intervals) in &self.entries {
            for (other_point, other_intervals) in &other.entries {
                let Some(point) = bounds.narrow_sum(point, other_point) else { continue };
                let pairs = intervals.iter().flat_map(|a| other_intervals.iter().map(move |b| (a, b)));
                let add = |(a, b): (&(u32, u32), &(u32, u32))| {
                    bounds.clip((a.0.saturating_add(b.0), a.1.saturating_add(b.1)))
                };
                let intervals: Intervals = pairs.filter_map(add).collect();
                if !intervals.is_empty() {
                    sums.entries.push((point, intervals));
                }
            }
        }
        sums.normalize();
        sums
    }

    /// A sum of `count` of them; of a single one, what is beyond an upper bound is still there.
    pub(super) fn times(&self, count: u32, bounds: &Bounds) -> Self {
        let Ok(sums) =
            self.times_by(count, bounds, &|one, other| Ok::<_, Infallible>(one.and(other, bounds)));
        sums
    }

    /// The same, where `add` puts two of them together, or fails.
    pub(super) fn times_by<E>(
        &self,
        count: u32,
        bounds: &Bounds,
        add: &impl Fn(&Sums, &Sums) -> Result<Sums, E>,
    ) -> Result<Self, E> {
        match count {
            0 => Ok(Sums::nothing(bounds)),
            1 => Ok(self.clone()),
            _ => {
                let half = self.times_by(count / 2, bounds, add)?;
                let all = add(&half, &half)?;
                if count.is_multiple_of(2) { Ok(all) } else { add(&all, self) }
            }
        }
    }

    /// Those of them that no others are as good as.
    pub(super) fn best(mut self, bounds: &Bounds) -> Self {
        if self.entries.len() < 2 {
            return self;
        }
        let mut best: Vec<(Point, Intervals)> = Vec::with_capacity(self.entries.len());
        for entry in self.entries.drain(..) {
            if best.iter().any(|known| bounds.are_as_good(known, &entry)) {
                continue;
            }
            best.retain(|known| !bounds.are_as_good(&entry, known));
            best.push(entry);
        }
        self.entries = best;
        self
    }

    fn normalize(&mut self) {
        self.entries.sort_unstable();
        let mut merged: Vec<(Point, Intervals)> = Vec::with_capacity(self.entries.len());
        for (point, intervals) in self.entries.drain(..) {
            match merged.last_mut() {
                Some(last) if last.0 == point => last.1.extend(intervals),
                _ => merged.push((point, intervals)),
            }
        }
        merged.iter_mut().for_each(|(_, intervals)| join(intervals));
        self.entries = merged;
    }
}

/// Sorts intervals, and joins those that overlap or touch.
fn join(intervals: &mut Intervals) {
    intervals.sort_unstable();
    let mut joined: Intervals = SmallVec::new();
    for &(low, high) in intervals.iter() {
        match joined.last_mut() {
            Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
            _ => joined.push((low, high)),
        }
    }
    *intervals = joined;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_all_that_can_be_broken_the_most_is_left() {
        let bounds = Bounds::new((0..4).map(|_| Count { min: 1, max: None }).collect());
        let choices: Vec<Vec<u32>> =
            (0..16_u32).map(|set| (0..4).filter(|at| set >> at & 1 == 1).collect()).collect();
        let choices: Vec<&[u32]> = choices.iter().map(Vec::as_slice).collect();
        let sums = Sums::of(&bounds, &choices);
        assert_eq!(sums.len(), 8, "one counter is kept as intervals");
        let best = sums.best(&bounds);
        assert_eq!(best.len(), 1);
        assert!(bounds.can_be_met(&best) && !bounds.after(&[0; 4]).unwrap().are_met_by_any());
    }

    #[test]
    fn what_is_better_depends_on_the_bounds() {
        let bounds =
            |min, max| Bounds::new(smallvec::smallvec![Count { min, max }, Count { min: 9, max: Some(9) }]);
        let both: &[&[u32]] = &[&[], &[0]];
        let best = |bounds: &Bounds| Sums::of(bounds, both).best(bounds);
        let (more, less, exact) = (bounds(1, None), bounds(0, Some(1)), bounds(1, Some(2)));
        assert_eq!(best(&more), Sums::of(&more, &[&[0]]));
        assert_eq!(best(&less), Sums::of(&less, &[&[]]));
        assert_eq!(best(&exact), Sums::of(&exact, both));
        // Once there is one, it makes no difference.
        let met = more.after(&[1, 0]).unwrap();
        assert_eq!(best(&met).len(), 1);
        assert!(less.after(&[2, 0]).is_none());
    }
}
