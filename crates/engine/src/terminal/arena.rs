//! The terms and the constructors that keep them small.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use tokenstile_grammar::ir::Escapes;
use tokenstile_grammar::regular::{CharSet, TagText};

use super::automata::{Automata, Automaton};
use super::bounded::Distance;
use super::exclusion::Exclusion;
use super::forced::Begins;
use super::json_text::Escape;
use super::key::{Key, TextByte};
use super::saturate::Ahead;
use super::shape_row::{Endless, ShapeRow};
use crate::interner::{Beginning, Interner};
use crate::mask::TerminalTable;
use crate::seldom::Seldom;
use crate::store::runs::Run;
use crate::vocab::reach::Reach;

/// The number of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TerminalId(pub(crate) u32);

impl TerminalId {
    /// The empty language.
    pub(crate) const NEVER: Self = TerminalId(0);
    /// The empty string.
    pub(crate) const EMPTY: Self = TerminalId(1);
}

/// The ways on from a state: `(low, high, target)`, sorted, without gaps of the same target.
pub(crate) type Row = Box<[(u8, u8, TerminalId)]>;

/// A term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Term {
    Never,
    Empty,
    /// The rest of a literal.
    Literal {
        literal: u32,
        offset: u32,
    },
    /// A byte of a range, then what belongs to it.
    Dispatch(Row),
    Concat(TerminalId, TerminalId),
    /// Sorted, at least two.
    Alt(Box<[TerminalId]>),
    /// `max` may be [`Term::UNBOUNDED`], and so may `min` in saturated terms: a repeat that cannot end within a token.
    Repeat {
        body: TerminalId,
        min: u32,
        max: u32,
    },
    /// A state of an automaton that was built ahead of time.
    Dfa {
        dfa: u32,
        state: u32,
    },
    /// A state of free text with tags. It stands alone, never in another term.
    Tagged {
        text: u32,
        state: u32,
    },
    /// The JSON spellings of the texts of another term, of whose first code point some bytes are still to come.
    JsonText {
        inner: TerminalId,
        pending: u8,
        escapes: Escapes,
    },
    /// An escape in a JSON text whose next code point `inner` is waiting for.
    JsonEscape {
        inner: TerminalId,
        escape: Escape,
        escapes: Escapes,
    },
    /// The texts of another term with at most so many code points.
    Bounded {
        inner: TerminalId,
        left: u32,
    },
    /// A key of an object, after its opening quote.
    Key(Box<Key>),
    /// The end of a key with this text.
    KeyRead(Box<str>),
}

impl Term {
    pub(super) const UNBOUNDED: u32 = u32::MAX;
}

/// A term with what is known of it.
pub(super) struct Entry {
    pub(super) term: Term,
    pub(super) nullable: bool,
    /// Whether a finite bound above one is in it, or a key, so that it may saturate.
    pub(super) counts: bool,
    /// Whether it begins with a text that must come, or one of a few, see [`Arena::forced_texts`].
    pub(super) begins: Begins,
    pub(super) row: OnceLock<Row>,
    pub(super) walked: Seldom<Walked>,
}

/// What is known of a term that tokens were walked with. Of most terms nothing is: they are the places along a literal that
/// a text passes byte by byte.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) dense: OnceLock<Box<[TerminalId; 256]>>,
    pub(super) shape_row: OnceLock<Box<ShapeRow>>,
    pub(super) endless: OnceLock<Endless>,
    /// By how far one looks ahead.
    pub(super) saturated: [OnceLock<TerminalId>; Ahead::COUNT],
    pub(super) distance: OnceLock<Distance>,
    pub(super) fingerprint: OnceLock<u128>,
    /// Whether all of its texts are one code point.
    pub(super) one_character: OnceLock<bool>,
    pub(super) table: TableSlot,
}

/// Where a token table is kept once it is known.
pub(crate) type TableSlot = OnceLock<Arc<TerminalTable>>;

