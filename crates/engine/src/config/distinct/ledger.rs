//! What was read of an array whose items must differ: the items so far, and what there is of the one under way.
//!
//! A ledger reads the bytes of the array beside the stack. Of the items so far it keeps apart the *rivals*: those that the
//! item under way is still like, and may turn out to be equal to. As soon as there are none the item is free; what is left
//! to do is to remember it. Rivals may be kept that are none any more (the spelling of a number is looked at by its digits
//! alone), but none is ever missed.

use super::ahead::Within;
use super::number;
use super::pieces::{Piece, PieceId, Pieces};
use super::rivals::{Rivals, member};
use crate::terminal::Escaped;
use smallvec::SmallVec;

/// What an array was up to some byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ledger {
    /// The items that are whole.
    pub(super) seen: PieceId,
    /// The innermost array or object that is open inside of the item under way.
    pub(super) open: PieceId,
    pub(super) reading: Reading,
    /// What the item under way may turn out to be equal to.
    pub(super) rivals: Rivals,
}

/// What is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reading {
    /// Nothing yet: `[` comes.
    Nothing,
    /// A value comes, or the end of an empty array.
    Value,
    /// A key comes, or the end of an empty object.
    Key,
    /// A string, or a key.
    Text { text: PieceId, escape: Escaped, is_key: bool },
    /// A number, or a word.
    Bare { text: PieceId, is_word: bool },
    /// A colon comes.
    Colon,
    /// A value is whole: a comma comes, or a bracket.
    After,
    /// The array is whole.
    Closed,
}

/// What a byte does.
pub(super) enum Outcome {
    /// The array goes on.
    Goes(PieceId),
    /// An item is equal to one before it.
    Equal,
    /// It is no JSON.
    Misfit,
}

/// What the bytes to come may do to an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// No item before can be equal to the one under way.
    Free,
    /// The next item may be equal to one before, but it has not begun.
    Between,
    /// The item under way may turn out to be equal to one before.
    Rivalled,
}

type Levels = SmallVec<[PieceId; 8]>;

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

impl Ledger {
    /// Before anything was read.
    pub(super) const NEW: Ledger =
        Ledger { seen: PieceId::NONE, open: PieceId::NONE, reading: Reading::Nothing, rivals: Rivals::None };

    pub(super) fn map(self, mut change: impl FnMut(PieceId) -> PieceId) -> Self {
        let reading = match self.reading {
            Reading::Text { text, escape, is_key } => Reading::Text { text: change(text), escape, is_key },
            Reading::Bare { text, is_word } => Reading::Bare { text: change(text), is_word },
            other => other,
        };
        let rivals = match self.rivals {
            Rivals::None => Rivals::None,
            Rivals::Few(all) => Rivals::Few(change(all)),
            Rivals::Like(parts) => Rivals::Like(change(parts)),
        };
        Ledger { seen: change(self.seen), open: change(self.open), reading, rivals }
    }

    fn is_between_items(self) -> bool {
        self.open == PieceId::NONE && matches!(self.reading, Reading::After | Reading::Value)
    }

    /// Whether a string or a key is being read.
    pub(super) fn is_in_text(self) -> bool {
        matches!(self.reading, Reading::Text { .. })
    }

    /// Whether an escape is being read.
    pub(super) fn is_in_escape(self) -> bool {
        matches!(self.reading, Reading::Text { escape, .. } if !escape.is_empty())
    }

    /// Whether a byte of a text is part of what has to be escaped, or no escape at all.
    pub(super) fn is_plain_with(self, byte: u8) -> bool {
        match self.reading {
            Reading::Text { escape, .. } if !escape.is_empty() => escape.with(byte).may_be_needed(),
            _ => true,
        }
    }

    /// Whether a number or a word is being read.
    pub(super) fn is_in_bare(self) -> bool {
        matches!(self.reading, Reading::Bare { .. })
    }

    /// Whether no item under way may be equal to one before, nor one that has to come: behind a comma there has to.
    pub(super) fn is_settled(self) -> bool {
        match self.standing() {
            Standing::Free => true,
            Standing::Between => self.reading == Reading::After,
            Standing::Rivalled => false,
        }
    }

    /// What the bytes to come may do.
    pub(super) fn standing(self) -> Standing {
        if self.is_between_items() {
            return if self.seen == PieceId::NONE { Standing::Free } else { Standing::Between };
        }
        if self.rivals == Rivals::None { Standing::Free } else { Standing::Rivalled }
    }
}

impl Pieces {
    pub(super) fn ledger(&self, id: PieceId) -> Ledger {
        match *self.get(id) {
            Piece::Ledger(ledger) => ledger,
            _ => Ledger::NEW,
        }
    }

