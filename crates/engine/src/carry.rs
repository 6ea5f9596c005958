//! Carrying a configuration over to another generation.

use hashbrown::HashMap;

use crate::config::{Copies, SetId};
use crate::generation::Generation;
use crate::interrupt;
use crate::terminal::TerminalId;

/// Copies configurations from one generation to another of the same grammar.
pub(crate) struct Carrier<'g> {
    pub(crate) from: &'g Generation,
    pub(crate) to: &'g Generation,
    pub(crate) sets: HashMap<SetId, SetId>,
    pub(crate) terminals: HashMap<TerminalId, TerminalId>,
    pub(crate) pieces: Copies,
}

impl<'g> Carrier<'g> {
    pub(crate) fn new(from: &'g Generation, to: &'g Generation) -> Self {
        to.sets().go_on_from(from.sets());
        Carrier { from, to, sets: HashMap::new(), terminals: HashMap::new(), pieces: Copies::default() }
    }

    /// The number that `root` has in the other generation.
    pub(crate) fn carry(&mut self, root: SetId) -> SetId {
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            interrupt::poll(1);
            let waiting = stack.len();
            if !self.sets.contains_key(&id) {
                let parts = self.from.sets().parts(id);
                stack.extend(parts.filter(|part| !self.sets.contains_key(part)));
                if stack.len() == waiting {
                    let copy = self.carry_set(id);
                    self.sets.insert(id, copy);
                }
            }
            if stack.len() == waiting {
                stack.pop();
            }
        }
        self.sets[&root]
    }
}
