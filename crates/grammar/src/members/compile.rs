//! From a layout to its conditions, with all that is refused.

use hashbrown::HashMap;
use smallvec::{SmallVec, smallvec};

use super::conditions::{Candidate, Choice, Class, Conditions, Family, Plan};
use super::implications::Implications;
use super::sums::{Bounds, Sums};
use super::track::Track;
use crate::error::{Error, ErrorKind, Result};
use crate::ir::members::{Count, Entry, Layout, Order, Part, Variant};
use crate::limits::Budget;
use crate::regular::Dfa;

/// A set of sums may have this many parts. Nearly all have one; they grow with the product of the bounds of counters
/// that different members count for.
const MAX_SUMS: usize = 1_024;

/// What all the sums of a list may have together.
const MAX_ALL_SUMS: usize = 1_000_000;

/// How many entries are looked at, at most, to tell what is allowed in a state.
const MAX_IMPLIED_WORK: usize = 4_000_000;

/// Where no counter matters there is one that nothing misses, which keeps sums simple.
const NO_COUNT: Count = Count { min: 0, max: None };

/// How many texts a language has that are not among `keys`; `None` is no end of them.
pub fn capacity<'k>(language: &Dfa, keys: impl Iterator<Item = &'k str>) -> Option<u32> {
    let words = language.count_words()?;
    let taken = keys.filter(|key| language.matches(key.as_bytes())).count() as u64;
    Some(u32::try_from(words.saturating_sub(taken)).unwrap_or(u32::MAX))
}

impl Conditions {
    /// The conditions of `layout` with those parts that match something, as `is_live` says. `capacities` tells how
    /// many keys each family of others has, `None` being no end of them.
    pub fn new(
        layout: &Layout,
        capacities: &[Option<u32>],
        is_live: &dyn Fn(Part) -> bool,
        budget: &Budget,
    ) -> Result<Self> {
        if !layout.track.is_empty() {
            let nothing_required = vec![false; layout.entries.len()].into();
            let plain = Self::plain(Order::Declared, nothing_required, layout.others.len());
            return Ok(Conditions { track: Some(Track::new(&layout.track)), ..plain });
        }
        let mut work = Work::new(layout);
        let bounds = work.number_counters(is_live);
        let counts = work.numbers.iter().any(Option::is_some);
        work.adds_up = counts || layout.order == Order::Sequence;
        let implications = Implications::new(layout.entries.len(), &layout.implies);
        let mut entries: Box<[Candidate]> =
            layout.entries.iter().map(|entry| work.candidate(&entry.variants, is_live)).collect();
        if layout.order != Order::Sequence {
            drop_crowded(&mut entries, layout, &implications, &bounds);
        }
        drop_hopeless(&mut entries, &implications);
        let families = work.families(capacities, is_live);
        let supplies = families.iter().filter(|family| family.supply.is_some()).count() as u32;
        let classes: Box<[Class]> = work.classes.iter().map(|choices| class(choices, &bounds)).collect();
        let endless = if work.adds_up {
            endless(&families, &classes, &bounds, budget)?
        } else {
            Sums::nothing(&bounds)
        };
        let is_tracked = |entry: u32| match layout.order {
            Order::Any => true,
            Order::Declared => implications.concern(entry),
            Order::Sequence => false,
        };
        let mut tracked_count = 0;
        let mut track = |entry| {
            let place = is_tracked(entry).then_some(tracked_count);
            tracked_count += u32::from(place.is_some());
            place
        };
        let mut conditions = Conditions {
            order: layout.order,
            required: layout.entries.iter().map(|entry| entry.required).collect(),
            tracked: (0..layout.entries.len() as u32).map(&mut track).collect(),
            tracked_count,
            may_stop: may_stop(layout, &implications),
            entries,
            families,
            implications,
            bounds,
            classes,
            plan: Plan::Free,
            endless,
            supplies,
            satisfiable: true,
            track: None,
        };
        conditions.plan = conditions.choose_plan(counts, budget)?;
        conditions.keep_best();
        conditions.satisfiable = conditions.compute_satisfiable();
        Ok(conditions)
    }

    /// The conditions of as many entries as `required` tells of, each of which may be written in one way, and of so many
    /// families of keys without end beside them: those of a layout without counters and implications that is no sequence.
    pub fn plain(order: Order, required: Box<[bool]>, families: usize) -> Self {
        debug_assert!(order != Order::Sequence, "a sequence has places at which it may stop");
        let count = required.len() as u32;
        let candidate = || {
            let choices = Box::new([Choice { variant: 0, counters: Box::default() }]);
            Candidate { choices, class: 0 }
        };
        let bounds = Bounds::new(smallvec![NO_COUNT]);
        let is_tracked = order == Order::Any;
        Conditions {
            order,
            entries: (0..count).map(|_| candidate()).collect(),
            required,
            families: (0..families).map(|_| Family { candidate: candidate(), supply: None }).collect(),
            tracked: (0..count).map(|entry| is_tracked.then_some(entry)).collect(),
            tracked_count: if is_tracked { count } else { 0 },
            implications: Implications::default(),
            classes: Box::default(),
            plan: Plan::Free,
            endless: Sums::nothing(&bounds),
            bounds,
            supplies: 0,
            may_stop: Box::default(),
            satisfiable: true,
            track: None,
        }
    }

