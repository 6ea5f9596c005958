//! From the intermediate form to the machine: [`compile`] is the ordered list of passes.
//!
//! What most JSON Schemas become needs none of this, and takes a shorter way: see `outline`.
//!
//! A pass that has nothing to do says so, and the grammar is not copied. Each has a second form that takes the grammar and
//! gives it back. A rule whose machine was made before is stepped over, see [`Ready`].
//!
//! | pass | what it does |
//! |---|---|
//! | [`markers`] | what special tokens may stand for becomes them, or text |
//! | [`options`] | rule options that are part of the language become expressions |
//! | [`dispatch`] | tag dispatch becomes free text, tags and calls |
//! | [`trim`] | what can match nothing and what nobody calls goes away |
//! | [`linear`] | rules that recurse only at one end become loops |
//! | [`intersect`] | conjunctions of a context-free language with regular ones become rules |
//! | [`json_text`] | what is spelled in JSON must be regular |
//! | [`inline`] | regular rules and rules called once are put in their callers' place |
//! | [`booleans`] | conjunctions and complements become automata |
//! | [`trim`] | again after that, because a conjunction may turn out to be empty |
//! | [`regular_rules`] | recursive rules that match a regular language become automata |
//! | [`inline`] | again if there were any, because what calls them may be regular too |
//! | [`build`] | expressions become automata of terminals, calls and tokens |
//! | [`left_recursion`] | calls in first position that come back become loops |
//! | [`finish`] | nodes that nobody reaches go away, rules are ranked |

pub mod analysis;
pub mod booleans;
pub mod build;
mod build_lists;
mod closing;
pub mod dispatch;
mod edge_bytes;
pub mod finish;
pub mod graph;
pub mod inline;
pub mod intersect;
pub mod json_text;
mod key_languages;
pub mod left_recursion;
pub mod linear;
pub mod lists;
pub mod markers;
mod marks;
pub mod options;
pub(crate) mod outline;
mod ready;
pub mod regular_rules;
mod rewrite;
mod shape;
mod spelled;
mod stars;
pub mod trim;

use std::borrow::Cow;

use crate::error::Result;
use crate::ir::Grammar;
use crate::limits::Budget;
use crate::machine::Machine;

pub(crate) use closing::without_marker;
pub use ready::Ready;
pub use spelled::Special;

/// `grammar` after one of the passes that give a grammar which can be printed; none if there is no such pass. For people
/// who want to see what a pass does.
pub fn apply(grammar: Grammar, pass: &str, budget: &Budget) -> Option<Result<Grammar>> {
    match pass {
        "markers" => Some(markers::lower(grammar, &Special::none(), budget)),
        "options" => Some(options::lower(grammar, budget)),
        "dispatch" => Some(dispatch::lower(grammar, budget)),
        "trim" => Some(trim::trim(grammar, budget)),
        "linear" => Some(linear::unroll(grammar, budget)),
        "inline" => Some(inline::inline(grammar, budget)),
        _ => None,
    }
}

/// The machine of `grammar` where there are no special tokens.
pub fn compile(grammar: &Grammar, budget: &Budget) -> Result<Machine> {
    compile_for(grammar, &Special::none(), budget)
}

/// The machine of `grammar` for a vocabulary with these special tokens.
pub fn compile_for(grammar: &Grammar, special: &Special, budget: &Budget) -> Result<Machine> {
    let mut current = Cow::Borrowed(grammar);
    let mut change = |pass: &dyn Fn(&Grammar) -> Result<Option<Grammar>>| -> Result<()> {
        if let Some(changed) = pass(&current)? {
            current = Cow::Owned(changed);
        }
        Ok(())
    };
    change(&|grammar| markers::lowered(grammar, special, budget))?;
    change(&|grammar| options::lowered(grammar, budget))?;
    change(&|grammar| dispatch::lowered(grammar, budget))?;
    change(&|grammar| trim::trimmed(grammar, budget))?;
    change(&|grammar| linear::unrolled(grammar, budget))?;
    change(&|grammar| intersect::lowered(grammar, budget))?;
    change(&|grammar| json_text::check(grammar, budget).map(|()| None))?;
    change(&|grammar| inline::inlined(grammar, budget))?;
    change(&|grammar| booleans::determinized(grammar, budget))?;
    change(&|grammar| {
        let Some(changed) = regular_rules::replaced(grammar, budget)? else { return Ok(None) };
        inline::inlined(&changed, budget).map(|inlined| Some(inlined.unwrap_or(changed)))
    })?;
    let draft = build::build(&current, budget)?;
    let draft = left_recursion::eliminate(draft, budget)?;
    finish::finish(draft, budget)
}
