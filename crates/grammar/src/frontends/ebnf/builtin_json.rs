//! The built-in grammar of JSON texts.
//!
//! The root is an object or an array, with nothing before and after it; whitespace is free between tokens. Strings
//! are as in RFC 8259, which lets half of a surrogate pair stand as an escape. The body of a string is one loop over
//! one class and the escapes, so it is a single terminal to the engine.

use crate::ir::Grammar;
use crate::limits::Budget;

const SOURCE: &str = r#"
root   ::= object | array
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" blank ("}" | member (blank "," blank member)* blank "}")
member ::= string blank ":" blank value
array  ::= "[" blank ("]" | value (blank "," blank value)* blank "]")
string ::= "\"" character* "\""
character ::= [^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9A-Fa-f]{4})
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [+\-]? [0-9]+)?
blank  ::= [ \n\r\t]*
"#;

/// The grammar of JSON texts whose root is an object or an array.
pub fn builtin_json() -> Grammar {
    let budget = Budget::default();
    super::parse(SOURCE, "root", budget.limits(), &budget).expect("the built-in grammar is well formed")
}
