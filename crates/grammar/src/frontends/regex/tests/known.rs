//! Patterns with known answers.

use super::super::{Anchoring, Flags, Syntax};
use super::{automaton, macro_of};

struct Case {
    pattern: &'static str,
    accept: &'static [&'static str],
    reject: &'static [&'static str],
}

const fn case(
    pattern: &'static str,
    accept: &'static [&'static str],
    reject: &'static [&'static str],
) -> Case {
    Case { pattern, accept, reject }
}

fn run(syntax: Syntax, cases: &[Case]) {
    for case in cases {
        let dfa = automaton(case.pattern, syntax);
        for text in case.accept {
            assert!(dfa.matches(text.as_bytes()), "{} should match {text:?}", case.pattern);
        }
        for text in case.reject {
            assert!(!dfa.matches(text.as_bytes()), "{} should not match {text:?}", case.pattern);
        }
    }
}

#[test]
fn structure_and_quantifiers() {
    run(
        Syntax::whole(),
        &[
            case("", &[""], &["a"]),
            case("abc", &["abc"], &["", "ab", "abcd", "xabc"]),
            case("a|b|", &["a", "b", ""], &["ab"]),
            case("(a|b)c", &["ac", "bc"], &["c", "abc"]),
            case("(?:ab)+?", &["ab", "abab"], &["", "aba"]),
            case("(?<year>\\d{4})-(?P<month>\\d\\d)", &["2024-05"], &["24-05"]),
            case("ab{2}c{1,}d{0,1}", &["abbc", "abbccd"], &["abc", "abbd", "abbcdd"]),
            case("a{2,3}?", &["aa", "aaa"], &["a", "aaaa"]),
            case("a{2}{2}", &["aaaa"], &["aa", "aaa"]),
            case("a**", &["", "aa"], &["b"]),
            case("x{", &["x{"], &["x"]),
            case("x{a}", &["x{a}"], &["xa"]),
            case("a{1,2", &["a{1,2"], &["a"]),
            case("{}]", &["{}]"], &[""]),
            case("a.c", &["abc", "a\nc", "aéc", "a😀c"], &["ac", "abbc"]),
            case("(?#note)a(?#more)*", &["", "aa"], &["note"]),
            case("((((a*)*)*)*)*", &["", "aaa"], &["b"]),
            case("漢+", &["漢漢"], &["漢字"]),
        ],
    );
}

#[test]
fn escapes() {
    run(
        Syntax::whole(),
        &[
            case(r"\d\D\w\W\s\S", &["1a_- x"], &["aa_- x", "1a-- x"]),
            case(r"\d", &["7"], &["٣"]),
            case(r"\w", &["_"], &["é"]),
            case(r"\s", &["\u{a0}", "\u{feff}", "\u{2028}", "\u{b}"], &["\u{85}", "\u{1c}"]),
            case(r"\x41\u0042\u{43}\U00000044\x{45}", &["ABCDE"], &[]),
            case(r"\uD83D\uDE00", &["😀"], &["\u{fffd}"]),
            case(r"a|\uD83Db", &["a"], &["b"]),
            case(r"\0\a\e\f\n\r\t\v", &["\0\u{7}\u{1b}\u{c}\n\r\t\u{b}"], &[]),
            case(r"\cA\cz", &["\u{1}\u{1a}"], &[]),
            case(r"\.\*\-\_\ \/\é\<", &[".*-_ /é<"], &[]),
            case(r"\p{Lu}\p{Greek}\pN\P{L}", &["Éλ٣-"], &["éλ٣-", "Éλ٣a"]),
            case(r"\p{Script=Cyrillic}+", &["жук"], &["zhuk"]),
        ],
    );
}

#[test]
fn classes() {
    run(
        Syntax::whole(),
        &[
            case("[abc-e]", &["a", "d"], &["f", "-", ""]),
            case("[^abc]", &["d", "é", "\n"], &["a", ""]),
            case("[]|x", &["x"], &["", "]"]),
            case("[^]", &["\0", "😀", "\n"], &["", "ab"]),
            case("[-a]|[b-]", &["-", "a", "b"], &["c"]),
            case(r"[\w-.]", &["-", ".", "a"], &["/", ","]),
            case(r"[a-\d]", &["a", "-", "5"], &["b"]),
            case("[[:alpha:][:^ascii:]]", &["a", "é"], &["1", "["]),
            case("[[a]", &["[", "a"], &["b"]),
            case("[a&&b~~c]", &["&", "~", "b"], &["d"]),
            case(r"[\b\]\-\\]", &["\u{8}", "]", "-", "\\"], &["b"]),
            case(r"[\u0000-\uFFFF]", &["\u{d7ff}", "\u{e000}"], &["😀"]),
            case(r"[\uD83D\uDE00-\uD83D\uDE02]", &["😁"], &["😃"]),
            case(r"[^\uD800-\uDFFF]", &["a", "😀"], &[""]),
            case(r"[\d\s]", &["1", " "], &["a"]),
            case("[.*+?^$|(){}]", &["^", "$", "{"], &["a"]),
            case("(?v:[a-z&&[^aeiou]]|[0-9--[3-5]]|[ab~~[bc]])", &["b", "c", "7", "a"], &["e", "4"]),
        ],
    );
}

