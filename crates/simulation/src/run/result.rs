//! The results of a run. Times are in cycles unless a name says otherwise.

use serde::{Deserialize, Serialize};

use crate::run::quantiles::Quantiles;

/// The result of a simulated run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RunResult {
    /// The seed of the run's random choices.
    pub seed: u64,
    /// The engine that ran: `flit`, `worm` or `switch`.
    pub engine: String,
    /// Cycles simulated.
    pub cycles: u64,
    /// Cycles before the measured window: all of them if the run ended before it. A finite run has no warm-up.
    pub warmup: u64,
    /// Messages by outcome.
    pub messages: Messages,
    /// Deliveries of a message to a destination, measured or not.
    pub deliveries: u64,
    /// Deliveries of a message to a node that had it already, or had not asked for it.
    pub duplicates: u64,
    /// Deliveries to nodes that only forward the message, where worms meet a failed link.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub forwarded: u64,
    /// Latencies of the measured messages.
    pub latency: Latency,
    /// Data flits that measured messages asked to be delivered, per node per cycle: messages x destinations x length. The
    /// "effective applied load".
    pub offered_load: f64,
    /// Data flits of the messages generated, per node per cycle: messages x length.
    pub injected_load: f64,
    /// Data flits of messages that were completed, per node per cycle, each counted once: what the network accepts.
    pub accepted_load: f64,
    /// Data flits delivered per node per cycle.
    pub delivered_load: f64,
    /// Whether deliveries fell behind what messages asked for during the measured window; then means say little.
    pub saturated: bool,
    /// Whether the run was given up at `max_cycles`. It then counts as saturated, unless that was within the window of a steady run and deliveries
    /// kept up until then: that window is only shorter than asked for.
    #[serde(default, skip_serializing_if = "is_false")]
    pub given_up: bool,
    /// Whether the mean latency depends on the length of the window: batches of its messages rise or fall, or are correlated. `None`
    /// where a run cannot tell: in other than steady runs, or with fewer than 40 messages.
    #[serde(default)]
    pub trend: Option<bool>,
    /// Messages generated and completed within the measured window: what `saturated` was decided on.
    pub window: Window,
    /// How links were used within the measured window.
    pub links: LinkUse,
    /// What the buffers held within the measured window; of buffered switches only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffers: Option<BufferUse>,
    /// Flits that crossed channels between routers, in the whole run.
    pub flit_hops: u64,
    /// The deadlock that ended the run.
    pub deadlock: Option<Deadlock>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(said: &bool) -> bool {
    !said
}

/// Messages by outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Messages {
    /// Generated in the whole run.
    pub generated: u64,
    /// Delivered to all of their destinations.
    pub delivered: u64,
    /// Generated and not delivered when the run ended.
    pub in_flight: u64,
    /// Counted in the latencies.
    pub measured: u64,
}

/// Latencies from generation on, over the measured messages.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// To the last destination: definition (a).
    pub last: Distribution,
    /// The mean over destinations: definition (b).
    pub mean: Distribution,
    /// Quantiles of the latency to the last destination, which can be combined with those of other runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantiles: Option<Quantiles>,
    /// Means of the parts of the latency to the last destination.
    pub parts: Parts,
    /// The mean latency to the last destination in each of 20 successive batches of the measured window; empty where `trend` is `None`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<f64>,
    /// Latencies of messages to one destination, where others are measured too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unicast: Option<Box<KindLatency>>,
    /// Latencies of messages to several destinations, where others are measured too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multicast: Option<Box<KindLatency>>,
}

/// Latencies of one kind of messages.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct KindLatency {
    /// Messages measured.
    pub measured: u64,
    /// To the last destination.
    pub last: Distribution,
    /// The mean over destinations.
    pub mean: Distribution,
}

/// What the buffers of buffered switches held, in flits of one switch, from samples.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct BufferUse {
    /// The mean over switches and time.
    pub mean: f64,
    /// The most in any switch at any sample.
    pub most: u64,
    /// The mean as a share of what a switch can hold, averaged over switches.
    pub share: f64,
}

/// A summary of measured values; `None` without any.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Distribution {
    /// The mean, in cycles.
    pub mean: Option<f64>,
    /// The mean, in nanoseconds.
    pub mean_ns: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// The 95th percentile.
    pub p95: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
}

/// The parts of a latency, those of the worm that delivers last and of the worms that triggered it.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Parts {
    /// Waiting for the processor, or in per-port mode for an injection channel.
    pub queueing: f64,
    /// Startups, and receive overheads of triggers.
    pub startup: f64,
    /// What the worm would take in an empty network.
    pub network: f64,
    /// The rest: waiting for channels; in serial mode, for an injection channel too.
    pub blocking: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn no_wait(wait: &f64) -> bool {
    *wait <= 0.0
}

/// The measured window: from the first measured message's generation until the last's.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Window {
    /// Its first cycle.
    pub from: u64,
    /// The cycle after its last.
    pub to: u64,
    /// Messages generated in it.
    pub generated: u64,
    /// Messages that were delivered to their last destination in it.
    pub completed: u64,
    /// Deliveries that the messages generated in it ask for.
    #[serde(default)]
    pub offered: u64,
    /// Deliveries made in it, of whatever message.
    #[serde(default)]
    pub delivered: u64,
    /// The cycles that a message generated in it waits at its source for worms of its own that go before its last one, on average over the deliveries that messages ask for: also in an
    /// empty network, in which it takes these beside the startup and network parts of its latency.
    #[serde(default, skip_serializing_if = "no_wait")]
    pub own_wait: f64,
}

/// Shares of the measured window, over the channels between routers.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LinkUse {
    /// The mean share of cycles in which a flit crossed.
    pub busy: f64,
    /// The share of cycles in which a flit crossed the busiest channel.
    pub busiest: f64,
    /// The mean share of cycles in which a worm held the channel.
    pub held: f64,
    /// The mean share of cycles in which a worm held the channel and nothing crossed.
    pub blocked: f64,
}

/// A deadlock, with one cycle of worms that wait for each other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Deadlock {
    /// The cycle in which it was found.
    pub at: u64,
    /// How many worms are dead.
    pub dead: usize,
    /// A cycle of worms: each waits for what the next one holds, or is before it in the queue for, and the last for the first.
    pub cycle: Vec<DeadWorm>,
}

/// A member of a deadlock.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DeadWorm {
    /// The worm's id.
    pub worm: u64,
    /// Its message's id.
    pub message: u64,
    /// The router where its header waits.
    pub header_at: u32,
    /// The router as users write it: coordinates in meshes and tori, elsewhere its name or its number.
    #[serde(default)]
    pub router: String,
    /// What it holds, as users write it: `0,1 -> 0,2`, with ports where they have numbers, or `injection 4,3[0]` or
    /// `consumption 4,3[1]` with which of the node's channels it is.
    pub holds: Vec<String>,
    /// What it waits for, in the same form; `consumption 4,3` is any of the node's channels.
    pub waits_for: Vec<String>,
}
