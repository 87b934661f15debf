//! Whether any prohibited turn could be permitted.

use std::ops::Range;

use wormcast_network::watch::{processors, shared, step};
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
    /// channels at a time: O(turns x channels / 512) steps; 64 bytes a channel for each thread, of which a large network has as many as there are processors and fit into a gigabyte.
    pub fn irreducible(&self, network: &Network) -> Option<bool> {
        /// Channels from which threads pay off.
        const LARGE: usize = 1 << 13;
        /// The memory that threads share.
        const MEMORY: usize = 1 << 30;
        let fits = MEMORY / (size_of::<Reach>() * network.channels().max(1));
        let most = if network.channels() < LARGE { 1 } else { processors() };
        self.irreducible_on(network, most.min(network.channels() / BLOCK).min(fits).max(1))
    }

    fn irreducible_on(&self, network: &Network, threads: usize) -> Option<bool> {
        /// What a thread has found.
        struct Share<'a> {
            closure: Closure<'a>,
            /// The channels that lead to the opposite ones.
            come_back: Vec<bool>,
            /// Turns that are closed only if both sides come back.
            open: Vec<(ChannelId, ChannelId)>,
        }
        let order = self.order(network)?;
        let share = |_| {
            let closure = Closure::new(self, network, &order);
            Share { closure, come_back: vec![false; network.channels()], open: Vec::new() }
        };
        let look = |share: &mut Share<'_>, block: Range<usize>| {
            let Share { closure, come_back, open } = share;
            let block: Vec<ChannelId> = block.map(|channel| ChannelId::new(channel as u32)).collect();
            closure.find(&block);
            for (column, &arriving) in block.iter().enumerate() {
                let back = network.reverse(arriving);
                come_back[back.index()] = closure.leads(back, column);
                // The other way round is the same question.
                for leaving in network.outputs(network.to(arriving)).filter(|&leaving| leaving > back) {
                    if !self.permits(network, arriving, leaving) && !closure.leads(leaving, column) {
                        open.push((back, leaving));
                    }
                }
            }
        };
        let work = ("checking that every prohibited turn is needed", "channels");
        let parts = (BLOCK, 0..network.channels(), network.channels());
        let shares = shared(work, parts, (0..threads).map(share).collect(), look);
        let comes_back = |channel: ChannelId| shares.iter().any(|share| share.come_back[channel.index()]);
        let mut open = shares.iter().flat_map(|share| &share.open);
        Some(open.all(|&(one, other)| comes_back(one) && comes_back(other)))
    }

    /// How many of these [prohibited](Self::prohibited) turns are needed: those that would close a cycle of permitted turns, as for [`irreducible`](Self::irreducible). `None` if there
    /// are cycles already.
    ///
    /// O(turns of the network) for 512 of them, 64 bytes a channel.
    pub fn needed(&self, network: &Network, prohibited: &[(ChannelId, ChannelId)]) -> Option<usize> {
        let order = self.order(network)?;
        let mut closure = Closure::new(self, network, &order);
        // Whether a worm comes from the first channel of each pair to the second.
        let mut leads = |pairs: &[(ChannelId, ChannelId)]| {
            let mut found = Vec::with_capacity(pairs.len());
            for block in pairs.chunks(BLOCK) {
                step("checking that prohibited turns are needed", "turns", found.len(), pairs.len());
                let columns: Vec<ChannelId> = block.iter().map(|&(_, to)| to).collect();
                closure.find(&columns);
                found.extend(block.iter().enumerate().map(|(column, &(from, _))| closure.leads(from, column)));
            }
            found
        };
        let around: Vec<_> = prohibited.iter().map(|&(back, leaving)| (leaving, network.reverse(back))).collect();
        let closed = leads(&around);
        let open = prohibited.iter().zip(&closed).filter(|(_, closed)| !**closed).map(|(turn, _)| turn);
        let both_sides: Vec<_> = open.flat_map(|&(one, other)| [one, other]).map(|c| (c, network.reverse(c))).collect();
        let come_back = leads(&both_sides);
        let there_and_back = come_back.chunks(2).filter(|sides| sides.iter().all(|comes_back| *comes_back)).count();
        Some(closed.iter().filter(|closed| **closed).count() + there_and_back)
    }

    /// All channels, those that a worm comes to last first; `None` if there are cycles.
    fn order(&self, network: &Network) -> Option<Order> {
        let numbering = ChannelNumbering::find(network, |held, next| self.permits(network, held, next)).ok()?;
        let mut order: Vec<ChannelId> = network.channel_ids().collect();
        order.sort_unstable_by_key(|&channel| std::cmp::Reverse(numbering.number(channel)));
        let mut place_of = vec![0; order.len()];
        for (place, channel) in (0..).zip(&order) {
            place_of[channel.index()] = place;
        }
        Some(Order { channels: order, place_of })
    }
}

