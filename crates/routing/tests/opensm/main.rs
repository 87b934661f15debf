//! The subnet manager `OpenSM` on simulated fabrics: its tables read, its verdicts compared, and our tables loaded by it.
//!
//! Without the programs that `simulated` names the tests say so and pass, unless the environment variable `WORMCAST_OPENSM` is
//! `required`; then they also take more fabrics. `crates/wormcast/tests/fabrics` goes on to fabrics of all kinds, all engines, and repairs by the command.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use simulated::{
    Random, Simulated, expect_trees, join_groups, on_each, random_fabric, random_levels, random_maps, random_trees,
    rejoin, setting,
};
use wormcast_network::{FileFormat, Network, NetworkIbsim, RouterId};
use wormcast_routing::{
    Changed, Dependencies, Destination, ForwardingTables, GroupBranching, HopMatrix, MulticastTables, NetworkLfts,
    NetworkMcfdbs, RoutingOptions, RoutingRelation, TablesText, Target, UnicastWaits, VirtualLanes, analyse_tables,
    choose_tables, parse_fdbs, parse_hop_matrix, parse_lfts, parse_multicast_tables, parse_tables, repair,
    routing_by_name,
};

#[allow(dead_code, reason = "the test of fabrics uses all of it")]
mod simulated;

fn can_deadlock(tables: &ForwardingTables) -> bool {
    Dependencies::of_tables(tables).deadlock(1).is_some()
}

#[test]
fn verdicts_agree_with_ibdmchk() {
    let Some((programs, fabrics)) = setting() else { return };
    let verdicts = on_each(0..fabrics, |seed| {
        let fabric = random_fabric(seed);
        let simulated = Simulated::start(&programs, &fabric);
        let dump = if seed % 3 == 2 {
            let root = seed as u32 % fabric.routers() as u32;
            let guid = fabric.router_guid(RouterId::new(root)).unwrap();
            fs::write(simulated.path().join("roots"), format!("{guid:#x}\n")).unwrap();
            simulated.route("updn", &["-a", "roots"])
        } else {
            simulated.route("minhop", &[])
        };
        let tables = parse_lfts(&fabric, "dump", &dump).unwrap();
        let report = analyse_tables(&tables);
        assert_eq!((report.undelivered_pairs, report.loop_count), (0, 0), "fabric {seed}");
        let verdict = simulated.has_credit_loops();
        assert_eq!(can_deadlock(&tables), verdict, "fabric {seed}");
        // What we write is what OpenSM wrote, and its two files say the same.
        assert_eq!(NetworkLfts::new(&tables).unwrap().to_string(), dump, "fabric {seed}");
        let again = parse_fdbs(&fabric, "fdbs", &simulated.read("opensm.fdbs")).unwrap();
        assert_eq!((again.entries(), again.unidentified()), (tables.entries(), 0), "fabric {seed}");
        assert_eq!(NetworkLfts::new(&again).unwrap().to_string(), dump, "fabric {seed}");
        verdict
    });
    let [without, with] = [false, true].map(|loops| verdicts.iter().filter(|&&verdict| verdict == loops).count());
    eprintln!("{fabrics} fabrics: {without} without credit loops, {with} with");
    assert!(without > 0 && with > 0);
}

fn can_deadlock_together(
    tables: &ForwardingTables,
    groups: &MulticastTables,
    how: GroupBranching,
    lanes: Option<&VirtualLanes>,
) -> bool {
    let laned = tables.network().in_lanes(lanes.map_or(1, VirtualLanes::count));
    let unicasts =
        lanes.map_or_else(|| UnicastWaits::by_channel(tables), |lanes| UnicastWaits::in_lanes(tables, lanes));
    let mut union = unicasts.dependencies(&laned);
    union.add_worms(|worms| (0..groups.groups().len()).for_each(|group| groups.add(worms, group, how, lanes)));
    let union = if how == GroupBranching::Ibdmchk { union.reached_by_hosts(&unicasts) } else { union };
    union.deadlock(1).is_some()
}