    /// Forgets the sums that no state needs. How many sums there are is checked with all of them, because of fewer entries
    /// there may be more that are best.
    fn keep_best(&mut self) {
        let of_classes = self.classes.iter_mut().flat_map(|class| [&mut class.once, &mut class.maybe]);
        for sums in of_classes.chain([&mut self.endless]) {
            *sums = std::mem::take(sums).best(&self.bounds);
        }
    }

    fn choose_plan(&self, counts: bool, budget: &Budget) -> Result<Plan> {
        self.check_work(counts)?;
        match self.order {
            Order::Sequence => self.suffix_plan(budget),
            _ if !counts => Ok(Plan::Free),
            Order::Declared if self.implications.is_empty() => self.suffix_plan(budget),
            _ => {
                self.check_implications()?;
                self.check_class_sums(budget)?;
                Ok(Plan::Classes)
            }
        }
    }

    /// Fails if asking what is allowed would take too long: with implications each entry is looked at by itself, and for
    /// each the entries that are left are counted.
    fn check_work(&self, counts: bool) -> Result<()> {
        let entries = self.entries.len();
        let concerned = (0..entries as u32).filter(|&entry| self.implications.concern(entry)).count();
        let looked_at = match self.order {
            Order::Declared if counts && concerned > 0 => entries,
            _ => concerned,
        };
        if looked_at.saturating_mul(entries + self.implications.len()) <= MAX_IMPLIED_WORK {
            return Ok(());
        }
        let message = format!(
            "a list of {entries} members, {concerned} of which ask for others or are asked for, is too large"
        );
        Err(Error::new(ErrorKind::Limit, message))
    }

    /// What can be added from each position on.
    fn suffix_plan(&self, budget: &Budget) -> Result<Plan> {
        let mut sums = self.endless.clone();
        for family in &self.families {
            if let Some((_, supply)) = family.supply {
                let class = &self.classes[family.candidate.class as usize];
                let some = times(&class.maybe, supply.min(self.bounds.most_members()), &self.bounds, budget)?;
                sums = sum(&sums, &some, &self.bounds, budget)?;
            }
        }
        let mut suffix = vec![sums];
        let mut all = 0;
        for at in (0..self.entries.len()).rev() {
            let class = &self.classes[self.entries[at].class as usize];
            let after = &suffix[suffix.len() - 1];
            let next = match self.order {
                Order::Sequence => {
                    let taken = sum(&class.once, after, &self.bounds, budget)?;
                    if self.may_stop[at] { taken.or(&Sums::nothing(&self.bounds)) } else { taken }
                }
                _ if self.required[at] => sum(&class.once, after, &self.bounds, budget)?,
                _ => sum(&class.maybe, after, &self.bounds, budget)?,
            };
            all += next.len();
            if all > MAX_ALL_SUMS {
                return Err(too_many_sums());
            }
            suffix.push(next);
        }
        suffix.reverse();
        Ok(Plan::Suffix(suffix))
    }

    /// Fails unless free choice among the entries that are not needed is as good as a choice that keeps the
    /// implications.
    ///
    /// It is if more members never hurt, or never help. Otherwise, if no two entries ask for each other, entries can
    /// be added one at a time so that each finds what it asks for. So every number of them can be had; and if only
    /// one counter matters, or all add alike, the number is all that matters.
    fn check_implications(&self) -> Result<()> {
        if self.implications.is_empty() || self.bounds.only_least() || self.bounds.only_greatest() {
            return Ok(());
        }
        // An entry that cannot be there counts for nothing.
        let concerned = (0..)
            .zip(&self.entries)
            .filter(|&(entry, candidate)| !candidate.choices.is_empty() && self.implications.concern(entry));
        let mut classes = concerned.map(|(_, candidate)| candidate.class);
        let first = classes.next();
        let alike = self.bounds.len() == 1 || classes.all(|class| Some(class) == first);
        let is_there = |entry: u32| !self.entries[entry as usize].choices.is_empty();
        if alike && !self.implications.have_circles(is_there) {
            return Ok(());
        }
        Err(Error::unsupported(
            "a list with both least and greatest counts whose members ask for each other in circles, or count for \
             different counters, cannot be decided exactly",
        ))
    }

