//! Errors of constructions of spanning trees.

use thiserror::Error;
use wormcast_network::{ChannelId, Network};

use crate::registry::UnknownName;
use crate::relation::Unsupported;
use crate::trees::edge_disjoint::Partition;
use crate::trees::registry::TreeChoice;
use crate::trees::spanning_tree::NotSpanning;

/// Why a construction has no trees for a network.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The construction's name is unknown.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The construction is not defined on the network, or not with these options.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The links are not a tree.
    #[error(transparent)]
    NotSpanning(#[from] NotSpanning),
    /// The construction does not offer a choice that was made.
    #[error("`{construction}` has no choice of {option}: {}", has(*.option))]
    Choice {
        /// The construction.
        construction: &'static str,
        /// What was chosen.
        option: TreeChoice,
    },
    /// The network has fewer trees than asked for.
    #[error(
        "`{network}`{} has {found} edge-disjoint spanning tree{}, not {wanted}: routers can be put into {parts} groups with only \
         {crossing} link{} between them, and {} trees need {}",
        without(*.failed), plural(*.found), plural(*.crossing), found + 1, (found + 1) * (parts - 1)
    )]
    TooFew {
        /// The network.
        network: String,
        /// How many of its links have failed.
        failed: usize,
        /// How many trees were asked for.
        wanted: usize,
        /// How many there are.
        found: usize,
        /// The parts of a partition that proves it.
        parts: usize,
        /// The links between them.
        crossing: usize,
    },
    /// Without the failed links, the network is not connected.
    #[error("`{network}`{} is not connected: no link joins {} to the rest", without(*.failed), routers(.cut_off, *.cut_off_count))]
    Disconnected {
        /// The network.
        network: String,
        /// How many of its links have failed.
        failed: usize,
        /// The first routers of a part without links to the rest.
        cut_off: Vec<u32>,
        /// How many routers that part has.
        cut_off_count: usize,
    },
}

impl TreeError {
    /// The error that a network has fewer trees than asked for, with the partition that proves it.
    pub(crate) fn too_few(
        network: &Network,
        failed: &[ChannelId],
        wanted: usize,
        found: usize,
        limit: &Partition,
    ) -> Self {
        if found > 0 {
            return Self::TooFew {
                network: network.name().to_owned(),
                failed: failed_links(network, failed),
                wanted,
                found,
                parts: limit.parts(),
                crossing: limit.crossing(network, failed),
            };
        }
        Self::cut_off(network, failed, components(network, failed))
    }

    /// The error that a network is not connected without these links, if so.
    pub(crate) fn disconnected(network: &Network, failed: &[ChannelId]) -> Option<Self> {
        let parts = components(network, failed);
        (parts.len() > 1).then(|| Self::cut_off(network, failed, parts))
    }

    /// The error that a network falls into these parts.
    fn cut_off(network: &Network, failed: &[ChannelId], parts: Vec<Vec<u32>>) -> Self {
        // The smallest part, of several the first.
        let cut_off = parts.into_iter().min_by_key(Vec::len).unwrap_or_default();
        Self::Disconnected {
            network: network.name().to_owned(),
            failed: failed_links(network, failed),
            cut_off_count: cut_off.len(),
            cut_off: cut_off.into_iter().take(SHOWN).collect(),
        }
    }
}

/// How many routers a message lists.
const SHOWN: usize = 8;

fn failed_links(network: &Network, failed: &[ChannelId]) -> usize {
    let mut links: Vec<_> = failed.iter().map(|&channel| channel.min(network.reverse(channel))).collect();
    links.sort_unstable();
    links.dedup();
    links.len()
}

/// The routers of each component of what is left of a network.
fn components(network: &Network, failed: &[ChannelId]) -> Vec<Vec<u32>> {
    let mut gone = vec![false; network.channels()];
    for &channel in failed {
        gone[channel.index()] = true;
        gone[network.reverse(channel).index()] = true;
    }
    let mut met = vec![false; network.routers()];
    let mut components = Vec::new();
    for start in 0..network.routers() as u32 {
        if std::mem::replace(&mut met[start as usize], true) {
            continue;
        }
        let mut component = vec![start];
        let mut next = 0;
        while let Some(&router) = component.get(next) {
            next += 1;
            for channel in network.outputs(wormcast_network::RouterId::new(router)) {
                let to = network.to(channel);
                if !gone[channel.index()] && !std::mem::replace(&mut met[to.index()], true) {
                    component.push(to.raw());
                }
            }
        }
        component.sort_unstable();
        components.push(component);
    }
    components
}

fn has(option: TreeChoice) -> String {
    let owners = option.owners();
    format!("{owners} {}", if owners.contains(" and ") { "have" } else { "has" })
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn without(failed: usize) -> String {
    match failed {
        0 => String::new(),
        _ => format!(" without the failed link{}", plural(failed)),
    }
}

fn routers(listed: &[u32], count: usize) -> String {
    let list: Vec<String> = listed.iter().map(ToString::to_string).collect();
    let more = if count > listed.len() { format!(", … ({count} routers)") } else { String::new() };
    format!("router{} {}{more}", plural(count), list.join(", "))
}
