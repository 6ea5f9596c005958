//! From the intermediate form to the machine: [`compile`] is the ordered list of passes.
//!
//! | pass | what it does |
//! |---|---|
//! | [`options`] | rule options that are part of the language become expressions |
//! | [`dispatch`] | tag dispatch becomes free text, tags and calls |
//! | [`trim`] | what can match nothing and what nobody calls goes away |
//! | [`linear`] | rules that recurse only at one end become loops |
//! | [`intersect`] | conjunctions of a context-free language with regular ones become rules |
//! | [`json_text`] | what is spelled in JSON must be regular |
//! | [`inline`] | regular rules and rules called once are put in their callers' place |
//! | [`booleans`] | conjunctions and complements become automata |
//! | [`trim`] | again after that, because a conjunction may turn out to be empty |
//! | [`build`] | expressions become automata of terminals, calls and tokens |
//! | [`left_recursion`] | calls in first position that come back become loops |
//! | [`finish`] | nodes that nobody reaches go away, rules are ranked |

pub mod analysis;
pub mod booleans;
pub mod build;
mod build_lists;
pub mod dispatch;
mod edge_bytes;
pub mod finish;
pub mod inline;
pub mod intersect;
pub mod json_text;
pub mod left_recursion;
pub mod linear;
pub mod lists;
pub mod options;
mod rewrite;
mod shape;
mod stars;
pub mod trim;

use crate::error::Result;
use crate::ir::Grammar;
use crate::limits::Budget;
use crate::machine::Machine;

pub use edge_bytes::ByteSet;

/// The machine of `grammar`.
pub fn compile(grammar: &Grammar, budget: &Budget) -> Result<Machine> {
    let limits = budget.limits();
    let grammar = options::lower(grammar.clone(), limits, budget)?;
    let grammar = dispatch::lower(grammar, limits, budget)?;
    let grammar = trim::trim(grammar, budget)?;
    let grammar = linear::unroll(grammar, budget)?;
    let grammar = intersect::lower(grammar, budget)?;
    json_text::check(&grammar, budget)?;
    let grammar = inline::inline(&grammar, budget)?;
    let grammar = if booleans::concerns(&grammar) {
        trim::trim(booleans::determinize(grammar, budget)?, budget)?
    } else {
        grammar
    };
    let draft = build::build(&grammar, budget)?;
    let draft = left_recursion::eliminate(draft, budget)?;
    finish::finish(draft, budget)
}
