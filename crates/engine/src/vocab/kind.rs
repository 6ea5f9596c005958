//! How a tokenizer spells bytes in the names of its tokens, and how to get the bytes back.
//!
//! A tokenizer's file is text, and a token is bytes, often not whole UTF-8. Three spellings are in use:
//!
//! - *raw*: the name is the token's text;
//! - *byte fallback* (`SentencePiece`): `▁` stands for a space, and a piece `<0xNN>` is one byte;
//! - *byte level* (GPT-2): every byte has a printable character of its own, so that a name has one character for
//!   each byte. Bytes that print as themselves in Latin-1 keep their character; the others, in order, take the
//!   characters from U+0100 on. A space is `Ġ` (U+0120).
//!
//! A byte-level vocabulary also has names that are plain text: added tokens, and in some vocabularies emoji. As soon
//! as one character is outside of the alphabet, the whole name is taken as text. An *added* token can be plain text
//! inside of the alphabet too (`für`): see [`VocabKind::decode_added`].

use std::borrow::Cow;

use super::error::VocabError;

/// The character that `SentencePiece` writes for a space.
pub(super) const SPACE_MARK: char = '▁';
const SPACE_MARK_BYTES: [u8; 3] = [0xE2, 0x96, 0x81];

/// The first character that stands for a byte without a printable Latin-1 character.
const SHIFTED_START: u32 = 0x100;
/// How many bytes have no printable Latin-1 character: 00-20, 7F-A0, AD.
const SHIFTED_BYTES: usize = 33 + 34 + 1;

/// How the names of a vocabulary's tokens spell their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum VocabKind {
    /// Names are the tokens' bytes.
    #[default]
    Raw,
    /// `SentencePiece` with byte pieces: `▁the`, `<0x0A>`.
    ByteFallback,
    /// GPT-2's alphabet of bytes: `Ġthe`, `Ċ`.
    ByteLevel,
}

impl VocabKind {
    /// The number that saved vocabularies and the Python API use.
    pub fn as_number(self) -> u8 {
        match self {
            VocabKind::Raw => 0,
            VocabKind::ByteFallback => 1,
            VocabKind::ByteLevel => 2,
        }
    }

    /// The kind of [`VocabKind::as_number`].
    pub fn from_number(number: u64) -> Result<Self, VocabError> {
        match number {
            0 => Ok(VocabKind::Raw),
            1 => Ok(VocabKind::ByteFallback),
            2 => Ok(VocabKind::ByteLevel),
            _ => Err(VocabError::UnknownKind(number)),
        }
    }

    /// The bytes of the token that is spelled `name`.
    ///
    /// ```
    /// use tokenstile_engine::vocab::VocabKind;
    /// assert_eq!(&*VocabKind::ByteLevel.decode("Ġhi".as_bytes()), b" hi");
    /// assert_eq!(&*VocabKind::ByteFallback.decode(b"<0x0A>"), b"\n");
    /// assert_eq!(&*VocabKind::Raw.decode(b"<0x0A>"), b"<0x0A>");
    /// ```
    pub fn decode(self, name: &[u8]) -> Cow<'_, [u8]> {
        match self {
            VocabKind::Raw => Cow::Borrowed(name),
            VocabKind::ByteFallback => decode_byte_fallback(name),
            VocabKind::ByteLevel => decode_byte_level(name).map_or(Cow::Borrowed(name), Cow::Owned),
        }
    }

    /// The bytes of an added token, one that a tokenizer recognises in a text before it looks for ordinary tokens.
    ///
    /// Its name was written by a person and is text. Detokenizers still send it through the alphabet, so ` Foo` is
    /// what comes out for `ĠFoo`; but where that gives something that is no text (`für` would lose its ü), the name
    /// itself is meant.
    pub fn decode_added(self, name: &[u8]) -> Cow<'_, [u8]> {
        let decoded = self.decode(name);
        if std::str::from_utf8(&decoded).is_err() && byte_piece(name).is_none() {
            return Cow::Borrowed(name);
        }
        decoded
    }
}

/// The byte of a piece `<0xNN>`.
pub(super) fn byte_piece(name: &[u8]) -> Option<u8> {
    let [b'<', b'0', b'x', high, low, b'>'] = name else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(*high)? * 16 + digit(*low)?) as u8)
}

fn decode_byte_fallback(name: &[u8]) -> Cow<'_, [u8]> {
    if let Some(byte) = byte_piece(name) {
        return Cow::Owned(vec![byte]);
    }
    if !name.contains(&SPACE_MARK_BYTES[0]) {
        return Cow::Borrowed(name);
    }
    let mut decoded = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&first, tail)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(&SPACE_MARK_BYTES) {
            decoded.push(b' ');
            rest = after;
        } else {
            decoded.push(first);
            rest = tail;
        }
    }
    Cow::Owned(decoded)
}

/// The bytes that `name` spells in the byte alphabet; `None` where it is not spelled in it.
fn decode_byte_level(name: &[u8]) -> Option<Vec<u8>> {
    let name = std::str::from_utf8(name).ok()?;
    let mut decoded = Vec::with_capacity(name.len());
    for character in name.chars() {
        decoded.push(byte_of(character)?);
    }
    Some(decoded)
}

