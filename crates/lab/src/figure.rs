//! The figure: what a plot shows of a sweep.

use serde::{Deserialize, Serialize};

use crate::experiment::file::TimeUnit;
use crate::statistics::quantity::Quantity;

/// What a plot shows of a sweep.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// The title; may be empty.
    pub title: String,
    /// What runs along the horizontal axis: a swept setting's dotted path, or the name of a measured load.
    pub x: String,
    /// The swept setting that varies along a curve.
    pub along: Option<String>,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
    /// What is plotted.
    pub y: Quantity,
    /// The swept setting that makes one curve of each value.
    pub series: Option<String>,
    /// The unit of latencies.
    pub unit: TimeUnit,
    /// The confidence of the intervals.
    pub confidence: f64,
}

/// The unit of a setting's numbers, or of a measured load's; `None` for numbers without one.
///
/// ```
/// assert_eq!(wormcast_lab::setting_unit("traffic.arrivals.rate"), Some("messages per node per µs"));
/// assert_eq!(wormcast_lab::setting_unit("traffic.multicast.destinations"), None);
/// ```
pub fn setting_unit(key: &str) -> Option<&'static str> {
    match key {
        "traffic.arrivals.rate" => Some("messages per node per µs"),
        "traffic.arrivals.load" | "offered_load" | "accepted_load" | "delivered_load" => {
            Some("flits per node per cycle")
        }
        "traffic.length" => Some("data flits"),
        "switching.buffer" => Some("flits"),
        "timing.startup" | "timing.routing_delay" | "traffic.arrivals.interval" => Some("cycles"),
        "timing.cycle_ns" => Some("ns"),
        _ => None,
    }
}

impl Figure {
    /// The horizontal axis in words, with its unit.
    pub(crate) fn x_label(&self) -> String {
        let label = match self.x.as_str() {
            "algorithm" => "Algorithm",
            "routing" => "Routing",
            "switching.model" => "Switches",
            "traffic.arrivals.rate" => "Arrival rate",
            "traffic.arrivals.load" => "Effective applied load",
            "traffic.arrivals.sources" => "Source nodes",
            // Its unit is in its name.
            "traffic.arrivals.interval" => return "Cycles between bursts".to_owned(),
            "traffic.length" => "Message length",
            "traffic.multicast.destinations" => "Destinations per message",
            "traffic.multicast.fraction" => "Share of multicasts",
            "topology.random.degree" | "topology.regular.degree" | "topology.small-world.degree" => "Average degree",
            "topology.random.nodes"
            | "topology.regular.nodes"
            | "topology.small-world.nodes"
            | "topology.tree.nodes" => "Nodes",
            "switching.buffer" => "Buffer depth",
            "switching.virtual_channels" => "Virtual channels",
            "switching.selection" => "Selection",
            "switching.injection_ports" => "Injection ports",
            "switching.consumption_ports" => "Consumption ports",
            "timing.startup" => "Startup",
            "timing.routing_delay" => "Routing delay",
            other => return Quantity::named(other).map_or_else(|| other.to_owned(), |load| self.label(load)),
        };
        match setting_unit(&self.x) {
            Some(unit) => format!("{label} ({unit})"),
            None => label.to_owned(),
        }
    }

    /// The vertical axis in words, with its unit.
    pub(crate) fn y_label(&self) -> String {
        self.label(self.y)
    }

    /// What tells its file from those of the other plots of an experiment: nothing if it is the only one of `figures`.
    pub fn file_suffix(&self, figures: &[Self]) -> String {
        if figures.len() > 1 { format!("-{}", self.y.name().replace(['.', '_'], "-")) } else { String::new() }
    }

    /// The vertical axis of differences from something, in words, with its unit.
    pub(crate) fn difference_label(&self, from: &str) -> String {
        let (_, unit) = self.words(self.y);
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        format!("Difference from {from}{unit}")
    }

    fn label(&self, quantity: Quantity) -> String {
        let (words, unit) = self.words(quantity);
        if unit.is_empty() { words.to_owned() } else { format!("{words} ({unit})") }
    }

    /// A quantity in words, and its unit, if it has one.
    pub(crate) fn words(&self, quantity: Quantity) -> (&'static str, &'static str) {
        const LOAD: &str = "flits per node per cycle";
        let unit = match self.unit {
            TimeUnit::Microseconds => "µs",
            TimeUnit::Cycles => "cycles",
        };
        match quantity {
            Quantity::LatencyLast => ("Latency to the last destination", unit),
            Quantity::LatencyMean => ("Mean latency over destinations", unit),
            Quantity::LatencyP50 => ("Median latency to the last destination", unit),
            Quantity::LatencyP95 => ("95th percentile of latency to the last destination", unit),
            Quantity::LatencyP99 => ("99th percentile of latency to the last destination", unit),
            Quantity::LatencyUnicast => ("Latency of unicasts", unit),
            Quantity::LatencyMulticast => ("Latency of multicasts to the last destination", unit),
            Quantity::OfferedLoad => ("Offered load", LOAD),
            Quantity::AcceptedLoad => ("Accepted load", LOAD),
            Quantity::DeliveredLoad => ("Delivered load", LOAD),
            Quantity::LinkUtilisation => ("Mean link utilisation", ""),
            Quantity::BufferOccupancy => ("Mean share of buffers taken", ""),
            Quantity::PlanSteps => ("Steps", ""),
            Quantity::PlanStartups => ("Startups of the busiest node", ""),
            Quantity::PlanMeanStartups => ("Startups per node", ""),
            Quantity::PlanChannels => ("Channels taken by a message's worms", ""),
            Quantity::PlanContention => ("Share of plans with contention", ""),
            Quantity::PlanProhibited => ("Share of turns that are prohibited", ""),
            Quantity::TreesSide => ("Routers along a side", ""),
            Quantity::TreesDiameter => ("Combined diameter", ""),
            Quantity::TreesLeastDiameter => ("Smallest combined diameter", ""),
            Quantity::TreesLargestDiameter => ("Largest combined diameter", ""),
            Quantity::TreesAverageDistance => ("Average distance", ""),
            Quantity::TreesUnused => ("Unused links", ""),
            Quantity::TreesDisjoint => ("Share of sets that are edge-disjoint and spanning", ""),
            Quantity::TreesBinary => ("Share of sets that are binary", ""),
        }
    }
}
