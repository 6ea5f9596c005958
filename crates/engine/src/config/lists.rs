//! Places in lists of members.
//!
//! The frame of a list node carries the number of a *place*: what the list has had so far, and where it stands between
//! two members or inside a key. Number nought is the start of the list. Places are interned like everything else in a
//! generation, and what may be read at one, its *moves*, is found once and kept.
//!
//! The quote that opens a key is read by itself, together with the separator before it: that is the same for all places
//! of all lists, and few tokens go past it. Keys are then read along a tree of their texts. At a node of the tree there is
//! one terminal for each way on that leads to a key which may come; where there is but one way on, the terminal goes on
//! along it. What follows a key is found when its text has been read, and not for each key that might come.
//!
//! The keys of others are terminals that exclude the keys of the entries and, where no key may come twice, those that the
//! list has had. When such a key is read to its end, [`Generation::finish_key`] puts what was read into the place below.
//! A walk of tokens over the end of a key does not know what was read: it goes on as if nothing had been, which allows
//! too much for a token that holds another key of that list (see [`crate::mask`]).

mod plan;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokenstile_grammar::ir::ExprId;
use tokenstile_grammar::machine::{List, ListId, MachineRuleId};
use tokenstile_grammar::members::{Member, Slot, State};
use tokenstile_grammar::regular::ByteSet;

use super::sets::{Item, SetId};
use super::symbol::{Symbol, SymbolKind};
use super::truncate::LOST_HOLE;
use crate::generation::Generation;
use crate::interner::Interner;
use crate::seldom::Seldom;
use crate::terminal::{ExclusionId, TerminalId};

pub(crate) use plan::{PartCosts, PlaceCosts};

/// The number of a state of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StateId(u32);

/// Where a list stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Before the first member.
    Start,
    /// After a separator.
    Before,
    /// After the quote that opens a key.
    Quoted,
    /// At this node of the key tree.
    Key(u32),
    /// In the key of the others with this number, whose value is this variant.
    OtherKey { others: u32, variant: u32 },
    /// After a member.
    After,
    /// One that stands for many in the top of a stack.
    Cut(CutPhase),
}

/// A place in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    state: StateId,
    phase: Phase,
}

/// What a list has had.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Had {
    list: ListId,
    state: State,
    /// The keys that others may not have, if there are more than those of the entries.
    seen: Option<ExclusionId>,
}

struct KnownState {
    had: Had,
    allowed: OnceLock<Allowed>,
}

/// What may come in a state.
struct Allowed {
    may_end: bool,
    /// Entries with keys, by the rank of the key and the variant: sorted.
    keyed: Box<[Keyed]>,
    /// Entries without keys, and others.
    rest: Box<[Member]>,
}

/// An entry with a key, by the rank of the key, and a variant.
pub(super) type Keyed = (u32, u32);

/// Those of `keyed` with ranks in a range.
fn in_ranks<'k>(keyed: &'k [Keyed], ranks: &std::ops::Range<u32>) -> &'k [Keyed] {
    let from = keyed.partition_point(|&(rank, _)| rank < ranks.start);
    let to = keyed.partition_point(|&(rank, _)| rank < ranks.end);
    &keyed[from..to]
}

struct KnownPlace {
    place: Place,
    moves: OnceLock<Moves>,
}

/// What may be read at a place.
pub(super) struct Moves {
    /// Whether the list may end there.
    pub(super) ends: bool,
    pub(super) all: Box<[Move]>,
}

/// A terminal, then a rule, either of which may be missing; then the list goes on.
#[derive(Clone, Copy)]
pub(super) struct Move {
    pub(super) terminal: Option<TerminalId>,
    pub(super) rule: Option<MachineRuleId>,
    pub(super) target: Target,
}

impl Move {
    /// Whether the list goes on at once: behind a key without a value.
    pub(super) fn reads_nothing(&self) -> bool {
        self.terminal.is_none() && self.rule.is_none()
    }
}

/// Where a list goes on.
#[derive(Clone, Copy)]
pub(super) enum Target {
    /// At a place.
    Place(u32),
    /// In the stacks of this hole.
    Hole(u32),
}

