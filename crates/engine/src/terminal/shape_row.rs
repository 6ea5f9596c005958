//! The ways on from a state by kinds of bytes, for walks among the [shapes](crate::vocab::shapes) of tokens.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use tokenstile_grammar::ir::Escapes;

use super::arena::{Arena, Term, TerminalId};
use crate::vocab::shapes::{ASCII, BEGUN, KINDS, KindSet, OTHER, RUNS, Run, SPACES, bytes_of, kinds_of};

/// A state's ways on by kinds of bytes.
pub(crate) struct ShapeRow {
    /// The next state for each kind.
    pub(crate) next: [TerminalId; KINDS],
    /// The kinds whose bytes do not all lead to the same state.
    pub(crate) mixed: KindSet,
    /// What is easily seen to keep the state alive: what leads back to it.
    endless: Endless,
}

/// Kinds of characters of which any string keeps a state alive, up to a length in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Endless {
    pub(crate) kinds: KindSet,
    pub(crate) length: u32,
}

impl Endless {
    /// Nothing keeps it alive.
    pub(crate) const NOTHING: Endless = Endless { kinds: 0, length: 0 };

    /// Whether all tokens are among these strings that are made of `kinds` and have up to `height` bytes and one.
    #[inline]
    pub(crate) fn has_all(self, kinds: KindSet, height: u32) -> bool {
        kinds & !self.kinds == 0 && height < self.length
    }
}

/// States, perhaps some more than once.
type States = SmallVec<[TerminalId; 8]>;

/// Ranges of bytes, one after the other.
type Sequence = &'static [(u8, u8)];

/// The ranges of bytes that make up the characters outside of ASCII.
pub(crate) const SEQUENCES: [Sequence; 8] = [
    &[(0xC2, 0xDF), (0x80, 0xBF)],
    &[(0xE0, 0xE0), (0xA0, 0xBF), (0x80, 0xBF)],
    &[(0xE1, 0xEC), (0x80, 0xBF), (0x80, 0xBF)],
    &[(0xED, 0xED), (0x80, 0x9F), (0x80, 0xBF)],
    &[(0xEE, 0xEF), (0x80, 0xBF), (0x80, 0xBF)],
    &[(0xF0, 0xF0), (0x90, 0xBF), (0x80, 0xBF), (0x80, 0xBF)],
    &[(0xF1, 0xF3), (0x80, 0xBF), (0x80, 0xBF), (0x80, 0xBF)],
    &[(0xF4, 0xF4), (0x80, 0x8F), (0x80, 0xBF), (0x80, 0xBF)],
];

/// The same without [`SPACES`].
const WITHOUT_SPACES: [Sequence; 21] = [
    &[(0xC2, 0xC2), (0xA1, 0xBF)],
    &[(0xC3, 0xDF), (0x80, 0xBF)],
    SEQUENCES[1],
    &[(0xE1, 0xE1), (0x80, 0x99), (0x80, 0xBF)],
    &[(0xE1, 0xE1), (0x9A, 0x9A), (0x81, 0xBF)],
    &[(0xE1, 0xE1), (0x9B, 0xBF), (0x80, 0xBF)],
    &[(0xE2, 0xE2), (0x80, 0x80), (0xB0, 0xBF)],
    &[(0xE2, 0xE2), (0x81, 0x81), (0x80, 0x9E)],
    &[(0xE2, 0xE2), (0x81, 0x81), (0xA0, 0xBF)],
    &[(0xE2, 0xE2), (0x82, 0xBF), (0x80, 0xBF)],
    &[(0xE3, 0xE3), (0x80, 0x80), (0x81, 0xBF)],
    &[(0xE3, 0xE3), (0x81, 0xBF), (0x80, 0xBF)],
    &[(0xE4, 0xEC), (0x80, 0xBF), (0x80, 0xBF)],
    SEQUENCES[3],
    &[(0xEE, 0xEE), (0x80, 0xBF), (0x80, 0xBF)],
    &[(0xEF, 0xEF), (0x80, 0xBA), (0x80, 0xBF)],
    &[(0xEF, 0xEF), (0xBB, 0xBB), (0x80, 0xBE)],
    &[(0xEF, 0xEF), (0xBC, 0xBF), (0x80, 0xBF)],
    SEQUENCES[5],
    SEQUENCES[6],
    SEQUENCES[7],
];

