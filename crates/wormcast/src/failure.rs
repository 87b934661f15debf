//! Failures of commands, their messages and their exit codes.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};

use crate::lab::Diagnostic;
use crate::network::text::without_error_numbers;
use crate::usage;

/// Why a command failed.
pub(crate) enum Failure {
    /// The input is wrong or cannot be read: exit code 2.
    BadInput(String),
    /// The input is good, but the work failed, or its results cannot be written: exit code 1.
    Failed(String),
    /// The results cannot be written: exit code 1, or silence if the reader has closed the pipe.
    Output(io::Error),
    /// An invalid experiment, with the position of the error: exit code 2.
    Experiment(Box<Diagnostic>),
    /// Usage that has been explained already: exit code 2.
    Usage,
    /// A signal ended the work early: exit code 128 and the signal's number.
    Interrupted {
        /// The signal's number.
        signal: i32,
        /// Where the work stopped, and what the answer lacks.
        message: String,
    },
}

impl Failure {
    /// The failure for an error in what the user gave.
    pub(crate) fn bad_input(error: impl Display) -> Self {
        Self::BadInput(error.to_string())
    }

    /// The failure for a mistake in an experiment.
    pub(crate) fn diagnostic(diagnostic: Diagnostic) -> Self {
        Self::Experiment(Box::new(diagnostic))
    }

    /// Warns the user on standard error.
    pub(crate) fn warn(message: &str) {
        drop(writeln!(io::stderr(), "warning: {}", without_error_numbers(message)));
    }

    /// The failure for work that could not be done.
    pub(crate) fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// Reports the failure on standard error. Returns the exit code.
    pub(crate) fn report(self) -> u8 {
        // If standard error cannot be written either, the exit code has to say it all.
        let tell = |message: &str| drop(writeln!(io::stderr(), "error: {}", without_error_numbers(message)));
        match self {
            Self::BadInput(message) => {
                tell(&message);
                2
            }
            Self::Failed(message) => {
                tell(&message);
                1
            }
            // The reader has what it wanted, as in `wormcast plan … | head`.
            Self::Output(error) if error.kind() == ErrorKind::BrokenPipe => 0,
            Self::Output(error) => {
                tell(&format!("cannot write the results: {error}"));
                1
            }
            Self::Experiment(diagnostic) => {
                let color = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
                drop(writeln!(io::stderr(), "{}", without_error_numbers(&diagnostic.render(color))));
                2
            }
            Self::Usage => 2,
            Self::Interrupted { signal, message } => {
                drop(writeln!(io::stderr(), "{message}"));
                u8::try_from(128 + signal).unwrap_or(1)
            }
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<serde_json::Error> for Failure {
    /// The program's own values always serialise: what fails is the writing.
    fn from(error: serde_json::Error) -> Self {
        Self::Output(error.into())
    }
}

/// Shows help or the version, which were asked for, on `out`, and mistakes on standard error.
pub(crate) fn show_usage(usage: &clap::Error, out: &mut impl Write) -> Result<(), Failure> {
    if usage.use_stderr() {
        match usage::explained(usage, &std::env::args_os().collect::<Vec<_>>()) {
            Some(message) => drop(writeln!(io::stderr(), "error: {message}\n\nFor more information, try '--help'.")),
            None => drop(usage.print()),
        }
        return Err(Failure::Usage);
    }
    write!(out, "{}", usage.render())?;
    Ok(out.flush()?)
}
