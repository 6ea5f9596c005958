//! Work with many matchers at once: what is known at once is done with the GIL, and all else without it, in several threads.
//!
//! The threads are made once, when the first batch that is worth it comes, and the calling thread works too. They take
//! matchers in small portions from a shared counter, so that a slow one delays only itself. A child process that was
//! forked has none of its parent's threads, and makes its own.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tokenstile_engine::Matcher;
use tokenstile_engine::interrupt::Interrupted;

use crate::detached::{Stopped, Watch, detached};
use crate::matcher::GrammarMatcher;

/// Batches below this are done by the calling thread alone: waking another takes longer.
const SMALLEST_SHARED_BATCH: usize = 32;
/// Matchers that a thread takes at a time.
const PORTION: usize = 8;
/// How long the calling thread waits for the others before it looks at signals.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// The threads that share the work of batches.
pub(crate) struct Threads {
    count: usize,
    pool: Mutex<Option<(u32, Arc<ThreadPool>)>>,
}

impl Threads {
    /// So many, the calling one included.
    pub(crate) fn new(count: usize) -> Self {
        Threads { count, pool: Mutex::new(None) }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Does `work` for each job, in several threads if there are enough jobs for it; the results in order. As long as the
    /// calling thread has nothing to do but to wait for the others it calls `idle`.
    pub(crate) fn share<J: Sync, R: Send>(
        &self,
        jobs: &[J],
        idle: impl Fn(),
        work: impl Fn(&J) -> R + Sync,
    ) -> Vec<R> {
        let is_worth_it = self.count > 1 && jobs.len() >= SMALLEST_SHARED_BATCH;
        let Some(pool) = is_worth_it.then(|| self.pool()).flatten() else {
            return jobs.iter().map(work).collect();
        };
        let next = AtomicUsize::new(0);
        let portions = Mutex::new(Vec::with_capacity(jobs.len().div_ceil(PORTION)));
        let take = || {
            loop {
                let start = next.fetch_add(PORTION, Ordering::Relaxed);
                let Some(portion) =
                    jobs.get(start..jobs.len().min(start + PORTION)).filter(|it| !it.is_empty())
                else {
                    return;
                };
                let results: Vec<R> = portion.iter().map(&work).collect();
                portions.lock().push((start, results));
            }
        };
        let helpers = (self.count - 1).min(jobs.len() / PORTION);
        let (working, has_changed) = (Mutex::new(helpers), Condvar::new());
        pool.in_place_scope(|scope| {
            for _ in 0..helpers {
                scope.spawn(|_| {
                    take();
                    *working.lock() -= 1;
                    has_changed.notify_one();
                });
            }
            take();
            let mut working = working.lock();
            while *working > 0 {
                if has_changed.wait_for(&mut working, BETWEEN_LOOKS).timed_out() {
                    parking_lot::MutexGuard::unlocked(&mut working, &idle);
                }
            }
        });
        let mut portions = portions.into_inner();
        portions.sort_unstable_by_key(|&(start, _)| start);
        portions.into_iter().flat_map(|(_, results)| results).collect()
    }

    /// The threads beside the calling one, made at the first use in this process.
    fn pool(&self) -> Option<Arc<ThreadPool>> {
        let process = std::process::id();
        let mut pool = self.pool.lock();
        if let Some((owner, threads)) = pool.as_ref()
            && *owner == process
        {
            return Some(Arc::clone(threads));
        }
        let builder = ThreadPoolBuilder::new().num_threads(self.count - 1);
        let threads = Arc::new(builder.thread_name(|at| format!("tokenstile-{at}")).build().ok()?);
        // The threads of the parent process are not here, and waiting for their end would not return.
        std::mem::forget(pool.replace((process, Arc::clone(&threads))));
        Some(threads)
    }
}

/// Does `work` without the GIL for each number of which nothing is `done` yet, with the matcher of that number. Where there is
/// a reason to stop some are left undone, and that is the error; each matcher has its own time and cancellation.
pub(crate) fn work_all<T: Send>(
    py: Python<'_>,
    threads: Option<&Threads>,
    matchers: &[&GrammarMatcher],
    done: &mut [Option<T>],
    work: impl Fn(usize, &mut Matcher) -> T + Sync,
) -> PyResult<()> {
    matchers.iter().try_for_each(|matcher| matcher.check_use(py))?;
    let alone = Threads::new(1);
    let threads = threads.unwrap_or(&alone);
    loop {
        let jobs: Vec<usize> = (0..done.len()).filter(|&at| done[at].is_none()).collect();
        if jobs.is_empty() {
            return Ok(());
        }
        let (results, stopped) = detached(py, || {
            let call = Call::new();
            let results =
                threads.share(&jobs, || call.look(), |&at| call.run(matchers[at], |it| work(at, it)));
            (results, call.stopped.into_inner())
        })?;
        for (at, result) in jobs.into_iter().zip(results) {
            done[at] = result.ok();
        }
        if let Some(stopped) = stopped {
            stopped.into_result(py)?;
        }
    }
}

/// One call with many matchers.
struct Call {
    caller: std::thread::ThreadId,
    has_stopped: AtomicBool,
    /// The first reason.
    stopped: Mutex<Option<Stopped>>,
}

impl Call {
    fn new() -> Self {
        Watch::begin();
        Call {
            caller: std::thread::current().id(),
            has_stopped: AtomicBool::new(false),
            stopped: Mutex::new(None),
        }
    }

    fn run<T>(
        &self,
        matcher: &GrammarMatcher,
        work: impl FnOnce(&mut Matcher) -> T,
    ) -> Result<T, Interrupted> {
        let watch = Rc::new(self.watch(matcher));
        let is_due = self.has_stopped.load(Ordering::Relaxed) || watch.is_due_now();
        let result = if is_due { Err(Interrupted) } else { matcher.work_detached(&watch, work) };
        self.note(&watch);
        result
    }

    /// Looks at signals while others work.
    fn look(&self) {
        let watch = Watch::for_signals();
        watch.is_due_now();
        self.note(&watch);
    }

    fn watch(&self, matcher: &GrammarMatcher) -> Watch {
        let is_caller = std::thread::current().id() == self.caller;
        Watch::new(matcher.stops()).with_signals(is_caller)
    }

    fn note(&self, watch: &Watch) {
        if let Some(stopped) = watch.stopped() {
            self.stopped.lock().get_or_insert(stopped);
            self.has_stopped.store(true, Ordering::Relaxed);
        }
    }
}
