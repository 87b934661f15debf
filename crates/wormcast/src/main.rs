//! The command `wormcast`.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;

mod commands;
mod failure;
mod interrupt;
mod progress;

use commands::Cli;
use failure::Failure;

fn main() -> ExitCode {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let result = match Cli::try_parse() {
        Ok(cli) => {
            let done = cli.command.run(&mut out);
            // What is known by the time of a failure is an answer too.
            let flushed = out.flush();
            done.and(flushed.map_err(Failure::from))
        }
        Err(usage) => failure::show_usage(&usage, &mut out),
    };
    // What a failed write left in the buffer must not be tried again when the process ends.
    let _ = out.into_parts();
    result.map_or_else(Failure::report, |()| ExitCode::SUCCESS)
}
