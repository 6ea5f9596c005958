//! Short lists without repetitions.

use std::hash::Hash;

use rustc_hash::FxHashSet;
use smallvec::{Array, SmallVec};

/// So many items are compared with each other rather than hashed.
const FEW: usize = 16;

/// Leaves the first of equal items.
pub(crate) fn drop_repeats<A: Array>(items: &mut SmallVec<A>)
where
    A::Item: Clone + Eq + Hash,
{
    if items.len() > FEW {
        let mut seen = FxHashSet::default();
        items.retain(|item| seen.insert(item.clone()));
        return;
    }
    let mut at = 1;
    while at < items.len() {
        if items[..at].contains(&items[at]) {
            items.remove(at);
        } else {
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_keep_the_first() {
        for count in [3_u32, 30] {
            let mut items: SmallVec<[u32; 4]> = (0..count).chain((0..count).rev()).collect();
            drop_repeats(&mut items);
            assert!(items.iter().copied().eq(0..count));
        }
    }
}
