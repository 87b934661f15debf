//! The command as a shell sees it: standard output, standard error, exit code.

mod batch;
mod chips;
mod classes;
mod compare;
mod deadlocks;
mod documents;
mod experiment;
mod files;
mod folder;
mod interruption;
mod long;
mod memory;
mod merge;
mod names;
mod nodes;
mod options;
mod output;
mod overrides;
mod own_algorithm;
mod pictures;
mod plan;
mod refused;
mod repairs;
mod replaced;
mod reports;
mod reproduce;
mod routing;
mod routing_input;
mod saturation;
mod schema;
#[cfg(all(unix, feature = "serve"))]
mod serve;
mod settings;
mod shared;
mod simulate;
mod small;
mod stores;
mod streams;
mod sweep;
mod switches;
mod tables;
mod topology;
mod trees;
mod usage;

use std::io::Write;
use std::process::{Command, Stdio};

/// What a run of the command leaves behind.
#[derive(Debug)]
struct Outcome {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Outcome {
    /// Standard output of a run that ended well and said nothing on standard error.
    fn success(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "{self:?}");
        self.stdout
    }

    fn json(self) -> serde_json::Value {
        let text = self.success();
        assert_eq!(text.matches('\n').count(), 1, "one line: {text}");
        serde_json::from_str(&text).expect("valid JSON")
    }

    /// Standard error of a run that found its input bad and printed no results.
    fn bad_input(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (2, ""), "{self:?}");
        self.stderr
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wormcast"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn wormcast(arguments: &[&str]) -> Outcome {
    outcome(command(arguments).spawn().expect("the command starts"))
}

/// Runs the command with this standard input.
fn wormcast_with_input(arguments: &[&str], input: &str) -> Outcome {
    let mut child = command(arguments).stdin(Stdio::piped()).spawn().expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let outcome = outcome(child);
    // A command that stops reading early is none of the writer's business.
    let _ = writer.join().expect("the writer does not panic");
    outcome
}

fn outcome(child: std::process::Child) -> Outcome {
    let output = child.wait_with_output().expect("the command ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Outcome {
        code: output.status.code().expect("no signal ended it"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}
