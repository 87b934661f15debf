//! Ending work early: the signals that ask for it, and what then becomes of work that writes to a store; also before memory runs out.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::ProgressBar;

use crate::lab::Store;
use crate::network::MemoryLimits;

/// How often the memory is looked after.
const TICK: Duration = Duration::from_millis(100);

/// Ends the process with exit code 1 before the system kills it for its memory; messages that wait beyond saturation take it. What is in the store stays. Until it is
/// dropped.
pub(crate) struct MemoryGuard {
    _ended: mpsc::Sender<()>,
}

impl MemoryGuard {
    /// `command` is what goes on with more memory, such as `the same command`.
    pub(crate) fn new(store: &Path, command: &'static str, bar: &ProgressBar) -> Self {
        let (ended, end) = mpsc::channel();
        let (store, bar, limits) = (store.to_owned(), bar.clone(), MemoryLimits::now());
        std::thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(TICK) {
                let Some(reached) = limits.reached() else { continue };
                bar.finish_and_clear();
                let less = "lower loads, fewer `--jobs` or `run.max_cycles` take less";
                let line = format!(
                    "error: out of memory: {reached}; {less}{}; results so far are kept in `{}`, and {command} goes on from there\n",
                    reached.remedy(),
                    store.display()
                );
                let _ = std::io::stderr().write_all(line.as_bytes());
                let _ = Store::checkpoint(&store);
                std::process::exit(1);
            }
        });
        Self { _ended: ended }
    }
}

/// The signals that end a command with what it has: SIGINT (Ctrl-C), SIGTERM, and SIGHUP, which a closed terminal sends, unless the
/// process was started to outlive its terminal, as by `nohup`. The exit code is 128 and the signal's number.
///
/// # Errors
/// If no handler can be set.
#[cfg(unix)]
pub(crate) fn signals() -> std::io::Result<signal_hook::iterator::Signals> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let closing = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    signal_hook::iterator::Signals::new([SIGINT, SIGTERM].into_iter().chain(closing))
}

/// Whether whoever started the process had it ignore a signal. Where the system does not tell, that is taken to be so: the signal then
/// does what it would do without wormcast.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Ends the process at one of the [`signals`], with one line on standard error and the signal's exit code. The replications
/// in flight are dropped, since finishing them may take minutes; all others are in the store, which takes an end at any moment, and
/// if that is quick, in its file rather than in the log beside it.
///
/// A terminal, `timeout` and other programs may send the signal twice at once: the second one changes nothing. If nothing reads the
/// line, the process ends without it after two seconds.
///
/// `command` is what goes on, such as `the same command`. Of several calls, as by a sweep that is refined, the last one counts.
#[cfg(unix)]
pub(crate) fn keep(store: &Path, command: &'static str, bar: &ProgressBar) {
    const PATIENCE: Duration = Duration::from_secs(2);
    static KEPT: Mutex<Option<(PathBuf, &str, ProgressBar)>> = Mutex::new(None);

    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if kept().replace((store.to_owned(), command, bar.clone())).is_some() {
        return;
    }
    // If a handler cannot be set, the signal ends the process as it always does.
    let Ok(mut signals) = signals() else { return };
    std::thread::spawn(move || {
        let Some(signal) = signals.forever().next() else { return };
        let (done, ended) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            let Some((store, command, bar)) = kept().clone() else { return };
            bar.finish_and_clear();
            let path = store.display();
            let line = format!("interrupted: results so far are kept in `{path}`; {command} goes on from there\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
            // What stays in the log is as safe there.
            let _ = Store::checkpoint(&store);
            drop(done);
        });
        let _ = ended.recv_timeout(PATIENCE);
        std::process::exit(128 + signal);
    });
}

/// Elsewhere the system's own way to end a process does it, without a line.
#[cfg(not(unix))]
pub(crate) fn keep(_: &Path, _: &'static str, _: &ProgressBar) {}
