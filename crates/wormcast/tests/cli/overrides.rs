//! Settings that take the place of others, and those without effect.

use crate::folder::Folder;
use crate::small::{IDLE, VERSIONS, folder, refused};

/// Plans wait for no channel.
#[test]
fn plans_ask_for_no_virtual_channels() {
    let set = [
        "--set=topology='torus:4x4'",
        "--set=algorithm=separate",
        "--set=routing=dateline",
        "--set=run={ mode = 'plan', messages = 5 }",
    ];
    let run = folder().run(&[&["simulate", "idle.toml"][..], &set].concat());
    assert!(run.code == 0 && !run.stderr.contains("virtual"), "{run:?}");
}

/// Bursts have neither rate nor load: those of the file give way, swept or not, as a load gives way to a rate.
#[test]
fn bursts_take_the_place_of_rates() {
    let text = "topology = 'mesh:4x4'\nalgorithm = 'dual-path'\nrun.messages = 20\n[traffic]\nlength = 16\n\
                multicast.destinations = 3\narrivals = { process = 'poisson', rate = 0.1 }\n[sweep]\n\
                'traffic.arrivals.rate' = [0.1, 0.2]\n'traffic.length' = [8, 16]\n";
    let folder = Folder::with(&[("x.toml", text)]);
    let whole = ["--set", "traffic.arrivals={ process = \"burst\", sources = 3, interval = 900 }"];
    let parts = [
        "--set=traffic.arrivals.process=burst",
        "--set=traffic.arrivals.sources=3",
        "--set=traffic.arrivals.interval=900",
    ];
    let run = |set: &[&str]| folder.run(&[&["sweep", "x.toml", "--name", "x", "--jobs", "1"], set].concat());
    let table = |set: &[&str]| {
        let run = run(set);
        assert_eq!(run.code, 0, "{run:?}");
        folder.read("results/x.csv")
    };
    assert_eq!(table(&whole), table(&parts));
    assert!(table(&whole).starts_with("traffic.length,outcome,"), "{}", table(&whole));
    let both = ["--set=traffic.arrivals.process=burst", "--set=traffic.arrivals.rate=0.3"];
    assert!(run(&both).bad_input().contains("a burst has no rate"), "{:?}", run(&both));
}

/// The tables of `vctm` are filled in runs; a plan by itself has its tree set up, however few entries there are.
#[test]
fn entries_of_tables_are_of_runs() {
    let warned = "makes no difference: what is planned by itself finds all that it needs set up";
    let entries = ["--topology=mesh:8x8", "--algorithm=vctm", "--option=entries=1"];
    let plan = [&["plan"], &entries[..], &["--source=3,3", "--destinations=1,4;2,3;7,7"]].concat();
    let run = crate::wormcast(&plan);
    assert!(run.code == 0 && run.stderr.contains(&format!("`--option entries` {warned}")), "{run:?}");
    let run = crate::wormcast(&[&["routing"], &entries[..]].concat());
    assert!(run.stderr.contains(&format!("`--option entries` {warned}")), "{run:?}");
    let request =
        r#"{"topology":"mesh:8x8","algorithm":"vctm","options":{"entries":1},"source":3,"destinations":[4,1]}"#;
    let answer = crate::wormcast_with_input(&["plan", "--batch", "-"], request);
    assert!(answer.stdout.contains(&format!("`entries` {warned}")), "{answer:?}");
}

#[test]
fn a_split_over_one_tree_is_warned_of() {
    let reason = "there is one tree without failed links, and nothing to split over";
    let torus = ["--set=topology=torus:4x4", "--set=algorithm=dstm-1", "--set=options.split=true"];
    let with = |faults: &str| folder().run(&[&["simulate", "idle.toml", faults][..], &torus].concat()).stderr;
    let one = with("--set=faults.links=['0,0-1,0']");
    assert!(one.contains(&format!("`options.split` makes no difference here: {reason}")), "{one}");
    assert!(!with("--set=faults.links=[]").contains("options.split"));
    let request =
        r#"{"topology":"ring:5","algorithm":"dstm-tarjan","options":{"split":true},"source":3,"destinations":[4,1]}"#;
    let answer = crate::wormcast_with_input(&["plan", "--batch", "-"], request);
    assert!(answer.stdout.contains(&format!("`split` makes no difference: {reason}")), "{answer:?}");
}