/// The places of a generation.
pub(crate) struct Lists {
    /// In boxes, because the interner makes room for many at once, and most lists see few.
    states: Seldom<Interner<Box<KnownState>>>,
    places: Seldom<Interner<Box<KnownPlace>>>,
    /// Keys under a node of a tree, for places that were cut off.
    pub(super) choices: Seldom<Interner<Box<[Keyed]>>>,
    /// The place that each list starts at.
    starts: Box<[OnceLock<u32>]>,
    /// The keys of each list's entries.
    names: Box<[OnceLock<ExclusionId>]>,
    bytes: AtomicUsize,
}

impl Lists {
    pub(crate) fn new(lists: usize) -> Self {
        Lists {
            states: Seldom::default(),
            places: Seldom::default(),
            choices: Seldom::default(),
            starts: (0..lists).map(|_| OnceLock::new()).collect(),
            names: (0..lists).map(|_| OnceLock::new()).collect(),
            bytes: AtomicUsize::new(0),
        }
    }

    /// The memory that the places take, roughly.
    pub(crate) fn memory_bytes(&self) -> usize {
        const A_PLACE: usize = size_of::<KnownPlace>() + 40;
        let seldom = self.states.bytes() + self.places.bytes() + self.choices.bytes();
        let spare = self.states.made().map_or(0, Interner::spare_bytes)
            + self.places.made().map_or(0, Interner::spare_bytes);
        let places = self.places.made().map_or(0, Interner::len) * A_PLACE;
        places + self.bytes.load(Ordering::Relaxed) + seldom + spare
    }

    fn intern_state(&self, had: &Had) -> StateId {
        let bytes = size_of::<KnownState>() + had.state.memory_bytes();
        let (id, is_new) = self.states.intern(
            had,
            |known| known.had == *had,
            || Box::new(KnownState { had: had.clone(), allowed: OnceLock::new() }),
        );
        if is_new {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        StateId(id)
    }

    /// The number of a place, which is never nought.
    fn intern_place(&self, place: Place) -> u32 {
        let make = || Box::new(KnownPlace { place, moves: OnceLock::new() });
        self.places.intern(&place, |known| known.place == place, make).0 + 1
    }

    fn intern_choice(&self, keyed: &[Keyed]) -> u32 {
        let (id, is_new) = self.choices.intern(keyed, |known| **known == *keyed, || keyed.into());
        if is_new {
            self.bytes.fetch_add(size_of_val(keyed) + 40, Ordering::Relaxed);
        }
        id
    }

    fn place(&self, number: u32) -> &KnownPlace {
        self.places.get(number - 1)
    }

    fn state(&self, id: StateId) -> &KnownState {
        self.states.get(id.0)
    }

    /// The number that a place of `from` has here, where `carry` does the same for sets of keys.
    pub(super) fn carry(&self, from: &Lists, number: u32, carry: impl Fn(ExclusionId) -> ExclusionId) -> u32 {
        if number == 0 {
            return 0;
        }
        let Place { state, phase } = from.place(number).place;
        let had = &from.state(state).had;
        let state = self.intern_state(&Had { seen: had.seen.map(carry), ..had.clone() });
        self.intern_place(Place { state, phase })
    }
}

impl Generation {
    /// What may be read at a place of a list; nought is its start.
    pub(super) fn list_moves(&self, list: ListId, number: u32) -> &Moves {
        let lists = self.lists();
        let number = if number == 0 { self.list_start(list) } else { number };
        let known = lists.place(number);
        known.moves.get_or_init(|| {
            let moves = Finder::new(self, known.place.state).find(known.place.phase);
            lists.bytes.fetch_add(size_of_val(&*moves.all), Ordering::Relaxed);
            moves
        })
    }

    /// Whether a list may end at a place, or where it gets to from there without reading anything.
    pub(super) fn list_may_end(&self, list: ListId, number: u32) -> bool {
        let moves = self.list_moves(list, number);
        let ends_behind = |step: &Move| match step.target {
            Target::Place(place) => step.reads_nothing() && self.list_moves(list, place).ends,
            Target::Hole(_) => false,
        };
        moves.ends || moves.all.iter().any(ends_behind)
    }

    fn list_start(&self, list: ListId) -> u32 {
        *self.lists().starts[list.0 as usize].get_or_init(|| {
            let state = self.machine().list(list).conditions.start();
            let state = self.lists().intern_state(&Had { list, state, seen: None });
            self.lists().intern_place(Place { state, phase: Phase::Start })
        })
    }

