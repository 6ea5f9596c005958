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
//! each other. If all of them have as many bytes, the rule stays one and its capture leaves these out at the end; else a
//! capture is refused.

use super::ast::{Marker, Node};
use super::lower::{Lowerer, Mode, Scope};
use crate::error::{ErrorKind, Result};
use crate::ir::{ExprId, RuleId, RuleOptions};
use crate::regular::{CharSet, Dfa, determinize};

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
        if capture.is_none() && marker.capture.is_none() {
            let whole = self.builder.seq([body, lowered]);
            self.builder.define(rule, whole, RuleOptions { lazy: true, ..options });
            return Ok(());
        }
        let Node::Text { text, ignore_case: false } = self.texts.node(root).clone() else {
            let dfa = determinize(&self.builder, lowered, self.budget)?;
            let Some(hidden_bytes) = one_length(&dfa) else {
                let message = format!(
                    "the rule `{name}` can have a capture only if all texts of its `suffix` or `stop` have as many bytes"
                );
                return Err(self.error(ErrorKind::Unsupported, scope.document, at, message));
            };
            let whole = self.builder.seq([body, lowered]);
            let stop_capture = marker.capture;
            let options = RuleOptions { lazy: true, capture, hidden_bytes, stop_capture, ..options };
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
    fn captured(&mut self, name: &str, body: ExprId, capture: Option<String>) -> ExprId {
        if capture.is_none() {
            return body;
        }
        let rule = self.builder.declare(self.names.fresh(name));
        self.builder.define(rule, body, RuleOptions { capture, ..RuleOptions::default() });
        self.builder.rule(rule)
    }
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
