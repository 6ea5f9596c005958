//! Masks along the draft tokens of one request, in the rows that an engine wants for them.
//!
//! Row 0 is the mask where the matcher stands, and row `k + 1` the one after draft `k`. Drafts are a chain, or a tree
//! that gives the parent of each. Engines sample from every row at once and look at the drafts afterwards, so a row must
//! never be empty. Hence the rules:
//!
//! 1. After a draft that does not fit, its row and those below it are the mask of the last place that was reached. The
//!    row before it forbids the draft, so what is sampled from these rows is thrown away.
//! 2. After a draft that ended the text, and after padding (-1), rows allow everything.
//! 3. The matcher itself does not move: forks of it do, and a fork is cheap.
//!
//! [`crate::draft_tree`] is the form that XGrammar has for the same: links to children and siblings, and empty rows.

use crate::matcher::Matcher;

/// The id that stands for "no draft here".
pub const PADDING: i64 = -1;

/// The drafts of one request.
#[derive(Clone, Copy, Debug)]
pub struct Drafts<'a> {
    /// The tokens.
    pub tokens: &'a [i64],
    /// For a tree, the draft that each one follows, which comes before it; -1 for the matcher's place.
    pub parents: Option<&'a [i64]>,
}

/// What became of a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It does not fit, or one before it does not.
    Rejected = 0,
    /// It fits.
    Accepted = 1,
    /// It fits, and ends the text.
    Ended = 2,
    /// Nobody asked: it is padding, or comes after padding or after the end.
    Unread = 3,
}

/// What a row is to hold.
#[derive(Debug)]
pub enum Row<'a> {
    /// The mask of this matcher.
    Mask(&'a mut Matcher),
    /// Everything.
    Open,
}

/// Why drafts cannot be walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    /// There are not as many parents as tokens.
    #[error("the drafts have {tokens} tokens and {parents} parents")]
    Lengths {
        /// The number of tokens.
        tokens: usize,
        /// The number of parents.
        parents: usize,
    },
    /// A parent that does not come before its child.
    #[error("the parent of draft {draft} is {parent}; it must be an earlier draft, or -1")]
    Parent {
        /// The draft.
        draft: usize,
        /// Its parent.
        parent: i64,
    },
}

/// Where one way through the drafts has come to.
#[derive(Clone)]
struct Place {
    matcher: Matcher,
    /// What the last draft was; `Accepted` at the start.
    last: Outcome,
}

impl Place {
    fn advance(mut self, token: i64) -> Self {
        self.last = match self.last {
            Outcome::Rejected => Outcome::Rejected,
            Outcome::Ended | Outcome::Unread => Outcome::Unread,
            Outcome::Accepted if token == PADDING => Outcome::Unread,
            Outcome::Accepted => self.accept(token),
        };
        self
    }

    fn accept(&mut self, token: i64) -> Outcome {
        let fits = u32::try_from(token).is_ok_and(|token| self.matcher.accept_token(token));
        match (fits, self.matcher.is_stopped()) {
            (false, _) => Outcome::Rejected,
            (true, false) => Outcome::Accepted,
            (true, true) => Outcome::Ended,
        }
    }

    fn row(&mut self) -> Row<'_> {
        match self.last {
            Outcome::Rejected | Outcome::Accepted => Row::Mask(&mut self.matcher),
            Outcome::Ended | Outcome::Unread => Row::Open,
        }
    }
}

impl Drafts<'_> {
    /// How many rows they take.
    pub fn rows(&self) -> usize {
        self.tokens.len() + 1
    }

    /// Fails if the parents do not go with the tokens.
    pub fn check(&self) -> Result<(), DraftError> {
        let Some(parents) = self.parents else { return Ok(()) };
        if parents.len() != self.tokens.len() {
            return Err(DraftError::Lengths { tokens: self.tokens.len(), parents: parents.len() });
        }
        let is_right = |draft: usize, parent: i64| {
            parent == -1 || usize::try_from(parent).is_ok_and(|parent| parent < draft)
        };
        match parents.iter().enumerate().find(|&(draft, &parent)| !is_right(draft, parent)) {
            Some((draft, &parent)) => Err(DraftError::Parent { draft, parent }),
            None => Ok(()),
        }
    }

    /// Calls `fill` for every row, and tells what became of each draft.
    pub fn walk(
        &self,
        matcher: &mut Matcher,
        mut fill: impl FnMut(usize, Row<'_>),
    ) -> Result<Vec<Outcome>, DraftError> {
        self.check()?;
        if self.tokens.is_empty() {
            fill(0, if matcher.is_stopped() { Row::Open } else { Row::Mask(matcher) });
            return Ok(Vec::new());
        }
        let last = if matcher.is_stopped() { Outcome::Ended } else { Outcome::Accepted };
        let mut start = Place { matcher: matcher.fork(), last };
        fill(0, start.row());
        // `places[k]` is the place that row `k` shows. A chain moves its only place along.
        let mut places = vec![Some(start)];
        let mut outcomes = Vec::with_capacity(self.tokens.len());
        for (draft, &token) in self.tokens.iter().enumerate() {
            let before = match self.parents {
                None => places[draft].take(),
                Some(parents) => places[usize::try_from(parents[draft] + 1).unwrap_or(0)].clone(),
            };
            let Some(before) = before else { break };
            let mut place = before.advance(token);
            fill(draft + 1, place.row());
            outcomes.push(place.last);
            places.push(Some(place));
        }
        Ok(outcomes)
    }
}

/// Accepts `tokens` one after the other, all of them or none. What comes after the end of the text is ignored.
///
/// Returns whether they fit.
pub fn accept_all(matcher: &mut Matcher, tokens: &[i64]) -> bool {
    let before = matcher.history_len();
    for &token in tokens {
        if matcher.is_stopped() {
            return true;
        }
        if !u32::try_from(token).is_ok_and(|token| matcher.accept_token(token)) {
            let taken_back = matcher.rollback(matcher.history_len() - before);
            debug_assert!(taken_back.is_ok(), "these steps were taken here");
            return false;
        }
    }
    true
}