#[test]
fn flags() {
    run(
        Syntax::whole(),
        &[
            case("(?i)straSSe", &["STRASSE", "strasse", "ſtraſſe"], &["straße"]),
            case("a(?i)b|c(?-i)d", &["ab", "aB", "Cd"], &["Ab", "CD"]),
            case("(?i:a)b", &["Ab"], &["AB"]),
            case("(?i)[a-c]|[^x]", &["B", "é"], &["X", "x"]),
            case("(?i)k", &["k", "K", "\u{212a}"], &["q"]),
            case("(?-s)a.b", &["axb"], &["a\nb", "a\u{2028}b"]),
            case("(?-s:.)(?s:.)", &["a\n"], &["\na"]),
            case("(?x) a b # comment\n + [\\ ]", &["abb "], &["a b"]),
            case("(?u)\\d\\w\\s", &["٣é\u{85}"], &["٣é\u{feff}"]),
            case("(?m)^a$\\n^b$", &["a\nb"], &["ab"]),
            case("(?i)\\p{Lu}", &["a", "A"], &["1"]),
        ],
    );
    let case_folded = Syntax::whole().with_flags(Flags::from_letters("i").unwrap());
    run(case_folded, &[case("a.", &["AB"], &["A\n"])]);
}

#[test]
fn anchors_for_whole_strings() {
    run(
        Syntax::whole(),
        &[
            case("^abc$", &["abc"], &["^abc$", ""]),
            case("\\Aabc\\z|\\Ax\\Z", &["abc", "x"], &["abcx"]),
            case("(^a|b)(c|d$)", &["ac", "bd"], &["a"]),
            case("a^b", &[], &["ab", "a^b", ""]),
            case("a$b|c", &["c"], &["ab"]),
            case("(^)*a($)?", &["a"], &["aa"]),
            case("(?:a|^)b", &["ab", "b"], &["bb"]),
            case("(?m)(?:^a$\\n?)+", &["a", "a\na", "a\na\n"], &["aa", "\na"]),
            case("(?m)a$.^b", &["a\nb", "a\rb"], &["axb", "ab"]),
        ],
    );
}

#[test]
fn search() {
    run(
        Syntax::search(),
        &[
            case("b", &["b", "abc", "éb\n"], &["", "ac"]),
            case("^b", &["b", "bc"], &["ab"]),
            case("b$", &["b", "ab"], &["ba", "b\n"]),
            case("^b$", &["b"], &["ab", "ba"]),
            case("^a|b$|^c$|d", &["ax", "xb", "c", "xdx"], &["xa", "bx", "cc", ""]),
            case("(^a|^b)c", &["ac", "bcx"], &["xac"]),
            case("(^|x)a", &["ab", "bxa"], &["ba"]),
            case("", &["", "a"], &[]),
            case("^(?!.*secret)", &["", "safe"], &["a secret"]),
            case("\\bcat\\b", &["cat", "a cat!", "cat cat"], &["cats", "concat"]),
            case("a.c", &["abc"], &["a\nc"]),
        ],
    );
}