#[test]
fn verdicts_on_multicast_tables_agree_with_ibdmchk() {
    let Some((programs, fabrics)) = setting() else { return };
    let verdicts = on_each(2000..2000 + fabrics, |seed| {
        let fabric = random_fabric(seed);
        let simulated = Simulated::start(&programs, &fabric);
        // Loops of unicasts alone would say little of multicasts: most fabrics are routed without.
        let dump = if seed % 4 == 0 {
            simulated.route("minhop", &[])
        } else {
            let guid = fabric.router_guid(RouterId::new(seed as u32 % fabric.routers() as u32)).unwrap();
            fs::write(simulated.path().join("roots"), format!("{guid:#x}\n")).unwrap();
            simulated.route("updn", &["-a", "roots"])
        };
        let tables = parse_lfts(&fabric, "dump", &dump).unwrap();
        let text = random_trees(&fabric, &mut Random(seed), |group| group % 2 == 0);
        fs::write(simulated.path().join("opensm.mcfdbs"), &text).unwrap();
        let groups = parse_multicast_tables(&fabric, "opensm.mcfdbs", &text).unwrap();
        let deadlock = |how| can_deadlock_together(&tables, &groups, how, None);
        let verdict = simulated.ibdmchk(&["-M"]);
        assert_eq!(deadlock(GroupBranching::Ibdmchk), verdict, "fabric {seed}: {text}");
        (verdict, deadlock(GroupBranching::Packets))
    });
    let count = |counts: fn(&(bool, bool)) -> bool| verdicts.iter().filter(|&verdicts| counts(verdicts)).count();
    let (without, with) = (count(|&(verdict, _)| !verdict), count(|&(verdict, _)| verdict));
    let by_packets = count(|(verdict, packets)| packets != verdict);
    eprintln!(
        "{fabrics} fabrics with groups: {without} without credit loops, {with} with; what packets do differs in {by_packets}"
    );
    assert!(without > 0 && with > 0);
}

/// The case to know by heart: a ring of six, up*/down* rooted at S0, and one tree over the ring without one link.
#[test]
fn the_six_trees_of_a_ring_come_out_as_known() {
    let Some((programs, _)) = setting() else { return };
    let ring = "ring:6".parse::<wormcast_network::TopologySpec>().unwrap().build().unwrap();
    let ring = FileFormat::Fabric.parse("ring", &NetworkIbsim(&ring).to_string()).unwrap();
    let simulated = Simulated::start(&programs, &ring);
    fs::write(simulated.path().join("roots"), format!("{:#x}\n", ring.router_guid(RouterId::new(0)).unwrap())).unwrap();
    let tables = parse_lfts(&ring, "dump", &simulated.route("updn", &["-a", "roots"])).unwrap();
    assert!(!simulated.has_credit_loops() && !can_deadlock(&tables));
    let mut loops = Vec::new();
    for without in 0..6 {
        let mut text = String::new();
        for router in ring.router_ids() {
            let kept = ring.outputs(router).filter(|&channel| {
                let ends = [ring.from(channel).raw(), ring.to(channel).raw()];
                ends != [without, (without + 1) % 6] && ends != [(without + 1) % 6, without]
            });
            let nodes = ring.nodes_of(router).filter_map(|node| ring.node_port(node));
            let mut ports: Vec<u32> = kept.filter_map(|channel| ring.port_of(channel)).chain(nodes).collect();
            ports.sort_unstable();
            let ports: Vec<String> = ports.iter().map(|port| format!("{port:#05x} ")).collect();
            let guid = ring.router_guid(router).unwrap();
            let ports = ports.join(" ");
            writeln!(text, "\nSwitch {guid:#018x}\nLID    : Out Port(s)\n0xC001 : {ports}").unwrap();
        }
        fs::write(simulated.path().join("opensm.mcfdbs"), &text).unwrap();
        let groups = parse_multicast_tables(&ring, "opensm.mcfdbs", &text).unwrap();
        assert!(groups.reports(None)[0].connected && groups.groups()[0].members().len() == 6);
        let verdict = simulated.ibdmchk(&["-M"]);
        for how in GroupBranching::ALL {
            let is_lockstep = how == GroupBranching::Lockstep;
            assert!(can_deadlock_together(&tables, &groups, how, None) == verdict || is_lockstep, "{without}: {how:?}");
        }
        loops.push(verdict);
    }
    // Without S0-S1, S1-S2, S2-S3, S3-S4, S4-S5, S5-S0.
    assert_eq!(loops, [true, true, false, false, true, true]);
}

