//! Keys: a JSON string whose text is in a language and not in a set of excluded texts, and which knows what it read.
//!
//! A key is read by the *plain* term, `JsonText(inner) "` and nothing more, while a decoder goes along that knows how the
//! text so far relates to the excluded texts. As soon as none of them can be meant any more the two need not be told
//! apart, and the plain term goes on alone. So all keys share the states, tables and masks of plain strings, but for the
//! few states in which an excluded text is still possible.
//!
//! If the text is asked for in the end ([`Arena::finished_text`]) the term keeps it to the end. Masks do not depend on
//! it, so saturation drops it.
//!
//! Invariants:
//!
//! 1. A key that is not [`TerminalId::NEVER`] can be completed: there is a text of the language that goes on from what
//!    was read and is not excluded. That is looked for along the excluded texts, and found at the first byte that none
//!    of them has.
//! 2. `inner` is what is left of the language after the decoded text, exactly, even where `plain` is saturated: what can
//!    be completed depends on bounds that are out of a token's reach.
//! 3. A key stands at the end of its terminal, so that its end is the end of the terminal.

use regex_syntax::utf8::{Utf8Range, Utf8Sequences};
use smallvec::SmallVec;
use tokenstile_grammar::ir::Escapes;

use super::arena::{Arena, Term, TerminalId};
use super::derive::Piece;
use super::escaped::Escaped;
use super::exclusion::{ExclusionId, Span, Spans};

/// A key that is being read, after its opening quote.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// What reads the rest of the string, the closing quote included, if nothing is excluded.
    pub(super) plain: TerminalId,
    /// What is left of the language of texts; of no account once nothing excluded is possible.
    pub(super) inner: TerminalId,
    /// The excluded texts that may still be meant.
    pub(super) spans: Spans,
    /// How many bytes of them were read.
    pub(super) depth: u32,
    /// The escape that is being read.
    pub(super) escape: Escaped,
    /// The escapes that there are.
    pub(super) escapes: Escapes,
    /// What was read, if it is to be remembered.
    pub(super) text: Option<TextId>,
}

/// The number of a text that is being read: a byte and what came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TextId(u32);

impl TextId {
    /// The empty text.
    const EMPTY: Self = TextId(u32::MAX);
}

/// A text as its last byte and what came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TextByte {
    before: TextId,
    byte: u8,
}

impl Arena {
    /// A JSON string behind its opening quote, whose text is in `inner` and not excluded.
    ///
    /// With `remember` the state after the closing quote is one that [`Arena::finished_text`] knows the text of. Without,
    /// it is [`TerminalId::EMPTY`], and the text is forgotten as soon as it is none of the excluded ones.
    pub(crate) fn key(
        &self,
        inner: TerminalId,
        exclusion: ExclusionId,
        escapes: Escapes,
        remember: bool,
    ) -> TerminalId {
        self.intern_key(Key {
            plain: self.concat(self.json_text(inner, 0, escapes), self.literal(b"\"")),
            inner,
            spans: self.spans(exclusion),
            depth: 0,
            escape: Escaped::default(),
            escapes,
            text: remember.then_some(TextId::EMPTY),
        })
    }

    /// The text of a key whose closing quote was the last byte read, if it was to be remembered.
    pub(crate) fn finished_text(&self, id: TerminalId) -> Option<&str> {
        match self.term(id) {
            Term::KeyRead(text) => Some(text),
            _ => None,
        }
    }

    /// Whether nothing can follow: the terminal has ended.
    pub(crate) fn is_finished(&self, id: TerminalId) -> bool {
        let has_no_way_on = || self.tag(id).is_some() && self.row(id).is_empty();
        id == TerminalId::EMPTY || self.finished_text(id).is_some() || has_no_way_on()
    }

    /// The term that reads the same without an exclusion, if `id` ends in a key that may still be an excluded one.
    pub(crate) fn plain(&self, id: TerminalId) -> Option<TerminalId> {
        let mut heads: SmallVec<[TerminalId; 4]> = SmallVec::new();
        let mut at = id;
        while let &Term::Concat(head, tail) = self.term(at) {
            heads.push(head);
            at = tail;
        }
        let Term::Key(key) = self.term(at) else { return None };
        let joined = |plain, &head: &TerminalId| self.concat(head, plain);
        (!key.spans.is_empty()).then(|| heads.iter().rev().fold(key.plain, joined))
    }