/// So many states are looked at to find out what keeps a state alive,
const MAX_STATES: usize = 128;
/// at first so many,
const FEW_STATES: usize = 12;
/// and so many are made for it,
const MAX_NEW_STATES: usize = 500;
/// or so many for a text of a bounded length.
const MAX_NEW_BOUNDED: usize = 1_500;
/// A state is far away that is so many characters away,
const FAR: u32 = 4;
/// and a length that is less is not worth it.
const SHORT: u32 = 8;
/// Letters are most of what tokens are made of,
const LETTERS: KindSet = kinds_of(b"aA");
/// and words of them lead to few states where brackets lead to ever more.
const WORDS: KindSet = kinds_of(b"aA0123456789 ") | ALL_OTHERS;
/// If it ends only because there are many states, what is found of those on the way is kept for them if so much is left.
const WORTH_NOTING: u32 = 32;

/// All characters outside of ASCII, whole or begun.
const ALL_OTHERS: KindSet = OTHER | SPACES | BEGUN;

impl Arena {
    /// Whether many bytes may follow.
    pub(crate) fn is_wide(&self, id: TerminalId) -> bool {
        const MANY_BYTES: usize = 24;
        let bytes: usize = self.row(id).iter().map(|&(low, high, _)| usize::from(high - low) + 1).sum();
        bytes >= MANY_BYTES
    }

    /// A state's ways on by kinds of bytes.
    pub(crate) fn shape_row(&self, id: TerminalId) -> &ShapeRow {
        self.entry(id).walked.shape_row.get_or_init(|| {
            self.note_bytes(size_of::<ShapeRow>());
            let mut row = self.compute_shape_row(id);
            row.endless = match self.without_bound(id) {
                None => self.easily_seen(id, &row),
                Some((endless, _)) if !self.may_lead_back(endless) => Endless::NOTHING,
                Some((endless, length)) => {
                    let Endless { kinds, length: inner } = self.shape_row(endless).endless;
                    Endless { kinds, length: length.min(inner) }
                }
            };
            Box::new(row)
        })
    }

    /// Whether that has been asked before.
    pub(crate) fn has_shape_row(&self, id: TerminalId) -> bool {
        self.entry(id).walked.made().is_some_and(|walked| walked.shape_row.get().is_some())
    }

    fn compute_shape_row(&self, id: TerminalId) -> ShapeRow {
        let mut next = [TerminalId::NEVER; KINDS];
        let (mut seen, mut mixed): (KindSet, KindSet) = (0, 0);
        let mut pieces = self.row(id).iter().copied().peekable();
        for &Run { low, high, kind } in &RUNS {
            while pieces.next_if(|piece| piece.1 < low).is_some() {}
            let (target, is_mixed) = match pieces.peek() {
                Some(piece) if piece.0 <= low => (piece.2, piece.1 < high),
                Some(piece) => (TerminalId::NEVER, piece.0 <= high),
                None => (TerminalId::NEVER, false),
            };
            let known = &mut next[usize::from(kind)];
            let is_mixed = is_mixed || (seen >> kind & 1 == 1 && *known != target);
            *known = target;
            seen |= 1 << kind;
            mixed |= KindSet::from(is_mixed) << kind;
        }
        ShapeRow { next, mixed, endless: Endless::NOTHING }
    }

    /// The kinds of characters that lead back to the state itself.
    fn leading_back(&self, id: TerminalId, row: &ShapeRow) -> Endless {
        let leads_back = |kind: &usize| row.next[*kind] == id;
        let kinds =
            (0..KINDS).filter(leads_back).fold(0, |kinds, kind| kinds | 1 << kind) & !row.mixed & ASCII;
        let others = if kinds == 0 { 0 } else { self.others(id, ALL_OTHERS, |state| state == id) };
        Endless { kinds: kinds | others, length: u32::MAX }
    }

    /// Whether a byte may lead back to a state, as far as the text that it begins with tells.
    fn may_lead_back(&self, id: TerminalId) -> bool {
        let (text, ..) = self.first_text(id);
        self.row(text).iter().any(|&(_, _, target)| target == text)
    }

