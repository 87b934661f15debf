//! `wormcast completions`: what shells need to complete the command line.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

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
    clap_complete::generate(arguments.shell, &mut Cli::command(), program(), &mut script);
    Ok(out.write_all(&script)?)
}

/// The name by which this program was called: those with algorithms of their own have other names.
fn program() -> String {
    let called = std::env::args_os().next().map(PathBuf::from);
    let name = called.as_deref().and_then(Path::file_stem).and_then(OsStr::to_str);
    name.unwrap_or("wormcast").to_owned()
}
