//! The steps of a matcher, in a form that forks share.
//!
//! Steps are kept in chunks. Full chunks are linked from the newest to the oldest and never change, so a fork shares
//! them and copies only the last few steps: it costs the same after ten steps and after a million. Going back over a
//! chunk takes it apart again.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::config::SetId;

/// The steps of a full chunk.
const CHUNK: usize = 64;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The configuration after it.
    pub(crate) config: SetId,
    /// Whether a stop token has ended the text.
    pub(crate) stopped: bool,
    /// Whether rules closed after it that end only where their tokens have run out.
    pub(crate) closed: bool,
    /// How many tokens there have been.
    pub(crate) tokens: u32,
}

#[derive(Clone)]
struct Chunk {
    before: Option<Arc<Chunk>>,
    steps: [Step; CHUNK],
}

/// All steps, the newest last. There is always one: the start.
#[derive(Clone)]
pub(crate) struct History {
    full: Option<Arc<Chunk>>,
    /// The newest steps; never empty, at most `CHUNK`.
    tail: SmallVec<[Step; CHUNK]>,
    full_len: usize,
}

impl History {
    pub(crate) fn new(start: Step) -> Self {
        History { full: None, tail: SmallVec::from_elem(start, 1), full_len: 0 }
    }

    /// How many steps there are, the start included.
    pub(crate) fn len(&self) -> usize {
        self.full_len + self.tail.len()
    }

    /// The newest step.
    #[inline]
    pub(crate) fn last(&self) -> Step {
        self.tail[self.tail.len() - 1]
    }

    /// The oldest step: the start.
    pub(crate) fn first(&self) -> Step {
        let mut oldest = self.full.as_ref();
        while let Some(before) = oldest.and_then(|chunk| chunk.before.as_ref()) {
            oldest = Some(before);
        }
        oldest.map_or(self.tail[0], |chunk| chunk.steps[0])
    }

    pub(crate) fn push(&mut self, step: Step) {
        if self.tail.len() == CHUNK {
            let mut steps = [step; CHUNK];
            steps.copy_from_slice(&self.tail);
            self.full = Some(Arc::new(Chunk { before: self.full.take(), steps }));
            self.full_len += CHUNK;
            self.tail.clear();
        }
        self.tail.push(step);
    }

    /// Keeps the first `len` steps; at least one is kept.
    pub(crate) fn truncate(&mut self, len: usize) {
        let len = len.clamp(1, self.len());
        while self.full_len >= len {
            let Some(chunk) = self.full.take() else { break };
            self.tail.clear();
            self.tail.extend_from_slice(&chunk.steps);
            self.full.clone_from(&chunk.before);
            self.full_len -= CHUNK;
        }
        self.tail.truncate(len - self.full_len);
    }

    /// The same steps with other numbers for their configurations.
    pub(crate) fn map(&self, mut config: impl FnMut(SetId) -> SetId) -> Self {
        let mut chunks = Vec::new();
        let mut at = self.full.as_ref();
        while let Some(chunk) = at {
            chunks.push(chunk);
            at = chunk.before.as_ref();
        }
        let oldest_first = chunks.iter().rev().flat_map(|chunk| chunk.steps.iter()).chain(&self.tail);
        let mut steps = oldest_first.map(|step| Step { config: config(step.config), ..*step });
        let mut copy = steps.next().map_or_else(|| self.clone(), History::new);
        steps.for_each(|step| copy.push(step));
        copy
    }
}

impl Drop for History {
    fn drop(&mut self) {
        // One after the other: a chain of chunks that drops itself would nest as deep as it is long.
        let mut next = self.full.take();
        while let Some(chunk) = next {
            next = Arc::into_inner(chunk).and_then(|mut chunk| chunk.before.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    fn step(at: u32) -> Step {
        Step { config: SetId(at), stopped: at.is_multiple_of(7), closed: false, tokens: at }
    }

    fn filled(len: u32) -> History {
        let mut history = History::new(step(0));
        (1..len).for_each(|at| history.push(step(at)));
        history
    }

    #[test]
    fn goes_back_to_any_length() {
        for len in [1u32, 2, 63, 64, 65, 128, 129, 300] {
            for keep in 1..=len {
                let mut history = filled(len);
                history.truncate(keep as usize);
                assert_eq!(
                    (history.len(), history.last()),
                    (keep as usize, step(keep - 1)),
                    "{len} to {keep}"
                );
                history.push(step(9_999));
                assert_eq!((history.len(), history.last()), (keep as usize + 1, step(9_999)));
            }
        }
    }

    #[test]
    fn forks_do_not_see_each_other() {
        let mut first = filled(200);
        let mut second = first.clone();
        second.truncate(50);
        (0..100).for_each(|at| second.push(step(1_000 + at)));
        first.push(step(5));
        assert_eq!((first.len(), first.last()), (201, step(5)));
        first.truncate(200);
        assert_eq!(first.last(), step(199));
        assert_eq!((second.len(), second.last()), (150, step(1_099)));
    }

    #[test]
    fn maps_every_step() {
        let mut mapped = filled(300).map(|config| SetId(config.0 + 1));
        for at in (0..300).rev() {
            assert_eq!(mapped.last(), Step { config: SetId(at + 1), ..step(at) });
            mapped.truncate(at as usize);
        }
    }

    #[test]
    fn a_long_history_drops_without_nesting() {
        drop(filled(10_000_000));
    }

    /// Whichever fork is the last takes the chunks apart, on a stack that would not hold a call for each.
    #[test]
    fn forks_that_are_dropped_at_once_do_not_nest() {
        const FORKS: usize = 4;
        for _ in 0..50 {
            let history = filled(CHUNK as u32 * 5_000);
            let together = Barrier::new(FORKS);
            std::thread::scope(|scope| {
                for fork in vec![history; FORKS] {
                    let together = &together;
                    let run = move || {
                        together.wait();
                        drop(fork);
                    };
                    let thread = std::thread::Builder::new().stack_size(64 << 10);
                    thread.spawn_scoped(scope, run).expect("a thread can be started");
                }
            });
        }
    }
}
