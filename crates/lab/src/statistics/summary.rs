//! Summaries of the replications of each point.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use wormcast_simulation::{Deadlock, Parts, RunResult};

use crate::experiment::point::{Coordinate, Point};
use crate::runs::kind::Kind;
use crate::runs::replication::Replication;
use crate::runs::stopping::{Backlog, Outcome, Windows, backlog, is_steady};
use crate::runs::sweep::PointRuns;
use crate::runs::window::{needed, needed_for_loads, window_of};
use crate::statistics::quantity::Quantity;
use crate::statistics::{Estimate, mean};

/// The results of a point. Times are in cycles; loads in data flits per node per cycle.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PointSummary {
    /// The point's name in the store.
    pub config_hash: String,
    /// The swept settings and their values here.
    pub coordinates: Vec<Coordinate>,
    /// How the point ended.
    pub outcome: Outcome,
    /// Replications that the figures are means of.
    pub replications: u32,
    /// Messages measured in each of them: more than the experiment asks for where the mean would depend on the window otherwise. 0
    /// without steady runs.
    pub window: u64,
    /// Whether the mean still depends on the length of the window.
    pub trend: bool,
    /// Whether the window of a saturated point is too short for the loads it shows: shorter than twenty times what a node needs for a
    /// message.
    #[serde(default)]
    pub short: bool,
    /// Messages a run that it would take at least, if either is so.
    pub needed: Option<u64>,
    /// The share of the messages of finite runs that were still in flight when these ended, and were not measured. They are the slow ones.
    #[serde(default)]
    pub unmeasured: f64,
    /// Replications that were given up at `run.max_cycles`.
    pub given_up: usize,
    /// Nanoseconds a cycle.
    pub cycle_ns: f64,
    /// What its runs measured, by their kind.
    pub figures: Figures,
    /// The mean latency to the last destination minus that of the first series at the same point, over replications with the same
    /// random numbers.
    pub difference: Option<Estimate>,
    /// The first replication that deadlocked, and how.
    pub deadlock: Option<(u32, Deadlock)>,
}

/// How many of some points lack replications, in words; `None` if none does.
pub fn incomplete_points(summaries: &[PointSummary]) -> Option<String> {
    let incomplete = summaries.iter().filter(|summary| summary.outcome == Outcome::Incomplete).count();
    let are = if incomplete == 1 { "is" } else { "are" };
    (incomplete > 0).then(|| format!("{incomplete} of {} points {are} not complete", summaries.len()))
}

/// The mark of values without an interval, on plots and in tables.
pub(crate) const NO_INTERVAL: &str = "?";

/// How many points have no interval of a quantity, and how many have a value, if that has to be said: of single runs nobody expects one.
pub(crate) fn without_interval(summaries: &[PointSummary], quantity: Quantity) -> Option<(usize, usize)> {
    let estimates: Vec<Estimate> = summaries.iter().filter_map(|summary| summary.quantity(quantity)).collect();
    let bare = estimates.iter().filter(|estimate| estimate.interval().is_none()).count();
    let told = bare > 0 && (bare < estimates.len() || quantity.is_percentile());
    told.then_some((bare, estimates.len()))
}

/// What the runs of a point measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Figures {
    /// Simulations.
    Simulated {
        /// Latencies; `None` if the point is saturated or deadlocked, or has no results.
        latency: Option<Box<LatencySummary>>,
        /// Loads; `None` if the point is deadlocked or has no results.
        load: Option<Box<LoadSummary>>,
    },
    /// What the messages' plans cost; `None` without results.
    Planned(Option<Box<PlanCostSummary>>),
    /// What sets of spanning trees are like; `None` without results.
    Trees(Option<Box<TreeSummary>>),
}

/// Latencies of a point, in cycles.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LatencySummary {
    /// To the last destination.
    pub last: Estimate,
    /// The mean over destinations.
    pub mean: Option<Estimate>,
    /// The median to the last destination; as all percentiles, that of the messages of all replications.
    pub p50: Option<Estimate>,
    /// The 95th percentile.
    pub p95: Option<Estimate>,
    /// The 99th percentile.
    pub p99: Option<Estimate>,
    /// What the latency to the last destination consists of.
    pub parts: Parts,
    /// Latency of messages to one destination, where there are others too.
    pub unicast: Option<Estimate>,
    /// Latency of messages to several destinations, to the last of them, where there are others too.
    pub multicast: Option<Estimate>,
}

