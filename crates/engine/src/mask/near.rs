//! The states that a walk comes by, near at hand.
//!
//! A walk that goes into the trie of tokens passes by a hundred thousand nodes, and by a dozen states. What it asks of a
//! state lies behind several pointers in the arena. So the walk numbers the states as it meets them, and has what it asks
//! side by side.
//!
//! Where a text may not hold some word, any letter may be the last one before it, and every state is an end of the word's
//! beginning. Most of these are passed by seldom, and one at each step: that nothing has begun. What keeps such a state alive,
//! and for how long, is worth a search, because most of what is below a node is too short to hold the word.

use rustc_hash::FxHashMap;

use crate::terminal::{Arena, Endless, TerminalId};

/// The number of a state in a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Near(u32);

impl Near {
    /// The state from which nothing leads to an end.
    pub(super) const DEAD: Near = Near(0);

    /// The number alone,
    pub(super) fn to_word(self) -> u32 {
        self.0
    }

    /// and back.
    pub(super) fn of_word(word: u32) -> Self {
        Near(word)
    }
}

/// The ways on from a state, by byte, as a walk has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NearRow(u32);

impl NearRow {
    /// They were not made, because nothing but one way on is asked for.
    pub(super) const NONE: NearRow = NearRow(u32::MAX);
}

/// A state that was come by so often is searched for what keeps it alive,
const OFTEN: u32 = 48;
/// but no more than so many states are in one walk.
const MOST_SEARCHES: u32 = 4;

/// What a walk knows of a state.
#[derive(Clone, Copy)]
struct Known {
    id: TerminalId,
    is_nullable: bool,
    /// How often its ways on were asked for.
    asked: u32,
    row: NearRow,
    endless: Endless,
}

/// The states of a walk.
#[derive(Default)]
pub(super) struct NearStates {
    /// From number one on.
    states: Vec<Known>,
    numbers: FxHashMap<TerminalId, Near>,
    rows: Vec<[Near; 256]>,
    searches: u32,
}

impl NearStates {
    /// The number of a state.
    pub(super) fn number(&mut self, arena: &Arena, id: TerminalId) -> Near {
        if id == TerminalId::NEVER {
            return Near::DEAD;
        }
        *self.numbers.entry(id).or_insert_with(|| {
            self.states.push(Known {
                id,
                is_nullable: arena.is_nullable(id),
                asked: 0,
                row: NearRow::NONE,
                endless: Endless::NOTHING,
            });
            Near(self.states.len() as u32)
        })
    }

    #[inline]
    fn known(&self, state: Near) -> &Known {
        &self.states[state.0 as usize - 1]
    }

    /// The state with a number.
    #[inline]
    pub(super) fn id(&self, state: Near) -> TerminalId {
        self.known(state).id
    }

    /// Whether the terminal may end in a state.
    #[inline]
    pub(super) fn is_nullable(&self, state: Near) -> bool {
        self.known(state).is_nullable
    }

    /// Whether nothing can follow.
    #[inline]
    pub(super) fn is_over(&self, state: Near) -> bool {
        self.id(state) == TerminalId::EMPTY
    }

    /// The ways on from a state, and what is known to keep it alive.
    #[inline]
    pub(super) fn row(&self, state: Near) -> (NearRow, Endless) {
        let known = self.known(state);
        (known.row, known.endless)
    }

    /// Makes the ways on from a state that the walk is in now. If only one of them is asked for, they are not made at the
    /// first time: of the states along a token of many spaces nothing else will be asked.
    #[inline]
    pub(super) fn ask(&mut self, arena: &Arena, state: Near, is_only_one: impl FnOnce() -> bool) {
        let known = &mut self.states[state.0 as usize - 1];
        known.asked += 1;
        if known.row == NearRow::NONE {
            if known.asked > 1 || !is_only_one() || arena.has_shape_row(known.id) {
                self.make_row(arena, state);
            }
        } else if known.asked == OFTEN {
            self.search(arena, state);
        }
    }

    /// Searches for what keeps a state alive.
    #[cold]
    fn search(&mut self, arena: &Arena, state: Near) {
        let known = &mut self.states[state.0 as usize - 1];
        if self.searches < MOST_SEARCHES && arena.is_wide(known.id) {
            self.searches += 1;
            known.endless = arena.endless(known.id);
        }
    }

    #[cold]
    fn make_row(&mut self, arena: &Arena, state: Near) {
        let id = self.id(state);
        let mut row = [Near::DEAD; 256];
        for &(low, high, target) in arena.row(id) {
            row[usize::from(low)..=usize::from(high)].fill(self.number(arena, target));
        }
        let known = &mut self.states[state.0 as usize - 1];
        known.row = NearRow(self.rows.len() as u32);
        known.endless = arena.easily_endless(id);
        self.rows.push(row);
    }

    /// The state after a byte, where `row` has the ways on from `state`.
    #[inline]
    pub(super) fn next(&mut self, arena: &Arena, state: Near, row: NearRow, byte: u8) -> Near {
        if row == NearRow::NONE {
            let next = arena.step(self.id(state), byte);
            return self.number(arena, next);
        }
        self.rows[row.0 as usize][usize::from(byte)]
    }
}
