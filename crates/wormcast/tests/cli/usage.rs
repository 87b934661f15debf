//! Help, completions and usage errors.

use std::path::Path;

use crate::folder::Folder;
use crate::wormcast;

const SUBCOMMANDS: [&str; 13] = [
    "topology",
    "routing",
    "trees",
    "plan",
    "simulate",
    "sweep",
    "plot",
    "compare",
    "report",
    "reproduce",
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
            arguments.extend(&SHORT[usize::from(arguments[0] == "compare")..]);
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
    assert!(refused.stderr.starts_with("error: cannot make `file/man1`: "), "{}", refused.stderr);
}

#[test]
fn mistakes_in_usage_get_a_suggestion() {
    assert!(wormcast(&["topolgy", "mesh:4"]).bad_input().contains("'topology'"));
    assert!(wormcast(&["topology", "mesh:4", "--format", "jsn"]).bad_input().contains("'json'"));
    assert!(wormcast(&["plan", "--algoritm", "x"]).bad_input().contains("'--algorithm'"));
    assert!(wormcast(&[]).bad_input().contains("Usage: wormcast <COMMAND>"));
}

#[test]
fn the_version_is_the_package_version() {
    assert_eq!(wormcast(&["--version"]).success(), concat!("wormcast ", env!("CARGO_PKG_VERSION"), "\n"));
}