    /// The keys that others may not have.
    fn excluded_keys(&self, had: &Had) -> ExclusionId {
        had.seen.unwrap_or_else(|| {
            let names = &self.machine().list(had.list).names;
            *self.lists().names[had.list.0 as usize]
                .get_or_init(|| self.terminals().exclusion(names.iter().map(|name| &**name)))
        })
    }

    /// The stacks under a key of others that has been read: they go on knowing what it was.
    pub(super) fn finish_key(&self, rest: SetId, text: &str) -> SetId {
        let mut all = SetId::DEAD;
        for &(symbol, below) in self.sets().items(rest) {
            let SymbolKind::Frame(node, number) = symbol.kind() else { continue };
            if number == 0 {
                continue;
            }
            let Place { state, phase } = self.lists().place(number).place;
            let Phase::OtherKey { others, variant } = phase else { continue };
            let finder = Finder::new(self, state);
            let seen = self.terminals().exclude(self.excluded_keys(finder.had), text);
            let next = finder.after(Member { slot: Slot::Others(others), variant }, Some(seen));
            let place = self.lists().intern_place(Place { state: next, phase: Phase::After });
            let stack = self.sets().push(Symbol::frame(node, place), below);
            let rule = finder.list.others[others as usize].variants[variant as usize].rule;
            let start = rule.map(|rule| self.machine().rule(rule).start);
            let stack = start.map_or(stack, |start| self.push_frame(start, stack));
            all = self.sets().union(all, stack);
        }
        all
    }

    fn allowed(&self, id: StateId) -> &Allowed {
        let known = self.lists().state(id);
        known.allowed.get_or_init(|| {
            let list = self.machine().list(known.had.list);
            let (mut keyed, mut rest) = (Vec::new(), Vec::new());
            for member in list.conditions.allowed(&known.had.state) {
                let rank = match member.slot {
                    Slot::Entry(entry) => list.keys.ranks[entry as usize],
                    Slot::Others(_) => None,
                };
                match rank {
                    Some(rank) => keyed.push((rank, member.variant)),
                    None => rest.push(member),
                }
            }
            keyed.sort_unstable();
            let bytes = size_of_val(&*keyed) + size_of_val(&*rest);
            self.lists().bytes.fetch_add(bytes, Ordering::Relaxed);
            let may_end = list.conditions.may_end(&known.had.state);
            Allowed { may_end, keyed: keyed.into(), rest: rest.into() }
        })
    }
}

impl Generation {
    /// The bytes that may be read next on top of a stack, if a list stands in a key there: perhaps too many, but cheap to
    /// know.
    pub(crate) fn key_bytes(&self, rest: SetId) -> Option<&ByteSet> {
        let &[(symbol, _)] = self.sets().items(rest) else { return None };
        let SymbolKind::Frame(node, number) = symbol.kind() else { return None };
        let list = self.machine().node(node).list.as_ref().filter(|_| number > 0)?;
        let list = self.machine().list(list.list);
        let node = match self.lists().place(number).place.phase {
            Phase::Key(node) | Phase::Cut(CutPhase::Key { node, .. }) => node,
            Phase::Quoted if list.others.iter().all(|others| others.keys.is_none()) => 0,
            _ => return None,
        };
        let is_whole = self.sets().holes(rest) == 0;
        list.keys.nodes.get(node as usize).filter(|_| is_whole).map(|node| &node.next_bytes)
    }

    /// Whether a key of others is being read.
    pub(crate) fn is_in_other_key(&self, config: SetId) -> bool {
        self.sets().items(config).iter().any(|&(_, rest)| self.is_other_key(rest))
    }

    /// Whether what is read on top of `rest` is a key of others.
    pub(crate) fn is_other_key(&self, rest: SetId) -> bool {
        self.has_place_on_top(rest, |phase| matches!(phase, Phase::OtherKey { .. }))
    }

