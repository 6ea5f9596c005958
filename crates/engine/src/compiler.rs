//! The cache of compiled grammars: bounded in bytes, least recently used first out, one compilation a key.
//!
//! A server gets the same few grammars again and again, often many times at once. [`CompileCache::get_or_compile`]
//! answers from the cache; where several threads miss on one key together, the first compiles and the others wait
//! for it.
//!
//! Invariants:
//!
//! 1. A waiter is never bound by another caller's patience. If the compiling thread was cancelled, ran into a limit
//!    or panicked, the waiters try again by themselves; any other error is the grammar's own, and is shared.
//! 2. A waiter watches its own [`Budget`] while it waits.
//! 3. The lock is never held while a grammar is compiled, nor while one is dropped.
//! 4. Errors are not cached.
//!
//! A compiled grammar grows while it is used, because its tables are filled lazily. Its weight is therefore asked
//! for anew whenever the bound is enforced: when so many values have come that it is a quarter of them all, when they
//! alone would break it, and at every 64th hit. To weigh all of a thousand grammars for each that comes would take longer
//! than to compile it.
//!
//! Within the bound is also what the grammars of a vocabulary share, as far as it is more than a small constant.
//!
//! A key holds the text of the grammar, which may be long and come from a stranger. So it is weighed as well, and it is hashed
//! once, with a hash that nobody can foresee.
//!
//! The keys and the values are type parameters, so that the rules above can be tested without a grammar.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use hashbrown::{DefaultHashBuilder, HashMap};
use parking_lot::{Condvar, Mutex};
use rustc_hash::FxBuildHasher;
use tokenstile_grammar::{Budget, Error, ErrorKind, Result};

use crate::compiled::CompiledGrammar;
use crate::limits::SHARED;

/// Something that knows how much memory it holds.
pub trait Weigh {
    /// The bytes that it holds now.
    fn weigh(&self) -> usize;
}

/// What a compiled grammar takes beside what it counts: lists with room for more, sizes that allocators round up, and what was
/// allocated to have it held by Python. `tests/test_cache_memory.py` measures all of it from outside.
const UNCOUNTED: usize = 8 << 10;

impl Weigh for CompiledGrammar {
    fn weigh(&self) -> usize {
        self.measured_bytes() + UNCOUNTED
    }
}

/// What an entry of a cache takes: its key, and its value.
fn weight<K: Weigh, V: Weigh>(key: &K, value: &V) -> usize {
    key.weigh() + value.weigh()
}

/// What happened in a cache since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Answers from the cache.
    pub hits: u64,
    /// Compilations that were started.
    pub misses: u64,
    /// Answers that waited for a compilation in another thread.
    pub waits: u64,
    /// Values that were dropped to keep the bound.
    pub evictions: u64,
}

/// A cache of compiled grammars; see the [module](self).
#[derive(Debug)]
pub struct CompileCache<K, V> {
    state: Mutex<State<K, V>>,
    hasher: DefaultHashBuilder,
}

/// A key with its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hashed<K> {
    hash: u64,
    key: K,
}

impl<K> Hash for Hashed<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

#[derive(Debug)]
struct State<K, V> {
    entries: HashMap<Hashed<K>, Entry<V>, FxBuildHasher>,
    flights: HashMap<Hashed<K>, Arc<Flight<V>>, FxBuildHasher>,
    limit_bytes: usize,
    /// What all values held when they were last weighed, and what those that came since held when they came.
    weighed_bytes: usize,
    /// How many came since.
    unweighed: usize,
    clock: u64,
    counters: CacheCounters,
}

#[derive(Debug)]
struct Entry<V> {
    value: Arc<V>,
    used: u64,
}

/// A compilation under way, and the place where its waiters wait.
#[derive(Debug)]
struct Flight<V> {
    outcome: Mutex<Option<Outcome<V>>>,
    landed: Condvar,
}

#[derive(Debug)]
enum Outcome<V> {
    Ready(Arc<V>),
    Failed(Error),
    Abandoned,
}

/// What a look-up found.
enum Found<V> {
    Value(Arc<V>),
    UnderWay(Arc<Flight<V>>),
    Nothing(Arc<Flight<V>>),
}

impl<K: Weigh + Clone + Eq + Hash, V: Weigh> CompileCache<K, V> {
    /// How many hits pass between two looks at the bound.
    const HITS_A_LOOK: u64 = 64;

    /// How long a waiter sleeps between two looks at its budget.
    const PATIENCE: Duration = Duration::from_millis(10);

