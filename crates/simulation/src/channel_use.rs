//! The use of each channel: busy, held, blocked.

use std::collections::HashMap;
use std::io::{self, Write};

use wormcast_network::{ChannelId, ChannelKind, ChannelSpace, Network};

use crate::observer::{Cycle, Observer};

/// Counts, for every channel, the cycles in which a worm held it and in which a flit crossed it, over a whole run.
///
/// A hold that has not ended when the run does is not counted. Memory: 16 bytes a channel, and an entry a hold.
#[derive(Debug)]
pub struct ChannelUse<'n> {
    network: &'n Network,
    space: ChannelSpace,
    /// Cycles held, by completed holds.
    held: Vec<u64>,
    /// Cycles in which a flit crossed, by completed holds.
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

    /// Writes `kind,from,to,port,busy,held,blocked`, one line a channel in the order of their ids. `kind` is `link`,
    /// `injection` or `consumption`; `from` and `to` are routers for links and the node on both sides of ports; `port` numbers
    /// a node's ports and is empty for links. `busy` is the number of cycles in which a flit crossed, `held` that in which a
    /// worm held the channel (each virtual channel counts), `blocked` the difference.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write_csv(&self, mut out: impl Write) -> io::Result<()> {
        writeln!(out, "kind,from,to,port,busy,held,blocked")?;
        for (index, (&busy, &held)) in self.busy.iter().zip(&self.held).enumerate() {
            let channel = ChannelId::new(index as u32);
            match self.space.kind(channel) {
                ChannelKind::Link => {
                    write!(out, "link,{},{},", self.network.from(channel), self.network.to(channel))?;
                }
                ChannelKind::Injection(node, port) => write!(out, "injection,{node},{node},{port}")?,
                ChannelKind::Consumption(node, port) => write!(out, "consumption,{node},{node},{port}")?,
            }
            writeln!(out, ",{busy},{held},{}", held - busy)?;
        }
        out.flush()
    }
}

impl Observer for ChannelUse<'_> {
    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        self.holding.insert((channel, worm), at);
    }

    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32) {
        let Some(granted) = self.holding.remove(&(channel, worm)) else { return };
        self.held[channel.index()] += at + 1 - granted;
        self.busy[channel.index()] += u64::from(flits);
    }
}
