//! URI templates, RFC 6570: literals, and expressions in braces. An apostrophe is a literal by the errata.

use super::texts::Texts;
use crate::error::Result;
use crate::ir::ExprId;

/// Literals of ASCII: no controls, space, `"`, `%`, `<`, `>`, `\`, `^`, `` ` ``, `{`, `|` or `}`.
const ASCII: &str = "!#$&-;=?-\\[\\]_a-z~";
/// The other literals: `ucschar` and `iprivate` of RFC 3987 together.
const OTHERS: &str = "\u{a0}-\u{fdcf}\u{fdf0}-\u{ffef}\
    \u{10000}-\u{1fffd}\u{20000}-\u{2fffd}\u{30000}-\u{3fffd}\u{40000}-\u{4fffd}\u{50000}-\u{5fffd}\
    \u{60000}-\u{6fffd}\u{70000}-\u{7fffd}\u{80000}-\u{8fffd}\u{90000}-\u{9fffd}\u{a0000}-\u{afffd}\
    \u{b0000}-\u{bfffd}\u{c0000}-\u{cfffd}\u{d0000}-\u{dfffd}\u{e1000}-\u{efffd}\u{f0000}-\u{ffffd}\
    \u{100000}-\u{10fffd}";
const ENCODED: &str = "%[0-9A-Fa-f]{2}";

pub(super) fn uri_template(texts: &mut Texts<'_>) -> Result<ExprId> {
    let letter = format!("(?:[A-Za-z0-9_]|{ENCODED})");
    let variable = format!("{letter}(?:\\.?{letter})*(?:\\*|:[1-9][0-9]{{0,3}})?");
    let expression = format!("\\{{[+#./;?&]?{variable}(?:,{variable})*\\}}");
    texts.pattern(&format!("(?:[{ASCII}{OTHERS}]|{ENCODED}|{expression})*"))
}