#[test]
fn verdicts_lane_by_lane_agree_with_ibdmchk() {
    let Some((programs, fabrics)) = setting() else { return };
    let verdicts = on_each(3000..3000 + fabrics, |seed| {
        let fabric = random_fabric(seed);
        let simulated = Simulated::start(&programs, &fabric);
        let tables = parse_lfts(&fabric, "dump", &simulated.route("minhop", &[])).unwrap();
        let mut random = Random(seed);
        // Of a group whose members are all at one switch, nothing may be left.
        let text = std::iter::repeat_with(|| random_trees(&fabric, &mut random, |group| group % 2 == 0))
            .find(|text| !text.is_empty())
            .unwrap();
        fs::write(simulated.path().join("opensm.mcfdbs"), &text).unwrap();
        let groups = parse_multicast_tables(&fabric, "opensm.mcfdbs", &text).unwrap();
        let count = 2 + random.below(4);
        let levels = random_levels(&fabric, &tables, count, &mut random);
        let maps = random_maps(&fabric, count, seed % 3 == 0, &mut random);
        let mut lanes = VirtualLanes::new(&fabric).unwrap().with_levels(&tables, "levels", &levels).unwrap();
        fs::write(simulated.path().join("levels"), &levels).unwrap();
        let mut options = vec!["-M", "-c", "levels"];
        // Without tables of lanes, each level is a lane of its own.
        if seed % 4 != 0 {
            fs::write(simulated.path().join("maps"), &maps).unwrap();
            lanes = lanes.with_maps("maps", &maps).unwrap();
            options.extend(["-d", "maps"]);
        }
        let verdict = simulated.ibdmchk(&options);
        let deadlock = |how, lanes| can_deadlock_together(&tables, &groups, how, lanes);
        assert_eq!(deadlock(GroupBranching::Ibdmchk, Some(&lanes)), verdict, "fabric {seed}");
        let on_one_lane = deadlock(GroupBranching::Ibdmchk, None);
        [verdict, on_one_lane, deadlock(GroupBranching::Packets, Some(&lanes))]
    });
    let count = |counts: fn(&[bool; 3]) -> bool| verdicts.iter().filter(|&verdicts| counts(verdicts)).count();
    let (without, with) = (count(|&[verdict, ..]| !verdict), count(|&[verdict, ..]| verdict));
    let on_one_lane = count(|[verdict, one_lane, _]| one_lane != verdict);
    let by_packets = count(|[verdict, _, packets]| packets != verdict);
    eprintln!(
        "{fabrics} fabrics with lanes: {without} without credit loops, {with} with; one lane for all differs in {on_one_lane}, what packets do in \
         {by_packets}"
    );
    assert!(without > 0 && with > 0 && (on_one_lane > 0 || fabrics < 10));
}

