//! Host names with letters of other languages, RFC 5890 to 5893.
//!
//! What those documents ask of a name is mostly about single code points, and partly not regular:
//!
//! * Letters are taken from a list of scripts, written with those letters that RFC 5892 calls valid without a condition.
//!   A label has letters of one script, beside digits, single hyphens, and (from left to right) small letters of ASCII.
//! * A label must be in normal form C. No listed letter combines with another one, so all of them are.
//! * Spelled in Punycode, a label must have at most 63 characters. How long that gets depends on all of its letters. The
//!   worst case of the algorithm gives a bound on their number instead: 14 letters of an alphabet, or 10 of the large
//!   scripts, take at most 61 characters, whichever they are, with a hyphen between any two.
//! * With a label that is written from right to left, all labels of a name must keep RFC 5893's rule. Those names are
//!   made of such labels and of labels of ASCII that begin with a letter.
//!
//! A name has at most four labels of at most 61 characters, unless it is all ASCII; so it stays below 253. So do names of
//! ASCII, by their [`Shape`]: to count them would multiply the automata of all other letters by it.

use super::hostname::{self, Openings, Shape};
use super::texts::Texts;
use crate::error::Result;
use crate::ir::ExprId;

/// The letters of a script, as the inside of a class.
struct Script {
    letters: &'static str,
    /// Signs that follow a letter and never begin a label.
    signs: &'static str,
    /// How many letters and signs a label may have.
    most: u32,
}

const ALPHABET: u32 = 14;
const LARGE: u32 = 10;

const THAI: &str = "\u{e01}-\u{e30}\u{e32}\u{e40}-\u{e46}";

const LEFT_TO_RIGHT: &[Script] = &[
    Script {
        letters: "ß-öø-ÿāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįıĵķĺļľłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷźżž",
        signs: "",
        most: ALPHABET,
    },
    Script { letters: "\u{390}\u{3ac}-\u{3ce}", signs: "", most: ALPHABET },
    Script { letters: "\u{430}-\u{45f}\u{491}", signs: "", most: ALPHABET },
    Script { letters: "\u{905}-\u{939}", signs: "\u{902}\u{903}\u{93e}-\u{94d}", most: ALPHABET },
    // Thai twice, with tones and with low vowels: in normal form they have an order, if they come together.
    Script { letters: THAI, signs: "\u{e31}\u{e34}-\u{e37}\u{e47}-\u{e4e}", most: ALPHABET },
    Script { letters: THAI, signs: "\u{e31}\u{e34}-\u{e39}\u{e47}\u{e4c}-\u{e4e}", most: ALPHABET },
    Script {
        letters: "\u{3005}-\u{3007}\u{3041}-\u{3096}\u{309d}\u{309e}\u{30a1}-\u{30fa}\u{30fc}-\u{30fe}\
            \u{4e00}-\u{9fa5}",
        signs: "",
        most: LARGE,
    },
    Script { letters: "\u{ac00}-\u{d7a3}", signs: "", most: LARGE },
];

/// Hebrew, and Arabic with some letters of Persian.
const RIGHT_TO_LEFT: &[&str] =
    &["\u{5d0}-\u{5ea}", "\u{621}-\u{63a}\u{641}-\u{64a}\u{67e}\u{686}\u{698}\u{6a9}\u{6af}\u{6cc}"];

/// Digits of a label from right to left; the two kinds do not mix.
const DIGITS: &[&str] = &["0-9", "\u{660}-\u{669}"];

/// Names that are not all ASCII have so many labels of so many characters.
const LABELS: u32 = 4;
const LONGEST_LABEL: u32 = 61;

/// Names of ASCII have at most 252 characters.
const ASCII: Shape = Shape { first: 63, others: 24 };

pub(super) fn idn_hostname(texts: &mut Texts<'_>) -> Result<ExprId> {
    let only = Openings::NoTag.only_label(texts)?;
    let ascii = hostname::names_of_shape(texts, &ASCII, &Openings::NoTag)?;
    let others = names_of_short_labels(texts, LABELS)?;
    Ok(texts.alt([only, ascii, others]))
}

/// Names of up to `count` labels with letters of any language, each of at most 61 characters, in Punycode and in UTF-8.
pub(super) fn names_of_short_labels(texts: &mut Texts<'_>, count: u32) -> Result<ExprId> {
    let mut labels = vec![Openings::NoTag.label(LONGEST_LABEL, texts)?];
    let letter_first = Openings::NoTag.label_of_letter(LONGEST_LABEL, texts)?;
    let mut last_labels = vec![letter_first];
    for script in LEFT_TO_RIGHT {
        let Script { letters, signs, most } = script;
        let label =
            format!("[a-z0-9{letters}](?:[a-z0-9{letters}{signs}]|-[a-z0-9{letters}]){{0,{}}}", most - 1);
        labels.push(texts.pattern(&label)?);
        // The last label begins with a letter, as in names of ASCII.
        let last = label.replacen("[a-z0-9", "[a-z", 1);
        last_labels.push(texts.pattern(&last)?);
    }
    let left_to_right = chain(texts, count, labels, last_labels);
    let mut labels = vec![letter_first];
    for letters in RIGHT_TO_LEFT {
        for digits in DIGITS {
            let label = format!("[{letters}](?:-?[{letters}{digits}]){{0,{}}}", ALPHABET - 1);
            labels.push(texts.pattern(&label)?);
        }
    }
    let both_ways = chain(texts, count, labels.clone(), labels);
    Ok(texts.alt([left_to_right, both_ways]))
}

/// Up to `count` labels with dots between them.
fn chain(texts: &mut Texts<'_>, count: u32, labels: Vec<ExprId>, last_labels: Vec<ExprId>) -> ExprId {
    let label = texts.alt(labels);
    let dot = texts.literal(".");
    let label_dot = texts.seq([label, dot]);
    let before = texts.up_to(label_dot, count - 1);
    let last = texts.alt(last_labels);
    texts.seq([before, last])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_of_ascii_is_within_the_bound() {
        assert_eq!(ASCII.longest(), 252);
    }
}
