//! Settings that make no difference to a run.

use wormcast_multicast::worm_kinds;
use wormcast_network::ChannelId;

use crate::config::switching::{BranchReplication, SelectionPolicy};
use crate::config::{Mode, Warmup};
use crate::run::scenario::Scenario;
use crate::traffic::CheckedTraffic;

/// A setting, or a table of settings, that makes no difference to a run, whatever it says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdleSetting {
    /// The setting's path in the experiment file, such as `switching.replication`.
    pub key: &'static str,
    /// Why it makes no difference.
    pub reason: String,
}

impl Scenario {
    /// What is left out of the message trace: the first line that names its source as a destination, or a destination again, and how
    /// many more there are.
    pub fn trace_warning(&self) -> Option<&str> {
        match &self.traffic {
            CheckedTraffic::Trace(trace) => trace.warning.as_deref(),
            CheckedTraffic::Random(_) => None,
        }
    }

    /// The settings that make no difference to this run, whether they are given or not. Those that contradict others are errors of
    /// [`new`](Self::new) instead.
    pub fn idle_settings(&self) -> Vec<IdleSetting> {
        let mut idle = Vec::new();
        let mut add = |key, reason: String| idle.push(IdleSetting { key, reason });
        let all = match self.mode {
            Mode::Steady => None,
            Mode::Finite => Some("a finite run has no warm-up"),
            Mode::Drain => Some("a drained run measures all messages"),
        };
        if let (Some(reason), Warmup::Cycles(1..) | Warmup::Messages(1..)) = (all, self.run.warmup) {
            add("run.warmup", reason.to_owned());
        }
        let source = self.traffic.number();
        if let (Some(asked), Some((number, what))) = (self.run.messages, source) {
            let messages = if number == 1 { "message" } else { "messages" };
            match (self.mode, self.run.warmup) {
                (Mode::Steady, Warmup::Messages(before @ 1..)) if asked > number - before => add(
                    "run.messages",
                    format!("the {what} has {number} {messages}, {before} of them before the measured ones"),
                ),
                _ if asked > number => {
                    // A pattern may leave nodes silent.
                    let has = if what == "burst" { "has at most" } else { "has" };
                    add("run.messages", format!("the {what} {has} {number} {messages}, and a run cannot have more"));
                }
                _ => {}
            }
        }
        let name = self.algorithm.name();
        if self.switch.is_none() {
            let of_paths = || format!("`{name}` sends paths, and `lockstep` is how these deliver on their way");
            if !self.may_send_trees {
                add("switching.replication", of_paths());
                add("switching.reservation", of_paths());
            } else if self.engine.replication == BranchReplication::Lockstep {
                add("switching.reservation", "the branches of trees in lockstep are reserved all at once".to_owned());
            }
            if !self.engine.header.strips_paths() && !self.engine.header.strips_trees() {
                let reason = "only the headers `all-destinations` and `tree` have flits that are stripped";
                add("timing.strip_delay", reason.to_owned());
            }
            if !self.traffic.is_in_bytes() {
                add("switching.flit_bytes", "the lengths of messages are in flits".to_owned());
            }
        } else if self.algorithm.capabilities().switches.is_none() {
            for key in ["switching.replication", "switching.header_chunks", "switching.header_flits"] {
                add(key, format!("`{name}` sends unicasts only, which switches do not replicate"));
            }
        }
        let kinds = worm_kinds(self.algorithm.as_ref());
        if self.switch.is_none() && self.engine.selection != SelectionPolicy::First {
            if !kinds.paths {
                add("switching.selection", format!("`{name}` sends trees, whose branches leave no choice"));
            } else if !self.may_choose() {
                add("switching.selection", format!("the routing of `{name}` leaves one channel at every hop"));
            }
        }
        if self.switch.is_some() && !kinds.paths {
            let reason = format!("the worms of `{name}` to one destination have a header as those to several");
            add("switching.unicast_header_flits", reason);
        }
        if !kinds.triggered {
            let reason = format!("no worm of `{name}` waits for the delivery of another");
            add("timing.receive_overhead", reason);
        }
        if let Some((option, reason)) = self.algorithm.capabilities().idle {
            add(option.key(), reason.to_owned());
        }
        let (multicasts, hot) = self.traffic.shares();
        if !self.traffic.may_be_wide() {
            for key in ["options.multicast_tables", "options.groups", "options.multicasts"] {
                add(key, "no multicasts are sent".to_owned());
            }
        }
        if multicasts.is_some_and(|share| share >= 1.0) {
            add("traffic.unicast", "no unicasts are sent: `traffic.multicast.fraction` is 1".to_owned());
        } else if hot.is_some_and(|share| share <= 0.0) {
            add("traffic.unicast.node", "no unicasts go there: `traffic.unicast.fraction` is 0".to_owned());
        }
        if multicasts.is_some_and(|share| share <= 0.0) {
            let reason = "no multicasts are sent: `traffic.multicast.fraction` is 0".to_owned();
            add("traffic.multicast.destinations", reason.clone());
            add("traffic.multicast.sets", reason);
        }
        idle
    }