    /// What is being read. None where more of it tells nothing: in the exponent of nought.
    pub(super) fn within(&self, ledger: Ledger) -> Option<Within> {
        match ledger.reading {
            Reading::Text { escape, .. } if escape.is_empty() => Some(Within::Text),
            Reading::Text { escape, .. } => Some(Within::Escape(escape)),
            Reading::Bare { text, is_word: false } => {
                let text = self.text(text);
                let exponent = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
                let is_telling =
                    exponent.is_none_or(|at| text[..at].iter().any(|byte| matches!(byte, b'1'..=b'9')));
                is_telling.then_some(Within::Number)
            }
            _ => Some(Within::Other),
        }
    }

    /// Whether the innermost container that is open inside of the item under way is an object; none if there is none.
    pub(super) fn is_in_object(&self, ledger: Ledger) -> Option<bool> {
        (ledger.open != PieceId::NONE).then(|| matches!(self.get(ledger.open), Piece::OpenObject { .. }))
    }

    /// How many arrays and objects are open inside of the item under way.
    pub(super) fn depth(&self, ledger: Ledger) -> usize {
        self.levels(ledger.open).len()
    }

    /// The bytes by which a text may go on like a rival, or end, or begin an escape. None if no text is being read, or
    /// an escape of it.
    pub(super) fn rival_bytes(&self, ledger: Ledger) -> Option<SmallVec<[u8; 8]>> {
        let Reading::Text { text, escape, is_key } = ledger.reading else { return None };
        if !escape.is_empty() {
            return None;
        }
        let mut bytes: SmallVec<[u8; 8]> = SmallVec::from_slice(b"\"\\");
        if let Rivals::Like(parts) = ledger.rivals {
            let Piece::Parts(parts, depth) = self.opened(parts)? else { return None };
            bytes.extend(self.forms(ledger)?.next_bytes(parts, *depth as usize));
            bytes.sort_unstable();
            bytes.dedup();
            return Some(bytes);
        }
        let at = self.length(text) as usize;
        let mut add = |id: PieceId| {
            if let Piece::Text(text) = self.get(id) {
                bytes.extend(text.as_bytes().get(at).copied());
            }
        };
        let levels = self.levels(ledger.open);
        let around = if is_key { &levels[..levels.len().saturating_sub(1)] } else { &levels };
        let counterparts =
            self.few(ledger.rivals).iter().filter_map(|&rival| self.counterpart(around, rival));
        let beginning = if is_key { self.text(text) } else { Vec::new() };
        for counterpart in counterparts {
            match self.get(counterpart) {
                Piece::Object { members, .. } if is_key => {
                    let begins = |key: &PieceId| matches!(self.get(*key), Piece::Text(text) if text.as_bytes().starts_with(&beginning));
                    members.iter().map(|member| member.0).filter(begins).for_each(&mut add);
                }
                _ => add(counterpart),
            }
        }
        bytes.sort_unstable();
        bytes.dedup();
        Some(bytes)
    }

    /// The ledger after a byte.
    pub(super) fn read(&self, ledger: Ledger, byte: u8) -> Outcome {
        match ledger.reading {
            Reading::Nothing => match byte {
                b'[' => self.goes(Ledger { reading: Reading::Value, ..ledger }),
                _ if is_space(byte) => self.goes(ledger),
                _ => Outcome::Misfit,
            },
            Reading::Text { text, escape, is_key } => self.read_text(ledger, text, escape, is_key, byte),
            Reading::Bare { text, is_word } => self.read_bare(ledger, text, is_word, byte),
            _ if is_space(byte) => self.goes(ledger),
            Reading::Value => self.begin_value(ledger, byte),
            Reading::Key => match byte {
                b'"' => self.begin_text(ledger, true),
                b'}' => self.close(ledger, byte),
                _ => Outcome::Misfit,
            },
            Reading::Colon if byte == b':' => self.goes(Ledger { reading: Reading::Value, ..ledger }),
            Reading::After => match byte {
                b',' => self.read_comma(ledger),
                b']' | b'}' => self.close(ledger, byte),
                _ => Outcome::Misfit,
            },
            Reading::Colon | Reading::Closed => Outcome::Misfit,
        }
    }

    fn goes(&self, ledger: Ledger) -> Outcome {
        Outcome::Goes(self.intern(&Piece::Ledger(ledger)))
    }

