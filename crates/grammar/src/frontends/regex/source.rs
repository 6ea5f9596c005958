//! A pattern as the EBNF macro that reads it back: `Regex("a\\b", flags="is")`.

use std::fmt::Write;

use super::syntax::{Anchoring, Flags, Syntax};

/// The macro for a pattern. `ends_extended` says that a comment may be open at its end.
pub(super) fn macro_text(pattern: &str, syntax: Syntax, ends_extended: bool) -> String {
    let whole = match syntax.anchoring {
        Anchoring::Whole => pattern.to_owned(),
        // The macro matches whole strings, so what is searched for stands between any text. The line end closes a
        // comment, and is ignored itself where there can be one.
        Anchoring::Search => format!("[^]*(?:{pattern}{})[^]*", if ends_extended { "\n" } else { "" }),
    };
    let mut text = format!("Regex({}", quote(&whole));
    if syntax.flags != (Flags { dot_all: true, ..Flags::default() }) {
        write!(text, ", flags=\"{}\"", syntax.flags.letters()).expect("writing to a string does not fail");
    }
    text.push(')');
    text
}

/// The text as an EBNF string.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_ascii_control() => {
                write!(quoted, "\\x{:02x}", u32::from(c)).expect("writing to a string does not fail");
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_say_what_differs_from_the_default() {
        assert_eq!(macro_text("a\\b\"\n\x01", Syntax::whole(), false), r#"Regex("a\\b\"\n\x01")"#);
        let plain = Syntax::whole().with_flags(Flags::default());
        assert_eq!(macro_text("a", plain, false), r#"Regex("a", flags="")"#);
        let flags = Flags::from_letters("xi").unwrap();
        let search = Syntax::search().with_flags(flags);
        assert_eq!(macro_text("a # b", search, true), r#"Regex("[^]*(?:a # b\n)[^]*", flags="ix")"#);
    }
}
