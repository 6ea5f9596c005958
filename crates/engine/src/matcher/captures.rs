//! Captures of a matcher: the spans that rules with `capture` matched.
//!
//! The masks need no tree and there is none. Where captures are asked for at the end, the text is parsed anew. Where they
//! are watched, a second parse goes along with the text, and what has become certain is told: a span that is in every
//! parse of the text so far. It will be in every parse of every text that goes on from there, so what was told stays true.
//! When the text ends, what is left of its captures is told as well.

use std::ops::Range;

use tokenstile_grammar::{Budget, CancelFlag, Error, ErrorKind, Limits, Result, passes};

use super::{Matcher, Piece, PieceText};
use crate::compiled::CompiledGrammar;
use crate::interrupt;
use crate::oracle::{Capture, Ended, Mark, Oracle, OracleState, Waiting};

/// A span of the text that a rule with `capture` matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureSpan {
    /// The name that the rule gives to its spans.
    pub name: String,
    /// What was matched, without the stops of rules inside of it.
    pub bytes: Vec<u8>,
    /// Where it stands in the bytes of the text.
    pub byte_span: Range<usize>,
    /// The steps that it stands in, by their numbers: from the one that holds its first byte to that which holds its last.
    pub token_span: Range<usize>,
}

/// The most that the tree of a text with captures may hold, in items of its chart.
const MAX_CHART_ITEMS: usize = 2_000_000;

/// How many steps of such a text pass between two looks at its size and at the clock.
const STEPS_A_LOOK: usize = 64;

/// How many of the captures that ended last are looked at after each step. Those before them wait for the end of the text.
const MOST_WAITING: usize = 32;

/// Fails if the chart of a text with captures has grown too large, or has taken too long.
fn check_captures(state: &OracleState<'_>, budget: &Budget) -> Result<()> {
    if state.item_count() > MAX_CHART_ITEMS {
        let message = format!("the captures of this text take more than {MAX_CHART_ITEMS} chart items");
        let help =
            "the grammar is ambiguous or recurses on the right in a captured rule, or the text is very long";
        return Err(Error::new(ErrorKind::Limit, message).with_help(help));
    }
    budget.check()
}

/// The grammar was within its limits when it was compiled, whatever they were.
fn no_limits() -> Budget {
    let limits =
        Limits { max_rules: usize::MAX, max_exprs: usize::MAX, max_states: usize::MAX, ..Limits::default() };
    // It is asked as often as the clock is looked at, and unwinds the stack itself.
    let go_on = || {
        interrupt::poll(usize::MAX);
        false
    };
    Budget::new(limits, CancelFlag::default()).watched(go_on)
}

/// What parses texts of a grammar. Rules that nobody reaches were not looked at when it was compiled, and may be beyond all
/// bounds.
fn oracle(compiled: &CompiledGrammar) -> Result<Oracle> {
    let budget = no_limits();
    let special = compiled.vocab().table().special();
    let grammar = passes::markers::lower(compiled.grammar(&budget)?.clone(), special, &budget)?;
    let grammar = passes::options::lower(grammar, &budget)?;
    let grammar = passes::dispatch::lower(grammar, &budget)?;
    Oracle::with_budget(&passes::trim::trim(grammar, &budget)?, &budget)
}

/// Reads a piece of a text.
fn read(
    state: &mut OracleState<'_>,
    compiled: &CompiledGrammar,
    piece: &Piece,
    budget: &Budget,
) -> Result<()> {
    match &piece.text {
        PieceText::Token(token) => match compiled.vocab().token_bytes(*token) {
            [] => state.advance_special(compiled.vocab().token_text(*token), token.0),
            bytes => state.advance_token(bytes, token.0),
        },
        PieceText::Bytes(bytes) => {
            for part in bytes.chunks(STEPS_A_LOOK) {
                state.advance_bytes(part);
                check_captures(state, budget)?;
            }
        }
        PieceText::Stop => {}
    }
    if piece.closed {
        state.spend_tokens();
    }
    Ok(())
}

/// Reads captures as they come.
///
/// Each step costs what its own bytes cost: what was found out about the text before is kept, and added to.
#[derive(Clone)]
pub(super) struct CaptureReader {
    state: OracleState<'static>,
    steps: Vec<ReadStep>,
    /// The captures that ended and are not certain yet.
    waiting: Vec<Waiting>,
    told: Vec<Capture>,
}

/// A step that was read.
#[derive(Clone)]
struct ReadStep {
    /// Where the chart stood before it.
    mark: Mark,
    /// How many captures had been told before it.
    told: usize,
    /// Those that were waiting before it.
    waiting: Box<[Ended]>,
    /// The bytes of the text behind it.
    end: usize,
}

impl CaptureReader {
    fn new(compiled: &CompiledGrammar, closes_at_start: bool) -> Result<Self> {
        let mut state = oracle(compiled)?.into_start();
        if closes_at_start {
            state.spend_tokens();
        }
        Ok(CaptureReader { state, steps: Vec::new(), waiting: Vec::new(), told: Vec::new() })
    }

