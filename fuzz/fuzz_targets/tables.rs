//! Any text as forwarding tables, in both forms: what is understood can be analysed, written and read again.
#![no_main]

use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use wormcast_network::{FileFormat, Network};
use wormcast_routing::{
    Dependencies, ForwardingTables, NetworkLfts, TablesText, analyse_tables, parse_lfts, parse_tables,
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

fn check(network: &Arc<Network>, tables: &ForwardingTables) {
    let report = analyse_tables(tables);
    assert!(report.undelivered_pairs <= report.pairs);
    let _ = Dependencies::of_tables(tables).deadlock(1);
    let text = TablesText(tables).to_string();
    let again = parse_tables(network, "x", &text).expect("what was written is read");
    assert_eq!(again.entries(), tables.entries());
    let lfts = NetworkLfts::new(tables).expect("few destinations").to_string();
    parse_lfts(network, "x", &lfts).expect("what was written is read");
}

fuzz_target!(|text: &str| {
    static NETWORK: OnceLock<Arc<Network>> = OnceLock::new();
    let network = NETWORK.get_or_init(|| FileFormat::Fabric.parse("fabric", FABRIC).expect("a fabric"));
    for tables in [parse_lfts(network, "x", text), parse_tables(network, "x", text)].into_iter().flatten() {
        check(network, &tables);
    }
});
