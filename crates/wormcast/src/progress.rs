//! Shows progress: a bar if standard error is a terminal, otherwise a line now and then.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::lab::{DamagedRow, Status, SweepObserver};
use crate::network::watch::WorkProgress;
use crate::papers::{ReproductionObserver, ReproductionStatus};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

/// Shows the progress of a sweep or a reproduction.
pub(crate) struct Progress {
    started: Instant,
    /// Hidden if there is no terminal.
    bar: ProgressBar,
    log: Option<Log>,
    stored: Stored,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let terminal = io::stderr().is_terminal();
        let bar = if terminal { ProgressBar::new(0) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}% {elapsed}{prefix}  {wide_msg}") {
            bar.set_style(style);
        }
        if terminal {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let started = Instant::now();
        let log = (!terminal).then(|| Log::new(started));
        Self { started, bar, log, stored: Stored::default() }
    }

    /// The bar; its clones are the same bar.
    pub(crate) fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn warn_of(&self, row: &DamagedRow) {
        let message =
            format!("a damaged row of the result store is set aside, and simulated again where it is needed: {row}");
        self.bar.suspend(|| Failure::warn(&message));
    }

    fn show(&mut self, work: Work, milestone: bool, message: String) {
        let elapsed = self.started.elapsed();
        if let Some(log) = &self.log {
            log.show(elapsed, work, milestone, message);
            return;
        }
        self.bar.set_length(Work::UNITS);
        self.bar.set_position((Work::UNITS as f64 * work.share()) as u64);
        self.bar
            .set_prefix(work.left(elapsed).map_or_else(String::new, |left| format!(" left {:#}", HumanDuration(left))));
        self.bar.set_message(message);
    }
}

/// Progress as lines. They go on while nothing new happens, as during a long replication.
struct Log {
    state: Arc<Mutex<LogState>>,
    /// Ends the thread that writes the lines in between.
    _end: mpsc::Sender<()>,
}

#[derive(Default)]
struct LogState {
    lines: Lines,
    /// What was said last.
    last: Option<(Work, String)>,
}

impl Log {
    fn new(started: Instant) -> Self {
        let state = Arc::<Mutex<LogState>>::default();
        let (sender, end) = mpsc::channel();
        let shared = Arc::clone(&state);
        let goes_on = move || {
            while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(Duration::from_secs(1)) {
                write(shared.lock().unwrap_or_else(PoisonError::into_inner).line(started.elapsed(), false));
            }
        };
        // Without a thread there are the lines of what happens.
        let _ = thread::Builder::new().spawn(goes_on);
        Self { state, _end: sender }
    }

    fn show(&self, elapsed: Duration, work: Work, milestone: bool, message: String) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last = Some((work, message));
        write(state.line(elapsed, milestone));
    }
}

impl LogState {
    /// A line about what was said last, if it is time for one.
    fn line(&mut self, elapsed: Duration, milestone: bool) -> Option<String> {
        let (work, message) = self.last.as_ref()?;
        self.lines.line(elapsed, work.left(elapsed), milestone, message)
    }
}

/// Writes a line if there is one. Nobody has to read it.
fn write(line: Option<String>) {
    if let Some(line) = line {
        let _ = writeln!(io::stderr(), "{line}");
    }
}

/// Shows the progress of a long command other than a sweep.
pub(crate) struct Meter {
    started: Instant,
    bar: ProgressBar,
    lines: Option<Lines>,
    /// The work that is shown, and since when.
    work: Option<(&'static str, Duration)>,
}

impl Meter {
    /// The least time between two lines of a log, and before the first.
    const QUIET: Duration = Duration::from_secs(10);

    /// The display of a command that has been running since `started`.
    pub(crate) fn new(started: Instant, terminal: bool) -> Self {
        let bar = if terminal { ProgressBar::new(Work::UNITS) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}% {elapsed}{prefix}  {wide_msg}") {
            bar.set_style(style);
        }
        let lines = (!terminal).then_some(Lines { quiet: Self::QUIET, last: Duration::ZERO });
        Self { started, bar, lines, work: None }
    }

