//! Interrupting a run that writes to a store.

use std::path::Path;

use indicatif::ProgressBar;

/// Ends the process at SIGINT (Ctrl-C) or SIGTERM, with one line on standard error and exit code 130 or 143. The replications
/// in flight are dropped, since finishing them may take minutes; all others are in the store, which takes an end at any moment, and
/// if that is quick, in its file rather than in the log beside it.
///
/// A terminal, `timeout` and other programs may send the signal twice at once: the second one changes nothing. If nothing reads the
/// line, the process ends without it after two seconds.
///
/// `command` is what goes on, such as `the same command`.
#[cfg(unix)]
pub(crate) fn keep(store: &Path, command: &'static str, bar: &ProgressBar) {
    use std::io::Write;
    use std::sync::mpsc;
    use std::time::Duration;

    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    use crate::lab::Store;

    const PATIENCE: Duration = Duration::from_secs(2);

    // If a handler cannot be set, the signal ends the process as it always does.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    let (store, bar) = (store.to_owned(), bar.clone());
    std::thread::spawn(move || {
        let Some(signal) = signals.forever().next() else { return };
        let (done, ended) = mpsc::channel::<()>();
        std::thread::spawn(move || {
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
