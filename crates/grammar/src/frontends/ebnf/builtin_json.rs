//! The built-in grammar of JSON texts.
//!
//! The root is an object or an array, with nothing before and after it; whitespace is free between tokens. Strings
//! are as in RFC 8259, which lets half of a surrogate pair stand as an escape. The body of a string is one loop over
//! one class and the escapes, so it is a single terminal to the engine.

use crate::frontends::json_schema::Spelling;
use crate::frontends::json_schema::values::numbers;
use crate::ir::Grammar;
use crate::limits::Budget;

const STRUCTURE: &str = r#"
root   ::= object | array
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" blank ("}" | member (blank "," blank member)* blank "}")
array  ::= "[" blank ("]" | value (blank "," blank value)* blank "]")
"#;

const ANY: &str = r#"
member ::= string blank ":" blank value
string ::= "\"" character* "\""
character ::= [^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9A-Fa-f]{4})
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [+\-]? [0-9]+)?
blank  ::= [ \n\r\t]*
"#;

/// The same in canonical spelling, without its numbers, which are those of schemas. The blank is that of their layout.
const CANONICAL: &str = r#"
member ::= key blank ":" blank value
key    ::= "\"" JsonText([^]*, "least") "\""
string ::= "\"" JsonText([^]*, "canonical") "\""
blank  ::= (" " | "\n" (" "{1,128} | "\t"{1,16})?)?
"#;

/// The grammar of JSON texts whose root is an object or an array.
pub fn builtin_json(spelling: Spelling) -> Grammar {
    let budget = Budget::default();
    let source = match spelling {
        Spelling::Canonical => numbers::canonical_rule("number", &budget)
            .map(|numbers| format!("{STRUCTURE}{CANONICAL}{numbers}")),
        Spelling::Any => Ok(format!("{STRUCTURE}{ANY}")),
    };
    source
        .and_then(|source| super::parse(&source, "root", budget.limits(), &budget))
        .expect("the built-in grammar is well formed")
}
