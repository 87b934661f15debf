//! Forwarding tables: read, analysed, and made for routings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use wormcast_network::{ChannelId, FileFormat, Network, NetworkIbsim, NodeId, RouterId, TopologySpec};
use wormcast_routing::{
    ChannelNumbering, Dependencies, ECube, Fault, ForwardingTables, GroupBranching, HopMatrix, MulticastTables,
    NetworkLfts, NetworkMcfdbs, NoTables, Output, RoutingOptions, RoutingRelation, TablesReport, TablesText, Target,
    UnicastWaits, VirtualLanes, analyse_tables, choose_tables, parse_fdbs, parse_hop_matrix, parse_lfts,
    parse_multicast_tables, parse_tables, read_tables, repair, routing_by_name, survey, witness_of_tables,
};

use crate::support::build;

fn routing(name: &str, network: &Arc<Network>) -> Box<dyn RoutingRelation> {
    routing_by_name(name, network, &RoutingOptions::default()).unwrap()
}

/// Public files that are too large, or not ours, to be in the repository.
fn shared(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(path);
    if !path.exists() {
        eprintln!("skipped: there is no {}", path.display());
    }
    path.exists().then_some(path)
}

/// Where a message ends, step by step: `None` if it does not arrive; else the channels.
fn walk(network: &Arc<Network>, tables: &ForwardingTables, source: NodeId, address: usize) -> Option<Vec<ChannelId>> {
    let Target::Node(destination) = tables.destinations()[address].target else { return None };
    let (mut at, mut channels) = (network.router_of(source), Vec::new());
    loop {
        match tables.output(at, address)? {
            Output::Channel(channel) if channels.len() <= network.routers() => {
                channels.push(channel);
                at = network.to(channel);
            }
            Output::Node(node) if node == destination => return Some(channels),
            _ => return None,
        }
    }
}

/// Everything that the analysis says, by walking every message's way.
fn check_report(network: &Arc<Network>, tables: &ForwardingTables, report: &TablesReport) {
    let (mut pairs, mut failing, mut ways, mut hops, mut longest) = (0, 0, 0.0, 0.0, 0);
    // By the routers of both nodes: how many ways there are, and their hops.
    let mut between: BTreeMap<(RouterId, RouterId), (usize, usize)> = BTreeMap::new();
    let mut load = vec![0.0f64; network.channels()];
    for destination in network.node_ids() {
        let addresses = tables.addresses_of(Target::Node(destination));
        // Of a pair of nodes.
        let part = 1.0 / addresses.len() as f64;
        for source in network.node_ids().filter(|&source| source != destination) {
            if addresses.is_empty() {
                (pairs, failing) = (pairs + 1, failing + 1);
            }
            for address in addresses.clone() {
                pairs += 1;
                let Some(way) = walk(network, tables, source, address) else {
                    failing += 1;
                    continue;
                };
                ways += if way.is_empty() { 0.0 } else { part };
                hops += way.len() as f64 * part;
                let ends = [source, destination].map(|node| network.router_of(node));
                if ends[0] != ends[1] {
                    let (count, total) = between.entry((ends[0], ends[1])).or_default();
                    (*count, *total) = (*count + 1, *total + way.len());
                }
                longest = longest.max(way.len() as u32);
                for channel in way {
                    load[channel.index()] += part;
                }
            }
        }
    }
    assert_eq!((report.pairs, report.undelivered_pairs), (pairs, failing));
    assert_eq!(report.undelivered.len() as u64, failing.min(1000));
    assert_eq!(report.survey.connected, failing == 0);
    if failing == 0 {
        assert_eq!(report.survey.diameter, Some(longest));
        assert!(report.survey.node_distance.map_or(ways == 0.0, |found| (found - hops / ways).abs() < 1e-9));
        let means = between.values().map(|&(count, total)| total as f64 / count as f64);
        let average = means.sum::<f64>() / between.len() as f64;
        assert!(report.survey.average_distance.map_or(ways == 0.0, |found| (found - average).abs() < 1e-9));
    }
    assert!((report.load.max - load.iter().copied().fold(0.0, f64::max)).abs() < 1e-9);
    let mean = load.iter().sum::<f64>() / load.len().max(1) as f64;
    assert!((report.load.mean - mean).abs() < 1e-9);
    for lost in &report.undelivered {
        let mut addresses = tables.addresses_of(Target::Node(lost.destination));
        assert!(addresses.is_empty() || addresses.any(|a| walk(network, tables, lost.source, a).is_none()));
    }
    for ring in &report.loops {
        assert!(!ring.channels.is_empty());
        let address = tables.addresses_of(Target::Node(ring.destination)).find(|&address| {
            ring.channels.iter().all(|&c| tables.output(network.from(c), address) == Some(Output::Channel(c)))
        });
        assert!(address.is_some());
        let after = ring.channels.iter().cycle().skip(1);
        assert!(ring.channels.iter().zip(after).all(|(&c, &next)| network.to(c) == network.from(next)));
    }
}