impl Entry {
    /// What its JSON spellings begin with.
    pub(super) fn begins_as_text(&self) -> Begins {
        match self.term {
            Term::Literal { .. } | Term::Alt(_) => self.begins,
            _ => Begins::Anyhow,
        }
    }

    #[inline]
    fn known_dense(&self) -> Option<&[TerminalId; 256]> {
        self.walked.made()?.dense.get().map(|dense| &**dense)
    }

    /// The state that it is the same as by so many bytes ahead, if that is known.
    pub(super) fn known_saturated(&self, ahead: usize) -> Option<TerminalId> {
        self.walked.made()?.saturated[ahead].get().copied()
    }

    /// Its fingerprint, if that is known.
    pub(super) fn known_fingerprint(&self) -> Option<u128> {
        self.walked.made()?.fingerprint.get().copied()
    }

    /// How far it is to an end, if that is known.
    pub(super) fn known_distance(&self) -> Option<Distance> {
        self.walked.made()?.distance.get().copied()
    }
}

/// A literal, hashed once however many offsets of it are visited.
pub(super) struct Literal {
    pub(super) bytes: Box<[u8]>,
    pub(super) fingerprint: OnceLock<u128>,
}

/// Free text with tags, by its number in the machine.
pub(super) struct Tagged {
    pub(super) text: Arc<TagText>,
    pub(super) fingerprint: OnceLock<u128>,
}

/// The terms of one generation of a compiled grammar.
pub(crate) struct Arena {
    pub(super) entries: Interner<Entry>,
    pub(super) literals: Interner<Literal>,
    pub(super) automata: Automata,
    pub(super) runs: Seldom<Interner<Arc<Run>>>,
    pub(super) exclusions: Seldom<Interner<Exclusion>>,
    pub(super) texts: Seldom<Interner<TextByte>>,
    pub(super) tagged: Box<[Tagged]>,
    any_text: OnceLock<TerminalId>,
    /// What lists of terms, rows, dense rows and the texts of keys take, in bytes.
    row_bytes: AtomicUsize,
    /// How far tokens reach.
    pub(super) reach: Arc<Reach>,
}

/// Terms that many arenas begin with, see [`common`](super::common).
pub(crate) struct CommonTerms {
    pub(super) entries: Beginning<Entry>,
    pub(super) literals: Beginning<Literal>,
    pub(super) automata: Beginning<Automaton>,
    pub(super) any_text: TerminalId,
}

/// A row with more ranges than this gets a dense copy when it is walked.
const SPARSE_ROW: usize = 3;

impl Arena {
    /// An arena for texts with tags and everything else. It begins with some terms, if they are given.
    pub(crate) fn new(
        reach: Arc<Reach>,
        texts: impl Iterator<Item = Arc<TagText>>,
        common: Option<&'static CommonTerms>,
    ) -> Self {
        let arena = Arena {
            tagged: texts.map(|text| Tagged { text, fingerprint: OnceLock::new() }).collect(),
            entries: Interner::after(common.map(|common| &common.entries)),
            literals: Interner::after(common.map(|common| &common.literals)),
            automata: Automata::after(common.map(|common| &common.automata)),
            runs: Seldom::default(),
            exclusions: Seldom::default(),
            texts: Seldom::default(),
            row_bytes: AtomicUsize::new(0),
            any_text: common.map_or_else(OnceLock::new, |common| OnceLock::from(common.any_text)),
            reach,
        };
        let never = arena.intern(&Term::Never);
        let empty = arena.intern(&Term::Empty);
        debug_assert_eq!((never, empty), (TerminalId::NEVER, TerminalId::EMPTY));
        arena
    }

    pub(super) fn entry(&self, id: TerminalId) -> &Entry {
        self.entries.get(id.0)
    }

    pub(super) fn term(&self, id: TerminalId) -> &Term {
        &self.entry(id).term
    }

