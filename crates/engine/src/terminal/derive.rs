//! Derivatives: a term's ways on.
//!
//! A term is unfolded into pieces, each a range of bytes and what is left after it (its linear form, after
//! Antimirov), with a stack of its own: terms may be deep. Overlapping pieces are then combined by `|`.

use smallvec::SmallVec;

use super::arena::{Arena, Row, Term, TerminalId};
use crate::interrupt;

/// A range of bytes, and what is left after any of them.
pub(super) type Piece = (u8, u8, TerminalId);

impl Arena {
    /// The ways on from `id`.
    pub(super) fn compute_row(&self, id: TerminalId) -> Row {
        self.combine(&self.unfold(id, None))
    }

    /// What is left after `byte`, and nothing about the other bytes.
    pub(super) fn compute_next(&self, id: TerminalId, byte: u8) -> TerminalId {
        self.alt(self.unfold(id, Some(byte)).into_iter().map(|piece| piece.2))
    }

    /// The pieces of `whole`; with `only`, those that hold that byte.
    fn unfold(&self, whole: TerminalId, only: Option<u8>) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut stack: SmallVec<[(TerminalId, TerminalId); 16]> = SmallVec::new();
        let is_wanted = |low: u8, high: u8| only.is_none_or(|byte| low <= byte && byte <= high);
        stack.push((whole, TerminalId::EMPTY));
        while let Some((id, rest)) = stack.pop() {
            interrupt::poll(1);
            let mut add = |low: u8, high: u8, target: TerminalId| {
                if is_wanted(low, high) {
                    pieces.push((low, high, self.concat(target, rest)));
                }
            };
            match self.term(id) {
                Term::Never | Term::Empty | Term::KeyRead(_) => {}
                &Term::Literal { literal, offset } => {
                    let byte = self.literal_byte(literal, offset);
                    if is_wanted(byte, byte) {
                        add(byte, byte, self.literal_rest(literal, offset));
                    }
                }
                Term::Dispatch(row) => row.iter().for_each(|piece| add(piece.0, piece.1, piece.2)),
                Term::Concat(..) => self.unfold_chain(id, rest, &mut stack),
                Term::Alt(items) => stack.extend(items.iter().map(|&item| (item, rest))),
                &Term::Repeat { body, min, max } => {
                    let one_less = |count| if count == Term::UNBOUNDED { count } else { count - 1 };
                    let min = if min == 0 { 0 } else { one_less(min) };
                    let again = self.repeat(body, min, one_less(max));
                    stack.push((body, self.concat(again, rest)));
                }
                &Term::Dfa { dfa, state } => {
                    let edges = self.automata.get(dfa).dfa.edges(state).iter();
                    for &(low, high, target) in edges.filter(|edge| is_wanted(edge.0, edge.1)) {
                        add(low, high, self.automaton_state(dfa, target));
                    }
                }
                &Term::Tagged { text, state } => {
                    let edges = self.tagged[text as usize].text.edges(state).into_iter();
                    for (low, high, state) in edges.filter(|edge| is_wanted(edge.0, edge.1)) {
                        add(low, high, self.tagged_state(text, state));
                    }
                }
                &Term::JsonText { inner, pending, escapes } => {
                    self.json_text_pieces(inner, pending, escapes, only)
                        .iter()
                        .for_each(|piece| add(piece.0, piece.1, piece.2));
                }
                // What the digits may become takes long to find out, so it is kept for the escape by itself.
                Term::JsonEscape { .. } if id != whole => {
                    self.row(id).iter().for_each(|piece| add(piece.0, piece.1, piece.2));
                }
                &Term::JsonEscape { inner, escape, escapes } => {
                    self.json_escape_pieces(inner, escape, escapes)
                        .iter()
                        .for_each(|piece| add(piece.0, piece.1, piece.2));
                }
                &Term::Bounded { inner, left } => {
                    self.bounded_pieces(inner, left, only)
                        .iter()
                        .for_each(|piece| add(piece.0, piece.1, piece.2));
                }
                Term::Key(key) => match only {
                    Some(byte) => add(byte, byte, self.key_next(key, byte)),
                    None => self.key_pieces(key).iter().for_each(|piece| add(piece.0, piece.1, piece.2)),
                },
            }
        }
        pieces.retain(|piece| piece.2 != TerminalId::NEVER);
        pieces
    }

    /// Unfolds `id`, a chain of concatenations, before `rest`: its heads up to the first that cannot be empty.
    fn unfold_chain(
        &self,
        id: TerminalId,
        rest: TerminalId,
        stack: &mut SmallVec<[(TerminalId, TerminalId); 16]>,
    ) {
        // The chain with `rest` behind it is made once, not once for each head: chains may be long.
        let (mut at, mut joined) = (id, self.concat(id, rest));
        while let (&Term::Concat(head, tail), &Term::Concat(_, joined_tail)) =
            (self.term(at), self.term(joined))
        {
            stack.push((head, joined_tail));
            if !self.is_nullable(head) {
                return;
            }
            (at, joined) = (tail, joined_tail);
        }
        stack.push((at, rest));
    }

    fn literal_byte(&self, literal: u32, offset: u32) -> u8 {
        self.literals.get(literal).bytes[offset as usize]
    }

    /// What is left of a literal after its next byte.
    pub(super) fn literal_rest(&self, literal: u32, offset: u32) -> TerminalId {
        if offset as usize + 1 == self.literals.get(literal).bytes.len() {
            return TerminalId::EMPTY;
        }
        self.intern(&Term::Literal { literal, offset: offset + 1 })
    }

    /// The row of pieces that may overlap.
    pub(super) fn combine(&self, pieces: &[Piece]) -> Row {
        if let [piece] = pieces {
            return Box::new([*piece]);
        }
        let segments = Segments::new(pieces);
        let mut row: Vec<Piece> = Vec::new();
        // Most segments have the targets of an earlier one: letters of both cases, or those on both sides of one of them.
        let mut known: SmallVec<[(&[TerminalId], TerminalId); 8]> = SmallVec::new();
        for at in 1..segments.cuts.len() {
            let (low, high, targets) = segments.get(at - 1);
            if targets.is_empty() {
                continue;
            }
            let same = known.iter().find(|one| one.0 == targets).map(|one| one.1);
            let target = match (targets, same) {
                (&[target], _) | (_, Some(target)) => target,
                _ => self.alt(targets.iter().copied()),
            };
            if targets.len() > 1 && same.is_none() {
                known.push((targets, target));
            }
            match row.last_mut() {
                Some(last) if last.2 == target && u16::from(last.1) + 1 == u16::from(low) => last.1 = high,
                _ => row.push((low, high, target)),
            }
        }
        row.into()
    }
}

