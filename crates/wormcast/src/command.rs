//! The command `wormcast`, for this package's program and for programs with algorithms of their own.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::FromArgMatches;

use crate::commands::{self, Cli};
use crate::failure::Failure;
use crate::lab::Program;
use crate::multicast::{Descriptor, register};
use crate::network::{MemoryError, is_memory_limited_by_shell, require_room_to_start};
use crate::{program, usage};

/// Runs the command line of this process, as the program `wormcast` does.
///
/// Results go to standard output, messages to standard error. The exit code is 2 if the input is bad, and 1 if the work failed.
pub fn run() -> ExitCode {
    run_with([])
}

/// Runs the command line of a program with algorithms of its own, which every subcommand then knows by their names: experiment files name
/// them, help lists them, shells complete them. Their [revisions](Descriptor::new) become part of the names of stored results.
/// Hints, help and the version have the name by which the program was called.
///
/// ```no_run
/// use std::process::ExitCode;
/// use wormcast::multicast::{Descriptor, Separate};
///
/// fn main() -> ExitCode {
///     // In a real program, your own type, whose `name` is `my-own`.
///     wormcast::command::run_with([Descriptor::new("my-own", 1, |network, options| {
///         Ok(Box::new(Separate::new(network, options)?))
///     })])
/// }
/// ```
pub fn run_with(algorithms: impl IntoIterator<Item = Descriptor>) -> ExitCode {
    if let Err(problem) = require_room_to_start() {
        let is_malformed = matches!(problem, MemoryError::Malformed { .. });
        let failure = if is_malformed { Failure::bad_input(problem) } else { Failure::failed(problem) };
        return ExitCode::from(failure.report());
    }
    take_file_limits_as_errors();
    take_memory_limits_as_errors();
    for algorithm in algorithms {
        if let Err(problem) = register(algorithm) {
            return ExitCode::from(Failure::bad_input(problem).report());
        }
    }
    // The stack of the main thread is what `ulimit -s` leaves, and may be too small.
    let work = std::thread::Builder::new().stack_size(STACK).spawn(|| run_arguments(std::env::args_os()));
    match work.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => ExitCode::from(code),
        // It has said why it panicked.
        Ok(Err(_)) => ExitCode::from(PANICKED),
        Err(error) => {
            let problem = format!("cannot start a thread with {} MB of stack: {error}", STACK >> 20);
            ExitCode::from(Failure::failed(problem).report())
        }
    }
}

/// The stack of the thread that does the work, in bytes.
const STACK: usize = 8 << 20;

/// The exit code of what fails for other reasons than its input.
#[cfg(unix)]
const FAILED: i32 = 1;

/// The exit code of a panic, as that of other Rust programs.
const PANICKED: u8 = 101;

/// Where the shell limits memory, a single allocation may be refused before [`MemoryLimits`](crate::network::MemoryLimits) are found to be
/// reached: the standard library then says so and aborts, and the exit code has to be that of other things that fail.
#[cfg(unix)]
fn take_memory_limits_as_errors() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    if is_memory_limited_by_shell() {
        // Whatever else aborts then ends so, too. If no handler can be set, an abort stays one.
        let always = Arc::new(AtomicBool::new(true));
        let _ = signal_hook::flag::register_conditional_shutdown(signal_hook::consts::SIGABRT, FAILED, always);
    }
}

#[cfg(not(unix))]
fn take_memory_limits_as_errors() {}

/// Runs one command line inside of another program, such as an interpreter that has wormcast as a module. The first of the arguments is the name of the
/// program. Returns the exit code.
///
/// Signals that interrupt the work end the whole process.
pub fn run_inside(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    program::call(program::WORMCAST);
    run_arguments(arguments)
}

/// This program: its version and the revision of its sources.
pub fn this_program() -> Program {
    program::THIS
}

/// Writing more to a file than `ulimit -f` allows is then an error with a message, and does not end the process.
fn take_file_limits_as_errors() {
    #[cfg(unix)]
    {
        // If it cannot be set, the limit ends the process as it always does.
        let _ = signal_hook::flag::register(
            signal_hook::consts::SIGXFSZ,
            std::sync::Arc::<std::sync::atomic::AtomicBool>::default(),
        );
    }
}

fn run_arguments(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let result = match parsed(arguments) {
        Ok(cli) => {
            let done = cli.command.run(&mut out);
            // What is known by the time of a failure is an answer too.
            let flushed = out.flush();
            done.and(flushed.map_err(Failure::from))
        }
        Err(usage) => crate::failure::show_usage(&usage, &mut out),
    };
    // What a failed write left in the buffer must not be tried again when the process ends.
    let _ = out.into_parts();
    result.map_or_else(Failure::report, |()| 0)
}

/// A command line.
fn parsed(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = commands::command();
    let arguments = usage::with_negative_numbers(&command, arguments.into_iter());
    let matches = command.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}
