//! The ways on from a state by kinds of bytes, for walks among the [shapes](crate::vocab::shapes) of tokens.

use hashbrown::HashSet;
use smallvec::SmallVec;

use super::arena::{Arena, Term, TerminalId};
use crate::vocab::shapes::{ASCII, BEGUN, KIND_OF, KINDS, KindSet, OTHER};

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
}

/// States, perhaps some more than once.
type States = SmallVec<[TerminalId; 8]>;

/// The ranges of bytes that make up the characters outside of ASCII.
pub(crate) const SEQUENCES: [&[(u8, u8)]; 8] = [
    &[(0xC2, 0xDF), (0x80, 0xBF)],
    &[(0xE0, 0xE0), (0xA0, 0xBF), (0x80, 0xBF)],
    &[(0xE1, 0xEC), (0x80, 0xBF), (0x80, 0xBF)],
    &[(0xED, 0xED), (0x80, 0x9F), (0x80, 0xBF)],
    &[(0xEE, 0xEF), (0x80, 0xBF), (0x80, 0xBF)],
    &[(0xF0, 0xF0), (0x90, 0xBF), (0x80, 0xBF), (0x80, 0xBF)],
    &[(0xF1, 0xF3), (0x80, 0xBF), (0x80, 0xBF), (0x80, 0xBF)],
    &[(0xF4, 0xF4), (0x80, 0x8F), (0x80, 0xBF), (0x80, 0xBF)],
];

/// So many states are looked at to find out what keeps a state alive,
const MAX_STATES: usize = 160;
/// and so many are made for it.
const MAX_NEW_STATES: usize = 1_000;

impl Arena {
    /// Whether many bytes may follow.
    pub(crate) fn is_wide(&self, id: TerminalId) -> bool {
        const MANY_BYTES: usize = 24;
        let bytes: usize = self.row(id).iter().map(|&(low, high, _)| usize::from(high - low) + 1).sum();
        bytes >= MANY_BYTES
    }

    /// A state's ways on by kinds of bytes.
    pub(crate) fn shape_row(&self, id: TerminalId) -> &ShapeRow {
        self.entry(id).shape_row.get_or_init(|| {
            self.note_bytes(size_of::<ShapeRow>());
            let mut row = self.compute_shape_row(id);
            row.endless = match self.without_bound(id) {
                None => self.leading_back(id, &row),
                Some((endless, length)) => {
                    let row = self.compute_shape_row(endless);
                    Endless { length, ..self.leading_back(endless, &row) }
                }
            };
            Box::new(row)
        })
    }

    /// Whether that has been asked before.
    pub(crate) fn has_shape_row(&self, id: TerminalId) -> bool {
        self.entry(id).shape_row.get().is_some()
    }

    fn compute_shape_row(&self, id: TerminalId) -> ShapeRow {
        let mut next = [TerminalId::NEVER; KINDS];
        let (mut seen, mut mixed): (KindSet, KindSet) = (0, 0);
        for (byte, &target) in self.dense(id).iter().enumerate() {
            let kind = usize::from(KIND_OF[byte]);
            if seen >> kind & 1 == 0 {
                next[kind] = target;
                seen |= 1 << kind;
            } else if next[kind] != target {
                mixed |= 1 << kind;
            }
        }
        ShapeRow { next, mixed, endless: Endless::NOTHING }
    }

    /// The kinds of characters that lead back to the state itself.
    fn leading_back(&self, id: TerminalId, row: &ShapeRow) -> Endless {
        let leads_back = |kind: &usize| row.next[*kind] == id;
        let kinds =
            (0..KINDS).filter(leads_back).fold(0, |kinds, kind| kinds | 1 << kind) & !row.mixed & ASCII;
        let only = |states: &States| states.iter().all(|&state| state == id);
        let others = kinds != 0 && self.after_others(id).is_some_and(|states| only(&states));
        Endless { kinds: if others { kinds | OTHER | BEGUN } else { kinds }, length: u32::MAX }
    }

    /// Kinds of characters of which any string keeps a state alive, up to a length, as many as can be found.
    pub(crate) fn endless(&self, id: TerminalId) -> Endless {
        let slot = &self.entry(id).endless;
        if let Some(&known) = slot.get() {
            return known;
        }
        let endless = match self.without_bound(id) {
            // It may have a bound of its own, further in.
            Some((endless, length)) => {
                let Endless { kinds, length: inner } = self.endless(endless);
                Endless { kinds, length: length.min(inner) }
            }
            None => Endless { kinds: self.endless_kinds(id), length: u32::MAX },
        };
        // What was found may be about this state as well, so that the slot must not be held meanwhile.
        *slot.get_or_init(|| endless)
    }

