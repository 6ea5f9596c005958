//! Host names of RFC 1123: labels of letters, digits and inner hyphens.
//!
//! * A label has at most 63 characters, and a name at most 253, its dots among them. To count both at once would take an
//!   automaton of sixteen thousand states; as bounded texts, one within the other, both are counted when a text is read.
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

/// How long a label may be.
const LONGEST_LABEL: u32 = 63;
/// How long a name may be.
const LONGEST_NAME: u32 = 253;

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

    /// A label of any length that begins with `first`.
    fn label_from(&self, first: &str) -> String {
        let four = self.first_four(first);
        format!("(?:{first}(?:{INSIDE}{{0,2}}{END})?|{four}{INSIDE}*{END})")
    }

    /// A label of at most `most` characters.
    pub(super) fn label(&self, most: u32, texts: &mut Texts<'_>) -> Result<ExprId> {
        let label = texts.automaton(&self.label_from(END))?;
        Ok(texts.at_most(label, most))
    }

    /// The same, beginning with a letter.
    pub(super) fn label_of_letter(&self, most: u32, texts: &mut Texts<'_>) -> Result<ExprId> {
        let label = texts.automaton(&self.label_from("[A-Za-z]"))?;
        Ok(texts.at_most(label, most))
    }

    /// A name of one label: it is no number.
    pub(super) fn only_label(&self, texts: &mut Texts<'_>) -> Result<ExprId> {
        let label = texts.both(&self.label_from(END), "[0-9]*[A-Za-z\\-][^]*")?;
        Ok(texts.at_most(label, LONGEST_LABEL))
    }
}

pub(super) fn hostname(texts: &mut Texts<'_>) -> Result<ExprId> {
    let only = Openings::NoPunycode.only_label(texts)?;
    let several = domains(texts, &Openings::NoPunycode)?;
    let names = texts.alt([only, several]);
    Ok(texts.at_most(names, LONGEST_NAME))
}

/// How many labels a name may have, and how long they may be, where that is to be within a bound in any case.
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

/// Names of one shape, whose last label begins with a letter.
pub(super) fn names_of_shape(texts: &mut Texts<'_>, shape: &Shape, openings: &Openings) -> Result<ExprId> {
    let dot = texts.literal(".");
    let label = openings.label(shape.first, texts)?;
    let label_dot = texts.seq([label, dot]);
    let first = texts.up_to(label_dot, Shape::FIRST_LABELS);
    let label = openings.label(shape.others, texts)?;
    let label_dot = texts.seq([label, dot]);
    let others = texts.up_to(label_dot, Shape::OTHER_LABELS);
    let last = openings.label_of_letter(shape.others, texts)?;
    Ok(texts.seq([first, others, last]))
}

/// Names whose last label begins with a letter, however many labels they have.
pub(super) fn domains(texts: &mut Texts<'_>, openings: &Openings) -> Result<ExprId> {
    let label = openings.label(LONGEST_LABEL, texts)?;
    let dot = texts.literal(".");
    let label_dot = texts.seq([label, dot]);
    let labels = texts.star(label_dot);
    let last = openings.label_of_letter(LONGEST_LABEL, texts)?;
    Ok(texts.seq([labels, last]))
}
