//! Fabrics of many kinds, routed by each engine of `OpenSM`, with multicast trees of several origins: wormcast's verdicts against those of `ibdmchk`,
//! what differs explained, what only lockstep closes searched for in simulations, and repairs by the command loaded by `OpenSM`.
//!
//! Without the programs that `simulated` names it says so and passes, unless the environment variable `WORMCAST_OPENSM` is `required`.
//! `WORMCAST_FABRICS` is how many fabrics there are, by default 14, and 3 where nothing is required:
//! `WORMCAST_OPENSM=required WORMCAST_FABRICS=210 cargo test -p wormcast --test fabrics -- --nocapture` prints the tables of
//! `docs/measurements/fabrics.md`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use case::{Case, reached};
use kinds::{Kind, takes_lanes};
use mend::Mend;
use serde_json::Value;
use simulated::{
    Random, Simulated, expect_trees, join_groups, on_each, random_levels, random_maps, random_trees, setting,
};
use wormcast::network::Network;
use wormcast::routing::{
    ForwardingTables, GroupBranching, HopMatrix, MulticastTables, NetworkMcfdbs, Target, Torus2QosTrees, TreeRule,
    UnicastWaits, VirtualLanes, WeighedEngine, WeighedTrees, parse_hop_matrix, parse_lfts, parse_multicast_tables,
    permitted_trees,
};

mod addresses;
mod case;
mod kinds;
mod mend;
mod own_lane;
#[allow(dead_code, reason = "shared with the tests of the routing floor")]
mod simulated;

/// What has been counted, of all fabrics, of a family, or of an engine.
#[derive(Default)]
struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    fn add(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }
}

/// What a fabric adds to the counts.
#[derive(Default)]
struct Found(Vec<&'static str>);

/// Hosts join groups until one has two members. Those that have joined before stay members.
fn join_until_two(simulated: &Simulated<'_>, fabric: &Network, random: &mut Random) -> String {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    while groups.values().all(|members| members.len() < 2) {
        for line in join_groups(simulated, fabric, random).lines() {
            let (mlid, hosts) = line.split_once(": ").unwrap();
            let members = groups.entry(mlid.to_owned()).or_default();
            members.extend(hosts.split(';').map(str::to_owned));
            members.sort_unstable();
            members.dedup();
        }
    }
    let lines: Vec<String> = groups.iter().map(|(mlid, members)| format!("{mlid}: {}", members.join(";"))).collect();
    lines.join("\n")
}

/// Levels of paths in the form that `ibdmchk -c` reads.
fn levels_text(fabric: &Network, tables: &ForwardingTables, simulated: &Simulated<'_>) -> String {
    let nodes: BTreeMap<u16, u64> = tables
        .destinations()
        .iter()
        .filter_map(|destination| match destination.target {
            Target::Node(node) => Some((destination.address?, fabric.adapter_guid(node)?)),
            Target::Router(_) => None,
        })
        .collect();
    let addresses: Vec<u16> = nodes.keys().copied().collect();
    let mut text = String::new();
    for [from, to, level] in simulated.levels(&addresses) {
        writeln!(text, "{:#018x} {to} {level}", nodes[&from]).unwrap();
    }
    text
}

fn run_wormcast(folder: &Path, arguments: &[&str]) -> Value {
    let out = Command::new(env!("CARGO_BIN_EXE_wormcast")).args(arguments).current_dir(folder).output().unwrap();
    assert!(out.status.success(), "{}: {}", folder.display(), String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

/// Says which fabric it is if something goes wrong.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this was fabric {} (WORMCAST_FIRST={0} WORMCAST_FABRICS=1)", self.0);
        }
    }
}