    /// The first of the ways on that is a loop, without what comes after it, if the state is not the loop itself. As long as
    /// a text stays in it, the state is alive, whatever becomes of the other ways.
    fn looping(&self, id: TerminalId) -> Option<TerminalId> {
        let first = match *self.term(id) {
            Term::Concat(first, _) => first,
            _ => id,
        };
        let (texts, spelled) = match *self.term(first) {
            Term::JsonText { inner, pending: 0, escapes } => (inner, Some(escapes)),
            _ => (id, None),
        };
        let items = if let Term::Alt(items) = self.term(texts) { items } else { &[texts][..] };
        let found = items.iter().find_map(|&item| self.first_loop(item))?;
        let found = spelled.map_or(found, |escapes| self.json_text(found, 0, escapes));
        (found != id).then_some(found)
    }

    /// The first of a chain that is a loop, if all before it may be empty.
    fn first_loop(&self, id: TerminalId) -> Option<TerminalId> {
        let is_loop = |id| matches!(self.term(id), Term::Repeat { min: 0, max: Term::UNBOUNDED, .. });
        let mut rest = id;
        while let &Term::Concat(head, tail) = self.term(rest) {
            if is_loop(head) {
                return Some(head);
            }
            if !self.is_nullable(head) {
                return None;
            }
            rest = tail;
        }
        is_loop(rest).then_some(rest)
    }

    /// What leads back to a state, or to a loop that it begins with.
    fn easily_seen(&self, id: TerminalId, row: &ShapeRow) -> Endless {
        let own = self.leading_back(id, row);
        match self.looping(id).map(|found| self.shape_row(found).endless) {
            Some(found) if own.kinds & !found.kinds == 0 => found,
            _ => own,
        }
    }

    /// Kinds of characters of which any string keeps a state alive, up to a length, as many as can be found.
    pub(crate) fn endless(&self, id: TerminalId) -> Endless {
        let slot = &self.entry(id).walked.endless;
        if let Some(&known) = slot.get() {
            return known;
        }
        let endless = match self.without_bound(id) {
            // It may have a bound of its own, further in.
            Some((endless, length)) if length >= SHORT || !self.is_bounded(id) => {
                let Endless { kinds, length: inner } = self.endless(endless);
                Endless { kinds, length: length.min(inner) }
            }
            Some(_) => self.endless_kinds(id),
            // A loop that many states begin with is looked at once for all of them.
            None => self.endless_loop(id).unwrap_or_else(|| {
                let easily_seen = self.shape_row(id).endless;
                let is_all = self.taken_kinds(id, ASCII | ALL_OTHERS, &FxHashSet::default()).0
                    & !easily_seen.kinds
                    == 0;
                let found = if is_all { easily_seen } else { self.endless_kinds(id) };
                let has_more_letters = found.kinds & !easily_seen.kinds & LETTERS != 0;
                let least = if has_more_letters { FAR } else { SHORT };
                if found.kinds == 0 || found.length < least { easily_seen } else { found }
            }),
        };
        // What was found may be about this state as well, so that the slot must not be held meanwhile.
        *slot.get_or_init(|| endless)
    }

    /// What keeps the loop alive that a state begins with, if words do.
    fn endless_loop(&self, id: TerminalId) -> Option<Endless> {
        let found = self.endless(self.looping(id)?);
        (found.kinds & LETTERS == LETTERS && found.length == u32::MAX).then_some(found)
    }

    /// A state without its bound on the number of characters, if it has one, and a length: any string that keeps that state
    /// alive and is no longer keeps the bounded one alive. Where there must be some characters first, what comes after them
    /// is left out, for it may take others.
    fn without_bound(&self, id: TerminalId) -> Option<(TerminalId, u32)> {
        let (inner, spelled, after) = self.first_text(id);
        let (endless, after, length) = match *self.term(inner) {
            Term::Repeat { body, min, max } if min > 0 || max != Term::UNBOUNDED => {
                let endless = self.is_one_character(body).then(|| self.repeat(body, 0, Term::UNBOUNDED))?;
                (endless, if min > 0 { TerminalId::EMPTY } else { after }, max)
            }
            Term::Bounded { inner, left } => (inner, after, left.saturating_sub(self.distance(inner).worst)),
            _ => return None,
        };
        let endless = spelled.map_or(endless, |escapes| self.json_text(endless, 0, escapes));
        Some((self.concat(endless, after), length))
    }