#[test]
fn our_trees_are_those_of_opensm() {
    let Some((programs, fabrics)) = setting() else { return };
    // How many trees, whether they come out without the matrix, and whether they can deadlock with up*/down*.
    let found = on_each(4000..4000 + fabrics, |seed| {
        let fabric = random_fabric(seed);
        let simulated = Simulated::start(&programs, &fabric);
        let guid = fabric.router_guid(RouterId::new(seed as u32 % fabric.routers() as u32)).unwrap();
        fs::write(simulated.path().join("roots"), format!("{guid:#x}\n")).unwrap();
        let engine = if seed % 3 == 0 { "minhop" } else { "updn" };
        let _opensm = simulated.serve(engine, if engine == "updn" { &["-a", "roots"] } else { &[] });
        let members = join_groups(&simulated, &fabric, &mut Random(seed));
        if members.is_empty() {
            return (0, false, false);
        }
        let tables = parse_lfts(&fabric, "dump", &simulated.read("opensm-lfts.dump")).unwrap();
        let joined = MulticastTables::empty(&fabric).with_members(&tables, "groups", &members).unwrap();
        let matrix = parse_hop_matrix(&fabric, "matrix", &simulated.read("opensm-lid-matrix.dump")).unwrap();
        let built = joined.clone().with_trees(&matrix);
        let expected = NetworkMcfdbs::new(&built).unwrap().to_string();
        expect_trees(&simulated, &expected, &format!("fabric {seed}, {engine}, {members}"));
        assert!(built.reports(None).iter().all(|group| group.connected && group.doubled.is_empty()), "fabric {seed}");
        // Without the matrix, from the tables: what OpenSM may have had.
        let guessed = joined.with_trees(&HopMatrix::of_tables(&tables).unwrap());
        let same = NetworkMcfdbs::new(&guessed).unwrap().to_string() == expected;
        assert!(same || engine == "updn", "fabric {seed}");
        let deadlock = can_deadlock_together(&tables, &built, GroupBranching::Packets, None);
        (built.groups().len(), same, engine == "updn" && deadlock)
    });
    let groups_built: usize = found.iter().map(|&(groups, ..)| groups).sum();
    let by_tables = found.iter().filter(|&&(_, same, _)| same).count();
    let loops = found.iter().filter(|&&(.., deadlock)| deadlock).count();
    eprintln!(
        "{groups_built} trees on {fabrics} fabrics; without the matrix they are the same on {by_tables}; with updn {loops} fabrics can deadlock"
    );
    assert!(groups_built > 0);
}

/// Groups of at least one host, without the switches among their members.
fn without_switches(members: &str, fabric: &Network) -> String {
    let is_host = |name: &&str| fabric.router_ids().all(|router| fabric.router_name(router) != Some(*name));
    let lines = members.lines().filter_map(|line| line.split_once(": "));
    let hosts = lines.map(|(mlid, all)| (mlid, all.split(';').filter(is_host).collect::<Vec<_>>()));
    let some = hosts.filter(|(_, hosts)| !hosts.is_empty());
    some.map(|(mlid, hosts)| format!("{mlid}: {}", hosts.join(";"))).collect::<Vec<_>>().join("\n")
}

/// These tables as people write them by hand: without addresses, and to hosts alone.
fn by_hand(tables: &ForwardingTables) -> ForwardingTables {
    let mut text = String::new();
    for line in TablesText(tables).to_string().lines() {
        match line.split_once(" address ") {
            Some((target, _)) if target.starts_with("router ") => {}
            Some((host, rest)) => writeln!(text, "{host} {}", rest.split_once(' ').unwrap().1).unwrap(),
            None => writeln!(text, "{line}").unwrap(),
        }
    }
    let tables = parse_tables(tables.network(), "hosts", &text).unwrap();
    let is_by_hand = |to: &Destination| matches!(to, Destination { target: Target::Node(_), address: None });
    assert!(tables.destinations().iter().all(is_by_hand));
    tables
}

