//! Public networks, through description, routing and simulation. They are not in the repository: where the folder `../shared/data`
//! beside it is missing, this says so.

use std::path::{Path, PathBuf};

use crate::folder::Folder;

/// Path, routers, nodes, links, diameter between routers.
const NETWORKS: [(&str, u64, u64, u64, u64); 19] = [
    ("X5.topofile", 11, 89, 70, 4),
    ("opensm/k6.net", 6, 6, 15, 1),
    ("opensm/k6.edges", 6, 6, 15, 1),
    ("opensm/mesh4x4.net", 16, 16, 24, 6),
    ("opensm/mesh4x4.edges", 16, 16, 24, 6),
    ("opensm/torus4x4.net", 16, 16, 32, 4),
    ("opensm/torus4x4.edges", 16, 16, 32, 4),
    ("opensm/petersen.net", 10, 10, 15, 2),
    ("opensm/petersen.edges", 10, 10, 15, 2),
    ("ibsim/ibsim_net", 2, 2, 2, 1),
    ("ibsim/ibsim_net.1", 1, 2, 0, 0),
    ("ibsim/ibsim_net.2sw2path", 2, 2, 2, 1),
    ("ibsim/ibsim_net.2sw2path4hca", 2, 4, 2, 1),
    ("ibsim/ibsim_net.2sw2path4hca2port", 2, 4, 2, 1),
    ("topology-zoo/Abilene.graphml", 11, 11, 14, 5),
    ("topology-zoo/Geant2012.graphml", 40, 40, 61, 8),
    ("topology-zoo/Renater2010.graphml", 43, 43, 56, 9),
    ("topology-zoo/Uninett2011.graphml", 69, 69, 98, 9),
    ("booksim-anynet", 3, 9, 3, 1),
];

const EXPERIMENT: &str = r#"
title = "A short run"
topology = "mesh:4x4"
algorithm = "separate"
[traffic]
arrivals = { process = "poisson", rate = 0.01 }
length = 20
multicast = { destinations = 1 }
[run]
mode = "finite"
messages = 50
"#;

fn data() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if !path.exists() {
        eprintln!("skipped: there is no {}", path.display());
    }
    path.exists().then_some(path)
}

#[test]
fn public_networks_are_described_routed_and_simulated() {
    let Some(data) = data() else { return };
    let folder = Folder::with(&[("short.toml", EXPERIMENT)]);
    for (name, routers, nodes, links, diameter) in NETWORKS {
        let path = data.join(name).display().to_string();
        let described = folder.run(&["topology", &path, "--format", "json"]).json();
        let figures = ["routers", "nodes", "links", "diameter"].map(|key| described[key].as_u64().unwrap());
        assert_eq!(figures, [routers, nodes, links, diameter], "{name}");
        assert_eq!(described["connected"], true, "{name}");
        for routing in ["turn-prohibition", "up-down"] {
            let routed = folder.run(&["routing", "--topology", &path, "--routing", routing, "--format", "json"]).json();
            for key in ["deadlock_free", "connected", "irreducible"] {
                assert_eq!(routed[key], true, "{key} of {routing} on {name}");
            }
            let destinations = format!("traffic.multicast.destinations={}", (nodes - 1).min(4));
            let (topology, routing) = (format!("topology=\"{path}\""), format!("routing={routing}"));
            for algorithm in ["algorithm=separate", "algorithm=tree-one"] {
                let arguments = [topology.as_str(), &routing, algorithm, &destinations];
                let settings = arguments.iter().flat_map(|setting| ["--set", setting]);
                let all: Vec<&str> =
                    ["simulate", "short.toml", "--format", "json"].into_iter().chain(settings).collect();
                let run = folder.run(&all);
                // Trees can deadlock, of which there is a warning: at this load they do not.
                assert_eq!(run.code, 0, "{name}, {routing}, {algorithm}: {}", run.stderr);
                let result: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
                let delivered = result["messages"]["delivered"].as_u64().unwrap();
                assert!(delivered >= 50 && result["deadlock"].is_null(), "{name}, {routing}, {algorithm}");
            }
        }
    }
}