/// Loads of a point, in data flits per node per cycle, and what they make of the links.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LoadSummary {
    /// What messages ask to be delivered: the effective applied load.
    pub offered: Estimate,
    /// What messages bring, each counted once.
    pub injected: Estimate,
    /// What completed messages brought, each counted once.
    pub accepted: Estimate,
    /// What is delivered.
    pub delivered: Estimate,
    /// The mean share of cycles in which a link is busy.
    pub link_busy: Estimate,
    /// The share of cycles in which the busiest link is busy.
    pub link_busiest: Estimate,
    /// The mean share of the buffers of buffered switches that is taken.
    pub buffers: Option<Estimate>,
}

/// What the messages of a point cost apart from time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlanCostSummary {
    /// Steps of a message's plan.
    pub steps: Estimate,
    /// Worms that the busiest node sends in a run.
    pub startups: Estimate,
    /// Worms that a node sends in a run, averaged over nodes.
    pub mean_startups: Estimate,
    /// Channels that a message's worms take.
    pub channels: Estimate,
    /// The share of plans that are not contention-free.
    pub contention: Estimate,
    /// The share of turns that the routing prohibits, if it is one over permitted turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prohibited: Option<Estimate>,
}

/// What the sets of edge-disjoint spanning trees of a point are like.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TreeSummary {
    /// The routers along the first dimension of the network.
    pub side: Estimate,
    /// The combined diameter of a set of trees: the largest distance of two routers, each in the tree where it is shorter.
    pub diameter: Estimate,
    /// The smallest combined diameter of the sets of a run.
    pub least_diameter: Estimate,
    /// The largest combined diameter of the sets of a run.
    pub largest_diameter: Estimate,
    /// The average distance of two routers, each in the tree where it is shorter.
    pub average_distance: Estimate,
    /// Links in none of the trees of a set.
    pub unused: Estimate,
    /// The share of sets whose trees span the network and have no link in common.
    pub disjoint: Estimate,
    /// The share of sets whose trees are all binary.
    pub binary: Estimate,
}

impl PointSummary {
    /// Whether messages pile up.
    pub fn saturated(&self) -> bool {
        self.outcome == Outcome::Saturated
    }

    /// Whether what it shows of a quantity depends on the length of the runs.
    pub(crate) fn is_reserved(&self, quantity: Quantity) -> bool {
        if quantity.is_latency() { self.trend || self.unmeasured > 0.0 } else { self.short }
    }

    /// The value of a swept setting here.
    pub fn coordinate(&self, key: &str) -> Option<&Coordinate> {
        self.coordinates.iter().find(|coordinate| coordinate.key == key)
    }

    /// What its runs did.
    pub fn kind(&self) -> Kind {
        match self.figures {
            Figures::Simulated { .. } => Kind::Simulated,
            Figures::Planned(_) => Kind::Planned,
            Figures::Trees(_) => Kind::Trees,
        }
    }

    /// Latencies, where there are any.
    pub fn latency(&self) -> Option<&LatencySummary> {
        match &self.figures {
            Figures::Simulated { latency, .. } => latency.as_deref(),
            _ => None,
        }
    }

    /// Loads, where there are any.
    pub fn load(&self) -> Option<&LoadSummary> {
        match &self.figures {
            Figures::Simulated { load, .. } => load.as_deref(),
            _ => None,
        }
    }

    /// What plans cost, of runs that only plan.
    pub fn plan(&self) -> Option<&PlanCostSummary> {
        match &self.figures {
            Figures::Planned(plan) => plan.as_deref(),
            _ => None,
        }
    }

    /// What sets of trees are like, of runs that build them.
    pub fn trees(&self) -> Option<&TreeSummary> {
        match &self.figures {
            Figures::Trees(trees) => trees.as_deref(),
            _ => None,
        }
    }