    /// Fails if the sums of all entries are too many. Those of fewer entries are not more, or hardly.
    fn check_class_sums(&self, budget: &Budget) -> Result<()> {
        let most = self.bounds.most_members();
        let mut sums = self.endless.clone();
        let families = self
            .families
            .iter()
            .filter_map(|family| family.supply.map(|(_, supply)| (family.candidate.class, supply)));
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let entries = self.entries.iter().map(|entry| (entry.class, 1));
        for (class, count) in families.chain(entries) {
            let sum = counts.entry(class).or_default();
            *sum = sum.saturating_add(count);
        }
        for (class, count) in counts {
            let some = times(&self.classes[class as usize].maybe, count.min(most), &self.bounds, budget)?;
            sums = sum(&sums, &some, &self.bounds, budget)?;
        }
        Ok(())
    }
}

fn too_many_sums() -> Error {
    let message = "the counters of a list can be met in too many ways to tell which members may come";
    Error::new(ErrorKind::Limit, message)
        .with_help("give fewer counters, or smaller bounds, to the members of the list")
}

/// The sums of one and the other, if they are not too many.
fn sum(one: &Sums, other: &Sums, bounds: &Bounds, budget: &Budget) -> Result<Sums> {
    if !budget.count_sums(one.len().saturating_mul(other.len()))? {
        return Err(too_many_sums());
    }
    let sums = one.and(other, bounds);
    if sums.len() > MAX_SUMS { Err(too_many_sums()) } else { Ok(sums) }
}

/// The sums of `count` of them, if they are not too many.
fn times(sums: &Sums, count: u32, bounds: &Bounds, budget: &Budget) -> Result<Sums> {
    sums.times_by(count, bounds, &|one, other| sum(one, other, bounds, budget))
}

/// Entries are forbidden that come with too many others: those that must be there, and those that they ask for.
fn drop_crowded(entries: &mut [Candidate], layout: &Layout, implications: &Implications, bounds: &Bounds) {
    let work = entries.len().saturating_mul(entries.len() + implications.len());
    if implications.is_empty() || bounds.only_least() || work > MAX_IMPLIED_WORK {
        return;
    }
    let mut certain: Vec<bool> = layout.entries.iter().map(|entry| entry.required).collect();
    implications.spread(&mut certain);
    // For what an entry counts however it is written.
    let counters: Vec<SmallVec<[u32; 2]>> = entries
        .iter()
        .map(|entry| {
            let Some((first, others)) = entry.choices.split_first() else { return SmallVec::new() };
            let is_common = |counter: &&u32| others.iter().all(|choice| choice.counters.contains(counter));
            first.counters.iter().filter(is_common).copied().collect()
        })
        .collect();
    let add = |amounts: &mut [u32], entry: usize| {
        counters[entry].iter().for_each(|&counter| amounts[counter as usize] += 1);
    };
    let mut least = vec![0; bounds.len()];
    (0..entries.len()).filter(|&entry| certain[entry]).for_each(|entry| add(&mut least, entry));
    let crowded: Vec<usize> = (0..entries.len())
        .filter(|&entry| !certain[entry] && implications.concern(entry as u32))
        .filter(|&entry| {
            let mut amounts = least.clone();
            add(&mut amounts, entry);
            implications.all_asked(entry as u32, |asked| {
                if !certain[asked as usize] {
                    add(&mut amounts, asked as usize);
                }
                true
            });
            !bounds.are_not_exceeded(&amounts)
        })
        .collect();
    crowded.into_iter().for_each(|entry| entries[entry].choices = Box::default());
}

/// Entries that ask for a forbidden one are forbidden.
fn drop_hopeless(entries: &mut [Candidate], implications: &Implications) {
    let mut hopeless: Vec<bool> = entries.iter().map(|entry| entry.choices.is_empty()).collect();
    implications.spread_back(&mut hopeless);
    for (entry, _) in entries.iter_mut().zip(hopeless).filter(|(_, hopeless)| *hopeless) {
        entry.choices = Box::default();
    }
}

/// Whether a sequence may stop at each position: all that is required, and asked for before, has come before.
fn may_stop(layout: &Layout, implications: &Implications) -> Box<[bool]> {
    if layout.order != Order::Sequence {
        return Box::default();
    }
    let mut marked: Vec<bool> = layout.entries.iter().map(|entry| entry.required).collect();
    implications.spread(&mut marked);
    let mut until = marked.iter().rposition(|&is| is).map_or(0, |last| last + 1);
    let mut stops = Vec::with_capacity(marked.len() + 1);
    for position in 0..=marked.len() {
        stops.push(position >= until);
        if position < marked.len() && !marked[position] {
            // What this entry asks for is asked for from here on.
            implications.all_asked(position as u32, |asked| {
                until = until.max(asked as usize + 1);
                true
            });
        }
    }
    stops.into()
}

