//! Grammars that came from JSON Schemas, put together by the values of the schemas.
//!
//! Two grammars that recurse have no conjunction that could be made. But schemas are sets of values, and these are closed
//! under and, or, not. So a grammar knows the schemas that it came from, and `a & b` and `a - b` go back to them.

use std::sync::Arc;

use tokenstile_grammar::frontends::json_schema::{self as front_end, Combination, Options, SchemaText};
use tokenstile_grammar::{Budget, Grammar as Ir, Result};

/// Schemas, and what is made of them.
#[derive(Clone, Debug)]
pub(crate) struct Schemas {
    all: Vec<(Arc<str>, Arc<Options>)>,
    combination: Combination,
}

impl Schemas {
    /// One schema, or several that are closed together.
    pub(crate) fn joint(texts: &[Arc<str>], options: &Arc<Options>) -> Self {
        Schemas {
            all: texts.iter().map(|text| (Arc::clone(text), Arc::clone(options))).collect(),
            combination: Combination::Schemas((0..texts.len() as u32).collect()),
        }
    }

    /// What all of these have in common.
    pub(crate) fn intersect(parts: &[Self]) -> Self {
        let mut all = Vec::new();
        let combinations = parts.iter().map(|part| part.moved_into(&mut all)).collect();
        Schemas { all, combination: Combination::All(combinations) }
    }

    /// What is in one and not in the other.
    pub(crate) fn exclude(&self, excluded: &Self) -> Self {
        let mut all = Vec::new();
        let kept = Box::new(self.moved_into(&mut all));
        let excluded = Box::new(excluded.moved_into(&mut all));
        Schemas { all, combination: Combination::Except(kept, excluded) }
    }

    /// The combination with its schemas behind those of others.
    fn moved_into(&self, all: &mut Vec<(Arc<str>, Arc<Options>)>) -> Combination {
        let first = all.len() as u32;
        all.extend(self.all.iter().cloned());
        moved(&self.combination, first)
    }

    pub(crate) fn grammar(&self, budget: &Budget) -> Result<Ir> {
        let schemas: Vec<SchemaText<'_>> =
            self.all.iter().map(|(text, options)| SchemaText { text, options }).collect();
        front_end::combine(&schemas, &self.combination, budget)
    }

    /// The memory that it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.all.iter().map(|(text, _)| text.len() + size_of::<Options>()).sum()
    }
}

fn moved(combination: &Combination, by: u32) -> Combination {
    match combination {
        Combination::Schemas(numbers) => {
            Combination::Schemas(numbers.iter().map(|number| number + by).collect())
        }
        Combination::All(all) => Combination::All(all.iter().map(|one| moved(one, by)).collect()),
        Combination::Except(kept, excluded) => {
            Combination::Except(Box::new(moved(kept, by)), Box::new(moved(excluded, by)))
        }
    }
}