/// Channels in an order in which each comes after those that worms may take from it.
struct Order {
    channels: Vec<ChannelId>,
    /// By channel, its place among them.
    place_of: Vec<u32>,
}

/// Which of some channels worms come to over permitted turns.
struct Closure<'a> {
    turns: &'a TurnSet,
    network: &'a Network,
    order: &'a Order,
    /// By channel: the columns that worms on it come to.
    reach: Vec<Reach>,
    /// The columns with the places of their channels, the first ones first.
    columns: Vec<(u32, usize)>,
}

impl<'a> Closure<'a> {
    fn new(turns: &'a TurnSet, network: &'a Network, order: &'a Order) -> Self {
        let reach = vec![[0; WORDS]; network.channels()];
        Self { turns, network, order, reach, columns: Vec::with_capacity(BLOCK) }
    }

    /// Finds which channels lead to these, at most 512, each of them to itself.
    fn find(&mut self, channels: &[ChannelId]) {
        let Self { turns, network, order, reach, columns } = self;
        columns.clear();
        columns.extend(channels.iter().enumerate().map(|(column, to)| (order.place_of[to.index()], column)));
        columns.sort_unstable();
        let mut columns = columns.iter().peekable();
        for (place, &channel) in (0..).zip(&order.channels) {
            let mut row: Reach = [0; WORDS];
            for next in network.outputs(network.to(channel)) {
                if turns.permits(network, channel, next) {
                    row.iter_mut().zip(&reach[next.index()]).for_each(|(word, &more)| *word |= more);
                }
            }
            while let Some(&(_, column)) = columns.next_if(|&&(own, _)| own == place) {
                row[column / 64] |= 1 << (column % 64);
            }
            reach[channel.index()] = row;
        }
    }

    /// Whether worms come from a channel to that of a column.
    fn leads(&self, from: ChannelId, column: usize) -> bool {
        self.reach[from.index()][column / 64] >> (column % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use wormcast_network::{ChannelId, TopologySpec};

    use crate::relations::up_down::{Root, up_down};
    use crate::turn_prohibition;
    use crate::turns::turn_set::{Label, TurnSet};

    /// All prohibited turns are needed if and only if the set is irreducible; one by one they add up; and threads make no difference.
    #[test]
    fn turns_are_needed_alone_as_together() {
        let (mut reducible, mut irreducible) = (0, 0);
        for seed in 0..12 {
            let spec = format!("random:nodes={},degree={},seed={seed}", 30 + 60 * (seed % 3), 3 + seed % 4);
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let up_down = up_down(&network, Root::SmallestId).unwrap();
            // Without any turns at some routers, those that were prohibited elsewhere may close no cycle any more.
            let closed = |channel: ChannelId| network.from(channel).index().is_multiple_of(3);
            let label = |channel| if closed(channel) { Label::group(1) } else { up_down.label(channel) };
            let more = TurnSet::new(&network, network.channel_ids().map(label).collect());
            for turns in [turn_prohibition(&network), up_down, more] {
                let all: Vec<_> = turns.prohibited(&network).collect();
                let needed = turns.needed(&network, &all).unwrap();
                let alone: usize = all.iter().map(|&turn| turns.needed(&network, &[turn]).unwrap()).sum();
                assert_eq!(needed, alone, "{spec}");
                let found = turns.irreducible_on(&network, 1);
                assert_eq!(found, Some(needed == all.len()), "{spec}");
                assert_eq!(turns.irreducible_on(&network, 3), found, "{spec}");
                *(if needed == all.len() { &mut irreducible } else { &mut reducible }) += 1;
            }
        }
        assert!(reducible > 3 && irreducible > 3, "{reducible} and {irreducible}");
    }
}
