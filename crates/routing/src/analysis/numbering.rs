//! Proofs that dependencies between channels have no cycle, and the cycles where they have.

use std::collections::VecDeque;

use thiserror::Error;
use wormcast_network::watch::step_every;
use wormcast_network::{ChannelId, Network};

/// A number for every channel, such that worms go from smaller to larger numbers only: a proof that they cannot block each
/// other forever.
///
/// The worm that holds the highest channel waits for no other (Dally and Seitz 1987). The proof is checked without knowledge of how it was
/// found by [`check`](Self::check).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChannelNumbering(Vec<u32>);

/// A pair of channels for which a numbering does not rise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("a worm may go from channel {held} to channel {requested}, whose number is not larger")]
pub struct NotAProof {
    /// The channel that a worm holds.
    pub held: ChannelId,
    /// The channel that it may request next.
    pub requested: ChannelId,
}

impl ChannelNumbering {
    /// Numbers the channels of `network` so that `may_follow(held, requested)` holds for rising numbers only. It is asked
    /// for channels of which the second leaves where the first ends.
    ///
    /// Repeatedly removes channels that have no successors left; O(turns) time, O(channels) memory.
    ///
    /// # Errors
    /// A cycle, each of whose channels may follow the one before, and the first the last: there is no such numbering.
    pub fn find(network: &Network, may_follow: impl Fn(ChannelId, ChannelId) -> bool) -> Result<Self, Vec<ChannelId>> {
        let channels = network.channels();
        let after = |held: ChannelId| {
            let may_follow = &may_follow;
            network.outputs(network.to(held)).filter(move |&next| may_follow(held, next))
        };
        let mut successors: Vec<u32> = network.channel_ids().map(|held| after(held).count() as u32).collect();
        let mut done: Vec<ChannelId> = network.channel_ids().filter(|held| successors[held.index()] == 0).collect();
        let mut next = 0;
        while let Some(&requested) = done.get(next) {
            step_every(12, "numbering channels", "channels", next, channels);
            next += 1;
            for held in network.inputs(network.from(requested)) {
                if may_follow(held, requested) {
                    successors[held.index()] -= 1;
                    if successors[held.index()] == 0 {
                        done.push(held);
                    }
                }
            }
        }
        if done.len() < channels {
            return Err(shortest_cycle(network, after, &successors));
        }
        let mut numbers = vec![0; channels];
        for (number, channel) in done.iter().rev().enumerate() {
            numbers[channel.index()] = number as u32;
        }
        Ok(Self(numbers))
    }

    /// A numbering from elsewhere, by channel, not yet checked.
    #[cfg(test)]
    pub(crate) fn from_numbers(numbers: Vec<u32>) -> Self {
        Self(numbers)
    }

    /// The number of a channel; `None` if it has none.
    pub fn number(&self, channel: ChannelId) -> Option<u32> {
        self.0.get(channel.index()).copied()
    }

    /// Checks that numbers rise wherever one channel may follow another; O(turns).
    ///
    /// # Errors
    /// A pair of channels for which they do not.
    pub fn check(&self, network: &Network, may_follow: impl Fn(ChannelId, ChannelId) -> bool) -> Result<(), NotAProof> {
        for held in network.channel_ids() {
            for requested in network.outputs(network.to(held)) {
                let rises = matches!((self.number(held), self.number(requested)), (Some(a), Some(b)) if a < b);
                if !rises && may_follow(held, requested) {
                    return Err(NotAProof { held, requested });
                }
            }
        }
        Ok(())
    }
}

/// A shortest cycle through some channel that is on one, where all channels with `successors` lead to cycles.
fn shortest_cycle<I: Iterator<Item = ChannelId>>(
    network: &Network,
    after: impl Fn(ChannelId) -> I,
    successors: &[u32],
) -> Vec<ChannelId> {
    let left = |channel: &ChannelId| successors[channel.index()] > 0;
    let mut seen = vec![false; network.channels()];
    let Some(mut start) = network.channel_ids().find(left) else { return Vec::new() };
    // Following successors leads to a cycle.
    while !std::mem::replace(&mut seen[start.index()], true) {
        match after(start).find(left) {
            Some(next) => start = next,
            None => return Vec::new(),
        }
    }
    let mut before: Vec<Option<ChannelId>> = vec![None; network.channels()];
    let mut queue = VecDeque::from([start]);
    while let Some(channel) = queue.pop_front() {
        for next in after(channel) {
            if before[next.index()].is_some() {
                continue;
            }
            before[next.index()] = Some(channel);
            if next == start {
                queue.clear();
                break;
            }
            queue.push_back(next);
        }
    }
    let mut cycle = vec![start];
    let mut at = start;
    while let Some(channel) = before[at.index()].filter(|&c| c != start) {
        cycle.push(channel);
        at = channel;
    }
    cycle.reverse();
    cycle
}
