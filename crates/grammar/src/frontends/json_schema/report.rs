//! What became of each keyword.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::sync::Arc;

use rustc_hash::FxHashSet;

/// What became of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Enforced, no more and no less.
    Exact,
    /// Says nothing about what is admitted.
    Annotation,
    /// Enforced, and some of what it admits cannot be written.
    Narrowed,
    /// Not enforced: the caller asked for a warning rather than a refusal.
    Widened,
    /// Refused.
    Refused,
}

impl Outcome {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Exact => "exact",
            Outcome::Annotation => "annotation",
            Outcome::Narrowed => "narrowed",
            Outcome::Widened => "widened",
            Outcome::Refused => "refused",
        }
    }
}

/// A keyword at a place, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The JSON Pointer of the schema that has the keyword.
    pub pointer: Arc<str>,
    /// The keyword.
    pub keyword: Cow<'static, str>,
    /// What became of it.
    pub outcome: Outcome,
    /// Why, where there is something to say.
    pub note: Cow<'static, str>,
}

/// What became of the keywords of a schema.
///
/// Schemas that say the same as one before are not looked at again. What is to be said of them is written down when
/// somebody wants to read it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order in which they were met.
    findings: Vec<Finding>,
    /// Schemas that say the same as others. Whatever lies inside of the first schema of a pair, and is itself the second
    /// of another, comes before it.
    repeats: Vec<(Arc<str>, Arc<str>)>,
    /// What the spelling gives up, of a conversion.
    spelling: Option<Finding>,
}

impl Report {
    /// The report of `findings`, to which those are to be added that a repeated schema would give again: pairs of the
    /// pointers of the first schema and of the later one, inner schemas first.
    pub(super) fn new(findings: Vec<Finding>, repeats: Vec<(Arc<str>, Arc<str>)>, spelling: Finding) -> Self {
        Report { findings: settle(findings), repeats, spelling: Some(spelling) }
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty() && self.spelling.is_none()
    }

    /// Whether a keyword is not enforced.
    pub fn is_widened(&self) -> bool {
        self.findings.iter().any(|finding| finding.outcome == Outcome::Widened)
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        let findings = self.findings.iter().map(|finding| finding.pointer.len() + finding.note.len());
        let repeats = self.repeats.iter().map(|(first, again)| first.len() + again.len());
        let texts = findings.sum::<usize>() + repeats.sum::<usize>();
        size_of_val(&*self.findings) + size_of_val(&*self.repeats) + texts
    }

    /// What became of each keyword: those that were met in that order, then those of the schemas that say the same; and what
    /// the spelling gives up.
    pub fn findings(&self) -> Vec<Finding> {
        let mut all = self.findings.clone();
        let mut places: BTreeMap<Arc<str>, Vec<usize>> = BTreeMap::new();
        for (at, finding) in all.iter().enumerate().filter(|_| !self.repeats.is_empty()) {
            places.entry(Arc::clone(&finding.pointer)).or_default().push(at);
        }
        for (first, again) in &self.repeats {
            for (place, findings) in inside(first, &places) {
                let pointer: Arc<str> = format!("{again}{}", &place[first.len()..]).into();
                let copies =
                    findings.iter().map(|&at| Finding { pointer: Arc::clone(&pointer), ..all[at].clone() });
                let copies: Vec<Finding> = copies.collect();
                if let Entry::Vacant(slot) = places.entry(pointer) {
                    slot.insert((all.len()..all.len() + copies.len()).collect());
                    all.extend(copies);
                }
            }
        }
        all.extend(self.spelling.clone());
        all
    }
}

impl From<Vec<Finding>> for Report {
    fn from(findings: Vec<Finding>) -> Self {
        Report { findings, repeats: Vec::new(), spelling: None }
    }
}

/// The places at `pointer` and below it, with what stands there.
fn inside(pointer: &str, places: &BTreeMap<Arc<str>, Vec<usize>>) -> Vec<(Arc<str>, Vec<usize>)> {
    let itself = places.get_key_value(pointer);
    let prefix = format!("{pointer}/");
    let below = places
        .range::<str, _>((Bound::Included(&*prefix), Bound::Unbounded))
        .take_while(|(place, _)| place.starts_with(&*prefix))
        .filter(|(place, _)| !passes_definitions(&place[pointer.len()..]));
    itself.into_iter().chain(below).map(|(place, findings)| (Arc::clone(place), findings.clone())).collect()
}

