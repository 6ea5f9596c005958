//! Closing: what follows without reading anything.
//!
//! When terminals end, their frames are popped, and where a frame's rule may end too, the frames below as well. Then
//! each popped frame goes on: over jumps, into terminals, and into calls. Calls are entered in the order of rank, so
//! that every rule is entered once, with all of its callers already known.

use smallvec::SmallVec;
use tokenstile_grammar::machine::{Counter, Label, ListUse, MachineRuleId, NodeId};

use super::lists::{Move, Target};
use super::sets::{Holes, Items, SetDraft, SetId};
use super::symbol::{Symbol, SymbolKind};
use crate::generation::Generation;
use crate::interrupt;
use crate::small::SmallMap;
use crate::terminal::TerminalId;

/// A configuration while it is being closed.
pub(super) struct Closer<'g> {
    generation: &'g Generation,
    /// The popped frames and what lies under each.
    frames: SmallMap<(NodeId, u32), SetId>,
    /// The sets whose frames were popped.
    popped: SmallMap<SetId, ()>,
    /// The rules to enter, by rank, the highest first, and where each returns to: any of these.
    calls: SmallVec<[Call; 4]>,
    /// Terminals and tokens, unsorted, a symbol perhaps more than once.
    items: Items,
    ends: bool,
    holes: Holes,
}

type Call = ((u32, MachineRuleId), SmallVec<[SetId; 2]>);

impl<'g> Closer<'g> {
    pub(super) fn new(generation: &'g Generation) -> Self {
        Closer {
            generation,
            frames: SmallMap::new(),
            popped: SmallMap::new(),
            calls: SmallVec::new(),
            items: Items::new(),
            ends: false,
            holes: 0,
        }
    }

    /// Adds a terminal that is being read.
    pub(super) fn add(&mut self, symbol: Symbol, rest: SetId) {
        self.items.push((symbol, rest));
    }

    /// Adds a call of a rule on an empty stack.
    pub(super) fn start_rule(&mut self, rule: MachineRuleId) {
        self.call(rule, SetId::BOTTOM);
    }

    /// Adds a call of the root rule on an empty stack.
    pub(super) fn start(&mut self) {
        let machine = self.generation.machine();
        self.ends = machine.accepts_empty;
        self.call(machine.root, SetId::BOTTOM);
    }

    /// Pops the top frames of `set`, and those below as far as rules may end.
    pub(super) fn pop(&mut self, set: SetId) {
        let generation = self.generation;
        let sets = generation.sets();
        let mut stack: SmallVec<[SetId; 8]> = SmallVec::from_slice(&[set]);
        while let Some(set) = stack.pop() {
            if !self.popped.insert(set, ()) {
                continue;
            }
            self.ends |= sets.ends(set);
            self.holes |= sets.holes(set);
            for &(symbol, rest) in sets.items(set) {
                let SymbolKind::Frame(node, count) = symbol.kind() else { continue };
                let (known, _) = self.frames.entry((node, count), SetId::DEAD);
                let union = sets.union(*known, rest);
                if union != *known {
                    *known = union;
                    // What was known is popped already.
                    if generation.may_end(node, count) {
                        stack.push(rest);
                    }
                }
            }
        }
    }

    /// The closed configuration.
    pub(super) fn finish(mut self) -> SetId {
        // Frames on the same stack go on together, so that what several of them jump to is looked at once.
        let mut frames: SmallVec<[_; 4]> =
            self.frames.entries().iter().map(|&(frame, rest)| (rest, frame)).collect();
        frames.sort_unstable();
        for group in frames.chunk_by(|a, b| a.0 == b.0) {
            self.go_on(group.iter().map(|&(_, frame)| frame), group[0].0);
        }
        while let Some(((_, rule), returns)) = self.calls.pop() {
            let start = self.generation.machine().rule(rule).start;
            let merge = |items: Items| self.generation.intern_items(items, false, 0);
            let returns = self.generation.sets().returns(returns, merge);
            self.go_on([(start, 0)], returns);
        }
        self.generation.intern_items(self.items, self.ends, self.holes)
    }

    /// Follows the jumps from some nodes with their counts, and takes note of what can be read there.
    fn go_on(&mut self, starts: impl IntoIterator<Item = (NodeId, u32)>, rest: SetId) {
        let generation = self.generation;
        let machine = generation.machine();
        let mut seen: SmallMap<(NodeId, u32), ()> = SmallMap::new();
        let mut stack: SmallVec<[(NodeId, u32); 8]> = starts.into_iter().collect();
        let several = stack.len() > 1;
        while let Some((id, count)) = stack.pop() {
            interrupt::poll(1);
            let node = machine.node(id);
            let leads_on = several || !node.jumps.is_empty() || node.next().is_some();
            if leads_on && !seen.insert((id, count), ()) {
                continue;
            }
            if let Some(counter) = &node.counter {
                if count < counter.max {
                    let frame = Symbol::frame(id, next_count(counter, count));
                    self.call(counter.rule, generation.sets().push(frame, rest));
                }
                if count >= counter.min {
                    stack.push((counter.next, 0));
                }
                continue;
            }
            if let Some(list) = &node.list {
                let moves = generation.list_moves(list.list, count);
                if moves.ends && !(list.nonempty && count == 0) {
                    stack.push((list.next, 0));
                }
                for step in &moves.all {
                    match (step.reads_nothing(), step.target) {
                        (true, Target::Place(place)) => stack.push((id, place)),
                        (true, Target::Hole(hole)) => self.holes |= 1 << hole,
                        (false, _) => self.read(id, step, rest),
                    }
                }
                continue;
            }
            for edge in &node.edges {
                let returns = generation.push_frame(edge.target, rest);
                match edge.label {
                    Label::Terminal(expr) => {
                        self.items.push((Symbol::terminal(generation.terminal(expr)), returns));
                    }
                    Label::Call(rule) => self.call(rule, returns),
                    Label::Token(set) => self.items.push((Symbol::token(set), returns)),
                    Label::Tagged(text) => {
                        self.items
                            .push((Symbol::terminal(generation.terminals().tagged_start(text)), returns));
                    }
                }
            }
            stack.extend(node.jumps.iter().map(|&jump| (jump, 0)));
        }
    }

