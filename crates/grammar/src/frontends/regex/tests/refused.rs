//! What is refused, how, and where.

use super::super::Syntax;
use super::try_automaton;
use crate::error::{ErrorKind, Place};

#[test]
fn errors_name_the_construct_and_its_place() {
    use ErrorKind::{Syntax as Bad, Unsupported};
    for (pattern, kind, message, column) in [
        ("(a", Bad, "never closed", 1),
        ("é(a", Bad, "never closed", 2),
        ("a)", Bad, "closes nothing", 2),
        ("*a", Bad, "nothing to repeat", 1),
        ("a|+", Bad, "nothing to repeat", 3),
        ("{3}", Bad, "nothing to repeat", 1),
        ("a{3,2}", Bad, "out of order", 2),
        ("a{99999999999}", Bad, "too large", 2),
        ("a{,3}", Bad, "different dialects", 2),
        ("a{1, 3}", Bad, "different dialects", 2),
        ("a++", Unsupported, "possessive", 2),
        ("a{1,2}+", Unsupported, "possessive", 2),
        ("(?>a)", Unsupported, "atomic", 1),
        ("(?(1)a|b)", Unsupported, "conditional", 1),
        ("(?|a)", Unsupported, "branch reset", 1),
        ("(?R)", Unsupported, "recursion", 1),
        ("(a)(?1)", Unsupported, "recursion", 4),
        ("(*FAIL)", Unsupported, "verbs", 1),
        ("(a)\\1", Unsupported, "backreferences", 4),
        ("(?<n>a)\\k<n>", Unsupported, "backreferences", 8),
        ("(?P<n>a)(?P=n)", Unsupported, "backreferences", 9),
        ("a\\q", Bad, "unknown escape `\\q`", 2),
        ("a\\", Bad, "escapes nothing", 2),
        ("\\01", Unsupported, "octal", 1),
        ("\\N{DASH}", Unsupported, "named characters", 1),
        ("\\x4", Bad, "hexadecimal", 1),
        ("\\u{110000}", Bad, "hexadecimal", 1),
        ("\\u{}", Bad, "hexadecimal", 1),
        ("\\u+123", Bad, "hexadecimal", 1),
        ("\\c1", Bad, "needs a letter", 1),
        ("\\p{Nope}", Bad, "unknown Unicode property", 1),
        ("\\p{L", Bad, "never closed", 1),
        ("\\b{start}", Unsupported, "half word", 1),
        ("[a", Bad, "never closed", 1),
        ("[a-", Bad, "never closed", 1),
        ("[z-a]", Bad, "out of order", 2),
        ("[\\B]", Bad, "no meaning", 2),
        ("[[:nope:]]", Bad, "POSIX", 2),
        ("(?x)[a b]", Bad, "white space", 7),
        ("(?<1a>b)", Bad, "group name", 4),
        ("(?P<a", Bad, "never closed", 5),
        ("(?#a", Bad, "never closed", 1),
        ("(?y)a", Unsupported, "unknown group or flag", 3),
        ("(?i", Bad, "never closed", 1),
        ("(?<=a(?=bc))b", Unsupported, "lookahead", 6),
    ] {
        let error = try_automaton(pattern, Syntax::whole()).expect_err(pattern);
        assert_eq!(error.kind(), kind, "{pattern}: {error}");
        assert!(error.message().contains(message), "{pattern}: {error}");
        let Place::Text { column: found, .. } = error.place() else { panic!("{pattern}: {error}") };
        assert_eq!(*found, column, "{pattern}: {error}");
    }
}