    fn read_text(&self, ledger: Ledger, text: PieceId, escape: Escaped, is_key: bool, byte: u8) -> Outcome {
        let mut meant = [0; 4];
        let bytes: &[u8] = match (escape.is_empty(), byte) {
            (true, b'"') => return self.end_text(ledger, text, is_key),
            (true, b'\\') => &[],
            (true, _) => &[byte],
            (false, _) if !escape.takes(byte) => return Outcome::Misfit,
            (false, _) => match escape.with(byte).decoded() {
                Some(meant_char) => meant_char.encode_utf8(&mut meant).as_bytes(),
                None => &[],
            },
        };
        if bytes.is_empty() {
            return self.goes(Ledger {
                reading: Reading::Text { text, escape: escape.with(byte), is_key },
                ..ledger
            });
        }
        let mut longer = text;
        for &byte in bytes {
            longer = self.with_byte(longer, byte);
        }
        let rivals = match ledger.rivals {
            Rivals::None => Rivals::None,
            Rivals::Like(parts) => self.parts_after(ledger, parts, bytes),
            Rivals::Few(_) if is_key => self.rivals_with_key(ledger, &self.text(longer)),
            Rivals::Few(_) => {
                let from = self.length(text) as usize;
                let goes_on = |rival: &str| rival.as_bytes()[from.min(rival.len())..].starts_with(bytes);
                self.rivals_whose_value(ledger, |value| matches!(value, Piece::Text(rival) if goes_on(rival)))
            }
        };
        let reading = Reading::Text { text: longer, escape: Escaped::default(), is_key };
        self.goes(Ledger { reading, rivals, ..ledger })
    }

    fn begin_text(&self, ledger: Ledger, is_key: bool) -> Outcome {
        let reading = Reading::Text { text: PieceId::NONE, escape: Escaped::default(), is_key };
        let rivals = match ledger.rivals {
            Rivals::Like(_) => self.parts_of_text(ledger, is_key),
            other => other,
        };
        self.goes(Ledger { reading, rivals, ..ledger })
    }

    fn end_text(&self, ledger: Ledger, text: PieceId, is_key: bool) -> Outcome {
        let text = String::from_utf8_lossy(&self.text(text)).into_owned();
        let value = self.intern(&Piece::Text(text.into()));
        if !is_key {
            return self.end_value(ledger, value);
        }
        let Some(&Piece::OpenObject { below, members, .. }) = self.opened(ledger.open) else {
            return Outcome::Misfit;
        };
        let open = self.intern(&Piece::OpenObject { below, members, key: value });
        let has_key = |object: &Piece| member(object, value).is_some();
        let rivals = match ledger.rivals {
            Rivals::None => Rivals::None,
            Rivals::Few(_) => self.rivals_whose_container(ledger, has_key),
            Rivals::Like(_) => {
                self.rivals_like(Ledger { open, ..ledger }, crate::store::runs::Runs::has_beginning)
            }
        };
        self.goes(Ledger { open, reading: Reading::Colon, rivals, ..ledger })
    }

    fn begin_value(&self, ledger: Ledger, byte: u8) -> Outcome {
        let of_kind = |fits: fn(&Piece) -> bool| self.rivals_of_kind(ledger, byte, fits);
        match byte {
            b'"' => {
                let rivals = of_kind(|value| matches!(value, Piece::Text(_)));
                self.begin_text(Ledger { rivals, ..ledger }, false)
            }
            b'[' => {
                let rivals = of_kind(|value| matches!(value, Piece::Array { .. }));
                let open = self.intern(&Piece::OpenArray { below: ledger.open, items: PieceId::NONE });
                self.goes(Ledger { open, rivals, ..ledger })
            }
            b'{' => {
                let rivals = of_kind(|value| matches!(value, Piece::Object { .. }));
                let none = PieceId::NONE;
                let open = self.intern(&Piece::OpenObject { below: ledger.open, members: none, key: none });
                self.goes(Ledger { open, rivals, reading: Reading::Key, ..ledger })
            }
            b']' => self.close(ledger, byte),
            b',' | b':' | b'}' => Outcome::Misfit,
            _ => self.read_bare(ledger, PieceId::NONE, byte.is_ascii_alphabetic(), byte),
        }
    }

    fn read_bare(&self, ledger: Ledger, text: PieceId, is_word: bool, byte: u8) -> Outcome {
        /// Behind so many bytes of a number its rivals are not looked at until it ends.
        const LONG: u32 = 100;
        if text != PieceId::NONE && (matches!(byte, b',' | b']' | b'}') || is_space(byte)) {
            let text = String::from_utf8_lossy(&self.text(text)).into_owned();
            let form = if is_word { text } else { number::normal_form(&text) };
            let value = self.intern(&Piece::Bare(form.into()));
            return match self.end_value(ledger, value) {
                Outcome::Goes(ended) => self.read(self.ledger(ended), byte),
                other => other,
            };
        }
        let fits = if is_word { may_be_word(&self.text(text), byte) } else { may_be_number(text, byte) };
        if !fits {
            return Outcome::Misfit;
        }
        let is_first = text == PieceId::NONE;
        let text = self.with_byte(text, byte);
        let rivals = if ledger.open == PieceId::NONE && is_first { Rivals::LIKE } else { ledger.rivals };
        let rivals = match rivals {
            _ if self.length(text) >= LONG => rivals,
            Rivals::None => Rivals::None,
            Rivals::Few(_) => self.few_like_bare(ledger, text, is_word),
            Rivals::Like(_) => {
                let bytes = self.text(text);
                let beginning = String::from_utf8_lossy(&bytes);
                self.rivals_like(ledger, |forms, place| {
                    if is_word {
                        forms.has_beginning(&format!("{place}{beginning}"))
                    } else {
                        forms.may_have_number(place, &beginning)
                    }
                })
            }
        };
        self.goes(Ledger { reading: Reading::Bare { text, is_word }, rivals, ..ledger })
    }