    /// Whether a list may need another key that is unlike those before it, after the key of others that is being read.
    pub(crate) fn needs_keys_after(&self, config: SetId, may_need: impl Fn(ListId) -> bool) -> bool {
        let mut rests = self.sets().items(config).iter().map(|&(_, rest)| rest);
        let needs = |&(symbol, _): &Item| {
            let SymbolKind::Frame(node, number) = symbol.kind() else { return false };
            let Some(list) = self.machine().node(node).list.as_ref().filter(|_| number > 0) else {
                return false;
            };
            let Place { state, phase } = self.lists().place(number).place;
            let Phase::OtherKey { others, variant } = phase else { return false };
            may_need(list.list) && {
                let Had { state, .. } = Finder::new(self, state).had;
                let conditions = &self.machine().list(list.list).conditions;
                let after = conditions.take(state, Member { slot: Slot::Others(others), variant });
                !conditions.has_enough(&after)
            }
        };
        rests.any(|rest| self.sets().items(rest).iter().any(needs))
    }

    /// Whether a member of a list is being begun: what comes before its value is read.
    pub(crate) fn is_before_value(&self, config: SetId) -> bool {
        let begins = |phase| !matches!(phase, Phase::After);
        self.sets().items(config).iter().any(|&(_, rest)| self.has_place_on_top(rest, begins))
    }

    /// Whether there is a frame of a list on top of `rest` in a phase for which `is` holds.
    fn has_place_on_top(&self, rest: SetId, is: impl Fn(Phase) -> bool) -> bool {
        self.sets().items(rest).iter().any(|&(symbol, _)| match symbol.kind() {
            SymbolKind::Frame(node, number) if number > 0 && self.machine().node(node).list.is_some() => {
                is(self.lists().place(number).place.phase)
            }
            _ => false,
        })
    }

    /// The same configuration where keys do not remember their texts, see [`Arena::without_text`].
    ///
    /// [`Arena::without_text`]: crate::terminal::Arena::without_text
    pub(crate) fn without_texts(&self, config: SetId) -> SetId {
        if !self.remembers_keys() {
            return config;
        }
        let sets = self.sets();
        let strip = |&(symbol, rest): &Item| match symbol.kind() {
            SymbolKind::Terminal(state) => (Symbol::terminal(self.terminals().without_text(state)), rest),
            _ => (symbol, rest),
        };
        let items = sets.items(config).iter().map(strip).collect();
        self.intern_items(items, sets.ends(config), sets.holes(config))
    }
}

/// What a top keeps of a place.
///
/// Which keys a list has had makes nearly every place a new one, and for a mask nearly nothing of that matters. So what is
/// kept is as much as tokens usually see, and the rest is in a hole. That makes tops few.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CutPhase {
    /// After a member: whether the list may end, and how it goes on, if it may.
    After { ends: bool, on: Option<CutOn> },
    /// In a key of others; after the value the list goes on in a hole.
    OtherKey { others: u32, variant: u32, hole: u8 },
    /// At a node of the key tree, with these choices below it. What comes after a value is lost.
    Key { node: u32, choice: u32 },
}

/// How a list that was cut off goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CutOn {
    /// Whether the quote of a key follows the separator.
    quoted: bool,
    /// What follows then.
    hole: u8,
}

/// A place that was cut off so that nothing is left of it that only its own list knows.
pub(crate) enum KnownCut {
    /// After a member.
    After(CutPhase),
    /// In a key of others: what their value is, and the hole after it.
    Value(Option<MachineRuleId>, u8),
}

/// How a place is cut off.
pub(super) enum PlaceCut {
    /// Not at all.
    Keep,
    /// It is all in a hole.
    Hole,
    /// To this place, under which nothing is needed.
    Alone(u32),
    /// To a place with a hole for what is found at `next`, under which nothing else is needed.
    Key { next: Target, others: u32, variant: u32 },
    /// To a place with a hole for what is found at `next`, if there is one, after a separator and, if `quoted`, a quote.
    After { next: Option<Target>, quoted: bool, ends: bool },
}

