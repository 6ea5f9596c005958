//! Carrying configurations over to another generation, as much at a time as is asked for.
//!
//! A stack may be as deep as the text is long, and so may what an array has had. So a carrier remembers how far it has come: a
//! call does some work, and the next one goes on from there. What was carried keeps its number, so nothing is done twice.
//! All matchers that leave a generation for the same one may use one carrier.

use hashbrown::HashMap;

use crate::config::{Copies, SetId};
use crate::generation::Generation;
use crate::interrupt;
use crate::store::numbers::Numbers;
use crate::terminal::TerminalId;

/// The generations that something is carried between, which are of the same grammar.
#[derive(Clone, Copy)]
pub(crate) struct Way<'g> {
    pub(crate) from: &'g Generation,
    pub(crate) to: &'g Generation,
}

/// How much may still be carried, in sets and pieces of what is remembered.
pub(crate) struct Work(usize);

impl Work {
    /// As much as it takes.
    pub(crate) fn all() -> Self {
        Work(usize::MAX)
    }

    pub(crate) fn new(amount: usize) -> Self {
        Work(amount)
    }

    /// Takes some of it. Whether there was any.
    pub(crate) fn take(&mut self, amount: usize) -> bool {
        let is_left = self.0 > 0;
        self.0 = self.0.saturating_sub(amount);
        is_left
    }
}

/// What was carried from one generation to another.
#[derive(Default)]
pub(crate) struct Carrier {
    sets: Numbers,
    /// The sets that are being carried, each under those that it needs.
    waiting: Vec<SetId>,
    pub(crate) terminals: HashMap<TerminalId, TerminalId>,
    pub(crate) pieces: Copies,
}

impl Carrier {
    /// A carrier that has carried nothing yet.
    pub(crate) fn new(way: Way<'_>) -> Self {
        way.to.sets().go_on_from(way.from.sets());
        Carrier::default()
    }

    /// The number that `root` has in the other generation. None if there was not enough work left to find it.
    pub(crate) fn carry(&mut self, way: Way<'_>, root: SetId, work: &mut Work) -> Option<SetId> {
        loop {
            if let Some(copy) = self.known(root) {
                return Some(copy);
            }
            let id = if let Some(&id) = self.waiting.last() {
                id
            } else {
                self.waiting.push(root);
                root
            };
            if self.known(id).is_some() {
                self.waiting.pop();
                continue;
            }
            if !work.take(1) {
                return None;
            }
            interrupt::poll(1);
            let count = self.waiting.len();
            for part in way.from.sets().parts(id) {
                if self.known(part).is_none() {
                    self.waiting.push(part);
                }
            }
            if self.waiting.len() == count {
                let copy = self.carry_set(way, id, work)?;
                self.sets.set(id.0, copy.0);
                self.waiting.pop();
            }
        }
    }

    /// The number of a set that has been carried.
    pub(crate) fn known(&self, id: SetId) -> Option<SetId> {
        self.sets.get(id.0).map(SetId)
    }
}
