//! Free text with tags as a node.
//!
//! It reads text byte by byte, and calls what follows a tag where the tag has been read. A position is the state of the
//! text plus one, so that the start is a position to which nothing comes back.

use std::sync::Arc;

use tokenstile_grammar::regular::TagText;
use tokenstile_grammar::{Budget, Result};

use super::node::{At, NodeId, START};

/// The position after what follows a tag, where the text does not go on.
const END: At = At::MAX;

#[derive(Debug)]
pub(super) struct TaggedNode {
    text: Arc<TagText>,
    /// What follows each tag.
    parts: Box<[NodeId]>,
    repeats: bool,
    /// The states in which a tag has been read.
    read: Vec<u32>,
}

impl TaggedNode {
    pub(super) fn new(text: &Arc<TagText>, parts: Box<[NodeId]>, repeats: bool) -> Self {
        let read = (0..text.len() as u32).filter(|&state| text.tag(state).is_some()).collect();
        TaggedNode { text: Arc::clone(text), parts, repeats, read }
    }

    /// Takes note of which nodes generate something: a tag is of no use if nothing can follow it.
    pub(super) fn settle(&mut self, productive: &[bool], budget: &Budget) -> Result<()> {
        let is_dead = |tag: usize| !productive[self.parts[tag].index()];
        self.text = Arc::new(self.text.without(is_dead, budget)?);
        self.read.retain(|&state| self.text.tag(state).is_some());
        Ok(())
    }

    fn state(at: At) -> Option<u32> {
        (at != END).then(|| at.saturating_sub(1) as u32)
    }

    pub(super) fn is_end(&self, at: At) -> bool {
        Self::state(at).is_none_or(|state| self.text.is_end(state))
    }

    pub(super) fn after_byte(&self, at: At, byte: u8) -> Option<At> {
        self.text.next(Self::state(at)?, byte).map(|state| At::from(state) + 1)
    }

    fn after_part(&self) -> At {
        if self.repeats { START + 1 } else { END }
    }

    pub(super) fn calls(&self, at: At) -> Vec<(NodeId, At)> {
        let tag = Self::state(at).and_then(|state| self.text.tag(state));
        tag.map(|tag| (self.parts[tag as usize], self.after_part())).into_iter().collect()
    }

    /// The calls whose end leads to `at`.
    pub(super) fn calls_into(&self, at: At) -> Vec<(NodeId, At)> {
        if at != self.after_part() {
            return Vec::new();
        }
        let call = |&state: &u32| Some((self.parts[self.text.tag(state)? as usize], At::from(state) + 1));
        self.read.iter().filter_map(call).collect()
    }
}
