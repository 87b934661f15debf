//! Help, completions and usage errors.

use std::path::Path;

use crate::folder::Folder;
use crate::wormcast;

const SUBCOMMANDS: [&str; 15] = [
    "topology",
    "routing",
    "trees",
    "plan",
    "simulate",
    "sweep",
    "merge",
    "plot",
    "compare",
    "report",
    "reproduce",
    "serve",
    "schema",
    "completions",
    "man",
];

/// Settings of a short run; the first leaves one algorithm.
const SHORT: [&str; 7] = [
    "--set=algorithm=dual-path",
    "--set=traffic.arrivals.rate=0.01",
    "--set=run.messages=10",
    "--set=run.warmup=0",
    "--set=stop.min_replications=2",
    "--set=stop.max_replications=2",
    "--store=short.db",
];

/// The example at the end of a help text, split as a shell would split it.
fn example(help: &str) -> Vec<String> {
    let (_, example) = help.split_once("\nExample:\n").expect("an example");
    let line = example.trim();
    assert_eq!(line.lines().count(), 1, "the example ends the help: {example}");
    let unredirected = line.split(" > ").next().unwrap_or(line);
    // No example needs more quoting than this.
    unredirected.split_whitespace().map(|word| word.trim_matches('\'').to_owned()).collect()
}

#[test]
fn every_help_ends_with_an_example_that_works() {
    // Examples are for the top of the repository; what they write must not stay there.
    let folder = Folder::with(&[]);
    std::fs::create_dir(folder.path().join("experiments")).unwrap();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    for file in std::fs::read_dir(shipped).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), folder.path().join("experiments").join(file.file_name())).unwrap();
    }
    let mut helps: Vec<Vec<&str>> = vec![vec!["--help"]];
    helps.extend(SUBCOMMANDS.map(|name| vec![name, "--help"]));
    for arguments in helps {
        let example = example(&wormcast(&arguments).success());
        assert_eq!(example[0], "wormcast");
        let mut arguments: Vec<&str> = example[1..].iter().map(String::as_str).collect();
        if ["sweep", "plot", "compare", "report"].contains(&arguments[0]) {
            // As it stands it takes long: one short point of it.
            let set = arguments.clone();
            let own = |setting: &&&str| {
                let key = setting.trim_start_matches("--set=").split('=').next().unwrap_or_default();
                set.iter().any(|argument| argument.starts_with(&format!("{key}=")))
            };
            let short = &SHORT[usize::from(arguments[0] == "compare")..];
            arguments.extend(short.iter().filter(|setting| !own(setting)));
        }
        if arguments[0] == "serve" {
            // It ends when it is told to: see `serve.rs`.
            continue;
        }
        if arguments[0] == "merge" {
            for shard in ["--shard=1/2", "--shard=2/2"] {
                folder.run(&["sweep", "experiments/quick.toml", shard]).success();
            }
        }
        assert!(!folder.run(&arguments).success().is_empty());
    }
}

#[test]
fn completions_name_every_subcommand() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = wormcast(&["completions", shell]).success();
        assert!(SUBCOMMANDS.iter().all(|name| script.contains(name)), "{shell}");
        // PowerShell and Elvish complete no values.
        assert!(
            ["elvish", "powershell"].contains(&shell) || script.contains("minimal-negative-first-optimal"),
            "{shell}"
        );
    }
}

