//! States of a list, and the questions about them.

use std::borrow::Cow;

use hashbrown::HashMap;

use super::implications::Implications;
use super::sums::{Bounds, Sums};
use super::track::Track;
use crate::ir::members::Order;

/// One of the entries, or one of the families of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// The entry with this number.
    Entry(u32),
    /// One of the others with this number.
    Others(u32),
}

/// A member that may come next: which, and which variant of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member {
    /// Which.
    pub slot: Slot,
    /// The number of the variant among those of the entry or the others.
    pub variant: u32,
}

/// What a list has had so far, as far as it matters for the rest of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The first entry that may still come, where entries have an order; the node, where there is a track.
    pub(super) position: u32,
    /// Which of the tracked entries were taken, a bit for each.
    taken: Box<[u64]>,
    /// The counters, cut off where more makes no difference.
    pub(super) amounts: Box<[u32]>,
    /// How many others were taken of the families that run out.
    pub(super) used: Box<[u32]>,
}

impl State {
    /// The same at another node of a track.
    pub(super) fn at_node(&self, position: u32) -> Self {
        State { position, ..self.clone() }
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.taken) + size_of_val(&*self.amounts) + size_of_val(&*self.used)
    }
}

/// A variant that can match something.
#[derive(Clone, Debug, Hash)]
pub(super) struct Choice {
    pub(super) variant: u32,
    /// The counters that matter, by their number among those.
    pub(super) counters: Box<[u32]>,
}

/// An entry, or a family of others.
#[derive(Clone, Debug, Hash)]
pub(super) struct Candidate {
    /// None forbids it.
    pub(super) choices: Box<[Choice]>,
    /// The number of what it may add to the counters.
    pub(super) class: u32,
}

/// What a candidate may add to the counters, the same for all of a class.
#[derive(Clone, Debug, Hash)]
pub(super) struct Class {
    /// If it must be there.
    pub(super) once: Sums,
    /// If it may be left out.
    pub(super) maybe: Sums,
}

/// A family of others.
#[derive(Clone, Debug, Hash)]
pub(super) struct Family {
    pub(super) candidate: Candidate,
    /// If it runs out: its number among those that do, and how many there are.
    pub(super) supply: Option<(u32, u32)>,
}

/// How to tell whether the counters can still be met.
#[derive(Clone, Debug, Hash)]
pub(super) enum Plan {
    /// No counter matters.
    Free,
    /// By what can be added from each position on.
    Suffix(Vec<Sums>),
    /// By how many entries of each class are left.
    Classes,
}

/// The conditions of a list.
#[derive(Clone, Debug, Hash)]
pub struct Conditions {
    pub(super) order: Order,
    pub(super) entries: Box<[Candidate]>,
    pub(super) required: Box<[bool]>,
    pub(super) families: Box<[Family]>,
    /// The place of an entry among those of which it matters whether they were taken.
    pub(super) tracked: Box<[Option<u32>]>,
    pub(super) tracked_count: u32,
    pub(super) implications: Implications,
    pub(super) bounds: Bounds,
    pub(super) classes: Box<[Class]>,
    pub(super) plan: Plan,
    /// What the families that never run out can add together.
    pub(super) endless: Sums,
    /// How many families run out.
    pub(super) supplies: u32,
    /// For a sequence: whether entries and implications let it end at a position.
    pub(super) may_stop: Box<[bool]>,
    pub(super) satisfiable: bool,
    /// The nodes that say everything where an automaton runs beside the list.
    pub(super) track: Option<Track>,
}

impl Conditions {
    /// The state of an empty list.
    pub fn start(&self) -> State {
        State {
            position: 0,
            taken: vec![0; self.tracked_count.div_ceil(64) as usize].into(),
            amounts: vec![0; self.bounds.len()].into(),
            used: vec![0; self.supplies as usize].into(),
        }
    }

    /// Whether any list meets the conditions.
    pub fn is_satisfiable(&self) -> bool {
        self.satisfiable
    }

