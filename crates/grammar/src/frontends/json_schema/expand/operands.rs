//! Schemas that are combined: each closed and ordered as it would be alone.
//!
//! A schema alone is closed where its values are written, and its keys come in the order in which it names them. Where the
//! values of several are conjoined, each is closed before that, at each level of the value, and the orders of all are kept.
//! So a formula that belongs to one of them is marked with its number ([`Formula::Operand`]), and so are those of the
//! properties and items in it.

use std::rc::Rc;

use super::super::Spelling;
use super::super::emit;
use super::super::keywords;
use super::super::values::formula::{Formula, FormulaId};
use super::super::values::objects::{ObjectShape, Openness, Witness};
use super::super::values::{Algebra, ValueSet};
use super::Expander;
use crate::error::{Error, Result};

/// How one of the schemas that are combined is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Operand {
    /// Whether what it leaves open is closed.
    pub is_strict: bool,
    /// Whether its keys come in their order.
    pub is_ordered: bool,
}

impl Expander<'_> {
    /// What a formula admits in one of the schemas that are combined.
    pub(super) fn operand_set(&mut self, item: FormulaId, number: u32) -> Result<ValueSet> {
        let operand = self.operands[number as usize];
        let mut set = (*self.expand(item)?).clone();
        if operand.is_strict {
            if let Formula::Schema(at) = self.algebra.formulas.get(item)
                && let Some(schema) = self.documents.json(at.schema).as_object()
            {
                keywords::imply_types(schema, &mut set);
            }
            keywords::close(&mut set);
        }
        for shape in &mut set.objects {
            if operand.is_ordered {
                let names = emit::names(shape);
                if !names.is_empty() {
                    shape.orders.push(Rc::new(names));
                }
            }
            mark_object(shape, number, &mut self.algebra);
        }
        for shape in &mut set.arrays {
            let formulas = &mut self.algebra.formulas;
            let items = shape.prefix.iter_mut().chain([&mut shape.rest]);
            let contained = shape.contains.iter_mut().map(|contains| &mut contains.value);
            items.chain(contained).for_each(|item| *item = formulas.operand(*item, number));
            // It is closed already.
            shape.says_rest = true;
        }
        Ok(set)
    }
}

impl Expander<'_> {
    /// Fails where the numbers that schemas have in common are written otherwise than in each of them: whole numbers are
    /// written without a point where all numbers are whole, and those that a schema lists with a point as they are listed.
    pub(super) fn check_numbers(&mut self, items: &[FormulaId], common: &ValueSet) -> Result<()> {
        let is_operand = |id: &FormulaId| matches!(self.algebra.formulas.get(*id), Formula::Operand(..));
        let kept: Vec<FormulaId> = items.iter().copied().filter(is_operand).collect();
        if kept.len() < 2 || self.options.spelling != Spelling::Canonical || common.numbers.is_empty() {
            return Ok(());
        }
        let listed = self.listed_floats.iter().find(|(value, _)| common.numbers.contains(value));
        if let Some((_, written)) = listed {
            let message = format!("the schemas list the number {written} in different ways, or may");
            return Err(Error::unsupported(message).with_help("list whole numbers without a point"));
        }
        let budget = self.algebra.languages.budget;
        if !common.numbers.are_integers(budget)? {
            return Ok(());
        }
        for item in kept {
            if self.expand(item)?.numbers.are_integers(budget)? {
                return Ok(());
            }
        }
        let message = "the numbers that the schemas have in common are all whole, and each of the schemas writes them with a \
            point too";
        Err(Error::unsupported(message).with_help("say `\"type\": \"integer\"` in one of the schemas"))
    }
}

fn mark_object(shape: &mut ObjectShape, number: u32, algebra: &mut Algebra<'_>) {
    let mut mark = |value: &mut FormulaId| *value = algebra.formulas.operand(*value, number);
    Rc::make_mut(&mut shape.named).values_mut().for_each(&mut mark);
    shape.families.iter_mut().for_each(|(_, value)| mark(value));
    for Witness(pairs) in &mut shape.witnesses {
        pairs.iter_mut().for_each(|(_, value)| mark(value));
    }
    // It is closed already, and what was evaluated of it is no matter to the others.
    shape.evaluated.clear();
    shape.openness = Openness { says_others: true, ..Openness::default() };
}
