//! The tables that threads fill and read together, run through all interleavings of a few threads.
//!
//! What is compiled here are files of the engine, as they are, with another `store::sync` beneath them: loom's locks and
//! atomics, which know what the memory model allows. So a store that is seen too early, a value that is read before it is
//! written, or two numbers for one value are found whatever the processor does. What surrounds those files in the engine, and
//! does not matter here, are stand-ins: [`config::symbol`], [`config::unions`], [`config::put_off`] and [`mask`].
//!
//! `make test-interleavings` runs it. Eight weakened versions were found: each store of `sets.rs` with a weaker ordering, steps that
//! are not copied, a look-up before the lock in `interner.rs`, a wrong place in `memo.rs`, and a subtraction before the addition
//! in `account.rs`. A change to what these files need from others needs another stand-in here.

#![cfg(test)]
#![expect(dead_code, reason = "of each file only what threads share is called")]

#[path = "../../../crates/engine/src/interner.rs"]
mod interner;
#[path = "../../../crates/engine/src/seldom.rs"]
mod seldom;

#[path = "."]
mod store {
    #[path = "../../../crates/engine/src/store/account.rs"]
    pub(crate) mod account;
    #[path = "../../../crates/engine/src/store/memo.rs"]
    pub(crate) mod memo;
    #[path = "sync.rs"]
    pub(crate) mod sync;
}

#[path = "."]
mod config {
    #[path = "../../../crates/engine/src/config/sets.rs"]
    pub(crate) mod sets;

    pub(crate) mod symbol {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct Symbol(pub(crate) u64);
    }

    pub(crate) mod unions {
        pub(crate) struct Unions;

        impl Unions {
            pub(crate) fn new(_may_put_off: bool) -> Self {
                Unions
            }
        }
    }

    /// No set is put off here.
    pub(crate) mod put_off {
        use super::sets::{Item, SetId, Sets};

        pub(crate) enum PutOff {}

        impl PutOff {
            pub(crate) fn sets(&self) -> [SetId; 2] {
                match *self {}
            }
        }

        impl Sets {
            pub(crate) fn items_of(&self, put_off: &PutOff) -> &[Item] {
                match *put_off {}
            }
        }
    }

    // They are where what the rest of `config` may call can be called.
    mod tests;

    use sets::{SetDraft, SetId, Sets};
    use symbol::Symbol;

    impl Sets {
        /// The set of one symbol on the bottom.
        pub(crate) fn one(&self, symbol: u64) -> SetId {
            let items = smallvec::smallvec![(Symbol(symbol), SetId::BOTTOM)];
            self.intern(&SetDraft { items, ..SetDraft::default() })
        }

        /// What [`Sets::one`] was told.
        pub(crate) fn symbol(&self, id: SetId) -> u64 {
            self.items(id)[0].0.0
        }
    }
}

mod mask {
    use loom::cell::UnsafeCell;

    pub(crate) struct Fan;

    impl Fan {
        pub(crate) fn memory_bytes(&self) -> usize {
            0
        }
    }

    /// A mask whose content loom watches: reading it before it was written for certain is an error.
    pub(crate) struct KeptMask(UnsafeCell<u32>);

    impl KeptMask {
        pub(crate) fn new(content: u32) -> Self {
            let mask = KeptMask(UnsafeCell::new(0));
            // SAFETY: nobody else has it yet.
            mask.0.with_mut(|place| unsafe { *place = content });
            mask
        }

        pub(crate) fn content(&self) -> u32 {
            // SAFETY: it is written once, by `new`; and loom looks that this was before.
            self.0.with(|place| unsafe { *place })
        }

        pub(crate) fn memory_bytes(&self) -> usize {
            1
        }
    }
}