    /// Whether the routing may offer several channels to a header anywhere; assumed if finding out would take long.
    fn may_choose(&self) -> bool {
        const LIMIT: usize = 1 << 19;
        let (network, routing) = (&*self.network, self.algorithm.routing());
        if network.routers().saturating_mul(network.channels() + network.routers()) > LIMIT {
            return true;
        }
        let (spread, mut offered) = (routing.spreading(), Vec::new());
        let mut several = |at, arrived, target| {
            spread(at, arrived, target, &mut offered);
            offered.len() > 1
        };
        let channels = || (0..network.channels() as u32).map(ChannelId::new);
        network.router_ids().any(|target| {
            network.router_ids().any(|source| several(source, None, target))
                || channels().any(|channel| several(network.to(channel), Some(channel), target))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wormcast_multicast::{Options, algorithm_by_name};
    use wormcast_network::TopologySpec;

    use super::*;
    use crate::run::simulate::EngineChoice;

    /// The keys that make no difference.
    fn idle(algorithm: &str, switching: &str, traffic: &str, run: &str) -> Vec<&'static str> {
        let network = "mesh:4x4".parse::<TopologySpec>().unwrap().build().unwrap();
        let algorithm = algorithm_by_name(algorithm, &network, &Options::default()).unwrap();
        let rate = r#""arrivals": { "process": "poisson", "rate": 0.01 }"#;
        let scenario = Scenario::new(
            Arc::from(algorithm),
            &serde_json::from_str(switching).unwrap(),
            &serde_json::from_str("{}").unwrap(),
            &serde_json::from_str(&format!("{{ {rate}{traffic} }}")).unwrap(),
            &serde_json::from_str(run).unwrap(),
        );
        scenario.unwrap().idle_settings().into_iter().map(|setting| setting.key).collect()
    }

    #[test]
    fn what_makes_no_difference_depends_on_the_worms_and_the_traffic() {
        let of_paths = ["switching.replication", "switching.reservation", "timing.strip_delay", "switching.flit_bytes"];
        let multicast = r#", "multicast": { "destinations": 3 }"#;
        let plain = idle("dual-path", "{}", multicast, "{}");
        assert_eq!(plain, [&of_paths[..], &["timing.receive_overhead", "traffic.unicast"]].concat());
        let mixed = r#", "multicast": { "destinations": 3, "fraction": 0.5 }, "length": { "bytes": 9 }"#;
        let stripped = r#"{ "header": "all-destinations" }"#;
        assert_eq!(idle("u-mesh", stripped, mixed, "{}"), of_paths[..2]);
        // Trees of tree-one branch independently by default.
        let tree = r#"{ "header": "tree" }"#;
        assert_eq!(idle("tree-one", tree, mixed, "{}"), ["timing.receive_overhead"]);
        let random = r#"{ "header": "tree", "selection": "random" }"#;
        assert_eq!(idle("tree-one", random, mixed, "{}"), ["switching.selection", "timing.receive_overhead"]);
        let lockstep = r#"{ "header": "tree", "replication": "lockstep" }"#;
        assert_eq!(idle("tree-one", lockstep, mixed, "{}"), ["switching.reservation", "timing.receive_overhead"]);
        let nobody = r#", "multicast": { "destinations": 3, "fraction": 0 }, "length": { "bytes": 9 }"#;
        let of_groups = ["options.multicast_tables", "options.groups", "options.multicasts"];
        let of_nobody = [&of_groups[..], &["traffic.multicast.destinations", "traffic.multicast.sets"]].concat();
        assert_eq!(idle("u-mesh", stripped, nobody, "{}")[2..], of_nobody);
        let cold = r#", "unicast": { "pattern": "hot-spot", "node": 3, "fraction": 0 }, "length": { "bytes": 9 }"#;
        assert_eq!(idle("u-mesh", stripped, cold, "{}")[2..], [&of_groups[..], &["traffic.unicast.node"]].concat());
        let finite = r#"{ "mode": "finite", "messages": 5, "warmup": 9 }"#;
        assert_eq!(idle("u-mesh", stripped, mixed, finite), [&["run.warmup"], &of_paths[..2]].concat());
    }

    #[test]
    fn what_is_idle_selects_no_other_engine() {
        let network = "mesh:4x4".parse::<TopologySpec>().unwrap().build().unwrap();
        for (name, exact) in [("dual-path", true), ("u-mesh", true), ("xy-tree", false)] {
            let algorithm = algorithm_by_name(name, &network, &Options::default()).unwrap();
            let scenario = Scenario::new(
                Arc::from(algorithm),
                &serde_json::from_str(r#"{ "replication": "independent", "buffer": 2 }"#).unwrap(),
                &serde_json::from_str("{}").unwrap(),
                &serde_json::from_str(
                    r#"{ "arrivals": { "process": "poisson", "rate": 0.01 }, "multicast": { "destinations": 3 } }"#,
                )
                .unwrap(),
                &serde_json::from_str("{}").unwrap(),
            )
            .unwrap();
            let idle = scenario.idle_settings().iter().any(|setting| setting.key == "switching.replication");
            assert_eq!((idle, EngineChoice::Worm.check(&scenario).is_ok()), (exact, exact), "{name}");
        }
    }
}
