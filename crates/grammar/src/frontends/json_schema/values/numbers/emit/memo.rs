//! The expressions of sets of numbers that were met before, in this process.
//!
//! Schemas ask for few sets: all numbers, all integers, those from zero or one on, percentages, ports. To find the digits
//! of their bounds takes longer than everything else that is done for a number.

use std::sync::{Arc, LazyLock};

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::{NumberSet, Spelling};
use crate::error::Result;
use crate::ir::{Builder, ExprId, Fragment};
use crate::limits::Budget;

/// So many sets are remembered. When there are more, all are forgotten.
const MAX_SETS: usize = 1_000;

/// A set of more pieces than this is not remembered.
const MAX_PIECES: usize = 8;

/// A set whose expression takes more than this is not remembered.
const MAX_BYTES: usize = 64 << 10;

type Known = HashMap<(NumberSet, Spelling), Arc<Fragment>>;

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// The JSON spellings of the numbers of a set.
pub fn emit(set: &NumberSet, spelling: Spelling, builder: &mut Builder, budget: &Budget) -> Result<ExprId> {
    if set.pieces().len() > MAX_PIECES {
        return super::compute(set, spelling, builder, budget);
    }
    let key = (set.clone(), spelling);
    let known = KNOWN.lock().get(&key).cloned();
    if let Some(known) = known {
        return known.copy_into(builder, budget);
    }
    let root = super::compute(set, spelling, builder, budget)?;
    let fragment = Fragment::new(builder, root);
    if fragment.memory_bytes() <= MAX_BYTES {
        let mut all = KNOWN.lock();
        if all.len() >= MAX_SETS {
            all.clear();
        }
        all.insert(key, Arc::new(fragment));
    }
    Ok(root)
}