/// All that is asked of one fabric.
#[allow(clippy::too_many_lines, reason = "one fabric from one end to the other")]
fn examine(programs: &simulated::Programs, seed: u64) -> (&'static str, String, Found) {
    let _named = Named(seed);
    let kind = Kind::new(seed);
    let fabric = &kind.fabric;
    let mut found = Found::default();
    let simulated = Simulated::start(programs, fabric);
    for (name, text) in &kind.files {
        fs::write(simulated.path().join(name), text).unwrap();
    }
    let options: Vec<&str> = kind.options.iter().map(String::as_str).collect();
    let opensm = simulated.serve(kind.engine, &options);
    let engine = simulated.engine();
    let what = format!("fabric {seed}, {}, {engine}", kind.family);
    let mut random = Random(seed);
    let members = join_until_two(&simulated, fabric, &mut random);
    let tables = parse_lfts(fabric, "opensm-lfts.dump", &simulated.read("opensm-lfts.dump")).unwrap();
    let joined = MulticastTables::empty(fabric).with_members(&tables, "groups", &members).unwrap();
    let matrix = || parse_hop_matrix(fabric, "matrix", &simulated.read("opensm-lid-matrix.dump")).unwrap();
    let weighed = |engine| Box::new(WeighedTrees::new(&tables, matrix(), engine).unwrap());
    let rule: Box<dyn TreeRule> = match engine.as_str() {
        "sssp" | "dfsssp" => weighed(WeighedEngine::Sssp),
        "nue" => weighed(WeighedEngine::Nue),
        "torus-2QoS" => Box::new(Torus2QosTrees::new(fabric, "torus.conf", &simulated.read("torus.conf")).unwrap()),
        _ => Box::new(matrix()),
    };
    let trees = |rule: &dyn TreeRule| NetworkMcfdbs::new(&joined.clone().with_trees(rule)).unwrap().to_string();
    let by_rule = trees(rule.as_ref());
    expect_trees(&simulated, &by_rule, &what);
    found.0.push("trees by OpenSM's rule: equal");
    if engine.ends_with("sssp") {
        // Its matrix says nothing that its tables do not say.
        let lengths = HopMatrix::of_tables(&tables).unwrap();
        let alone = WeighedTrees::new(&tables, lengths, WeighedEngine::Sssp).unwrap();
        assert_eq!(trees(&alone), by_rule, "{what}");
    }
    // A whole matrix raises no doubt, but where some ways go in one direction alone. That of torus-2QoS has no rows.
    if engine == "torus-2QoS" {
        assert!(matrix().doubt().is_some(), "{what}");
    } else if let Some(doubt) = matrix().doubt() {
        assert!(["ftree", "dnup"].contains(&&*engine), "{what}: {doubt}");
        found.0.push("matrix with ways in one direction");
    }
    if trees(&matrix()) != by_rule {
        found.0.push("trees by the matrix: others");
    }
    fs::write(simulated.path().join("groups"), &members).unwrap();
    let levels = takes_lanes(&engine).then(|| levels_text(fabric, &tables, &simulated));
    drop(opensm);

    // OpenSM's trees, and others for the same unicasts.
    let mut trees = vec![("OpenSM's", by_rule)];
    trees.push(("random", random_trees(fabric, &mut random, |_| false)));
    trees.push(("random, pruned", random_trees(fabric, &mut random, |_| true)));
    if let Ok(matrix) = permitted_trees(&tables, &joined) {
        trees.push(("permitted", NetworkMcfdbs::new(&joined.clone().with_trees(&matrix)).unwrap().to_string()));
    }
    let count = 2 + random.below(4);
    let drawn = (
        random_levels(fabric, &tables, count, &mut random),
        random_maps(fabric, count, seed.is_multiple_of(2), &mut random),
    );
    for (origin, text) in trees.iter().filter(|(_, text)| !text.is_empty()) {
        fs::write(simulated.path().join("opensm.mcfdbs"), text).unwrap();
        let groups = parse_multicast_tables(fabric, "opensm.mcfdbs", text).unwrap();
        let alone = VirtualLanes::new(fabric).unwrap();
        let mut lanes = vec![("one lane", None)];
        if let Some(levels) = &levels {
            let maps = simulated.read("opensm-sl2vl.dump");
            let own = alone.clone().with_levels(&tables, "levels", levels).unwrap().with_maps("maps", &maps).unwrap();
            lanes.push(("the engine's lanes", Some((own, levels.clone(), maps))));
        }
        if seed.is_multiple_of(3) {
            let own = alone.with_levels(&tables, "levels", &drawn.0).unwrap().with_maps("maps", &drawn.1).unwrap();
            lanes.push(("random lanes", Some((own, drawn.0.clone(), drawn.1.clone()))));
        }
        for (on, lanes) in lanes {
            let mut options = vec!["-M"];
            if let Some((_, levels, maps)) = &lanes {
                fs::write(simulated.path().join("levels"), levels).unwrap();
                fs::write(simulated.path().join("maps"), maps).unwrap();
                options.extend(["-c", "levels", "-d", "maps"]);
            }
            let verdict = simulated.ibdmchk(&options);
            let case = Case { tables: &tables, groups: &groups, lanes: lanes.as_ref().map(|lanes| &lanes.0) };
            let what = format!("{what}, {origin} trees, {on}");
            assert_eq!(case.can_deadlock(GroupBranching::Ibdmchk), verdict, "{what}: {}", simulated.path().display());
            found.0.push("verdicts");
            found.0.push(match (on, *origin) {
                ("one lane", "OpenSM's") => "OpenSM's trees, one lane",
                ("the engine's lanes", "OpenSM's") => "OpenSM's trees, its lanes",
                ("one lane", _) => "other trees, one lane",
                _ => "other lanes",
            });
            if verdict {
                found.0.push("loops by ibdmchk");
                match (on, *origin) {
                    ("one lane", "OpenSM's") => found.0.push("loops: OpenSM's trees, one lane"),
                    ("the engine's lanes", "OpenSM's") => found.0.push("loops: OpenSM's trees, its lanes"),
                    _ => {}
                }
            }
            let by_packets = case.can_deadlock(GroupBranching::Packets);
            if *origin == "OpenSM's" && on != "random lanes" {
                let alone = match case.lanes {
                    Some(lanes) => UnicastWaits::in_lanes(&tables, lanes),
                    None => UnicastWaits::by_channel(&tables),
                };
                if alone.numbering().is_some() {
                    found.0.push(if on == "one lane" {
                        "no loop of unicasts"
                    } else {
                        "no loop of unicasts on its lanes"
                    });
                    if by_packets {
                        found.0.push(if on == "one lane" {
                            "closed by its trees"
                        } else {
                            "closed by its trees on its lanes"
                        });
                    }
                }
            }
            if by_packets != verdict {
                found.0.push("packets differ");
                let explained = case.explained();
                assert!(explained.len() % 2 == 1, "{what}: {explained:?}");
                for rule in explained {
                    found.0.push(rule);
                }
            }
            if !by_packets && case.can_deadlock(GroupBranching::Lockstep) {
                found.0.push("only lockstep");
                found.0.push(match on {
                    "one lane" => reached(simulated.path(), &case),
                    _ => "lockstep: on lanes",
                });
            }
        }
    }
    for (origin, text) in trees.iter().filter(|(origin, text)| !text.is_empty() && *origin != "permitted") {
        let groups = Some("groups").filter(|_| *origin == "OpenSM's");
        let mend =
            Mend { programs, kind: &kind, simulated: &simulated, groups, what: format!("{what}, {origin} trees") };
        fs::write(simulated.path().join("opensm.mcfdbs"), text).unwrap();
        if *origin == "OpenSM's" || seed.is_multiple_of(2) {
            mend.repair(None, None, &mut found);
        }
        if seed % 2 == 1 {
            mend.repair(None, Some(2 + seed % 3), &mut found);
        }
        if let Some(levels) = &levels {
            fs::write(simulated.path().join("levels"), levels).unwrap();
            mend.repair(Some("levels"), None, &mut found);
            // Levels that are lanes need more of these.
            if engine == "torus-2QoS" {
                mend.repair(Some("levels"), Some(8), &mut found);
            }
        }
    }
    (kind.family, engine, found)
}