    /// Whether the list may end in `state`.
    pub fn may_end(&self, state: &State) -> bool {
        if let Some(track) = &self.track {
            return track.may_end(state.position);
        }
        self.satisfiable && self.entries_are_met(state) && self.bounds.are_met(&state.amounts)
    }

    fn entries_are_met(&self, state: &State) -> bool {
        if self.order == Order::Sequence {
            return self.may_stop[state.position as usize];
        }
        let implied = |(first, second)| !self.is_taken(state, first) || self.is_taken(state, second);
        self.first_required(state).is_none() && self.implications.pairs().all(implied)
    }

    /// The first entry that is required and was not taken.
    fn first_required(&self, state: &State) -> Option<u32> {
        let untaken = |&entry: &u32| self.required[entry as usize] && !self.was_taken(state, entry);
        (state.position..self.entries.len() as u32).find(untaken)
    }

    /// Whether a tracked entry was taken.
    pub(super) fn is_taken(&self, state: &State, entry: u32) -> bool {
        let bit = |at: u32| state.taken[at as usize / 64] >> (at % 64) & 1 == 1;
        self.tracked[entry as usize].is_some_and(bit)
    }

    /// Whether an entry was taken, or passed by, which a required one never is.
    fn was_taken(&self, state: &State, entry: u32) -> bool {
        if self.order == Order::Any { self.is_taken(state, entry) } else { entry < state.position }
    }

    /// The state after `member`, which must be allowed.
    pub fn take(&self, state: &State, member: Member) -> State {
        if let Some(track) = &self.track {
            return state.at_node(track.after(state.position, member));
        }
        let mut next = self.pass(state, member.slot);
        let candidate = match member.slot {
            Slot::Entry(entry) => &self.entries[entry as usize],
            Slot::Others(others) => &self.families[others as usize].candidate,
        };
        let choice = candidate.choices.iter().find(|choice| choice.variant == member.variant);
        for &counter in choice.iter().flat_map(|choice| &choice.counters) {
            let amount = &mut next.amounts[counter as usize];
            *amount = self.bounds.saturate(counter as usize, amount.saturating_add(1));
        }
        next
    }

    /// The state after a member, but for what it adds to the counters.
    fn pass(&self, state: &State, slot: Slot) -> State {
        let mut next = state.clone();
        match slot {
            Slot::Entry(entry) => {
                if let Some(at) = self.tracked[entry as usize] {
                    next.taken[at as usize / 64] |= 1 << (at % 64);
                }
                next.position = entry + 1;
            }
            Slot::Others(others) => {
                next.position = self.entries.len() as u32;
                if let Some((at, _)) = self.families[others as usize].supply {
                    next.used[at as usize] += 1;
                }
            }
        }
        if self.order == Order::Any {
            next.position = 0;
        }
        next
    }

    /// The members after any of which the list can be completed: entries by number, then others.
    pub fn allowed(&self, state: &State) -> Vec<Member> {
        if let Some(track) = &self.track {
            return track.members(state.position).collect();
        }
        // PERF: an object of a `oneOf` of twelve with thirty names took a millisecond for each set of names that it had had.
        self.allowed_by_dominant(state).unwrap_or_else(|| self.allowed_by_sums(state))
    }

