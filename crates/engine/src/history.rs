//! The steps of a matcher, in a form that forks share.
//!
//! Steps are kept in chunks. Full chunks are linked from the newest to the oldest and never change, so a fork shares
//! them and copies only the last few steps: it costs the same after ten steps and after a million. Going back over a
//! chunk takes it apart again.
//!
//! A chunk knows what was read in each of its steps. When a history is copied to other tables, of most chunks only the
//! first configuration is carried over, and the others are found by reading again once somebody goes back to them. So
//! what a long text takes is what was read and one configuration in [`CHUNK`]; see [`copying`].

mod copying;

use std::sync::Arc;

use smallvec::SmallVec;

use crate::config::SetId;

pub(crate) use copying::Copying;

/// The steps of a full chunk.
const CHUNK: usize = 64;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The configuration after it.
    pub(crate) config: SetId,
    /// Whether a stop token has ended the text. Then it is the last.
    pub(crate) stopped: bool,
    /// Whether the budget has cut free text off, here or before.
    pub(crate) cut: bool,
    /// Whether rules closed after it that end only where their tokens have run out; known of the newest steps, and the start.
    pub(crate) closed: bool,
    /// How many tokens there have been.
    pub(crate) tokens: u32,
}

/// What was read in a step.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// A token.
    Token(u32),
    /// Bytes, which are no token.
    Bytes(Arc<[u8]>),
}

/// What was read in the steps of a chunk, or of its beginning.
#[derive(Clone, Default)]
struct Inputs {
    /// The token of each step; [`Inputs::NO_TOKEN`] for bytes.
    tokens: SmallVec<[u32; CHUNK]>,
    /// The bytes, by the step.
    texts: Vec<(usize, Arc<[u8]>)>,
}

impl Inputs {
    /// Stands for a step that reads no token.
    const NO_TOKEN: u32 = u32::MAX;

    fn push(&mut self, input: Input) {
        let token = match input {
            Input::Token(token) => token,
            Input::Bytes(bytes) => {
                self.texts.push((self.tokens.len(), bytes));
                Self::NO_TOKEN
            }
        };
        self.tokens.push(token);
    }

    fn truncate(&mut self, len: usize) {
        self.tokens.truncate(len);
        self.texts.retain(|&(at, _)| at < len);
    }

    /// What was read in a step. None for the start.
    fn get(&self, at: usize) -> Option<Input> {
        match self.tokens[at] {
            Self::NO_TOKEN => {
                let text = self.texts.iter().find(|text| text.0 == at)?;
                Some(Input::Bytes(Arc::clone(&text.1)))
            }
            token => Some(Input::Token(token)),
        }
    }
}

struct Chunk {
    before: Option<Arc<Chunk>>,
    /// Its first step.
    first: Step,
    inputs: Arc<Inputs>,
    /// The configurations after its steps, if they are known.
    configs: Option<Box<[SetId; CHUNK]>>,
}

impl Chunk {
    /// Its first `len` steps. `read` says where an input leads.
    fn steps(&self, len: usize, mut read: impl FnMut(SetId, &Input) -> SetId) -> impl Iterator<Item = Step> {
        let mut last = self.first;
        (0..len).map(move |at| {
            let input = if at == 0 { None } else { self.inputs.get(at) };
            if let Some(input) = input {
                let config = match &self.configs {
                    Some(configs) => configs[at],
                    None => read(last.config, &input),
                };
                let tokens = last.tokens + u32::from(matches!(input, Input::Token(_)));
                last = Step { config, tokens, stopped: false, cut: last.cut, closed: false };
            }
            last
        })
    }
}

/// All steps, the newest last. There is always one: the start.
#[derive(Clone)]
pub(crate) struct History {
    full: Option<Arc<Chunk>>,
    /// The newest steps; never empty, at most `CHUNK`.
    tail: SmallVec<[Step; CHUNK]>,
    /// What was read in these.
    inputs: Inputs,
    full_len: usize,
}

impl History {
    pub(crate) fn new(start: Step) -> Self {
        let inputs = Inputs { tokens: SmallVec::from_elem(Inputs::NO_TOKEN, 1), texts: Vec::new() };
        History { full: None, tail: SmallVec::from_elem(start, 1), inputs, full_len: 0 }
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
        oldest.map_or(self.tail[0], |chunk| chunk.first)
    }

    pub(crate) fn push(&mut self, step: Step, input: Input) {
        if self.tail.len() == CHUNK {
            self.close_chunk();
        }
        self.tail.push(step);
        self.inputs.push(input);
    }

    fn close_chunk(&mut self) {
        let mut configs = Box::new([SetId::DEAD; CHUNK]);
        configs.iter_mut().zip(&self.tail).for_each(|(config, step)| *config = step.config);
        self.full = Some(Arc::new(Chunk {
            before: self.full.take(),
            first: self.tail[0],
            inputs: Arc::new(std::mem::take(&mut self.inputs)),
            configs: Some(configs),
        }));
        self.full_len += CHUNK;
        self.tail.clear();
    }

