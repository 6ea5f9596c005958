//! What became of each keyword.

use std::borrow::Cow;
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

/// One finding for each keyword: what was noted as exact when it was read, and had to be widened when it was emitted, is
/// widened.
pub(super) fn settle(mut findings: Vec<Finding>) -> Vec<Finding> {
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