    /// What a state begins with, as a text, the escapes that it may have if it is spelled in JSON, and what comes after it.
    fn first_text(&self, id: TerminalId) -> (TerminalId, Option<Escapes>, TerminalId) {
        let (first, after) = match *self.term(id) {
            Term::Concat(first, after) => (first, after),
            _ => (id, TerminalId::EMPTY),
        };
        match *self.term(first) {
            Term::JsonText { inner, pending: 0, escapes } => (inner, Some(escapes), after),
            _ => (first, None, after),
        }
    }

    /// Whether a state begins with a text of a bounded length.
    pub(crate) fn is_bounded(&self, id: TerminalId) -> bool {
        matches!(self.term(self.first_text(id).0), Term::Bounded { .. })
    }

    /// The same, as far as it is known or easily seen.
    pub(crate) fn known_endless(&self, id: TerminalId, row: &ShapeRow) -> Endless {
        self.entry(id).walked.endless.get().copied().unwrap_or(row.endless)
    }

    /// The same, as far as it is easily seen.
    pub(crate) fn easily_endless(&self, id: TerminalId) -> Endless {
        self.known_endless(id, self.shape_row(id))
    }

    /// The same, by a search among the states nearby: first with words, which lead to few states where brackets lead to ever
    /// more. Often all else that keeps the state alive leads to the states that words lead to.
    fn endless_kinds(&self, id: TerminalId) -> Endless {
        let words = self.endless_among(id, WORDS, FEW_STATES);
        if words.length == u32::MAX && words.kinds & LETTERS != 0 {
            return words;
        }
        let found = self.endless_among(id, ASCII | ALL_OTHERS, MAX_STATES);
        if found.kinds == 0 || found.length >= FAR {
            found
        } else {
            self.endless_among(id, WORDS, MAX_STATES)
        }
    }