#[test]
fn repaired_tables_are_loaded_and_have_no_loop() {
    let Some((programs, fabrics)) = setting() else { return };
    let repairs = on_each(5000..5000 + fabrics, |seed| {
        let fabric = random_fabric(seed);
        let simulated = Simulated::start(&programs, &fabric);
        let guid = fabric.router_guid(RouterId::new(seed as u32 % fabric.routers() as u32)).unwrap();
        fs::write(simulated.path().join("roots"), format!("{guid:#x}\n")).unwrap();
        let engine = if seed % 4 == 0 { "minhop" } else { "updn" };
        let opensm = simulated.serve(engine, if engine == "updn" { &["-a", "roots"] } else { &[] });
        let mut members = join_groups(&simulated, &fabric, &mut Random(seed));
        let is_by_hand = seed % 3 == 0;
        if is_by_hand {
            // Tables to hosts alone have no way for answers to switches that join.
            members = without_switches(&members, &fabric);
        }
        if members.is_empty() {
            return None;
        }
        drop(opensm);
        let dumped = parse_lfts(&fabric, "dump", &simulated.read("opensm-lfts.dump")).unwrap();
        let tables = if is_by_hand { by_hand(&dumped) } else { dumped };
        let joined = MulticastTables::empty(&fabric).with_members(&tables, "groups", &members).unwrap();
        // Every second fabric: any trees, not those of OpenSM.
        let matrix = parse_hop_matrix(&fabric, "matrix", &simulated.read("opensm-lid-matrix.dump")).unwrap();
        let built = if seed % 2 == 0 {
            joined.with_trees(&matrix)
        } else {
            let trees = HopMatrix::of_shortest_paths(&fabric).unwrap();
            joined.with_trees(&trees)
        };
        let repaired = repair(&tables, &built, None, 1).unwrap();
        assert_eq!(repaired.changed == Changed::Unicasts, repaired.changed_entries > 0, "fabric {seed}");
        let report = analyse_tables(&repaired.tables);
        assert_eq!((report.undelivered_pairs, report.loop_count), (0, 0), "fabric {seed}");
        assert!(!can_deadlock_together(&repaired.tables, &repaired.multicasts, GroupBranching::Packets, None));
        assert!(repaired.multicasts.reports(None).iter().all(|group| group.connected && group.doubled.is_empty()));

        // OpenSM takes both, builds these trees, and ibdmchk finds no loop. The matrix is about addresses, so they stay, or are those of the tables.
        let addresses = simulated.read("guid2lid");
        drop(simulated);
        let simulated = Simulated::start(&programs, &fabric);
        let chosen = NetworkLfts::new(&repaired.tables).unwrap().guid2lid().unwrap();
        assert_eq!(chosen.is_some(), is_by_hand, "fabric {seed}");
        fs::write(simulated.path().join("guid2lid"), chosen.unwrap_or(addresses)).unwrap();
        fs::write(simulated.path().join("tables"), NetworkLfts::new(&repaired.tables).unwrap().to_string()).unwrap();
        let mut options = vec!["-U", "tables"];
        let matrix = repaired.matrix.as_ref().unwrap_or(&matrix);
        if repaired.matrix.is_some() || seed % 2 == 0 {
            fs::write(simulated.path().join("hops"), matrix.text(&tables).unwrap()).unwrap();
            options.extend(["-M", "hops"]);
        }
        let _opensm = simulated.serve("file", &options);
        rejoin(&simulated, &members, 0);
        if options.len() > 2 {
            let expected = NetworkMcfdbs::new(&repaired.multicasts).unwrap().to_string();
            expect_trees(&simulated, &expected, &format!("fabric {seed}, {engine}, {:?}", repaired.changed));
            assert!(!simulated.ibdmchk(&["-M"]), "fabric {seed}");
        }
        assert!(!simulated.has_credit_loops(), "fabric {seed}");
        Some(repaired.changed.name())
    });
    let mut changed: BTreeMap<&str, u32> = BTreeMap::new();
    for what in repairs.into_iter().flatten() {
        *changed.entry(what).or_default() += 1;
    }
    eprintln!("{fabrics} fabrics: {changed:?}");
    assert!(changed.len() > 1);
}

#[test]
fn opensm_loads_our_tables_unchanged() {
    let Some((programs, fabrics)) = setting() else { return };
    on_each(1000..1000 + fabrics / 3, |seed| {
        let fabric = random_fabric(seed);
        let name = if seed % 2 == 0 { "up-down" } else { "turn-prohibition" };
        let relation = routing_by_name(name, &fabric, &RoutingOptions::default()).unwrap();
        let tables = choose_tables(relation.as_ref(), true).unwrap().tables;
        let simulated = Simulated::start(&programs, &fabric);
        let text = NetworkLfts::new(&tables).unwrap().to_string();
        fs::write(simulated.path().join("tables"), &text).unwrap();
        let dump = simulated.route("file", &["-U", "tables"]);
        let loaded = parse_lfts(&fabric, "dump", &dump).unwrap();
        assert_eq!(loaded.entries(), tables.entries(), "fabric {seed}");
        for (place, destination) in tables.destinations().iter().enumerate() {
            let there = loaded.addresses_of(destination.target).next().expect("the destination has an address");
            assert!(tables.entries_for(place).eq(loaded.entries_for(there)), "fabric {seed}: {destination:?}");
        }
        assert!(!simulated.has_credit_loops() && !can_deadlock(&loaded), "fabric {seed}");
    });
}
