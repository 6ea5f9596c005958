//! Which kinds of characters a state takes without end.
//!
//! Starts from the kinds that the state itself takes, and drops those that any state reached by them does not take,
//! until nothing changes. It gives up on states with a long way to a loop; then all tokens are walked.

use hashbrown::HashSet;
use smallvec::SmallVec;

use crate::terminal::{Arena, TerminalId};
use crate::vocab::slices::{ANY_LENGTH, ASCII_KINDS, Kinds, MAX_LENGTH};

/// How many states are looked at before giving up.
const MAX_STATES: usize = 160;
/// A state with fewer bytes than this to go on with is not worth asking.
const MIN_BYTES: usize = 24;

type States = SmallVec<[TerminalId; 4]>;

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

/// The kinds of characters of which every string keeps `state` alive up to some length, or none.
///
/// Where the length is bounded, longer strings of these kinds do not fit at all, not even to some end in them.
pub(crate) fn plain_kinds(arena: &Arena, state: TerminalId) -> (Kinds, u8) {
    let Some(counted) = arena.counted(state) else { return (endless_kinds(arena, state), ANY_LENGTH) };
    let Ok(most @ ..=MAX_LENGTH) = u8::try_from(counted.most) else { return (Kinds(0), 0) };
    let kinds = endless_kinds(arena, counted.endless);
    let follows = arena.row(counted.after).iter().any(|&(low, high, _)| kinds.meets(low, high));
    if follows { (Kinds(0), 0) } else { (kinds, most) }
}

/// The kinds of characters of which every string keeps `state` alive, or none.
pub(crate) fn endless_kinds(arena: &Arena, state: TerminalId) -> Kinds {
    if !is_wide(arena, state) {
        return Kinds(0);
    }
    let mut kinds = Kinds(u32::MAX);
    'again: loop {
        let mut seen: HashSet<TerminalId> = HashSet::from_iter([state]);
        let mut stack = vec![state];
        while let Some(at) = stack.pop() {
            let (taken, targets) = taken_kinds(arena, at, kinds);
            if taken != kinds {
                kinds = taken;
                if kinds.0 == 0 {
                    return kinds;
                }
                continue 'again;
            }
            stack.extend(targets.into_iter().filter(|&target| seen.insert(target)));
            if seen.len() > MAX_STATES {
                return Kinds(0);
            }
        }
        return kinds;
    }
}

/// Whether many bytes may follow. After a backslash few may, and no text goes on without end there.
pub(super) fn is_wide(arena: &Arena, state: TerminalId) -> bool {
    let bytes: usize = arena.row(state).iter().map(|&(low, high, _)| usize::from(high - low) + 1).sum();
    bytes >= MIN_BYTES
}

/// Those of `kinds` that `state` takes, and the states that they lead to.
fn taken_kinds(arena: &Arena, state: TerminalId, kinds: Kinds) -> (Kinds, States) {
    let mut taken = 0;
    let mut targets = States::new();
    for (kind, members) in ASCII_KINDS.iter().enumerate().filter(|(kind, _)| kinds.0 >> kind & 1 == 1) {
        let next: States = members.iter().map(|&byte| arena.next(state, byte)).collect();
        if next.iter().all(|&target| target == state || is_wide(arena, target)) {
            taken |= 1 << kind;
            add(&mut targets, &next);
        }
    }
    if kinds.0 & Kinds::OTHER_TEXT.0 != 0 {
        let ends: Option<Vec<States>> =
            SEQUENCES.iter().map(|sequence| after_sequence(arena, state, sequence)).collect();
        if let Some(ends) = ends {
            taken |= Kinds::OTHER_TEXT.0;
            ends.iter().for_each(|states| add(&mut targets, states));
        }
    }
    (Kinds(taken), targets)
}

fn add(targets: &mut States, more: &[TerminalId]) {
    for &state in more {
        if !targets.contains(&state) {
            targets.push(state);
        }
    }
}

/// The states after any bytes of the ranges, or `None` if some lead nowhere.
fn after_sequence(arena: &Arena, state: TerminalId, ranges: &[(u8, u8)]) -> Option<States> {
    let mut states = States::from_slice(&[state]);
    for &(low, high) in ranges {
        let mut next = States::new();
        for &state in &states {
            let mut covered = u32::from(low);
            for &(from, to, target) in arena.row(state) {
                if u32::from(from) <= covered && u32::from(to) >= covered && covered <= u32::from(high) {
                    covered = u32::from(to) + 1;
                    add(&mut next, &[target]);
                }
            }
            if covered <= u32::from(high) {
                return None;
            }
        }
        states = next;
    }
    Some(states)
}