    /// A move in the list of a node.
    fn read(&mut self, node: NodeId, step: &Move, rest: SetId) {
        let generation = self.generation;
        let returns = match step.target {
            Target::Place(place) => generation.sets().push(Symbol::frame(node, place), rest),
            Target::Hole(hole) => generation.sets().all_holes(1 << hole),
        };
        match (step.terminal, step.rule) {
            (Some(terminal), rule) => {
                let start = rule.map(|rule| generation.machine().rule(rule).start);
                let returns = start.map_or(returns, |start| generation.push_frame(start, returns));
                self.items.push((Symbol::terminal(terminal), returns));
            }
            (None, Some(rule)) => self.call(rule, returns),
            // Such moves are made at once, see `go_on`.
            (None, None) => {}
        }
    }

    fn call(&mut self, rule: MachineRuleId, returns: SetId) {
        let rank = self.generation.machine().rule(rule).rank;
        match self.calls.binary_search_by(|call| (rank, rule).cmp(&call.0)) {
            Ok(at) => self.calls[at].1.push(returns),
            Err(at) => self.calls.insert(at, ((rank, rule), SmallVec::from_slice(&[returns]))),
        }
    }
}

/// The count after one more item; without an upper bound it need not go beyond the least.
fn next_count(counter: &Counter, count: u32) -> u32 {
    let next = count + 1;
    if counter.max == Counter::UNBOUNDED { next.min(counter.min.max(1)) } else { next }
}

impl Generation {
    /// Whether a rule may end at a node with this count, or at this place of its list.
    pub(super) fn may_end(&self, node: NodeId, count: u32) -> bool {
        let node = self.machine().node(node);
        let list_ends =
            |list: &ListUse| !(list.nonempty && count == 0) && self.list_may_end(list.list, count);
        node.accepting
            && node.counter.is_none_or(|counter| count >= counter.min)
            && node.list.as_ref().is_none_or(list_ends)
    }

    /// The stack under a terminal that ends in `state`: where it has read a tag, with what follows the tag on top.
    #[inline]
    pub(crate) fn below(&self, state: TerminalId, rest: SetId) -> SetId {
        match self.terminals().tag(state) {
            None => rest,
            Some((text, tag)) => self.behind_tag(text, tag, rest),
        }
    }

    /// The stack with what follows a tag on top, and then the text again if it goes on.
    pub(crate) fn behind_tag(&self, text: u32, tag: u32, rest: SetId) -> SetId {
        let tagged = &self.machine().tagged[text as usize];
        let call = |rule: Option<MachineRuleId>, rest: SetId| {
            rule.map_or(rest, |rule| self.push_frame(self.machine().rule(rule).start, rest))
        };
        call(tagged.rules[tag as usize], call(tagged.again, rest))
    }

    /// The stack with a frame that goes on at `node`; without it if nothing is left to do there.
    pub(super) fn push_frame(&self, node: NodeId, rest: SetId) -> SetId {
        let target = self.machine().node(node);
        let is_framed = target.max_tokens.is_some() || target.distinct_items;
        if target.is_end() && target.temperature.is_none() && !is_framed {
            return rest;
        }
        let frame = Symbol::frame(node, 0);
        let rest = if target.star { self.without_top(frame, rest) } else { rest };
        self.sets().push(frame, rest)
    }

    /// The stacks of `set`, those with `frame` on top without it.
    fn without_top(&self, frame: Symbol, set: SetId) -> SetId {
        let sets = self.sets();
        let mut at = set;
        // A set that is put off stays so: with two such frames it means the same.
        while sets.put_off(at).is_none()
            && let Ok(place) = sets.items(at).binary_search_by_key(&frame, |item| item.0)
        {
            let mut others: Items = sets.items(at).into();
            let (_, below) = others.remove(place);
            let others = sets.intern(&SetDraft { items: others, ends: sets.ends(at), holes: sets.holes(at) });
            at = sets.union(others, below);
        }
        at
    }

    /// The set of items in any order, where a symbol that occurs twice has either rest.
    pub(super) fn intern_items(&self, mut items: Items, ends: bool, holes: Holes) -> SetId {
        items.sort_unstable();
        items.dedup();
        let mut merged = Items::with_capacity(items.len());
        for group in items.chunk_by(|a, b| a.0 == b.0) {
            let rest = match *group {
                [(_, rest)] => rest,
                _ => self.sets().union_all(group.iter().map(|&(_, rest)| rest).collect()),
            };
            merged.push((group[0].0, rest));
        }
        self.sets().intern(&SetDraft { items: merged, ends, holes })
    }
}
