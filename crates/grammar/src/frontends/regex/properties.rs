//! Classes with names: Unicode properties from the tables of `regex-syntax`, POSIX classes, ECMA white space.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, HirKind};

use crate::regular::CharSet;

/// The set of a property by name: a general category, a script, `Script=Greek` or `scx:Greek`, a
/// binary property. Names are those of ECMA-262 and Rust, in any case.
pub(super) fn unicode_property(name: &str) -> Option<CharSet> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'=' | b':' | b'-' | b' ');
    if name.is_empty() || !name.bytes().all(plain) {
        return None;
    }
    class_of(&format!("\\p{{{name}}}"))
}

/// `\d`, `\w` or `\s` as Unicode has them.
pub(super) fn unicode_perl_class(letter: char) -> CharSet {
    class_of(&format!("\\{letter}")).expect("regex-syntax knows \\d, \\w and \\s")
}

fn class_of(pattern: &str) -> Option<CharSet> {
    let hir = ParserBuilder::new().unicode(true).build().parse(pattern).ok()?;
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => Some(CharSet::from(class)),
        HirKind::Class(Class::Bytes(class)) => {
            Some(CharSet::new(class.iter().map(|range| (range.start().into(), range.end().into()))))
        }
        HirKind::Literal(literal) => {
            let only = std::str::from_utf8(&literal.0).ok()?.chars().next()?;
            Some(CharSet::new([(only, only)]))
        }
        _ => None,
    }
}

/// `\s` of ECMA-262: its white space and its line ends.
pub(super) fn ecma_white_space() -> CharSet {
    let single = ['\u{20}', '\u{a0}', '\u{1680}', '\u{202f}', '\u{205f}', '\u{3000}', '\u{feff}'];
    let ranges = [('\t', '\r'), ('\u{2000}', '\u{200a}'), ('\u{2028}', '\u{2029}')];
    CharSet::new(single.map(|c| (c, c)).into_iter().chain(ranges))
}

/// The set of a POSIX class such as `alpha`, in ASCII.
pub(super) fn posix_class(name: &str) -> Option<CharSet> {
    let ranges: &[(char, char)] = match name {
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "ascii" => &[('\0', '\x7f')],
        "blank" => &[('\t', '\t'), (' ', ' ')],
        "cntrl" => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        "digit" => &[('0', '9')],
        "graph" => &[('!', '~')],
        "lower" => &[('a', 'z')],
        "print" => &[(' ', '~')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => &[('\t', '\r'), (' ', ' ')],
        "upper" => &[('A', 'Z')],
        "word" => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
        "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        _ => return None,
    };
    Some(CharSet::new(ranges.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_by_every_kind_of_name() {
        for (name, inside, outside) in [
            ("L", 'é', '1'),
            ("Lu", 'É', 'é'),
            ("Uppercase_Letter", 'É', 'é'),
            ("General_Category=Nd", '٣', 'a'),
            ("Greek", 'λ', 'l'),
            ("Script=Cyrillic", 'ж', 'λ'),
            ("scx=Hira", 'あ', 'a'),
            ("scx:Greek", 'λ', 'l'),
            ("gc:Letter", 'é', '1'),
            ("Alphabetic", 'a', '1'),
            ("ASCII", 'a', 'é'),
            ("Emoji_Presentation", '😀', 'a'),
            ("Any", '\u{10ffff}', '\u{10ffff}'),
        ] {
            let set = unicode_property(name).unwrap_or_else(|| panic!("{name}"));
            assert!(set.contains(inside), "{name}");
            assert!(name == "Any" || !set.contains(outside), "{name}");
        }
        for name in ["", "Nope", "L}\\p{N", "Script=Nope"] {
            assert!(unicode_property(name).is_none(), "{name}");
        }
    }

    #[test]
    fn white_space_of_the_two_dialects() {
        assert!(ecma_white_space().contains('\u{feff}') && !unicode_perl_class('s').contains('\u{feff}'));
        assert!(!ecma_white_space().contains('\u{85}') && unicode_perl_class('s').contains('\u{85}'));
    }
}