/// `OpenSM`'s up*/down* tables are free of credit loops.
#[test]
fn public_tables_are_safe() {
    let Some(data) = data() else { return };
    for (network, tables) in [
        ("X5.topofile", "X5_updn.lfts.dump"),
        ("opensm/k6.net", "opensm/k6_updn.lfts.dump"),
        ("opensm/mesh4x4.net", "opensm/mesh4x4_updn.lfts.dump"),
        ("opensm/torus4x4.net", "opensm/torus4x4_updn.lfts.dump"),
        ("opensm/petersen.net", "opensm/petersen_updn.lfts.dump"),
    ] {
        let [network, tables] = [network, tables].map(|name| data.join(name).display().to_string());
        let arguments = ["routing", "--topology", &network, "--tables", &tables, "--format", "json"];
        let analysis = crate::wormcast(&arguments).json();
        assert_eq!((analysis["deadlock_free"].as_bool(), analysis["connected"].as_bool()), (Some(true), Some(true)));
        assert_eq!(analysis["tables"]["undelivered_pairs"], 0);
    }
}

/// Messages to groups of a fabric, by its tables, at two loads.
const GROUPS: &str = r#"
topology = "fabric.net"
algorithm = "tables"
routing = { tables = "lfts" }
options.multicast_tables = "mcfdbs"
options.groups = "groups"
[traffic]
length = 32
multicast = { destinations = "group", fraction = 0.2 }
arrivals = { process = "poisson", rate = 0.01 }
[run]
messages = 200
[stop]
min_replications = 2
max_replications = 2
[sweep]
"options.multicasts" = ["tables", "separate"]
"#;

/// Public fabrics with groups of every third host and of every fifth: trees, all three verdicts, a repair, and runs over their tables.
#[test]
fn public_fabrics_are_judged_repaired_and_swept_with_groups() {
    let Some(data) = data() else { return };
    for (network, tables) in [
        ("X5.topofile", Some("X5_updn.lfts.dump")),
        ("opensm/k6.net", Some("opensm/k6_updn.lfts.dump")),
        ("opensm/mesh4x4.net", Some("opensm/mesh4x4_updn.lfts.dump")),
        ("opensm/torus4x4.net", Some("opensm/torus4x4_updn.lfts.dump")),
        ("opensm/petersen.net", Some("opensm/petersen_updn.lfts.dump")),
        ("ibsim/ibsim_net", None),
        ("ibsim/ibsim_net.1", None),
        ("ibsim/ibsim_net.2sw2path", None),
        ("ibsim/ibsim_net.2sw2path4hca", None),
        ("ibsim/ibsim_net.2sw2path4hca2port", None),
    ] {
        let fabric = std::fs::read_to_string(data.join(network)).unwrap();
        let folder = Folder::with(&[("fabric.net", &fabric), ("groups.toml", GROUPS)]);
        match tables {
            Some(tables) => folder.write("lfts", &std::fs::read(data.join(tables)).unwrap()),
            None => {
                let made =
                    folder.run(&["routing", "--topology", "fabric.net", "--routing", "up-down", "--export", "lfts"]);
                assert_eq!(made.code, 0, "{network}: {}", made.stderr);
            }
        }
        // Hosts by their addresses, which all tables have.
        let lfts = folder.read("lfts");
        let is_host = |line: &&str| line.contains("Channel Adapter");
        let mut hosts: Vec<&str> = lfts.lines().filter(is_host).map(|line| &line[..6]).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let members =
            |step: usize| hosts.iter().step_by(if hosts.len() > 9 { step } else { 1 }).copied().collect::<Vec<_>>();
        let groups = format!("0xc001: {}\n0xc002: {}\n", members(3).join(";"), members(5).join(";"));
        folder.write("groups", groups.as_bytes());
        let unicasts = ["routing", "--topology", "fabric.net", "--tables", "lfts", "--format", "json"];
        let ask = |more: &[&str]| {
            let ran = folder.run(&[&unicasts[..], more].concat());
            assert_eq!(ran.code, 0, "{network} {more:?}: {}", ran.stderr);
            serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap()
        };
        ask(&["--multicast-trees", "opensm", "--groups", "groups", "--export-multicast", "mcfdbs"]);
        let groups = ["--multicast-tables", "mcfdbs", "--groups", "groups"];
        for branching in ["packets", "lockstep", "ibdmchk"] {
            let judged = ask(&[&groups[..], &["--branching", branching]].concat());
            assert_eq!(judged["branching"], branching, "{network}");
            assert!(judged["groups"].as_array().unwrap().iter().all(|group| group["connected"] == true), "{network}");
        }
        let repaired = ask(&[&groups[..], &["--repair", "mended", "--lanes", "2"]].concat());
        assert_eq!(repaired["repair"]["deadlock_free"], true, "{network}");
        for command in [&["sweep", "groups.toml"][..], &["compare", "groups.toml"], &["report", "groups.toml"]] {
            let ran = folder.run(command);
            assert_eq!(ran.code, 0, "{network} {command:?}: {}", ran.stderr);
        }
    }
}
