//! Whether any prohibited turn could be permitted.

use wormcast_network::watch::step;
use wormcast_network::{ChannelId, Network};

use crate::analysis::numbering::ChannelNumbering;
use crate::turns::turn_set::TurnSet;

/// Channels whose reach is computed together: 512 bits are a cache line.
const BLOCK: usize = 512;
const WORDS: usize = BLOCK / 64;

type Reach = [u64; WORDS];

impl TurnSet {
    /// Whether permitting any one of the prohibited turns, both ways, would close a cycle of permitted turns (paper 3,
    /// Theorem 3). `None` if there are cycles already.
    ///
    /// A turn from channel p to q, and so from q' back to p', closes a cycle if q leads to p; or if q leads to q' and p' to p:
    /// then a worm takes the turn in both directions. Reach is computed in the order of a numbering, for 512
    /// channels at a time: O(turns x channels / 512) steps, 64 bytes a channel.
    pub fn irreducible(&self, network: &Network) -> Option<bool> {
        let numbering = ChannelNumbering::find(network, |held, next| self.permits(network, held, next)).ok()?;
        // Those that a worm comes to last come first.
        let mut order: Vec<ChannelId> = network.channel_ids().collect();
        order.sort_unstable_by_key(|&channel| std::cmp::Reverse(numbering.number(channel)));

        let mut reach: Vec<Reach> = vec![[0; WORDS]; network.channels()];
        let mut comes_back = vec![false; network.channels()];
        // Turns that are closed only if both sides come back.
        let mut open: Vec<(ChannelId, ChannelId)> = Vec::new();
        for start in (0..network.channels()).step_by(BLOCK) {
            step("checking that every prohibited turn is needed", "channels", start, network.channels());
            let block = start..network.channels().min(start + BLOCK);
            let leads = |row: &Reach, to: usize| row[(to - start) / 64] >> ((to - start) % 64) & 1 == 1;
            for &channel in &order {
                let mut row: Reach = [0; WORDS];
                for next in network.outputs(network.to(channel)) {
                    if self.permits(network, channel, next) {
                        row.iter_mut().zip(&reach[next.index()]).for_each(|(word, &more)| *word |= more);
                    }
                }
                if block.contains(&channel.index()) {
                    let own = channel.index() - start;
                    row[own / 64] |= 1 << (own % 64);
                }
                reach[channel.index()] = row;
            }
            for arriving in block.clone().map(|c| ChannelId::new(c as u32)) {
                let back = network.reverse(arriving);
                comes_back[back.index()] = leads(&reach[back.index()], arriving.index());
                // The other way round is the same question.
                for leaving in network.outputs(network.to(arriving)).filter(|&leaving| leaving > back) {
                    let prohibited = !self.permits(network, arriving, leaving);
                    if prohibited && !leads(&reach[leaving.index()], arriving.index()) {
                        open.push((back, leaving));
                    }
                }
            }
        }
        Some(open.iter().all(|(one, other)| comes_back[one.index()] && comes_back[other.index()]))
    }
}
