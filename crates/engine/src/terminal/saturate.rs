//! Saturation: bounds that no token can reach are the same as none.
//!
//! A token has at most so many bytes, and each turn of a repeat takes at least one. So for the mask of a state, `e{0,9000}`
//! is `e*`, and `e{200,}` is a repeat that cannot end. Most turns take more: an item of a list has quotes and a comma, of which
//! no token has many ([`Reach`](crate::vocab::reach::Reach)), and then `e{0,20}` is `e*` too. Masks and token tables are kept
//! for saturated states, and a bounded repeat costs as much as an endless one until its bound comes near.
//!
//! Most tokens are much shorter than the longest. So there are states that agree on short tokens only: [`Arena::relax`]
//! forgets upper bounds that a short token cannot reach, and the table of a state is that of the relaxed one without the
//! few long tokens that do reach them. [`Arena::agree_within`] tells where it is no use to look for those.

use super::arena::{Arena, Term, TerminalId};
use super::derive::Piece;
use super::key::Key;

/// How many bytes are looked ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ahead(usize);

impl Ahead {
    /// As many as the longest token has. Then lower bounds are forgotten as well.
    const TOKEN: Self = Ahead(0);
    /// The others, in bytes.
    const BYTES: [u32; 3] = [64, 32, 16];
    /// As few as are worth it.
    const LEAST: Self = Ahead(Self::BYTES.len());
    /// How many there are.
    pub(super) const COUNT: usize = Self::BYTES.len() + 1;

    /// The least that is at least so many bytes, where all tokens are longer than none of them.
    fn at_least(bytes: u32) -> Self {
        Ahead(Self::BYTES.iter().take_while(|&&ahead| ahead >= bytes).count())
    }
}

impl Arena {
    /// The state with the same token table as `id` whose bounds are out of the way.
    pub(crate) fn saturate(&self, id: TerminalId) -> TerminalId {
        self.look_ahead(id, Ahead::TOKEN)
    }

    /// A state that does the same as `id` with the first few bytes to come, and takes more texts after those.
    pub(crate) fn relax(&self, id: TerminalId) -> TerminalId {
        self.look_ahead(id, Ahead::LEAST)
    }

    /// Whether two states are known to do the same with any so many bytes to come.
    pub(crate) fn agree_within(&self, a: TerminalId, b: TerminalId, bytes: u32) -> bool {
        let ahead = Ahead::at_least(bytes);
        self.look_ahead(a, ahead) == self.look_ahead(b, ahead)
    }

    /// Whether two numbers of bytes to come make no difference to [`Arena::agree_within`].
    pub(crate) fn looks_as_far(a: u32, b: u32) -> bool {
        Ahead::at_least(a) == Ahead::at_least(b)
    }

    /// A number of bytes to come with which two states are known to do the same, as great as can be told.
    pub(crate) fn agreed_bytes(&self, a: TerminalId, b: TerminalId) -> u32 {
        let agrees = |&bytes: &u32| self.agree_within(a, b, bytes);
        Ahead::BYTES.into_iter().find(agrees).unwrap_or(0)
    }

    /// Whether so many tokens are long enough to tell a state from the relaxed one that it is no use to look for them: any
    /// text may come, and the bound is near.
    pub(crate) fn loses_too_much(&self, state: TerminalId, relaxed: TerminalId) -> bool {
        const NEARLY_ALL_BYTES: usize = 128;
        let row = self.row(relaxed).iter();
        let bytes: usize = row.map(|&(low, high, _)| usize::from(high - low) + 1).sum();
        bytes >= NEARLY_ALL_BYTES && self.agreed_bytes(state, relaxed) <= Ahead::BYTES[Ahead::COUNT - 2]
    }

    fn look_ahead(&self, id: TerminalId, ahead: Ahead) -> TerminalId {
        let entry = self.entry(id);
        if !entry.counts {
            return id;
        }
        if let Some(known) = entry.known_saturated(ahead.0) {
            return known;
        }
        if ahead == Ahead::TOKEN && self.is_within_reach(id) {
            return id;
        }
        let mut stack = vec![id];
        while let Some(&at) = stack.last() {
            let entry = self.entry(at);
            if entry.known_saturated(ahead.0).is_some() {
                stack.pop();
                continue;
            }
            let waiting = stack.len();
            if entry.counts {
                let missing = |&child: &TerminalId| self.entry(child).known_saturated(ahead.0).is_none();
                stack.extend(self.children(at).into_iter().filter(missing));
            }
            if stack.len() == waiting {
                let result = if entry.counts { self.rebuild(&entry.term, at, ahead) } else { at };
                let _ = entry.walked.saturated[ahead.0].set(result);
                stack.pop();
            }
        }
        self.entry(id).known_saturated(ahead.0).unwrap_or(id)
    }