    /// Whether the terminal may end here.
    pub(crate) fn is_nullable(&self, id: TerminalId) -> bool {
        self.entry(id).nullable
    }

    /// Where the token table of a state is kept that is not common to all grammars.
    pub(crate) fn table_slot(&self, id: TerminalId) -> &TableSlot {
        &self.entry(id).walked.table
    }

    /// Whether a bound is in it that may be out of the reach of tokens.
    pub(crate) fn counts(&self, id: TerminalId) -> bool {
        self.entry(id).counts
    }

    /// Notes memory that is held as long as the arena is.
    pub(super) fn note_bytes(&self, bytes: usize) {
        self.row_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A state's ways on.
    pub(crate) fn row(&self, id: TerminalId) -> &Row {
        self.entry(id).row.get_or_init(|| {
            let row = self.compute_row(id);
            self.row_bytes.fetch_add(size_of_val(&*row), Ordering::Relaxed);
            row
        })
    }

    /// How many states there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether only one byte can follow, or one of two as in a literal that is spelled in JSON, and then again no more, so
    /// that a token table is quicker made than found.
    pub(crate) fn is_cheap(&self, id: TerminalId) -> bool {
        let is_narrow = |id: TerminalId| {
            let narrow = |row: &Row| row.len() <= 2 && row.iter().all(|&(low, high, _)| low == high);
            !matches!(self.term(id), Term::Key(_)) && !self.begins_with_class(id) && narrow(self.row(id))
        };
        match self.entry(id).begins {
            Begins::Texts => return true,
            Begins::Text => {
                let text = self.forced_text(id);
                return text.is_some_and(|text| {
                    text.bytes.len() > 1
                        || self.has_forced_texts(text.then)
                        || is_narrow(text.then)
                        || (self.has_own_text(text.then) && self.is_thin(text.then))
                });
            }
            Begins::Anyhow => {}
        }
        is_narrow(id)
            && !self.row(id).is_empty()
            && self.row(id).iter().all(|&(_, _, next)| next != id && is_narrow(next))
    }

    /// Whether it is seen without its ways on that it begins with a class of bytes: with each character that a string
    /// counts it is a new state, and to derive the ways on of each takes longer than the rest of a mask.
    fn begins_with_class(&self, id: TerminalId) -> bool {
        let mut at = id;
        loop {
            at = match *self.term(at) {
                Term::Concat(head, _) => head,
                Term::JsonText { inner, .. } | Term::Bounded { inner, .. } => inner,
                Term::Repeat { body, .. } => body,
                Term::Dispatch(ref row) => return row.iter().any(|&(low, high, _)| low < high),
                _ => return false,
            };
        }
    }

    /// Whether there is soon a text or a set of numbers in it that other grammars will hardly have: a table that is made for
    /// it would serve nobody else.
    fn has_own_text(&self, id: TerminalId) -> bool {
        const FAR_ENOUGH: usize = 8;
        let mut at = id;
        for _ in 0..FAR_ENOUGH {
            let (head, tail) = match *self.term(at) {
                Term::Concat(head, tail) => (head, tail),
                _ => (at, TerminalId::EMPTY),
            };
            match self.term(head) {
                Term::JsonText { .. } => return self.has_forced_texts(head),
                Term::Dfa { .. } => return self.row(head).iter().all(|&(_, _, next)| !self.is_wide(next)),
                _ => at = tail,
            }
        }
        false
    }

    /// Whether few bytes can follow, so that little of a trie is walked with it.
    pub(crate) fn is_thin(&self, id: TerminalId) -> bool {
        const FEW_BYTES: usize = 8;
        let count = |row: &Row| row.iter().map(|&(low, high, _)| usize::from(high - low) + 1).sum::<usize>();
        self.has_forced_texts(id)
            || (!matches!(self.term(id), Term::Key(_)) && count(self.row(id)) <= FEW_BYTES)
    }

    /// The memory that the terms take, roughly.
    pub(crate) fn memory_bytes(&self) -> usize {
        const A_TERM: usize = size_of::<Entry>() + 40;
        let seldom = self.runs.bytes() + self.exclusions.bytes() + self.texts.bytes();
        let spare = self.entries.spare_bytes() + self.literals.spare_bytes();
        self.entries.len() * A_TERM + self.row_bytes.load(Ordering::Relaxed) + seldom + spare
    }

    /// The state after `byte`, or `NEVER`.
    pub(crate) fn next(&self, id: TerminalId, byte: u8) -> TerminalId {
        match self.entry(id).known_dense() {
            Some(dense) => dense[usize::from(byte)],
            None => look_up(self.row(id), byte),
        }
    }

    /// The same as [`Arena::next`], for a text under way. With each byte it passes a new state of a counted repeat, of
    /// which nothing else will be asked, because masks are made for saturated states: so no row is made for it.
    pub(crate) fn step(&self, id: TerminalId, byte: u8) -> TerminalId {
        let entry = self.entry(id);
        match entry.row.get() {
            Some(row) => look_up(row, byte),
            None if entry.counts => self.compute_next(id, byte),
            None => self.forced_next(id, byte).unwrap_or_else(|| look_up(self.row(id), byte)),
        }
    }

    /// The same as [`Arena::next`], for many steps from the same state: rows with many ranges become dense.
    pub(crate) fn next_dense(&self, id: TerminalId, byte: u8) -> TerminalId {
        let entry = self.entry(id);
        if let Some(dense) = entry.known_dense() {
            return dense[usize::from(byte)];
        }
        if entry.row.get().is_none()
            && let Some(next) = self.forced_next(id, byte)
        {
            return next;
        }
        let row = self.row(id);
        if row.len() <= SPARSE_ROW {
            return look_up(row, byte);
        }
        self.dense(id)[usize::from(byte)]
    }

    /// A state's ways on, by byte.
    pub(crate) fn dense(&self, id: TerminalId) -> &[TerminalId; 256] {
        self.entry(id).walked.dense.get_or_init(|| {
            let mut dense = Box::new([TerminalId::NEVER; 256]);
            self.row_bytes.fetch_add(size_of_val(&*dense), Ordering::Relaxed);
            for &(low, high, target) in self.row(id) {
                dense[usize::from(low)..=usize::from(high)].fill(target);
            }
            dense
        })
    }

    pub(super) fn intern(&self, term: &Term) -> TerminalId {
        let make = || self.new_entry(term.clone());
        TerminalId(self.entries.intern(term, |entry| entry.term == *term, make).0)
    }

    /// The same for [`Term::Alt`], of which most are known: its list is made only if it is not.
    fn intern_alt(&self, items: &[TerminalId]) -> TerminalId {
        let is_same = |entry: &Entry| matches!(&entry.term, Term::Alt(known) if **known == *items);
        TerminalId(self.entries.intern(items, is_same, || self.new_entry(Term::Alt(items.into()))).0)
    }

    fn new_entry(&self, term: Term) -> Entry {
        let (nullable, counts) = self.facts(&term);
        let begins = self.begins(&term);
        self.note_bytes(match &term {
            Term::Alt(items) => size_of_val(&**items),
            Term::Dispatch(row) => size_of_val(&**row),
            Term::Key(key) => size_of_val(&**key),
            Term::KeyRead(text) => text.len(),
            _ => 0,
        });
        Entry { term, nullable, counts, begins, row: OnceLock::new(), walked: Seldom::default() }
    }

    fn facts(&self, term: &Term) -> (bool, bool) {
        let nullable = |id: &TerminalId| self.entry(*id).nullable;
        let counts = |id: &TerminalId| self.entry(*id).counts;
        match term {
            Term::Never | Term::Literal { .. } => (false, false),
            Term::Dispatch(row) => (false, row.iter().any(|(_, _, target)| counts(target))),
            Term::Empty => (true, false),
            Term::Concat(a, b) => (nullable(a) && nullable(b), counts(a) || counts(b)),
            Term::Alt(items) => (items.iter().any(nullable), items.iter().any(counts)),
            Term::Repeat { body, min, max } => {
                let bounded = *min > 1 && *min != Term::UNBOUNDED || *max > 1 && *max != Term::UNBOUNDED;
                (*min == 0 || (nullable(body) && *min != Term::UNBOUNDED), bounded || counts(body))
            }
            Term::Dfa { dfa, state } => (self.automata.get(*dfa).dfa.is_accepting(*state), false),
            &Term::Tagged { text, state } => {
                let text = &self.tagged[text as usize].text;
                (text.is_end(state) || text.tag(state).is_some(), false)
            }
            Term::JsonText { inner, pending, .. } => (*pending == 0 && nullable(inner), counts(inner)),
            Term::JsonEscape { inner, .. } => (false, counts(inner)),
            Term::Bounded { inner, .. } => (nullable(inner), true),
            Term::Key(_) => (false, true),
            Term::KeyRead(_) => (true, true),
        }
    }

    pub(super) fn literal(&self, bytes: &[u8]) -> TerminalId {
        if bytes.is_empty() {
            return TerminalId::EMPTY;
        }
        let literal = self.intern_literal(bytes);
        self.intern(&Term::Literal { literal, offset: 0 })
    }

    pub(super) fn intern_literal(&self, bytes: &[u8]) -> u32 {
        let make = || Literal { bytes: bytes.into(), fingerprint: OnceLock::new() };
        self.literals.intern(bytes, |known| *known.bytes == *bytes, make).0
    }

    pub(super) fn automaton_state(&self, dfa: u32, state: u32) -> TerminalId {
        let automaton = self.automata.get(dfa);
        if automaton.dfa.edges(state).is_empty() {
            return TerminalId::EMPTY;
        }
        let free = automaton.free.get_or_init(|| Some((automaton.dfa.free_state()?, self.any_text())));
        match *free {
            Some((free, any_text)) if free == state => any_text,
            _ => self.intern(&Term::Dfa { dfa, state }),
        }
    }

    /// Any text.
    pub(super) fn any_text(&self) -> TerminalId {
        *self.any_text.get_or_init(|| self.repeat(self.class(&CharSet::any()), 0, Term::UNBOUNDED))
    }

    /// `a` and then `b`, leaning to the right.
    pub(crate) fn concat(&self, a: TerminalId, b: TerminalId) -> TerminalId {
        if a == TerminalId::NEVER || b == TerminalId::NEVER {
            return TerminalId::NEVER;
        }
        // Chains may be long, and most calls are of this kind.
        if b == TerminalId::EMPTY {
            return a;
        }
        let mut heads: SmallVec<[TerminalId; 8]> = SmallVec::new();
        let mut at = a;
        while let &Term::Concat(head, tail) = self.term(at) {
            heads.push(head);
            at = tail;
        }
        let mut result = self.concat_atom(at, b);
        while let Some(head) = heads.pop() {
            result = self.concat_atom(head, result);
        }
        result
    }

    fn concat_atom(&self, a: TerminalId, b: TerminalId) -> TerminalId {
        match (a, b) {
            (TerminalId::EMPTY, _) => b,
            (_, TerminalId::EMPTY) => a,
            _ => self.intern(&Term::Concat(a, b)),
        }
    }

    pub(super) fn repeat(&self, body: TerminalId, min: u32, max: u32) -> TerminalId {
        if body == TerminalId::EMPTY || max == 0 || (body == TerminalId::NEVER && min == 0) {
            return TerminalId::EMPTY;
        }
        if body == TerminalId::NEVER || (min, max) == (1, 1) {
            return body;
        }
        let min = if self.is_nullable(body) && min != Term::UNBOUNDED { 0 } else { min };
        if let Term::Repeat { body: inner, min: 0, max: Term::UNBOUNDED } = *self.term(body) {
            return self.intern(&Term::Repeat { body: inner, min: 0, max: Term::UNBOUNDED });
        }
        self.intern(&Term::Repeat { body, min, max })
    }

    /// Any one of `items`.
    pub(super) fn alt(&self, items: impl IntoIterator<Item = TerminalId>) -> TerminalId {
        self.alt_within(items.into_iter().collect(), FACTOR_DEPTH)
    }

    fn alt_within(&self, items: Items, depth: u32) -> TerminalId {
        if let [item] = *items {
            return item;
        }
        let mut flat = Items::new();
        for item in items {
            match self.term(item) {
                Term::Never => {}
                Term::Alt(inner) => flat.extend_from_slice(inner),
                _ => flat.push(item),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        if flat.len() > 1 {
            let mut heads = self.heads(&flat);
            for (may_merge, merge) in MERGES {
                if may_merge(&heads) {
                    merge(self, &mut flat);
                    heads = self.heads(&flat);
                }
            }
            if depth > 0 && heads.are_chains {
                self.factor_heads(&mut flat, depth);
            }
            if flat.len() > 1
                && flat[0] == TerminalId::EMPTY
                && flat[1..].iter().any(|&id| self.is_nullable(id))
            {
                flat.remove(0);
            }
        }
        match flat.len() {
            0 => TerminalId::NEVER,
            1 => flat[0],
            _ => self.intern_alt(&flat),
        }
    }

    fn heads(&self, items: &[TerminalId]) -> Heads {
        let mut heads = Heads::default();
        for &item in items {
            let mut first = self.entry(item);
            let mut is_chain = false;
            if let Term::Concat(head, _) = first.term {
                (first, is_chain) = (self.entry(head), true);
                heads.are_chains = true;
                heads.may_be_empty |= first.nullable;
            }
            match first.term {
                Term::Dispatch(_) if !is_chain => heads.dispatches += 1,
                Term::JsonText { .. } => heads.json_texts += 1,
                Term::Repeat { .. } => heads.repeats += 1,
                Term::Bounded { .. } => heads.bounded += 1,
                _ => {}
            }
        }
        heads
    }

    /// Several sets of first bytes are one.
    fn merge_dispatches(&self, items: &mut Items) {
        let is_dispatch = |&id: &TerminalId| matches!(self.term(id), Term::Dispatch(_));
        if items.iter().filter(|id| is_dispatch(id)).count() < 2 {
            return;
        }
        let pieces: Vec<_> =
            items.iter().filter(|id| is_dispatch(id)).flat_map(|&id| self.row(id)).copied().collect();
        items.retain(|id| !is_dispatch(id));
        items.push(self.dispatch(self.combine(&pieces)));
        items.sort_unstable();
    }

    /// A row as a term: one byte of it and then what belongs to it.
    pub(super) fn dispatch(&self, row: Row) -> TerminalId {
        if row.is_empty() { TerminalId::NEVER } else { self.intern(&Term::Dispatch(row)) }
    }

    /// `e{0,3} t | e{2,7} t` is `e{0,7} t`: counts that meet or overlap, before the same tail, are one.
    fn merge_repeats(&self, items: &mut Items) {
        let repeat = |id: TerminalId| match *self.term(id) {
            Term::Repeat { body, min, max } => Some((body, TerminalId::EMPTY, min, max)),
            Term::Concat(head, tail) => match *self.term(head) {
                Term::Repeat { body, min, max } => Some((body, tail, min, max)),
                _ => None,
            },
            _ => None,
        };
        let mut repeats: SmallVec<[_; 8]> = items.iter().filter_map(|&id| repeat(id)).collect();
        repeats.sort_unstable();
        if repeats.windows(2).all(|pair| !meets(&pair[0], &pair[1])) {
            return;
        }
        items.retain(|id| repeat(*id).is_none());
        let mut repeats = repeats.into_iter();
        let Some(mut last) = repeats.next() else { return };
        for next in repeats {
            if meets(&last, &next) {
                last.3 = last.3.max(next.3);
            } else {
                items.push(self.concat(self.repeat(last.0, last.2, last.3), last.1));
                last = next;
            }
        }
        items.push(self.concat(self.repeat(last.0, last.2, last.3), last.1));
        items.sort_unstable();
        items.dedup();
    }

    /// `x? y | y` is `x? y`: what is left of another item once heads that may be empty are gone adds nothing.
    fn drop_suffixes(&self, items: &mut Items) {
        let optional_head = |id: TerminalId| match *self.term(id) {
            Term::Concat(head, tail) if self.is_nullable(head) => Some(tail),
            _ => None,
        };
        // Rests are shared, so each is passed once however many items end in it.
        let mut rests: FxHashSet<TerminalId> = FxHashSet::default();
        for &id in items.iter() {
            let mut at = id;
            while let Some(rest) = optional_head(at).filter(|&rest| rests.insert(rest)) {
                at = rest;
            }
        }
        items.retain(|id| !rests.contains(id));
    }

    /// `x y | x z` is `x (y | z)`, and `x | x z` is `x (z | "")`.
    fn factor_heads(&self, items: &mut Items, depth: u32) {
        let split = |id: TerminalId| match *self.term(id) {
            Term::Concat(head, tail) => (head, tail),
            _ => (id, TerminalId::EMPTY),
        };
        let mut heads: SmallVec<[(TerminalId, TerminalId); 8]> = items.iter().map(|&id| split(id)).collect();
        heads.sort_unstable();
        if heads.windows(2).all(|pair| pair[0].0 != pair[1].0) {
            return;
        }
        items.clear();
        for group in heads.chunk_by(|a, b| a.0 == b.0) {
            let tails = group.iter().map(|&(_, tail)| tail).collect();
            items.push(self.concat(group[0].0, self.alt_within(tails, depth - 1)));
        }
        items.sort_unstable();
        items.dedup();
    }
}

/// Alternatives.
pub(super) type Items = SmallVec<[TerminalId; 8]>;

/// What alternatives begin with.
#[derive(Default)]
struct Heads {
    /// Not those in chains.
    dispatches: u32,
    json_texts: u32,
    repeats: u32,
    bounded: u32,
    /// Whether some are chains.
    are_chains: bool,
    /// Whether the first of some chain may be empty.
    may_be_empty: bool,
}

/// Whether alternatives may become fewer in a way,
type MayMerge = fn(&Heads) -> bool;
/// and the way.
type Merge = fn(&Arena, &mut Items);

/// All of them, in their order.
const MERGES: [(MayMerge, Merge); 5] = [
    (|heads| heads.dispatches > 1, Arena::merge_dispatches),
    (|heads| heads.json_texts > 1, Arena::merge_json_texts),
    (|heads| heads.repeats > 1, Arena::merge_repeats),
    (|heads| heads.bounded > 1, Arena::merge_bounded),
    (|heads| heads.may_be_empty, Arena::drop_suffixes),
];

/// Whether two repeats `(body, tail, min, max)`, of which the second is not the lesser, are one.
fn meets(a: &(TerminalId, TerminalId, u32, u32), b: &(TerminalId, TerminalId, u32, u32)) -> bool {
    (a.0, a.1) == (b.0, b.1) && b.2 <= a.3.saturating_add(1)
}

/// How deep common heads are factored out; beyond it terms stay as they are, which is only less canonical.
const FACTOR_DEPTH: u32 = 24;

fn look_up(row: &Row, byte: u8) -> TerminalId {
    let at = row.partition_point(|&(_, high, _)| high < byte);
    match row.get(at) {
        Some(&(low, _, target)) if low <= byte => target,
        _ => TerminalId::NEVER,
    }
}