/// Whether every character of `name` stands for a byte.
pub(super) fn is_byte_level(name: &str) -> bool {
    name.chars().all(|character| byte_of(character).is_some())
}

/// The byte that `character` stands for in the byte alphabet.
pub(super) fn byte_of(character: char) -> Option<u8> {
    let code = u32::from(character);
    if let Ok(byte) = u8::try_from(code) {
        return keeps_its_character(byte).then_some(byte);
    }
    SHIFTED.get((code - SHIFTED_START) as usize).copied()
}

/// Whether `byte` is written as the Latin-1 character of its number.
const fn keeps_its_character(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)
}

/// The bytes that do not, in order: the one at `i` is written as the character U+0100 + `i`.
static SHIFTED: [u8; SHIFTED_BYTES] = {
    let mut shifted = [0; SHIFTED_BYTES];
    let (mut byte, mut next) = (0u8, 0);
    loop {
        if !keeps_its_character(byte) {
            shifted[next] = byte;
            next += 1;
        }
        if byte == u8::MAX {
            break shifted;
        }
        byte += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_alphabet_covers_every_byte_once() {
        let mut seen = [0; 256];
        for code in 0..0x1000 {
            if let Some(byte) = char::from_u32(code).and_then(byte_of) {
                seen[usize::from(byte)] += 1;
            }
        }
        assert_eq!(seen, [1; 256]);
    }

    #[test]
    fn byte_alphabet_has_the_known_characters() {
        let known = [
            ('Ġ', b' '),
            ('Ċ', b'\n'),
            ('ĉ', b'\t'),
            ('č', b'\r'),
            ('Ā', 0),
            ('Ń', 0xAD),
            ('!', b'!'),
            ('ÿ', 0xFF),
        ];
        for (character, byte) in known {
            assert_eq!(byte_of(character), Some(byte), "{character:?}");
        }
        for outside in [' ', '\n', '\u{7f}', '\u{a0}', '\u{ad}', 'ń', '▁', '中', '😀'] {
            assert_eq!(byte_of(outside), None, "{outside:?}");
        }
    }

    #[test]
    fn byte_level_names_outside_of_the_alphabet_are_text() {
        let decode = |name: &'static str| VocabKind::ByteLevel.decode(name.as_bytes()).into_owned();
        assert_eq!(decode("ä¸Ń"), "中".as_bytes());
        assert_eq!(decode("Ã©"), "é".as_bytes());
        assert_eq!(decode("<|eot_id|>"), b"<|eot_id|>");
        assert_eq!(decode("a b"), b"a b");
        assert_eq!(decode("Ġ😀"), "Ġ😀".as_bytes());
        assert_eq!(decode("<｜end▁of▁sentence｜>"), "<｜end▁of▁sentence｜>".as_bytes());
        assert_eq!(&*VocabKind::ByteLevel.decode(&[0xFF, 0xC4]), &[0xFF, 0xC4], "a name that is not text");
    }

    #[test]
    fn byte_fallback_pieces() {
        let decode = |name: &[u8]| VocabKind::ByteFallback.decode(name).into_owned();
        assert_eq!(decode("▁the▁".as_bytes()), b" the ");
        assert_eq!(decode(b"<0xE4>"), [0xE4]);
        assert_eq!(decode(b"<0xe4>"), [0xE4]);
        assert_eq!(decode(b"<0xG4>"), b"<0xG4>");
        assert_eq!(decode(b"<0x+4>"), b"<0x+4>");
        assert_eq!(decode(b"<0x041>"), b"<0x041>");
        assert_eq!(decode(&[0xE2, 0x96, 0xE2, 0x96, 0x81, 0xE2]), [0xE2, 0x96, b' ', 0xE2]);
        assert_eq!(decode("中".as_bytes()), "中".as_bytes());
    }

    #[test]
    fn added_tokens_are_text_where_the_alphabet_gives_none() {
        let decode = |kind: VocabKind, name: &'static str| kind.decode_added(name.as_bytes()).into_owned();
        assert_eq!(decode(VocabKind::ByteLevel, "für"), "für".as_bytes());
        assert_eq!(&*VocabKind::ByteLevel.decode("für".as_bytes()), b"f\xFCr", "an ordinary token is bytes");
        assert_eq!(decode(VocabKind::ByteLevel, "ĠFoo"), b" Foo");
        assert_eq!(decode(VocabKind::ByteFallback, "▁<PRE>"), b" <PRE>");
        assert_eq!(decode(VocabKind::ByteFallback, "<0xE4>"), [0xE4]);
        assert_eq!(decode(VocabKind::Raw, "für"), "für".as_bytes());
    }

    #[test]
    fn kinds_have_numbers() {
        for kind in [VocabKind::Raw, VocabKind::ByteFallback, VocabKind::ByteLevel] {
            assert_eq!(VocabKind::from_number(u64::from(kind.as_number())).unwrap(), kind);
        }
        assert!(VocabKind::from_number(3).is_err());
    }
}