#[test]
fn lookaround() {
    run(
        Syntax::whole(),
        &[
            case("a(?=b)b", &["ab"], &["a", "aab"]),
            case("(?=.*\\d)(?=.*[a-z]).{3,5}", &["a1x", "1bcde"], &["abc", "123", "a1", "a1bcde"]),
            case("(?!ab)[abc]{2}", &["aa", "ba", "cc"], &["ab", "abc"]),
            case("(?:(?!end).)*end", &["end", "xxend", "enend"], &["endend", "en"]),
            case("[a-z-]+(?<!-)", &["a", "a-b"], &["a-", "-"]),
            case("(?<=a)b", &[], &["b", "ab"]),
            case("[ab]+(?<=ab)c", &["abc", "bbabc"], &["bc", "bac"]),
            case("a(?=b(?!c)).*", &["ab", "abd"], &["abc", "ac"]),
            case("x(?=a(?<=xa)).*", &["xa", "xab"], &["xb"]),
            case("x+(?=(?<=xx)a)a", &["xxa", "xxxa"], &["xa"]),
            case("(?=(?!a)).*", &["", "b"], &["a"]),
            case("(?=a|b$).*", &["ax", "b"], &["bx"]),
            case("(?!)|a", &["a"], &[""]),
            case("(?=)a", &["a"], &[""]),
            case("\\w+\\b.\\b\\w+", &["ab-cd"], &["abcd", "-ab"]),
            case("a\\Bb", &["ab"], &["a b"]),
            case("a\\b(?u:é)", &["aé"], &[]),
            case("(?u)a\\bé", &[], &["aé"]),
            case("(?<=^a)b|a(?=b$)b", &["ab"], &["b"]),
            case("(?<!\\w)é(?!é)", &["é"], &["éé"]),
            case("(?i)a(?=B)b", &["AB", "ab"], &["a"]),
            case("(?<=a\\b)-|a(?<=a\\b)-", &["a-"], &["-"]),
            case("(?:(?<=a)b|(?<!a)a)*", &["ab", "aba", ""], &["b", "aa", "bb"]),
        ],
    );
}

#[test]
fn agrees_with_the_regex_crate() {
    let patterns = [
        "a*(b|c)+",
        "(a|ab)(c|bcd)(d*)",
        "[a-c]{2,3}|d?",
        "x*",
        "(?:a|b)*abb",
        "(a+)+$",
        r"\Ba|a\B",
        r"\b\w+\b",
        "(?i)[A-B]c",
        "[^a-b]+",
        "(?s).*a.*",
        "a{0}b{1,}",
        "(a?){3}",
        "^a|b$",
        "(^|b)a(c|$)",
        r"(?:\b[ab]+\b ?)+",
    ];
    let mut texts = vec![String::new()];
    for at in 0..800 {
        let text: String = texts[at].clone();
        texts.extend(["a", "b", "c", "d", " "].map(|letter| format!("{text}{letter}")));
    }
    for pattern in patterns {
        let theirs = regex::Regex::new(&format!("\\A(?:{pattern})\\z")).unwrap();
        let ours = automaton(pattern, Syntax::whole());
        let found = regex::Regex::new(pattern).unwrap();
        let searched = automaton(pattern, Syntax::search());
        for text in &texts {
            assert_eq!(ours.matches(text.as_bytes()), theirs.is_match(text), "{pattern} on {text:?}");
            assert_eq!(
                searched.matches(text.as_bytes()),
                found.is_match(text),
                "search {pattern} in {text:?}"
            );
        }
    }
}

#[test]
fn plain_patterns_stay_expressions() {
    let ecma = Syntax::search();
    for pattern in ["^[a-z]+$", "a|b", "^a|b$", "(^a$)|(^b$)", "^(?:a|b)$", "(?m)^a", "^$|^ab$"] {
        assert_eq!(macro_of(pattern, Syntax::whole()), None, "{pattern}");
        assert!(pattern == "(?m)^a" || macro_of(pattern, ecma).is_none(), "{pattern}");
    }
}

#[test]
fn macros_read_back_to_the_same_automaton() {
    for (pattern, letters) in [
        ("a(?=b)b\"\\\\", "s"),
        ("\\bcat\\b", ""),
        ("(?x) a (?!b) # tail", "s"),
        ("a(?!b) # tail", "xm"),
        ("^a|(?<=b)c", "i"),
        ("(?x: a # b\n)(?!c)", ""),
    ] {
        for syntax in [Syntax::whole(), Syntax::search()] {
            let syntax = syntax.with_flags(Flags::from_letters(letters).unwrap());
            let Some(text) = macro_of(pattern, syntax) else {
                assert_eq!(syntax.anchoring, Anchoring::Whole, "{pattern} needs an automaton");
                continue;
            };
            let (inner, flags) = read_macro(&text);
            let again = automaton(&inner, Syntax::whole().with_flags(Flags::from_letters(&flags).unwrap()));
            assert_eq!(again, automaton(pattern, syntax), "{text}");
        }
    }
}

/// The pattern and the flags of a macro.
fn read_macro(text: &str) -> (String, String) {
    let body = text.strip_prefix("Regex(\"").and_then(|rest| rest.strip_suffix(")")).unwrap();
    let (quoted, flags) = match body.split_once("\", flags=\"") {
        Some((quoted, flags)) => (quoted, flags.strip_suffix('"').unwrap()),
        None => (body.strip_suffix('"').unwrap(), "s"),
    };
    let mut inner = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        let c = if c == '\\' {
            chars.next().unwrap()
        } else {
            inner.push(c);
            continue;
        };
        inner.push(if c == 'n' { '\n' } else { c });
    }
    (inner, flags.to_owned())
}
