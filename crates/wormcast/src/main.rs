//! The program `wormcast`.

use std::process::ExitCode;

fn main() -> ExitCode {
    wormcast::command::run()
}