    /// A measured quantity. Times are in cycles.
    pub fn quantity(&self, quantity: Quantity) -> Option<Estimate> {
        let (latency, load, plan, trees) = (self.latency(), self.load(), self.plan(), self.trees());
        match quantity {
            Quantity::LatencyLast => latency.map(|l| l.last),
            Quantity::LatencyMean => latency.and_then(|l| l.mean),
            Quantity::LatencyP50 => latency.and_then(|l| l.p50),
            Quantity::LatencyP95 => latency.and_then(|l| l.p95),
            Quantity::LatencyP99 => latency.and_then(|l| l.p99),
            Quantity::LatencyUnicast => latency.and_then(|l| l.unicast),
            Quantity::LatencyMulticast => latency.and_then(|l| l.multicast),
            Quantity::OfferedLoad => load.map(|l| l.offered),
            Quantity::AcceptedLoad => load.map(|l| l.accepted),
            Quantity::DeliveredLoad => load.map(|l| l.delivered),
            Quantity::LinkUtilisation => load.map(|l| l.link_busy),
            Quantity::BufferOccupancy => load.and_then(|l| l.buffers),
            Quantity::PlanSteps => plan.map(|p| p.steps),
            Quantity::PlanStartups => plan.map(|p| p.startups),
            Quantity::PlanMeanStartups => plan.map(|p| p.mean_startups),
            Quantity::PlanChannels => plan.map(|p| p.channels),
            Quantity::PlanContention => plan.map(|p| p.contention),
            Quantity::PlanProhibited => plan.and_then(|p| p.prohibited),
            Quantity::TreesSide => trees.map(|t| t.side),
            Quantity::TreesDiameter => trees.map(|t| t.diameter),
            Quantity::TreesLeastDiameter => trees.map(|t| t.least_diameter),
            Quantity::TreesLargestDiameter => trees.map(|t| t.largest_diameter),
            Quantity::TreesAverageDistance => trees.map(|t| t.average_distance),
            Quantity::TreesUnused => trees.map(|t| t.unused),
            Quantity::TreesDisjoint => trees.map(|t| t.disjoint),
            Quantity::TreesBinary => trees.map(|t| t.binary),
        }
    }
}

/// Summarises the points of a sweep, with intervals of this confidence. `series` is the swept setting whose first value the others
/// are compared with.
pub fn summarise(points: &[Point], runs: &[PointRuns], confidence: f64, series: Option<&str>) -> Vec<PointSummary> {
    // Points that differ in the series alone are compared: the first of them has its first value.
    let mut references: HashMap<Vec<(String, String)>, usize> = HashMap::new();
    let mut summaries = Vec::with_capacity(points.len());
    for (index, (point, of_point)) in points.iter().zip(runs).enumerate() {
        let mut summary = summary_of(point, of_point, confidence);
        if let Some(series) = series.filter(|series| point.coordinate(series).is_some()) {
            let others = point.coordinates.iter().filter(|coordinate| coordinate.key != series);
            let key = others.map(|coordinate| (coordinate.key.clone(), coordinate.text())).collect();
            let reference = *references.entry(key).or_insert(index);
            let comparable = |at: usize| !matches!(runs[at].outcome, Outcome::Saturated | Outcome::Deadlocked);
            if reference != index && comparable(index) && comparable(reference) {
                summary.difference = difference(&of_point.runs, &runs[reference].runs, confidence);
            }
        }
        summaries.push(summary);
    }
    summaries
}

/// The paired difference over the replications that both have.
fn difference(runs: &[Replication], reference: &[Replication], confidence: f64) -> Option<Estimate> {
    let last = |run| Quantity::LatencyLast.of(run);
    let pairs = runs.iter().zip(reference).filter_map(|(a, b)| Some((last(a)?, last(b)?)));
    let (values, reference): (Vec<f64>, Vec<f64>) = pairs.unzip();
    Estimate::of_differences(&values, &reference, confidence)
}

fn summary_of(point: &Point, of_point: &PointRuns, confidence: f64) -> PointSummary {
    let runs = &of_point.runs;
    let deadlock = runs.iter().zip(0u32..).find_map(|(run, replication)| Some((replication, run.deadlock().cloned()?)));
    // Of a point that is not complete, what is there says whether a mean would mean anything.
    let piled_up =
        of_point.outcome == Outcome::Incomplete && backlog(runs, Windows::first(&point.spec)) == Backlog::Grows;
    let hidden = piled_up || matches!(of_point.outcome, Outcome::Saturated | Outcome::Deadlocked);
    let judged = of_point.outcome == Outcome::Saturated && is_steady(&point.spec);
    let long_enough = judged.then(|| needed_for_loads(runs, point.spec.node_cycles())).flatten();
    PointSummary {
        config_hash: point.spec.config_hash(),
        coordinates: point.coordinates.clone(),
        outcome: of_point.outcome,
        replications: runs.len() as u32,
        window: if is_steady(&point.spec) { window_of(runs).unwrap_or(0) } else { 0 },
        trend: of_point.outcome == Outcome::Unsettled,
        short: long_enough.is_some(),
        needed: long_enough.or_else(|| needed(runs).filter(|_| of_point.outcome == Outcome::Unsettled)),
        unmeasured: if hidden || is_steady(&point.spec) { 0.0 } else { unmeasured(runs) },
        given_up: runs.iter().filter_map(Replication::simulated).filter(|run| run.given_up).count(),
        cycle_ns: point.spec.timing.cycle_ns,
        figures: match point.spec.kind() {
            Kind::Simulated => Figures::Simulated {
                latency: if hidden { None } else { latency_of(runs, confidence).map(Box::new) },
                load: if deadlock.is_some() { None } else { load_of(runs, confidence).map(Box::new) },
            },
            Kind::Planned => Figures::Planned(plan_of(runs, confidence).map(Box::new)),
            Kind::Trees => Figures::Trees(trees_of(runs, confidence).map(Box::new)),
        },
        difference: None,
        deadlock,
    }
}

