//! Work that may take long: on threads of its own, a few at once, stopped when it takes too long or nobody waits for it any more.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use wormcast_network::MemoryLimits;
use wormcast_network::watch::{Watch, WorkProgress, watched};

use crate::answer::Refusal;

/// How many analyses run at once.
const AT_ONCE: usize = 2;
/// How many more may wait for their turn.
const WAITING: usize = 32;
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often memory is looked after.
const TICK: Duration = Duration::from_millis(100);
/// What is said of work that panics.
const PANICKED: &str = "the work ended in an error of the program";

/// The threads for work.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    turns: Arc<Semaphore>,
    all: Arc<AtomicUsize>,
    patience: Duration,
}

impl Work {
    pub(crate) fn new() -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)), all: Arc::new(AtomicUsize::new(0)), patience: PATIENCE }
    }

    /// Does something, and gives up if it takes too long, if memory runs out, or when the caller does not wait for it any more.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let Some(_counted) = Counted::one_of(&self.all, AT_ONCE + WAITING) else {
            return Err(Refusal::Busy("too many analyses wait for their turn: try again later".to_owned()));
        };
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(Refusal::failed)?;
        let stop = Arc::new(Stop::default());
        // Dropped with this future, as when the browser closes its connection.
        let unwanted = Unwanted(Arc::clone(&stop));
        let patience = self.patience;
        let done = tokio::task::spawn_blocking(move || {
            let result = bounded(&stop, patience, work);
            drop(turn);
            result
        });
        let result = done.await.map_err(|_| Refusal::Failed(PANICKED.to_owned()))?;
        drop(unwanted);
        result
    }
}

/// One of a bounded number, counted while it lives.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn one_of(all: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        if all.fetch_add(1, Ordering::Relaxed) >= most {
            all.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Self(Arc::clone(all)))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether work is to stop, and why.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    stopped: AtomicBool,
    why: Mutex<Option<String>>,
}

impl Stop {
    pub(crate) fn stop(&self, why: impl Into<String>) {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| why.into());
        self.stopped.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub(crate) fn why(&self) -> String {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
    }
}

struct Unwanted(Arc<Stop>);

impl Drop for Unwanted {
    fn drop(&mut self) {
        self.0.stop("nobody waits for the answer any more");
    }
}

/// Stops work that has been told to, or that has taken too long.
struct Bounds {
    stop: Arc<Stop>,
    end: Instant,
    patience: Duration,
    /// Where it stopped.
    at: Cell<Option<WorkProgress>>,
}

impl Watch for Bounds {
    fn step(&self, step: WorkProgress) -> ControlFlow<()> {
        if !self.stop.is_stopped() && Instant::now() >= self.end {
            let seconds = self.patience.as_secs();
            self.stop.stop(format!("the page waits for {seconds} seconds, the command for as long as it takes"));
        }
        if self.stop.is_stopped() {
            self.at.set(Some(step));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Does work on this thread, within time and memory.
fn bounded<T>(stop: &Arc<Stop>, patience: Duration, work: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    with_memory(stop, || {
        let bounds =
            Rc::new(Bounds { stop: Arc::clone(stop), end: Instant::now() + patience, patience, at: Cell::new(None) });
        let result = watched(Rc::<Bounds>::clone(&bounds), work);
        match (result, bounds.at.get()) {
            // Parts may be left out of an answer; here it is whole or none.
            (Err(_) | Ok(Ok(_)), Some(at)) => Err(Refusal::Failed(format!("stopped while {at}: {}", stop.why()))),
            (Err(stopped), None) => Err(Refusal::Failed(stopped.to_string())),
            (Ok(done), _) => done,
        }
    })
}

/// Work that goes on after its request was answered.
#[derive(Debug, Default)]
pub(crate) struct Background(Arc<Going>);

/// How much of it goes on.
#[derive(Debug, Default)]
struct Going {
    count: Mutex<usize>,
    ended: Condvar,
}

impl Going {
    fn count(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts one thread until it ends, however it does.
struct Thread(Arc<Going>);

impl Drop for Thread {
    fn drop(&mut self) {
        *self.0.count() -= 1;
        self.0.ended.notify_all();
    }
}

impl Background {
    /// Does work on a thread of its own, and then tells how it ended, even if that was in a panic.
    pub(crate) fn start<T>(
        &self,
        stop: Arc<Stop>,
        work: impl FnOnce() -> Result<T, String> + Send + 'static,
        end: impl FnOnce(Result<T, String>) + Send + 'static,
    ) {
        *self.0.count() += 1;
        let thread = Thread(Arc::clone(&self.0));
        std::thread::spawn(move || {
            let _counted = thread;
            let done = catch_unwind(AssertUnwindSafe(|| with_memory(&stop, work)));
            end(done.unwrap_or_else(|_| Err(PANICKED.to_owned())));
        });
    }

    /// Waits until all of it has ended and its files are closed, but no longer than so long. Whether it has.
    pub(crate) fn wait(&self, patience: Duration) -> bool {
        let waited = self.0.ended.wait_timeout_while(self.0.count(), patience, |count| *count > 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0 == 0
    }
}

/// Does work, and tells it to stop when the process has taken the memory that it may.
pub(crate) fn with_memory<T>(stop: &Arc<Stop>, work: impl FnOnce() -> T) -> T {
    let (done, end) = mpsc::channel::<()>();
    let limits = MemoryLimits::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while end.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if let Some(reached) = limits.reached() {
                    stop.stop(format!("out of memory: {reached}; a smaller network takes less"));
                }
            }
        });
        // Dropped however the work ends.
        let _done = done;
        work()
    })
}

#[cfg(test)]
mod tests {
    use wormcast_network::watch::step;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads")
    }

