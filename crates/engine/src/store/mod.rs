//! What tables are made of, when many threads fill and read them at once.
//!
//! 1. [`sync`]: the locks, atomics and lists that are used for it. Everything below names them from there.
//! 2. [`memo`]: values by keys, made without a lock and kept as long as the memo is.
//! 3. [`account`]: what many hold together.
//! 4. [`fingerprint`]: what fingerprints are made with.
//! 5. [`numbers`]: the numbers that things of one generation have in another.
//! 6. [`runs`]: sets of texts that grow by a few at a time.
//!
//! `fuzz/interleavings` compiles these files, and others that name their locks from [`sync`], with the types of loom in its
//! place, and runs them through all interleavings of a few threads.

pub(crate) mod account;
pub(crate) mod fingerprint;
pub(crate) mod memo;
pub(crate) mod numbers;
pub(crate) mod runs;
pub(crate) mod sync;