    /// Goes back to where `steps` steps had been read.
    pub(super) fn truncate(&mut self, steps: usize) {
        let Some(ReadStep { mark, told, waiting, .. }) =
            self.steps.drain(steps.min(self.steps.len())..).next()
        else {
            return;
        };
        self.state.go_back(mark);
        self.told.truncate(told);
        let mut known = std::mem::take(&mut self.waiting);
        known.iter_mut().for_each(|waiting| waiting.go_back(mark));
        let again = |&ended: &Ended| match known.iter().position(|waiting| waiting.ended == ended) {
            Some(at) => known.swap_remove(at),
            None => Waiting::new(ended),
        };
        self.waiting = waiting.iter().map(again).collect();
    }

    /// Reads the pieces from the first that is new on, and gives what has become certain.
    fn read_on(
        &mut self,
        compiled: &CompiledGrammar,
        pieces: &[Piece],
        is_over: bool,
        budget: &Budget,
    ) -> Result<Vec<Capture>> {
        let told = self.told.len();
        for piece in &pieces[self.steps.len()..] {
            let mark = self.state.mark();
            let waiting = self.waiting.iter().map(|waiting| waiting.ended).collect();
            self.steps.push(ReadStep { mark, told: self.told.len(), waiting, end: usize::MAX });
            read(&mut self.state, compiled, piece, budget)?;
            check_captures(&self.state, budget)?;
            if let Some(step) = self.steps.last_mut() {
                step.end = self.state.text_len();
            }
            self.waiting.extend(self.state.ended_since(mark).into_iter().map(Waiting::new));
            self.tell_certain(budget)?;
        }
        if is_over {
            let left = self.state.captures_at_end(budget)?;
            let known: hashbrown::HashSet<Capture> = self.told.iter().cloned().collect();
            self.told.extend(left.into_iter().filter(|capture| !known.contains(capture)));
        }
        Ok(self.told[told..].to_vec())
    }

    fn tell_certain(&mut self, budget: &Budget) -> Result<()> {
        let first = self.waiting.len().saturating_sub(MOST_WAITING);
        if self.waiting.is_empty() {
            return Ok(());
        }
        let fronts = self.state.fronts();
        for mut waiting in self.waiting.split_off(first) {
            if self.state.is_certain(&mut waiting, &fronts, budget)? {
                self.told.extend(self.state.captures_of(waiting.ended, budget)?);
            } else {
                self.waiting.push(waiting);
            }
        }
        // Those before them are told at the end, from the whole text.
        let too_many = self.waiting.len().saturating_sub(MOST_WAITING);
        self.waiting.drain(..too_many);
        Ok(())
    }
}

impl Matcher {
    /// The spans that rules with `capture` matched, in the order in which they ended.
    ///
    /// With `settled`, those of parses that are still possible, or complete once the text has ended, and of the spans of one name from one start the
    /// longest; without, every span at which such a rule ended.
    ///
    /// The text is parsed anew, with a tree that the masks never need. For a long text and an ambiguous grammar that
    /// tree can be large, so it is bounded: beyond that, a [`tokenstile_grammar::ErrorKind::Limit`].
    pub fn captures(&self, settled: bool) -> Result<Vec<(String, Vec<u8>)>> {
        let spans = self.capture_spans(settled)?;
        Ok(spans.into_iter().map(|span| (span.name, span.bytes)).collect())
    }

    /// The same with the places of the spans.
    pub fn capture_spans(&self, settled: bool) -> Result<Vec<CaptureSpan>> {
        if !self.captures {
            return Ok(Vec::new());
        }
        let budget = no_limits();
        let oracle = oracle(&self.compiled)?;
        let mut state = oracle.start();
        if self.history.first().closed {
            state.spend_tokens();
        }
        for (at, piece) in self.pieces.iter().enumerate() {
            read(&mut state, &self.compiled, piece, &budget)?;
            if at % STEPS_A_LOOK == 0 {
                check_captures(&state, &budget)?;
            }
        }
        let captures = match (settled, self.is_terminated()) {
            (false, _) => state.all_captures(),
            (true, false) => state.captures_within(&budget)?,
            (true, true) => state.captures_at_end(&budget)?,
        };
        let length = |piece: &Piece| match &piece.text {
            PieceText::Token(token) => self.compiled.vocab().token_text(*token).len(),
            PieceText::Bytes(bytes) => bytes.len(),
            PieceText::Stop => 0,
        };
        let mut end = 0;
        let mut ends = Vec::with_capacity(self.pieces.len());
        for piece in &self.pieces {
            end += length(piece);
            ends.push(end);
        }
        Ok(captures.iter().map(|capture| span(capture, &state, &ends, |&end| end)).collect())
    }

    /// Has captures read as the text goes on, for [`Matcher::new_captures`].
    pub fn watch_captures(&mut self) -> Result<()> {
        if self.captures && self.reader.is_none() {
            self.reader = Some(Box::new(CaptureReader::new(&self.compiled, self.history.first().closed)?));
        }
        Ok(())
    }

