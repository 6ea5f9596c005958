//! Rules that end with a marker: `suffix=...` and `stop=...`.
//!
//! The rule is what its body matches, then the marker, and it ends at the first chance to do so. The marker is part of
//! the text and not of the capture. As one automaton that is a lazy rule; but captures cannot stand inside of one, so
//! where they are asked for, the text before the marker gets a rule of its own. With a marker `s` that is one string,
//! its language is the body without what would have ended earlier:
//!
//! ```text
//! body & ~(body s .*) & ~(body p) & ...
//! ```
//!
//! Here each `p` is a beginning of `s` after which `s` overlaps itself (`a` in `aa`): with `body p s`, an `s` would have
//! been there before the last one, and not wholly before it. With a marker of several strings the two parts depend on
//! each other. If all of them have as many bytes, the rule stays one and its capture leaves these out at the end. If not,
//! there is such a rule for each length. Several markers may end in the same place, and then the longest counts, which is
//! the one that began first:
//!
//! ```text
//! body m & ~(body marker .+) & ~(body longer)        // m: the markers of one length; longer: those of greater ones
//! ```
//!
//! Only markers that begin with no other one are looked at, since the rule ends with the other one. Markers without end
//! (`/x*y/`) are too many rules, so that a capture is refused there.

use super::ast::{Marker, Node};
use super::lower::{Lowerer, Mode, Scope};
use crate::error::{ErrorKind, Result};
use crate::ir::{ExprId, RuleId, RuleOptions};
use crate::regular::{CharSet, Dfa, determinize};

/// So many texts may a marker of different lengths have.
const MAX_WORDS: usize = 256;

/// A rule that ends with a marker, and what was read of it.
pub(super) struct Ending<'s> {
    pub(super) rule: RuleId,
    pub(super) name: &'s str,
    pub(super) body: ExprId,
    pub(super) options: RuleOptions,
    pub(super) marker: Marker,
    /// Where its attributes stand.
    pub(super) at: usize,
}

impl<'s> Lowerer<'s> {
    /// Defines the rule.
    pub(super) fn end_with_marker(&mut self, ending: Ending<'s>, scope: &Scope<'s>) -> Result<()> {
        let Ending { rule, name, body, mut options, marker, at } = ending;
        let root = marker.body.root;
        let lowered = self.lower(marker.body.first, &[root], scope, Mode::Terminal)?[0];
        let capture = options.capture.take();
        // It ends at its first chance in any case, and below by other means.
        options.lazy = false;
        if capture.is_none() && marker.capture.is_none() {
            let whole = self.builder.seq([body, lowered]);
            self.builder.define(rule, whole, RuleOptions { lazy: true, ..options });
            return Ok(());
        }
        let Node::Text { text, ignore_case: false } = self.texts.node(root).clone() else {
            let dfa = determinize(&self.builder, lowered, self.budget)?;
            let stop_capture = marker.capture;
            if let Some(hidden_bytes) = one_length(&dfa) {
                let whole = self.builder.seq([body, lowered]);
                let options = RuleOptions { lazy: true, capture, hidden_bytes, stop_capture, ..options };
                self.builder.define(rule, whole, options);
                return Ok(());
            }
            let Some(markers) = words_by_length(&dfa) else {
                let message = format!(
                    "the rule `{name}` can have a capture only if its `suffix` or `stop` is one of {MAX_WORDS} texts \
                     at most, or if all its texts have as many bytes"
                );
                return Err(self.error(ErrorKind::Unsupported, scope.document, at, message));
            };
            let captures = RuleOptions { capture, stop_capture, ..RuleOptions::default() };
            let whole = self.any_length(name, (body, lowered), &markers, &captures);
            self.builder.define(rule, whole, options);
            return Ok(());
        };
        let before = self.before(body, &text);
        let before = self.captured(name, before, capture);
        let marker = self.captured(name, lowered, marker.capture);
        let whole = self.builder.seq([before, marker]);
        self.builder.define(rule, whole, options);
        Ok(())
    }