    /// An empty cache that holds at most `limit_bytes`.
    pub fn new(limit_bytes: usize) -> Self {
        SHARED.note_cache(None, Some(limit_bytes));
        CompileCache {
            state: Mutex::new(State {
                entries: HashMap::default(),
                flights: HashMap::default(),
                limit_bytes,
                weighed_bytes: 0,
                unweighed: 0,
                clock: 0,
                counters: CacheCounters::default(),
            }),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// The value of `key`: cached, from another thread that is just compiling it, or from `compile`.
    pub fn get_or_compile(
        &self,
        key: &K,
        budget: &Budget,
        compile: impl FnOnce() -> Result<Arc<V>>,
    ) -> Result<Arc<V>> {
        let key = Hashed { hash: self.hasher.hash_one(key), key: key.clone() };
        let flight = loop {
            match self.find(&key) {
                Found::Value(value) => return Ok(value),
                Found::Nothing(flight) => break flight,
                Found::UnderWay(flight) => {
                    if let Some(result) = Self::wait(&flight, budget)? {
                        return result;
                    }
                }
            }
        };
        let mut landing = Landing { cache: self, key, flight, outcome: Outcome::Abandoned };
        let result = compile();
        landing.outcome = match &result {
            Ok(value) => Outcome::Ready(Arc::clone(value)),
            Err(error) if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Limit) => {
                Outcome::Abandoned
            }
            Err(error) => Outcome::Failed(error.clone()),
        };
        result
    }

    fn find(&self, key: &Hashed<K>) -> Found<V> {
        let mut state = self.state.lock();
        if let Some(value) = state.touch(key) {
            let dropped =
                if state.counters.hits.is_multiple_of(Self::HITS_A_LOOK) { state.evict() } else { vec![] };
            drop(state);
            drop(dropped);
            return Found::Value(value);
        }
        if let Some(flight) = state.flights.get(key) {
            let flight = Arc::clone(flight);
            state.counters.waits += 1;
            return Found::UnderWay(flight);
        }
        state.counters.misses += 1;
        let flight = Arc::new(Flight { outcome: Mutex::new(None), landed: Condvar::new() });
        state.flights.insert(key.clone(), Arc::clone(&flight));
        Found::Nothing(flight)
    }

    /// The result of `flight` once it has landed, or nothing if it was abandoned.
    fn wait(flight: &Flight<V>, budget: &Budget) -> Result<Option<Result<Arc<V>>>> {
        let mut outcome = flight.outcome.lock();
        loop {
            match &*outcome {
                Some(Outcome::Ready(value)) => return Ok(Some(Ok(Arc::clone(value)))),
                Some(Outcome::Failed(error)) => return Ok(Some(Err(error.clone()))),
                Some(Outcome::Abandoned) => return Ok(None),
                None => {
                    flight.landed.wait_for(&mut outcome, Self::PATIENCE);
                    budget.check()?;
                }
            }
        }
    }

    /// The bound in bytes.
    pub fn limit_bytes(&self) -> usize {
        self.state.lock().limit_bytes
    }

    /// Sets the bound, and drops what is over it.
    pub fn set_limit_bytes(&self, limit_bytes: usize) {
        let mut state = self.state.lock();
        SHARED.note_cache(Some(state.limit_bytes), Some(limit_bytes));
        state.limit_bytes = limit_bytes;
        let dropped = state.evict();
        drop(state);
        drop(dropped);
    }

    /// The bytes that the keys chosen by `is_chosen` and their values hold now.
    pub fn size_bytes(&self, is_chosen: impl Fn(&K) -> bool) -> usize {
        let state = self.state.lock();
        state
            .entries
            .iter()
            .filter(|(key, _)| is_chosen(&key.key))
            .map(|(key, entry)| weight(&key.key, &*entry.value))
            .sum()
    }

    /// How many values of the keys chosen by `is_chosen` there are.
    pub fn count(&self, is_chosen: impl Fn(&K) -> bool) -> usize {
        self.state.lock().entries.keys().filter(|key| is_chosen(&key.key)).count()
    }

    /// Drops the values of the keys chosen by `is_chosen`.
    pub fn clear(&self, is_chosen: impl Fn(&K) -> bool) {
        let mut state = self.state.lock();
        let dropped: Vec<_> = state.entries.extract_if(|key, _| is_chosen(&key.key)).collect();
        drop(state);
        drop(dropped);
    }

    /// What happened since the cache was made.
    pub fn counters(&self) -> CacheCounters {
        self.state.lock().counters
    }
}

impl<K: Weigh + Clone + Eq + Hash, V: Weigh> State<K, V> {
    /// More values than this are many.
    const MANY: usize = 256;

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The value of `key`, which is then the last that will be dropped.
    fn touch(&mut self, key: &Hashed<K>) -> Option<Arc<V>> {
        let now = self.tick();
        let entry = self.entries.get_mut(key)?;
        entry.used = now;
        self.counters.hits += 1;
        Some(Arc::clone(&entry.value))
    }

