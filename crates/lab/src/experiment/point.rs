//! One configuration: a point of a sweep, or an experiment without one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use wormcast_multicast::{AlgorithmOptions, Draw, Refused, Request};
use wormcast_simulation::{EngineChoice, Length, Switching, Timing, Traffic};

use crate::experiment::file::FaultSettings;
use crate::runs::kind::RunTable;
use crate::runs::scenarios::drawn_with;
use crate::runs::seed::replication_seed;

/// Everything that the results of a point depend on, as plain data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PointSpec {
    /// The network: `mesh:16x16`, or the path of a file as the experiment file gives it.
    pub topology: String,
    /// The multicast algorithm.
    pub algorithm: String,
    /// The [revision](wormcast_multicast::Descriptor::new) of an algorithm that is not part of the workbench; `None` for those
    /// that are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm_revision: Option<u32>,
    /// The routing, if one is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<String>,
    /// The root of up*/down*, if one is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The experiment's seed: that of a single run, and the root of the replications' seeds.
    pub seed: u64,
    /// The engine asked for.
    pub engine: EngineChoice,
    /// Links that have failed.
    #[serde(default, skip_serializing_if = "FaultSettings::is_empty")]
    pub faults: FaultSettings,
    /// The algorithm's own options.
    #[serde(default, skip_serializing_if = "AlgorithmOptions::is_empty")]
    pub options: AlgorithmOptions,
    /// How routers and nodes switch flits.
    pub switching: Switching,
    /// How long things take.
    pub timing: Timing,
    /// Which messages are generated.
    pub traffic: Traffic,
    /// When a run ends and what of it is measured.
    pub run: RunTable,
    /// SHA-256 of the files that settings name, by setting, so that a changed file is another point.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

impl PointSpec {
    /// The request for its algorithm, with the names looked up, in a replication with this seed.
    ///
    /// # Errors
    /// If there is no algorithm or no routing of that name.
    pub fn request(&self, seed: u64) -> Result<Request, Refused> {
        let request = Request::new(&self.algorithm, self.routing.as_deref())?;
        let (root, faults, options) = (self.root.clone(), self.faults.request(), self.options.clone());
        Ok(Request {
            root,
            seed: self.seed,
            faults,
            options,
            tree_seed: self.draws_trees_anew().then_some(seed),
            ..request
        })
    }

    /// Whether each replication has a graph of its own, drawn at random.
    pub fn draws_graphs_anew(&self) -> bool {
        drawn_with(&self.topology, 0).is_some()
    }

    /// The seed of what is looked at before a sweep: that of the first replication where each has a graph of its own, else the point's.
    pub fn seed_of_check(&self) -> u64 {
        if self.draws_graphs_anew() { replication_seed(self.seed, 0) } else { self.seed }
    }

    /// Whether each replication draws trees of its own.
    pub(crate) fn draws_trees_anew(&self) -> bool {
        self.options.draw == Some(Draw::Replication)
    }

    /// Cycles that a node needs for a message at least: a startup, the flits of the longest, and the overhead of receiving it.
    pub(crate) fn node_cycles(&self) -> u64 {
        let longest = |length: Length| length.flits(length.range().most, self.switching.flit_bytes());
        let flits = self.traffic.length.map_or(0, longest);
        u64::from(self.timing.startup) + u64::from(flits) + u64::from(self.timing.receive_overhead)
    }

    /// The description's SHA-256 as 64 hexadecimal digits: the point's name in stores and tables. It is that of the description as
    /// JSON without spaces and with keys in order.
    pub fn config_hash(&self) -> String {
        // Plain data with text keys: there is nothing that JSON could refuse.
        sha256(canonical(&serde_json::to_value(self).unwrap_or_default()).as_bytes())
    }
}

/// A point of a sweep.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Its position in the sweep, from 0.
    pub index: usize,
    /// The swept settings and their values here, first key first; empty for a single configuration.
    pub coordinates: Vec<Coordinate>,
    /// What is simulated.
    pub spec: PointSpec,
    /// The position of each coordinate's value on its axis.
    pub(crate) choice: Vec<usize>,
    /// How often the window that `spec` says was doubled.
    pub(crate) doubled: u32,
}

impl Point {
    /// The value of a swept setting here.
    pub fn coordinate(&self, key: &str) -> Option<&Coordinate> {
        self.coordinates.iter().find(|coordinate| coordinate.key == key)
    }

    /// How often the window of its runs was doubled; see [`lengthened`](Self::lengthened).
    pub fn doubled(&self) -> u32 {
        self.doubled
    }

    /// The point with a window of so many messages, which the one of its description is when doubled so often: sweeps
    /// lengthen windows where means depend on them. A process that computes a part of a sweep is told both.
    #[must_use]
    pub fn lengthened(mut self, doubled: u32, messages: Option<u64>) -> Self {
        self.doubled = doubled;
        self.spec.run.messages = messages;
        self
    }

    /// The coordinates for people: `algorithm=dual-path traffic.arrivals.rate=0.004`.
    pub fn label(&self) -> String {
        let parts: Vec<String> = self.coordinates.iter().map(|c| format!("{}={}", c.key, c.text())).collect();
        parts.join(" ")
    }
}

/// A swept setting and its value.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Coordinate {
    /// The setting's dotted path.
    pub key: String,
    /// Its value.
    pub value: Json,
}

impl Coordinate {
    /// The value as text, without quotes around strings.
    pub fn text(&self) -> String {
        plain_text(&self.value)
    }

    /// The value in a legend, where words speak for themselves, and numbers do not: `central-buffer`, `destinations 6`.
    pub(crate) fn tag(&self) -> String {
        let name = self.key.rsplit('.').next().unwrap_or(&self.key);
        if self.value.is_string() { self.text() } else { format!("{name} {}", self.text()) }
    }
}

/// A value as text, without quotes around strings.
pub(crate) fn plain_text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Hexadecimal SHA-256.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// JSON without spaces, keys in order whatever the map type.
fn canonical(value: &Json) -> String {
    match value {
        Json::Object(map) => {
            let sorted: BTreeMap<&String, &Json> = map.iter().collect();
            let entries: Vec<String> = sorted
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Json::from(key.as_str()), canonical(value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Json::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_json_is_sorted_and_dense() {
        let value: Json = serde_json::from_str(r#"{"b": [1.0, {"z": null, "a": "\""}], "a": 1e-3}"#).unwrap();
        assert_eq!(canonical(&value), r#"{"a":0.001,"b":[1.0,{"a":"\"","z":null}]}"#);
    }

    #[test]
    fn sha256_is_that_of_the_standard() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
