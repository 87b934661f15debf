//! Reports the progress of long computations, and stops them on request.
//!
//! Loops that may take long call [`step`] now and then. To follow or stop them, run the work under [`watched`];
//! otherwise a step only reads a thread-local variable. Functions in between need not pass anything on.

use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::ops::{ControlFlow, Range};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::OnceLock;
use std::thread;

use thiserror::Error;

/// Receives the progress of work, and decides whether it goes on.
pub trait Watch {
    /// Called with the progress so far; `of` is 0 if the number of parts is unknown. `Break` stops the work.
    fn step(&self, step: WorkProgress) -> ControlFlow<()>;
}

/// The progress of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkProgress {
    /// What is being done, as in `searching distances`.
    pub work: &'static str,
    /// What the parts are, as in `routers`.
    pub parts: &'static str,
    /// How many are done.
    pub done: u64,
    /// How many there are; 0 if unknown.
    pub of: u64,
}

/// The work was stopped by its watch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("stopped while {}", .0)]
pub struct Stopped(pub WorkProgress);

impl std::fmt::Display for WorkProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { work, parts, done, of } = self;
        match of {
            0 if *done == 0 => f.write_str(work),
            0 => write!(f, "{work}: {done} {parts}"),
            _ => write!(f, "{work}: {done} of {of} {parts}"),
        }
    }
}

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static WATCH: RefCell<Option<Rc<dyn Watch>>> = const { RefCell::new(None) };
}

/// Runs work under a watch, on this thread. Work within work may have a watch of its own.
///
/// Work that is stopped unwinds: what it has built so far is dropped. In programs that abort instead, stopping ends the program.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::rc::Rc;
/// use wormcast_network::watch::{WorkProgress, Watch, watched};
/// use wormcast_network::TopologySpec;
///
/// struct Impatient;
///
/// impl Watch for Impatient {
///     fn step(&self, step: WorkProgress) -> ControlFlow<()> {
///         if step.done > 100 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
///     }
/// }
///
/// let graph = "random:nodes=5000,degree=4,seed=1".parse::<TopologySpec>()?.build()?;
/// let stopped = watched(Rc::new(Impatient), || graph.distances()).unwrap_err();
/// assert!(stopped.to_string().starts_with("stopped while searching distances: "));
/// assert!(graph.distances().connected, "there is no watch");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the watch has stopped it.
pub fn watched<T>(watch: Rc<dyn Watch>, work: impl FnOnce() -> T) -> Result<T, Stopped> {
    /// Puts the watch back that there was before, however the work ends.
    struct Before(Option<Rc<dyn Watch>>);
    impl Drop for Before {
        fn drop(&mut self) {
            WATCHED.set(self.0.is_some());
            WATCH.set(self.0.take());
        }
    }
    let before = Before(WATCH.replace(Some(watch)));
    WATCHED.set(true);
    let result = attempt(work);
    drop(before);
    result
}

/// Runs a part of watched work that the rest can do without: if the watch stops it, only this part ends. Without a watch it is never stopped.
///
/// # Errors
/// If the watch has stopped it.
pub fn attempt<T>(work: impl FnOnce() -> T) -> Result<T, Stopped> {
    catch_unwind(AssertUnwindSafe(work)).or_else(|panic| match panic.downcast::<Stopped>() {
        Ok(stopped) => Err(*stopped),
        Err(panic) => resume_unwind(panic),
    })
}

/// Runs one round of watched work that has many: the watch is told of this step instead of those within the round, and so sees how far the whole is.
///
/// # Errors
/// If the watch has stopped it, at this step.
pub fn round<T>(step: WorkProgress, work: impl FnOnce() -> T) -> Result<T, Stopped> {
    struct Round(Rc<dyn Watch>, WorkProgress);
    impl Watch for Round {
        fn step(&self, _: WorkProgress) -> ControlFlow<()> {
            let Self(whole, step) = self;
            whole.step(*step)
        }
    }
    match WATCH.with_borrow(Clone::clone) {
        Some(whole) => watched(Rc::new(Round(whole, step)), work).map_err(|_| Stopped(step)),
        None => Ok(work()),
    }
}

/// Reports progress in every 2^`shift`-th round, for loops of many short rounds.
#[inline]
pub fn step_every(shift: u32, work: &'static str, parts: &'static str, done: usize, of: usize) {
    if done & ((1 << shift) - 1) == 0 {
        step(work, parts, done, of);
    }
}

/// Reports progress, and unwinds if the watch stops the work.
#[inline]
pub fn step(work: &'static str, parts: &'static str, done: usize, of: usize) {
    if let ControlFlow::Break(stopped) = ask(work, parts, done, of) {
        stop(stopped);
    }
}

/// Reports progress, and returns whether the watch stops the work: for work that has to tidy up before it calls [`stop`].
#[inline]
pub fn ask(work: &'static str, parts: &'static str, done: usize, of: usize) -> ControlFlow<Stopped> {
    if !WATCHED.get() {
        return ControlFlow::Continue(());
    }
    told(WorkProgress { work, parts, done: done as u64, of: of as u64 })
}

#[cold]
fn told(step: WorkProgress) -> ControlFlow<Stopped> {
    let watch = WATCH.with_borrow(Clone::clone);
    match watch.map(|watch| watch.step(step)) {
        Some(ControlFlow::Break(())) => ControlFlow::Break(Stopped(step)),
        _ => ControlFlow::Continue(()),
    }
}

/// Does the work on a range of things, in parts of `part` each, on as many threads as there are shares, which it gives back with what each thread has added to its own. Thread `t` takes
/// every part that is `t`, modulo the threads. Progress is reported between parts, as of `of` things, and the watch asked.
///
/// What the shares add up to must not depend on their number, for it is that of the machine's processors mostly. With one share, nothing is spawned.
pub fn shared<S: Send>(
    (work, things): (&'static str, &'static str),
    (part, within, of): (usize, Range<usize>, usize),
    mut shares: Vec<S>,
    each: impl Fn(&mut S, Range<usize>) + Sync,
) -> Vec<S> {
    let threads = shares.len();
    let part = part.max(1);
    let stopped = OnceLock::new();
    let go_through = |thread: usize, share: &mut S| {
        for start in (within.start + thread * part..within.end).step_by(threads * part) {
            // Only the calling thread, which is the first one, can be watched.
            if let ControlFlow::Break(at) = ask(work, things, start, of) {
                let _ = stopped.set(at);
            }
            if stopped.get().is_some() {
                break;
            }
            each(share, start..within.end.min(start + part));
        }
    };
    // The scope passes panics of other threads on.
    thread::scope(|scope| {
        let go_through = &go_through;
        if let Some((own, others)) = shares.split_first_mut() {
            for (thread, share) in (1..).zip(others) {
                scope.spawn(move || go_through(thread, share));
            }
            go_through(0, own);
        }
    });
    match stopped.into_inner() {
        Some(at) => stop(at),
        None => shares,
    }
}

/// How many threads the machine runs at the same time.
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Unwinds work that the watch has stopped.
pub fn stop(stopped: Stopped) -> ! {
    // Not a panic: no message, and `attempt` waits for it.
    resume_unwind(Box::new(stopped))
}
