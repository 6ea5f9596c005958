//! Limits on what strangers' input may cost, and the budget that enforces them while work is under way.
//!
//! A [`Limits`] is plain data with defaults that a server can live with. A [`Budget`] is one compilation's account:
//! it knows the deadline and the cancel flag, and every loop whose length the input decides calls [`Budget::tick`].

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};

/// Limits on the size of grammars and on the time spent on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of grammar text.
    pub max_source_bytes: usize,
    /// Rules in a grammar.
    pub max_rules: usize,
    /// Distinct expressions in a grammar.
    pub max_exprs: usize,
    /// Nesting of groups, in grammars and in regexes.
    pub max_depth: usize,
    /// States of any one automaton that is built ahead of time; all together may have eight times as many.
    pub max_states: usize,
    /// Nodes of the whole machine.
    pub max_nodes: usize,
    /// Time for one compilation.
    pub max_compile_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_source_bytes: 32 << 20,
            max_rules: 500_000,
            max_exprs: 5_000_000,
            max_depth: 1_000,
            max_states: 200_000,
            max_nodes: 5_000_000,
            max_compile_time: Duration::from_secs(30),
        }
    }
}

/// A flag that stops a running compilation from another thread.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Asks the work that watches this flag to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`CancelFlag::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Somebody who is asked from time to time whether the work should stop.
pub struct Watch(Box<dyn Fn() -> bool>);

impl std::fmt::Debug for Watch {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Watch")
    }
}

/// One compilation's account of limits, time and cancellation.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    cancel: CancelFlag,
    watch: Option<Rc<Watch>>,
    started: Instant,
    ticks: std::cell::Cell<u32>,
    /// The states of all automata that were made.
    states: std::cell::Cell<usize>,
    /// The sums of counters that were put together.
    sums: std::cell::Cell<usize>,
}

impl Budget {
    /// How many ticks pass between two looks at the clock.
    const TICKS_A_LOOK: u32 = 256;
    /// How many automata there may be of as many states as one may have.
    const LARGE_AUTOMATA: usize = 8;

    /// How many sums of counters are put together in all lists of a grammar: this takes about a second.
    const MOST_SUMS: usize = 14_000_000;

    /// A budget that starts now.
    pub fn new(limits: Limits, cancel: CancelFlag) -> Self {
        let (ticks, states, sums) = Default::default();
        Budget { limits, cancel, watch: None, started: Instant::now(), ticks, states, sums }
    }

    /// The same with somebody who is asked, whenever the clock is looked at, whether the work should stop.
    #[must_use]
    pub fn watched(self, should_stop: impl Fn() -> bool + 'static) -> Self {
        Budget { watch: Some(Rc::new(Watch(Box::new(should_stop)))), ..self }
    }

    /// A budget that starts now, with the same limits and at most so much time of what is left of this one.
    #[must_use]
    pub fn within(&self, time: Duration) -> Self {
        let left = self.limits.max_compile_time.saturating_sub(self.started.elapsed());
        let limits = Limits { max_compile_time: time.min(left), ..self.limits.clone() };
        Budget::new(limits, self.cancel.clone())
    }

    /// A budget that starts now, with other limits, and is cancelled as this one is.
    #[must_use]
    pub fn with_limits(&self, limits: Limits) -> Self {
        Budget { watch: self.watch.clone(), ..Budget::new(limits, self.cancel.clone()) }
    }

    /// A budget of its own for what may fail and is then done in another way: the time that is left of this one, and automata
    /// of at most so many states.
    #[must_use]
    pub fn attempt(&self, max_states: usize) -> Self {
        let max_compile_time = self.limits.max_compile_time.saturating_sub(self.started.elapsed());
        let max_states = self.limits.max_states.min(max_states);
        self.with_limits(Limits { max_states, max_compile_time, ..self.limits.clone() })
    }

    /// The limits it enforces.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Notes a small unit of work, and fails when the time is over or the work was cancelled.
    pub fn tick(&self) -> Result<()> {
        let ticks = self.ticks.get().wrapping_add(1);
        self.ticks.set(ticks);
        if ticks.is_multiple_of(Self::TICKS_A_LOOK) { self.check() } else { Ok(()) }
    }

    /// How many units of work were noted, up to where the count starts again.
    pub fn ticks(&self) -> u32 {
        self.ticks.get()
    }

    /// Looks at the clock and the cancel flag at once.
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() || self.watch.as_ref().is_some_and(|watch| (watch.0)()) {
            return Err(Error::new(ErrorKind::Cancelled, "the compilation was cancelled"));
        }
        if self.started.elapsed() > self.limits.max_compile_time {
            let limit = format!("{:?}", self.limits.max_compile_time);
            return Err(Error::limit("the compile time", limit, "max_compile_time"));
        }
        Ok(())
    }

    /// Fails unless `states` is within the limit on automaton states.
    pub fn check_states(&self, states: usize) -> Result<()> {
        self.tick()?;
        if states > self.limits.max_states {
            return Err(Error::limit("the number of automaton states", self.limits.max_states, "max_states"));
        }
        Ok(())
    }

    /// Notes an automaton of so many states before it is minimised, and fails when all automata together have too many.
    pub fn count_states(&self, states: usize) -> Result<()> {
        let all = self.states.get().saturating_add(states);
        self.states.set(all);
        let most = self.limits.max_states.saturating_mul(Self::LARGE_AUTOMATA);
        if all > most {
            return Err(Error::limit("the number of states of all automata together", most, "max_states"));
        }
        Ok(())
    }

    /// Notes that so many sums of counters are put together, and says whether all that were are not too many.
    pub fn count_sums(&self, sums: usize) -> Result<bool> {
        self.tick()?;
        let all = self.sums.get().saturating_add(sums);
        self.sums.set(all);
        Ok(all <= Self::MOST_SUMS)
    }

    /// Fails unless `nodes` is within the limit on the machine's size.
    pub fn check_nodes(&self, nodes: usize) -> Result<()> {
        self.tick()?;
        if nodes > self.limits.max_nodes {
            return Err(Error::limit("the number of machine nodes", self.limits.max_nodes, "max_nodes"));
        }
        Ok(())
    }

    /// Fails unless `depth` is within the limit on nesting.
    pub fn check_depth(&self, depth: usize) -> Result<()> {
        if depth > self.limits.max_depth {
            return Err(Error::limit("the nesting depth", self.limits.max_depth, "max_depth"));
        }
        Ok(())
    }

    /// Fails unless `source` is within the limit on text.
    pub fn check_source(&self, source: &str) -> Result<()> {
        if source.len() > self.limits.max_source_bytes {
            return Err(Error::limit(
                "the size of the text in bytes",
                self.limits.max_source_bytes,
                "max_source_bytes",
            ));
        }
        Ok(())
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget::new(Limits::default(), CancelFlag::default())
    }
}
