//! `wormcast man`: manual pages.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_mangen::Man;

use super::results::{folder, make_folder};
use crate::failure::Failure;
use crate::lab::write_file;

/// Write manual pages: one for the command, and one for each subcommand.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast man --out share/man/man1")]
pub(crate) struct Arguments {
    /// The folder for the pages; made if it is not there. `man` looks in the folder `man1` of every folder on its path.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, value_parser = folder())]
    out: PathBuf,
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let folder = &arguments.out;
    make_folder(folder)?;
    let mut command = super::command().disable_help_subcommand(true);
    command.build();
    for page in std::iter::once(&command).chain(command.get_subcommands()) {
        let name = page.get_display_name().unwrap_or_else(|| page.get_name());
        let path = folder.join(format!("{name}.1"));
        let mut text = Vec::new();
        Man::new(page.clone()).render(&mut text)?;
        write_file(&path, &text).map_err(Failure::failed)?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(())
}