impl Generation {
    /// How the place of a list is cut off.
    pub(super) fn cut_place(&self, list: ListId, number: u32) -> PlaceCut {
        if number == 0 {
            return PlaceCut::Keep;
        }
        let Place { state, phase } = self.lists().place(number).place;
        let moves = || self.list_moves(list, number);
        match phase {
            Phase::Start => PlaceCut::Keep,
            Phase::Before | Phase::Quoted => PlaceCut::Hole,
            Phase::Key(node) => {
                let ranks = &self.machine().list(list).keys.nodes[node as usize].ranks;
                let choice = self.lists().intern_choice(in_ranks(&self.allowed(state).keyed, ranks));
                PlaceCut::Alone(self.intern_cut(list, CutPhase::Key { node, choice }))
            }
            Phase::Cut(CutPhase::Key { .. }) => PlaceCut::Alone(number),
            Phase::OtherKey { others, variant } | Phase::Cut(CutPhase::OtherKey { others, variant, .. }) => {
                PlaceCut::Key { next: moves().all[0].target, others, variant }
            }
            Phase::After if !self.machine().list(list).track.is_empty() => PlaceCut::Hole,
            Phase::After => {
                let next = |phase| Target::Place(self.lists().intern_place(Place { state, phase }));
                let Moves { ends, all } = moves();
                let quoted = matches!(**all, [Move { terminal: Some(_), rule: None, target: Target::Place(place) }]
                    if self.lists().place(place).place.phase == Phase::Quoted);
                let phase = if quoted { Phase::Quoted } else { Phase::Before };
                PlaceCut::After { next: (!all.is_empty()).then(|| next(phase)), quoted, ends: *ends }
            }
            Phase::Cut(CutPhase::After { ends, on }) => PlaceCut::After {
                next: on.map(|on| Target::Hole(on.hole.into())),
                quoted: on.is_some_and(|on| on.quoted),
                ends,
            },
        }
    }

    /// What is left of a place that was cut off, if nothing of its list's own is.
    pub(crate) fn known_cut(&self, list: ListId, number: u32) -> Option<KnownCut> {
        let Phase::Cut(phase) = self.lists().place(number).place.phase else { return None };
        match phase {
            CutPhase::After { .. } => Some(KnownCut::After(phase)),
            CutPhase::OtherKey { others, variant, hole } => {
                let others = &self.machine().list(list).others[others as usize];
                Some(KnownCut::Value(others.variants[variant as usize].rule, hole))
            }
            CutPhase::Key { .. } => None,
        }
    }

    /// The place in a key of others after whose value a list goes on in a hole.
    pub(super) fn cut_other_key(&self, list: ListId, others: u32, variant: u32, hole: u8) -> u32 {
        self.intern_cut(list, CutPhase::OtherKey { others, variant, hole })
    }

    /// The place after a member of a list that goes on in a hole, if it may, behind a quote if it is `quoted`.
    pub(super) fn cut_after(&self, list: ListId, ends: bool, quoted: bool, hole: Option<u8>) -> u32 {
        self.intern_cut(list, CutPhase::After { ends, on: hole.map(|hole| CutOn { quoted, hole }) })
    }

    /// Nothing is known of the state of a place that was cut off, so it has that of the start.
    fn intern_cut(&self, list: ListId, phase: CutPhase) -> u32 {
        let state = self.lists().place(self.list_start(list)).place.state;
        self.lists().intern_place(Place { state, phase: Phase::Cut(phase) })
    }
}

/// Finds the moves at one place.
struct Finder<'g> {
    generation: &'g Generation,
    list: &'g List,
    state: StateId,
    had: &'g Had,
    /// The entries with keys that may come.
    keyed: &'g [Keyed],
    /// Whether nothing is known of the state but these.
    is_cut: bool,
    moves: Vec<Move>,
}

impl<'g> Finder<'g> {
    fn new(generation: &'g Generation, state: StateId) -> Self {
        let had = &generation.lists().state(state).had;
        let list = generation.machine().list(had.list);
        Finder { generation, list, state, had, keyed: &[], is_cut: false, moves: Vec::new() }
    }

    fn find(mut self, phase: Phase) -> Moves {
        match phase {
            Phase::Start | Phase::Before => self.begin(),
            Phase::Quoted => self.begin_key(),
            Phase::Key(node) => {
                self.keyed = &self.allowed().keyed;
                self.read_key(node, TerminalId::EMPTY);
            }
            Phase::OtherKey { others, variant } => {
                let state = self.after(Member { slot: Slot::Others(others), variant }, self.had.seen);
                let target = self.place(state, Phase::After);
                self.call_other(others, variant, target);
            }
            Phase::After => self.separate(),
            Phase::Cut(phase) => return self.find_cut(phase),
        }
        let ends = matches!(phase, Phase::Start | Phase::After) && self.allowed().may_end;
        Moves { ends, all: self.moves.into() }
    }

