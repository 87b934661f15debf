//! Fabrics of many kinds, routed by each engine of `OpenSM`, with multicast trees of several origins: wormcast's verdicts against those of `ibdmchk`,
//! what differs explained, what only lockstep closes searched for in simulations, and repairs by the command loaded by `OpenSM`.
//!
//! Without the programs that `simulated` names it says so and passes, unless the environment variable `WORMCAST_OPENSM` is `required`.
//! `WORMCAST_FABRICS` is how many fabrics there are, by default 14, and 3 where nothing is required:
//! `WORMCAST_OPENSM=required WORMCAST_FABRICS=210 cargo test -p wormcast --test fabrics -- --nocapture` prints the tables of
//! `docs/measurements/fabrics.md`.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use kinds::{Kind, builds_by_matrix, takes_lanes};
use serde_json::Value;
use simulated::{
    Random, Simulated, expect_trees, join_groups, random_levels, random_maps, random_trees, rejoin, setting,
};
use wormcast::analysis::{AnalysisError, Fabric, Replicating, Settings, Unicasts, of_fabric, of_multicasts};
use wormcast::multicast::{Multicast, Options, algorithm_by_name};
use wormcast::network::{ChannelId, Network};
use wormcast::routing::{
    Dependencies, ForwardingTables, GroupBranching, MulticastTables, NetworkMcfdbs, RoutingRelation, Target,
    UnicastWaits, VirtualLanes, parse_hop_matrix, parse_lfts, parse_multicast_tables, permitted_trees,
};
use wormcast::simulation::Buffer;

mod addresses;
mod kinds;
#[allow(dead_code, reason = "shared with the tests of the routing floor")]
mod simulated;

/// Steps of the search for messages that deadlock.
const STEPS: u64 = 300_000;
/// `OpenSM` writes its files within this time.
const LONGEST: Duration = Duration::from_secs(5);

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

/// The tables of a fabric, with what else verdicts depend on.
struct Case<'a> {
    tables: &'a ForwardingTables,
    groups: &'a MulticastTables,
    lanes: Option<&'a VirtualLanes>,
}

impl Case<'_> {
    fn can_deadlock(&self, how: GroupBranching) -> bool {
        let fabric =
            Fabric { name: "tables", tables: self.tables, multicasts: Some((self.groups, how)), lanes: self.lanes };
        !of_fabric(&fabric, &Settings::default()).unwrap().deadlock_free
    }

    /// The rules of `ibdmchk` that make its verdict differ from what packets do: from its model to that of packets, one rule is dropped after the other.
    fn explained(&self) -> Vec<&'static str> {
        let network: &Network = self.tables.network();
        let count = self.lanes.map_or(1, VirtualLanes::count);
        let laned = network.in_lanes(count);
        let unicasts = match self.lanes {
            Some(lanes) => UnicastWaits::in_lanes(self.tables, lanes),
            None => UnicastWaits::by_channel(self.tables),
        };
        let (mut any, mut taken, mut exact) = (Vec::new(), Vec::new(), Vec::new());
        for group in 0..self.groups.groups().len() {
            let mut own = Dependencies::new(&laned);
            own.add_worms(|worms| self.groups.add(worms, group, GroupBranching::Ibdmchk, self.lanes));
            let packets: HashSet<(ChannelId, ChannelId)> = self.groups.hops(group, None).into_iter().collect();
            for turn in self.groups.turns(group) {
                let on =
                    |lane| (ChannelId::new(turn.0.raw() * count + lane), ChannelId::new(turn.1.raw() * count + lane));
                for (held, next) in (0..count).map(on).filter(|&(held, next)| own.contains(held, next)) {
                    any.push((held, next));
                    if packets.contains(&turn) {
                        taken.push((held, next));
                    }
                }
            }
            exact.extend(self.groups.hops(group, self.lanes));
        }
        let verdict = |pairs: &[(ChannelId, ChannelId)], from_hosts: bool| {
            let waits = unicasts.clone().with(pairs.iter().copied());
            let all = waits.dependencies(&laned);
            let all = if from_hosts { all.reached_by_hosts(&unicasts) } else { all };
            all.deadlock(1).is_some()
        };
        let verdicts = [verdict(&any, true), verdict(&taken, true), verdict(&exact, true), verdict(&exact, false)];
        assert_eq!(verdicts[0], self.can_deadlock(GroupBranching::Ibdmchk));
        assert_eq!(verdicts[3], self.can_deadlock(GroupBranching::Packets));
        let rules = ["turns that no packet takes", "lanes of groups", "loops that only groups close"];
        verdicts.windows(2).zip(rules).filter(|(pair, _)| pair[0] != pair[1]).map(|(_, rule)| rule).collect()
    }
}

