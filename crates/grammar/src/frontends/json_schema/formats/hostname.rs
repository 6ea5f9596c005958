//! Host names of RFC 1123: labels of letters, digits and inner hyphens.
//!
//! * A label has at most 63 characters, and a name at most 253, its dots among them. To count both at once would take an
//!   automaton of sixteen thousand states. So a name has a [`Shape`]: a few long labels first, then shorter ones, such
//!   that the longest name of that shape is within the bound.
//! * A label that begins with `xn--` is Punycode, and must decode to a valid label of other languages. That is not
//!   regular, so there is none.
//! * A name is never a number, nor is its last label: RFC 1123 tells names from IPv4 addresses by it. The last of
//!   several labels begins with a letter, as all that the root of the DNS knows.

use super::texts::Texts;
use crate::error::Result;
use crate::ir::ExprId;

/// A letter or digit.
const END: &str = "[A-Za-z0-9]";
/// What may stand inside of a label.
const INSIDE: &str = "[A-Za-z0-9\\-]";

/// How many labels a name may have, and how long they may be.
pub(super) struct Shape {
    /// Up to two labels of so many characters come first.
    pub(super) first: u32,
    /// Up to four labels and the last one have so many.
    pub(super) others: u32,
}

impl Shape {
    const FIRST_LABELS: u32 = 2;
    const OTHER_LABELS: u32 = 4;

    /// The longest name of this shape.
    #[cfg(test)]
    pub(super) fn longest(&self) -> u32 {
        Self::FIRST_LABELS * (self.first + 1) + (Self::OTHER_LABELS + 1) * (self.others + 1) - 1
    }
}

/// Names of at most 252 characters.
const HOST: Shape = Shape { first: 63, others: 24 };

/// What a label may begin with.
pub(super) enum Openings {
    /// Anything but `xn--`.
    NoPunycode,
    /// Anything without hyphens in third and fourth place, which RFC 5891 reserves.
    NoTag,
}

impl Openings {
    /// The first four characters of a label that is longer than that, `first` being the class of its first one.
    fn first_four(&self, first: &str) -> String {
        let tail = format!("(?:{END}{INSIDE}|-{END})");
        match self {
            Openings::NoTag => format!("{first}{INSIDE}{tail}"),
            Openings::NoPunycode => {
                let without_x = first.replace("A-Za-z", "A-WYZa-wyz");
                let without_n = "[A-MO-Za-mo-z0-9\\-]";
                format!("(?:{without_x}{INSIDE}{{3}}|[Xx](?:{without_n}{INSIDE}{{2}}|[Nn]{tail}))")
            }
        }
    }

    /// A label that begins with `first` and has at most `most` characters, of which there are at least five.
    fn label_from(&self, first: &str, most: u32) -> String {
        let four = self.first_four(first);
        format!("(?:{first}(?:{INSIDE}{{0,2}}{END})?|{four}{INSIDE}{{0,{}}}{END})", most - 5)
    }

    /// A label of at most `most` characters.
    pub(super) fn label(&self, most: u32) -> String {
        self.label_from(END, most)
    }

    /// The same, beginning with a letter.
    pub(super) fn label_of_letter(&self, most: u32) -> String {
        self.label_from("[A-Za-z]", most)
    }

    /// A name of one label: it is no number.
    fn only_label(&self) -> String {
        let letter_first = self.label_of_letter(63);
        // Up to 31 digits, and then up to 32 characters the first of which is none.
        format!("{letter_first}|[0-9]{{1,31}}(?:[A-Za-z]|[A-Za-z\\-]{INSIDE}{{0,30}}{END})")
    }
}

pub(super) fn hostname(texts: &mut Texts<'_>) -> Result<ExprId> {
    host_names(texts, &Openings::NoPunycode)
}

/// Names of hosts: of one label that may be as long as labels can be, or of several.
pub(super) fn host_names(texts: &mut Texts<'_>, openings: &Openings) -> Result<ExprId> {
    let only = texts.pattern(&openings.only_label())?;
    let several = names(texts, &HOST, openings)?;
    Ok(texts.alt([only, several]))
}

/// Names of one shape.
pub(super) fn names(texts: &mut Texts<'_>, shape: &Shape, openings: &Openings) -> Result<ExprId> {
    let first = texts.pattern(&(openings.label(shape.first) + "\\."))?;
    let first = texts.up_to(first, Shape::FIRST_LABELS);
    let others = texts.pattern(&(openings.label(shape.others) + "\\."))?;
    let others = texts.up_to(others, Shape::OTHER_LABELS);
    let last = texts.pattern(&openings.label_of_letter(shape.others))?;
    Ok(texts.seq([first, others, last]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_is_within_the_bound() {
        assert_eq!(HOST.longest(), 252);
    }
}