/// Loads and distances are of pairs of nodes, as those of relations are; messages are followed to every address.
#[test]
fn several_addresses_of_a_node_are_ways_of_one_pair() {
    let network = "ring:4".parse::<TopologySpec>().unwrap().build().unwrap();
    // To node 2 clockwise and the other way; all else clockwise.
    let text = "router 0\n0 here\n1 to 1\n2 address 4 to 1\n2 address 5 to 3\n3 to 1\n\
                router 1\n0 to 2\n1 here\n2 address 4 to 2\n2 address 5 to 0\n3 to 2\n\
                router 2\n0 to 3\n1 to 3\n2 address 4 here\n2 address 5 here\n3 to 3\n\
                router 3\n0 to 0\n1 to 0\n2 address 4 to 0\n2 address 5 to 2\n3 here\n";
    let tables = parse_tables(&network, "x", text).unwrap();
    let report = analyse_tables(&tables);
    check_report(&network, &tables, &report);
    assert_eq!((report.pairs, report.undelivered_pairs), (15, 0));
    let load = |from, to| {
        let [from, to] = [from, to].map(RouterId::new);
        report.load.by_channel[network.channel_between(from, to).unwrap().index()]
    };
    // 0 -> 1: three pairs to 1, one to 3, half of those from 3 and 0 to 2. 3 -> 2: half of all three to 2.
    for ((from, to), expected) in [((0, 1), 5.0), ((3, 2), 1.5), ((0, 3), 1.0), ((1, 0), 0.5)] {
        let found: f64 = load(from, to);
        assert!((found - expected).abs() < 1e-9, "{from} -> {to}: {found}");
    }
    // A pair that takes both steps on the way to both addresses counts once.
    let both = parse_tables(
        &network,
        "x",
        &text.replace("address 5 to 3", "address 5 to 1").replace("address 5 to 0", "address 5 to 2"),
    );
    let both = both.unwrap();
    let channels = [(0, 1), (1, 2)].map(|(from, to)| network.channel_between(RouterId::new(from), RouterId::new(to)));
    let witness = witness_of_tables(&both, (channels[0].unwrap(), channels[1].unwrap()), 9);
    assert_eq!(witness.pairs, Some(witness.examples.len() as u64));
    assert!(witness.examples.windows(2).all(|pair| pair[0] != pair[1]), "{witness:?}");
}

/// The dependencies of messages, walked.
fn check_dependencies(network: &Arc<Network>, tables: &ForwardingTables) {
    let dependencies = Dependencies::of_tables(tables);
    let mut expected = std::collections::BTreeMap::new();
    for address in 0..tables.destinations().len() {
        let Target::Node(destination) = tables.destinations()[address].target else { continue };
        for source in network.node_ids().filter(|&source| source != destination) {
            let mut at = network.router_of(source);
            let mut held = None;
            for _ in 0..=network.routers() {
                let Some(Output::Channel(channel)) = tables.output(at, address) else { break };
                if let Some(held) = held {
                    expected.entry((held, channel)).or_insert_with(Vec::new).push((source, destination));
                }
                (at, held) = (network.to(channel), Some(channel));
            }
        }
    }
    for held in network.channel_ids() {
        for next in network.outputs(network.to(held)) {
            let expected = expected.get(&(held, next));
            assert_eq!(dependencies.contains(held, next), expected.is_some());
            if let Some(expected) = expected {
                let mut expected = expected.clone();
                // Who runs in a loop passes several times.
                expected.sort_unstable();
                expected.dedup();
                let witness = witness_of_tables(tables, (held, next), 3);
                assert_eq!(witness.examples.len(), expected.len().min(3));
                assert!(witness.examples.iter().all(|pair| expected.contains(pair)));
            }
        }
    }
    let may_follow = |held, next| dependencies.contains(held, next);
    let proof = ChannelNumbering::find(network, may_follow);
    assert_eq!(proof.is_ok(), dependencies.deadlock(1).is_none());
    if let Ok(proof) = proof {
        assert_eq!(proof.check(network, may_follow), Ok(()));
    }
}

