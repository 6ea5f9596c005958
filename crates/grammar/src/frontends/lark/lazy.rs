//! Rules that end with a marker: `suffix=...` and `stop=...`.
//!
//! The rule is what its body matches, then the marker, and it ends at the first chance to do so. The marker is part of
//! the text and not of the capture. As one automaton that is a lazy rule; but captures cannot stand inside of one, so
//! where they are asked for, the text before the marker gets a rule of its own. A `stop` is left out of the captures around its rule as well, so that
//! the marker is a rule that says so wherever something captures around it ([`super::enclosed`]). With a marker `s` that is one string,
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
//! That is as many automata as there are lengths, each as large as all markers together. Where the body is any text there
//! is a shorter way, which is linear: text that holds none of the markers, and one of them. Only where markers overlap does
//! the text before one of them have an automaton of its own.
//!
//! Where its tokens are counted (`max_tokens`) and run out, the rule closes without its marker, after any text of its body:
//! that is a second alternative, see [`crate::passes::without_marker`].
//!
//! Only markers that begin with no other one are looked at, since the rule ends with the other one. Markers without end
//! (`/x*y/`) are too many rules, so that a capture is refused there.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::ast::{DocumentId, Marker, Node, NodeId};
use super::lower::{Lowerer, Mode, Scope};
use crate::error::{ErrorKind, Place, Result};
use crate::ir::{Expr, ExprId, RuleId, RuleOptions, TokenSet};
use crate::passes::without_marker;
use crate::regular::{CharSet, Dfa, FreeText, determinize};

/// So many texts may a marker of different lengths have.
const MAX_WORDS: usize = 256;

/// So many bytes may markers of different lengths have, times the number of lengths, where not all text may stand before
/// them. It takes half a second to compile.
const MAX_SIZE: usize = 1 << 15;

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

/// A rule whose marker is not one string: what it can be is known when all terminals are.
pub(super) struct Unsettled<'s> {
    ending: Ending<'s>,
    /// The marker as an expression.
    lowered: ExprId,
    document: DocumentId,
}

/// The texts of a marker that have as many bytes.
type Words = (u32, Vec<Vec<u8>>);

impl<'s> Lowerer<'s> {
    /// Defines the rule, or notes that it is still to be defined.
    pub(super) fn end_with_marker(&mut self, mut ending: Ending<'s>, scope: &Scope<'s>) -> Result<()> {
        let body = ending.marker.body;
        let lowered = self.lower(body.first, &[body.root], scope, Mode::Terminal)?[0];
        if ending.options.max_tokens.is_some() {
            ending = self.close_in_time(ending, lowered);
        }
        // It ends at its first chance in any case, and below by other means.
        ending.options.lazy = false;
        let hides = ending.marker.is_stop && self.is_enclosed(ending.name, scope.document);
        ending.marker.is_stop = hides;
        let is_captured = hides || ending.options.capture.is_some() || ending.marker.capture.is_some();
        if !is_captured && !self.names_token(&ending, body.root)? {
            let whole = self.builder.seq([ending.body, lowered]);
            self.builder.define(ending.rule, whole, RuleOptions { lazy: true, ..ending.options });
            return Ok(());
        }
        let Node::Text { text, ignore_case: false } = self.texts.node(body.root).clone() else {
            self.endings.push(Unsettled { ending, lowered, document: scope.document });
            return Ok(());
        };
        let Ending { rule, name, body, mut options, marker, .. } = ending;
        let before = self.before(body, &text);
        let before = self.captured(name, before, options.capture.take());
        let marker = self.ended_by(name, &text, marker.capture, hides);
        let whole = self.builder.seq([before, marker]);
        self.builder.define(rule, whole, options);
        Ok(())
    }