    /// The same for any list.
    pub(super) fn allowed_by_sums(&self, state: &State) -> Vec<Member> {
        let mut allowed = Vec::new();
        let Some(left) = self.bounds.after(&state.amounts).filter(|_| self.satisfiable) else {
            return allowed;
        };
        let needed = self.needed(state);
        let mut known: HashMap<(u32, bool), Option<Cow<'_, Sums>>> = HashMap::new();
        let end = self.entries.len() as u32;
        let last = match self.order {
            Order::Sequence => end.min(state.position + 1),
            Order::Declared => needed.first(state.position).map_or(end, |entry| entry + 1),
            Order::Any => end,
        };
        for entry in state.position..last {
            let candidate = &self.entries[entry as usize];
            if candidate.choices.is_empty() || self.order == Order::Any && self.is_taken(state, entry) {
                continue;
            }
            if self.order == Order::Declared && !self.finds_what_it_asks_for(state, entry) {
                continue;
            }
            // Without an order, entries of one class are alike unless one asks for others.
            let alike = self.order == Order::Any && !self.implications.concern(entry);
            let mut own = None;
            let rest = match self.plan {
                Plan::Classes if alike => {
                    known.entry((candidate.class, self.required[entry as usize])).or_default()
                }
                _ => &mut own,
            };
            self.add_choices(state, &left, (Slot::Entry(entry), candidate), rest, &mut allowed);
        }
        let others_may_come = match self.order {
            Order::Sequence => state.position == end,
            Order::Declared => needed.first(state.position).is_none(),
            Order::Any => true,
        };
        if others_may_come {
            for (others, family) in (0..).zip(&self.families) {
                if family.supply.is_none_or(|(at, supply)| state.used[at as usize] < supply) {
                    let slot = (Slot::Others(others), &family.candidate);
                    self.add_choices(state, &left, slot, &mut None, &mut allowed);
                }
            }
        }
        allowed
    }

