//! The short way: JSON values in outline, and from there to the machine at once.
//!
//! What most schemas say needs none of the passes. There is nothing to trim, no conjunction to determinise, no rule that
//! recurses at its end; and what would be inlined is known while it is written. So a front end that knows its values as
//! objects, arrays and texts may hand over an [`Outline`] of them instead of a grammar, and [`Outline::lower`] makes the
//! machine that the passes would have come to, but for the numbers of its nodes and for where a rule is called or written in
//! place. Texts stay the expressions that they are, in the builder that they were made in.
//!
//! Invariants:
//!
//! 1. An outline means what the grammar of the same values means. It is a matter of time, never of meaning: the walks over
//!    `testdata/json_schema` compare both with the oracle.
//! 2. Where there is anything for a pass to do, the answer is `None`, and then the passes do it all.
//! 3. Every value that is named can be written, so the machine has no dead ends.
//!
//! Why not a quicker way through the passes? They execute much code, and most of it a few times: with the front end some 4,800
//! lines of the processor's cache for a usual schema, and so 3,000 (`valgrind --tool=callgrind --dump-instr=yes`). A request
//! comes between other work, and finds that code cold. So what counts is how much of it is touched, not how fast its loops are.
//!
//! PERF: `make bench-json-schema`, median time to the first mask: 1/4.8 of llguidance's with the passes, 1/6.5 without.
//!
//! Reading order: this file, `facts`, `lower`, `lists`.

mod facts;
mod lists;
mod lower;

use std::sync::Arc;

use smallvec::SmallVec;

use super::Ready;
use crate::ir::members::Order;
use crate::ir::{Builder, Escapes, ExprId};
pub(crate) use facts::Facts;

/// The number of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueId(pub(crate) u32);

impl ValueId {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// One way to write a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As a text of a regular language that is not empty.
    Text(ExprId),
    /// As an object, by its number.
    Object(u32),
    /// As an array, by its number.
    Array(u32),
    /// As any array or object: the rule that is ready.
    AnyContainer,
}

/// All ways to write a value.
pub(crate) type Ways = SmallVec<[Way; 2]>;

/// An object: keys with their values, each of them once.
#[derive(Debug)]
pub(crate) struct Object {
    /// The keys that have names, whether each must be there, and their values.
    pub(crate) entries: Vec<(Box<str>, bool, ValueId)>,
    /// Families of other keys.
    pub(crate) others: Vec<Others>,
    /// How deep its members lie.
    pub(crate) level: u8,
}

/// Keys without a name: texts of a language without end, and what their values are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Others {
    /// The keys.
    pub(crate) keys: ExprId,
    /// Whether each beginning of a key goes on without end.
    pub(crate) always_free: bool,
    /// Their values.
    pub(crate) value: ValueId,
}

/// An array of items of one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    /// What the items are.
    pub(crate) item: ValueId,
    /// The least number of items.
    pub(crate) min: u32,
    /// The greatest number of items.
    pub(crate) max: Option<u32>,
}

/// The expressions of what stands between values and brackets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joints {
    /// White space, or nothing.
    pub(crate) space: ExprId,
    /// Between a key and its value.
    pub(crate) colon: ExprId,
    /// Between two members or items.
    pub(crate) comma: ExprId,
}

/// Values in outline.
#[derive(Debug)]
pub(crate) struct Outline {
    /// The builder of all expressions, which begins with those of the rule that is ready.
    pub(crate) builder: Builder,
    /// What is known of the first of them.
    pub(crate) facts: Facts,
    /// What stands between, by how deep it lies.
    pub(crate) joints: Vec<Joints>,
    /// The order of keys, and the escapes that they may have.
    pub(crate) order: Order,
    pub(crate) escapes: Escapes,
    /// The values, by number. The first is the whole.
    pub(crate) values: Vec<Ways>,
    /// How deep each of them lies, as far as what stands between depends on it.
    pub(crate) levels: Vec<u8>,
    /// The objects, by number.
    pub(crate) objects: Vec<Object>,
    /// The arrays, by number.
    pub(crate) arrays: Vec<Array>,
    /// The rule of any array or object, where it is named.
    pub(crate) ready: Option<Arc<Ready>>,
}

/// So many times all values are looked at for whether they can be written.
const ROUNDS: usize = 4;

impl Outline {
    /// Whether each value can be written, and a few looks at all of them show it.
    fn is_plainly_productive(&self) -> bool {
        let mut live = vec![false; self.values.len()];
        for _ in 0..ROUNDS {
            let mut are_all = true;
            // What a value is made of mostly comes after it.
            for (at, ways) in self.values.iter().enumerate().rev() {
                live[at] = live[at] || ways.iter().any(|way| self.is_live(*way, &live));
                are_all &= live[at];
            }
            if are_all {
                return true;
            }
        }
        false
    }

    fn is_live(&self, way: Way, live: &[bool]) -> bool {
        let is_live = |value: ValueId| live[value.index()];
        match way {
            Way::Text(_) | Way::AnyContainer => true,
            Way::Object(object) => {
                let mut entries = self.objects[object as usize].entries.iter();
                entries.all(|&(_, required, value)| !required || is_live(value))
            }
            Way::Array(array) => {
                let Array { item, min, max } = self.arrays[array as usize];
                max.is_none_or(|max| min <= max) && (min == 0 || is_live(item))
            }
        }
    }
}
