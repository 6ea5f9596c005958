//! Host names of RFC 1123: labels of letters, digits and inner hyphens.
//!
//! * A label has at most 63 characters, and a name at most 253, its dots among them. Both counts at once would take an
//!   automaton of sixteen thousand states. So a name is one of a few *shapes*, each a number of labels of bounded length
//!   whose sum is at most 253. They leave out only names of more than four labels that have long labels in odd places.
//! * A label that begins with `xn--` is Punycode, and must decode to a valid label of other languages. That is not
//!   regular, so there is none.
//! * The last label is never a number: RFC 1123 tells names from IPv4 addresses by it.

use super::texts::Texts;
use crate::error::Result;
use crate::ir::ExprId;

/// A letter or digit, and what may stand inside of a label.
const END: &str = "[A-Za-z0-9]";
const INSIDE: &str = "[A-Za-z0-9\\-]";

/// The beginnings, of four characters, of labels that are longer than that.
pub(super) struct Openings {
    after_any: &'static str,
    after_letter: &'static str,
}

/// Anything but `xn--`.
pub(super) const NO_PUNYCODE: Openings = Openings {
    after_any: "(?:[A-WYZa-wyz0-9][A-Za-z0-9\\-]{3}|[Xx][A-MO-Za-mo-z0-9\\-][A-Za-z0-9\\-]{2}|\
        [Xx][Nn](?:[A-Za-z0-9][A-Za-z0-9\\-]|-[A-Za-z0-9]))",
    after_letter: "(?:[A-WYZa-wyz][A-Za-z0-9\\-]{3}|[Xx][A-MO-Za-mo-z0-9\\-][A-Za-z0-9\\-]{2}|\
        [Xx][Nn](?:[A-Za-z0-9][A-Za-z0-9\\-]|-[A-Za-z0-9]))",
};

/// Anything without hyphens in third and fourth place, which RFC 5891 reserves.
pub(super) const NO_TAG: Openings = Openings {
    after_any: "[A-Za-z0-9][A-Za-z0-9\\-](?:[A-Za-z0-9][A-Za-z0-9\\-]|-[A-Za-z0-9])",
    after_letter: "[A-Za-z][A-Za-z0-9\\-](?:[A-Za-z0-9][A-Za-z0-9\\-]|-[A-Za-z0-9])",
};

impl Openings {
    /// A label of at most `most` characters, of which there are at least five.
    pub(super) fn label(&self, most: u32) -> String {
        let opening = self.after_any;
        format!("(?:{END}(?:{INSIDE}{{0,2}}{END})?|{opening}{INSIDE}{{0,{}}}{END})", most - 5)
    }

    /// The same, beginning with a letter.
    pub(super) fn label_of_letter(&self, most: u32) -> String {
        let opening = self.after_letter;
        format!("(?:[A-Za-z](?:{INSIDE}{{0,2}}{END})?|{opening}{INSIDE}{{0,{}}}{END})", most - 5)
    }

    /// The last label of a name: it begins or ends with a letter, or has a letter or hyphen inside.
    pub(super) fn last_label(&self, most: u32) -> String {
        let letter_first = self.label_of_letter(most);
        let (inside, half) = (most - 2, (most - 3) / 2);
        format!(
            "(?:{letter_first}|[0-9]{INSIDE}{{0,{inside}}}[A-Za-z]|\
             [0-9]{INSIDE}{{0,{half}}}[A-Za-z\\-]{INSIDE}{{0,{half}}}[0-9])"
        )
    }
}

pub(super) fn hostname(texts: &mut Texts<'_>) -> Result<ExprId> {
    names_of_four_blocks(texts, &NO_PUNYCODE)
}

/// Names of at most 253 characters.
pub(super) fn names_of_four_blocks(texts: &mut Texts<'_>, openings: &Openings) -> Result<ExprId> {
    let common = names(texts, 4, openings)?;
    // One more shape: many tiny labels first, as in the names that stand for addresses (`8.b.d.0.[...].ip6.arpa`).
    let tiny = texts.pattern(&format!("(?:{END}\\.){{0,32}}"))?;
    let short = labels(texts, openings, 15, 11)?;
    let last = texts.pattern(&openings.last_label(13))?;
    let long_chain = texts.seq([tiny, short, last]);
    Ok(texts.alt([common, long_chain]))
}

/// Names of at most `64 * blocks - 3` characters, where a label with its dot takes 64, 32 or 16 of them.
pub(super) fn names(texts: &mut Texts<'_>, blocks: u32, openings: &Openings) -> Result<ExprId> {
    let few = labels(texts, openings, 63, blocks - 1)?;
    let last = texts.pattern(&openings.last_label(61))?;
    let few = texts.seq([few, last]);
    let some = labels(texts, openings, 31, 2 * blocks - 1)?;
    let last = texts.pattern(&openings.last_label(29))?;
    let some = texts.seq([some, last]);
    let (long, short) = (labels(texts, openings, 63, blocks - 2)?, labels(texts, openings, 15, 7)?);
    let last = texts.pattern(&openings.last_label(13))?;
    let many = texts.seq([long, short, last]);
    Ok(texts.alt([few, some, many]))
}

/// Up to `count` labels of at most `most` characters, each with its dot.
fn labels(texts: &mut Texts<'_>, openings: &Openings, most: u32, count: u32) -> Result<ExprId> {
    let label = texts.pattern(&(openings.label(most) + "\\."))?;
    Ok(texts.up_to(label, count))
}
