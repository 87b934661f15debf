//! Any text as what is beside the unicast tables of a fabric: multicast tables, groups, service levels, lanes, and a matrix of hops. What is understood can
//! be analysed, and multicast tables are written and read again.
#![no_main]

use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use wormcast_network::{FileFormat, Network};
use wormcast_routing::{
    ForwardingTables, GroupBranching, MulticastTables, NetworkLfts, NetworkMcfdbs, RoutingOptions, UnicastWaits,
    VirtualLanes, choose_tables, parse_hop_matrix, parse_lfts, parse_multicast_tables, repair, routing_by_name,
};

/// A ring of three switches with a double link, and an adapter with two ports.
const FABRIC: &str = "\
Switch 8 \"a\"
[1] \"b\"[1]
[2] \"b\"[2]
[3] \"c\"[1]
[4] \"H\"[1]
Switch 8 \"b\"
[3] \"c\"[2]
[4] \"H\"[2]
Switch 8 \"c\"
[4] \"I\"[1]
Hca 2 \"H\"
Hca 1 \"I\"
";

fn fabric() -> (Arc<Network>, ForwardingTables) {
    let network = FileFormat::Fabric.parse("fabric", FABRIC).expect("a fabric");
    let relation = routing_by_name("up-down", &network, &RoutingOptions::default()).expect("a routing");
    let tables = choose_tables(relation.as_ref(), true).expect("tables").tables;
    let text = NetworkLfts::new(&tables).expect("few destinations").to_string();
    (network.clone(), parse_lfts(&network, "x", &text).expect("what was written is read"))
}

fn check(network: &Arc<Network>, tables: &ForwardingTables, groups: &MulticastTables, lanes: Option<&VirtualLanes>) {
    let _ = groups.reports(lanes);
    let laned = network.in_lanes(lanes.map_or(1, VirtualLanes::count));
    let unicasts =
        lanes.map_or_else(|| UnicastWaits::by_channel(tables), |lanes| UnicastWaits::in_lanes(tables, lanes));
    for branching in GroupBranching::ALL {
        let mut union = unicasts.dependencies(&laned);
        union.add_worms(|worms| (0..groups.groups().len()).for_each(|group| groups.add(worms, group, branching, lanes)));
        let _ = union.deadlock(1);
    }
    if let Ok(repaired) = repair(tables, groups, lanes, 2) {
        assert!(!repaired.numbering().is_empty());
    }
}

fuzz_target!(|text: &str| {
    static FABRIC: OnceLock<(Arc<Network>, ForwardingTables)> = OnceLock::new();
    let (network, tables) = FABRIC.get_or_init(fabric);
    if let Ok(groups) = parse_multicast_tables(network, "x", text) {
        check(network, tables, &groups, None);
        let written = NetworkMcfdbs::new(&groups).expect("few groups").to_string();
        if !written.is_empty() {
            parse_multicast_tables(network, "x", &written).expect("what was written is read");
        }
    }
    let none = MulticastTables::empty(network);
    if let Ok(groups) = none.clone().with_members(tables, "x", text) {
        check(network, tables, &groups, None);
    }
    if let Ok(matrix) = parse_hop_matrix(network, "x", text) {
        let members = none.clone().with_members(tables, "x", "0xc001: H[1];H[2];I").expect("three members");
        check(network, tables, &members.with_trees(&matrix), None);
    }
    let lanes = || VirtualLanes::new(network).expect("a fabric");
    for lanes in [lanes().with_levels(tables, "x", text), lanes().with_maps("x", text)].into_iter().flatten() {
        check(network, tables, &none, Some(&lanes));
    }
});