    /// Takes note of a value that has come, and takes out others if it is time to.
    fn note(&mut self, bytes: usize) -> Vec<Arc<V>> {
        self.weighed_bytes += bytes;
        self.unweighed += 1;
        let is_time = self.weighed_bytes > self.limit_bytes || self.unweighed * 4 >= self.entries.len();
        if is_time { self.evict() } else { vec![] }
    }

    /// Takes out the values that were not used for the longest time until the rest is within the bound.
    fn evict(&mut self) -> Vec<Arc<V>> {
        let dropped = self.take_oldest();
        self.unweighed = 0;
        dropped
    }

    fn take_oldest(&mut self) -> Vec<Arc<V>> {
        let weights = self.entries.iter().map(|(key, entry)| weight(&key.key, &*entry.value));
        // What grammars share is held besides, and counted once.
        let shared = SHARED.counted().min(self.limit_bytes / 2);
        let mut total = weights.sum::<usize>() + shared;
        self.weighed_bytes = total;
        if total <= self.limit_bytes {
            return vec![];
        }
        // So many values that weighing them all takes long make room for more than the one that has come.
        let spare = if self.entries.len() > Self::MANY { self.limit_bytes / 16 } else { 0 };
        let limit = self.limit_bytes - spare;
        let mut by_age: Vec<(u64, Hashed<K>)> =
            self.entries.iter().map(|(key, entry)| (entry.used, key.clone())).collect();
        by_age.sort_unstable_by_key(|&(used, _)| used);
        let mut dropped = vec![];
        for (_, key) in by_age {
            if total <= limit {
                break;
            }
            if let Some(entry) = self.entries.remove(&key) {
                total = total.saturating_sub(weight(&key.key, &*entry.value));
                self.counters.evictions += 1;
                dropped.push(entry.value);
            }
        }
        self.weighed_bytes = total;
        dropped
    }
}

impl<K, V> Drop for CompileCache<K, V> {
    fn drop(&mut self) {
        SHARED.note_cache(Some(self.state.get_mut().limit_bytes), None);
    }
}

/// Lands a flight when it goes out of scope, however the compilation ended.
struct Landing<'a, K: Weigh + Clone + Eq + Hash, V: Weigh> {
    cache: &'a CompileCache<K, V>,
    key: Hashed<K>,
    flight: Arc<Flight<V>>,
    outcome: Outcome<V>,
}