    pub(crate) fn show(&mut self, step: WorkProgress) {
        let now = self.started.elapsed();
        // What is left is estimated by the time of the present work alone.
        let since = match self.work {
            Some((work, since)) if work == step.work => since,
            _ => self.work.insert((step.work, now)).1,
        };
        let work = Work { done: step.done as f64, all: step.of as f64 };
        let left = work.left(now.saturating_sub(since)).filter(|_| step.of > 0);
        if let Some(lines) = &mut self.lines {
            write(lines.line(now, left, false, &step.to_string()));
            return;
        }
        self.bar.set_position((Work::UNITS as f64 * work.share()) as u64);
        self.bar.set_prefix(left.map_or_else(String::new, |left| format!(" left {:#}", HumanDuration(left))));
        self.bar.set_message(step.to_string());
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// How much there is to do, in whatever unit. What the store had has cost no time, and says nothing about the rest.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Work {
    done: f64,
    all: f64,
}

impl Work {
    /// The length of the bar.
    const UNITS: u64 = 10_000;
    /// Nobody knows how much there is.
    const UNKNOWN: Self = Self { done: 0.0, all: 0.0 };

    fn share(self) -> f64 {
        if self.all > 0.0 { (self.done / self.all).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The time that the rest takes, if it is like what was done.
    fn left(self, elapsed: Duration) -> Option<Duration> {
        let ratio = (self.all - self.done).max(0.0) / self.done;
        if self.done > 0.0 { Duration::try_from_secs_f64(elapsed.as_secs_f64() * ratio).ok() } else { None }
    }
}

/// The time that is left, in words. What is left of an estimate at its end says nothing to the second.
fn short(left: Duration) -> String {
    const SOON: Duration = Duration::from_secs(5);
    if left < SOON { format!("less than {}", HumanDuration(SOON)) } else { format!("about {}", HumanDuration(left)) }
}

/// Lines for a log: few.
struct Lines {
    /// The least time between two of them, and before the first: what is done sooner says nothing.
    quiet: Duration,
    /// When the last one was written, after the start.
    last: Duration,
}

impl Default for Lines {
    fn default() -> Self {
        Self { quiet: Duration::from_secs(30), last: Duration::ZERO }
    }
}

impl Lines {
    /// A line if it is time for one. A milestone does not wait for that, once the run has taken long enough to say anything at all.
    fn line(&mut self, elapsed: Duration, left: Option<Duration>, milestone: bool, message: &str) -> Option<String> {
        if elapsed < self.quiet || !milestone && elapsed.saturating_sub(self.last) < self.quiet {
            return None;
        }
        self.last = elapsed;
        let left = left.map_or_else(String::new, |left| format!(", {} left", short(left)));
        Some(format!("progress: {message}; {} so far{left}", HumanDuration(elapsed)))
    }
}

/// The part of a reproduction that the store had, in parts.
#[derive(Default)]
struct Stored {
    /// Of the parts that are done.
    before: f64,
    /// Of the present part.
    now: f64,
}

impl Stored {
    /// The work of a reproduction; `part` is the share of the present part that is there, and whether anything of it was computed.
    fn work(&mut self, done: usize, parts: usize, part: Option<(f64, bool)>) -> Work {
        let within = part.map_or(0.0, |(share, _)| share);
        match part {
            // A part begins.
            None => self.before += std::mem::take(&mut self.now),
            Some((_, false)) => self.now = within,
            Some((_, true)) => {}
        }
        // While a part turns out to need more, what the store had is less of it than it seemed.
        let stored = self.before + self.now.min(within);
        Work { done: done as f64 + within - stored, all: parts as f64 - stored }
    }
}

impl SweepObserver for Progress {
    fn damaged(&mut self, row: &DamagedRow) {
        self.warn_of(row);
    }

    fn update(&mut self, status: &Status<'_>) -> ControlFlow<()> {
        let stored = status.replications.saturating_sub(status.computed);
        let work =
            Work { done: status.computed as f64, all: status.replications_expected.saturating_sub(stored) as f64 };
        let Status { points_done, points, replications, replications_expected, .. } = status;
        let mut message =
            format!("{points_done} of {points} points, {replications} of {replications_expected} replications");
        if let (None, Some(point)) = (&self.log, &status.point) {
            message = format!("{points_done} of {points} points  {}", point.point.label());
        }
        self.show(work, false, message);
        ControlFlow::Continue(())
    }
}

impl ReproductionObserver for Progress {
    fn damaged(&mut self, row: &DamagedRow) {
        self.warn_of(row);
    }

    fn update(&mut self, status: &ReproductionStatus<'_>) -> ControlFlow<()> {
        let &ReproductionStatus { done, parts, name, sweep } = status;
        let share = |s: &Status<'_>| (s.replications as f64 / s.replications_expected.max(1) as f64).min(1.0);
        let points = sweep.map_or_else(String::new, |s| format!(", {} of {} points", s.points_done, s.points));
        let (work, message) = match (parts, &self.log) {
            (None, _) => (Work::UNKNOWN, format!("all experiments done, now {name}{points}")),
            (Some(parts), log) => {
                let work = self.stored.work(done, parts, sweep.map(|sweep| (share(sweep), sweep.computed > 0)));
                let message = match log {
                    Some(_) => format!("{done} of {parts} parts done, now {name}{points}"),
                    // A bar has little space beside it.
                    None => format!("{} of {parts}: {name}{points}", done + 1),
                };
                (work, message)
            }
        };
        self.show(work, sweep.is_none() && done > 0, message);
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_log_gets_few_lines() {
        let mut lines = Lines::default();
        let work = Work { done: 1.0, all: 4.0 };
        let mut at = |time, milestone| {
            let time = seconds(time);
            lines.line(time, work.left(time), milestone, "1 of 4 points")
        };
        assert_eq!(at(0, false), None);
        assert_eq!(at(29, true), None, "short runs say nothing");
        let line = "progress: 1 of 4 points; 40 seconds so far, about 2 minutes left";
        assert_eq!(at(40, false).as_deref(), Some(line));
        let near = Lines::default().line(seconds(60), Some(Duration::from_millis(400)), false, "4 of 4 points");
        assert_eq!(near.as_deref(), Some("progress: 4 of 4 points; 60 seconds so far, less than 5 seconds left"));
        assert_eq!(at(69, false), None);
        assert!(at(69, true).is_some(), "a part is done");
        assert_eq!(at(98, false), None);
        assert!(at(99, false).is_some());
        let line =
            Lines::default().line(seconds(60), Work { done: 0.0, all: 4.0 }.left(seconds(60)), false, "0 of 4 points");
        assert_eq!(line.as_deref(), Some("progress: 0 of 4 points; 60 seconds so far"), "nothing to estimate from");
    }

    #[test]
    fn lines_go_on_while_nothing_happens() {
        let mut state = LogState::default();
        assert_eq!(state.line(seconds(40), false), None, "nothing was said yet");
        state.last = Some((Work { done: 0.0, all: 4.0 }, "0 of 4 points".to_owned()));
        let line = |state: &mut LogState, time| state.line(seconds(time), false);
        assert_eq!(line(&mut state, 40).as_deref(), Some("progress: 0 of 4 points; 40 seconds so far"));
        assert_eq!(line(&mut state, 69), None);
        assert_eq!(line(&mut state, 70).as_deref(), Some("progress: 0 of 4 points; 70 seconds so far"));
    }

    #[test]
    fn the_estimate_is_about_what_the_store_had_not() {
        let mut stored = Stored::default();
        // The first part is from the store, the second a half, the third not at all.
        stored.work(0, 3, None);
        assert_eq!(stored.work(0, 3, Some((1.0, false))), Work { done: 0.0, all: 2.0 });
        assert_eq!(stored.work(1, 3, None), Work { done: 0.0, all: 2.0 });
        assert_eq!(stored.work(1, 3, Some((0.5, false))), Work { done: 0.0, all: 1.5 });
        assert_eq!(stored.work(1, 3, Some((1.0, true))), Work { done: 0.5, all: 1.5 });
        let work = stored.work(2, 3, None);
        assert_eq!(work, Work { done: 0.5, all: 1.5 });
        assert_eq!(work.left(seconds(10)), Some(seconds(20)));
    }
}
