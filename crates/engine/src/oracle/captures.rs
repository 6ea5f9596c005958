//! Captures: which spans of the text the captured rules matched.
//!
//! The chart holds an item for each rule that ended somewhere, so the spans are there to be read, without a tree. Two
//! readings are offered, because a span that looked right for a while may turn out otherwise:
//!
//! - *all*: every span at which a captured rule ended, in the order of their ends, whatever became of it. After `abc`,
//!   `x[capture] ::= [a-z]+` has `a`, `ab` and `abc`.
//! - *settled*: of those, the spans that belong to a parse of the whole text so far which can still go on or is
//!   complete; and of the spans of one name from one start, the longest. So `x` is `abc`; and with
//!   `root ::= x "1" | y "2"`, a `2` leaves the span of `y` alone.
//!
//! A rule inside another ends before it and comes first. A rule that matched nothing at the very start of the text
//! is not reported. The work is polynomial in the text, however ambiguous the grammar.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use tokenstile_grammar::{Budget, CancelFlag, Limits, Result};

use super::chart::{Item, OracleState, SetId};
use super::node::START;

/// A span of the text that a captured rule matched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Capture {
    /// The name that the rule gives to its spans.
    pub name: Arc<str>,
    /// The offset of its first byte in the text.
    pub start: usize,
    /// The offset behind its last byte.
    pub end: usize,
    /// The parts of it that are left out, in their order: the stops of rules inside of it.
    pub hidden: Box<[(usize, usize)]>,
}

/// Any amount of work.
fn endless() -> Budget {
    Budget::new(Limits { max_compile_time: Duration::MAX, ..Limits::default() }, CancelFlag::default())
}

/// What must have been for an item to come to its position: all of these.
pub(super) type Way = SmallVec<[(SetId, Item); 2]>;

