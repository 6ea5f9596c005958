//! The order of keys where schemas are combined.
//!
//! Each schema that has an order lists the keys that it names; these come in that order, and all others after them. What all
//! schemas have in common keeps all of the orders. That is one order of the names if the lists do not contradict each
//! other, and tell any two of the names apart; otherwise a list of members cannot say it.

use std::rc::Rc;

use super::super::values::formula::FormulaId;
use super::super::values::keys::{NameSet, Region};
use super::super::values::objects::ObjectShape;
use super::Emitter;
use super::objects::names;
use crate::error::{Error, Result};
use crate::ir::members::Order;

impl Emitter<'_> {
    /// The order of the keys of a shape, and its names in that order.
    pub(super) fn order(&mut self, shape: &ObjectShape, regions: &[Region]) -> Result<(Order, NameSet)> {
        let names = names(shape);
        if self.expander.operands.is_empty() {
            let order = if self.expander.options.any_order { Order::Any } else { Order::Declared };
            return Ok((order, names));
        }
        let (mut written, mut unwritten) = (Vec::new(), Vec::new());
        for name in names {
            let is_written = shape.value_of(&name, &mut self.expander.algebra)? != FormulaId::NEVER;
            if is_written { &mut written } else { &mut unwritten }.push(name);
        }
        let rank = |list: &NameSet, name: &Rc<str>| list.get_index_of(name).unwrap_or(usize::MAX);
        let orders: Vec<&NameSet> = shape.orders.iter().map(|order| &**order).collect();
        let says = |list: &&&NameSet| written.iter().any(|name| list.contains(name));
        let orders: Vec<&NameSet> = orders.iter().filter(says).copied().collect();
        if orders.is_empty() {
            return Ok((Order::Any, written.into_iter().chain(unwritten).collect()));
        }
        written.sort_by_cached_key(|name| orders.iter().map(|list| rank(list, name)).collect::<Vec<_>>());
        for pair in written.windows(2) {
            let [first, second] = pair else { continue };
            let steps = orders.iter().map(|list| rank(list, first).cmp(&rank(list, second)));
            if steps.clone().any(std::cmp::Ordering::is_gt) {
                let both = shape.required.contains(first) && shape.required.contains(second);
                return Err(contradiction(first, second, both));
            }
            if steps.clone().all(std::cmp::Ordering::is_eq) {
                return Err(undecided(&format!("{first:?} and {second:?}")));
            }
        }
        let has_others = regions.iter().any(|region| {
            let families = shape.families.iter().filter(|(keys, _)| keys.has_region(region));
            let said: Vec<FormulaId> = families.map(|(_, family)| *family).collect();
            self.expander.algebra.formulas.and_all(said) != FormulaId::NEVER
        });
        let is_listed = |name: &Rc<str>| orders.iter().any(|list| list.contains(name));
        if let Some(name) = written.iter().find(|name| has_others && !is_listed(name)) {
            return Err(undecided(&format!("{name:?} and of keys without names")));
        }
        Ok((Order::Declared, written.into_iter().chain(unwritten).collect()))
    }
}

fn contradiction(first: &str, second: &str, is_empty: bool) -> Error {
    let orders = format!("the schemas put the keys {first:?} and {second:?} in different orders");
    let message = if is_empty {
        format!("{orders}, and both are required, so no object is written in all of them")
    } else {
        format!(
            "{orders}, so the objects that are written in all of them have one of the two at most, which cannot be said"
        )
    };
    Error::unsupported(message).with_help("declare the keys in one order, or let them come in any order in all but one of the schemas (`any_order=True`)")
}

fn undecided(keys: &str) -> Error {
    let message = format!("the schemas together leave the order of {keys} open, but not that of other keys");
    Error::unsupported(message)
        .with_help("let keys come in any order in all of the schemas (`any_order=True`), or in none")
}