    /// Adds those choices of a candidate after which the list can be completed, where so much is `left` before it. What the
    /// members after it can add, the `rest`, is the same for all of its choices, and found if it is asked for.
    fn add_choices<'c>(
        &'c self,
        state: &State,
        left: &Bounds,
        (slot, candidate): (Slot, &Candidate),
        rest: &mut Option<Cow<'c, Sums>>,
        allowed: &mut Vec<Member>,
    ) {
        for choice in &candidate.choices {
            let mut fits = |after: Bounds| {
                let find = || self.rest(&self.pass(state, slot), left);
                self.is_met_by_any(&after) || after.can_be_met(rest.get_or_insert_with(find))
            };
            if matches!(self.plan, Plan::Free) || left.after_one(&choice.counters).is_some_and(&mut fits) {
                allowed.push(Member { slot, variant: choice.variant });
            }
        }
    }

    /// Whether what an entry asks for was taken or comes after it.
    fn finds_what_it_asks_for(&self, state: &State, entry: u32) -> bool {
        self.implications.all_asked(entry, |asked| asked > entry || self.is_taken(state, asked))
    }

    /// The entries that must still come.
    fn needed(&self, state: &State) -> Needed<'_> {
        if self.implications.is_empty() {
            return Needed::Required(&self.required);
        }
        let mut marked: Vec<bool> = (0..self.entries.len() as u32)
            .map(|entry| self.required[entry as usize] || self.is_taken(state, entry))
            .collect();
        self.implications.spread(&mut marked);
        for entry in 0..self.entries.len() as u32 {
            marked[entry as usize] &= !self.is_taken(state, entry) && !self.is_passed(state, entry);
        }
        Needed::Marked(marked)
    }

    /// Whether an entry must still come.
    pub(super) fn is_needed(&self, state: &State, entry: u32) -> bool {
        let is_gone = self.is_taken(state, entry) || self.is_passed(state, entry);
        let is_asked = || !self.implications.is_empty() && self.needed(state).contains(entry);
        !is_gone && (self.required[entry as usize] || is_asked())
    }

    fn is_passed(&self, state: &State, entry: u32) -> bool {
        self.order != Order::Any && entry < state.position
    }

    /// Whether the list can be completed from the start.
    fn can_complete(&self) -> bool {
        let is_met =
            |left: Bounds| self.is_met_by_any(&left) || left.can_be_met(&self.rest(&self.start(), &left));
        matches!(self.plan, Plan::Free) || is_met(self.bounds.clone())
    }

    /// Whether so much is met whatever comes, and something can. The members of a sequence may be impossible.
    fn is_met_by_any(&self, left: &Bounds) -> bool {
        matches!(self.plan, Plan::Classes) && left.are_met_by_any()
    }

    /// What the members that can still come can add, where so much is `left` to meet. Every entry that is needed can.
    fn rest(&self, state: &State, left: &Bounds) -> Cow<'_, Sums> {
        match &self.plan {
            Plan::Suffix(suffix) if (state.position as usize) < self.entries.len() => {
                Cow::Borrowed(&suffix[state.position as usize])
            }
            Plan::Free | Plan::Suffix(_) => Cow::Owned(self.others_sums(state, left)),
            Plan::Classes => Cow::Owned(self.class_sums(state, left)),
        }
    }

    /// What the others can still add, where so much is `left` to meet.
    fn others_sums(&self, state: &State, left: &Bounds) -> Sums {
        let mut sums = self.endless.clone();
        for family in &self.families {
            if let Some((at, supply)) = family.supply {
                let class = &self.classes[family.candidate.class as usize];
                let count = supply.saturating_sub(state.used[at as usize]).min(left.most_members());
                sums = sums.and(&class.maybe.times(count, left), left);
            }
        }
        sums.best(left)
    }

    /// What the entries that are left and the others can add, where so much is `left` to meet.
    fn class_sums(&self, state: &State, left: &Bounds) -> Sums {
        let needed = self.needed(state);
        let barred = self.barred(state);
        let mut counts = vec![(0u32, 0u32); self.classes.len()];
        for (entry, candidate) in (0..).zip(&self.entries) {
            let gone = self.is_taken(state, entry) || self.is_passed(state, entry);
            if gone || candidate.choices.is_empty() || barred.get(entry as usize) == Some(&true) {
                continue;
            }
            let (must, may) = &mut counts[candidate.class as usize];
            *(if needed.contains(entry) { must } else { may }) += 1;
        }
        let most = left.most_members();
        let mut sums = self.others_sums(state, left);
        for (class, (must, may)) in self.classes.iter().zip(counts) {
            for (one, count) in [(&class.once, must), (&class.maybe, may.min(most))] {
                if count > 0 && !one.is_nothing() {
                    sums = sums.and(&one.times(count, left).best(left), left).best(left);
                }
            }
        }
        sums
    }

    /// The entries that ask for one which was passed by. Empty if there are none.
    fn barred(&self, state: &State) -> Vec<bool> {
        if self.implications.is_empty() || self.order == Order::Any {
            return Vec::new();
        }
        let mut marked: Vec<bool> = (0..self.entries.len() as u32)
            .map(|entry| self.is_passed(state, entry) && !self.is_taken(state, entry))
            .collect();
        self.implications.spread_back(&mut marked);
        marked
    }

    /// Whether the conditions can be met at all.
    pub(super) fn compute_satisfiable(&self) -> bool {
        let forbidden = |(required, entry): (&bool, &Candidate)| *required && entry.choices.is_empty();
        let possible =
            self.order == Order::Sequence || !self.required.iter().zip(&self.entries).any(forbidden);
        possible && self.can_complete()
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        const A_CANDIDATE: usize = 120;
        const A_SUM: usize = 64;
        let suffix = if let Plan::Suffix(suffix) = &self.plan { suffix.len() } else { 0 };
        size_of::<Self>()
            + (self.entries.len() + self.families.len() + self.classes.len()) * A_CANDIDATE
            + suffix * A_SUM
            + self.track.as_ref().map_or(0, Track::memory_bytes)
            + self.implications.len() * 16
    }
}

/// The entries that must still come.
enum Needed<'c> {
    /// Those that are required, whether taken or not.
    Required(&'c [bool]),
    Marked(Vec<bool>),
}

impl Needed<'_> {
    fn all(&self) -> &[bool] {
        match self {
            Needed::Required(all) => all,
            Needed::Marked(all) => all,
        }
    }

    fn contains(&self, entry: u32) -> bool {
        self.all()[entry as usize]
    }

    /// The first of them from `position` on.
    fn first(&self, position: u32) -> Option<u32> {
        let found = self.all()[position as usize..].iter().position(|&is| is);
        found.map(|at| position + at as u32)
    }
}
