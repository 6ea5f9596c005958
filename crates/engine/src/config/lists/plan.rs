//! How a list can be completed, and what that takes.
//!
//! From each place one way on is chosen: the member that brings the list nearest to where it may end, of several the
//! cheapest. The choice depends on the place alone, and choosing among the keys below a node of the key tree is choosing
//! among all of them if the choice is there; so having gone some of the way the rest of it is still what is chosen, and what
//! it takes is what was left. It is a way to the end, though not always the shortest.
//!
//! Where nothing is needed but certain keys, each of them costs the same whenever it comes, and what they take is a sum
//! ([`members`]).
//!
//! Where no key may come twice, the keys that are chosen are excluded for those after them, as they will be when they are
//! read.

mod members;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tokenstile_grammar::machine::{ListId, MachineRuleId};
use tokenstile_grammar::members::{Member, Slot};

use members::MemberCosts;

use super::{Finder, Generation, Move, Moves, Phase, Place, StateId, Target};
use crate::terminal::{NO_END, TerminalId};

/// What the parts of a list take, in tokens.
pub(crate) trait PartCosts {
    /// A terminal from its state on.
    fn terminal(&mut self, generation: &Generation, state: TerminalId) -> u32;
    /// A rule.
    fn rule(&mut self, rule: MachineRuleId) -> u32;
    /// The bytes of the cheapest text of a terminal.
    fn word(&mut self, generation: &Generation, state: TerminalId) -> Option<Vec<u8>>;
}

/// What it takes to complete lists from places, as far as that was found.
#[derive(Default)]
pub(crate) struct PlaceCosts {
    places: FxHashMap<u32, u32>,
    members: FxHashMap<ListId, Option<Arc<MemberCosts>>>,
}

impl PlaceCosts {
    /// How many numbers are kept, roughly.
    pub(crate) fn len(&self) -> usize {
        self.places.len() + self.members.values().flatten().map(|costs| costs.len()).sum::<usize>()
    }
}

/// Ways with more places than this are not followed.
const MOST_PLACES: usize = 1 << 17;

/// What members are chosen by, the least first.
type Merit = (u32, u32, Member);

impl Generation {
    /// What it takes to complete the list of a frame from the place in it; `None` if it is the frame of no list. With
    /// `nonempty` it must have a member.
    pub(crate) fn list_cost(
        &self,
        list: ListId,
        place: u32,
        nonempty: bool,
        costs: &mut impl PartCosts,
        known: &mut PlaceCosts,
    ) -> u32 {
        let start = if place == 0 { self.list_start(list) } else { place };
        let mut passed: Vec<(u32, u32)> = Vec::new();
        let mut at = start;
        let mut total = loop {
            let must_go_on = nonempty && place == 0 && passed.is_empty();
            if let Some(&rest) = known.places.get(&at).filter(|_| !must_go_on) {
                break rest;
            }
            if let Some(rest) = self.sum_of_members(list, at, costs, known).filter(|_| !must_go_on) {
                known.places.insert(at, rest);
                break rest;
            }
            // PERF: to find the moves at a place takes ten times as long as to choose a member, and a way passes as many places as it
            // has members. In an object of a `oneOf` of nine each set of names was such a place.
            let by_members = self.next_by_members(list, at, !must_go_on, costs, known);
            let (cost, next) = match by_members {
                Some(Next::End) => break 0,
                Some(Next::After(cost, next)) => (cost, next),
                None => {
                    let moves = self.list_moves(list, at);
                    if moves.ends && !must_go_on {
                        break 0;
                    }
                    let Some(found) = self.next_place(at, moves, costs) else { break NO_END };
                    found
                }
            };
            passed.push((at, cost));
            if passed.len() > MOST_PLACES || cost >= NO_END {
                break NO_END;
            }
            at = next;
        };
        for &(at, cost) in passed.iter().rev() {
            total = (total + cost).min(NO_END);
            let is_special = nonempty && at == start && place == 0;
            if !is_special {
                known.places.insert(at, total);
            }
        }
        total
    }

    /// The place that comes after `at` on the way to the end, and what it takes to come there.
    fn next_place(&self, at: u32, moves: &Moves, costs: &mut impl PartCosts) -> Option<(u32, u32)> {
        let Place { state, phase } = self.lists().place(at).place;
        let planner = Planner { generation: self, finder: Finder::new(self, state), state };
        match phase {
            Phase::Start | Phase::Before => planner.toward(planner.choose(Among::All, costs)?, moves, costs),
            Phase::Quoted => planner.toward(planner.choose(Among::Keys, costs)?, moves, costs),
            Phase::Key(node) => planner.toward(planner.choose(Among::Below(node), costs)?, moves, costs),
            Phase::After if !planner.finder.list.track.is_empty() => planner.toward_nearest(moves, costs),
            // After a separator there may be one way on, which is then a part of this one.
            Phase::After => match *moves.all {
                [Move { target: Target::Place(next), .. }]
                    if matches!(self.lists().place(next).place.phase, Phase::Before | Phase::Quoted) =>
                {
                    Some((planner.cost(&moves.all[0], costs), next))
                }
                _ => planner.toward(planner.choose(Among::All, costs)?, moves, costs),
            },
            Phase::OtherKey { others, variant } => {
                let member = Member { slot: Slot::Others(others), variant };
                let cost = planner.cost(moves.all.first()?, costs);
                Some((cost, planner.after_other(member, costs)?))
            }
            Phase::Cut(_) => None,
        }
    }
}

