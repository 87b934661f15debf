//! The settings of a run that a reader of its replay wants to know.

use serde_json::{Value, json};

use crate::config::buffer::Buffer;
use crate::config::switching::Header;
use crate::run::scenario::Scenario;

/// The settings of a run by this engine: as of [`ReplayRun`](super::ReplayRun).
///
/// `flits` is `exact` where docs/worm-engine.md says from the grants of a path worm alone when each flit crosses each channel: with one virtual channel, links of one
/// cycle, and headers that are not stripped. Otherwise it is `held`.
pub fn replay_settings(scenario: &Scenario, engine: &str, seed: u64) -> Value {
    let config = scenario.engine_config();
    let switch = scenario.switch_config();
    let fixed = match config.header {
        Header::None => Some(0),
        Header::BitString => Some(config.header_flits),
        Header::AllDestinations | Header::Tree => None,
    };
    let fixed = fixed.filter(|_| switch.is_none());
    let exact = fixed.is_some() && !config.has_streams();
    json!({
        "engine": engine,
        "seed": seed,
        "cycle_ns": scenario.cycle_ns(),
        "switching": if switch.is_some() { "buffered" } else { "wormhole" },
        "routing": scenario.algorithm().routing().name(),
        "startup": config.startup,
        "startup_mode": config.startup_mode,
        "routing_delay": config.routing_delay,
        "buffer": switch.map_or((config.buffer < Buffer::WHOLE).then_some(config.buffer), |switch| Some(switch.input_fifo)),
        "virtual_channels": config.virtual_channels,
        "header": switch.is_none().then_some(config.header),
        "header_flits": fixed,
        "replication": switch.is_none().then_some(config.replication),
        "flits": if exact { "exact" } else { "held" },
    })
}
