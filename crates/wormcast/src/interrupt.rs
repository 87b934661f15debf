//! What a run that writes to a store says when it is interrupted.

use std::path::Path;

use indicatif::ProgressBar;

/// Ends the process at the first SIGINT (Ctrl-C) or SIGTERM, with one line on standard error and exit code 130 or 143. The replications
/// in flight are dropped, since finishing them may take minutes; all others are in the store, which takes an end at any moment.
/// A second signal ends the process even if nobody takes the line.
///
/// `command` is what goes on, such as `the same command`.
#[cfg(unix)]
pub(crate) fn keep(store: &Path, command: &'static str, bar: &ProgressBar) {
    use std::io::Write;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::{flag, iterator::Signals};

    // If a handler cannot be set, the signal ends the process as it always does.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag down.
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&interrupted));
        let _ = flag::register(signal, Arc::clone(&interrupted));
    }
    let (store, bar) = (store.display().to_string(), bar.clone());
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            bar.finish_and_clear();
            let line = format!("interrupted: results so far are kept in `{store}`; {command} goes on from there\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
            std::process::exit(128 + signal);
        }
    });
}

/// Elsewhere the system's own way to end a process does it, without a line.
#[cfg(not(unix))]
pub(crate) fn keep(_: &Path, _: &'static str, _: &ProgressBar) {}
