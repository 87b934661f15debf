//! A plan as JSON.

use serde::ser::{Serialize, SerializeMap, Serializer};
use wormcast_network::watch::step_every;
use wormcast_network::{ChannelId, Network, NodeId};

use crate::algorithm::Multicast;
use crate::headers::tree_header::MAX_BITS;
use crate::plan::contention::Contention;
use crate::plan::json_text::{JsonText, NUMBER};
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

impl PlanReport<'_> {
    /// The report as JSON.
    pub fn json(&self) -> String {
        let mut text = JsonText::default();
        self.write(&mut text);
        text.into_string()
    }

    /// Writes the report. A plan has thousands of numbers, which a serialiser would take several times as long for.
    pub fn write(&self, text: &mut JsonText) {
        let Self { network, algorithm, multicast, summary, exact, flit_bits, warning, reduction } = *self;
        let relays = self.relays();
        text.put(b"{\"topology\":");
        text.value(network.name());
        text.put(b",\"algorithm\":");
        text.value(algorithm);
        text.number(b",\"source\":", multicast.source().raw());
        text.put(b",\"destinations\":");
        text.numbers(multicast.destinations().iter().map(|node| node.raw()));
        text.put(b",\"worms\":[");
        for (id, worm) in summary.worms.iter().enumerate() {
            step_every(10, "writing the plan", "worms", id + 1, summary.worms.len());
            write_worm(text, network, worm, flit_bits, &relays);
            text.put(b",");
        }
        text.end_list();
        text.number(b",\"startups\":", summary.startups);
        text.number(b",\"steps\":", summary.steps);
        text.number(b",\"channels\":", summary.channels);
        text.number(b",\"longest\":", summary.longest);
        text.put(b",\"contention\":");
        text.value(&summary.contention().map(|contention| Meeting(network, contention)));
        if let Some(exact) = exact {
            text.put(b",\"exact\":");
            text.value(&exact);
        }
        if let Some(warning) = warning {
            text.put(b",\"warning\":");
            text.value(warning);
        }
        if let Some(reduction) = reduction {
            text.put(b",\"reduction\":");
            text.value(&ReductionJson(network, reduction));
        }
        text.put(b"}");
    }
}

/// More than the bytes of a worm up to the list of what it visits.
const HEAD: usize = 100;

/// More than the bytes of a header flit.
const FLIT: usize = 100 + 2 * MAX_BITS * NUMBER;

fn write_worm(text: &mut JsonText, network: &Network, worm: &WormSummary, flit_bits: u32, relays: &[NodeId]) {
    text.within(HEAD + worm.visits.len() * NUMBER, |room| {
        room.put(b"{\"id\":");
        room.number(worm.id);
        room.put(b",\"from\":");
        room.number(worm.from.raw());
        room.put(b",\"after\":");
        match worm.after {
            Some(after) => room.number(after),
            None => room.put(b"null"),
        }
        room.put(b",\"step\":");
        room.number(worm.step);
        room.put(b",\"visits\":");
        room.numbers(worm.visits.iter().map(|node| node.raw()));
    });
    if !relays.is_empty() {
        let absorbed: Vec<NodeId> =
            worm.visits.iter().copied().filter(|node| relays.binary_search(node).is_ok()).collect();
        if !absorbed.is_empty() {
            text.put(b",\"absorbed\":");
            text.numbers(absorbed.iter().map(|node| node.raw()));
        }
    }
    text.put(b",\"channels\":");
    text.channels(network, &worm.channels);
    if let Some(EncodedHeader { encoding, bits }) = worm.header {
        text.put(b",\"encoding\":");
        text.value(encoding.name());
        text.number(b",\"header_bits\":", bits);
        text.number(b",\"header_flits\":", bits.div_ceil(flit_bits));
    }
    if !worm.header_flits.is_empty() {
        text.put(b",\"header\":[");
        for flit in &worm.header_flits {
            text.within(FLIT, |room| {
                room.put(b"{\"node\":");
                room.number(flit.router.raw());
                room.put(b",\"outputs\":");
                room.numbers(flit.channels(network).map(|channel| network.to(channel).raw()));
                room.put(b",\"delivers\":");
                room.numbers(flit.delivers(network).map(NodeId::raw));
                room.put(b"},");
            });
        }
        text.end_list();
    }
    text.put(b"}");
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