#[test]
fn the_last_of_a_value_and_a_sweep_counts() {
    let folder = folder();
    let (value, sweep) = ("--set=traffic.arrivals.rate=0.03", "--set=sweep.traffic.arrivals.rate=[0.01, 0.02]");
    let rows = |settings: &[&str]| {
        let run =
            folder.run(&[&["sweep", "idle.toml", "--name=x", "--set=stop.min_replications=2"][..], settings].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        (folder.read("results/x.csv").lines().count() - 1, run.stderr)
    };
    let (count, warned) = rows(&[value, sweep]);
    assert_eq!(count, 2);
    assert!(warned.contains("traffic.arrivals.rate=0.03: replaced by"), "{warned}");
    let (count, warned) = rows(&[sweep, value]);
    assert_eq!(count, 1);
    assert!(warned.contains("[0.01, 0.02]: replaced by"), "{warned}");
    let (count, warned) = rows(&["--set=traffic.arrivals={ process = 'bernoulli', rate = 0.03 }", sweep]);
    assert!(count == 2 && !warned.contains("replaced by"), "{warned}");
    // A table replaces what was set in it, in names as well.
    let run = folder.run(&["sweep", "idle.toml", "--set=run.messages=50", "--set=run={ messages = 60 }"]);
    assert!(run.stdout.starts_with("idle with run = {") && !run.stdout.contains("run.messages = 50"), "{}", run.stdout);
}

#[test]
fn a_single_run_is_not_told_of_a_sweep_that_replaces_its_value() {
    let folder = folder();
    let run = folder.run(&["simulate", "idle.toml", "--set=algorithm=u-mesh", "--set=sweep.algorithm=['dual-path']"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("u-mesh") && run.stderr.contains("makes no difference to a single run"), "{run:?}");
    assert!(!run.stderr.contains("replaced by"), "{}", run.stderr);
}

#[test]
fn one_of_two_settings_that_say_the_same_takes_the_place_of_the_other() {
    let load = folder().run(&["simulate", "idle.toml", "--set=traffic.arrivals.load=0.1", "--format=json"]).success();
    let of_rate = folder().run(&["simulate", "idle.toml", "--format=json"]).success();
    assert_ne!(load, of_rate);
    let both = ["--set=traffic.arrivals.load=0.1", "--set=traffic.arrivals.rate=0.1"];
    refused(&both, "says the same as `rate`: give one of the two");
    // What the built-in file sweeps gives way as well.
    folder().run(&["simulate", "--set=traffic.arrivals.load=0.1", "--set=run.messages=100"]).success();
}

/// It was called idle, and selected the flit engine.
#[test]
fn how_branches_are_replicated_selects_no_engine_where_nothing_branches() {
    let folder = folder();
    let run =
        folder.run(&["simulate", "idle.toml", "--set=switching.replication=independent", "--set=switching.buffer=2"]);
    assert!(run.stderr.contains("`switching.replication` makes no difference"), "{}", run.stderr);
    assert!(run.stdout.contains("worm engine"), "{}", run.stdout);
    let plain = folder.run(&["simulate", "idle.toml", "--set=switching.buffer=2"]);
    assert_eq!((plain.code, plain.stdout), (0, run.stdout));
}

#[test]
fn an_algorithm_without_a_root_refuses_one_whatever_its_routing() {
    let folder = folder();
    for algorithm in ["rpm", "xy-tree", "vctm", "dual-path"] {
        let message =
            folder.run(&["routing", "--topology", "mesh:4x4", "--algorithm", algorithm, "--root", "5"]).bad_input();
        assert!(message.contains("has no root; `up-down`"), "{message}");
    }
}

#[test]
fn a_root_that_no_routing_of_a_sweep_has_is_warned_of() {
    let folder = folder();
    let run = |routings: &str| {
        let sweep = ["sweep", "idle.toml", "--set=algorithm=separate", "--set=root=5", "--set=stop.min_replications=2"];
        folder.run(&[&sweep[..], &["--set=stop.max_replications=2", routings]].concat())
    };
    let none = run("--set=sweep.routing=['e-cube', 'west-first']");
    assert!(
        none.code == 0 && none.stderr.contains("`root` makes no difference here: no routing of the sweep has one"),
        "{none:?}"
    );
    let some = run("--set=sweep.routing=['e-cube', 'up-down']");
    assert!(some.code == 0 && !some.stderr.contains("`root`"), "{some:?}");
}

/// A small sweep with a claim, and other versions.
/// What makes no difference: the seed of a trace, and a preset of which nothing is left.
#[test]
fn more_settings_without_effect_are_told() {
    let folder = Folder::with(&[("base.toml", VERSIONS), ("t.csv", "cycle,source,destinations,flits\n0,0,\"5\",4\n")]);
    let run = |more: &[&str]| {
        let given = ["simulate", "base.toml", "--set=traffic.arrivals.rate=0.1"];
        let run = folder.run(&[&given[..], more].concat());
        assert_eq!(run.code, 0, "{run:?}");
        run.stderr
    };
    assert!(run(&["--set=timing.preset=paper-4"]).contains("`timing.preset` makes no difference here"));
    folder.write("base.toml", VERSIONS.replace("cycle_ns = 5.0\n", "").as_bytes());
    assert!(!run(&["--set=timing.preset=paper-4"]).contains("timing.preset"));
}

/// What an override leaves no room for in a version is said to those who ask for the version.
#[test]
fn overrides_and_versions_that_nobody_asks_for_go_together() {
    let switches = ["topology=bmin:4x2", "switching.model=central-buffer", "algorithm=bit-string"];
    let sets: Vec<String> = switches.iter().map(|setting| format!("--set={setting}")).collect();
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    for version in [
        "[variation.a]\nswitching.buffer = 8\n",
        "[quick]\nswitching.buffer = 8\n",
        "[[open]]\nsetting = 'switching.buffer'\nvalues = [8]\nwhy = 'It is not in the text.'\n",
    ] {
        let folder = Folder::with(&[("e.toml", &format!("{IDLE}{version}"))]);
        let simulated = folder.run(&[&["simulate", "e.toml"][..], &sets].concat());
        assert_eq!(simulated.code, 0, "{version}: {}", simulated.stderr);
        // What is wrong in itself is still said at once, and so is what an override says of a version.
        let wrong = Folder::with(&[("e.toml", &format!("{IDLE}{}", version.replace("buffer", "bufer")))]);
        let said = wrong.run(&[&["simulate", "e.toml"][..], &sets].concat()).bad_input();
        assert!(said.contains("bufer"), "{said}");
    }
    let traced = format!("{IDLE}[variation.t]\ntraffic.trace = 't.trace'\n");
    let said = Folder::with(&[("e.toml", &traced)]).run(&["simulate", "e.toml"]).bad_input();
    assert!(said.contains("e.toml:10:") && said.contains("the file has `traffic.arrivals`"), "{said}");
    let folder = Folder::with(&[("e.toml", &format!("{IDLE}[variation.a]\nswitching.buffer = 8\n"))]);
    let asked = [&["sweep", "e.toml", "--variation", "a"][..], &sets].concat();
    let said = folder.run(&asked).bad_input();
    assert!(said.contains("has no setting `buffer`"), "{said}");
    let said = folder.run(&["simulate", "e.toml", "--set", "variation.a.switching.bufer=3"]).bad_input();
    assert!(said.contains("bufer"), "{said}");
}
