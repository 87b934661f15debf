//! `wormcast schema`.

use serde_json::Value;

use crate::wormcast;

/// The schema of a property, through references and alternatives.
fn property<'s>(root: &'s Value, schema: &'s Value, name: &str) -> Option<&'s Value> {
    if let Some(reference) = schema["$ref"].as_str() {
        return property(root, root.pointer(reference.trim_start_matches('#'))?, name);
    }
    let alternatives = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    schema["properties"].get(name).or_else(|| alternatives.into_iter().find_map(|inner| property(root, inner, name)))
}

#[test]
fn the_schema_describes_every_setting() {
    let schema: Value = serde_json::from_str(&wormcast(&["schema"]).success()).expect("valid JSON");
    assert!(schema["$schema"].as_str().is_some_and(|id| id.contains("json-schema.org")));
    for path in [
        "title",
        "topology",
        "algorithm",
        "routing",
        "seed",
        "engine",
        "switching.model",
        "switching.buffer",
        "switching.injection_ports",
        "switching.consumption_ports",
        "switching.flit_bytes",
        "switching.header",
        "timing.cycle_ns",
        "timing.preset",
        "timing.startup",
        "timing.startup_mode",
        "timing.routing_delay",
        "traffic.arrivals.process",
        "traffic.arrivals.rate",
        "traffic.length",
        "traffic.multicast.destinations",
        "traffic.multicast.fraction",
        "traffic.unicast.pattern",
        "traffic.trace",
        "run.mode",
        "run.ports",
        "run.warmup",
        "run.messages",
        "stop.confidence",
        "stop.relative_half_width",
        "stop.min_replications",
        "sweep",
        "claim",
        "plot.x",
        "plot.y",
        "plot.series",
    ] {
        let mut at = &schema;
        for name in path.split('.') {
            at = property(&schema, at, name).unwrap_or_else(|| panic!("{path} is in the schema"));
        }
        assert!(at["description"].as_str().is_some_and(|text| text.len() > 10), "{path} is explained: {at}");
    }
    assert_eq!(schema["additionalProperties"], false, "unknown settings are refused");
}