/// What comes next on the way to the end of a list.
enum Next {
    End,
    /// A place, and what it takes to come there.
    After(u32, u32),
}

/// Which members there are to choose among.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Among {
    /// All of them.
    All,
    /// Those that have keys.
    Keys,
    /// Those of the entries whose keys are at a node of the tree or below it.
    Below(u32),
}

struct Planner<'g> {
    generation: &'g Generation,
    finder: Finder<'g>,
    state: StateId,
}

impl Planner<'_> {
    /// What a move takes.
    fn cost(&self, step: &Move, costs: &mut impl PartCosts) -> u32 {
        let terminal = step.terminal.map_or(0, |state| costs.terminal(self.generation, state));
        let rule = step.rule.map_or(0, |rule| costs.rule(rule));
        (terminal + rule).min(NO_END)
    }

    /// The member to go on with.
    fn choose(&self, among: Among, costs: &mut impl PartCosts) -> Option<Member> {
        let (list, had) = (self.finder.list, self.finder.had);
        let allowed = self.generation.allowed(self.state);
        let ranks = match among {
            Among::Below(node) => list.keys.nodes[node as usize].ranks.clone(),
            _ => 0..u32::MAX,
        };
        let keyed = super::in_ranks(&allowed.keyed, &ranks)
            .iter()
            .map(|&(rank, variant)| Member { slot: Slot::Entry(list.keys.entries[rank as usize]), variant });
        let others = allowed.rest.iter().copied().filter(|&member| match among {
            Among::All => true,
            Among::Keys => self.finder.other_keys(member).is_some(),
            Among::Below(_) => false,
        });
        let mut best: Option<Merit> = None;
        for member in keyed.chain(others) {
            let value = match member.slot {
                Slot::Entry(entry) => list.entries[entry as usize][member.variant as usize],
                Slot::Others(others) => list.others[others as usize].variants[member.variant as usize],
            };
            let cost = value.rule.map_or(0, |rule| costs.rule(rule));
            let merit = (list.conditions.urgency(&had.state, member), cost, member);
            if best.is_none_or(|best| merit < best) {
                best = Some(merit);
            }
        }
        best.map(|(_, _, member)| member)
    }

    /// The place that comes next on the way to `member`, and what it takes to come there.
    fn toward(&self, member: Member, moves: &Moves, costs: &mut impl PartCosts) -> Option<(u32, u32)> {
        let list = self.finder.list;
        let rank = match member.slot {
            Slot::Entry(entry) => list.keys.ranks[entry as usize],
            Slot::Others(_) => None,
        };
        let after = self.finder.after(member, self.finder.had.seen);
        let has_key = rank.is_some() || self.finder.other_keys(member).is_some();
        let leads = |place: Place| match place.phase {
            Phase::Quoted => has_key,
            Phase::Key(node) => rank.is_some_and(|rank| list.keys.nodes[node as usize].ranks.contains(&rank)),
            Phase::OtherKey { others, variant } => member == Member { slot: Slot::Others(others), variant },
            Phase::After => place.state == after,
            _ => false,
        };
        let mut best: Option<(u32, u32)> = None;
        for step in &moves.all {
            let Target::Place(place) = step.target else { continue };
            if leads(self.generation.lists().place(place).place) {
                let way = (self.cost(step, costs), place);
                best = Some(best.map_or(way, |best| best.min(way)));
            }
        }
        best
    }

    /// The place from which the fewest members are missing, and what it takes to come there.
    fn toward_nearest(&self, moves: &Moves, costs: &mut impl PartCosts) -> Option<(u32, u32)> {
        let lists = self.generation.lists();
        let conditions = &self.finder.list.conditions;
        let mut best: Option<(u32, u32, u32)> = None;
        for step in &moves.all {
            let Target::Place(place) = step.target else { continue };
            let state = lists.place(place).place.state;
            let distance = conditions.track_distance(&lists.state(state).had.state);
            let way = (distance, self.cost(step, costs), place);
            best = Some(best.map_or(way, |best| best.min(way)));
        }
        best.map(|(_, cost, place)| (cost, place))
    }

    /// The place after a member of the others: if its key counts, as though that had been the cheapest one.
    fn after_other(&self, member: Member, costs: &mut impl PartCosts) -> Option<u32> {
        let (generation, finder) = (self.generation, &self.finder);
        let mut seen = finder.had.seen;
        let Slot::Others(others) = member.slot else { return None };
        let after = finder.after(member, seen);
        // No other key is needed after this one, so it does not matter what it was.
        let is_over = finder.list.conditions.has_enough(&generation.lists().state(after).had.state);
        if let Some(keys) =
            finder.list.others[others as usize].keys.filter(|_| finder.list.unique && !is_over)
        {
            let excluded = generation.excluded_keys(finder.had);
            let terminals = generation.terminals();
            let key = terminals.key(generation.terminal(keys), excluded, finder.list.escapes, false);
            let mut spelled = vec![b'"'];
            spelled.extend(costs.word(generation, key)?);
            let text: String = serde_json::from_slice(&spelled).ok()?;
            seen = Some(terminals.exclude(excluded, &text));
        }
        let state = finder.after(member, seen);
        Some(generation.lists().intern_place(Place { state, phase: Phase::After }))
    }
}
