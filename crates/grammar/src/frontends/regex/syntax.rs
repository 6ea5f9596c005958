//! How a pattern is read: its flags and whether it must match the whole string.

use crate::error::{Error, ErrorKind, Result};

/// What the letters `i`, `s`, `m`, `x`, `u`, `v` and `n` switch on.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that patterns switch on and off by its letter"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// `i`: letters match in any case, by Unicode's simple case folding.
    pub ignore_case: bool,
    /// `s`: `.` is any code point; without it, any but `\n`, `\r`, U+2028 and U+2029, as in ECMA-262.
    pub dot_all: bool,
    /// `m`: `^` and `$` also match beside the line ends that `.` excludes.
    pub multi_line: bool,
    /// `x`: white space and comments from `#` to the end of the line are ignored, outside of classes.
    pub extended: bool,
    /// `u`: `\d`, `\w`, `\s` and `\b` go by Unicode, as in Rust and Python. Without it they are those of ECMA-262:
    /// `\d` and `\w` are ASCII, `\s` is its white space and line ends (U+00A0, U+FEFF and the like included).
    pub unicode_classes: bool,
    /// `v`: classes nest and have the operators `&&`, `--` and `~~`. Without it those are plain characters, as in
    /// Python and in ECMA-262 without its flag of this name.
    pub class_sets: bool,
    /// `n`: only `\n` ends a line, as in Python and Rust. Patterns cannot switch it themselves.
    pub newline_only: bool,
}

impl Flags {
    /// The flags of these letters and no others.
    pub fn from_letters(letters: &str) -> Result<Self> {
        let mut flags = Flags::default();
        for letter in letters.chars() {
            match flags.by_letter(letter) {
                Some(flag) => *flag = true,
                None => {
                    return Err(Error::new(ErrorKind::Syntax, format!("unknown regex flag {letter:?}"))
                        .with_help("the flags are i, s, m, x, u, v and n"));
                }
            }
        }
        Ok(flags)
    }

    /// The letters of the flags that are on.
    pub fn letters(self) -> String {
        let mut copy = self;
        "ismxuvn".chars().filter(|&letter| copy.by_letter(letter).is_some_and(|flag| *flag)).collect()
    }

    pub(super) fn by_letter(&mut self, letter: char) -> Option<&mut bool> {
        Some(match letter {
            'i' => &mut self.ignore_case,
            's' => &mut self.dot_all,
            'm' => &mut self.multi_line,
            'x' => &mut self.extended,
            'u' => &mut self.unicode_classes,
            'v' => &mut self.class_sets,
            'n' => &mut self.newline_only,
            _ => return None,
        })
    }
}

/// Which strings a pattern stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Anchoring {
    /// Those that it matches from end to end.
    Whole,
    /// Those in which it matches some part, as JSON Schema's `pattern` does.
    Search,
    /// Those that it matches from end to end, where they are a part of a longer text, as the terminals of Lark are.
    /// `^` and `$` hold at their ends. What would look beyond them (word boundaries and lookarounds at their ends) is
    /// refused.
    Part,
}

/// How a pattern is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Syntax {
    /// The flags at the start of the pattern.
    pub flags: Flags,
    /// Which strings it stands for.
    pub anchoring: Anchoring,
}

impl Syntax {
    /// The whole string, and `.` is any code point: what `from_regex` and the macro `Regex("...")` mean.
    pub fn whole() -> Self {
        Syntax { flags: Flags { dot_all: true, ..Flags::default() }, anchoring: Anchoring::Whole }
    }

    /// Some part of the string, no flags: what JSON Schema's `pattern` means.
    pub fn search() -> Self {
        Syntax { flags: Flags::default(), anchoring: Anchoring::Search }
    }

    /// A part of a longer text, with classes by Unicode: what Lark's terminals mean.
    pub fn part() -> Self {
        let flags = Flags { unicode_classes: true, newline_only: true, ..Flags::default() };
        Syntax { flags, anchoring: Anchoring::Part }
    }

    /// The same with other flags.
    #[must_use]
    pub fn with_flags(self, flags: Flags) -> Self {
        Syntax { flags, ..self }
    }
}

impl Default for Syntax {
    fn default() -> Self {
        Syntax::whole()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_there_and_back() {
        for letters in ["", "i", "is", "ismxuvn", "mv"] {
            assert_eq!(Flags::from_letters(letters).unwrap().letters(), letters);
        }
        assert!(Flags::from_letters("si").unwrap().letters() == "is");
        assert!(Flags::from_letters("g").is_err());
    }
}
