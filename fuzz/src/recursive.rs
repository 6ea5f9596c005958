//! Small recursive grammars in EBNF, made of bytes: classes, literals, references, groups, repetitions.
//!
//! Mutating the text of a grammar mostly breaks it. Here any bytes are a grammar, and most of them are ambiguous.

use std::fmt::Write as _;

use crate::dice::Dice;

const CLASSES: [&str; 10] =
    ["[a-z]", "[a-z0-9 ]", "[a-z ]", "[0-9]", "[A-Za-z]", "[^\\n]", "[ab]", "[ \\n]", "[^\\\"]", "[a-zA-Z_]"];
const LITERALS: [&str; 10] =
    ["\"x\"", "\"a\"", "\"ab\"", "\" \"", "\",\"", "\"(\"", "\")\"", "\"\\n\"", "\"the\"", "\"=\""];
const SUFFIXES: [&str; 12] = ["", "", "", "?", "?", "*", "*", "+", "+", "{2,9}", "{1,3}", "{2,}"];
const NAMES: [&str; 6] = ["root", "a", "b", "c", "d", "e"];

/// The text of a grammar.
pub fn grammar(dice: &mut Dice<'_>) -> String {
    let names = &NAMES[..2 + dice.below(5)];
    let mut text = String::new();
    for name in names {
        let _ = write!(text, "{name} ::= ");
        alternatives(dice, names, 0, &mut text);
        text.push('\n');
    }
    text
}

fn alternatives(dice: &mut Dice<'_>, names: &[&str], depth: usize, text: &mut String) {
    for at in 0..*dice.one_of(&[1, 1, 1, 2]) {
        text.push_str(if at > 0 { " | " } else { "" });
        for _ in 0..=dice.below(4) {
            item(dice, names, depth, text);
            text.push(' ');
        }
    }
}

fn item(dice: &mut Dice<'_>, names: &[&str], depth: usize, text: &mut String) {
    match dice.below(10) {
        0..4 => text.push_str(dice.one_of(&CLASSES)),
        4..8 => text.push_str(dice.one_of(&names[1..])),
        8 if depth < 2 => {
            text.push('(');
            alternatives(dice, names, depth + 1, text);
            text.push(')');
        }
        _ => text.push_str(dice.one_of(&LITERALS)),
    }
    text.push_str(dice.one_of(&SUFFIXES));
}