    /// The moves where only so much is known of the state.
    fn find_cut(mut self, phase: CutPhase) -> Moves {
        match phase {
            CutPhase::After { ends, on } => {
                let step = |on: CutOn| Move {
                    terminal: Some(if on.quoted { self.opening() } else { self.separator() }),
                    rule: None,
                    target: Target::Hole(on.hole.into()),
                };
                return Moves { ends, all: on.map(step).into_iter().collect() };
            }
            CutPhase::OtherKey { others, variant, hole } => {
                self.call_other(others, variant, Target::Hole(hole.into()));
            }
            CutPhase::Key { node, choice } => {
                (self.keyed, self.is_cut) = (self.generation.lists().choices.get(choice), true);
                self.read_key(node, TerminalId::EMPTY);
            }
        }
        Moves { ends: false, all: self.moves.into() }
    }

    fn allowed(&self) -> &'g Allowed {
        self.generation.allowed(self.state)
    }

    /// The value of others, and then on at `target`. There is none where the key is all, as in an array of strings.
    fn call_other(&mut self, others: u32, variant: u32, target: Target) {
        let rule = self.list.others[others as usize].variants[variant as usize].rule;
        self.moves.push(Move { terminal: None, rule, target });
    }

    fn place(&self, state: StateId, phase: Phase) -> Target {
        Target::Place(self.generation.lists().intern_place(Place { state, phase }))
    }

    /// Where the list stands at a node of the key tree.
    fn key_place(&self, node: u32) -> Target {
        if !self.is_cut {
            return self.place(self.state, Phase::Key(node));
        }
        let keyed = in_ranks(self.keyed, &self.list.keys.nodes[node as usize].ranks);
        let choice = self.generation.lists().intern_choice(keyed);
        self.place(self.state, Phase::Cut(CutPhase::Key { node, choice }))
    }

    fn concat(&self, a: TerminalId, b: TerminalId) -> TerminalId {
        self.generation.terminals().concat(a, b)
    }

    fn separator(&self) -> TerminalId {
        self.generation.terminal(self.list.separator)
    }

    /// A separator and the quote of the next key.
    fn opening(&self) -> TerminalId {
        self.concat(self.separator(), self.generation.terminal(self.list.quote))
    }

    /// A separator and what may begin behind it: as one terminal if that is one.
    fn separate(&mut self) {
        if let Some(separated) = self.list.conditions.separated(&self.had.state) {
            return self.separate_on_track(separated);
        }
        let separator = self.separator();
        self.begin();
        match self.moves.as_mut_slice() {
            [] => {}
            [Move { terminal: Some(terminal), .. }] => {
                *terminal = self.generation.terminals().concat(separator, *terminal);
            }
            _ => {
                let target = self.place(self.state, Phase::Before);
                self.moves = vec![Move { terminal: Some(separator), rule: None, target }];
            }
        }
    }

    /// What may separate two members where an automaton runs beside the list, with the quote of the next key.
    fn separate_on_track(&mut self, separated: impl Iterator<Item = State>) {
        let node = self.list.conditions.track_node(&self.had.state).unwrap_or_default();
        let quote = self.generation.terminal(self.list.quote);
        for (&separator, state) in self.list.track[node as usize].iter().zip(separated) {
            let terminal = self.concat(self.generation.terminal(separator), quote);
            let state = self.generation.lists().intern_state(&Had { state, ..self.had.clone() });
            let target = self.place(state, Phase::Quoted);
            self.moves.push(Move { terminal: Some(terminal), rule: None, target });
        }
    }

    /// Any member, or the quote that opens its key.
    fn begin(&mut self) {
        let allowed = self.allowed();
        if !allowed.keyed.is_empty() || allowed.rest.iter().any(|&member| self.may_have_key(member)) {
            let quote = self.generation.terminal(self.list.quote);
            let target = self.place(self.state, Phase::Quoted);
            self.moves.push(Move { terminal: Some(quote), rule: None, target });
        }
        for &member in &allowed.rest {
            if self.other_keys(member).is_none() {
                self.read_member(member);
            }
        }
    }

    /// The key of any member, behind its quote.
    fn begin_key(&mut self) {
        let allowed = self.allowed();
        self.keyed = &allowed.keyed;
        if !self.keyed.is_empty() {
            self.read_key(0, TerminalId::EMPTY);
        }
        for &member in &allowed.rest {
            if let (Slot::Others(others), Some(keys)) = (member.slot, self.other_keys(member)) {
                self.read_other_key(keys, others, member.variant);
            }
        }
    }

    /// The texts of a member's keys, if it is one of others that have keys.
    fn other_keys(&self, member: Member) -> Option<ExprId> {
        match member.slot {
            Slot::Entry(_) => None,
            Slot::Others(others) => self.list.others[others as usize].keys,
        }
    }

    /// Whether there is a key that a member of others may have, if these have keys.
    fn may_have_key(&self, member: Member) -> bool {
        let any = |keys| self.list.always_free || self.other_key(keys) != TerminalId::NEVER;
        self.other_keys(member).is_some_and(any)
    }

    /// The keys at and below a node of the tree, behind `before`, which may be nothing.
    fn read_key(&mut self, node: u32, before: TerminalId) {
        let (mut at, mut before) = (node, before);
        loop {
            let nodes = &self.list.keys.nodes;
            let ends = nodes[at as usize].ends && self.may_end_key(at);
            let mut ways = self.ways_on(at);
            match (ends, ways.next(), ways.next()) {
                (false, Some(only), None) => {
                    let text = self.generation.terminal(self.list.key_texts[only as usize]);
                    before = self.concat(before, text);
                    at = only;
                }
                _ => break,
            }
        }
        if before != TerminalId::EMPTY {
            self.moves.push(Move { terminal: Some(before), rule: None, target: self.key_place(at) });
            return;
        }
        if self.list.keys.nodes[at as usize].ends && self.may_end_key(at) {
            self.end_key(at);
        }
        let ways: Vec<u32> = self.ways_on(at).collect();
        for way in ways {
            let text = self.generation.terminal(self.list.key_texts[way as usize]);
            self.read_key(way, text);
        }
    }

    /// Whether the key that ends at a node may come.
    fn may_end_key(&self, node: u32) -> bool {
        let rank = self.list.keys.nodes[node as usize].ranks.start;
        !in_ranks(self.keyed, &(rank..rank + 1)).is_empty()
    }

    /// The nodes right below a node under which there is a key that may come.
    fn ways_on(&self, node: u32) -> impl Iterator<Item = u32> + use<'g> {
        let (nodes, keyed) = (&self.list.keys.nodes, self.keyed);
        let may_come = move |&below: &u32| !in_ranks(keyed, &nodes[below as usize].ranks).is_empty();
        nodes[node as usize].below.iter().copied().filter(may_come)
    }

    /// The end of the key of a node, and its value.
    fn end_key(&mut self, node: u32) {
        let rank = self.list.keys.nodes[node as usize].ranks.start;
        let entry = self.list.keys.entries[rank as usize];
        for &(_, variant) in in_ranks(self.keyed, &(rank..rank + 1)) {
            self.read_member(Member { slot: Slot::Entry(entry), variant });
        }
    }

    /// The state after a member, with the keys that others may then not have.
    fn after(&self, member: Member, seen: Option<ExclusionId>) -> StateId {
        let state = self.list.conditions.take(&self.had.state, member);
        self.generation.lists().intern_state(&Had { list: self.had.list, state, seen })
    }

    /// A member whose key has been read up to its closing quote, if it has one.
    fn read_member(&mut self, member: Member) {
        let value = match member.slot {
            Slot::Entry(entry) => &self.list.entries[entry as usize][member.variant as usize],
            Slot::Others(others) => &self.list.others[others as usize].variants[member.variant as usize],
        };
        let target = if self.is_cut {
            Target::Hole(LOST_HOLE)
        } else {
            self.place(self.after(member, self.had.seen), Phase::After)
        };
        let terminal = value.head.map(|head| self.generation.terminal(head));
        self.moves.push(Move { terminal, rule: value.rule, target });
    }

    /// A key of others behind its quote, with the texts `keys`.
    fn other_key(&self, keys: ExprId) -> TerminalId {
        let texts = self.generation.terminal(keys);
        let excluded = self.generation.excluded_keys(self.had);
        self.generation.terminals().key(texts, excluded, self.list.escapes, self.list.unique)
    }

    /// The key of one of the others.
    fn read_other_key(&mut self, keys: ExprId, others: u32, variant: u32) {
        let terminal = self.other_key(keys);
        if terminal != TerminalId::NEVER {
            let target = self.place(self.state, Phase::OtherKey { others, variant });
            self.moves.push(Move { terminal: Some(terminal), rule: None, target });
        }
    }
}
