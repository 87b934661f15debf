//! Any text as a topology's specification: what is understood is understood again from its own text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wormcast_network::TopologySpec;

fuzz_target!(|text: &str| {
    if let Ok(spec) = text.parse::<TopologySpec>()
        && !matches!(spec, TopologySpec::File(_))
    {
        assert_eq!(spec.to_string().parse::<TopologySpec>().expect("its own text"), spec);
    }
});
