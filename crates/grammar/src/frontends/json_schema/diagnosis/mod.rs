//! Why no value satisfies a schema.
//!
//! That a schema is empty is known from its set or from its grammar, and neither says which keywords are to blame: a set
//! is what all keywords have left, and a grammar knows no keywords. So the schema itself is asked, when the error is
//! written and only then. A question is one more conversion, of a part of the schema, with some of its keywords relaxed:
//! is that still empty?
//!
//! 1. At a place that is empty by itself, keywords are relaxed one after the other for as long as it stays so, and then
//!    the schemas in them, in halves, quarters and so on. What is left is needed, all of it.
//! 2. If that comes down to another place that is empty by itself (a reference, one schema of `allOf`, the schema of a
//!    property or of items that must be there), it goes on there. To come back to a place is recursion without end.
//! 3. Else the keywords that are left contradict each other, there.
//!
//! Relaxed is not the same as gone: a keyword takes part in what its siblings mean (`additionalProperties` speaks of the
//! keys that `properties` does not list, strict mode closes what lists keys), and a schema without it could be empty for
//! another reason. See [`Relaxed`].
//!
//! The number of questions and the time for all of them are bounded. Where they do not suffice, the error has the
//! place that was reached, and that nothing satisfies it.
//!
//! Reading order: `relaxed`, `parts`, `place`, `questions`, `words`.

mod parts;
mod place;
mod questions;
mod relaxed;
mod words;

#[cfg(test)]
mod tests;

use smallvec::SmallVec;

use super::Options;
use super::documents::{Document, Json, ScopeId};
use super::expand::{NO_VALUE, UNWRITTEN};
use crate::error::{Error, ErrorKind, Place};
use crate::limits::Budget;
use crate::repeats::drop_repeats;
use parts::{Child, Kind, Part};
use place::Way;
use questions::{Answer, Questions};
use words::Reason;

pub(super) use relaxed::{Relaxed, open, relax};

/// So many schemas of one keyword are looked at for one that is empty by itself.
const MAX_CANDIDATES: usize = 8;

/// So many questions are asked to find the schemas of one keyword that are needed.
const MAX_THINNING: usize = 100;

/// So many branches of `anyOf` and `oneOf` are told of.
const MAX_BRANCHES: usize = 4;

/// A schema of which some error says that no value satisfies it.
#[derive(Clone, Copy)]
pub(super) struct Case<'j> {
    pub(super) root: &'j Document<'j>,
    pub(super) registry: &'j [(String, Document<'j>)],
    pub(super) options: &'j Options,
    pub(super) budget: &'j Budget,
}

/// A place that no value satisfies.
struct Finding<'j> {
    way: Way,
    reason: Reason<'j>,
}

impl Case<'_> {
    /// An error of this schema, which says what contradicts what if it says that there is no value.
    pub(super) fn explained(self, error: Error) -> Error {
        let is_of_emptiness = match error.kind() {
            ErrorKind::Invalid => error.message().starts_with(NO_VALUE),
            ErrorKind::Unsupported => error.message().starts_with(UNWRITTEN),
            _ => false,
        };
        if is_of_emptiness { self.diagnosed(error) } else { error }
    }

    /// What contradicts what, if no value satisfies the schema; else the error.
    pub(super) fn diagnosed(self, error: Error) -> Error {
        let mut diagnosis = Diagnosis { questions: Questions::new(self) };
        let told = diagnosis.error(&error).unwrap_or(error);
        // Who wanted to stop meanwhile is told so.
        self.budget.check().err().unwrap_or(told)
    }
}

struct Diagnosis<'j> {
    questions: Questions<'j>,
}

impl<'j> Diagnosis<'j> {
    /// A better error than one that is there; none if there is nothing better to say.
    fn error(&mut self, error: &Error) -> Option<Error> {
        let whole = Way::default();
        if self.questions.is_empty(&whole, &Relaxed::default()) != Answer::Yes {
            return None;
        }
        let is_named = self.is_named_by(error);
        let finding = self.descend(whole);
        let pointer = self.questions.pointer_of(&finding.way)?;
        let told = match &finding.reason {
            Reason::Unknown if is_named != Answer::No => return None,
            reason => reason.error_at(&pointer, error),
        };
        let help = self.help_of_branches(&finding).or_else(|| finding.reason.help_at(&pointer));
        let help = help.or_else(|| self.help_of_strict_mode(&finding));
        Some(match help {
            Some(help) => told.with_help(help),
            None => told,
        })
    }

    /// Whether the keyword that an error names is to blame. The first one that leaves no value may be in a branch that
    /// nobody needs.
    fn is_named_by(&mut self, error: &Error) -> Answer {
        let Some((way, part)) = self.named_by(error) else { return Answer::No };
        let is_empty = self.questions.is_empty(&way, &Relaxed::default());
        let is_empty_without = self.questions.is_empty(&Way::default(), &Relaxed::default().with(&part));
        match (is_empty, is_empty_without) {
            (Answer::Yes, Answer::No) => Answer::Yes,
            (Answer::Unknown, _) | (_, Answer::Unknown) => Answer::Unknown,
            _ => Answer::No,
        }
    }

    /// The keyword that an error names, with the place of its schema.
    fn named_by(&self, error: &Error) -> Option<(Way, Part<'j>)> {
        let Place::Pointer(pointer) = error.place() else { return None };
        let (above, keyword) = pointer.strip_prefix('/').and(pointer.rsplit_once('/'))?;
        let way = self.questions.way_of(above)?;
        let parts = self.questions.parts_at(&way)?;
        let part = parts.into_iter().find(|part| part.keyword == keyword)?;
        (error.kind() == ErrorKind::Invalid).then_some((way, part))
    }

