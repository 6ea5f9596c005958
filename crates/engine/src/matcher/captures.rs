//! Captures of a matcher: the spans that rules with `capture` matched.
//!
//! The masks need no tree and there is none. Where captures are asked for at the end, the text is parsed anew. Where they
//! are watched, a second parse goes along with the text, and what has become certain is told: a span that is in every
//! parse of the text so far. It will be in every parse of every text that goes on from there, so what was told stays true.
//! When the text ends, what is left of its captures is told as well.

use std::ops::Range;

use tokenstile_grammar::{Budget, CancelFlag, Error, ErrorKind, Limits, Result};

use super::{Matcher, Piece};
use crate::compiled::CompiledGrammar;
use crate::oracle::{Capture, Ended, Mark, Oracle, OracleState};

/// A span of the text that a rule with `capture` matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureSpan {
    /// The name that the rule gives to its spans.
    pub name: String,
    /// What was matched.
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
    Budget::new(limits, CancelFlag::default())
}

/// Reads a piece of a text.
fn read(
    state: &mut OracleState<'_>,
    compiled: &CompiledGrammar,
    piece: &Piece,
    budget: &Budget,
) -> Result<()> {
    match piece {
        Piece::Token(token) => state.advance_token(compiled.vocab().token_bytes(*token), token.0),
        Piece::Bytes(bytes) => {
            for part in bytes.chunks(STEPS_A_LOOK) {
                state.advance_bytes(part);
                check_captures(state, budget)?;
            }
        }
        Piece::Stop => {}
    }
    Ok(())
}

/// Reads captures as they come.
#[derive(Clone)]
pub(super) struct CaptureReader {
    state: OracleState<'static>,
    /// Where the chart stood before each step that was read, and how many captures had been told and were waiting.
    steps: Vec<(Mark, usize, Vec<Ended>)>,
    /// The captures that ended and are not certain yet.
    waiting: Vec<Ended>,
    told: Vec<Capture>,
}

impl CaptureReader {
    fn new(compiled: &CompiledGrammar) -> Result<Self> {
        let oracle = Oracle::with_budget(compiled.grammar(), &no_limits())?;
        let state = oracle.into_start();
        Ok(CaptureReader { state, steps: Vec::new(), waiting: Vec::new(), told: Vec::new() })
    }

    /// Goes back to where `steps` steps had been read.
    pub(super) fn truncate(&mut self, steps: usize) {
        let Some((mark, told, waiting)) = self.steps.drain(steps.min(self.steps.len())..).next() else {
            return;
        };
        self.state.go_back(mark);
        self.told.truncate(told);
        self.waiting = waiting;
    }

    /// Reads the pieces from the first that is new on, and gives what has become certain.
    fn read_on(
        &mut self,
        compiled: &CompiledGrammar,
        pieces: &[Piece],
        is_over: bool,
    ) -> Result<Vec<Capture>> {
        let (budget, told) = (no_limits(), self.told.len());
        for piece in &pieces[self.steps.len()..] {
            let mark = self.state.mark();
            self.steps.push((mark, self.told.len(), self.waiting.clone()));
            read(&mut self.state, compiled, piece, &budget)?;
            check_captures(&self.state, &budget)?;
            self.waiting.extend(self.state.ended_since(mark));
            self.tell_certain(&budget)?;
        }
        if is_over {
            let left = self.state.captures_at_end(&budget)?;
            let is_new = |capture: &Capture| !self.told.contains(capture);
            let left: Vec<Capture> = left.into_iter().filter(is_new).collect();
            self.told.extend(left);
        }
        Ok(self.told[told..].to_vec())
    }

    fn tell_certain(&mut self, budget: &Budget) -> Result<()> {
        let first = self.waiting.len().saturating_sub(MOST_WAITING);
        if self.waiting.is_empty() {
            return Ok(());
        }
        let fronts = self.state.fronts();
        for ended in self.waiting.split_off(first) {
            if !self.state.is_certain(ended, &fronts, budget)? {
                self.waiting.push(ended);
            } else if let Some(capture) = self.state.capture_of(ended) {
                self.told.push(capture);
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
        let oracle = Oracle::with_budget(self.compiled.grammar(), &budget)?;
        let mut state = oracle.start();
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
        Ok(self.spans(&captures, &state))
    }

    /// Has captures read as the text goes on, for [`Matcher::new_captures`].
    pub fn watch_captures(&mut self) -> Result<()> {
        if self.captures && self.reader.is_none() {
            self.reader = Some(Box::new(CaptureReader::new(&self.compiled)?));
        }
        Ok(())
    }

    /// The captures that have become certain since the last time, if they are watched. What was taken back is told again
    /// if it comes again.
    pub fn new_captures(&mut self) -> Result<Vec<CaptureSpan>> {
        let is_over = self.is_terminated();
        let Some(mut reader) = self.reader.take() else { return Ok(Vec::new()) };
        let told = reader.read_on(&self.compiled, &self.pieces, is_over);
        let spans = told.map(|captures| self.spans(&captures, &reader.state));
        self.reader = Some(reader);
        spans
    }

    /// The places of captures in the bytes and the steps of the text.
    fn spans(&self, captures: &[Capture], state: &OracleState<'_>) -> Vec<CaptureSpan> {
        let length = |piece: &Piece| match piece {
            Piece::Token(token) => self.compiled.vocab().token_bytes(*token).len(),
            Piece::Bytes(bytes) => bytes.len(),
            Piece::Stop => 0,
        };
        let ends: Vec<usize> = self
            .pieces
            .iter()
            .scan(0, |end, piece| {
                *end += length(piece);
                Some(*end)
            })
            .collect();
        let span = |capture: &Capture| {
            let first = ends.partition_point(|&end| end <= capture.start);
            let last = ends.partition_point(|&end| end < capture.end);
            let is_empty = capture.start == capture.end;
            CaptureSpan {
                name: capture.name.to_string(),
                bytes: state.captured_bytes(capture).to_vec(),
                byte_span: capture.start..capture.end,
                token_span: if is_empty { first..first } else { first..last + 1 },
            }
        };
        captures.iter().map(span).collect()
    }
}