    /// Lets the rule close without its marker where it has had its tokens, after any text of its body. What ends with the
    /// marker gets a rule of its own, which is still to be defined.
    fn close_in_time(&mut self, ending: Ending<'s>, marker: ExprId) -> Ending<'s> {
        let Ending { rule, name, body, options, .. } = ending;
        let RuleOptions { max_tokens, temperature, capture, max_chars, .. } = options;
        let text = without_marker(&mut self.builder, body, marker);
        let capture_of = RuleOptions { capture: capture.clone(), max_chars, ..RuleOptions::default() };
        let text = if capture_of == RuleOptions::default() {
            text
        } else {
            let closed = self.builder.declare(self.names.fresh(name));
            self.builder.define(closed, text, capture_of);
            self.builder.rule(closed)
        };
        let spent = self.builder.token(TokenSet::spent());
        let closed = self.builder.seq([text, spent]);
        let ended = self.builder.declare(self.names.fresh(name));
        let whole = self.builder.rule(ended);
        let whole = self.builder.alt([whole, closed]);
        self.builder.define(rule, whole, RuleOptions { max_tokens, temperature, ..RuleOptions::default() });
        let options = RuleOptions { max_chars, capture, ..RuleOptions::default() };
        Ending { rule: ended, options, ..ending }
    }

    /// Whether the marker of a rule without captures may be a special token: it is one string after any text, so that what
    /// comes before it is plain.
    fn names_token(&self, ending: &Ending<'s>, marker: NodeId) -> Result<bool> {
        let is_text = matches!(self.texts.node(marker), Node::Text { ignore_case: false, .. });
        let is_plain = |id: ExprId| matches!(self.builder.expr(id), Expr::Class(_) | Expr::Bytes(_));
        let is_repeat = match self.builder.expr(ending.body) {
            Expr::Repeat { body, min: 0, max: None } => match self.builder.expr(*body) {
                Expr::Alt(items) => items.iter().all(|&item| is_plain(item)),
                _ => is_plain(*body),
            },
            _ => false,
        };
        let is_free = ending.options.max_tokens.is_none() && ending.options.max_chars.is_none();
        let may_be = is_text && is_repeat && is_free;
        Ok(may_be && determinize(&self.builder, ending.body, self.budget)? == *Dfa::any_text())
    }

    /// Defines the rules that had to wait.
    pub(super) fn settle_endings(&mut self) -> Result<()> {
        for Unsettled { ending, lowered, document } in std::mem::take(&mut self.endings) {
            self.budget.tick()?;
            let place = Place::in_text(self.texts.document(document).source, ending.at);
            self.settle(ending, lowered, document).map_err(|error| error.at(place))?;
            self.builder.check()?;
        }
        Ok(())
    }

    fn settle(&mut self, ending: Ending<'s>, lowered: ExprId, document: DocumentId) -> Result<()> {
        let Ending { rule, name, body, mut options, marker, at } = ending;
        let (capture, stop_capture, hides_stop) = (options.capture.take(), marker.capture, marker.is_stop);
        let dfa = determinize(&self.builder, lowered, self.budget)?;
        if dfa.is_empty() {
            let message = format!("no text matches the `suffix` or `stop` of the rule `{name}`");
            return Err(self.error(ErrorKind::Invalid, document, at, message));
        }
        if let Some(hidden_bytes) = one_length(&dfa) {
            let whole = self.builder.seq([body, lowered]);
            let options =
                RuleOptions { lazy: true, capture, hidden_bytes, stop_capture, hides_stop, ..options };
            self.builder.define(rule, whole, options);
            return Ok(());
        }
        let refuse = |this: &Self, condition: String| {
            let what = if hides_stop { "can have a capture, or stand in one," } else { "can have a capture" };
            let message = format!("the rule `{name}` {what} only if {condition}");
            this.error(ErrorKind::Unsupported, document, at, message)
        };
        let Some(markers) = words_by_length(&dfa) else {
            let condition = format!(
                "its `suffix` or `stop` is one of {MAX_WORDS} texts at most, or if all its texts have as many bytes"
            );
            return Err(refuse(self, condition));
        };
        let captures = RuleOptions { capture, stop_capture, hides_stop, ..RuleOptions::default() };
        let follows_any_text = determinize(&self.builder, body, self.budget)? == *Dfa::any_text();
        let whole = if let Some(texts) = texts_of(&markers).filter(|_| follows_any_text) {
            self.any_text_before(name, texts, &captures)?
        } else if size(&markers) > MAX_SIZE {
            let condition = format!(
                "the texts of its `suffix` or `stop` have few lengths or few bytes: the two numbers give {} when \
                 multiplied, and {MAX_SIZE} is the most",
                size(&markers)
            );
            let help = "texts that all have as many bytes are not bound so, nor are others after any text, `/(.|\\n)*/`";
            return Err(refuse(self, condition).with_help(help));
        } else {
            self.any_length(name, (body, lowered), &markers, &captures)
        };
        self.builder.define(rule, whole, options);
        Ok(())
    }

    /// Any text and the first marker in it, each captured.
    fn any_text_before(
        &mut self,
        name: &str,
        mut markers: Vec<&str>,
        captures: &RuleOptions,
    ) -> Result<ExprId> {
        // One that holds another before its end never comes to its end.
        let search = FreeText::new(&markers, self.budget)?;
        markers.retain(|marker| {
            let mut but_last = marker.chars();
            but_last.next_back();
            search.held_by(but_last.as_str()).is_none()
        });
        let (_, befores) = self.free_texts(&markers)?;
        let mut groups: IndexMap<ExprId, Vec<ExprId>, FxBuildHasher> = IndexMap::default();
        for (before, marker) in befores.into_iter().zip(markers) {
            let marker = if captures.hides_stop {
                self.ended_by(name, marker, captures.stop_capture.clone(), true)
            } else {
                self.builder.marker(marker)
            };
            groups.entry(before).or_default().push(marker);
        }
        let mut alternatives = Vec::with_capacity(groups.len());
        for (before, markers) in groups {
            let before = self.captured(name, before, captures.capture.clone());
            let marker = self.builder.alt(markers);
            let stop_capture = captures.stop_capture.clone().filter(|_| !captures.hides_stop);
            let marker = self.captured(name, marker, stop_capture);
            alternatives.push(self.builder.seq([before, marker]));
        }
        Ok(self.builder.alt(alternatives))
    }

    /// The body and the first marker that ends it, as a rule for each length of the markers, those of greater length first.
    fn any_length(
        &mut self,
        name: &str,
        (body, marker): (ExprId, ExprId),
        markers: &[Words],
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

    /// A marker that is one string, as a rule of its own where it is to be captured, or left out of the captures around it.
    pub(super) fn ended_by(
        &mut self,
        name: &str,
        marker: &str,
        stop_capture: Option<String>,
        hides_stop: bool,
    ) -> ExprId {
        let literal = self.builder.marker(marker);
        if !hides_stop {
            return self.captured(name, literal, stop_capture);
        }
        let rule = self.builder.declare(self.names.fresh(name));
        let hidden_bytes = marker.len() as u32;
        let options = RuleOptions { hidden_bytes, stop_capture, hides_stop, ..RuleOptions::default() };
        self.builder.define(rule, literal, options);
        self.builder.rule(rule)
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
fn words_by_length(dfa: &Dfa) -> Option<Vec<Words>> {
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

/// The texts of a marker, if all of them are texts that can be looked for.
fn texts_of(markers: &[Words]) -> Option<Vec<&str>> {
    let words = markers.iter().flat_map(|(_, words)| words);
    words.map(|word| std::str::from_utf8(word).ok().filter(|text| !text.is_empty())).collect()
}

/// How large the automata of markers of different lengths come out: one for each length, with a state for each byte.
fn size(markers: &[Words]) -> usize {
    let bytes = |(length, words): &Words| *length as usize * words.len();
    markers.len() * markers.iter().map(bytes).sum::<usize>()
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
