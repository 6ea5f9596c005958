//! What fingerprints are made with.

use std::hash::BuildHasher;
use std::sync::OnceLock;

use siphasher::sip128::SipHasher13;

/// What fingerprints are made with: keyed with a secret of the process, because what is hashed comes from strangers.
pub(crate) fn fingerprint_hasher() -> SipHasher13 {
    static KEYS: OnceLock<(u64, u64)> = OnceLock::new();
    let &(first, second) = KEYS.get_or_init(|| {
        let random = std::collections::hash_map::RandomState::new();
        (random.hash_one(1u8), random.hash_one(2u8))
    });
    SipHasher13::new_with_keys(first, second)
}