    /// Whether it is plainly a repeat, perhaps spelled in JSON, and something after it, whose bounds are all within the reach
    /// of a token. So is each state of a string that counts its characters, and there is no use in keeping that.
    fn is_within_reach(&self, id: TerminalId) -> bool {
        let (first, after) = match *self.term(id) {
            Term::Concat(first, after) => (first, after),
            _ => (id, TerminalId::EMPTY),
        };
        let repeat = match *self.term(first) {
            Term::JsonText { inner, .. } => inner,
            _ => first,
        };
        let Term::Repeat { body, min, max } = *self.term(repeat) else { return false };
        if self.entry(body).counts || self.entry(after).counts {
            return false;
        }
        let reach = self.reach.longest.min(self.most_turns(body));
        [min, max].into_iter().all(|bound| bound <= reach || bound == Term::UNBOUNDED)
    }

    fn rebuild(&self, term: &Term, id: TerminalId, ahead: Ahead) -> TerminalId {
        let done = |id: TerminalId| self.entry(id).known_saturated(ahead.0).unwrap_or(id);
        let reach = if ahead == Ahead::TOKEN { self.reach.longest } else { Ahead::BYTES[ahead.0 - 1] };
        match term {
            Term::Concat(a, b) => self.concat(done(*a), done(*b)),
            Term::Alt(items) => self.alt(items.iter().map(|&item| done(item))),
            &Term::Repeat { body, min, max } => {
                let reach = reach.min(self.most_turns(body));
                let min = if ahead == Ahead::TOKEN && min > reach { Term::UNBOUNDED } else { min };
                let max = if max > reach { Term::UNBOUNDED } else { max };
                self.repeat(done(body), min, max)
            }
            &Term::Bounded { inner, left } => {
                if self.distance(inner).worst.saturating_add(reach) <= left {
                    done(inner)
                } else if ahead == Ahead::TOKEN {
                    // A lower bound that is forgotten would be an end that is too far away.
                    id
                } else {
                    self.bounded(done(inner), left)
                }
            }
            Term::Dispatch(row) => {
                let piece = |&(low, high, target): &Piece| (low, high, done(target));
                self.dispatch(self.combine(&row.iter().map(piece).collect::<Vec<_>>()))
            }
            &Term::JsonText { inner, pending, escapes } => self.json_text(done(inner), pending, escapes),
            &Term::JsonEscape { inner, escape, escapes } => {
                self.intern(&Term::JsonEscape { inner: done(inner), escape, escapes })
            }
            Term::Key(key) if ahead == Ahead::TOKEN => {
                let plain = done(key.plain);
                self.intern_key(Key { plain, text: None, ..(**key).clone() })
            }
            Term::KeyRead(_) if ahead == Ahead::TOKEN => TerminalId::EMPTY,
            _ => id,
        }
    }

    /// How many turns of a repeat one token can begin, at most: all but the last are whole, and have every byte that no text of
    /// the body is without.
    fn most_turns(&self, body: TerminalId) -> u32 {
        const FAR_ENOUGH: usize = 8;
        let (mut most, mut has_texts) = (u32::MAX, false);
        let mut at = body;
        for _ in 0..FAR_ENOUGH {
            let (head, tail) = match *self.term(at) {
                Term::Concat(head, tail) => (head, tail),
                _ => (at, TerminalId::EMPTY),
            };
            let bytes = self.literal_bytes(head).unwrap_or_default();
            most = bytes.iter().map(|&byte| self.reach.most(byte)).min().unwrap_or(u32::MAX).min(most);
            has_texts |= matches!(self.term(head), Term::JsonText { .. });
            at = tail;
        }
        // In a JSON text a backslash may stand for the byte. They do not nest, so one that holds others is in none.
        let escaped = if has_texts { 0 } else { self.reach.most(b'\\') };
        most.saturating_add(escaped).saturating_add(1)
    }
}
