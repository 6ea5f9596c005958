//! A table of what is refused, and in which words.

use super::read;
use crate::error::Place;

/// The source, and the error as `line:column message`, then its help.
const TABLE: &[(&str, &str)] = &[
    (
        "",
        "1:1 there is no rule `root` to start from (name the rule to start from, or call one of the rules so)",
    ),
    (
        "# nothing",
        "1:1 there is no rule `root` to start from (name the rule to start from, or call one of the rules so)",
    ),
    (
        "a ::= \"b\"",
        "1:1 there is no rule `root` to start from (name the rule to start from, or call one of the rules so)",
    ),
    ("start ::= \"b\"\nroots ::= \"c\"", "1:1 there is no rule `root` to start from (did you mean `roots`?)"),
    ("root ::= numbr\nnumber ::= [0-9]", "1:10 the rule `numbr` is not defined (did you mean `number`?)"),
    ("root ::= xyz", "1:10 the rule `xyz` is not defined"),
    (
        "root ::= a.\na ::= \"x\"",
        "1:10 the rule `a.` is not defined (put a blank between `a` and `.`, which may be part of a name)",
    ),
    ("root ::= \"a\"\nroot ::= \"b\"", "2:1 the rule `root` is defined twice"),
    ("Regex ::= \"a\"\nroot ::= \"b\"", "1:1 `Regex` is a macro and cannot be the name of a rule"),
    ("true ::= \"a\"", "1:1 `true` cannot be the name of a rule"),
    ("... ::= \"a\"", "1:1 `...` cannot be the name of a rule"),
    (
        "root ::= \"a\" b ::= \"c\"",
        "1:16 `::=` must follow the name of a rule, which must be the first on its line",
    ),
    ("root : \"a\"", "1:6 unexpected character ':' (a rule is written `name ::= ...`)"),
    ("root = \"a\"", "1:1 expected a rule, `name ::= ...`, but found `root`"),
    ("root ::= 'a'", "1:10 unexpected character '\\'' (strings stand in double quotes)"),
    ("root ::= \"a\" ; \"b\"", "1:14 unexpected character ';'"),
    (
        "root ::= \"a\" // x",
        "1:14 unexpected character '/' (a comment begins with `#`; a regex is written `Regex(\"...\")`)",
    ),
    (
        "root ::= !\"a\"",
        "1:10 unexpected character '!' (`!` stands before a token only, `!<text>`; the complement is `~`)",
    ),
    (
        "root ::=",
        "1:9 expected an element but found the end of the text (the empty string is written `\"\"`)",
    ),
    (
        "root ::= \"a\" & | \"b\"",
        "1:16 expected an element but found `|` (the empty string is written `\"\"`)",
    ),
    ("root ::= \"a\" ~", "1:15 expected something to complement after `~` but found the end of the text"),
    ("root ::= ~ | \"a\"", "1:12 expected something to complement after `~` but found `|`"),
    ("root ::= (\"a\"", "1:10 this `(` is never closed"),
    ("root ::= \"a\")", "1:13 no `(` is open here"),
    (
        "root ::= \"a",
        "1:10 this string is never closed on its line (close it with `\"`; a line break inside is written `\\n`)",
    ),
    (
        "root ::= \"a\nb\"",
        "1:10 this string is never closed on its line (close it with `\"`; a line break inside is written `\\n`)",
    ),
    ("root ::= \"\\q\"", "1:11 `\\q` is not an escape (a backslash itself is written `\\\\`)"),
    ("root ::= \"\\x\"", "1:11 this escape needs a hexadecimal digit"),
    ("root ::= \"\\u12\"", "1:11 this escape needs 4 hexadecimal digits"),
    ("root ::= \"\\ud800\"", "1:11 half of a surrogate pair is not a character"),
    ("root ::= \"\\U00110000\"", "1:11 this escape is beyond the last code point, U+10FFFF"),
    ("root ::= \"\\", "1:11 the text ends inside an escape"),
    ("root ::= [a", "1:10 this character class is never closed"),
    (
        "root ::= [a\n]",
        "1:12 a character class cannot hold a line break (write `\\n`, or close the class with `]`)",
    ),
    ("root ::= [z-a]", "1:11 this range is reversed: its first character comes after its last"),
    (
        "root ::= [\\d]",
        "1:11 `\\d` is not an escape (write the ranges, such as `0-9`, or use `Regex(\"...\")`)",
    ),
    ("root ::= []a]", "1:13 unexpected character ']'"),
    ("root ::= [\\=]", "1:11 `\\=` is not an escape"),
    (
        "root ::= \"a\"+*",
        "1:14 a quantifier cannot follow another one (put parentheses around what is to be repeated)",
    ),
    (
        "root ::= \"a\"{2}{3}",
        "1:16 a quantifier cannot follow another one (put parentheses around what is to be repeated)",
    ),
    ("root ::= *", "1:10 expected an element but found `*`"),
    ("root ::= \"a\"{,3}", "1:14 expected the least count but found `,`"),
    ("root ::= \"a\"{}", "1:14 expected the least count but found `}`"),
    ("root ::= \"a\"{3,2}", "1:14 the least count, 3, is greater than the greatest"),
    ("root ::= \"a\"{-1}", "1:14 expected the least count but found `-1`"),
    ("root ::= \"a\"{2, -2}", "1:17 expected the greatest count but found `-2`"),
    ("root ::= \"a\"{2 3}", "1:16 expected `}` but found `3`"),
    ("root ::= \"a\"{9999999999999999}", "1:14 this number is too large"),
    ("root ::= \"a\"{5000000000}", "1:14 a count of 5000000000 is beyond the greatest one, 4294967295"),
    ("root ::= 12", "1:10 expected an element but found `12`"),
    ("root ::= true", "1:10 expected an element but found `true`"),
    ("root ::= \"a\" = \"b\"", "1:14 expected an element but found `=`"),
    ("root ::= \"a\" (= \"b\" | \"c\")", "1:21 a lookahead cannot hold alternatives"),
    ("root ::= \"a\" (= \"\")", "1:17 a lookahead cannot hold the empty string"),
    ("root ::= \"a\" (= Regex(\"a\"))", "1:17 a lookahead cannot hold `Regex`"),
    ("root ::= \"a\" (= )", "1:17 expected an element but found `)`"),
    (
        "root ::= (= \"a\")",
        "1:10 expected an element but found `(=` (a lookahead `(= ...)` can only stand at the very end of a rule)",
    ),
    (
        "root ::= \"a\" (= \"b\") \"c\"",
        "1:22 expected the next rule but found a string (a lookahead `(= ...)` can only stand at the very end of a rule)",
    ),
    (
        "root ::= (\"a\" (= \"b\"))",
        "1:15 expected `)` but found `(=` (a lookahead `(= ...)` can only stand at the very end of a rule)",
    ),
    ("root ::= \"a\" (= ~\"b\")", "1:18 a lookahead cannot hold `~`"),
    (
        "root ::= \"a\" (= \"b\"",
        "1:20 expected `)` at the end of the lookahead but found the end of the text",
    ),
    ("root[max_token=1] ::= \"a\"", "1:6 there is no rule option `max_token` (did you mean `max_tokens`?)"),
    (
        "root[wide] ::= \"a\"",
        "1:6 there is no rule option `wide` (the options are max_tokens, max_chars, capture, capture_hidden_suffix_bytes, capture_hidden_stop_bytes, stop_capture, lazy, temperature, distinct_items)",
    ),
    ("root[max_tokens] ::= \"a\"", "1:6 the option `max_tokens` takes a number: `max_tokens=N`"),
    ("root[max_tokens=-1] ::= \"a\"", "1:17 expected a number without a sign"),
    ("root[max_chars=3000000000] ::= \"a\"", "1:16 the greatest value here is 2147483647"),
    ("root[lazy=true] ::= \"a\"", "1:6 the option `lazy` takes no value"),
    ("root[capture=x] ::= \"a\"", "1:14 the name of a capture stands in double quotes"),
    ("root[capture=\"\"] ::= \"a\"", "1:14 the name of a capture is empty"),
    ("root[temperature=-1] ::= \"a\"", "1:18 a temperature is a finite number that is not negative"),
    ("root[temperature=1e999] ::= \"a\"", "1:18 a temperature is a finite number that is not negative"),
    ("root[lazy, lazy] ::= \"a\"", "1:12 the option `lazy` is given twice"),
    (
        "root[lazy,] ::= \"a\"",
        "1:11 expected the name of a rule option (the options are max_tokens, max_chars, capture, capture_hidden_suffix_bytes, capture_hidden_stop_bytes, stop_capture, lazy, temperature, distinct_items)",
    ),
    (
        "root[] ::= \"a\"",
        "1:6 expected the name of a rule option (the options are max_tokens, max_chars, capture, capture_hidden_suffix_bytes, capture_hidden_stop_bytes, stop_capture, lazy, temperature, distinct_items)",
    ),
    ("root[lazy capture] ::= \"a\"", "1:11 expected `,` or `]`"),
    ("root[stop_capture=\"x\"] ::= \"a\"", "1:5 `stop_capture` needs `capture_hidden_stop_bytes=N`"),
    (
        "root[capture_hidden_stop_bytes=1, capture_hidden_suffix_bytes=2] ::= \"a\"",
        "1:35 a capture has one hidden end",
    ),
    (
        "root[capture_hidden_body_rule_id=2] ::= \"a\"",
        "1:6 the rule option `capture_hidden_body_rule_id` is not supported",
    ),
    ("root ::= Regex", "1:15 expected `(` after the macro `Regex` but found the end of the text"),
    ("root ::= Regex()", "1:10 `Regex` takes exactly one pattern"),
    ("root ::= Regex(\"a\", \"b\")", "1:10 `Regex` takes exactly one pattern"),
    (
        "root ::= Regex(\"a\", foo=1)",
        "1:21 `Regex` has no argument named `foo` (its named arguments are json_string, flags)",
    ),
    (
        "root ::= Regex(\"a\", flag=\"i\")",
        "1:21 `Regex` has no argument named `flag` (did you mean `flags`?)",
    ),
    (
        "root ::= Regex(\"a\", flags=\"z\")",
        "1:27 unknown regex flag 'z' (the flags are i, s, m, x, u, v and n)",
    ),
    ("root ::= Regex(\"(\")", "1:10 in the pattern, column 1: this group is never closed"),
    ("root ::= Regex(\"a\", json_string=1)", "1:33 `json_string` is `true` or `false`"),
    ("root ::= Regex(3)", "1:16 a pattern must be a string"),
    ("root ::= Substring(1)", "1:20 a chunk must be a string"),
    ("root ::= Substring(\"a\", x=\"b\")", "1:25 `Substring` has no argument named `x`"),
    ("root ::= Substring(\"a\" \"b\")", "1:24 expected `,` or `)` but found a string"),
    ("root ::= TagDispatch((\"\", root))", "1:23 a tag is empty"),
    ("root ::= TagDispatch((\"a\", \"root\"))", "1:28 the second part of a tag is the name of a rule"),
    ("root ::= TagDispatch((\"a\", nope))", "1:28 the rule `nope` is not defined"),
    (
        "root ::= TagDispatch((\"a\", root),)",
        "1:34 expected a string, a number, `true`, `false`, a name or a tuple but found `)`",
    ),
    ("root ::= TagDispatch(\"a\")", "1:22 a tag is a pair: what to look for, and the rule that follows it"),
    (
        "root ::= TagDispatch((\"a\",))",
        "1:22 a tag is a pair: what to look for, and the rule that follows it",
    ),
    ("root ::= TagDispatch((1, root))", "1:23 a tag must be a string"),
    (
        "root ::= TagDispatch((\"a\", root), excludes=\"b\")",
        "1:44 `excludes` is a tuple, such as `(\"a\", \"b\")`",
    ),
    ("root ::= TagDispatch((\"a\", root), excludes=(\"\",))", "1:45 an excluded string is empty"),
    (
        "root ::= TagDispatch((\"abc\", root), excludes=(\"ab\",))",
        "1:23 the excluded string \"ab\" is a prefix of the tag \"abc\", which could never be written",
    ),
    (
        "root ::= TagDispatch((\"q\", root), (\"xab\", root), excludes=(\"z\", \"ab\"))",
        "1:36 the excluded string \"ab\" lies in the tag \"xab\", which could never be written",
    ),
    (
        "root ::= TagDispatch((\"a\", root), stop_eos=true)",
        "1:35 `TagDispatch` has no argument named `stop_eos` (its named arguments are loop_after_dispatch, excludes, before, markers)",
    ),
    (
        "root ::= TagDispatch((\"a\", root), loop_after_dispatch=1)",
        "1:55 `loop_after_dispatch` is `true` or `false`",
    ),
    (
        "root ::= TagDispatch((\"a\", root), excludes=(), excludes=())",
        "1:48 the argument `excludes` is given twice",
    ),
    ("root ::= Token()", "1:10 `Token` needs at least one token"),
    ("root ::= Token(-1)", "1:16 a token is a number from 0 to 4294967295, or its text in quotes"),
    (
        "root ::= Token(1,)",
        "1:18 expected a string, a number, `true`, `false`, a name or a tuple but found `)`",
    ),
    ("root ::= Token(99999999999)", "1:16 a token is a number from 0 to 4294967295, or its text in quotes"),
    ("root ::= Token((1, 2))", "1:16 a token is a number from 0 to 4294967295, or its text in quotes"),
    ("root ::= ExcludeToken()", "1:10 `ExcludeToken` needs at least one token"),
    ("root ::= TokenTagDispatch((1, root), excludes=(1,))", "1:28 the token 1 is both a tag and excluded"),
    (
        "root ::= TokenTagDispatch((\"a\", root))",
        "1:28 the token `a` can be found by its text only with a tokenizer (pass `tokenizer_info`, pass the grammar as text to a compiler, which has one, or write the id: `Token(123)`)",
    ),
    ("root ::= FreeText(\"\")", "1:10 every text holds the empty string"),
    ("root ::= Bytes(\"\\u0100\")", "1:10 in `Bytes` no code point stands for a byte beyond U+00FF"),
    ("root ::= AnyToken(1)", "1:19 `AnyToken` takes no arguments"),
    (
        "root ::= <think>",
        "1:10 the token `<think>` can be found by its text only with a tokenizer (pass `tokenizer_info`, pass the grammar as text to a compiler, which has one, or write the id: `Token(123)`)",
    ),
    ("root ::= <>", "1:10 expected the text of a token between `<` and `>`"),
    ("root ::= <[a]>", "1:10 between `<[` and `]>` stand token ids, such as `<[12, 13]>`"),
    ("root ::= <[1>", "1:10 between `<[` and `]>` stand token ids, such as `<[12, 13]>`"),
    ("root ::= <x\n>", "1:10 expected the text of a token between `<` and `>`"),
];

fn show(source: &str) -> String {
    let error = read(source).expect_err(source);
    let Place::Text { line, column, .. } = error.place() else { panic!("{error} has no place") };
    let help = error.help().map(|help| format!(" ({help})")).unwrap_or_default();
    format!("{line}:{column} {}{help}", error.message())
}

#[test]
fn errors_read_as_in_the_table() {
    let differ = |(source, expected): &&(&str, &str)| show(source) != *expected;
    let wrong: Vec<String> =
        TABLE.iter().filter(differ).map(|(source, _)| format!("{source:?}: {}", show(source))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_error_shows_its_place() {
    let error = read("root ::= \"é\" numbr\nnumber ::= [0-9]").unwrap_err();
    let expected = "line 1, column 14: the rule `numbr` is not defined\n  root ::= \"é\" numbr\n               ^\nhelp: did you mean `number`?";
    assert_eq!(error.to_string(), expected);
}