impl OracleState<'_> {
    /// Every span at which a captured rule ended, in the order of their ends.
    pub fn all_captures(&self) -> Vec<Capture> {
        self.captures_where(|_, _| true, &endless()).unwrap_or_default()
    }

    /// The spans of the parses that are still possible, the longest for each name and start, in the order of their
    /// ends.
    pub fn captures(&self) -> Vec<Capture> {
        self.captures_within(&endless()).unwrap_or_default()
    }

    /// The same, within the time of `budget`: the work is cubic in the text where the grammar is ambiguous.
    pub fn captures_within(&self, budget: &Budget) -> Result<Vec<Capture>> {
        let under_way = self.under_way(budget)?;
        self.settled(under_way, budget)
    }

    /// The same where the text is over: the spans of the parses that are complete.
    pub fn captures_at_end(&self, budget: &Budget) -> Result<Vec<Capture>> {
        let last = self.sets.len() as SetId - 1;
        let ended = self.sets[last as usize].ended.get(&self.root);
        let whole = ended.into_iter().flatten().filter(|item| item.origin == 0);
        self.settled(whole.map(|&item| (last, item)).collect(), budget)
    }

    fn settled(&self, seeds: FxHashSet<(SetId, Item)>, budget: &Budget) -> Result<Vec<Capture>> {
        let live = self.live_ends(seeds, budget)?;
        let mut captures = self.captures_where(|set, item| live.contains(&(set, item)), budget)?;
        // The ends ascend, so the last of equal starts is the longest.
        let mut last: FxHashMap<(Arc<str>, usize), usize> = FxHashMap::default();
        for (at, capture) in captures.iter().enumerate() {
            last.insert((Arc::clone(&capture.name), capture.start), at);
        }
        let mut at = 0;
        captures.retain(|capture| {
            at += 1;
            last[&(Arc::clone(&capture.name), capture.start)] == at - 1
        });
        Ok(captures)
    }

    /// How many bytes were read.
    pub(crate) fn text_len(&self) -> usize {
        self.text.len()
    }

    /// The bytes of a span, without what is left out.
    pub fn captured_bytes(&self, capture: &Capture) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(capture.end - capture.start);
        let mut at = capture.start;
        for &(start, end) in &capture.hidden {
            bytes.extend_from_slice(&self.text[at..start.max(at)]);
            at = end.max(at);
        }
        bytes.extend_from_slice(&self.text[at..capture.end]);
        bytes
    }

    fn captures_where(&self, keep: impl Fn(SetId, Item) -> bool, budget: &Budget) -> Result<Vec<Capture>> {
        let mut captures = Vec::new();
        for (id, set) in (0..).zip(&self.sets).skip(1) {
            for &item in &set.items {
                let is_end = || self.nodes.is_end(item.node, item.at) && keep(id, item);
                if self.nodes.capture(item.node).is_some() && is_end() {
                    captures.extend(self.captures_at(id, item, budget)?);
                }
            }
        }
        Ok(captures)
    }

    /// The captures of an item that ended in a set.
    pub(super) fn captures_at(&self, set: SetId, item: Item, budget: &Budget) -> Result<Vec<Capture>> {
        let Some(found) = self.nodes.capture(item.node) else { return Ok(Vec::new()) };
        let [start, end] = [item.origin, set].map(|set| self.sets[set as usize].offset);
        let mut captures: Vec<Capture> = found.of(start, end).collect();
        if self.nodes.hide_stops() && !captures.is_empty() {
            let hidden = self.hidden_within(set, item, budget)?;
            for capture in &mut captures {
                let is_inside = |&(start, end): &(usize, usize)| capture.start <= start && end <= capture.end;
                capture.hidden = hidden.iter().copied().filter(is_inside).collect();
            }
        }
        Ok(captures)
    }

    /// The stops of the rules inside of an item that ended in a set, in their order.
    fn hidden_within(&self, set: SetId, item: Item, budget: &Budget) -> Result<Vec<(usize, usize)>> {
        let inside = self.live_ends(std::iter::once((set, item)).collect(), budget)?;
        let mut hidden = Vec::new();
        for (end, other) in inside {
            let is_end = self.nodes.is_end(other.node, other.at) && (end, other) != (set, item);
            if let Some(found) = self.nodes.capture(other.node).filter(|_| is_end) {
                let [start, end] = [other.origin, end].map(|set| self.sets[set as usize].offset);
                hidden.extend(found.hidden(start, end));
            }
        }
        hidden.sort_unstable();
        hidden.dedup();
        Ok(hidden)
    }

    /// The items, each with its set, that are under way after the whole text so far.
    ///
    /// It goes backwards from the last set. An item under way there is on such a parse, and so is whoever called it;
    /// of an item that is on a parse, so are the calls that brought it to its position. Only the first kind looks at
    /// its callers: a call inside a parse has one caller, not all that were possible where it began.
    fn under_way(&self, budget: &Budget) -> Result<FxHashSet<(SetId, Item)>> {
        let last = self.sets.len() as SetId - 1;
        let mut agenda: Vec<(SetId, Item)> =
            self.sets[last as usize].items.iter().map(|&item| (last, item)).collect();
        let mut under_way: FxHashSet<(SetId, Item)> = agenda.iter().copied().collect();
        while let Some((_, item)) = agenda.pop() {
            for caller in self.callers_before(item) {
                budget.tick()?;
                if under_way.insert((item.origin, caller)) {
                    agenda.push((item.origin, caller));
                }
            }
        }
        Ok(under_way)
    }

    /// The items that lie on the parses which end in some items.
    fn live_ends(
        &self,
        mut live: FxHashSet<(SetId, Item)>,
        budget: &Budget,
    ) -> Result<FxHashSet<(SetId, Item)>> {
        let mut agenda: Vec<(SetId, Item)> = live.iter().copied().collect();
        while let Some((set, item)) = agenda.pop() {
            budget.check()?;
            for step in self.ways_into(set, item).into_iter().flatten() {
                if live.insert(step) {
                    agenda.push(step);
                }
            }
        }
        Ok(live)
    }

    /// Those who called `item`, as they were when they called it.
    fn callers_before(&self, item: Item) -> impl Iterator<Item = Item> {
        let callers = self.sets[item.origin as usize].callers.get(&item.node);
        callers.into_iter().flatten().map(|&(caller, _)| caller)
    }

    /// The ways in which `item` may have come to its position in `set`: a callee that ended there, and itself before that
    /// call. Or itself before the last byte, where it reads bytes between two calls.
    pub(super) fn ways_into(&self, set: SetId, item: Item) -> Vec<Way> {
        let mut steps = Vec::new();
        if let Some(before) = set.checked_sub(1).filter(|_| self.nodes.reads_and_calls(item.node)) {
            let byte = self.text[self.sets[set as usize].offset - 1];
            let leads_here = |other: &Item| {
                other.node == item.node
                    && other.origin == item.origin
                    && self.nodes.after_byte(other.node, other.at, byte) == Some(item.at)
            };
            let others = self.sets[before as usize].items.iter().copied().filter(leads_here);
            steps.extend(others.map(|other| Way::from_slice(&[(before, other)])));
        }
        if item.at == START && !self.nodes.is_repeat(item.node) {
            return steps;
        }
        for (callee, before) in self.nodes.calls_into(item.node, item.at) {
            for &ended in self.sets[set as usize].ended.get(&callee).into_iter().flatten() {
                let caller = Item { at: before, ..item };
                let empty_round = ended.origin == set && self.nodes.is_repeat(item.node);
                if !empty_round && self.sets[ended.origin as usize].contains(&caller) {
                    steps.push(Way::from_slice(&[(set, ended), (ended.origin, caller)]));
                }
            }
        }
        steps
    }
}
