//! `wormcast completions`: what shells need to complete the command line.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use crate::failure::Failure;

/// Print a completion script for a shell.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast completions bash > ~/.local/share/bash-completion/completions/wormcast")]
pub(crate) struct Arguments {
    /// The shell.
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    // The generator panics if it cannot write; to memory it always can.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "wormcast", &mut script);
    Ok(out.write_all(&script)?)
}
