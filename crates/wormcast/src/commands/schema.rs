//! `wormcast schema`: the JSON Schema of experiment files.

use std::io::Write;

use clap::Args;

use crate::failure::Failure;

/// Print the JSON Schema of experiment files, for editors that check and complete TOML.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast schema > wormcast.schema.json")]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    serde_json::to_writer_pretty(&mut *out, &crate::lab::schema())?;
    Ok(writeln!(out)?)
}