/// The counts as a table in Markdown.
fn table(by: &str, counts: &BTreeMap<String, Counts>) -> String {
    let columns = [
        "fabrics",
        "trees by OpenSM's rule: equal",
        "trees by the matrix: others",
        "no loop of unicasts",
        "closed by its trees",
        "no loop of unicasts on its lanes",
        "closed by its trees on its lanes",
        "verdicts",
        "loops by ibdmchk",
        "packets differ",
        "turns that no packet takes",
        "lanes of groups",
        "loops that only groups close",
        "only lockstep",
        "lockstep: deadlocks in a run",
        "lockstep: no messages deadlock",
        "lockstep: not decided",
        "lockstep: refused",
        "lockstep: on lanes",
        "repair on one lane: nothing",
        "repair on one lane: trees",
        "repair on one lane: routes",
        "repair on lanes: nothing",
        "repair on lanes: trees",
        "repair on lanes: lanes of groups",
        "repair on lanes: lanes of unicasts",
        "repair on lanes: routes",
        "proofs checked",
        "repairs loaded",
        "repairs with lanes loaded",
        "repairs with levels loaded",
        "level 0 exchanged with another",
        "loops by ibdmchk before that",
        "lanes by ports given up",
        "groups with gaps between addresses",
    ];
    let mut text = format!("| {by} | {} |\n|---|{}\n", columns.join(" | "), "--:|".repeat(columns.len()));
    for (name, counts) in counts {
        let figures = columns.map(|column| counts.0.get(column).map_or("-".to_owned(), u64::to_string));
        writeln!(text, "| {name} | {} |", figures.join(" | ")).unwrap();
    }
    text
}

#[test]
fn fabrics_of_all_kinds_are_judged_and_repaired() {
    let Some((programs, fabrics)) = setting() else { return };
    let wanted = std::env::var("WORMCAST_FABRICS").map(|number| number.parse().expect("WORMCAST_FABRICS is a number"));
    let fabrics: u64 = wanted.unwrap_or(if fabrics > 10 { 14 } else { 3 });
    let first: u64 =
        std::env::var("WORMCAST_FIRST").map_or(0, |number| number.parse().expect("WORMCAST_FIRST is a number"));
    let mut all = [const { BTreeMap::<String, Counts>::new() }; 3];
    for (family, engine, found) in on_each(first..first + fabrics, |seed| examine(&programs, seed)) {
        for (counts, name) in all.iter_mut().zip(["all", family, &engine]) {
            let counts = counts.entry(name.to_owned()).or_default();
            counts.add("fabrics");
            found.0.iter().for_each(|what| counts.add(what));
        }
    }
    let [total, families, engines] = all;
    eprintln!("{}\n{}", table("family", &families), table("engine", &engines));
    let total = &total["all"];
    for (what, count) in &total.0 {
        eprintln!("{what}: {count}");
    }
    assert_eq!(total.0["fabrics"], fabrics);
    let of = |what| total.0.get(what).copied().unwrap_or(0);
    let nothing = of("repair on one lane: nothing") + of("repair on lanes: nothing");
    assert_eq!(of("repairs loaded") + nothing, of("proofs checked"), "all that changes anything is loaded");
    assert!(
        fabrics < 14
            || (of("loops by ibdmchk") > 0 && of("repairs loaded") > 0 && of("loops by ibdmchk") < of("verdicts"))
    );
}