    /// Works until it is stopped, and then sends word.
    fn endless(ended: mpsc::Sender<()>) -> impl FnOnce() -> Result<(), Refusal> + Send + 'static {
        move || {
            let _ended = ended;
            loop {
                step("working", "rounds", 1, 0);
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn work_is_stopped_when_its_time_is_over() {
        let work = Work { patience: Duration::ZERO, ..Work::new() };
        let (ended, _end) = mpsc::channel();
        let Err(Refusal::Failed(why)) = runtime().block_on(work.run(endless(ended))) else {
            panic!("it has no answer")
        };
        assert!(why.starts_with("stopped while working: 1 rounds: the page waits for 0 seconds"), "{why}");
    }

    #[test]
    fn work_is_stopped_when_nobody_waits_for_it() {
        let (runtime, work) = (runtime(), Work::new());
        let (ended, end) = mpsc::channel::<()>();
        let waiting = runtime.spawn({
            let work = work.clone();
            async move { work.run(endless(ended)).await }
        });
        while work.turns.available_permits() == AT_ONCE {
            std::thread::yield_now();
        }
        waiting.abort();
        // It ends by dropping its sender.
        assert!(end.recv().is_err());
    }

    #[test]
    fn work_in_the_background_ends_even_in_a_panic() {
        let (background, (told, hears)) = (Background::default(), mpsc::channel());
        let tell = move |result: Result<(), String>| told.send(result).expect("it is waited for");
        background.start(Arc::new(Stop::default()), || panic!("this panic is part of a test"), tell.clone());
        assert_eq!(hears.recv(), Ok(Err(PANICKED.to_owned())));
        background.start(Arc::new(Stop::default()), || Ok(()), tell);
        assert_eq!(hears.recv(), Ok(Ok(())));
    }

    #[test]
    fn work_in_the_background_is_waited_for() {
        let (background, stop) = (Background::default(), Arc::new(Stop::default()));
        let (own, ended) = (Arc::clone(&stop), Arc::new(AtomicBool::new(false)));
        let until_told = move || {
            while !own.is_stopped() {
                std::thread::yield_now();
            }
            Ok(())
        };
        let tell = Arc::clone(&ended);
        background.start(Arc::clone(&stop), until_told, move |_| tell.store(true, Ordering::Release));
        assert!(!background.wait(Duration::ZERO), "it goes on");
        stop.stop("enough");
        assert!(background.wait(Duration::from_secs(60)) && ended.load(Ordering::Acquire));
        // What panics while it tells has ended, too.
        background.start(stop, || Ok(()), |_| panic!("this panic is part of a test"));
        assert!(background.wait(Duration::from_secs(60)));
    }

    #[test]
    fn no_more_than_a_few_wait() {
        let (runtime, work) = (runtime(), Work::new());
        let (ended, _end) = mpsc::channel::<()>();
        let all: Vec<_> = (0..AT_ONCE + WAITING)
            .map(|_| {
                let (work, ended) = (work.clone(), ended.clone());
                runtime.spawn(async move { work.run(endless(ended)).await })
            })
            .collect();
        while work.all.load(Ordering::Relaxed) < AT_ONCE + WAITING {
            std::thread::yield_now();
        }
        assert!(matches!(runtime.block_on(work.run(|| Ok(()))), Err(Refusal::Busy(_))));
        all.iter().for_each(tokio::task::JoinHandle::abort);
        while work.all.load(Ordering::Relaxed) > 0 {
            std::thread::yield_now();
        }
        assert!(runtime.block_on(work.run(|| Ok(()))).is_ok());
    }
}