impl<K: Weigh + Clone + Eq + Hash, V: Weigh> Drop for Landing<'_, K, V> {
    fn drop(&mut self) {
        let outcome = std::mem::replace(&mut self.outcome, Outcome::Abandoned);
        let mut state = self.cache.state.lock();
        state.flights.remove(&self.key);
        let mut dropped = vec![];
        if let Outcome::Ready(value) = &outcome {
            let used = state.tick();
            state.entries.insert(self.key.clone(), Entry { value: Arc::clone(value), used });
            dropped = state.note(weight(&self.key.key, &**value));
        }
        drop(state);
        *self.flight.outcome.lock() = Some(outcome);
        self.flight.landed.notify_all();
        drop(dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokenstile_grammar::{CancelFlag, Limits};

    struct Heavy(AtomicUsize);

    impl Weigh for &'static str {
        fn weigh(&self) -> usize {
            0
        }
    }

    impl Weigh for Heavy {
        fn weigh(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "it stands for a compilation")]
    fn heavy(weight: usize) -> Result<Arc<Heavy>> {
        Ok(Arc::new(Heavy(AtomicUsize::new(weight))))
    }

    fn cache(limit: usize) -> CompileCache<&'static str, Heavy> {
        CompileCache::new(limit)
    }

    #[test]
    fn a_second_request_is_answered_from_the_cache() {
        let cache = cache(100);
        let first = cache.get_or_compile(&"a", &Budget::default(), || heavy(10)).unwrap();
        let second = cache.get_or_compile(&"a", &Budget::default(), || panic!("compiled twice")).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(cache.counters(), CacheCounters { hits: 1, misses: 1, ..CacheCounters::default() });
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let cache = cache(100);
        for key in ["a", "b", "a", "c"] {
            cache.get_or_compile(&key, &Budget::default(), || heavy(40)).unwrap();
        }
        assert_eq!(cache.count(|key| *key == "a"), 1);
        assert_eq!(cache.count(|key| *key == "b"), 0);
        assert_eq!(cache.count(|key| *key == "c"), 1);
        assert_eq!(cache.size_bytes(|_| true), 80);
    }

    #[test]
    fn growth_after_insertion_counts() {
        let cache = cache(100);
        let first = cache.get_or_compile(&"a", &Budget::default(), || heavy(10)).unwrap();
        first.0.store(95, Ordering::Relaxed);
        cache.get_or_compile(&"b", &Budget::default(), || heavy(10)).unwrap();
        assert_eq!(cache.count(|key| *key == "a"), 0);
    }

    #[test]
    fn growth_is_noticed_by_hits_alone() {
        let cache = cache(100);
        let first = cache.get_or_compile(&"a", &Budget::default(), || heavy(10)).unwrap();
        first.0.store(1000, Ordering::Relaxed);
        for _ in 0..64 {
            cache.get_or_compile(&"a", &Budget::default(), || heavy(10)).unwrap();
        }
        assert_eq!(cache.size_bytes(|_| true), 0);
    }

    #[test]
    fn a_value_over_the_whole_bound_is_given_out_but_not_kept() {
        let cache = cache(5);
        assert!(cache.get_or_compile(&"a", &Budget::default(), || heavy(10)).is_ok());
        assert_eq!(cache.count(|_| true), 0);
    }

    #[test]
    fn lowering_the_bound_evicts_at_once() {
        let cache = cache(100);
        cache.get_or_compile(&"a", &Budget::default(), || heavy(10)).unwrap();
        cache.set_limit_bytes(9);
        assert_eq!(cache.count(|_| true), 0);
        assert_eq!(cache.limit_bytes(), 9);
    }

    #[test]
    fn eight_threads_compile_once() {
        let cache = cache(100);
        let compiled = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    cache.get_or_compile(&"a", &Budget::default(), || {
                        compiled.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(50));
                        heavy(1)
                    })
                });
            }
        });
        assert_eq!(compiled.into_inner(), 1);
    }

    #[test]
    fn errors_are_shared_but_not_cached() {
        let cache = cache(100);
        let fail = || Err(Error::new(ErrorKind::Invalid, "no"));
        assert!(cache.get_or_compile(&"a", &Budget::default(), fail).is_err());
        assert!(cache.get_or_compile(&"a", &Budget::default(), || heavy(1)).is_ok());
    }

    /// Starts a compilation that ends in `fail`, and one that waits for it and would succeed.
    fn second_after(fail: impl FnOnce() -> Result<Arc<Heavy>> + Send) -> Result<Arc<Heavy>> {
        let cache = cache(100);
        let started = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                cache.get_or_compile(&"a", &Budget::default(), || {
                    started.wait();
                    std::thread::sleep(Duration::from_millis(30));
                    fail()
                })
            });
            started.wait();
            let second = cache.get_or_compile(&"a", &Budget::default(), || heavy(1));
            let _ = first.join();
            second
        })
    }

    #[test]
    fn a_waiter_survives_the_cancellation_of_the_other() {
        assert!(second_after(|| Err(Error::new(ErrorKind::Cancelled, "stop"))).is_ok());
    }

    #[test]
    fn a_waiter_survives_the_panic_of_the_other() {
        assert!(second_after(|| std::panic::resume_unwind(Box::new("boom"))).is_ok());
    }

    #[test]
    fn a_waiter_shares_the_grammars_own_error() {
        assert!(second_after(|| Err(Error::new(ErrorKind::Syntax, "no"))).is_err());
    }

    #[test]
    fn a_waiter_watches_its_own_deadline() {
        let cache = cache(100);
        let started = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                cache.get_or_compile(&"a", &Budget::default(), || {
                    started.wait();
                    std::thread::sleep(Duration::from_millis(300));
                    heavy(1)
                })
            });
            started.wait();
            let limits = Limits { max_compile_time: Duration::from_millis(20), ..Limits::default() };
            let budget = Budget::new(limits, CancelFlag::default());
            let result = cache.get_or_compile(&"a", &budget, || heavy(1));
            assert_eq!(result.err().map(|error| error.kind()), Some(ErrorKind::Limit));
        });
    }
}
