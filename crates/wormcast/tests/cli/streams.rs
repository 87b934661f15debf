//! Standard input by the name `-`, wherever a file is read.

use crate::folder::Folder;
use crate::{wormcast, wormcast_with_input};

const RING: &str = "0 1\n1 2\n2 3\n3 0\n";

const EXPERIMENT: &str = r#"topology = "mesh:4x4"
algorithm = "dual-path"
[traffic]
arrivals = { process = "poisson", rate = 0.01 }
multicast = { destinations = 3 }
[run]
messages = 10
warmup = 0
[stop]
min_replications = 2
max_replications = 2
"#;

#[test]
fn networks_come_by_standard_input() {
    let text = wormcast_with_input(&["topology", "-"], RING).success();
    assert!(text.starts_with("standard input\n  routers           4\n"), "{text}");
    let json = wormcast_with_input(&["topology", "-", "--format", "json"], RING).json();
    assert_eq!((&json["links"], &json["diameter"]), (&4.into(), &2.into()));
    // The format is told by the content.
    let graphml = wormcast(&["topology", "mesh:3x2", "--format", "graphml"]).success();
    assert_eq!(wormcast_with_input(&["topology", "-", "--format", "json"], &graphml).json()["links"], 7);
    let routing = wormcast_with_input(&["routing", "--topology", "-", "--routing", "up-down"], RING).success();
    assert!(routing.starts_with("up-down on standard input\n"), "{routing}");
    let plan = ["plan", "--topology", "-", "--algorithm", "tree-one", "--source", "0", "--destinations", "2"];
    wormcast_with_input(&plan, RING).success();
    let bad = wormcast_with_input(&["topology", "-"], "0 1\n1 x\n").bad_input();
    assert!(bad.starts_with("error: standard input:2: "), "{bad}");
}

#[test]
fn experiments_come_by_standard_input() {
    let folder = Folder::with(&[("x.toml", EXPERIMENT), ("t.txt", "0 0 8 3\n")]);
    let file = folder.run(&["simulate", "x.toml", "--format", "json"]).success();
    assert_eq!(wormcast_with_input(&["simulate", "-", "--format", "json"], EXPERIMENT).success(), file);
    let bad = wormcast_with_input(&["simulate", "-"], &EXPERIMENT.replace("dual-path", "dual-pth")).bad_input();
    assert!(bad.contains("--> standard input:2:13") && bad.contains("did you mean `dual-path`?"), "{bad}");

    let out = folder.path().join("out").display().to_string();
    let swept = wormcast_with_input(&["sweep", "-", "--out", &out], EXPERIMENT).success();
    assert!(swept.contains("experiment.csv"), "{swept}");
    wormcast_with_input(&["plot", "-", "--out", &out], EXPERIMENT).success();
    assert!(folder.files("out").contains(&"experiment.csv".to_owned()));
}

#[test]
fn what_an_experiment_names_comes_by_standard_input() {
    let folder = Folder::with(&[("x.toml", EXPERIMENT), ("ring.edges", RING)]);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = |file: &str, input: &str, set: &str| {
        wormcast_with_input(&["simulate", file, "--format=json", "--set=algorithm=tree-one", "--set", set], input)
    };
    let of_file =
        folder.run(&["simulate", "x.toml", "--format=json", "--set=algorithm=tree-one", "--set=topology=ring.edges"]);
    let (mut of_file, mut of_input) = (of_file.json(), run(&path("x.toml"), RING, "topology=-").json());
    for report in [&mut of_file, &mut of_input] {
        for key in ["topology", "config_hash"] {
            report[key] = "as it is called".into();
        }
    }
    assert_eq!(of_file, of_input);
    folder.write("traced.toml", b"topology = 'mesh:2x2'\nalgorithm = 'separate'\ntraffic.trace = '-'\n");
    let traced = ["simulate", &path("traced.toml"), "--format", "json"];
    let report = wormcast_with_input(&traced, "0 0 8 3\n5 1 8 2\n").json();
    assert_eq!(report["messages"]["generated"], 2);
    // One input cannot be two things.
    let both = run("-", EXPERIMENT, "topology=-").bad_input();
    assert!(both.contains("standard input is the experiment file already and cannot be the network, too"), "{both}");
}

/// They are read for the experiment's hash and to be used: once from standard input.
#[test]
fn tables_of_an_experiment_come_by_standard_input() {
    const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let experiment = format!("{EXAMPLES}/fabric.toml");
    let run = |setting: &str, file: &str, input: &str| {
        let setting = setting.replace("FILE", file);
        let base =
            ["simulate", &experiment, "--format=json", "--set=options.multicasts=tables", "--set=run.messages=100"];
        let run =
            wormcast_with_input(&[&base[..], &["--set=traffic.arrivals.rate=0.01", "--set", &setting]].concat(), input);
        assert_eq!(run.code, 0, "{run:?}");
        let mut report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        report["config_hash"] = "as files are called".into();
        report["routing"] = "as tables are called".into();
        report
    };
    for (setting, file) in
        [("options.multicast_tables=FILE", "fabric.mcfdbs"), ("routing={tables=\"FILE\"}", "fabric.lfts")]
    {
        let text = std::fs::read_to_string(format!("{EXAMPLES}/{file}")).unwrap();
        assert_eq!(run(setting, file, ""), run(setting, "-", &text), "{setting}");
    }
}

#[test]
fn proofs_and_tables_go_to_standard_output_alone() {
    let folder = Folder::with(&[]);
    let routing = ["routing", "--topology", "mesh:3x3", "--routing", "up-down"];
    let with = |option: &str, file: &str| folder.run(&[&routing[..], &[option, file]].concat());
    with("--numbering", "n.csv").success();
    let proof = with("--numbering", "-");
    assert_eq!((proof.code, proof.stdout), (0, folder.read("n.csv")));
    assert!(proof.stderr.starts_with("up-down on mesh:3x3\n"), "{}", proof.stderr);
    assert_eq!(folder.files(""), ["n.csv"]);
}
