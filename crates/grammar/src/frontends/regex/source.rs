//! A pattern as the EBNF macro that reads it back: `Regex("a\\b", flags="is")`.

use std::fmt::Write;

use super::syntax::{Anchoring, Flags, Syntax};
use crate::ir::quoted;

/// The macro for a pattern. `ends_extended` says that a comment may be open at its end.
pub(super) fn macro_text(pattern: &str, syntax: Syntax, ends_extended: bool) -> String {
    let whole = match syntax.anchoring {
        Anchoring::Whole | Anchoring::Part => pattern.to_owned(),
        // The macro matches whole strings, so what is searched for stands between any text. The line end closes a
        // comment, and is ignored itself where there can be one.
        Anchoring::Search => format!("[^]*(?:{pattern}{})[^]*", if ends_extended { "\n" } else { "" }),
    };
    let mut text = format!("Regex({}", quoted(&whole));
    if syntax.flags != (Flags { dot_all: true, ..Flags::default() }) {
        write!(text, ", flags=\"{}\"", syntax.flags.letters()).expect("writing to a string does not fail");
    }
    text.push(')');
    text
}

#[cfg(test)]
mod tests {
    use super::super::to_grammar;
    use super::*;
    use crate::ir::{Expr, Grammar};
    use crate::limits::{Budget, Limits};

    #[test]
    fn macros_say_what_differs_from_the_default() {
        assert_eq!(macro_text("a\\b\"\n\x01", Syntax::whole(), false), r#"Regex("a\\b\"\n\u0001")"#);
        let plain = Syntax::whole().with_flags(Flags::default());
        assert_eq!(macro_text("a", plain, false), r#"Regex("a", flags="")"#);
        let flags = Flags::from_letters("xi").unwrap();
        let search = Syntax::search().with_flags(flags);
        assert_eq!(macro_text("a # b", search, true), r#"Regex("[^]*(?:a # b\n)[^]*", flags="ix")"#);
    }

    #[test]
    fn macros_are_read_back() {
        // The control character is followed by what would be more hexadecimal digits of it.
        for pattern in
            ["(?=.)\x01ab\"\\\\\n\t\u{7f}0\u{e9}\u{200b}f", "(?=\x00)[\x001]+", "(?!x)[a\u{feff}]0"]
        {
            let (limits, budget) = (Limits::default(), Budget::default());
            let grammar = to_grammar(pattern, &Syntax::whole(), &limits, &budget).unwrap();
            let text = grammar.to_string();
            let again = crate::frontends::ebnf::parse(&text, "root", &limits, &budget).unwrap();
            let automaton = |grammar: &Grammar| match grammar.expr(grammar.rule(grammar.root()).body) {
                Expr::Automaton(automaton) => automaton.clone(),
                other => panic!("{pattern:?} is {other:?}"),
            };
            let (before, after) = (automaton(&grammar), automaton(&again));
            assert_eq!(before.source, after.source, "{text}");
            assert_eq!(*before.dfa, *after.dfa, "{text}");
        }
    }
}
