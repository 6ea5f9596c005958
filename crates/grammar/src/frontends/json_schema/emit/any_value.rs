//! The arrays and objects of any kind, whose machine is made once for all schemas.
//!
//! It depends on few of the options, and only such are looked at here as callers commonly have: free white space, JSON, and
//! no strings that are excluded. In strict mode there are only empty ones, which are better written where they stand. The
//! machine is that of the schema `true`.

use std::sync::{Arc, OnceLock};

use super::super::documents::Document;
use super::super::{Options, Patterns, Spelling, Style, convert};
use crate::ir::RuleId;
use crate::limits::Budget;
use crate::passes::Ready;

/// The rule of all arrays and objects in the grammar of the schema `true`, after the root.
const CONTAINERS: RuleId = RuleId(1);

/// The machine of all arrays and objects, if the options are common ones.
pub(super) fn containers(options: &Options) -> Option<Arc<Ready>> {
    static KNOWN: [OnceLock<Option<Arc<Ready>>>; 4] = [const { OnceLock::new() }; 4];
    let is_common = !options.strict_mode
        && options.any_whitespace
        && options.max_whitespace.is_none()
        && options.style == Style::Json
        && options.excludes.is_empty()
        && options.patterns == Patterns::default();
    let known = &KNOWN[2 * options.spelling as usize + usize::from(options.any_order)];
    let make = || make(options.spelling, options.any_order);
    if is_common { known.get_or_init(make).clone() } else { None }
}

fn make(spelling: Spelling, any_order: bool) -> Option<Arc<Ready>> {
    let options = Options { strict_mode: false, any_order, spelling, ..Options::default() };
    let budget = Budget::default();
    let document = Document::parse("true", &budget).ok()?;
    let grammar = convert(&document, &options, &budget).ok()?.grammar;
    if grammar.rules().len() == 2 { Ready::new(&grammar, CONTAINERS, &budget).ok()? } else { None }
}