    /// The captures that have become certain since the last time, if they are watched. What was taken back is told again
    /// if it comes again.
    pub fn new_captures(&mut self) -> Result<Vec<CaptureSpan>> {
        let is_over = self.is_terminated();
        let Some(reader) = self.reader.as_mut() else { return Ok(Vec::new()) };
        let told = reader.read_on(&self.compiled, &self.pieces, is_over, &no_limits());
        told.map(|captures| {
            let place = |capture: &Capture| span(capture, &reader.state, &reader.steps, |step| step.end);
            captures.iter().map(place).collect()
        })
    }

    /// How many steps were read for captures.
    pub(super) fn captures_read(&self) -> usize {
        self.reader.as_ref().map_or(0, |reader| reader.steps.len())
    }

    /// Forgets what was read for captures beyond so many steps, also of one that was not read to its end.
    pub(super) fn unread_captures(&mut self, steps: usize) {
        if let Some(reader) = &mut self.reader {
            reader.truncate(steps);
        }
    }
}

/// A capture with its place in the bytes of the text and in its steps, which `end` says the end of.
fn span<T>(
    capture: &Capture,
    state: &OracleState<'_>,
    steps: &[T],
    end: impl Fn(&T) -> usize,
) -> CaptureSpan {
    let first = steps.partition_point(|step| end(step) <= capture.start);
    let last = steps.partition_point(|step| end(step) < capture.end);
    let is_empty = capture.start == capture.end;
    CaptureSpan {
        name: capture.name.to_string(),
        bytes: state.captured_bytes(capture),
        byte_span: capture.start..capture.end,
        token_span: if is_empty { first..first } else { first..last + 1 },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokenstile_grammar::frontends::ebnf;

    use super::*;
    use crate::limits::EngineLimits;
    use crate::matcher::MatcherOptions;
    use crate::vocab::{Vocab, VocabOptions};

    /// The work of telling captures after each of so many tokens, in steps.
    fn steps(source: &str, text: &str, tokens: usize) -> u32 {
        let vocab = Vocab::new(["<", ">", "x", "1"].map(str::as_bytes), VocabOptions::default()).unwrap();
        let budget = Budget::default();
        let grammar = ebnf::parse(source, "root", budget.limits(), &budget).unwrap();
        let limits = EngineLimits { cache_bytes: usize::MAX };
        let compiled = CompiledGrammar::new(grammar, vocab, limits, &budget).unwrap();
        let mut matcher = Matcher::new(Arc::clone(&compiled), MatcherOptions::default());
        matcher.watch_captures().unwrap();
        let mut reader = matcher.reader.take().unwrap();
        let counted = no_limits();
        for piece in text.chars().cycle().take(tokens) {
            assert!(matcher.accept_bytes(piece.to_string().as_bytes()));
            reader.read_on(&compiled, &matcher.pieces, false, &counted).unwrap();
        }
        counted.ticks()
    }

    #[test]
    fn a_step_costs_what_its_bytes_cost() {
        for (source, text) in [
            // Nothing is certain before the end.
            (
                "root ::= a \"x\"* \"1\" | b \"x\"* \">\"\na[capture] ::= \"<\" | \"x\"\nb ::= \"<\" | \"x\"",
                "x",
            ),
            ("root ::= (a | b)*\na[capture] ::= \"<\" \"x\"* \">\"\nb ::= \"x\"", "<xx>x"),
            ("root ::= word*\nword[capture] ::= [x1]+ \"<\"", "x1x1<"),
        ] {
            let (some, twice) = (steps(source, text, 1_000), steps(source, text, 2_000));
            assert!(twice <= 2 * some + some / 4 + 100, "{source}: {some} and {twice}");
        }
    }

    #[test]
    fn what_was_taken_back_waits_again() {
        let vocab = Vocab::new(["<", ">", "x", "1"].map(str::as_bytes), VocabOptions::default()).unwrap();
        let source = "root ::= a \"x\"* \"1\" | b \"x\"* \">\"\na[capture] ::= \"<\"\nb ::= \"<\"";
        let budget = Budget::default();
        let grammar = ebnf::parse(source, "root", budget.limits(), &budget).unwrap();
        let limits = EngineLimits { cache_bytes: usize::MAX };
        let compiled = CompiledGrammar::new(grammar, vocab, limits, &budget).unwrap();
        let mut matcher = Matcher::new(compiled, MatcherOptions::default());
        matcher.watch_captures().unwrap();
        let told = |matcher: &mut Matcher, token: u32| {
            assert!(matcher.accept_token(token));
            matcher.new_captures().unwrap().len()
        };
        assert_eq!([0, 2, 2].map(|token| told(&mut matcher, token)), [0, 0, 0]);
        assert_eq!(told(&mut matcher, 3), 1);
        matcher.rollback(2).unwrap();
        assert_eq!([2, 3].map(|token| told(&mut matcher, token)), [0, 1]);
        matcher.rollback(1).unwrap();
        assert_eq!(told(&mut matcher, 1), 0);
    }
}
