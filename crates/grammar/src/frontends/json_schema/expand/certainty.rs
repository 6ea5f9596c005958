//! Whether a formula and its complement divide all values between them, exactly.
//!
//! Mostly they do. But some sets are narrower than what they mean, and then there are values in neither of both: strings of a
//! format that is not known to the last character, numbers that are not written in every spelling. Some have no complement that
//! could be written: arrays without repeats, what was left out on request. And in strict mode, or where keys have an order, it
//! matters which schemas a value was held against, because that closes objects, and names keys.

use rustc_hash::FxHashSet;

use super::super::values::ValueSet;
use super::super::values::formula::{Formula, FormulaId};
use super::Expander;

/// So many formulas are looked into; what has more in it is not known to be certain.
const MAX_FORMULAS: usize = 200;

impl Expander<'_> {
    /// Whether every value is surely in a formula or in its complement, and both can be written.
    pub fn is_certain(&mut self, id: FormulaId) -> bool {
        if self.options.strict_mode || !self.options.any_order {
            return false;
        }
        let mut seen = FxHashSet::default();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            if seen.len() > MAX_FORMULAS {
                return false;
            }
            match self.algebra.formulas.get(id) {
                Formula::Any | Formula::Never => {}
                Formula::And(items) | Formula::Or(items) => open.extend_from_slice(items),
                Formula::Not(item) => open.push(*item),
                Formula::Schema(_) | Formula::Constant(_) | Formula::Operand(..) => match self.expand(id) {
                    Ok(set) if !self.is_loose(id) && is_certain_set(&set, &mut open) => {}
                    _ => return false,
                },
            }
        }
        true
    }
}

/// The same of one set, but for the formulas in it, which are added to `open`.
fn is_certain_set(set: &ValueSet, open: &mut Vec<FormulaId>) -> bool {
    for shape in &set.arrays {
        open.extend_from_slice(&shape.prefix);
        open.push(shape.rest);
        open.extend(shape.contains.iter().map(|count| count.value));
    }
    for shape in &set.objects {
        open.extend(shape.named.values());
        open.extend(shape.families.iter().map(|(_, value)| *value));
        open.extend(shape.witnesses.iter().flat_map(|witness| &witness.0).map(|(_, value)| *value));
    }
    !set.digits_only
        && (set.numbers.is_empty() || set.numbers.is_all())
        && !set.texts.is_narrowed()
        && !set.arrays.iter().any(|shape| shape.unique || shape.repeats)
        && set.objects.iter().all(|shape| shape.narrowed_keys.is_empty())
}
