//! `wormcast completions`: what shells need to complete the command line.

use std::io::Write;

use clap::Args;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::program;

/// Print a completion script for a shell.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast completions bash > wormcast.bash")]
pub(crate) struct Arguments {
    /// The shell.
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    // The generator panics if it cannot write; to memory it always can.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::command(), program::name(), &mut script);
    Ok(out.write_all(&script)?)
}
