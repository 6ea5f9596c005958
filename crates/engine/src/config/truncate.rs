//! The top of a stack.
//!
//! A mask can only look as far down the stack as a token reaches. So parts of masks are computed for, and kept by, a stack
//! that is cut off some frames down; every stack with the same top shares them. What was cut off is a hole with a number, so
//! that the few tokens that reach it can be followed into the rest of each stack.
//! Bounds that no token can reach are cut off in the same way, see [`saturate`](crate::terminal).
//!
//! Depth is counted in frames that have something left to read. A frame whose rule may end at once lets a token pass
//! to the frame below without reading anything, so it does not count.

use hashbrown::HashMap;
use smallvec::SmallVec;
use tokenstile_grammar::machine::NodeId;

use super::distinct;
use super::lists::{PlaceCut, Target};
use super::sets::{Holes, Item, Items, SetId};
use super::symbol::{Symbol, SymbolKind};
use crate::generation::Generation;

/// The hole of which is not known what is in it: tokens that run into it must be followed from their start, in the whole
/// stack.
pub(crate) const LOST_HOLE: u32 = Holes::BITS - 2;

/// Frames below this are cut off whether they count or not.
const MAX_FRAMES: u32 = 64;

/// A cut that looks at more items than this is of no use: the tops of so many stacks hardly come again, and what is under
/// the same symbol on different ways has to be united.
const MOST_ITEMS: usize = 512;

/// A stack that was cut off, and the stacks that are in its holes.
pub(crate) struct Top {
    pub(crate) stack: SetId,
    pub(crate) holes: SmallVec<[SetId; 8]>,
    /// How many items were looked at.
    pub(crate) looked_at: usize,
}

/// What is left of the way down: frames that count, and frames at all.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Depth {
    counted: u32,
    frames: u32,
}

/// The state of one truncation.
#[derive(Default)]
struct Cut {
    holes: SmallVec<[SetId; 8]>,
    /// Sets with several items may be reached on many ways; these were done.
    shared: HashMap<(SetId, Depth), SetId>,
    looked_at: usize,
    overflow: bool,
}

impl Generation {
    /// The top of a stack: `depth` counted frames of it. `None` if that would make more holes than there are numbers, or be too
    /// much work.
    pub(crate) fn truncate_stack(&self, rest: SetId, depth: u32) -> Option<Top> {
        let mut cut = Cut::default();
        let stack = self.truncate_rest(rest, Depth { counted: depth, frames: MAX_FRAMES }, &mut cut);
        (!cut.overflow).then_some(Top { stack, holes: cut.holes, looked_at: cut.looked_at })
    }

    /// The holes of a set that has been cut off before, by the numbers that they have in this cut.
    fn renumber(&self, set: SetId, cut: &mut Cut) -> Holes {
        match self.sets().holes(set) {
            0 => 0,
            holes => self.sets().holes(self.make_hole(self.sets().all_holes(holes), cut)),
        }
    }

    /// At most `MAX_FRAMES` deep, so this may recurse.
    fn truncate_rest(&self, rest: SetId, depth: Depth, cut: &mut Cut) -> SetId {
        let sets = self.sets();
        let items = sets.items(rest);
        if items.is_empty() && sets.holes(rest) == 0 {
            return rest;
        }
        if (items.is_empty() && !sets.ends(rest)) || depth.counted == 0 || depth.frames == 0 {
            return self.make_hole(rest, cut);
        }
        if let Some(&done) = cut.shared.get(&(rest, depth)) {
            return done;
        }
        cut.looked_at += items.len();
        if cut.looked_at > MOST_ITEMS {
            cut.overflow = true;
            return SetId::DEAD;
        }
        let mut truncated = Items::new();
        let mut holes = 0;
        for &item in items {
            match self.truncate_item(item, depth, cut) {
                Some(item) => truncated.push(item),
                None => holes |= sets.holes(self.make_hole(sets.push(item.0, item.1), cut)),
            }
        }
        holes |= self.renumber(rest, cut);
        let result = self.intern_items(truncated, sets.ends(rest), holes);
        if items.len() > 1 {
            cut.shared.insert((rest, depth), result);
        }
        result
    }

    /// The frame of an item cut off, and what lies under it; `None` if all of it is better in a hole.
    fn truncate_item(&self, (symbol, below): Item, depth: Depth, cut: &mut Cut) -> Option<Item> {
        let SymbolKind::Frame(node, count) = symbol.kind() else { return Some((symbol, below)) };
        let passes = self.may_end(node, count);
        let counted = if passes { depth.counted } else { depth.counted - 1 };
        let depth = Depth { counted, frames: depth.frames - 1 };
        let Some(list) = self.machine().node(node).list else {
            return Some((self.saturate_frame(symbol), self.truncate_rest(below, depth, cut)));
        };
        let list = list.list;
        match self.cut_place(list, count) {
            PlaceCut::Keep => Some((symbol, self.truncate_rest(below, depth, cut))),
            PlaceCut::Hole => None,
            PlaceCut::Alone(place) => Some((Symbol::frame(node, place), SetId::BOTTOM)),
            PlaceCut::Key { next, others, variant } => {
                let hole = self.hole_of(node, next, below, cut);
                Some((Symbol::frame(node, self.cut_other_key(list, others, variant, hole)), SetId::BOTTOM))
            }
            PlaceCut::After { next, quoted, ends } => {
                let hole = next.map(|next| self.hole_of(node, next, below, cut));
                let below = self.truncate_rest(below, depth, cut);
                Some((Symbol::frame(node, self.cut_after(list, ends, quoted, hole)), below))
            }
        }
    }

    /// The number of a hole for what a list goes on with.
    fn hole_of(&self, node: NodeId, target: Target, below: SetId, cut: &mut Cut) -> u8 {
        let stack = match target {
            Target::Place(place) => self.sets().push(Symbol::frame(node, place), below),
            Target::Hole(hole) => self.sets().all_holes(1 << hole),
        };
        let holes = self.sets().holes(self.make_hole(stack, cut));
        // There is none if there are too many of them already, and then the cut is of no use.
        if holes == 0 { 0 } else { holes.trailing_zeros() as u8 }
    }

    fn make_hole(&self, rest: SetId, cut: &mut Cut) -> SetId {
        let known = cut.holes.iter().position(|&hole| hole == rest);
        let number = known.unwrap_or(cut.holes.len());
        if number >= LOST_HOLE as usize {
            cut.overflow = true;
            return SetId::DEAD;
        }
        if known.is_none() {
            cut.holes.push(rest);
        }
        self.sets().all_holes(1 << number)
    }

    fn saturate_frame(&self, symbol: Symbol) -> Symbol {
        let SymbolKind::Frame(node, count) = symbol.kind() else { return symbol };
        if self.machine().node(node).distinct_items {
            return distinct::forgotten(node);
        }
        if self.machine().node(node).max_tokens.is_some() {
            return Symbol::frame(node, 0);
        }
        let Some(counter) = self.machine().node(node).counter else { return symbol };
        let reach = self.longest_token();
        if counter.max - count <= reach {
            return symbol;
        }
        // No token reaches the upper bound. Nor the lower one, if it is as far away; past it, all counts are alike.
        let far_from_min = counter.min > reach && counter.min - count.min(counter.min) > reach;
        match count {
            _ if far_from_min => Symbol::frame(node, 0),
            _ if count >= counter.min => Symbol::frame(node, counter.min),
            _ => symbol,
        }
    }
}
