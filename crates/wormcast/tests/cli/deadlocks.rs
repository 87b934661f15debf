//! Deadlocks: what is said of them, and the commands that say more.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::folder::Folder;
use crate::small::folder;
use crate::wormcast;

/// The length of worms that fit into any buffer came out as 0.
#[test]
fn the_search_for_a_schedule_takes_buffers_for_whole_messages() {
    for network in ["ring:4", "petersen"] {
        let trees =
            ["routing", "--topology", network, "--algorithm", "tree-zero", "--replication", "lockstep", "--reachable"];
        let found = wormcast(&trees);
        assert!(found.code == 0 && found.stdout.contains("reachable"), "{network}: {found:?}");
    }
    let paths = [
        "routing",
        "--topology",
        "mesh:3x3",
        "--algorithm",
        "dual-path",
        "--consumption-ports",
        "1",
        "--reachable",
        "--buffer",
        "message",
    ];
    assert_eq!(wormcast(&paths).code, 0);
}

/// The commands that warnings recommend know which links have failed, and say the same.
#[test]
fn deadlocks_with_failed_links_recommend_a_command_with_these() {
    let text = "topology = 'torus:4x4'\nalgorithm = 'dstm-tarjan'\nfaults.random = 3\nrun.messages = 20\n\
                switching.virtual_channels = 2\n[traffic]\nlength = 16\nmulticast = { destinations = 4 }\n\
                arrivals = { process = 'poisson', rate = 0.05 }\n";
    let folder = Folder::with(&[("x.toml", text)]);
    let recommended = |said: &str| -> Vec<Vec<String>> {
        let commands = said.lines().filter(|line| line.contains("can deadlock here: see `"));
        let words = |line: &str| -> Vec<String> {
            let command = line.split('`').nth(3).unwrap().split(' ').skip(1);
            command.map(|word| word.trim_matches('\'').to_owned()).collect()
        };
        commands.map(words).collect()
    };
    let explains = |command: &[String]| {
        let told = folder.run(&command.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(told.stderr.is_empty() && told.stdout.contains("deadlock-free     no\n"), "{command:?}: {told:?}");
    };
    let [run] = &recommended(&folder.run(&["simulate", "x.toml"]).stderr)[..] else { panic!("one command") };
    assert_eq!(run.iter().filter(|word| *word == "--failed-link").count(), 3, "{run:?}");
    explains(run);
    // Without the failed links there are other trees.
    let failed = folder.run(&["simulate", "x.toml", "--format", "json"]);
    let failed: serde_json::Value = serde_json::from_str(&failed.stdout).unwrap();
    // The same links, from either end: `0,0 - 1,0` here, `0-1` or `1-0` in the command.
    let number = |text: &str| {
        let (x, y) = text.split_once(',').unwrap();
        x.parse::<u32>().unwrap() + 4 * y.parse::<u32>().unwrap()
    };
    let sorted = |one: u32, other: u32| (one.min(other), one.max(other));
    let of_run: BTreeSet<(u32, u32)> = failed["failed_links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| link.as_str().unwrap().split_once(" - ").unwrap())
        .map(|(one, other)| sorted(number(one), number(other)))
        .collect();
    let of_command: BTreeSet<(u32, u32)> = run
        .windows(2)
        .filter(|words| words[0] == "--failed-link")
        .map(|words| words[1].split_once('-').unwrap())
        .map(|(one, other)| sorted(one.parse().unwrap(), other.parse().unwrap()))
        .collect();
    assert_eq!((of_run.len(), &of_run), (3, &of_command));
    let analysed =
        folder.run(&[&run.iter().map(String::as_str).collect::<Vec<_>>()[..], &["--format", "json"]].concat());
    assert_eq!(analysed.json()["failed_links"], failed["failed_links"]);
    let swept = folder.run(&["sweep", "x.toml", "--set", "sweep.faults.random=[2,3,4]", "--jobs", "1"]);
    let swept = recommended(&swept.stderr);
    assert!((1..=3).contains(&swept.len()), "{swept:?}");
    for command in &swept {
        explains(command);
    }
    // Links that the file names, as it names them, and who knows of them.
    let set = ["--set=faults={ links = [\"0,0-1,0\"], information = \"local\" }", "--set=algorithm=dstm-1"];
    let local = folder.run(&[&["simulate", "x.toml"], &set[..]].concat());
    for command in recommended(&local.stderr) {
        assert!(command.contains(&"0,0-1,0".to_owned()) && command.contains(&"--local-information".to_owned()));
        explains(&command);
    }
    // No analysis is recommended that would be refused.
    let few = folder.run(&[
        "simulate",
        "x.toml",
        "--set=algorithm=dstm-1",
        "--set=switching.consumption_ports=1",
        "--set=faults={}",
    ]);
    assert!(
        few.stderr
            .contains("can deadlock here: `dstm-1` binds its worms to 2 consumption channels at every node, not 1\n"),
        "{}",
        few.stderr
    );
    let refused = folder.run(&["routing", "--topology", "mesh:3x3", "--routing", "e-cube", "--failed-link", "0-1"]);
    let said = refused.bad_input();
    assert!(said.contains("expected `--algorithm` with one of ") && said.contains("dstm-1"), "{said}");
    let other = ["routing", "--topology", "mesh:3x3", "--algorithm", "dual-path", "--failed-link", "0-1"];
    let refused = folder.run(&other).bad_input();
    assert!(refused.contains("dual-path"), "{refused}");
}

/// Where what a tree holds makes no difference, neither do the numbers of channels, and the command does without.
#[test]
fn recommended_commands_have_no_idle_options() {
    let text = "topology = 'mesh:5x4'\nalgorithm = 'rpm'\nrun.messages = 20\nswitching.virtual_channels = 2\n\
                switching.consumption_ports = 2\n[traffic]\nlength = 16\nmulticast = { destinations = 4 }\n\
                arrivals = { process = 'poisson', rate = 0.05 }\n";
    let folder = Folder::with(&[("x.toml", text)]);
    let said = folder.run(&["simulate", "x.toml"]).stderr;
    let line = said.lines().find(|line| line.contains("can deadlock here: see `")).unwrap_or_else(|| panic!("{said}"));
    let command: Vec<&str> = line.split('`').nth(3).unwrap().split(' ').skip(1).collect();
    let told = folder.run(&command);
    assert!(told.stderr.is_empty() && told.stdout.contains("deadlock-free     no\n"), "{command:?}: {told:?}");
}

/// What is analysed is a graph that is run, and the command that is named analyses the same.
#[test]
fn deadlocks_on_graphs_that_are_drawn_are_those_of_the_graph() {
    let text = "topology = { tree = { nodes = 4 } }\nalgorithm = 'tree-zero'\nrouting = 'up-down'\n\
                switching = { replication = 'lockstep', buffer = 1 }\nrun.messages = 20\n\
                stop = { min_replications = 2, max_replications = 2 }\n[traffic]\nlength = 16\n\
                multicast = { destinations = 2 }\narrivals = { process = 'poisson', rate = 0.05 }\n";
    let folder = Folder::with(&[("x.toml", text)]);
    let (mut safe, mut not) = (0, 0);
    for seed in 0..8 {
        let seed = format!("seed={seed}");
        for command in [&["simulate"][..], &["sweep", "--jobs", "1", "--fresh"]] {
            let run = folder.run(&[command, &["x.toml", "--set", &seed]].concat());
            let graph = |words: &[&str]| folder.run(words).success().contains("deadlock-free     no");
            if let Some((_, named)) = run.stderr.split_once("can deadlock here: see `wormcast ") {
                let words: Vec<&str> =
                    named.split_once('`').unwrap().0.split(' ').map(|word| word.trim_matches('\'')).collect();
                assert!(graph(&words) && words[2].contains(",seed="), "{words:?}");
                not += 1;
            } else {
                safe += 1;
            }
        }
    }
    assert!(safe > 2 && not > 2, "{safe} {not}");
    // Trees are drawn once, with the experiment's seed, unless each replication has its own.
    folder.write("y.toml", text.replace("tree = { nodes = 4 }", "random = { nodes = 12, degree = 5 }").as_bytes());
    let trees = ["--set", "algorithm=dstm-tarjan", "--set", "switching={ virtual_channels = 2 }", "--set", "seed=3"];
    let swept = |more: &[&str]| {
        let sweep = ["sweep", "y.toml", "--jobs", "1", "--set", "routing=tree"];
        folder.run(&[&sweep[..], &trees, more].concat()).stderr
    };
    let once = swept(&[]);
    assert!(once.contains(" --seed 3 ") && !once.contains(",seed=3'"), "{once}");
    let each = swept(&["--set", "options.draw=replication"]);
    let (_, seed) = each.split_once(",seed=").expect("a graph's");
    let seed: String = seed.chars().take_while(char::is_ascii_digit).collect();
    assert!(seed != "3" && each.contains(&format!("--seed {seed}")), "{each}");
}

#[test]
fn links_that_failed_are_named() {
    let torus = ["--set=topology=torus:4x4", "--set=algorithm=dstm-1", "--set=faults.random=2"];
    let folder = folder();
    let run = |more: &[&str]| folder.run(&[&["simulate", "idle.toml"][..], &torus, more].concat()).success();
    let report: Value = serde_json::from_str(&run(&["--format=json"])).unwrap();
    let links: Vec<&str> =
        report["failed_links"].as_array().unwrap().iter().map(|link| link.as_str().unwrap()).collect();
    assert_eq!(links.len(), 2);
    let text = run(&[]);
    assert!(text.contains(&format!("  failed links      {}\n", links.join(", "))), "{text}");
    assert!(!folder.run(&["simulate", "idle.toml"]).success().contains("failed links"));
}

#[test]
fn an_empty_heat_map_says_why_it_is_empty() {
    let folder = folder();
    // A deadlock in the warm-up.
    let set = [
        "topology='mesh:8x8'",
        "seed=4",
        "switching={ buffer = 1, injection_ports = 1, consumption_ports = 1 }",
        "timing={ startup = 0, routing_delay = 1 }",
        "traffic={ arrivals = { process = 'bernoulli', rate = 20 }, length = 40, multicast = { destinations = 8 } }",
        "run={ messages = 100, warmup = 3000 }",
    ];
    let set: Vec<String> = set.iter().map(|setting| format!("--set={setting}")).collect();
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let run = folder.run(&[&["simulate", "idle.toml", "--heat-map=heat.svg"][..], &set].concat());
    assert!(run.code == 1 && run.stderr.contains("heat.svg: no cycle was measured"), "{} {}", run.stdout, run.stderr);
}

/// Spanning trees are safe while a link has one holder. With several virtual channels two worms hold the same links, and each can be first at another
/// branch: the check said yes, and runs ended in a deadlock.
#[test]
fn branches_on_spanning_trees_can_block_each_other_on_several_virtual_channels() {
    let folder = folder();
    let cases = [
        ("random:nodes=11,degree=3,seed=43", "dstm-tarjan", "atomic", 3776, 8, 2, 3),
        ("torus:4x4", "dstm-1", "atomic", 3, 64, 2, 3),
        ("random:nodes=10,degree=3,seed=84", "spam", "separate", 4490, 64, 3, 1),
    ];
    for (topology, algorithm, reservation, seed, length, virtual_channels, ports) in cases {
        let verdict = |count: u32| {
            let (ports, count) = (ports.to_string(), count.to_string());
            let asked = [
                &["routing", "--topology", topology, "--algorithm", algorithm, "--consumption-ports", &ports][..],
                &[
                    "--buffer=1",
                    "--replication=independent",
                    "--reservation",
                    reservation,
                    "--virtual-channels",
                    &count,
                ],
                &["--format=json"],
            ];
            folder.run(&asked.concat()).json()["deadlock_free"].clone()
        };
        assert_eq!((verdict(1), verdict(virtual_channels)), (true.into(), false.into()), "{algorithm}");

        let set = [
            format!("topology='{topology}'"),
            format!("algorithm='{algorithm}'"),
            format!("seed={seed}"),
            "timing={ startup = 0, routing_delay = 0 }".to_owned(),
            format!(
                "traffic={{ arrivals = {{ process = 'burst', interval = 60 }}, length = {length}, multicast = {{ destinations = {{ uniform = [1, 5] }} }} }}"
            ),
            format!(
                "switching={{ buffer = 1, consumption_ports = {ports}, virtual_channels = {virtual_channels}, replication = 'independent', reservation = '{reservation}' }}"
            ),
            "run={ mode = 'drain', messages = 1500 }".to_owned(),
        ];
        let set: Vec<String> = set.iter().map(|setting| format!("--set={setting}")).collect();
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let run = folder.run(&[&["simulate", "idle.toml", "--format=json"][..], &set].concat());
        assert_eq!(run.code, 1, "{algorithm}: {}", run.stderr);
        assert!(run.stderr.contains("can deadlock here"), "{algorithm}: {}", run.stderr);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(report["static_check"]["deadlock_free"], false, "{algorithm}");
        assert!(!report["deadlock"].is_null(), "{algorithm}");
    }
}

/// Only `up-down` was suggested where the network has routings of its own.
#[test]
fn the_routings_of_the_networks_kind_are_suggested() {
    let said = |topology: &str| {
        let arguments = [
            "plan",
            "--topology",
            topology,
            "--algorithm=separate",
            "--routing=e-cube",
            "--source=0",
            "--destinations=1",
        ];
        let with = wormcast(&arguments).bad_input();
        let without = wormcast(&[&arguments[..4], &arguments[5..]].concat());
        (with, without)
    };
    for topology in ["dragonfly:p=2,a=4,h=2", "hyperx:3x3,nodes=1", "slimfly:q=5,nodes=1"] {
        let (with, without) = said(topology);
        let group = if topology.starts_with("dragonfly") { "`valiant-group`, " } else { "" };
        let names = format!("`minimal`, `valiant`, {group}`ugal`").replace(", `ugal`", " and `ugal`");
        assert!(with.contains(&format!("; {names} are for such networks")), "{with}");
        let without = without.bad_input();
        assert!(
            without.contains(&format!("; {names} are for such networks: ask for one of them as the routing")),
            "{without}"
        );
    }
    let (with, without) = said("fattree:k=4,levels=2");
    assert!(with.contains("`turnaround`, `turnaround-deterministic` and `nca` are for such networks"), "{with}");
    assert_eq!(without.code, 0, "it has a routing of its own");
    assert!(said("butterfly:2x3").0.contains("`destination-tag` is for such networks"));
    assert!(said("ring:5").0.contains("`up-down` and `turn-prohibition` are for any network"));
}

/// The command that a warning recommends has nothing to warn of itself.
#[test]
fn the_analysis_that_is_advised_is_quiet() {
    let folder = folder();
    for (topology, algorithm, settings) in [
        ("mesh:4x4", "column-path", &["switching.consumption_ports=1"][..]),
        ("mesh:4x4", "dual-path", &["switching.consumption_ports=1", "switching.virtual_channels=2"]),
        ("mesh:4x4", "xy-tree", &["switching.replication=lockstep", "switching.buffer=2"]),
        (
            "mesh:4x4",
            "xy-tree",
            &["switching.replication=independent", "switching.buffer=2", "switching.reservation=separate"],
        ),
        ("torus:4x4", "separate", &["routing=e-cube"]),
        ("torus:4x4", "separate", &["routing=e-cube", "switching.virtual_channels=2", "switching.consumption_ports=2"]),
        ("torus:4x4", "separate", &["routing=dateline", "switching.virtual_channels=2"]),
    ] {
        let mut words = vec!["simulate".to_owned(), "idle.toml".to_owned(), "--seed=1".to_owned()];
        let own = [format!("topology={topology}"), format!("algorithm={algorithm}")];
        words.extend(own.iter().map(String::as_str).chain(settings.iter().copied()).map(|set| format!("--set={set}")));
        let run = folder.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let Some(advised) = run.stderr.split('`').find(|part| part.starts_with("wormcast routing ")) else {
            assert!(settings.contains(&"routing=dateline"), "{words:?}: {run:?}");
            continue;
        };
        let said = folder.run(&advised.split(' ').skip(1).collect::<Vec<_>>()).success();
        assert!(said.contains("deadlock-free     no"), "{advised}: {said}");
    }
}

#[test]
fn a_cycle_over_waypoints_has_its_worms() {
    for (topology, routing) in [
        ("hyperx:3x3", "valiant"),
        ("hyperx:4x4", "ugal"),
        ("dragonfly:p=1,a=2,h=1", "valiant-group"),
        ("slimfly:q=5", "valiant"),
    ] {
        let said = wormcast(&[
            "routing",
            "--topology",
            topology,
            "--routing",
            routing,
            "--virtual-channels=1",
            "--format=json",
        ]);
        let closed_by = &said.json()["closed_by"];
        let examples = |step: &Value| step["examples"].as_array().map_or(0, Vec::len);
        let steps = closed_by.as_array().expect("a cycle");
        assert!(!steps.is_empty() && steps.iter().all(|step| examples(step) > 0), "{topology} {routing}: {closed_by}");
    }
}
