//! A plan as JSON.

use serde::ser::{Serialize, SerializeMap, Serializer};
use wormcast_network::{ChannelId, Network, NodeId};

use crate::algorithm::Multicast;
use crate::headers::tree_header::HeaderFlit;
use crate::plan::contention::Contention;
use crate::plan::reduction::{Join, Reduction};
use crate::plan::summary::{EncodedHeader, PlanSummary, WormSummary};

/// A plan and its request, as the command `plan` prints them: as JSON, one object.
#[derive(Clone, Copy, Debug)]
pub struct PlanReport<'a> {
    /// The network.
    pub network: &'a Network,
    /// The algorithm's name.
    pub algorithm: &'a str,
    /// What was asked for.
    pub multicast: &'a Multicast,
    /// The plan's worms and figures.
    pub summary: &'a PlanSummary,
    /// Whether the plan is a minimum, for algorithms that say so.
    pub exact: Option<bool>,
    /// The bits of a flit, of which headers that encode destinations consist.
    pub flit_bits: u32,
    /// Which nodes of the list of destinations are left out.
    pub warning: Option<&'a str>,
    /// The plan in reverse, if that is asked for.
    pub reduction: Option<&'a Reduction>,
}

impl PlanReport<'_> {
    /// The bits of a flit, unless a request says otherwise: 2 bytes, as in paper 4.
    pub const FLIT_BITS: u32 = 16;

    /// The nodes that get the message only to send it on, in increasing order: those before failed links that only their neighbours know of.
    pub fn relays(&self) -> Vec<NodeId> {
        let destinations = self.multicast.destinations();
        let visits = || self.summary.worms.iter().flat_map(|worm| &worm.visits);
        // Each destination is delivered to exactly once.
        if visits().count() == destinations.len() {
            return Vec::new();
        }
        let mut wanted = destinations.to_vec();
        wanted.sort_unstable();
        let mut relays: Vec<NodeId> = visits().copied().filter(|node| wanted.binary_search(node).is_err()).collect();
        relays.sort_unstable();
        relays
    }
}

impl Serialize for PlanReport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { network, algorithm, multicast, summary, exact, flit_bits, warning, reduction } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("topology", network.name())?;
        map.serialize_entry("algorithm", algorithm)?;
        map.serialize_entry("source", &multicast.source().raw())?;
        map.serialize_entry("destinations", &Nodes(multicast.destinations()))?;
        map.serialize_entry("worms", &WormsJson(network, &summary.worms, *flit_bits, &self.relays()))?;
        map.serialize_entry("startups", &summary.startups)?;
        map.serialize_entry("steps", &summary.steps)?;
        map.serialize_entry("channels", &summary.channels)?;
        map.serialize_entry("longest", &summary.longest)?;
        map.serialize_entry("contention", &summary.contention().map(|contention| Meeting(network, contention)))?;
        if let Some(exact) = exact {
            map.serialize_entry("exact", exact)?;
        }
        if let Some(warning) = warning {
            map.serialize_entry("warning", warning)?;
        }
        if let Some(reduction) = reduction {
            map.serialize_entry("reduction", &ReductionJson(network, reduction))?;
        }
        map.end()
    }
}

struct ReductionJson<'a>(&'a Network, &'a Reduction);

impl Serialize for ReductionJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Self(network, reduction) = self;
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry("root", &reduction.root.raw())?;
        map.serialize_entry("contributors", &Nodes(&reduction.contributors))?;
        map.serialize_entry("channels", &Channels(network, &reduction.channels))?;
        map.serialize_entry("depth", &reduction.depth)?;
        let joins: Vec<JoinJson> = reduction.joins.iter().map(|join| JoinJson(network, join)).collect();
        map.serialize_entry("joins", &joins)?;
        map.end()
    }
}

struct JoinJson<'a>(&'a Network, &'a Join);

impl Serialize for JoinJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Self(network, join) = self;
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("router", &join.router.raw())?;
        map.serialize_entry("inputs", &Channels(network, &join.inputs))?;
        map.serialize_entry("nodes", &Nodes(&join.nodes))?;
        let output = join.output.map(|channel| [network.from(channel).raw(), network.to(channel).raw()]);
        map.serialize_entry("output", &output)?;
        map.end()
    }
}

struct Nodes<'a>(&'a [NodeId]);

impl Serialize for Nodes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|node| node.raw()))
    }
}

/// Worms; the bits of a flit; nodes that get the message only to send it on.
struct WormsJson<'a>(&'a Network, &'a [WormSummary], u32, &'a [NodeId]);

impl Serialize for WormsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.1.iter().map(|worm| WormJson(self.0, worm, self.2, self.3)))
    }
}

struct WormJson<'a>(&'a Network, &'a WormSummary, u32, &'a [NodeId]);

impl Serialize for WormJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Self(network, worm, flit_bits, relays) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &worm.id)?;
        map.serialize_entry("from", &worm.from.raw())?;
        map.serialize_entry("after", &worm.after)?;
        map.serialize_entry("step", &worm.step)?;
        map.serialize_entry("visits", &Nodes(&worm.visits))?;
        let absorbed: Vec<NodeId> =
            worm.visits.iter().copied().filter(|node| relays.binary_search(node).is_ok()).collect();
        if !absorbed.is_empty() {
            map.serialize_entry("absorbed", &Nodes(&absorbed))?;
        }
        map.serialize_entry("channels", &Channels(network, &worm.channels))?;
        if let Some(EncodedHeader { encoding, bits }) = worm.header {
            map.serialize_entry("encoding", encoding.name())?;
            map.serialize_entry("header_bits", &bits)?;
            map.serialize_entry("header_flits", &bits.div_ceil(flit_bits))?;
        }
        if !worm.header_flits.is_empty() {
            map.serialize_entry("header", &Header(network, &worm.header_flits))?;
        }
        map.end()
    }
}

struct Header<'a>(&'a Network, &'a [HeaderFlit]);

impl Serialize for Header<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(network, flits) = self;
        serializer.collect_seq(flits.iter().map(|&flit| Flit(network, flit)))
    }
}

struct Flit<'a>(&'a Network, HeaderFlit);

impl Serialize for Flit<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Self(network, flit) = self;
        let outputs: Vec<u32> = flit.channels(network).map(|channel| network.to(channel).raw()).collect();
        let delivers: Vec<NodeId> = flit.delivers(network).collect();
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("node", &flit.router.raw())?;
        map.serialize_entry("outputs", &outputs)?;
        map.serialize_entry("delivers", &Nodes(&delivers))?;
        map.end()
    }
}

struct Channels<'a>(&'a Network, &'a [ChannelId]);

impl Serialize for Channels<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(network, channels) = self;
        serializer.collect_seq(channels.iter().map(|&c| [network.from(c).raw(), network.to(c).raw()]))
    }
}

struct Meeting<'a>(&'a Network, Contention);

impl Serialize for Meeting<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Self(network, Contention { first, second, channel }) = self;
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("first", &first)?;
        map.serialize_entry("second", &second)?;
        map.serialize_entry("channel", &[network.from(channel).raw(), network.to(channel).raw()])?;
        map.end()
    }
}