    /// Goes from a place that is empty by itself to the innermost one that makes it so.
    fn descend(&mut self, way: Way) -> Finding<'j> {
        let mut way = way;
        let mut passed: Vec<(*const Json<'j>, ScopeId)> = Vec::new();
        loop {
            let Some((json, scope)) = self.questions.schema_at(&way) else { return Finding::unknown(way) };
            if *json == Json::Bool(false) {
                return Finding { way, reason: Reason::False };
            }
            // Each way is the beginning of the next one, so the numbers of scopes mean the same.
            let schema = (std::ptr::from_ref(json), scope);
            if passed.contains(&schema) {
                return Finding { way, reason: Reason::Endless };
            }
            passed.push(schema);
            let Some((needed, relaxed)) = self.needed_at(&way) else { return Finding::unknown(way) };
            match self.next(&way, &needed, &relaxed) {
                Some(next) => way = next,
                None => return Finding { way, reason: Reason::Keywords(needed) },
            }
            if self.questions.are_over() {
                return Finding::unknown(way);
            }
        }
    }

    /// The keywords, and the schemas in them, without which a place would not be empty: the least that is found by
    /// relaxing one after the other. And all that was relaxed.
    fn needed_at(&mut self, way: &Way) -> Option<(Vec<Part<'j>>, Relaxed)> {
        let mut parts = self.questions.parts_at(way)?;
        let mut relaxed = Relaxed::default();
        // What says of which type the value is goes last: most others say something of one type only.
        for is_type in [false, true] {
            let mut at = 0;
            while at < parts.len() && parts.len() > 1 {
                let wider = relaxed.clone().with(&parts[at]);
                if (parts[at].keyword == "type") == is_type
                    && self.questions.is_empty(way, &wider) == Answer::Yes
                {
                    relaxed = wider;
                    parts.remove(at);
                } else {
                    at += 1;
                }
            }
        }
        if self.questions.are_over() {
            return None;
        }
        for part in &mut parts {
            if part.kind.has_schemas() {
                self.thin_out(way, &mut relaxed, part);
            }
        }
        Some((parts, relaxed))
    }

    /// Relaxes those schemas of a keyword that are not needed.
    fn thin_out(&mut self, way: &Way, relaxed: &mut Relaxed, part: &mut Part<'j>) {
        let mut size = part.children.len();
        if part.children.iter().any(|child| child.step.is_none()) {
            return;
        }
        let mut asked = 0;
        while size > 0 && !part.children.is_empty() {
            let mut start = 0;
            while start < part.children.len() && asked < MAX_THINNING {
                asked += 1;
                let end = part.children.len().min(start + size);
                let wider = relaxed.clone().with_children(&part.children[start..end]);
                if self.questions.is_empty(way, &wider) == Answer::Yes {
                    *relaxed = wider;
                    part.children.drain(start..end);
                } else {
                    start = end;
                }
            }
            size /= 2;
        }
    }

    /// The place that makes this one empty, if it is another one.
    fn next(&mut self, way: &Way, needed: &[Part<'j>], relaxed: &Relaxed) -> Option<Way> {
        // A schema that is applied to the same value is to blame only if nothing else is needed.
        if let [part] = needed
            && let Some(hops) = part.same_value()
        {
            return Some(way.then(hops));
        }
        let mut found = None;
        let mut count = 0;
        for part in needed.iter().filter(|part| part.kind.is_of_other_values()) {
            for child in part.children.iter().take(MAX_CANDIDATES) {
                let below = way.then(part.hops_to(child));
                let is_false = *child.json == Json::Bool(false);
                if is_false || self.questions.is_empty(&below, &Relaxed::default()) == Answer::Yes {
                    count += 1;
                    // What there was no time to relax is not known to be needed.
                    let without = relaxed.clone().with_children(std::slice::from_ref(child));
                    if !is_false && self.questions.is_empty(way, &without) == Answer::No {
                        found = Some(below);
                    }
                }
            }
        }
        // If several are empty, and all of them are needed, none of them is it alone.
        found.filter(|_| count == 1)
    }

    /// Why the branches of the one keyword of a finding are empty, as far as they are by themselves.
    fn help_of_branches(&mut self, finding: &Finding<'j>) -> Option<String> {
        let Reason::Keywords(needed) = &finding.reason else { return None };
        let [part] = needed.as_slice() else { return None };
        let is_branch = |child: &&Child<'j>| part.kind == Kind::Branches && child.json.as_object().is_some();
        let mut told: SmallVec<[String; MAX_BRANCHES]> = SmallVec::new();
        for child in part.children.iter().filter(is_branch).take(MAX_BRANCHES) {
            let branch = finding.way.then(part.hops_to(child));
            if self.questions.is_empty(&branch, &Relaxed::default()) == Answer::Yes {
                let finding = self.descend(branch);
                let pointer = self.questions.pointer_of(&finding.way)?;
                told.extend(finding.reason.told_at(&pointer));
            }
        }
        drop_repeats(&mut told);
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// What to do if a place is empty only because strict mode closes it.
    fn help_of_strict_mode(&mut self, finding: &Finding<'j>) -> Option<String> {
        let is_so = self.questions.is_empty_if_lenient(&finding.way)? == Answer::No;
        is_so.then(|| words::STRICT_MODE.to_owned())
    }
}

impl Finding<'_> {
    fn unknown(way: Way) -> Self {
        Finding { way, reason: Reason::Unknown }
    }
}