    /// What reads the rest of a key if nothing is excluded or remembered; any other term as it is.
    pub(crate) fn key_as_text(&self, id: TerminalId) -> TerminalId {
        if let Term::Key(key) = self.term(id) { key.plain } else { id }
    }

    /// The bytes after which `id` and `plain`, which reads the same without an exclusion, may be different, if they are
    /// known to be few.
    pub(crate) fn ways_apart(&self, id: TerminalId, plain: TerminalId) -> Option<SmallVec<[u8; 16]>> {
        const FEW: usize = 32;
        match self.term(id) {
            Term::Key(key) if key.escape.is_empty() => {
                let mut bytes = self.next_bytes(&key.spans, key.depth as usize);
                bytes.extend([b'"', b'\\']);
                Some(bytes)
            }
            _ => {
                let bytes = || self.row(plain).iter().flat_map(|&(low, high, _)| low..=high);
                (bytes().count() <= FEW).then(|| bytes().collect())
            }
        }
    }

    /// The key as a term: the plain one if that is the same, and `NEVER` if all that is left is excluded.
    pub(super) fn intern_key(&self, mut key: Key) -> TerminalId {
        if key.plain == TerminalId::NEVER {
            return TerminalId::NEVER;
        }
        if self.may_be_excluded(&key) {
            return if self.can_avoid(&key) {
                self.intern(&Term::Key(Box::new(key)))
            } else {
                TerminalId::NEVER
            };
        }
        if key.text.is_none() {
            return key.plain;
        }
        (key.inner, key.spans, key.depth) = (TerminalId::EMPTY, Spans::new(), 0);
        self.intern(&Term::Key(Box::new(key)))
    }

    fn may_be_excluded(&self, key: &Key) -> bool {
        let depth = key.depth as usize;
        let has_next = |&range: &(u32, u32)| self.has_next_char(&key.spans, depth, range);
        !key.spans.is_empty()
            && (key.escape.is_empty() || key.escape.may_become_among(key.escapes).iter().any(has_next))
    }

    /// The state of a key after `byte`.
    pub(super) fn key_next(&self, key: &Key, byte: u8) -> TerminalId {
        let plain = self.step(key.plain, byte);
        if plain == TerminalId::NEVER {
            return plain;
        }
        if key.escape.is_empty() {
            return match byte {
                b'"' => self.close_key(key),
                b'\\' => self.intern_key(Key { plain, escape: key.escape.with(byte), ..key.clone() }),
                _ => self.advance_key(key, plain, &[byte]),
            };
        }
        let escape = key.escape.with(byte);
        match escape.decoded() {
            Some(meant) => self.advance_key(key, plain, meant.encode_utf8(&mut [0; 4]).as_bytes()),
            None => self.intern_key(Key { plain, escape, ..key.clone() }),
        }
    }

    fn close_key(&self, key: &Key) -> TerminalId {
        if self.has_end(&key.spans, key.depth as usize) {
            return TerminalId::NEVER;
        }
        match key.text {
            None => TerminalId::EMPTY,
            Some(text) => self.intern(&Term::KeyRead(self.whole_text(text).into())),
        }
    }

    /// The key with `bytes` more in its text.
    fn advance_key(&self, key: &Key, plain: TerminalId, bytes: &[u8]) -> TerminalId {
        let mut next = Key { plain, escape: Escaped::default(), ..key.clone() };
        for &byte in bytes {
            if !next.spans.is_empty() {
                next.spans = self.narrow(&next.spans, next.depth as usize, byte);
                next.inner = self.step(next.inner, byte);
                next.depth += 1;
            }
            next.text = next.text.map(|before| self.intern_text(before, byte));
        }
        self.intern_key(next)
    }

    /// The ways on of a key: those of the plain term, but for what may lead to an excluded text.
    pub(super) fn key_pieces(&self, key: &Key) -> Vec<Piece> {
        let mut apart = self.next_bytes(&key.spans, key.depth as usize);
        apart.extend([b'"', b'\\']);
        apart.sort_unstable();
        let all = key.text.is_some() || !key.escape.is_empty();
        let mut pieces = Vec::new();
        for &(low, high, target) in self.row(key.plain) {
            let mut open = u16::from(low);
            for byte in (low..=high).filter(|byte| all || apart.binary_search(byte).is_ok()) {
                if open < u16::from(byte) {
                    pieces.push((open as u8, byte - 1, target));
                }
                pieces.push((byte, byte, self.key_next(key, byte)));
                open = u16::from(byte) + 1;
            }
            if open <= u16::from(high) {
                pieces.push((open as u8, high, target));
            }
        }
        pieces.retain(|piece| piece.2 != TerminalId::NEVER);
        pieces
    }