    /// The body and the first marker that ends it, as a rule for each length of the markers, those of greater length first.
    fn any_length(
        &mut self,
        name: &str,
        (body, marker): (ExprId, ExprId),
        markers: &[(u32, Vec<Vec<u8>>)],
        captures: &RuleOptions,
    ) -> ExprId {
        let any = self.builder.class(CharSet::any());
        let more = self.builder.repeat(any, 1, None);
        let earlier = self.builder.seq([body, marker, more]);
        let first = self.builder.not(earlier);
        let mut rules = Vec::with_capacity(markers.len());
        let mut longer = Vec::new();
        for (hidden_bytes, words) in markers {
            let words = words.iter().map(|word| self.builder.bytes(word)).collect::<Vec<_>>();
            let (these, others) = (self.builder.alt(words.clone()), self.builder.alt(longer.clone()));
            let (ended, other) = (self.builder.seq([body, these]), self.builder.seq([body, others]));
            let other = self.builder.not(other);
            let language = self.builder.and([ended, first, other]);
            let options = RuleOptions { hidden_bytes: *hidden_bytes, ..captures.clone() };
            let rule = self.builder.declare(self.names.fresh(name));
            self.builder.define(rule, language, options);
            rules.push(self.builder.rule(rule));
            longer.extend(words);
        }
        self.builder.alt(rules)
    }

    /// What of `body` may stand before the first `marker` that can end it.
    fn before(&mut self, body: ExprId, marker: &str) -> ExprId {
        let any = self.builder.class(CharSet::any());
        let any = self.builder.repeat(any, 0, None);
        let literal = self.builder.bytes(marker);
        let earlier = self.builder.seq([body, literal, any]);
        let mut parts = vec![body, self.builder.not(earlier)];
        let overlaps = marker.char_indices().skip(1).map(|(at, _)| at);
        for at in overlaps.filter(|&at| marker.starts_with(&marker[at..])) {
            let beginning = self.builder.bytes(&marker[..at]);
            let overlapping = self.builder.seq([body, beginning]);
            parts.push(self.builder.not(overlapping));
        }
        self.builder.and(parts)
    }

    /// `body` as a rule of its own, where it is to be captured.
    pub(super) fn captured(&mut self, name: &str, body: ExprId, capture: Option<String>) -> ExprId {
        if capture.is_none() {
            return body;
        }
        let rule = self.builder.declare(self.names.fresh(name));
        self.builder.define(rule, body, RuleOptions { capture, ..RuleOptions::default() });
        self.builder.rule(rule)
    }
}

/// The words of a language that begin with no other one, by their number of bytes, the greatest first; `None` if there are
/// more than [`MAX_WORDS`].
fn words_by_length(dfa: &Dfa) -> Option<Vec<(u32, Vec<Vec<u8>>)>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut open = vec![(Dfa::START, Vec::new())];
    while let Some((state, word)) = open.pop() {
        if dfa.is_accepting(state) {
            words.push(word);
            continue;
        }
        for &(first, last, next) in dfa.edges(state) {
            open.extend((first..=last).map(|byte| (next, [&word[..], &[byte]].concat())));
        }
        // Every open state leads to a word. One that is longer than there are states can be made longer still.
        if words.len() + open.len() > MAX_WORDS || open.iter().any(|(_, word)| word.len() > dfa.len()) {
            return None;
        }
    }
    words.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    let length = |word: &Vec<u8>| word.len() as u32;
    Some(
        words
            .chunk_by(|one, other| one.len() == other.len())
            .map(|all| (length(&all[0]), all.to_vec()))
            .collect(),
    )
}

/// How many bytes each word of a language has, if it is the same number for all.
fn one_length(dfa: &Dfa) -> Option<u32> {
    let mut depths: Vec<Option<u32>> = vec![None; dfa.len()];
    let mut open = vec![(Dfa::START, 0_u32)];
    let mut length = None;
    while let Some((state, depth)) = open.pop() {
        match depths.get_mut(state as usize)? {
            Some(known) if *known == depth => continue,
            // A state that is reached in two ways has words of two lengths behind it, since all states reach an end.
            Some(_) => return None,
            fresh => *fresh = Some(depth),
        }
        if dfa.is_accepting(state) && *length.get_or_insert(depth) != depth {
            return None;
        }
        open.extend(dfa.edges(state).iter().map(|edge| (edge.2, depth + 1)));
    }
    length
}