#[test]
fn every_subcommand_has_a_manual_page() {
    let folder = Folder::with(&[("file", "")]);
    let pages = folder.run(&["man", "--out", "share/man1"]).success();
    assert_eq!(pages.lines().next(), Some("share/man1/wormcast.1"));
    let overview = folder.read("share/man1/wormcast.1");
    for name in SUBCOMMANDS {
        assert!(pages.contains(&format!("share/man1/wormcast-{name}.1\n")), "{name}");
        assert!(overview.contains(&format!("wormcast\\-{name}(1)")), "{name}: {overview}");
        let page = folder.read(&format!("share/man1/wormcast-{name}.1"));
        assert!(page.contains(".TH ") && page.contains(".SH OPTIONS") && page.contains("Example:"), "{name}: {page}");
    }
    // A second time replaces them.
    assert_eq!(folder.run(&["man", "--out", "share/man1"]).success(), pages);
    let refused = folder.run(&["man", "--out", "file/man1"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.starts_with("error: cannot make the folder `file/man1`: "), "{}", refused.stderr);
}

/// One meaning everywhere, said in every help.
#[test]
fn exit_codes_are_in_every_help() {
    for name in SUBCOMMANDS {
        let help = wormcast(&[name, "--help"]).success();
        assert!(
            help.contains("\nExit codes:\n  0              done\n  1              the work failed ("),
            "{name}: {help}"
        );
        assert!(help.contains("\n  2              bad input ("), "{name}: {help}");
    }
}

/// Whatever writes: where nothing can be written, the work has failed.
#[test]
fn what_cannot_be_written_has_one_exit_code() {
    let folder = Folder::with(&[("file", "")]);
    let small = ["--set=topology=mesh:4x4", "--set=traffic.multicast.destinations=3"];
    let with = |arguments: &[&'static str]| [arguments, &small, &SHORT[..6]].concat();
    let routing = ["routing", "--topology", "mesh:2x2", "--routing", "e-cube"];
    for arguments in [
        [&["simulate", "--deliveries", "no/x"], &small[..], &SHORT[..4]].concat(),
        [&["simulate", "--timeline", "."], &small[..], &SHORT[..4]].concat(),
        with(&["sweep", "--out", "file"]),
        with(&["sweep", "--store", "no/x.db"]),
        vec!["reproduce", "mesh-example", "--out", "file"],
        vec!["man", "--out", "file"],
        [&routing[..], &["--export", "no/x", "--export-form", "text"]].concat(),
        [&routing[..], &["--numbering", "no/x"]].concat(),
    ] {
        let outcome = folder.run(&arguments);
        assert!(outcome.code == 1 && outcome.stderr.starts_with("error: cannot "), "{arguments:?}: {outcome:?}");
    }
}

/// Whatever is read: what cannot be is bad input, and the message names it.
#[test]
fn what_cannot_be_read_has_one_exit_code() {
    let traced = "topology = 'mesh:2x2'\nalgorithm = 'separate'\ntraffic.trace = 'none'\n";
    let folder = Folder::with(&[("bad.toml", traced)]);
    let routing = ["routing", "--topology", "mesh:2x2"];
    for arguments in [
        vec!["topology", "./none"],
        [&routing[..], &["--tables", "none"]].concat(),
        [&routing[..], &["--routing", "e-cube", "--multicasts", "none"]].concat(),
        vec!["plan", "--batch", "none"],
        vec!["simulate", "none"],
        vec!["simulate", "bad.toml"],
        vec!["sweep", "none.toml"],
        vec!["plot", "none.toml"],
        vec!["compare", "none.toml"],
    ] {
        let said = folder.run(&arguments).bad_input();
        assert!(said.contains("none") && said.matches("cannot read").count() <= 1, "{arguments:?}: {said}");
    }
}

/// What may not be looked at is not said to be missing.
#[cfg(unix)]
#[test]
fn what_cannot_be_looked_at_is_not_said_to_be_missing() {
    let folder = Folder::with(&[]);
    std::os::unix::fs::symlink("loop", folder.path().join("loop")).unwrap();
    let said = folder.run(&["topology", "loop"]).bad_input();
    assert!(said.starts_with("error: cannot read topology file `loop`: Too many levels"), "{said}");
}

#[test]
fn mistakes_in_usage_get_a_suggestion() {
    assert!(wormcast(&["topolgy", "mesh:4"]).bad_input().contains("did you mean `topology`?"));
    assert!(wormcast(&["topology", "mesh:4", "--format", "jsn"]).bad_input().contains("'json'"));
    assert!(wormcast(&["plan", "--algoritm", "x"]).bad_input().contains("'--algorithm'"));
    let plan = |topology, algorithm, source| {
        let ends = ["--source", source, "--destinations", "1"];
        wormcast(&[&["plan", "--topology", topology, "--algorithm", algorithm], &ends[..]].concat()).bad_input()
    };
    assert_eq!(
        plan("mesh:4x4", "dual-path", "-1"),
        "error: `-1` is not a node: expected a number from 0 to 15, or 2 coordinates such as `0,0`\n"
    );
    assert_eq!(
        plan("ring:4", "separate", "0"),
        "error: `e-cube` needs a mesh, a torus or a hypercube, but `ring:4` is an irregular network; `up-down` is for any \
         network whose links have both directions: ask for it as the routing\n"
    );
    assert!(wormcast(&[]).bad_input().contains("Usage: wormcast <COMMAND>"));
}

#[test]
fn the_version_is_the_package_version_with_its_commit() {
    let said = wormcast(&["--version"]).success();
    let commit = said.strip_prefix(concat!("wormcast ", env!("CARGO_PKG_VERSION"))).unwrap().trim_end();
    // Sources without a repository have none.
    let git = std::process::Command::new("git").args(["rev-parse", "--short=10", "HEAD"]).output();
    match git {
        Ok(output) if output.status.success() && !commit.is_empty() => {
            let known = commit.strip_prefix(", commit ").and_then(|commit| commit.get(..10)).expect("a commit");
            assert!(known.bytes().all(|byte| byte.is_ascii_hexdigit()), "{said}");
        }
        _ => assert_eq!(commit, ""),
    }
}

/// What Clap proposes, `-- -x`, would be an argument of its own.
#[test]
fn values_that_begin_with_a_hyphen() {
    let folder = Folder::with(&[]);
    let said = |arguments: &[&str]| folder.run(arguments).bad_input();
    let name = said(&["sweep", "a.toml", "--name", "-x"]);
    assert!(name.contains("if it is the value of `--name`, write `--name=-x`"), "{name}");
    // A typing error, and an option that needs no value.
    let near = said(&["routing", "--topology=mesh:4x4", "--routing", "--fromat", "json"]);
    assert!(!near.contains("if it is the value"), "{near}");
    let none = said(&["routing", "--topology=mesh:4x4", "--routing=e-cube", "--sample", "--xyz"]);
    assert!(!none.contains("if it is the value"), "{none}");
}