fn class(choices: &[Box<[u32]>], bounds: &Bounds) -> Class {
    let choices: Vec<&[u32]> = choices.iter().map(|counters| &**counters).collect();
    let once = Sums::of(bounds, &choices);
    let maybe = once.clone().or(&Sums::nothing(bounds));
    Class { once, maybe }
}

fn endless(families: &[Family], classes: &[Class], bounds: &Bounds, budget: &Budget) -> Result<Sums> {
    let mut sums = Sums::nothing(bounds);
    for family in families.iter().filter(|family| family.supply.is_none()) {
        let class = &classes[family.candidate.class as usize];
        // As many as can make a difference are as good as no end of them.
        let mut some = class.maybe.clone();
        let mut count = 1;
        while count < bounds.most_members() {
            some = sum(&some, &some, bounds, budget)?;
            count = count.saturating_mul(2);
        }
        sums = sum(&sums, &some, bounds, budget)?;
    }
    Ok(sums)
}

/// What is gathered on the way.
struct Work<'l> {
    layout: &'l Layout,
    /// For each counter, its number among those that matter.
    numbers: Vec<Option<u32>>,
    /// The choices of each class: lists of counters, sorted.
    classes: Vec<Vec<Box<[u32]>>>,
    class_ids: HashMap<Vec<Box<[u32]>>, u32>,
    /// Whether it matters what members can add to the counters. If not, there are no classes.
    adds_up: bool,
}

impl<'l> Work<'l> {
    fn new(layout: &'l Layout) -> Self {
        Work { layout, numbers: Vec::new(), classes: Vec::new(), class_ids: HashMap::new(), adds_up: true }
    }

    /// Finds the counters that matter: those that can be missed at all.
    fn number_counters(&mut self, is_live: &dyn Fn(Part) -> bool) -> Bounds {
        let layout = self.layout;
        let mut entries = vec![0u32; layout.counters.len()];
        let is_counted = |entry: &&Entry| entry.variants.iter().any(|variant| !variant.counters.is_empty());
        for entry in layout.entries.iter().filter(is_counted) {
            let live = entry.variants.iter().filter(|variant| is_live(variant.value));
            let mut counters: Vec<u32> = live.flat_map(|variant| variant.counters.iter().copied()).collect();
            counters.sort_unstable();
            counters.dedup();
            counters.into_iter().for_each(|counter| entries[counter as usize] += 1);
        }
        let others = layout.others.iter().flat_map(|others| &others.variants);
        for &counter in others.flat_map(|variant| &variant.counters) {
            entries[counter as usize] = u32::MAX;
        }
        let mut counts = SmallVec::new();
        for (count, most) in layout.counters.iter().zip(entries) {
            let max = count.max.filter(|&max| max < most);
            let matters = count.min > 0 || max.is_some();
            self.numbers.push(matters.then_some(counts.len() as u32));
            if matters {
                counts.push(Count { min: count.min, max });
            }
        }
        if counts.is_empty() {
            counts.push(NO_COUNT);
        }
        Bounds::new(counts)
    }

    fn candidate(&mut self, variants: &[Variant], is_live: &dyn Fn(Part) -> bool) -> Candidate {
        let number = |counter: &u32| self.numbers[*counter as usize];
        let choices: Box<[Choice]> = (0..)
            .zip(variants)
            .filter(|(_, variant)| is_live(variant.value))
            .map(|(at, variant)| Choice {
                variant: at,
                counters: variant.counters.iter().filter_map(number).collect(),
            })
            .collect();
        if !self.adds_up {
            return Candidate { choices, class: 0 };
        }
        let mut key: Vec<Box<[u32]>> = choices.iter().map(|choice| choice.counters.clone()).collect();
        key.sort_unstable();
        key.dedup();
        let class = *self.class_ids.entry(key).or_insert_with_key(|key| {
            self.classes.push(key.clone());
            self.classes.len() as u32 - 1
        });
        Candidate { choices, class }
    }

    fn families(&mut self, capacities: &[Option<u32>], is_live: &dyn Fn(Part) -> bool) -> Box<[Family]> {
        let mut supplies = 0;
        let layout = self.layout;
        let mut families = Vec::with_capacity(layout.others.len());
        for (others, &capacity) in layout.others.iter().zip(capacities) {
            let has_keys = others.keys.is_none_or(is_live) && capacity != Some(0);
            let variants: &[Variant] = if has_keys { &others.variants } else { &[] };
            let candidate = self.candidate(variants, is_live);
            let runs_out = layout.unique && others.keys.is_some();
            let supply = capacity.filter(|_| runs_out && !candidate.choices.is_empty()).map(|count| {
                supplies += 1;
                (supplies - 1, count)
            });
            families.push(Family { candidate, supply });
        }
        families.into()
    }
}