    /// Whether there is a way on that does not end in an excluded text.
    fn can_avoid(&self, key: &Key) -> bool {
        let depth = key.depth as usize;
        if key.escape.is_empty() {
            return self.avoids(key.inner, key.spans.clone(), depth);
        }
        let chars =
            key.escape.may_become_among(key.escapes).into_iter().filter_map(|(low, high)| {
                Some(Utf8Sequences::new(char::from_u32(low)?, char::from_u32(high)?))
            });
        let mut sequences = chars.flatten();
        sequences.any(|sequence| self.avoids_through(key.inner, &key.spans, depth, sequence.as_slice()))
    }

    /// Whether `state` matches anything but the rests of the texts. It goes along these texts alone.
    fn avoids(&self, state: TerminalId, spans: Spans, depth: usize) -> bool {
        let mut stack: SmallVec<[(TerminalId, Spans, usize); 4]> = SmallVec::new();
        stack.push((state, spans, depth));
        while let Some((state, spans, depth)) = stack.pop() {
            if self.is_nullable(state) && !self.has_end(&spans, depth) {
                return true;
            }
            for &(low, high, target) in self.row(state) {
                for byte in low..=high {
                    let narrow = self.narrow(&spans, depth, byte);
                    if narrow.is_empty() {
                        return true;
                    }
                    stack.push((target, narrow, depth + 1));
                }
            }
        }
        false
    }

    /// The same if bytes of these ranges come first. At most four deep.
    fn avoids_through(&self, state: TerminalId, spans: &[Span], depth: usize, ranges: &[Utf8Range]) -> bool {
        let Some((range, rest)) = ranges.split_first() else {
            return self.avoids(state, spans.into(), depth);
        };
        let pieces = self.row(state).iter().filter(|piece| piece.0 <= range.end && range.start <= piece.1);
        pieces.into_iter().any(|&(low, high, target)| {
            (low.max(range.start)..=high.min(range.end)).any(|byte| {
                let narrow = self.narrow(spans, depth, byte);
                if narrow.is_empty() {
                    self.leads_through(target, rest)
                } else {
                    self.avoids_through(target, &narrow, depth + 1, rest)
                }
            })
        })
    }

    /// Whether `state` goes on with any bytes of the ranges. At most three deep.
    fn leads_through(&self, state: TerminalId, ranges: &[Utf8Range]) -> bool {
        let Some((range, rest)) = ranges.split_first() else { return true };
        let mut pieces =
            self.row(state).iter().filter(|piece| piece.0 <= range.end && range.start <= piece.1);
        pieces.any(|&(_, _, target)| self.leads_through(target, rest))
    }

    fn intern_text(&self, before: TextId, byte: u8) -> TextId {
        let text = TextByte { before, byte };
        let (id, is_new) = self.texts.intern(&text, |known| *known == text, || text);
        if is_new {
            self.note_bytes(4 * size_of::<TextByte>());
        }
        TextId(id)
    }

    /// The bytes of a text, whole.
    pub(super) fn text_bytes(&self, text: TextId) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut at = text;
        while at != TextId::EMPTY {
            let &TextByte { before, byte } = self.texts.get(at.0);
            bytes.push(byte);
            at = before;
        }
        bytes.reverse();
        bytes
    }

    fn whole_text(&self, text: TextId) -> String {
        // What the plain term reads is UTF-8, and it ends between code points.
        String::from_utf8_lossy(&self.text_bytes(text)).into_owned()
    }

    /// The number in `self` of a key of `from`, whose terms `done` has.
    pub(super) fn carry_key(
        &self,
        from: &Arena,
        key: &Key,
        done: impl Fn(TerminalId) -> TerminalId,
    ) -> TerminalId {
        let text = key.text.map(|text| {
            from.text_bytes(text)
                .into_iter()
                .fold(TextId::EMPTY, |before, byte| self.intern_text(before, byte))
        });
        let spans = key.spans.iter().map(|&span| self.carry_span(from, span)).collect();
        let (plain, inner) = (done(key.plain), done(key.inner));
        self.intern_key(Key { plain, inner, spans, text, ..*key })
    }
}
