//! The use of each channel: busy, held, blocked.

use std::collections::HashMap;
use std::io::{self, Write};

use wormcast_network::text::csv_field;
use wormcast_network::{ChannelId, ChannelKind, ChannelSpace, Network};

use crate::observers::observer::{Cycle, Observer};
use crate::run::run_end::{Held, RunEnd};

/// Counts, for every channel, the cycles in which a worm held it and in which a flit crossed it, over a whole run.
///
/// A hold that has not ended when the run does lasts until then. Memory: 16 bytes a channel, and an entry a hold.
#[derive(Debug)]
pub struct ChannelUse<'n> {
    network: &'n Network,
    space: ChannelSpace,
    /// Cycles held.
    held: Vec<u64>,
    /// Cycles in which a flit crossed.
    busy: Vec<u64>,
    /// When each worm was granted the channels that it holds. Releases may be reported after the next worm's grant.
    holding: HashMap<(ChannelId, u64), Cycle>,
}

impl<'n> ChannelUse<'n> {
    /// No use yet of the channels of `space`, which belong to `network`.
    pub fn new(network: &'n Network, space: ChannelSpace) -> Self {
        let channels = space.len();
        Self { network, space, held: vec![0; channels], busy: vec![0; channels], holding: HashMap::new() }
    }

    /// Writes `kind,from,to,port,busy,held,blocked,from_name,to_name,from_port,to_port,link`, one line a channel in the order of
    /// their ids.
    ///
    /// `kind` is `link`, `injection` or `consumption`; `from` and `to` are routers for links and the node on both sides of ports;
    /// `port` numbers a node's ports and is empty for links. `busy` is the number of cycles in which a flit crossed, `held` that in
    /// which a worm held the channel (each virtual channel counts), `blocked` the difference. Names are those that users write;
    /// the ports of a link's ends are empty where they have no numbers, and `link` is where it is the only one between its routers.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write_csv(&self, mut out: impl Write) -> io::Result<()> {
        let network = self.network;
        writeln!(out, "kind,from,to,port,busy,held,blocked,from_name,to_name,from_port,to_port,link")?;
        for (index, (&busy, &held)) in self.busy.iter().zip(&self.held).enumerate() {
            let channel = ChannelId::new(index as u32);
            let (kind, node, port) = match self.space.kind(channel) {
                ChannelKind::Link => {
                    let (from, to) = (network.from(channel), network.to(channel));
                    let ends = network.link_ends(channel);
                    writeln!(out, "link,{from},{to},,{busy},{held},{},{ends}", held - busy)?;
                    continue;
                }
                ChannelKind::Injection(node, port) => ("injection", node, port),
                ChannelKind::Consumption(node, port) => ("consumption", node, port),
            };
            let name = csv_field(&network.node_label(node));
            writeln!(out, "{kind},{node},{node},{port},{busy},{held},{},{name},{name},,,", held - busy)?;
        }
        out.flush()
    }
}

impl Observer for ChannelUse<'_> {
    const END: bool = true;

    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        self.holding.insert((channel, worm), at);
    }

    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32) {
        let Some(granted) = self.holding.remove(&(channel, worm)) else { return };
        self.held[channel.index()] += at + 1 - granted;
        self.busy[channel.index()] += u64::from(flits);
    }

    fn ended(&mut self, end: &RunEnd<'_>) {
        for &Held { channel, worm, flits, .. } in end.held {
            if let Some(granted) = self.holding.remove(&(channel, worm)) {
                self.held[channel.index()] += end.at.saturating_sub(granted);
                self.busy[channel.index()] += u64::from(flits);
            }
        }
    }
}
