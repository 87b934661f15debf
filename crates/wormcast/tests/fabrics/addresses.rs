//! Ports with several addresses: `OpenSM` takes levels by port, so a repair gives all addresses of one the same.

use std::fs;

use serde_json::Value;
use wormcast::network::{FileFormat, NetworkIbsim};
use wormcast::routing::{
    GroupBranching, MulticastTables, RoutingRelation, Target, VirtualLanes, parse_lfts, parse_multicast_tables,
};

use crate::case::Case;
use crate::simulated::{Random, Simulated, expect_trees, join_groups, rejoin, setting};
use crate::{levels_text, run_wormcast};

#[test]
fn addresses_of_a_port_have_one_level_which_is_what_opensm_gives_them() {
    let Some((programs, _)) = setting() else { return };
    let read = |text: &str| FileFormat::Fabric.parse("fabric", text).unwrap();
    // Simulated switches have 36 ports.
    let fabric = read(&NetworkIbsim(&read(include_str!("../../../../examples/fabric.net"))).to_string());
    let simulated = Simulated::start(&programs, &fabric);
    let opensm = simulated.serve("minhop", &["-l", "1"]);
    let members = join_groups(&simulated, &fabric, &mut Random(1));
    let tables = parse_lfts(&fabric, "opensm-lfts.dump", &simulated.read("opensm-lfts.dump")).unwrap();
    let hosts = fabric.node_ids().map(|node| tables.addresses_of(Target::Node(node)).len());
    assert!(hosts.into_iter().all(|addresses| addresses == 2));
    drop(opensm);
    fs::write(simulated.path().join("groups"), &members).unwrap();
    let mut arguments = vec!["routing", "--topology", "fabric.net", "--tables", "opensm-lfts.dump", "--format", "json"];
    arguments.extend(["--multicast-trees", "opensm", "--lid-matrix", "opensm-lid-matrix.dump", "--groups", "groups"]);
    arguments.extend(["--lanes", "2", "--repair", "mended"]);
    let repair = &run_wormcast(simulated.path(), &arguments)["repair"];
    assert_eq!((&repair["changed"], &repair["deadlock_free"]), (&Value::from("unicast-lanes"), &Value::from(true)));
    assert!(repair["moved_pairs"].as_u64().unwrap() > 0);

    let mended = |name: &str| simulated.read(&format!("mended/{name}"));
    let other = Simulated::start(&programs, &fabric);
    fs::write(other.path().join("guid2lid"), simulated.read("guid2lid")).unwrap();
    for name in ["lfts", "lid-matrix", "qos-policy.conf"] {
        fs::write(other.path().join(name), mended(name)).unwrap();
    }
    let configuration = other.read("opensm.conf") + &mended("opensm.conf");
    fs::write(other.path().join("opensm.conf"), configuration).unwrap();
    let _opensm = other.serve("file", &["-l", "1", "-U", "lfts", "-M", "lid-matrix", "-Y", "qos-policy.conf"]);
    rejoin(&other, &mended("groups"), 0);
    expect_trees(&other, &mended("opensm.mcfdbs"), "several addresses");
    // The subnet administration says of all paths what the repair does.
    let alone = VirtualLanes::new(&fabric).unwrap();
    let given = alone.clone().with_levels(&tables, "lanes", &mended("lanes")).unwrap();
    let said = levels_text(&fabric, &tables, &other);
    let own = alone.with_levels(&tables, "said", &said).unwrap();
    for node in fabric.node_ids() {
        for address in tables.destinations().iter().filter_map(|destination| destination.address) {
            let levels = [&given, &own].map(|lanes| lanes.level(node, address).unwrap_or(0));
            assert_eq!(levels[0], levels[1], "{node} to {address}");
        }
    }
    let own = own.with_maps("opensm-sl2vl.dump", &other.read("opensm-sl2vl.dump")).unwrap();
    let loaded = parse_lfts(&fabric, "opensm-lfts.dump", &other.read("opensm-lfts.dump")).unwrap();
    let built = parse_multicast_tables(&fabric, "opensm.mcfdbs", &other.read("opensm.mcfdbs")).unwrap();
    let case = Case { tables: &loaded, groups: &built, lanes: Some(&own) };
    assert!(!case.can_deadlock(GroupBranching::Packets));
    let before = MulticastTables::empty(tables.network());
    assert!(Case { tables: &tables, groups: &before, lanes: None }.can_deadlock(GroupBranching::Packets));
}