/// The bytes, cut wherever some piece begins or ends, with the targets of all pieces that hold each segment.
struct Segments {
    /// Where the segments begin, and where the last one ends.
    cuts: Vec<u16>,
    /// Where the targets of each segment begin, and where those of the last one end.
    begins: Vec<usize>,
    targets: Vec<TerminalId>,
}

impl Segments {
    fn new(pieces: &[Piece]) -> Self {
        // A bit for each byte, and how many are set before each word.
        let (mut is_cut, mut before) = ([0_u64; 5], [0; 5]);
        for &(low, high, _) in pieces {
            for at in [usize::from(low), usize::from(high) + 1] {
                is_cut[at / 64] |= 1 << (at % 64);
            }
        }
        let mut cuts = Vec::with_capacity(2 * pieces.len());
        for (word, first) in (0..).step_by(64).enumerate() {
            let Some(mut bits) = is_cut.get(word).copied() else { break };
            before[word] = cuts.len();
            while bits != 0 {
                cuts.push(first + bits.trailing_zeros() as u16);
                bits &= bits - 1;
            }
        }
        let segment_of = |at: usize| {
            let bits = is_cut[at / 64] & ((1 << (at % 64)) - 1);
            before[at / 64] + bits.count_ones() as usize
        };
        let range = |piece: &Piece| segment_of(usize::from(piece.0))..segment_of(usize::from(piece.1) + 1);
        // How many targets each segment has, and then where they end.
        let mut begins = vec![0; cuts.len() + 1];
        for piece in pieces {
            begins[range(piece)].iter_mut().for_each(|count| *count += 1);
        }
        let mut end = 0;
        for begin in &mut begins {
            end += *begin;
            *begin = end;
        }
        let mut targets = vec![TerminalId::NEVER; end];
        for piece in pieces {
            for begin in &mut begins[range(piece)] {
                *begin -= 1;
                targets[*begin] = piece.2;
            }
        }
        Segments { cuts, begins, targets }
    }

    /// The first and the last byte of a segment, and its targets.
    fn get(&self, at: usize) -> (u8, u8, &[TerminalId]) {
        let targets = &self.targets[self.begins[at]..self.begins[at + 1]];
        (self.cuts[at] as u8, (self.cuts[at + 1] - 1) as u8, targets)
    }
}
