//! Masks that were interrupted: how far they had come.
//!
//! A mask that takes longer than its caller can wait is asked for again, and must not take as long again. The walk along
//! terminals leaves its tables behind, so the next one is quicker. But a table that is not finished is lost, and if one alone
//! takes longer than the caller waits, no call would ever come to an end. So after [`MOST_WALKS`] such walks the mask is found
//! by reading all tokens, and that walk goes on where it was interrupted.

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::by_configs::WalkState;
use crate::config::SetId;
use crate::generation::Generation;

/// How many masks are remembered; those that were interrupted first are forgotten. A walk may hold tables of its own.
const MOST_MASKS: usize = 8;

/// How often a mask is interrupted before all tokens are read for it.
const MOST_WALKS: u32 = 2;

/// The masks that were interrupted.
#[derive(Default)]
pub(crate) struct PutBy(Mutex<VecDeque<Unfinished>>);

struct Unfinished {
    config: SetId,
    walks: u32,
    /// How far the walk over all tokens has come, if there was one.
    reading: Option<WalkState>,
}

impl PutBy {
    /// Whether all tokens are to be read for a mask.
    fn is_to_be_read(&self, config: SetId) -> bool {
        self.0.lock().iter().any(|unfinished| unfinished.config == config && unfinished.walks >= MOST_WALKS)
    }

    /// How far the walk over all tokens has come for a mask.
    pub(super) fn take_walk(&self, config: SetId) -> Option<WalkState> {
        let mut all = self.0.lock();
        all.iter_mut().find(|unfinished| unfinished.config == config)?.reading.take()
    }

    /// Remembers how far the walk over all tokens has come.
    pub(super) fn keep_walk(&self, config: SetId, walk: WalkState) {
        self.note(config, |unfinished| unfinished.reading = Some(walk));
    }

    fn note(&self, config: SetId, change: impl FnOnce(&mut Unfinished)) {
        let mut all = self.0.lock();
        if let Some(known) = all.iter_mut().find(|unfinished| unfinished.config == config) {
            return change(known);
        }
        let mut unfinished = Unfinished { config, walks: 0, reading: None };
        change(&mut unfinished);
        all.push_back(unfinished);
        let too_many = all.len().saturating_sub(MOST_MASKS);
        all.drain(..too_many);
    }

    /// Forgets a mask that was finished.
    fn forget(&self, config: SetId) {
        self.0.lock().retain(|unfinished| unfinished.config != config);
    }
}

/// A mask that is being made. Should it be interrupted, that is noted.
pub(super) struct UnderWay<'g> {
    generation: &'g Generation,
    config: SetId,
}

impl<'g> UnderWay<'g> {
    pub(super) fn new(generation: &'g Generation, config: SetId) -> Self {
        UnderWay { generation, config }
    }

    /// Whether all tokens are to be read for the mask, because it was interrupted often enough.
    pub(super) fn is_to_be_read(&self) -> bool {
        let put_by = self.generation.masks_put_by();
        put_by.is_some_and(|put_by| put_by.is_to_be_read(self.config))
    }

    /// Forgets that it ever was interrupted.
    pub(super) fn finish(self) {
        if let Some(put_by) = self.generation.masks_put_by() {
            put_by.forget(self.config);
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.generation.put_by().note(self.config, |unfinished| unfinished.walks += 1);
        }
    }
}
