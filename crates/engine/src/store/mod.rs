//! What tables are made of, when many threads fill and read them at once.
//!
//! 1. [`sync`]: the locks, atomics and lists that are used for it. Everything below names them from there.
//! 2. [`memo`]: values by keys, made without a lock and kept as long as the memo is.
//! 3. [`account`]: what many hold together.
//!
//! `fuzz/interleavings` compiles these files, and others that name their locks from [`sync`], with the types of loom in its
//! place, and runs them through all interleavings of a few threads.

pub(crate) mod account;
pub(crate) mod memo;
pub(crate) mod sync;
