//! Runs that do not fit into memory, or into a stack.

use crate::small::folder;

/// A sweep beyond saturation, whose waiting messages take ever more memory.
#[cfg(target_os = "linux")]
#[test]
fn a_sweep_ends_before_memory_does() {
    let folder = folder();
    let mut command = crate::command(&[
        "sweep",
        "idle.toml",
        "--jobs=1",
        "--set=run.messages=20000000",
        "--set=sweep.traffic.arrivals.rate=[3]",
    ]);
    let run = crate::outcome(command.env("WORMCAST_MEMORY", "150MB").current_dir(folder.path()).spawn().unwrap());
    assert_eq!(run.code, 1, "{}", run.stderr);
    let expected = [
        "out of memory: ",
        "more than 95% of what `WORMCAST_MEMORY` allows",
        "results so far are kept in `results/store.db`",
    ];
    for part in expected {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
}

/// What `ulimit` leaves counts, whatever the variable says.
#[cfg(target_os = "linux")]
#[test]
fn the_variable_allows_no_more_than_ulimit() {
    let script = format!(
        "ulimit -v 600000; WORMCAST_MEMORY=100GB exec '{}' topology mesh:4000x4000",
        env!("CARGO_BIN_EXE_wormcast")
    );
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let run = crate::outcome(shell.spawn().unwrap());
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("`ulimit` allows no more"), "{}", run.stderr);

    // Too little to start: an error, not the end of a thread that the system refuses.
    let script = format!("ulimit -v 60000; exec '{}' simulate", env!("CARGO_BIN_EXE_wormcast"));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let run = crate::outcome(shell.spawn().unwrap());
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.starts_with("error: the program needs about 67 MB of memory"), "{}", run.stderr);
}

/// 64 KB of stack for the main thread were too few.
#[cfg(unix)]
#[test]
fn a_small_stack_is_enough() {
    let line = format!(
        "ulimit -s 64; exec '{}' plan --topology mesh:8x8 --algorithm dual-path --source 4,3 --destinations '1,4;7,2'",
        env!("CARGO_BIN_EXE_wormcast")
    );
    let output = std::process::Command::new("sh").args(["-c", &line]).env_clear().output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout.starts_with(b"dual-path on mesh:8x8"), "{output:?}");
}

/// What a run does not leave room for is told with a network of the family whose runs fit.
#[test]
fn a_run_that_does_not_fit_names_a_smaller_network() {
    let run = |topology: &str, memory: &str| {
        let folder = folder();
        let mut command = crate::command(&["simulate", "idle.toml", &format!("--set=topology={topology}")]);
        command.env("WORMCAST_MEMORY", memory).current_dir(folder.path());
        crate::outcome(command.spawn().expect("the command starts"))
    };
    let said = run("mesh:512x512", "100MB").bad_input();
    let smaller = said.split('`').find(|spec| spec.starts_with("mesh:")).unwrap_or_else(|| panic!("{said}"));
    assert!(said.contains("a run on mesh:512x512 needs about") && said.contains("starts, with about"), "{said}");
    // What its messages take is another matter.
    assert_ne!(run(smaller, "100MB").code, 2);
}
