//! Files that a command writes and reads: none takes the place of another.

use crate::folder::Folder;
use crate::{Outcome, wormcast};

const OK: &str = r#"topology = "mesh:4x4"
algorithm = "dual-path"
[traffic]
arrivals = { process = "poisson", rate = 0.01 }
length = 10
multicast = { destinations = 3 }
[run]
messages = 10
warmup = 0
"#;

const SWEPT: &str = r#"
[sweep]
algorithm = ["dual-path", "multi-path"]
[stop]
min_replications = 2
max_replications = 2
"#;

/// Says that a command refuses its files, and has made and changed none.
fn refuses(folder: &Folder, arguments: &[&str], expected: &str) {
    let before: Vec<(String, Vec<u8>)> =
        folder.files("").into_iter().map(|name| (name.clone(), folder.bytes(&name))).collect();
    let message = folder.run(arguments).bad_input();
    assert_eq!(message, format!("error: {expected}\n"), "{arguments:?}");
    let after: Vec<(String, Vec<u8>)> =
        folder.files("").into_iter().map(|name| (name.clone(), folder.bytes(&name))).collect();
    assert!(before == after, "{arguments:?}");
}

#[test]
fn two_outputs_have_two_files() {
    let folder = Folder::with(&[("ok.toml", OK), ("swept.toml", &format!("{OK}{SWEPT}"))]);
    let routing = ["routing", "--topology", "mesh:3x3", "--routing", "up-down"];
    let with = |options: &[&'static str]| [&routing[..], options].concat();
    let both =
        |one: &str, other: &str, path: &str| format!("`{one}` and `{other}` both name `{path}`: choose two files");
    refuses(&folder, &with(&["--links", "o.csv", "--heat-map", "./o.csv"]), &both("--links", "--heat-map", "./o.csv"));
    refuses(&folder, &with(&["--links", "n", "--numbering", "n"]), &both("--numbering", "--links", "n"));
    refuses(
        &folder,
        &with(&["--links", "-", "--numbering", "-"]),
        "`--numbering` and `--links` both write to standard output: give one of them a file",
    );
    refuses(
        &folder,
        &["simulate", "ok.toml", "--deliveries", "q.csv", "--channels", "./q.csv"],
        &both("--deliveries", "--channels", "./q.csv"),
    );
    refuses(
        &folder,
        &["sweep", "swept.toml", "--out", "r", "--replications", "r/swept.csv"],
        "the results and `--replications` both name `r/swept.csv`: choose two files",
    );
    refuses(
        &folder,
        &["sweep", "swept.toml", "--out", "r", "--store", "r/swept.svg.db", "--replications", "r/swept.csv"],
        "the results and `--replications` both name `r/swept.csv`: choose two files",
    );
    let page = ["reproduce", "cube-examples", "--out", "r", "--markdown", "r/report-cube-examples.md"];
    refuses(&folder, &page, "the report and `--markdown` both name `r/report-cube-examples.md`: choose two files");
}

#[test]
fn no_output_takes_the_place_of_an_input() {
    let traced = "topology = \"ring.edges\"\nalgorithm = \"tree-one\"\ntraffic.trace = \"t.csv\"\n";
    let folder = Folder::with(&[
        ("ok.toml", OK),
        ("swept.toml", &format!("{OK}{SWEPT}")),
        ("ring.edges", "0 1\n1 2\n2 3\n3 0\n"),
        ("t.csv", "0 0 8 3\n"),
        ("traced.toml", traced),
    ]);
    let refused = |what: &str, path: &str, input: &str| {
        format!("`{what}` would write `{path}`, which is read as {input}: choose another file")
    };
    let routing = ["routing", "--topology", "ring.edges", "--routing", "up-down"];
    refuses(
        &folder,
        &[&routing[..], &["--export-form", "text", "--export", "ring.edges"]].concat(),
        &refused("--export", "ring.edges", "`--topology`"),
    );
    refuses(
        &folder,
        &["simulate", "ok.toml", "--deliveries", "./ok.toml"],
        &refused("--deliveries", "./ok.toml", "the experiment"),
    );
    refuses(
        &folder,
        &["simulate", "traced.toml", "--channels", "t.csv"],
        &refused("--channels", "t.csv", "`traffic.trace`"),
    );
    refuses(
        &folder,
        &["sweep", "traced.toml", "--replications", "t.csv"],
        &refused("--replications", "t.csv", "`traffic.trace`"),
    );
    std::fs::copy(folder.path().join("swept.toml"), folder.path().join("swept")).unwrap();
    refuses(
        &folder,
        &["compare", "dual-path", "swept", "--store", "swept"],
        &refused("--store", "swept", "the experiment"),
    );
}

#[test]
fn devices_are_no_files_of_anybody() {
    let routing = ["routing", "--topology", "mesh:3x3", "--routing", "up-down"];
    let Outcome { code, .. } =
        wormcast(&[&routing[..], &["--links", "/dev/null", "--numbering", "/dev/null"]].concat());
    assert_eq!(code, 0);
}

#[test]
fn several_files_do_not_go_to_standard_output() {
    let folder = Folder::with(&[("swept.toml", &format!("{OK}{SWEPT}"))]);
    for command in [&["man"][..], &["sweep", "swept.toml"], &["compare", "swept.toml"], &["reproduce", "mesh-example"]]
    {
        let said = folder.run(&[command, &["--out", "-"]].concat()).bad_input();
        assert!(said.contains("expected a folder for several files, not standard output"), "{said}");
    }
    assert!(!folder.path().join("-").exists());
}

#[test]
fn waits_are_drawn_as_what_they_can_be() {
    let folder = Folder::with(&[("ok.toml", OK)]);
    let refused = "`--waits` writes no `w.png`: expected a name that ends in `.svg`, `.dot` or `.json`";
    refuses(&folder, &["simulate", "ok.toml", "--waits", "w.png"], refused);
    let refused = "`--heat-map` writes no `h.png`: expected a name that ends in `.svg`";
    refuses(&folder, &["simulate", "ok.toml", "--heat-map", "h.png"], refused);
    refuses(&folder, &["routing", "--topology", "mesh:3x3", "--routing", "e-cube", "--heat-map", "h.png"], refused);
}
