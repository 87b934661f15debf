//! A fabric whose groups need a lane of their own, which then is level 0.

use std::fmt::Write;
use std::fs;

use wormcast::network::{FileFormat, NetworkBuilder, NetworkIbsim, NodeDetails, RouterId};
use wormcast::routing::{HopMatrix, MulticastTables, NetworkMcfdbs, parse_lfts};

use crate::Found;
use crate::kinds::Kind;
use crate::mend::Mend;
use crate::simulated::{Simulated, expect_trees, rejoin, setting};

/// The next switch, by switch and by the switch that is to be reached: these close no cycle, and each tree over all switches closes one with them, as the test of the
/// repair finds by trying all.
const NEXT: [[u32; 6]; 6] = [
    [0, 1, 1, 5, 5, 5],
    [0, 1, 2, 2, 2, 0],
    [1, 1, 2, 3, 4, 4],
    [4, 4, 2, 3, 2, 2],
    [2, 2, 3, 3, 4, 5],
    [0, 0, 0, 4, 4, 5],
];

#[test]
fn groups_on_a_lane_of_their_own_have_level_0() {
    let Some((programs, _)) = setting() else { return };
    let mut builder = NetworkBuilder::new("six".to_owned());
    builder.at_least(6).unwrap();
    for (a, b) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (4, 2)] {
        builder.link(RouterId::new(a), RouterId::new(b)).unwrap();
    }
    for switch in 0..6 {
        builder.node(RouterId::new(switch), NodeDetails::default()).unwrap();
    }
    let fabric = FileFormat::Fabric.parse("six", &NetworkIbsim(&builder.build().unwrap()).to_string()).unwrap();
    let simulated = Simulated::start(&programs, &fabric);
    let opensm = simulated.serve("minhop", &[]);
    let members: Vec<String> = fabric.node_ids().map(|node| fabric.node_label(node)).collect();
    let members = format!("0xc001: {}", members.join(";"));
    rejoin(&simulated, &members, 0);
    fs::write(simulated.path().join("groups"), &members).unwrap();
    let tables = parse_lfts(&fabric, "opensm-lfts.dump", &simulated.read("opensm-lfts.dump")).unwrap();
    let groups = MulticastTables::empty(&fabric).with_members(&tables, "groups", &members).unwrap();
    let groups = groups.with_trees(&HopMatrix::of_shortest_paths(&fabric).unwrap());
    expect_trees(&simulated, &NetworkMcfdbs::new(&groups).unwrap().to_string(), "minhop");
    drop(opensm);
    // OpenSM's tables with other ports: those of the next switches.
    let (mut text, mut at) = (String::new(), 0);
    for line in simulated.read("opensm-lfts.dump").lines() {
        if let Some((_, guid)) = line.split_once(" guid 0x") {
            let guid = u64::from_str_radix(guid.split(' ').next().unwrap(), 16).unwrap();
            at = fabric.router_ids().find(|&router| fabric.router_guid(router) == Some(guid)).unwrap().raw();
        }
        let name = line.split_once(": '").map_or("", |(_, name)| name.split('\'').next().unwrap());
        let to = name.get(1..).and_then(|number| number.parse::<usize>().ok());
        match (line.split_once(' '), to.filter(|&to| to != at as usize)) {
            (Some((address, rest)), Some(to)) if address.starts_with("0x") => {
                let next = RouterId::new(NEXT[at as usize][to]);
                let channel = fabric.channel_between(RouterId::new(at), next).unwrap();
                let (_, rest) = rest.split_once(' ').unwrap();
                writeln!(text, "{address} {:03} {rest}", fabric.port_of(channel).unwrap()).unwrap();
            }
            _ => writeln!(text, "{line}").unwrap(),
        }
    }
    fs::write(simulated.path().join("opensm-lfts.dump"), text).unwrap();
    let kind = Kind { family: "six", engine: "minhop", options: Vec::new(), files: Vec::new(), fabric };
    let what = "a lane of their own".to_owned();
    let mend = Mend { programs: &programs, kind: &kind, simulated: &simulated, groups: Some("groups"), what };
    let mut found = Found::default();
    mend.repair(None, Some(2), &mut found);
    // As the levels were called before, ibdmchk sees the groups on the lane of the unicasts.
    let seen = [
        "repair on lanes: lanes of groups",
        "repairs with levels loaded",
        "level 0 exchanged with another",
        "loops by ibdmchk before that",
        "repairs loaded",
    ];
    for what in seen {
        assert!(found.0.contains(&what), "{what}: {:?}", found.0);
    }
}