/// Whether messages reach a deadlock that only lockstep makes possible.
fn reached(folder: &Path, case: &Case<'_>) -> &'static str {
    let mut options = Options::default();
    let path = |name: &str| Some(folder.join(name).display().to_string());
    options.own.tables = path("opensm-lfts.dump");
    options.own.multicast_tables = path("opensm.mcfdbs");
    let network = case.tables.network();
    let Ok(algorithm) = algorithm_by_name("tables", network, &options) else { return "lockstep: refused" };
    let settings = Settings {
        consumption_ports: Some(32),
        buffer: Some(Buffer::Flits(1)),
        replication: Some(Replicating::Lockstep),
        reachable: Some(STEPS),
        ..Settings::default()
    };
    let report = of_multicasts(Unicasts::Tables("tables", case.tables), &settings, |adding| {
        for (group, line) in case.groups.groups().iter().zip(1..) {
            let members = group.members();
            for &source in &members {
                let others: Vec<_> = members.iter().copied().filter(|&node| node != source).collect();
                if !others.is_empty() {
                    let multicast = Multicast::new(source, &others);
                    adding.add(line, algorithm.routing(), &multicast, &algorithm.plan(&multicast))?;
                }
            }
        }
        Ok::<(), AnalysisError>(())
    });
    match report.unwrap().reachability.map(|reached| reached.verdict) {
        Some("reachable") => "lockstep: deadlocks in a run",
        Some("not reachable") => "lockstep: no messages deadlock",
        _ => "lockstep: not decided",
    }
}

/// Waits until the packets of all groups reach their members by the tables that `OpenSM` has written, and if they do not, takes these tables: some engines have
/// none for members of one switch.
fn wait_for_groups(simulated: &Simulated<'_>, joined: &MulticastTables) -> (MulticastTables, bool) {
    let start = Instant::now();
    loop {
        let text = simulated.read("opensm.mcfdbs");
        let built = parse_multicast_tables(joined.network(), "opensm.mcfdbs", &text);
        let reaches_all = |built: &MulticastTables| {
            joined.groups().iter().all(|group| {
                let own = built.groups().iter().find(|other| other.mlid == group.mlid);
                group.members().len() < 2 || own.is_some_and(|own| own.members() == group.members())
            })
        };
        match built {
            Ok(built) if reaches_all(&built) => return (built, true),
            Ok(built) if start.elapsed() > LONGEST => return (built, false),
            _ => assert!(start.elapsed() < 4 * LONGEST, "{text}"),
        }
        sleep(Duration::from_millis(20));
    }
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
    let members =
        std::iter::repeat_with(|| join_groups(&simulated, fabric, &mut random)).find(|text| text.contains(';'));
    let members = members.unwrap();
    let tables = parse_lfts(fabric, "opensm-lfts.dump", &simulated.read("opensm-lfts.dump")).unwrap();
    let joined = MulticastTables::empty(fabric).with_members(&tables, "groups", &members).unwrap();
    if builds_by_matrix(&engine) {
        let matrix = parse_hop_matrix(fabric, "matrix", &simulated.read("opensm-lid-matrix.dump")).unwrap();
        let built = NetworkMcfdbs::new(&joined.clone().with_trees(&matrix)).unwrap().to_string();
        expect_trees(&simulated, &built, &what);
        found.0.push("trees by the matrix: equal");
    }
    let (built, reaches_all) = wait_for_groups(&simulated, &joined);
    if !reaches_all {
        assert!(!builds_by_matrix(&engine), "{what}");
        found.0.push("members missed by OpenSM");
    }
    fs::write(simulated.path().join("groups"), &members).unwrap();
    let levels = takes_lanes(&engine).then(|| levels_text(fabric, &tables, &simulated));
    drop(opensm);

    // OpenSM's trees, and others for the same unicasts.
    let mut trees = vec![("OpenSM's", NetworkMcfdbs::new(&built).unwrap().to_string())];
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

/// A fabric whose tables are in a folder, to be repaired.
struct Mend<'a, 'p> {
    programs: &'p simulated::Programs,
    kind: &'a Kind,
    simulated: &'a Simulated<'p>,
    /// The members of groups, where they have joined.
    groups: Option<&'static str>,
    what: String,
}

impl Mend<'_, '_> {
    /// Repairs it, checks the proof, and lets `OpenSM` load what comes out.
    #[allow(clippy::too_many_lines, reason = "one repair from one end to the other")]
    fn repair(&self, levels: Option<&str>, lanes: Option<u64>, found: &mut Found) {
        let Self { programs, kind, simulated, groups, what } = self;
        let (fabric, folder) = (&kind.fabric, simulated.path());
        let lanes = lanes.map(|lanes| lanes.to_string());
        let mut arguments =
            vec!["routing", "--topology", "fabric.net", "--tables", "opensm-lfts.dump", "--format", "json"];
        arguments.extend(["--multicast-tables", "opensm.mcfdbs", "--repair", "mended"]);
        if let Some(groups) = groups {
            arguments.extend(["--groups", groups]);
        }
        if let Some(levels) = levels {
            arguments.extend(["--lanes", levels, "--sl2vl", "opensm-sl2vl.dump"]);
        }
        if let Some(lanes) = &lanes {
            arguments.extend(["--lanes", lanes]);
        }
        let repair = &run_wormcast(folder, &arguments)["repair"];
        let what = format!("{what}, repaired: {repair}, {}", folder.display());
        assert_eq!(repair["deadlock_free"], true, "{what}");
        let files: Vec<&str> = repair["files"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let has = |name| files.contains(&name);
        // The proof, by another program.
        let mut check = vec!["fabric.net", "mended/lfts", "mended/opensm.mcfdbs", "mended/groups"];
        check.push(if has("lanes") { "mended/lanes" } else { "-" });
        let keeps_maps = levels.is_some() && repair["levels_are_lanes"] == false;
        check.extend([if keeps_maps { "opensm-sl2vl.dump" } else { "-" }, "mended/numbering.csv"]);
        let checked = |arguments: &[&str]| {
            let mut python = Command::new("python3");
            python.args(["-c", include_str!("check.py")]).args(arguments).current_dir(folder).output().unwrap()
        };
        let proof = checked(&check);
        assert!(proof.status.success(), "{what}: {}", String::from_utf8_lossy(&proof.stderr));
        found.0.push("proofs checked");
        // A wrong one is no proof: with all numbers the other way round, none rises.
        let text = fs::read_to_string(folder.join("mended/numbering.csv")).unwrap();
        let mut lines = text.lines();
        let mut wrong = format!("{}\n", lines.next().unwrap());
        for line in lines {
            let mut fields: Vec<String> = line.splitn(6, ',').map(str::to_owned).collect();
            fields[4] = (1_000_000 - fields[4].parse::<i64>().unwrap()).to_string();
            writeln!(wrong, "{}", fields.join(",")).unwrap();
        }
        fs::write(folder.join("wrong.csv"), wrong).unwrap();
        *check.last_mut().unwrap() = "wrong.csv";
        let said = String::from_utf8_lossy(&checked(&check).stderr).into_owned();
        // Where no packet goes over two links, there is nothing to prove, and any numbers will do.
        let pairs: u64 = String::from_utf8_lossy(&proof.stdout).trim().parse().unwrap();
        assert!(pairs == 0 || said.contains("AssertionError"), "{what}: {said}");
        let changed = repair["changed"].as_str().unwrap();
        let (one, more) = match changed {
            "nothing" => ("repair on one lane: nothing", "repair on lanes: nothing"),
            "trees" => ("repair on one lane: trees", "repair on lanes: trees"),
            "lanes" => ("repair on one lane: lanes", "repair on lanes: lanes of groups"),
            "unicast-lanes" => ("repair on one lane: lanes", "repair on lanes: lanes of unicasts"),
            _ => ("repair on one lane: routes", "repair on lanes: routes"),
        };
        found.0.push(if levels.is_none() && lanes.is_none() { one } else { more });
        match repair["unicast_lanes"].as_str().unwrap() {
            "proven" => found.0.push("lanes for unicasts: proven that there are none"),
            "given-up" => found.0.push("lanes for unicasts: given up"),
            _ => {}
        }
        if changed == "nothing" {
            return;
        }
        if repair["levels_are_lanes"] == true {
            found.0.push("lanes by ports given up");
        }
        let mended = |name: &str| simulated.read(&format!("mended/{name}"));
        let members = mended("groups");
        if !members.lines().zip(0xc001..).all(|(line, mlid)| line.starts_with(&format!("{mlid:#06x}"))) {
            found.0.push("groups with gaps between addresses");
        }
        let other = Simulated::start(programs, fabric);
        for (name, from) in [("guid2lid", "guid2lid"), ("tables", "mended/lfts"), ("hops", "mended/lid-matrix")] {
            fs::write(other.path().join(name), simulated.read(from)).unwrap();
        }
        let mut options = vec!["-U", "tables", "-M", "hops"];
        let level = repair["lane_of_groups"].as_u64().unwrap();
        if has("qos-policy.conf") {
            fs::write(other.path().join("policy"), mended("qos-policy.conf")).unwrap();
            options.extend(["-Y", "policy"]);
        }
        if level > 0 {
            // The groups of a partition have its level.
            let partition = format!("Default=0x7fff, ipoib, sl={level} : ALL=full ;\n");
            fs::write(other.path().join("partitions"), partition).unwrap();
            options.extend(["-P", "partitions"]);
        }
        if repair["levels_are_lanes"] == true {
            // Switches have the lanes of the engine, as they do in a fabric that is repaired.
            for (name, text) in &kind.files {
                fs::write(other.path().join(name), text).unwrap();
            }
            let before: Vec<&str> = kind.options.iter().map(String::as_str).collect();
            other.route(kind.engine, &before);
            let maps = other.read("opensm-sl2vl.dump");
            let by_port = VirtualLanes::new(fabric).unwrap().with_maps("opensm-sl2vl.dump", &maps).unwrap();
            assert_eq!(by_port.common_map(), None, "{what}");
            fs::remove_file(other.path().join("opensm-sl2vl.dump")).unwrap();
        }
        if has("opensm.conf") {
            let text = other.read("opensm.conf") + &mended("opensm.conf");
            fs::write(other.path().join("opensm.conf"), text).unwrap();
        }
        let opensm = other.serve("file", &options);
        rejoin(&other, &members, level as u8);
        expect_trees(&other, &mended("opensm.mcfdbs"), &what);
        let tables = parse_lfts(fabric, "lfts", &mended("lfts")).unwrap();
        let mut given = VirtualLanes::new(fabric).unwrap();
        if has("lanes") {
            given = given.with_levels(&tables, "lanes", &mended("lanes")).unwrap();
        }
        if has("opensm.conf") {
            // What is loaded, as an operator would check it.
            let maps = other.read("opensm-sl2vl.dump");
            let own = given.clone().with_maps("opensm-sl2vl.dump", &maps).unwrap();
            assert!(own.are_levels(own.count()), "{what}: {maps}");
            let built = parse_multicast_tables(fabric, "opensm.mcfdbs", &other.read("opensm.mcfdbs")).unwrap();
            let loaded = Case { tables: &tables, groups: &built, lanes: Some(&own) };
            assert!(!loaded.can_deadlock(GroupBranching::Packets), "{what}");
            found.0.push("repairs with lanes loaded");
        }
        let mut options = vec!["-M"];
        if has("lanes") {
            let said = levels_text(fabric, &tables, &other);
            let own = VirtualLanes::new(fabric).unwrap().with_levels(&tables, "said", &said).unwrap();
            for (node, address) in
                fabric.node_ids().flat_map(|node| addresses(&tables).map(move |address| (node, address)))
            {
                let levels = [&given, &own].map(|lanes| lanes.level(node, address).unwrap_or(0));
                assert_eq!(levels[0], levels[1], "{what}: {node} to {address}");
            }
            // ibdmchk has groups on level 0: theirs and that one change places.
            let swapped = |line: &str| {
                let (path, own) = line.rsplit_once(' ').unwrap();
                let own: u64 = own.parse().unwrap();
                let other = if own == level {
                    0
                } else if own == 0 {
                    level
                } else {
                    own
                };
                format!("{path} {other}\n")
            };
            fs::write(other.path().join("levels"), said.lines().map(swapped).collect::<String>()).unwrap();
            options.extend(["-c", "levels"]);
            found.0.push("repairs with levels loaded");
        }
        assert!(!other.ibdmchk(&options), "{what}");
        // Its scan of all groups finds all members of each.
        let said = other.read("ibdmchk.out");
        let (_, scan) = said.split_once("Scanning all multicast groups for loops and connectivity").unwrap();
        let scan = scan.split("-----").next().unwrap();
        assert!(!scan.contains("-E-"), "{what}: {scan}");
        for line in members.lines() {
            let (mlid, hosts) = line.split_once(": ").unwrap();
            let (name, hosts) = (mlid.to_uppercase().replace("0X", "0x"), hosts.split(';').count());
            let all = format!(" and:{hosts} HCAs");
            let own = scan.lines().find(|line| line.contains(&format!("Group:{name} ")));
            assert!(hosts < 2 || own.is_some_and(|own| own.ends_with(&all)), "{what}: {line}: {scan}");
        }
        options.remove(0);
        assert!(!other.ibdmchk(&options), "{what}");
        found.0.push("repairs loaded");
        drop(opensm);
    }
}

/// The addresses of hosts.
fn addresses(tables: &ForwardingTables) -> impl Iterator<Item = u16> {
    tables.destinations().iter().filter(|to| matches!(to.target, Target::Node(_))).filter_map(|to| to.address)
}

/// The counts as a table in Markdown.
fn table(by: &str, counts: &BTreeMap<String, Counts>) -> String {
    let columns = [
        "fabrics",
        "trees by the matrix: equal",
        "members missed by OpenSM",
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
    let next = AtomicU64::new(first);
    let all = Mutex::new([const { BTreeMap::<String, Counts>::new() }; 3]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + fabrics {
                        return;
                    }
                    let (family, engine, found) = examine(&programs, seed);
                    let mut all = all.lock().unwrap();
                    for (counts, name) in all.iter_mut().zip(["all", family, &engine]) {
                        let counts = counts.entry(name.to_owned()).or_default();
                        counts.add("fabrics");
                        found.0.iter().for_each(|what| counts.add(what));
                    }
                }
            });
        }
    });
    let [total, families, engines] = all.into_inner().unwrap();
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
