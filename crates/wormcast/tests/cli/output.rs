//! Results that cannot be written.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};

use crate::folder::Folder;
use crate::{command, outcome};

/// As in `wormcast topology mesh:200x200 --format dot | head -1`.
#[test]
fn a_reader_that_leaves_ends_the_command_quietly() {
    let mut child = command(&["topology", "mesh:200x200", "--format", "dot"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "graph \"mesh:200x200\" {\n");
    let outcome = outcome(child);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let plan = ["plan", "--topology", "mesh:4x4", "--algorithm", "separate", "--source", "0", "--destinations", "1"];
    let folder = Folder::with(&[
        ("x.toml", "topology = 'mesh:2x2'\nalgorithm = 'separate'\ntraffic.trace = 't'\n"),
        ("t", "0 0 8 3"),
    ]);
    let file = folder.path().join("x.toml").display().to_string();
    let commands = [
        &plan[..],
        &["topology", "mesh:4x4"],
        &["simulate", &file],
        &["simulate", &file, "--format", "json"],
        &["schema"],
        &["completions", "bash"],
        &["--help"],
        &["--version"],
    ];
    for arguments in commands {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let outcome = outcome(command(arguments).stdout(full).spawn().unwrap());
        assert_eq!(outcome.code, 1, "{arguments:?}");
        assert!(outcome.stderr.starts_with("error: cannot write the results: "), "{arguments:?}: {outcome:?}");
    }
}
