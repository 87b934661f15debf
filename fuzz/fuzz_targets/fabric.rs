//! Any text as a network file: what is understood can be written and read again, with as much in it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wormcast_network::{FileFormat, NetworkIbsim};

fuzz_target!(|text: &str| {
    let Ok(network) = FileFormat::Fabric.parse("x", text) else { return };
    // Router numbers up to the limit make networks that take long to write.
    if network.routers() > 4096 || FileFormat::Fabric.check_expresses(&network).is_err() {
        return;
    }
    let again = FileFormat::Fabric.parse("x", &NetworkIbsim(&network).to_string()).expect("what was written is read");
    assert_eq!(
        (again.routers(), again.nodes(), again.links()),
        (network.routers(), network.nodes(), network.links())
    );
});