    /// Keeps the first `len` steps; at least one is kept. `read` says where an input leads, if that was forgotten.
    pub(crate) fn truncate(&mut self, len: usize, read: impl FnMut(SetId, &Input) -> SetId) {
        let len = len.clamp(1, self.len());
        let mut opened = None;
        while self.full_len >= len {
            let Some(chunk) = self.full.take() else { break };
            self.full.clone_from(&chunk.before);
            self.full_len -= CHUNK;
            opened = Some(chunk);
        }
        if let Some(chunk) = opened {
            self.tail.clear();
            self.tail.extend(chunk.steps(len - self.full_len, read));
            self.inputs = (*chunk.inputs).clone();
        }
        self.tail.truncate(len - self.full_len);
        self.inputs.truncate(len - self.full_len);
    }
}

/// Drops a chain of chunks one after the other: one that drops itself would nest as deep as it is long.
fn drop_chain(mut next: Option<Arc<Chunk>>) {
    while let Some(chunk) = next {
        next = Arc::into_inner(chunk).and_then(|mut chunk| chunk.before.take());
    }
}

impl Drop for History {
    fn drop(&mut self) {
        drop_chain(self.full.take());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    fn step(at: u32) -> Step {
        Step { config: SetId(at), stopped: false, cut: false, closed: false, tokens: at - at / 10 }
    }

    /// Each tenth step reads bytes, and the others the number of the step.
    fn input(at: u32) -> Input {
        if at.is_multiple_of(10) { Input::Bytes(at.to_le_bytes().into()) } else { Input::Token(at) }
    }

    /// What [`input`] says, of the right step alone.
    fn read(from: SetId, input: &Input) -> SetId {
        let at = match input {
            Input::Token(at) => *at,
            Input::Bytes(bytes) => u32::from_le_bytes((**bytes).try_into().unwrap()),
        };
        assert_eq!(from.0 % 1_000 + 1, at);
        SetId(from.0 + 1)
    }

    fn unread(_: SetId, _: &Input) -> SetId {
        panic!("the configuration was known")
    }

    fn filled(len: u32) -> History {
        let mut history = History::new(step(0));
        (1..len).for_each(|at| history.push(step(at), input(at)));
        history
    }

    #[test]
    fn goes_back_to_any_length() {
        for len in [1u32, 2, 63, 64, 65, 128, 129, 300] {
            for keep in 1..=len {
                let mut history = filled(len);
                history.truncate(keep as usize, unread);
                assert_eq!(
                    (history.len(), history.last()),
                    (keep as usize, step(keep - 1)),
                    "{len} to {keep}"
                );
                history.push(step(9_999), input(9_999));
                assert_eq!((history.len(), history.last()), (keep as usize + 1, step(9_999)));
            }
        }
    }

    #[test]
    fn forks_do_not_see_each_other() {
        let mut first = filled(200);
        let mut second = first.clone();
        second.truncate(50, unread);
        (0..100).for_each(|at| second.push(step(1_000 + at), input(at)));
        first.push(step(5), input(5));
        assert_eq!((first.len(), first.last()), (201, step(5)));
        first.truncate(200, unread);
        assert_eq!(first.last(), step(199));
        assert_eq!((second.len(), second.last()), (150, step(1_099)));
    }

    /// Carries a thousand numbers further, `most` of them at a time.
    fn copy(history: &History, copying: &mut Copying, most: usize, keeps_all: bool) -> Option<History> {
        let mut left = most;
        copying.advance(history, keeps_all, |config| {
            left = left.checked_sub(1)?;
            Some(SetId(config.0 + 1_000))
        })
    }

    #[test]
    fn copies_in_pieces_and_finds_every_step_again() {
        for keeps_all in [false, true] {
            let history = filled(700);
            let mut copying = Copying::default();
            let mut calls = 0;
            let mut copied = loop {
                calls += 1;
                if let Some(copied) = copy(&history, &mut copying, 100, keeps_all) {
                    break copied;
                }
            };
            // All steps, or the newest ones and one of each chunk.
            assert_eq!(calls, if keeps_all { 11 } else { 1 });
            for at in (0..700).rev() {
                let expected = Step { config: SetId(at + 1_000), ..step(at) };
                assert_eq!(copied.last(), expected);
                if keeps_all {
                    copied.truncate(at as usize, unread);
                } else {
                    copied.truncate(at as usize, read);
                }
            }
        }
    }

    #[test]
    fn a_history_changes_while_it_is_copied() {
        for (back_to, then) in [(650, 900), (1, 300), (130, 130), (640, 641)] {
            let mut history = filled(700);
            let mut copying = Copying::default();
            assert!(copy(&history, &mut copying, 5, false).is_none());
            history.truncate(back_to, unread);
            copying.truncate(&history);
            for at in back_to as u32..then {
                history.push(step(at), input(at));
                assert!(copy(&history, &mut copying, 0, false).is_none());
            }
            let mut copied = copy(&history, &mut copying, 1_000, false).unwrap();
            for at in (0..history.len() as u32).rev() {
                assert_eq!(copied.last(), Step { config: SetId(at + 1_000), ..step(at) });
                copied.truncate(at as usize, read);
            }
        }
    }

    #[test]
    fn a_long_history_drops_without_nesting() {
        let history = filled(10_000_000);
        let mut copying = Copying::default();
        assert!(copy(&history, &mut copying, 150_000, false).is_none());
        drop((history, copying));
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