    /// A state without its bound on the number of characters, if it has one, and a length: any string that keeps that state
    /// alive and is no longer keeps the bounded one alive. Where there must be some characters first, what comes after them
    /// is left out, for it may take others.
    fn without_bound(&self, id: TerminalId) -> Option<(TerminalId, u32)> {
        let (first, after) = match *self.term(id) {
            Term::Concat(first, after) => (first, after),
            _ => (id, TerminalId::EMPTY),
        };
        let (inner, spelled) = match *self.term(first) {
            Term::JsonText { inner, pending: 0 } => (inner, true),
            _ => (first, false),
        };
        let (endless, after, length) = match *self.term(inner) {
            Term::Repeat { body, min, max } if min > 0 || max != Term::UNBOUNDED => {
                let endless = self.is_one_character(body).then(|| self.repeat(body, 0, Term::UNBOUNDED))?;
                (endless, if min > 0 { TerminalId::EMPTY } else { after }, max)
            }
            Term::Bounded { inner, left } => (inner, after, left.saturating_sub(self.distance(inner).worst)),
            _ => return None,
        };
        let endless = if spelled { self.json_text(endless, 0) } else { endless };
        Some((self.concat(endless, after), length))
    }

    /// The same, as far as it is known or easily seen.
    pub(crate) fn known_endless(&self, id: TerminalId, row: &ShapeRow) -> Endless {
        self.entry(id).endless.get().copied().unwrap_or(row.endless)
    }

    /// Starts from all kinds, and drops those that any state reached by them does not take, until nothing changes.
    fn endless_kinds(&self, id: TerminalId) -> KindSet {
        let mut kinds = ASCII | OTHER | BEGUN;
        let most = self.len() + MAX_NEW_STATES;
        'again: while kinds != 0 {
            let mut seen: HashSet<TerminalId> = HashSet::from_iter([id]);
            let mut stack = vec![id];
            while let Some(at) = stack.pop() {
                let (taken, targets) = self.taken_kinds(at, kinds);
                if taken != kinds {
                    kinds = taken;
                    continue 'again;
                }
                stack.extend(targets.into_iter().filter(|&target| seen.insert(target)));
                if seen.len() > MAX_STATES || self.len() > most {
                    return 0;
                }
            }
            // The same holds for all the states that it leads to.
            for state in seen.into_iter().filter(|&state| state != id) {
                let _ = self.entry(state).endless.set(Endless { kinds, length: u32::MAX });
            }
            break;
        }
        kinds
    }

    /// Those of `kinds` that a state takes, and the other states that they lead to. After a backslash few bytes may come,
    /// and no text goes on without end there.
    fn taken_kinds(&self, id: TerminalId, kinds: KindSet) -> (KindSet, States) {
        let mut targets = States::new();
        if !self.is_wide(id) {
            return (0, targets);
        }
        let row = self.shape_row(id);
        let mut goes_to = |target: TerminalId| {
            if target == id || targets.last() == Some(&target) {
                return true;
            }
            let goes_on = target != TerminalId::NEVER && self.is_wide(target);
            if goes_on {
                targets.push(target);
            }
            goes_on
        };
        let mut is_taken = |&kind: &usize| {
            if row.mixed >> kind & 1 == 0 {
                return goes_to(row.next[kind]);
            }
            let mut members = (0..=255u8).filter(|&byte| usize::from(KIND_OF[usize::from(byte)]) == kind);
            members.all(|byte| goes_to(self.next(id, byte)))
        };
        let among = (0..KINDS).filter(|kind| kinds & ASCII & 1 << kind != 0);
        let mut taken = among.filter(|kind| is_taken(kind)).fold(0, |taken, kind| taken | 1 << kind);
        if kinds & OTHER != 0
            && let Some(ends) = self.after_others(id)
            && ends.iter().all(|&end| goes_to(end))
        {
            taken |= OTHER | BEGUN;
        }
        (taken, targets)
    }

    /// The states after any character outside of ASCII, or `None` if some lead nowhere.
    fn after_others(&self, id: TerminalId) -> Option<States> {
        let mut all = States::new();
        for ranges in SEQUENCES {
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
        let mut covered = u32::from(low);
        for &(from, to, target) in self.row(id) {
            if u32::from(from) <= covered && u32::from(to) >= covered && covered <= u32::from(high) {
                covered = u32::from(to) + 1;
                if !states.contains(&target) {
                    states.push(target);
                }
            }
        }
        (covered > u32::from(high)).then_some(())
    }
}