/// Tables that are found have only routes of the routing, are safe if it is, and come back from both forms unchanged.
fn check_choice(network: &Arc<Network>, name: &str, detours: bool) -> Result<(), NoTables> {
    let relation = routing(name, network);
    let chosen = choose_tables(relation.as_ref(), detours)?;
    let tables = &chosen.tables;
    let report = analyse_tables(tables);
    check_report(network, tables, &report);
    assert!(report.survey.connected);
    let mut candidates = Vec::new();
    for (address, destination) in tables.destinations().iter().enumerate() {
        let Target::Node(node) = destination.target else { continue };
        let target = network.router_of(node);
        for source in network.node_ids().filter(|&source| source != node) {
            let way = walk(network, tables, source, address).unwrap();
            let mut arrived = None;
            for channel in way {
                if let (true, Some(routing), Some(arriving)) = (detours, relation.capabilities().turns, arrived) {
                    assert!(routing.turns().permits(network, arriving, channel));
                } else if !detours {
                    relation.candidates(network.from(channel), arrived, target, &mut candidates);
                    assert!(candidates.contains(&channel), "{name} to {target}");
                }
                arrived = Some(channel);
            }
        }
    }
    if chosen.detours.is_empty() && relation.capabilities().turns.is_some() && network.has_one_node_each() {
        let shortest = survey(relation.as_ref()).average_distance.unwrap();
        let own = report.survey.average_distance.unwrap_or(0.0);
        assert!((shortest - own).abs() < 1e-9, "{name}: {own} instead of {shortest}");
    }
    if relation.capabilities().turns.is_some() {
        assert_eq!(Dependencies::of_tables(tables).deadlock(1), None);
    }
    let text = TablesText(tables).to_string();
    let again = parse_tables(network, "x", &text).unwrap();
    assert_eq!(TablesText(&again).to_string(), text);
    assert_eq!((again.entries(), again.destinations()), (tables.entries(), tables.destinations()));
    let lfts = NetworkLfts::new(tables).unwrap().to_string();
    let again = parse_lfts(network, "x", &lfts).unwrap();
    assert_eq!(NetworkLfts::new(&again).unwrap().to_string(), lfts);
    assert_eq!((again.entries(), again.unidentified()), (tables.entries(), 0));
    for (place, destination) in tables.destinations().iter().enumerate() {
        let there = again.addresses_of(destination.target).next().unwrap();
        assert!(tables.entries_for(place).eq(again.entries_for(there)));
    }
    Ok(())
}

#[test]
fn tables_of_the_routings_for_regular_networks() {
    for (spec, names) in [
        ("mesh:4x3", &["e-cube", "negative-first", "hamiltonian", "up-down", "turn-prohibition"][..]),
        ("hypercube:4", &["e-cube", "negative-first", "up-down"]),
        ("torus:4x4", &["up-down", "turn-prohibition-deterministic"]),
        ("ring:9", &["turn-prohibition"]),
        ("petersen", &["up-down-deterministic", "turn-prohibition"]),
        ("complete:6", &["up-down"]),
        ("tree:nodes=30,seed=1", &["up-down"]),
    ] {
        for name in names {
            assert_eq!(check_choice(&build(spec), name, false), Ok(()), "{name} on {spec}");
        }
    }
    // Parallel links.
    assert_eq!(check_choice(&build("torus:2x3"), "up-down", false), Ok(()));
}

/// Dimension order does not depend on where a worm came from, and on a torus it deadlocks.
#[test]
fn tables_of_a_routing_that_deadlocks() {
    let torus = build("torus:4x4");
    let chosen = choose_tables(&ECube::new(&torus).unwrap(), false).unwrap();
    check_dependencies(&torus, &chosen.tables);
    assert!(Dependencies::of_tables(&chosen.tables).deadlock(1).is_some());
}

