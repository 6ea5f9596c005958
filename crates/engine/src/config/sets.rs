//! Hash-consed sets of stacks.
//!
//! Invariants:
//!
//! 1. The items of a set are sorted by symbol and no symbol occurs twice.
//! 2. No set but [`SetId::DEAD`] is empty: each has an item, an end, or a hole.
//! 3. A configuration is a set whose items are terminals and tokens; below the top there are only frames.
//! 4. A set that is put off ([`PutOff`]) stands for two others; its items are found when somebody asks. Where no set is put off, equal
//!    sets of stacks are one number.

use smallvec::SmallVec;

use super::put_off::PutOff;
use super::symbol::Symbol;
use super::unions::Unions;
use crate::interner::Interner;
use crate::mask::{Fan, KeptMask};
use crate::store::sync::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, GrowingList, OnceLock, Ordering};

/// The number of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SetId(pub(crate) u32);

impl SetId {
    /// No stack at all: a parse that failed.
    pub(crate) const DEAD: Self = SetId(0);
    /// The empty stack alone: the bottom.
    pub(crate) const BOTTOM: Self = SetId(1);
}

pub(crate) type Item = (Symbol, SetId);
pub(super) type Items = SmallVec<[Item; 4]>;

/// Which of the stacks that were cut off a set stands for besides its own: a bit for each.
pub(crate) type Holes = u64;

/// A set, while it is being made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SetDraft {
    /// Sorted, each symbol once.
    pub(super) items: Items,
    pub(super) ends: bool,
    pub(super) holes: Holes,
}

/// What is remembered of a set that was read from.
#[derive(Default)]
pub(crate) struct Links {
    /// The first few steps: a byte in bits 32 to 39, the set below, and bit 40 set.
    few: [AtomicU64; 3],
    /// All steps, once there are more than a few. 0 is unknown; otherwise the set's number plus one.
    all: OnceLock<Box<[AtomicU32; 256]>>,
    mask: AtomicPtr<KeptMask>,
    fan: OnceLock<Box<Fan>>,
}

/// A set.
pub(crate) struct Set {
    /// None if the set is put off.
    items: Box<[Item]>,
    put_off: Option<Box<PutOff>>,
    ends: bool,
    holes: Holes,
    /// The configuration after the top frames have been popped, plus one; 0 is unknown.
    after: AtomicU32,
    links: OnceLock<Box<Links>>,
}

/// All sets of a generation.
pub(crate) struct Sets {
    interner: Interner<Set>,
    pub(super) unions: Unions,
    masks: GrowingList<Box<KeptMask>>,
    /// What items, masks and full step tables take, in bytes.
    link_bytes: AtomicUsize,
}

impl Sets {
    /// The sets of a generation, and whether their unions may be put off: not where all of a stack is looked at after each token.
    pub(crate) fn new(may_put_off: bool) -> Self {
        let sets = Sets {
            interner: Interner::new(),
            unions: Unions::new(may_put_off),
            masks: GrowingList::new(),
            link_bytes: AtomicUsize::new(0),
        };
        sets.intern(&SetDraft::default());
        sets.intern(&SetDraft { ends: true, ..SetDraft::default() });
        sets
    }

    pub(super) fn intern(&self, draft: &SetDraft) -> SetId {
        debug_assert!(draft.items.is_sorted_by(|a, b| a.0 < b.0));
        let (id, is_new) = self.interner.intern(
            draft,
            |set| {
                *set.items == *draft.items
                    && set.ends == draft.ends
                    && set.holes == draft.holes
                    && set.put_off.is_none()
            },
            || Set {
                items: draft.items.as_slice().into(),
                put_off: None,
                ends: draft.ends,
                holes: draft.holes,
                after: AtomicU32::new(0),
                links: OnceLock::new(),
            },
        );
        if is_new {
            self.link_bytes.fetch_add(size_of_val(&*draft.items), Ordering::Relaxed);
        }
        SetId(id)
    }

    /// How many sets there are.
    pub(crate) fn len(&self) -> usize {
        self.interner.len()
    }

    fn get(&self, id: SetId) -> &Set {
        self.interner.get(id.0)
    }

    /// The set of all stacks of some others, put off.
    pub(super) fn intern_put_off(&self, put_off: PutOff) -> SetId {
        let sets = put_off.sets();
        let ends = sets.iter().any(|&set| self.ends(set));
        let holes = sets.iter().fold(0, |holes, &set| holes | self.holes(set));
        let (id, is_new) = self.interner.intern(
            &sets,
            |set| set.put_off.as_ref().is_some_and(|known| known.sets() == sets),
            || Set {
                items: Box::default(),
                put_off: Some(Box::new(put_off)),
                ends,
                holes,
                after: AtomicU32::new(0),
                links: OnceLock::new(),
            },
        );
        if is_new {
            self.link_bytes.fetch_add(size_of::<PutOff>(), Ordering::Relaxed);
        }
        SetId(id)
    }

    /// What a set stands for, if it is put off.
    #[inline]
    pub(super) fn put_off(&self, id: SetId) -> Option<&PutOff> {
        self.get(id).put_off.as_deref()
    }