    /// Starts from some kinds, and drops those that any state reached by them does not take, until nothing changes. The states
    /// that are near come first, because they tell soonest what to drop. Where there are too many states, or where far away
    /// little is taken any more, or not all letters, the length ends there.
    fn endless_among(&self, id: TerminalId, mut kinds: KindSet, most_states: usize) -> Endless {
        let most = self.len() + if self.is_bounded(id) { MAX_NEW_BOUNDED } else { MAX_NEW_STATES };
        'again: while kinds != 0 {
            let mut levels: Vec<States> = vec![States::from_slice(&[id])];
            let mut seen: FxHashSet<TerminalId> = FxHashSet::from_iter([id]);
            let (mut length, mut is_end, mut loses_letters) = (u32::MAX, false, false);
            'levels: while let Some(level) = levels.last().filter(|level| !level.is_empty()) {
                let (mut next, read) = (States::new(), levels.len() as u32 - 1);
                for &at in level {
                    let (taken, targets) = self.taken_kinds(at, kinds, &seen);
                    let is_far = read >= FAR && taken.count_ones() < kinds.count_ones() / 2;
                    loses_letters = read >= FAR && kinds & !taken & LETTERS != 0;
                    if is_far || loses_letters || seen.len() > most_states || self.len() > most {
                        (length, is_end) = (read, is_far);
                        break 'levels;
                    }
                    if taken != kinds {
                        kinds = taken;
                        continue 'again;
                    }
                    next.extend(targets.into_iter().filter(|&target| seen.insert(target)));
                }
                levels.push(next);
            }
            if length == u32::MAX {
                kinds |= self.taken_within(&seen);
            }
            let noted = match () {
                () if is_end || length == u32::MAX => 1,
                () if loses_letters => SHORT,
                () => WORTH_NOTING,
            };
            self.note_endless(&levels, Endless { kinds, length }, noted);
            return Endless { kinds, length };
        }
        Endless { kinds, length: u32::MAX }
    }

    /// The kinds that lead from each of some states to one of them.
    fn taken_within(&self, states: &FxHashSet<TerminalId>) -> KindSet {
        let is_one = |target: TerminalId| states.contains(&target);
        states.iter().fold(ASCII | ALL_OTHERS, |kinds, &id| self.kinds_to(id, kinds, is_one))
    }

    /// The same holds for the states that it leads to, less what was read. It is noted where at least so much is left, unless
    /// it is without letters and more is easily seen.
    fn note_endless(&self, levels: &[States], Endless { kinds, length }: Endless, least: u32) {
        for (level, read) in levels.iter().zip(0..).skip(1) {
            let left = if length == u32::MAX { length } else { length.saturating_sub(read) };
            let is_more = |state: TerminalId| {
                kinds & LETTERS != LETTERS && self.shape_row(state).endless.kinds & !kinds != 0
            };
            for &state in level.iter().filter(|&&state| left >= least && !is_more(state)) {
                let _ = self.entry(state).walked.endless.set(Endless { kinds, length: left });
            }
        }
    }

    /// Those of `kinds` that a state takes, and the states that they lead to but for those that were `seen`. After a backslash
    /// few bytes may come, and no text goes on without end there.
    fn taken_kinds(&self, id: TerminalId, kinds: KindSet, seen: &FxHashSet<TerminalId>) -> (KindSet, States) {
        let mut targets = States::new();
        if !self.is_wide(id) {
            return (0, targets);
        }
        let goes_to = |target: TerminalId| {
            if target == id || targets.last() == Some(&target) || seen.contains(&target) {
                return true;
            }
            let goes_on = target != TerminalId::NEVER && self.is_wide(target);
            if goes_on {
                targets.push(target);
            }
            goes_on
        };
        (self.kinds_to(id, kinds, goes_to), targets)
    }

    /// Those of `kinds` whose characters all lead to states with which `goes_on` agrees.
    fn kinds_to(
        &self,
        id: TerminalId,
        kinds: KindSet,
        mut goes_on: impl FnMut(TerminalId) -> bool,
    ) -> KindSet {
        let row = self.shape_row(id);
        let mut is_taken = |&kind: &usize| {
            if row.mixed >> kind & 1 == 0 {
                return goes_on(row.next[kind]);
            }
            let dense = self.dense(id);
            bytes_of(kind as u8).iter().all(|&byte| goes_on(dense[usize::from(byte)]))
        };
        let among = (0..KINDS).filter(|kind| kinds & ASCII & 1 << kind != 0);
        let taken = among.filter(|kind| is_taken(kind)).fold(0, |taken, kind| taken | 1 << kind);
        taken | self.others(id, kinds, goes_on)
    }

    /// Those of `kinds` outside of ASCII whose characters all lead to states with which `goes_on` agrees.
    fn others(&self, id: TerminalId, kinds: KindSet, mut goes_on: impl FnMut(TerminalId) -> bool) -> KindSet {
        let mut all_go_on = |sequences: &[Sequence]| {
            self.after_all(id, sequences).is_some_and(|ends| ends.iter().all(|&end| goes_on(end)))
        };
        match kinds & (OTHER | SPACES) {
            0 => 0,
            OTHER if all_go_on(&WITHOUT_SPACES) => OTHER | BEGUN,
            OTHER => 0,
            _ if all_go_on(&SEQUENCES) => ALL_OTHERS,
            _ if all_go_on(&WITHOUT_SPACES) => OTHER | BEGUN,
            _ => 0,
        }
    }

    /// The states after any character of some sequences, or `None` if some lead nowhere.
    fn after_all(&self, id: TerminalId, sequences: &[Sequence]) -> Option<States> {
        let mut all = States::new();
        for &ranges in sequences {
            let mut states = States::from_slice(&[id]);
            for range in ranges {
                let mut next = States::new();
                for &state in &states {
                    self.after_range(state, *range, &mut next)?;
                }
                states = next;
            }
            states.retain(|state| !all.contains(state));
            all.extend(states);
        }
        Some(all)
    }

    /// Adds the states after any byte of a range, or `None` if some lead nowhere.
    fn after_range(&self, id: TerminalId, (low, high): (u8, u8), states: &mut States) -> Option<()> {
        let row = self.row(id);
        let mut covered = u32::from(low);
        for &(from, to, target) in &row[row.partition_point(|piece| piece.1 < low)..] {
            if u32::from(from) > covered || covered > u32::from(high) {
                break;
            }
            covered = u32::from(to) + 1;
            if !states.contains(&target) {
                states.push(target);
            }
        }
        (covered > u32::from(high)).then_some(())
    }
}