/// The share of messages that were generated and not measured.
fn unmeasured(runs: &[Replication]) -> f64 {
    let messages = runs.iter().filter_map(Replication::simulated).map(|run| run.messages);
    let (generated, measured) =
        messages.fold((0, 0), |(generated, measured), of| (generated + of.generated, measured + of.measured));
    generated.saturating_sub(measured) as f64 / generated.max(1) as f64
}

fn latency_of(runs: &[Replication], confidence: f64) -> Option<LatencySummary> {
    let estimate = |quantity: Quantity| quantity.estimate(runs, confidence);
    let part = |value: fn(&Parts) -> f64| {
        let latencies = runs.iter().filter_map(Replication::simulated).map(|run| &run.latency);
        let measured = latencies.filter(|latency| latency.last.mean.is_some());
        mean(&measured.map(|latency| value(&latency.parts)).collect::<Vec<f64>>()).unwrap_or_default()
    };
    Some(LatencySummary {
        last: estimate(Quantity::LatencyLast)?,
        mean: estimate(Quantity::LatencyMean),
        p50: estimate(Quantity::LatencyP50),
        p95: estimate(Quantity::LatencyP95),
        p99: estimate(Quantity::LatencyP99),
        unicast: estimate(Quantity::LatencyUnicast),
        multicast: estimate(Quantity::LatencyMulticast),
        parts: Parts {
            queueing: part(|parts| parts.queueing),
            startup: part(|parts| parts.startup),
            network: part(|parts| parts.network),
            blocking: part(|parts| parts.blocking),
        },
    })
}

fn plan_of(runs: &[Replication], confidence: f64) -> Option<PlanCostSummary> {
    let estimate = |quantity: Quantity| quantity.estimate(runs, confidence);
    Some(PlanCostSummary {
        steps: estimate(Quantity::PlanSteps)?,
        startups: estimate(Quantity::PlanStartups)?,
        mean_startups: estimate(Quantity::PlanMeanStartups)?,
        channels: estimate(Quantity::PlanChannels)?,
        contention: estimate(Quantity::PlanContention)?,
        prohibited: estimate(Quantity::PlanProhibited),
    })
}

fn trees_of(runs: &[Replication], confidence: f64) -> Option<TreeSummary> {
    let estimate = |quantity: Quantity| quantity.estimate(runs, confidence);
    Some(TreeSummary {
        side: estimate(Quantity::TreesSide)?,
        diameter: estimate(Quantity::TreesDiameter)?,
        least_diameter: estimate(Quantity::TreesLeastDiameter)?,
        largest_diameter: estimate(Quantity::TreesLargestDiameter)?,
        average_distance: estimate(Quantity::TreesAverageDistance)?,
        unused: estimate(Quantity::TreesUnused)?,
        disjoint: estimate(Quantity::TreesDisjoint)?,
        binary: estimate(Quantity::TreesBinary)?,
    })
}

fn load_of(runs: &[Replication], confidence: f64) -> Option<LoadSummary> {
    // A window within one cycle has no loads.
    let lasts = |run: &&RunResult| run.window.to > run.window.from;
    let runs: Vec<&RunResult> = runs.iter().filter_map(Replication::simulated).filter(lasts).collect();
    let value = |value: fn(&RunResult) -> f64| {
        Estimate::of(&runs.iter().map(|run| value(run)).collect::<Vec<f64>>(), confidence)
    };
    let buffers: Vec<f64> = runs.iter().filter_map(|run| run.buffers).map(|buffers| buffers.share).collect();
    Some(LoadSummary {
        offered: value(|run| run.offered_load)?,
        injected: value(|run| run.injected_load)?,
        accepted: value(|run| run.accepted_load)?,
        delivered: value(|run| run.delivered_load)?,
        link_busy: value(|run| run.links.busy)?,
        link_busiest: value(|run| run.links.busiest)?,
        buffers: Estimate::of(&buffers, confidence),
    })
}