    /// The symbols on top, with what lies under each.
    #[inline]
    pub(crate) fn items(&self, id: SetId) -> &[Item] {
        let set = self.get(id);
        match &set.put_off {
            None => &set.items,
            Some(put_off) => self.items_of(put_off),
        }
    }

    /// Whether the empty stack is in the set: for a configuration, whether the text is complete.
    pub(crate) fn ends(&self, id: SetId) -> bool {
        self.get(id).ends
    }

    /// The stacks that were cut off and may come to light here.
    pub(crate) fn holes(&self, id: SetId) -> Holes {
        self.get(id).holes
    }

    /// The set that stands for these cut-off stacks.
    pub(super) fn all_holes(&self, holes: Holes) -> SetId {
        self.intern(&SetDraft { holes, ..SetDraft::default() })
    }

    /// The set of one symbol on `rest`.
    pub(super) fn push(&self, symbol: Symbol, rest: SetId) -> SetId {
        self.intern(&SetDraft { items: SmallVec::from_slice(&[(symbol, rest)]), ends: false, holes: 0 })
    }

    /// The configuration after popping, if it is known.
    pub(super) fn known_after(&self, id: SetId) -> Option<SetId> {
        self.get(id).after.load(Ordering::Acquire).checked_sub(1).map(SetId)
    }

    pub(super) fn remember_after(&self, id: SetId, after: SetId) {
        self.get(id).after.store(after.0 + 1, Ordering::Release);
    }

    fn links(&self, id: SetId) -> &Links {
        self.get(id).links.get_or_init(Box::default)
    }

    /// The set after `byte`, if it is known.
    #[inline]
    pub(crate) fn known_step(&self, id: SetId, byte: u8) -> Option<SetId> {
        let links = self.get(id).links.get()?;
        if let Some(all) = links.all.get() {
            return all[usize::from(byte)].load(Ordering::Acquire).checked_sub(1).map(SetId);
        }
        let wanted = 1 << 8 | u64::from(byte);
        let found =
            links.few.iter().map(|slot| slot.load(Ordering::Acquire)).find(|slot| slot >> 32 == wanted)?;
        Some(SetId(found as u32))
    }

    pub(super) fn remember_step(&self, id: SetId, byte: u8, target: SetId) {
        let links = self.links(id);
        let packed = (1 << 8 | u64::from(byte)) << 32 | u64::from(target.0);
        if links.all.get().is_none() {
            for slot in &links.few {
                let free = slot.compare_exchange(0, packed, Ordering::AcqRel, Ordering::Acquire);
                if free.is_ok() || free == Err(packed) {
                    return;
                }
            }
        }
        let all = links.all.get_or_init(|| {
            self.link_bytes.fetch_add(size_of::<[AtomicU32; 256]>(), Ordering::Relaxed);
            let all: Box<[AtomicU32; 256]> = Box::new(std::array::from_fn(|_| AtomicU32::new(0)));
            for slot in &links.few {
                let slot = slot.load(Ordering::Acquire);
                all[(slot >> 32) as usize & 255].store(slot as u32 + 1, Ordering::Relaxed);
            }
            all
        });
        all[usize::from(byte)].store(target.0 + 1, Ordering::Release);
    }

    /// The mask of `id`, if it is known.
    #[inline]
    #[expect(unsafe_code, reason = "masks are read without a lock or a reference count")]
    pub(crate) fn known_mask(&self, id: SetId) -> Option<&KeptMask> {
        let mask = self.get(id).links.get()?.mask.load(Ordering::Acquire);
        // SAFETY: the pointer is null, or was stored by `remember_mask` and points to a mask that `self.masks` holds. Masks
        // are only ever appended there and live as long as `self`, whose lifetime the result has.
        unsafe { mask.as_ref() }
    }

    /// The fan of `id`, made by `make` if there is none yet.
    pub(crate) fn fan(&self, id: SetId, make: impl FnOnce() -> Fan) -> &Fan {
        self.links(id).fan.get_or_init(|| {
            let fan = make();
            self.link_bytes.fetch_add(fan.memory_bytes(), Ordering::Relaxed);
            Box::new(fan)
        })
    }

    /// How many masks are kept.
    pub(crate) fn mask_count(&self) -> usize {
        self.masks.count()
    }

    /// Keeps `mask` for `id`, and gives the kept one.
    pub(crate) fn keep_mask(&self, id: SetId, mask: KeptMask) -> &KeptMask {
        self.link_bytes.fetch_add(mask.memory_bytes(), Ordering::Relaxed);
        let at = self.masks.push(Box::new(mask));
        let mask: &KeptMask = &self.masks[at];
        self.remember_mask(id, mask);
        mask
    }

    /// Lets `id` have a mask that is kept for another set.
    pub(crate) fn remember_mask<'s>(&'s self, id: SetId, mask: &'s KeptMask) {
        self.links(id).mask.store(std::ptr::from_ref(mask).cast_mut(), Ordering::Release);
    }

    /// Notes that so many bytes more are held for the sets.
    pub(super) fn note_bytes(&self, bytes: usize) {
        self.link_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The memory that the sets take, roughly: counted from their numbers.
    pub(crate) fn memory_bytes(&self) -> usize {
        const A_SET: usize = 160;
        self.len() * A_SET + self.link_bytes.load(Ordering::Relaxed) + self.interner.spare_bytes()
    }
}