    /// Goes on after a value, which is a whole item, or part of what is open.
    fn end_value(&self, ledger: Ledger, value: PieceId) -> Outcome {
        let after = Ledger { reading: Reading::After, ..ledger };
        let open = match self.opened(ledger.open) {
            None => {
                let Some(seen) = self.with_seen(ledger.seen, value) else { return Outcome::Equal };
                return self.goes(Ledger { seen, rivals: Rivals::None, ..after });
            }
            Some(&Piece::OpenArray { below, items }) => {
                Piece::OpenArray { below, items: self.with_item(items, value) }
            }
            Some(&Piece::OpenObject { below, members, key }) => Piece::OpenObject {
                below,
                members: self.with_member(members, key, value),
                key: PieceId::NONE,
            },
            Some(_) => return Outcome::Misfit,
        };
        let rivals = match ledger.rivals {
            Rivals::None => Rivals::None,
            Rivals::Few(_) => {
                let levels = self.levels(ledger.open);
                self.rivals_that(ledger.rivals, |rival| self.counterpart(&levels, rival) == Some(value))
            }
            Rivals::Like(_) => {
                self.rivals_like(ledger, |facts, place| facts.holds(&(place.to_owned() + &self.form(value))))
            }
        };
        self.goes(Ledger { open: self.intern(&open), rivals, ..after })
    }

    fn read_comma(&self, ledger: Ledger) -> Outcome {
        let (reading, had) = match self.opened(ledger.open) {
            None => {
                return self.goes(Ledger { reading: Reading::Value, rivals: Rivals::None, ..ledger });
            }
            Some(&Piece::OpenArray { items, .. }) => (Reading::Value, self.count(items)),
            Some(&Piece::OpenObject { members, .. }) => (Reading::Key, self.members(members).len()),
            Some(_) => return Outcome::Misfit,
        };
        let rivals = self.rivals_whose_container(ledger, |container| match container {
            Piece::Array { items, .. } => items.len() > had,
            Piece::Object { members, .. } => members.len() > had,
            _ => false,
        });
        self.goes(Ledger { reading, rivals, ..ledger })
    }

    fn close(&self, ledger: Ledger, byte: u8) -> Outcome {
        let (value, below) = match (self.opened(ledger.open), byte) {
            (None, b']') => return self.goes(Ledger { reading: Reading::Closed, ..ledger }),
            (Some(&Piece::OpenArray { below, items }), b']') => {
                let mut items: Vec<PieceId> = self.items(items).collect();
                items.reverse();
                (self.array(items.into()), below)
            }
            (Some(&Piece::OpenObject { below, members, .. }), b'}') => {
                (self.object(self.members(members).into()), below)
            }
            _ => return Outcome::Misfit,
        };
        self.end_value(Ledger { open: below, ..ledger }, self.intern(&value))
    }

    pub(super) fn opened(&self, open: PieceId) -> Option<&Piece> {
        (open != PieceId::NONE).then(|| self.get(open))
    }

    /// What is open, the outermost first.
    pub(super) fn levels(&self, open: PieceId) -> Levels {
        let mut levels = Levels::new();
        let mut at = open;
        while at != PieceId::NONE
            && let Piece::OpenArray { below, .. } | Piece::OpenObject { below, .. } = *self.get(at)
        {
            levels.push(at);
            at = below;
        }
        levels.reverse();
        levels
    }
}

/// Whether a byte can stand behind the beginning of a word.
fn may_be_word(beginning: &[u8], byte: u8) -> bool {
    WORDS.iter().any(|word| word.starts_with(beginning) && word.get(beginning.len()) == Some(&byte))
}

/// Whether a byte can stand in a number, behind what was read of it.
fn may_be_number(text: PieceId, byte: u8) -> bool {
    let is_first = text == PieceId::NONE;
    byte.is_ascii_digit() || byte == b'-' || (!is_first && matches!(byte, b'.' | b'e' | b'E' | b'+'))
}

/// The values that are words.
pub(super) const WORDS: [&[u8]; 3] = [b"null", b"true", b"false"];
