//! Times the parts of the verdict on a fabric: `cargo bench -p wormcast-analysis --bench fabric -- FOLDER` reads `fabric.net`, `opensm.fdbs` and
//! `opensm.mcfdbs` in the folder, as `benches/fabric-scale` makes them, and prints JSON. Times are seconds of the processor, on Linux.

use wormcast_analysis::{Fabric, Settings, of_fabric};
use wormcast_network::FileFormat;
use wormcast_routing::{GroupBranching, UnicastWaits, read_multicast_tables, read_tables};

/// Seconds of the processor that this program has taken, to a hundredth.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let Some(folder) = folder else {
        eprintln!("expected a folder that `benches/fabric-scale` made");
        return;
    };
    let path = |name: &str| format!("{folder}/{name}");
    let start = processor();
    let text = std::fs::read_to_string(path("fabric.net")).expect("fabric.net");
    let network = FileFormat::Fabric.parse("fabric", &text).expect("a fabric");
    let tables = read_tables(&network, &path("opensm.fdbs")).expect("unicast tables");
    let multicasts = read_multicast_tables(&network, &path("opensm.mcfdbs")).expect("multicast tables");
    let reading = processor() - start;
    let start = processor();
    let beside = Some((&multicasts, GroupBranching::Packets));
    let fabric = Fabric { name: "opensm.fdbs", tables: &tables, multicasts: beside, lanes: None };
    let report = of_fabric(&fabric, &Settings::default()).expect("a report");
    let check = processor() - start;
    // What is followed: an edge of the tables for each entry, and one for each hop of each group.
    let hops: usize = (0..multicasts.groups().len()).map(|group| multicasts.hops(group, None).len()).sum();
    let dependencies = UnicastWaits::by_channel(&tables).pairs().count();
    println!(
        "{{\"reading\": {reading}, \"check\": {check}, \"entries\": {}, \"hops\": {hops}, \"dependencies\": {dependencies}, \
         \"edges\": {}, \"deadlock_free\": {}}}",
        tables.entries(),
        tables.entries() + hops,
        report.deadlock_free
    );
}
