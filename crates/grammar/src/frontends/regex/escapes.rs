//! What follows a backslash.
//!
//! Where ECMA-262, Rust and Python agree, or only one of them gives an escape a meaning, that is the meaning. Letters
//! and digits that none of them knows are errors; everything else that is escaped stands for itself.

use std::collections::hash_map::Entry;

use super::parser::Parser;
use super::properties;
use crate::error::Result;
use crate::regular::CharSet;

/// The meaning of an escape.
#[derive(Debug)]
pub(super) enum Escape {
    /// A code point, or a lone surrogate, which no text contains.
    Code(u32),
    /// One code point of a set.
    Class(CharSet),
    /// `\b` or `\B`.
    WordBoundary { negated: bool },
    /// `\A`.
    Start,
    /// `\z` or `\Z`.
    End,
}

/// The name of a class that is looked up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ClassName {
    /// `\d`, `\w` or `\s`.
    Perl { letter: char, by_unicode: bool },
    /// `\p{...}`.
    Property(String),
}

impl Parser<'_> {
    /// An escape outside of classes; after the backslash.
    pub(super) fn push_escape(&mut self, here: usize) -> Result<()> {
        match self.escape(here)? {
            Escape::Code(code) => match char::from_u32(code) {
                Some(c) => self.push_char(c),
                None => self.push_class(CharSet::new([])),
            },
            Escape::Class(set) => self.push_class(set),
            Escape::WordBoundary { negated } => {
                if self.rest().starts_with('{') && !self.rest()[1..].starts_with(|c: char| c.is_ascii_digit())
                {
                    return Err(self.unsupported(here, "half word boundaries are not supported"));
                }
                let word = self.perl_class('w');
                self.push_word_boundary(negated, word);
            }
            Escape::Start => {
                let node = self.ast.start();
                self.push(node);
            }
            Escape::End => {
                let node = self.ast.end();
                self.push(node);
            }
        }
        Ok(())
    }

    /// The escape after a backslash at `here`.
    pub(super) fn escape(&mut self, here: usize) -> Result<Escape> {
        let Some(c) = self.bump() else {
            return Err(self.error(here, "a backslash at the end escapes nothing"));
        };
        Ok(match c {
            'd' | 'w' | 's' => Escape::Class(self.perl_class(c)),
            'D' | 'W' | 'S' => Escape::Class(self.perl_class(c.to_ascii_lowercase()).complement()),
            'p' => Escape::Class(self.property(here)?),
            'P' => Escape::Class(self.property(here)?.complement()),
            'b' => Escape::WordBoundary { negated: false },
            'B' => Escape::WordBoundary { negated: true },
            'A' => Escape::Start,
            'z' | 'Z' => Escape::End,
            'a' => Escape::Code(0x07),
            'e' => Escape::Code(0x1b),
            'f' => Escape::Code(0x0c),
            'n' => Escape::Code(0x0a),
            'r' => Escape::Code(0x0d),
            't' => Escape::Code(0x09),
            'v' => Escape::Code(0x0b),
            '0' if !self.rest().starts_with(|c: char| c.is_ascii_digit()) => Escape::Code(0),
            'c' => Escape::Code(self.control(here)?),
            'x' => Escape::Code(self.hex(here, 2)?),
            'u' => Escape::Code(self.unicode(here)?),
            'U' => Escape::Code(self.hex(here, 8)?),
            '1'..='9' | 'k' => {
                return Err(self.unsupported(here, "backreferences are not supported: they are not regular"));
            }
            '0' => {
                return Err(self.unsupported(here, "octal escapes are not supported").with_help("use \\xHH"));
            }
            'N' => {
                return Err(self
                    .unsupported(here, "named characters are not supported")
                    .with_help("use \\u{...}"));
            }
            c if c.is_ascii_alphanumeric() => return Err(self.error(here, format!("unknown escape `\\{c}`"))),
            c => Escape::Code(u32::from(c)),
        })
    }

    /// `\d`, `\w` or `\s` under the current flags.
    pub(super) fn perl_class(&mut self, letter: char) -> CharSet {
        let by_unicode = self.flags.unicode_classes;
        let name = ClassName::Perl { letter, by_unicode };
        let find = || {
            Some(match letter {
                _ if by_unicode => properties::unicode_perl_class(letter),
                'd' => CharSet::new([('0', '9')]),
                'w' => CharSet::new([('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]),
                _ => properties::ecma_white_space(),
            })
        };
        self.named_class(name, find).expect("these classes always exist")
    }

    /// A class by its name, folded under the flag `i`; found once for each pattern, since the tables are large.
    fn named_class(&mut self, name: ClassName, find: impl FnOnce() -> Option<CharSet>) -> Option<CharSet> {
        let ignore_case = self.flags.ignore_case;
        match self.named.entry((name, ignore_case)) {
            Entry::Occupied(known) => Some(known.get().clone()),
            Entry::Vacant(slot) => {
                let set = find()?;
                Some(slot.insert(if ignore_case { set.case_folded() } else { set }).clone())
            }
        }
    }

    /// The property after `\p`: one letter or a name in braces.
    fn property(&mut self, here: usize) -> Result<CharSet> {
        let name = if self.eat("{") {
            let end =
                self.rest().find('}').ok_or_else(|| self.error(here, "this property is never closed"))?;
            let name = &self.rest()[..end];
            self.at += end + 1;
            name.to_owned()
        } else {
            self.bump().map(String::from).unwrap_or_default()
        };
        let found =
            self.named_class(ClassName::Property(name.clone()), || properties::unicode_property(&name));
        found.ok_or_else(|| self.error(here, format!("unknown Unicode property {name:?}")))
    }

    fn control(&mut self, here: usize) -> Result<u32> {
        match self.bump() {
            Some(c) if c.is_ascii_alphabetic() => Ok(u32::from(c) % 32),
            _ => Err(self.error(here, "`\\c` needs a letter")),
        }
    }

    /// `\uXXXX` with its surrogate pairs joined, or `\u{...}`.
    fn unicode(&mut self, here: usize) -> Result<u32> {
        let high = self.hex(here, 4)?;
        let rest = self.rest();
        if !(0xd800..0xdc00).contains(&high) || !rest.starts_with("\\u") || rest.starts_with("\\u{") {
            return Ok(high);
        }
        let before = self.at;
        self.at += 2;
        let low = self.hex(before, 4)?;
        if (0xdc00..0xe000).contains(&low) {
            return Ok(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00));
        }
        self.at = before;
        Ok(high)
    }

    /// Exactly `digits` hexadecimal digits, or any number of them in braces.
    fn hex(&mut self, here: usize, digits: usize) -> Result<u32> {
        let text = if self.eat("{") {
            let end = self.rest().find('}').ok_or_else(|| self.error(here, "this escape is never closed"))?;
            let text = &self.rest()[..end];
            self.at += end + 1;
            text
        } else {
            let text = self.rest().get(..digits).unwrap_or_default();
            self.at += text.len();
            text
        };
        let well_formed = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let code = if well_formed { u32::from_str_radix(text, 16).ok() } else { None };
        code.filter(|&code| code <= u32::from(char::MAX))
            .ok_or_else(|| self.error(here, "this escape needs hexadecimal digits of a code point"))
    }
}
