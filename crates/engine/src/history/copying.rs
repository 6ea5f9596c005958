//! Copying a history to other tables while its matcher goes on with those that it has.
//!
//! Chunks are copied from the oldest on, so that what is deep in the stacks is carried over first and nothing waits for more
//! than a step has added. The newest steps come last, all at once: there are few of them.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{CHUNK, Chunk, History, Step, drop_chain};
use crate::config::SetId;

/// How far a history has been copied.
#[derive(Clone, Default)]
pub(crate) struct Copying {
    /// Full chunks that are to be copied, the oldest last.
    sources: VecDeque<Arc<Chunk>>,
    /// The copies, the newest first.
    copied: Option<Arc<Chunk>>,
    /// How many there are.
    count: usize,
}

impl Copying {
    /// Goes on copying `history`; the copy is given once it is whole. `carry` gives a configuration its number, or none if
    /// that is enough for now. Where it `keeps_all`, the configurations of all steps are copied.
    pub(crate) fn advance(
        &mut self,
        history: &History,
        keeps_all: bool,
        mut carry: impl FnMut(SetId) -> Option<SetId>,
    ) -> Option<History> {
        while self.count < history.full_len / CHUNK {
            if self.sources.is_empty() {
                self.find_sources(history);
            }
            let source = self.sources.back()?;
            let first = Step { config: carry(source.first.config)?, ..source.first };
            let configs = match &source.configs {
                Some(configs) if keeps_all => Some(Box::new(carry_all(configs, &mut carry)?)),
                _ => None,
            };
            let inputs = Arc::clone(&source.inputs);
            self.copied = Some(Arc::new(Chunk { before: self.copied.take(), first, inputs, configs }));
            self.count += 1;
            self.sources.pop_back();
        }
        let copy = |step: &Step| Some(Step { config: carry(step.config)?, ..*step });
        let tail = history.tail.iter().map(copy).collect::<Option<_>>()?;
        let (inputs, full_len) = (history.inputs.clone(), history.full_len);
        // They stay here too: whoever asked may be interrupted before the copy is in use.
        Some(History { full: self.copied.clone(), tail, inputs, full_len })
    }

    /// Finds the chunks that have not been copied.
    fn find_sources(&mut self, history: &History) {
        let mut missing = (history.full_len / CHUNK).saturating_sub(self.count);
        let mut at = history.full.as_ref();
        while let Some(chunk) = at.filter(|_| missing > 0) {
            self.sources.push_back(Arc::clone(chunk));
            at = chunk.before.as_ref();
            missing -= 1;
        }
    }

    /// Forgets the copies of what `history` does not have any more.
    pub(crate) fn truncate(&mut self, history: &History) {
        let full = history.full_len / CHUNK;
        while self.count > full {
            let Some(chunk) = self.copied.take() else { break };
            self.copied.clone_from(&chunk.before);
            self.count -= 1;
        }
        // Those that are left are found anew where they are more than were found before.
        let known = self.count + self.sources.len();
        self.sources.drain(..known.saturating_sub(full).min(self.sources.len()));
    }
}

fn carry_all(
    configs: &[SetId; CHUNK],
    mut carry: impl FnMut(SetId) -> Option<SetId>,
) -> Option<[SetId; CHUNK]> {
    let mut copies = [SetId::DEAD; CHUNK];
    for (copy, &config) in copies.iter_mut().zip(configs) {
        *copy = carry(config)?;
    }
    Some(copies)
}

impl Drop for Copying {
    fn drop(&mut self) {
        // The newest first: those before it are then held by nobody else.
        self.sources.drain(..).for_each(|chunk| drop_chain(Some(chunk)));
        drop_chain(self.copied.take());
    }
}