#[test]
fn a_conflict_names_two_arrivals() {
    let network = build("random:nodes=256,degree=4,seed=1");
    for name in ["up-down", "turn-prohibition"] {
        let relation = routing(name, &network);
        let Err(NoTables::Conflict(conflict)) = choose_tables(relation.as_ref(), false) else { panic!("there is one") };
        assert!(conflict.proven);
        let mut candidates = Vec::new();
        for (arrival, outputs) in &conflict.needs {
            let wormcast_routing::Arrival::By(arriving) = *arrival else { continue };
            assert_eq!(network.to(arriving), conflict.router);
            relation.candidates(conflict.router, Some(arriving), conflict.target, &mut candidates);
            assert_eq!(&candidates, outputs);
        }
        let [(_, one), (_, other)] = &conflict.needs;
        assert!(!one.iter().any(|output| other.contains(output)));
        assert_eq!(check_choice(&network, name, true), Ok(()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn choices_are_routes(routers in 2u32..40, extra in 0u32..60, seed in 0u64..1000, detours: bool, which in 0usize..4) {
        let links = (routers - 1 + extra).min(routers * (routers - 1) / 2);
        let degree = f64::from(2 * links) / f64::from(routers);
        let network = build(&format!("random:nodes={routers},degree={degree:.6},seed={seed}"));
        let name = ["up-down", "turn-prohibition", "up-down-deterministic", "turn-prohibition-deterministic"][which];
        match check_choice(&network, name, detours) {
            Ok(()) => {}
            Err(NoTables::Conflict(_)) => prop_assert!(!detours),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
    }

    /// Tables of random outputs: with loops, missing entries and dead ends.
    #[test]
    fn broken_tables_are_seen_through(routers in 2u32..9, seed in 0u64..1000, choices in prop::collection::vec(0usize..9, 81)) {
        let degree = if routers < 4 { 1.4 } else { 2.5 };
        let spec = format!("random:nodes={routers},degree={degree},seed={seed}");
        let Ok(network) = spec.parse::<TopologySpec>().and_then(|spec| spec.build()) else { return Ok(()) };
        let mut lines: Vec<String> = Vec::new();
        for router in (0..routers).map(RouterId::new) {
            lines.push(format!("router {router}"));
            for node in 0..routers {
                let choice = choices[(router.raw() * 9 + node) as usize];
                let outputs: Vec<_> = network.outputs(router).map(|c| network.to(c)).collect();
                match choice {
                    0 => {}
                    1 => lines.push(format!("{node} port 200")),
                    2 => lines.push(format!("{node} at {router}")),
                    _ if node == router.raw() && choice < 8 => lines.push(format!("{node} here")),
                    _ => lines.push(format!("{node} to {}", outputs[choice % outputs.len()])),
                }
            }
        }
        let tables = parse_tables(&network, "x", &lines.join("\n")).unwrap();
        check_report(&network, &tables, &analyse_tables(&tables));
        check_dependencies(&network, &tables);
    }
}

/// Two switches with two cables, three hosts, one of which has two ports.
const PAIR: &str = "\
Switch 8 \"left\"
[1] \"right\"[1]
[2] \"right\"[2]
[3] \"a\"[1]
[4] \"b\"[1]
Switch 8 \"right\"
[5] \"b\"[2]
Hca 1 \"a\"
Hca 2 \"b\"
";

/// Switches with three, one, one and no hosts: routers count once, nodes as often as they are.
#[test]
fn averages_over_routers_and_over_nodes_are_two() {
    let text = "Switch 8 \"a\"\n[1] \"b\"[1]\n[2] \"H\"[1]\n[3] \"I\"[1]\n[4] \"J\"[1]\nSwitch 8 \"b\"\n[2] \"c\"[1]\n\
                Switch 8 \"c\"\n[2] \"d\"[1]\n[3] \"K\"[1]\nSwitch 8 \"d\"\n[2] \"L\"[1]\n\
                Hca 1 \"H\"\nHca 1 \"I\"\nHca 1 \"J\"\nHca 1 \"K\"\nHca 1 \"L\"\n";
    let network = FileFormat::Fabric.parse("line", text).unwrap();
    let relation = routing("up-down", &network);
    let tables = choose_tables(relation.as_ref(), false).unwrap().tables;
    let report = analyse_tables(&tables);
    check_report(&network, &tables, &report);
    // a to c and d 2 and 3, c to d 1; of pairs of nodes 3, 3 and 1.
    assert_eq!(report.survey.average_distance, Some(2.0));
    assert_eq!(report.survey.node_distance, Some((3.0 * 2.0 + 3.0 * 3.0 + 1.0) / 7.0));
    assert_eq!(survey(relation.as_ref()), report.survey);
}

#[test]
fn a_dump_is_matched_by_identifiers_and_ports() {
    let network = FileFormat::Fabric.parse("pair", PAIR).unwrap();
    let dump = "\
Unicast lids [0-5] of switch Lid 1 guid 0x0000000000200000 ('left'):
0x0001 000 # Switch portguid 0x0000000000200000: 'left'
0x0002 003 # Channel Adapter portguid 0x0000000000100001: 'a'
0x0003 004 # Channel Adapter portguid 0x0000000000100003: 'b'
0x0004 002 # Channel Adapter portguid 0x0000000000100004: 'b'
0x0009 001 # unknown node and type
5 lids dumped
Unicast lids [0-5] of switch Lid 5 guid 0x0000000000200001 ('right'):
0x0002 007 # Channel Adapter portguid 0x0000000000100001: 'a'
0x0003 255 # Channel Adapter portguid 0x0000000000100003: 'b'
0x0004 005 # Channel Adapter portguid 0x0000000000100004: 'b'
3 lids dumped
";
    let tables = parse_lfts(&network, "dump", dump).unwrap();
    assert_eq!((tables.entries(), tables.unidentified()), (6, 1));
    let report = analyse_tables(&tables);
    check_report(&network, &tables, &report);
    // b[2] reaches neither a nor b[1].
    let faults: Vec<_> = report.undelivered.iter().map(|lost| (lost.source.raw(), lost.fault)).collect();
    let right = RouterId::new(1);
    assert_eq!(faults, [(2, Fault::Nowhere(right, 7)), (2, Fault::Missing(right))]);
    assert_eq!((report.missing_count, &report.missing[..]), (1, &[(right, NodeId::new(1))][..]));
    // As `dump_lfts` prints it.
    let other = "\
Unicast lids [0x0-0x5] of switch DR path slid 0; dlid 0; 0 guid 0x0000000000200000 (left):
  Lid  Out   Destination
       Port     Info 
0x0002 003 : (Channel Adapter portguid 0x0000000000100001: 'a')
1 valid lids dumped 
";
    assert_eq!(parse_lfts(&network, "dump", other).unwrap().entries(), 1);
    // It counts entries; the largest address is what OpenSM writes.
    let lost = parse_lfts(&network, "dump", &other.replace("1 valid", "5 valid")).unwrap_err().to_string();
    assert!(lost.starts_with("dump:5: the table that begins in line 1 has 1 entry, not 5"), "{lost}");
    assert_eq!(parse_lfts(&network, "dump", &other.replace("1 valid", "5")).unwrap().entries(), 1);

    let message = |text: &str| parse_lfts(&network, "dump", text).unwrap_err().to_string();
    let whole = dump.trim_end().len();
    // In the second table, and in the first one.
    for (cut, begins) in
        [(whole - "3 lids dumped".len(), 8), (whole - 60, 8), (150, 1), (dump.find("5 lids").unwrap(), 1)]
    {
        let cut = message(&dump[..cut]);
        assert_eq!(cut.split_once(": the").map(|(place, _)| place), Some(&*format!("dump:{begins}")), "{cut}");
        assert!(cut.contains("does not end with `… lids dumped`: is the file cut?"), "{cut}");
    }
    let miscounted = message(&dump.replace("3 lids", "99 lids"));
    assert!(
        miscounted.starts_with("dump:12: the table that begins in line 8 has 3 entries, not 99: is something missing?"),
        "{miscounted}"
    );
    assert!(message(&dump.replace("3 lids", "some lids")).starts_with("dump:12: the table that begins"));
    // `OpenSM` writes the largest address, whether or not all have entries.
    assert_eq!(parse_lfts(&network, "dump", &dump.replace("3 lids", "5 lids")).unwrap().entries(), 6);
    assert!(message(&format!("{dump}3 lids dumped\n")).starts_with("dump:13: no table ends here"));
    assert!(message(&format!("{dump}0x0001 000 # x\n")).starts_with("dump:13: an entry after the end of its table"));
    assert!(message(&dump.replace("0x0002 007", "0x0002 009")).starts_with("dump:9: `right` has no port 9: it has 8;"));
    let section = "Unicast lids [0-5] of switch Lid 1 guid 0x0000000000200000 ('left'):\n";
    let with = |line: &str| message(&format!("{section}{line}\n"));
    assert!(with("0x0002 003 # Channel Adapter portguid 0x0000000000100009: 'c'").starts_with(
        "dump:2: `pair` has no port with the identifier 0x0000000000100009 (c); expected the tables that OpenSM dumps"
    ));
    assert!(with(section).starts_with("dump:2: switch 0x0000000000200000 has a table already, in line 1"));
    assert!(with("0x0002 300 # x").starts_with("dump:2: an entry needs a port from 0 to 255"));
    assert!(
        with("0xc000 003 # x")
            .starts_with("dump:2: an entry needs an address from 0x0001 to 0xbfff, and 0xc000 is that of a group")
    );
    assert!(with("lid 3").starts_with("dump:2: found `lid`"));
    assert!(with("Multicast mlids [0xc000-0xc3ff] of switch").starts_with("dump:2: found `multicast tables`"));
    let entry = "0x0002 003 # Channel Adapter portguid 0x0000000000100001: 'a'\n";
    assert!(
        with(&format!("{entry}{}2 lids dumped", entry.replace("003", "004")))
            .starts_with("dump:3: the switch has another entry")
    );
    assert!(
        with(&format!("{entry}{}", entry.replace("100001", "100003")))
            .starts_with("dump:3: the address 0x0002 is another")
    );
    assert!(message("0x0002 003").starts_with("dump:1: an entry before the first switch"));
    assert!(message("").starts_with("dump:1: there is no switch"));
    assert!(message(&section.replace("2000", "3000")).starts_with("dump:1: `pair` has no switch with the identifier"));
    let (cut, _) = section.split_once("2000").unwrap();
    assert!(message(cut).contains("; the line does not end in `:`, so the file may be cut short"), "{}", message(cut));
}

#[test]
fn own_tables_have_names_and_ports() {
    let network = FileFormat::Fabric.parse("pair", PAIR).unwrap();
    let text = "\
router \"left\"
\"a\" here
\"b[1]\" here
\"b[2]\" to \"right\" port 2
router \"right\" here
router \"right\"
\"a\" to \"left\" port 1
\"b[1]\" to \"left\" port 2
\"b[2]\" here
";
    let text = text.replace("router \"right\" here\n", "router \"left\" here\n");
    let tables = parse_tables(&network, "own", &text).unwrap();
    assert_eq!(TablesText(&tables).to_string(), text);
    assert!(analyse_tables(&tables).survey.connected);

    let message = |line: &str| {
        let text = format!("# Tables\nrouter \"left\"\n{line}\n");
        parse_tables(&network, "own", &text).unwrap_err().to_string()
    };
    assert!(message("\"c\" here").starts_with("own:3: no node is called `c`; expected `router"));
    assert!(message("\"a\" to 7").starts_with("own:3: there is no router 7; the last one is 1"));
    assert!(message("\"a\" to \"right\" port 3").starts_with("own:3: port 3 of `left` has no link to `right`"));
    assert!(message("\"a\" to \"right\" link 3").starts_with("own:3: there is no link 3 from `left` to `right`"));
    assert!(message("\"b[2]\" here").starts_with("own:3: `b[2]` is attached to `right`"));
    assert!(message("\"a\" port 9").starts_with("own:3: `left` has no port 9: it has 8;"));
    assert!(message("\"a\" address 99999999999 here").starts_with("own:3: an address is a number from 1 to 49151;"));
    assert!(message("\"a\" here there").starts_with("own:3: there is more in the line"));
    assert!(message("\"a\"").starts_with("own:3: `to`, `here`, `at` or `port` is missing"));
    assert!(message("\"a here").starts_with("own:3: a name without its closing quote"));
    assert!(
        message("\"a\" here\n\"a\" port 5").starts_with("own:4: the router has another entry for this destination")
    );
    assert!(message("\"a\" here\n\"a\" here").starts_with("own:4: the router has this entry already"));
    assert!(message("router 0").starts_with("own:3: `left` has a table already, in line 2"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn broken_files_are_explained(cuts in prop::collection::vec((0usize..2000, 0usize..40, "[ -~\n]{0,6}"), 1..4), lfts: bool) {
        let network = FileFormat::Fabric.parse("pair", PAIR).unwrap();
        let relation = routing("up-down", &network);
        let tables = choose_tables(relation.as_ref(), false).unwrap().tables;
        let mut text = if lfts {
            NetworkLfts::new(&tables).unwrap().to_string()
        } else {
            TablesText(&tables).to_string()
        };
        for (at, length, put) in cuts {
            let at = at % (text.len() + 1);
            text.replace_range(at..(at + length).min(text.len()), &put);
        }
        let parsed = if lfts { parse_lfts(&network, "x", &text) } else { parse_tables(&network, "x", &text) };
        match parsed {
            Ok(tables) => check_report(&network, &tables, &analyse_tables(&tables)),
            Err(error) => {
                let message = error.to_string();
                prop_assert!(message.starts_with("x:") && message.contains("; expected "), "{}", message);
            }
        }
    }
}

/// `OpenSM`'s up*/down* tables, which are free of credit loops, for the networks that they were made for.
#[test]
fn tables_of_opensm() {
    for name in ["k6", "mesh4x4", "torus4x4", "petersen"] {
        let Some(path) = shared(&format!("opensm/{name}.net")) else { return };
        let dump = shared(&format!("opensm/{name}_updn.lfts.dump")).unwrap();
        let network = build(path.to_str().unwrap());
        let tables = read_tables(&network, dump.to_str().unwrap()).unwrap();
        let entries = network.routers() * (network.routers() + network.nodes());
        assert_eq!((tables.entries(), tables.unidentified()), (entries, 0), "{name}");
        let report = analyse_tables(&tables);
        check_report(&network, &tables, &report);
        check_dependencies(&network, &tables);
        assert!(report.survey.connected);
        assert_eq!(Dependencies::of_tables(&tables).deadlock(1), None, "{name}");
        // As a relation, towards routers.
        assert!(survey(&tables).connected);
        assert_eq!(Dependencies::of_relation(&tables).deadlock(1), None, "{name}");
        let written = NetworkLfts::new(&tables).unwrap().to_string();
        assert_eq!(written, std::fs::read_to_string(dump).unwrap(), "{name}");
    }
}

#[test]
fn tables_of_a_production_cluster() {
    let Some(path) = shared("X5.topofile") else { return };
    let dump = shared("X5_updn.lfts.dump").unwrap();
    let network = build(path.to_str().unwrap());
    let tables = read_tables(&network, dump.to_str().unwrap()).unwrap();
    // Two switches at the top have no route to each other that goes up first and then down.
    assert_eq!((tables.entries(), tables.unidentified()), (11 * (11 + 89) - 2, 0));
    let report = analyse_tables(&tables);
    check_report(&network, &tables, &report);
    check_dependencies(&network, &tables);
    assert_eq!((report.undelivered_pairs, report.pairs), (0, 89 * 88));
    assert_eq!(Dependencies::of_tables(&tables).deadlock(1), None);
    // Its own ibsim file has the same identifiers.
    let again = FileFormat::Fabric.parse("again", &NetworkIbsim(&network).to_string()).unwrap();
    let text = std::fs::read_to_string(dump).unwrap();
    assert_eq!(parse_lfts(&again, "x", &text).unwrap().entries(), tables.entries());
    for name in ["up-down", "turn-prohibition"] {
        assert_eq!(check_choice(&network, name, true), Ok(()), "{name}");
    }
}

/// A ring of three switches with a double link, and an adapter with two ports.
const RING: &str = "Switch 8 \"a\"\n[1] \"b\"[1]\n[2] \"b\"[2]\n[3] \"c\"[1]\n[4] \"H\"[1]\nSwitch 8 \"b\"\n[3] \"c\"[2]\n[4] \"H\"[2]\n\
                    Switch 8 \"c\"\n[4] \"I\"[1]\nHca 2 \"H\"\nHca 1 \"I\"\n";

#[test]
fn errors_in_fdbs_name_file_line_and_what_is_wrong() {
    let fabric = FileFormat::Fabric.parse("fabric", RING).unwrap();
    let message = |text: &str| parse_fdbs(&fabric, "fdbs", text).unwrap_err().to_string();
    let [a, b] = [0, 1].map(|router| fabric.router_guid(RouterId::new(router)).unwrap());
    for (text, said) in [
        (String::new(), "fdbs:1: there is no switch"),
        ("0x0001 : 001  : 01   : yes".to_owned(), "fdbs:1: an entry before the first switch"),
        ("dump_ucast_routes: Switch 5".to_owned(), "fdbs:1: the switch has no identifier"),
        ("Switch 0x0bad".to_owned(), "fdbs:1: `fabric` has no switch with the identifier 0x0000000000000bad"),
        (format!("Switch {a:#018x}\nSwitch {a:#018x}"), "fdbs:2: switch"),
        (format!("Switch {a:#018x}\nhello"), "fdbs:2: found `hello`"),
        (format!("Switch {a:#018x}\n0xC001 : 001"), "fdbs:2: an entry needs an address from 0x0001 to 0xbfff"),
        (format!("Switch {a:#018x}\n0x0001 : 255  : 01   : yes"), "fdbs:2: an entry needs a port from 0 to 254"),
        (format!("Switch {a:#018x}\n0x0001 : 009  : 01   : yes"), "fdbs:2: `a` has no port 9: it has 8"),
        (
            format!("Switch {a:#018x}\n0x0001 : 000  : 00   : yes\nSwitch {b:#018x}\n0x0001 : 004  : 01   : yes"),
            "fdbs:4: the address 0x0001 leads to another device in line 2",
        ),
    ] {
        assert!(message(&text).starts_with(said), "{}", message(&text));
    }
    // An address that nobody has is left out, as one is that cannot be reached.
    let lost = format!(
        "dump_ucast_routes: Switch {a:#018x}\nLID    : Port : Hops : Optimal\n0x0001 : 001  : 01   : yes\n0x0002 : UNREACHABLE\n0x0003 : 004  : HOPS UNKNOWN\n"
    );
    let tables = parse_fdbs(&fabric, "fdbs", &lost).unwrap();
    assert_eq!((tables.entries(), tables.unidentified()), (1, 1));
}

/// Texts of what is beside unicast tables, with lines and words changed at random: they are refused or understood, and what is understood can be analysed.
#[test]
fn damaged_texts_beside_tables_are_refused_or_analysed() {
    let fabric = FileFormat::Fabric.parse("fabric", RING).unwrap();
    let relation = routing_by_name("up-down", &fabric, &RoutingOptions::default()).unwrap();
    let tables = choose_tables(relation.as_ref(), true).unwrap().tables;
    let tables = parse_lfts(&fabric, "x", &NetworkLfts::new(&tables).unwrap().to_string()).unwrap();
    let none = MulticastTables::empty(&fabric);
    let members = "0xc001: H[1];H[2];I\n0xc002: H[1];I\n";
    let groups = none.clone().with_members(&tables, "x", members).unwrap();
    let matrix = HopMatrix::of_shortest_paths(&fabric).unwrap();
    let trees = groups.clone().with_trees(&matrix);
    let (guid, switch) = (fabric.node_guid(NodeId::new(0)).unwrap(), fabric.router_guid(RouterId::new(0)).unwrap());
    let maps: String = (0..9).fold(format!("Switch {switch:#018x}, base LID 1\n"), |text, a| {
        (0..9).fold(text, |text, b| text + &format!("{a} {b} : 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"))
    });
    let texts = [
        NetworkMcfdbs::new(&trees).unwrap().to_string(),
        members.to_owned(),
        format!("{guid:#018x} 1 2\n{guid:#018x} 2 0\nChannel Adapter {guid:#018x}, base\n0x0003 : 4\n"),
        maps,
        matrix.text(&tables).unwrap(),
    ];
    let words = ["0x", "", "65536", "-1", "0xffffffffffffffffff", ":", "x", "0xC001", "255", "Switch", "ü", "\u{0}"];
    let mut state = 1u64;
    let mut below = |limit: usize| {
        state += 1;
        (wormcast_network::split_mix::mix(state) % limit as u64) as usize
    };
    let (mut understood, mut refused) = (0, 0);
    for _ in 0..4000 {
        let which = below(texts.len());
        let mut lines: Vec<Vec<&str>> = texts[which].lines().map(|line| line.split(' ').collect()).collect();
        for _ in 0..=below(2) {
            let at = below(lines.len());
            match below(4) {
                0 if lines.len() > 1 => drop(lines.remove(at)),
                1 => lines.push(lines[at].clone()),
                2 => lines[at].push(words[below(words.len())]),
                _ if !lines[at].is_empty() => {
                    let word = below(lines[at].len());
                    lines[at][word] = words[below(words.len())];
                }
                _ => {}
            }
        }
        let text = lines.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join("\n");
        let lanes = || VirtualLanes::new(&fabric).unwrap();
        let mut with = None;
        let read = match which {
            0 => parse_multicast_tables(&fabric, "x", &text),
            1 => none.clone().with_members(&tables, "x", &text),
            2 => lanes().with_levels(&tables, "x", &text).map(|read| with.insert(read)).map(|_| trees.clone()),
            3 => lanes().with_maps("x", &text).map(|read| with.insert(read)).map(|_| trees.clone()),
            _ => parse_hop_matrix(&fabric, "x", &text).map(|matrix| groups.clone().with_trees(&matrix)),
        };
        let Ok(read) = read else {
            refused += 1;
            continue;
        };
        understood += 1;
        let _ = read.reports(with.as_ref());
        let laned = fabric.in_lanes(with.as_ref().map_or(1, VirtualLanes::count));
        let unicasts = match &with {
            Some(lanes) => UnicastWaits::in_lanes(&tables, lanes),
            None => UnicastWaits::by_channel(&tables),
        };
        for how in GroupBranching::ALL {
            let mut union = unicasts.dependencies(&laned);
            union.add_worms(|worms| {
                (0..read.groups().len()).for_each(|group| read.add(worms, group, how, with.as_ref()));
            });
            let _ = union.deadlock(1);
        }
        if let Ok(repaired) = repair(&tables, &read, None, 2) {
            assert!(!repaired.numbering().is_empty());
        }
    }
    assert!(understood > 500 && refused > 500, "{understood} understood, {refused} refused");
}
