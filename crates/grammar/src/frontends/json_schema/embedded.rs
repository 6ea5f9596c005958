//! Schemas that stand in texts of other kinds: in structural tags, and in Lark's `%json`.

use super::{Finding, Options};
use crate::error::Result;
use crate::limits::Budget;

/// A schema within another text, and how it is converted there.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// Where it stands, in front of the JSON Pointers into it.
    pub place: String,
    /// Its text.
    pub schema: String,
    /// How it is converted.
    pub options: Options,
}

impl Embedded {
    /// What became of each of its keywords, by their places in the text around it.
    pub fn findings(&self, budget: &Budget) -> Result<Vec<Finding>> {
        let converted = super::parse(&self.schema, &self.options, budget)?;
        let placed = |finding: Finding| {
            let pointer = format!("{}{}", self.place, finding.pointer).into();
            Finding { pointer, ..finding }
        };
        Ok(converted.report.findings().into_iter().map(placed).collect())
    }
}