/// Whether the way down from a schema goes through definitions. They are no part of what it says.
fn passes_definitions(way: &str) -> bool {
    let mut is_name = false;
    way.split('/').skip(1).any(|step| {
        let is_keyword = !std::mem::replace(&mut is_name, false);
        is_name = is_keyword
            && matches!(step, "properties" | "patternProperties" | "dependentSchemas" | "dependencies");
        is_keyword && matches!(step, "$defs" | "definitions")
    })
}

/// One finding for each keyword: what was noted as exact when it was read, and had to be widened when it was emitted, is
/// widened.
fn settle(mut findings: Vec<Finding>) -> Vec<Finding> {
    let key = |finding: &Finding| (Arc::clone(&finding.pointer), finding.keyword.clone());
    let is_widened = |finding: &&Finding| finding.outcome == Outcome::Widened;
    let widened: FxHashSet<_> = findings.iter().filter(is_widened).map(key).collect();
    if !widened.is_empty() {
        let mut seen = FxHashSet::default();
        findings.retain(|finding| {
            !widened.contains(&key(finding)) || (is_widened(&finding) && seen.insert(key(finding)))
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::{OnUnsupported, Options, check, parse};
    use super::*;
    use crate::limits::Budget;

    /// A schema of many properties that say the same, with one in the midst that differs.
    fn schema(property: &str) -> String {
        let properties: Vec<String> = (0..40).map(|at| format!(r#""p{at}": {property}"#)).collect();
        format!(r#"{{"properties": {{{}, "other": {{"type": "null"}}}}}}"#, properties.join(", "))
    }

    #[test]
    fn repeated_schemas_are_reported_wherever_they_stand() {
        let inner = r#"{"type": "string", "maxLength": 3}"#;
        let schema = schema(&format!(r#"{{"properties": {{"a": {inner}, "b": {{"items": {inner}}}}}}}"#));
        let found = check(&schema, &Options::default(), &Budget::default()).unwrap();
        let mut places: Vec<(&str, &str)> =
            found.iter().map(|finding| (&*finding.pointer, &*finding.keyword)).collect();
        places.sort_unstable();
        let mut expected = vec![
            (String::new(), "properties"),
            (String::new(), "spelling"),
            ("/properties/other".to_owned(), "type"),
        ];
        for at in 0..40 {
            let below = |place: &str| format!("/properties/p{at}{place}");
            expected.extend([(below(""), "properties"), (below("/properties/b"), "items")]);
            for string in ["/properties/a", "/properties/b/items"] {
                expected.extend([(below(string), "type"), (below(string), "maxLength")]);
            }
        }
        expected.sort_unstable();
        assert_eq!(places, expected.iter().map(|(place, keyword)| (&**place, *keyword)).collect::<Vec<_>>());
    }

    #[test]
    fn definitions_are_no_part_of_what_refers_to_them() {
        let properties: Vec<String> =
            (0..40).map(|at| format!(r#""p{at}": {{"type": "string", "maxLength": {at}}}"#)).collect();
        let schema = format!(
            r##"{{"$ref": "#/$defs/M", "$defs": {{"M": {{"type": "object", "properties": {{{},
            "definitions": {{"anyOf": [{{"$ref": "#/$defs/M"}}, {{"type": "null"}}]}}}}}}}}}}"##,
            properties.join(", ")
        );
        let found = check(&schema, &Options::default(), &Budget::default()).unwrap();
        let below = "/$defs/M/properties/definitions/anyOf/0";
        let places = found.iter().filter(|finding| finding.pointer.starts_with(below));
        let places: Vec<(&str, &str)> = places.map(|at| (&*at.pointer, &*at.keyword)).collect();
        assert_eq!(places, [(below, "$ref")]);
        assert_eq!(found.len(), 1 + 2 + 80 + 1 + 2 + 1);
    }

    #[test]
    fn what_was_widened_is_so_wherever_it_stands() {
        let schema = schema(r#"{"type": "string", "pattern": "(a)\\1"}"#);
        let options = Options { on_unsupported: OnUnsupported::Warn, ..Options::default() };
        let report = parse(&schema, &options, &Budget::default()).unwrap().report;
        assert!(report.is_widened() && !report.is_empty());
        let is_widened = |finding: &&Finding| finding.outcome == Outcome::Widened;
        assert_eq!(report.findings().iter().filter(is_widened).count(), 40);
    }
}
