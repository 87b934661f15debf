//! Errors of constructions of spanning trees.

use thiserror::Error;
use wormcast_network::{ChannelId, CutOff, Network};

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
    /// Without the failed links, the network falls apart.
    #[error("`{network}`{} is not connected: {cut_off}", without(*.failed))]
    Disconnected {
        /// The network.
        network: String,
        /// How many of its links have failed.
        failed: usize,
        /// The smallest part without links to the rest.
        cut_off: CutOff,
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
        let cut_off = Self::part_without(network, failed).unwrap_or_default();
        Self::Disconnected { network: network.name().to_owned(), failed: failed_links(network, failed), cut_off }
    }

    /// The error that a network is not connected without these links, if so.
    pub(crate) fn disconnected(network: &Network, failed: &[ChannelId]) -> Option<Self> {
        let cut_off = Self::part_without(network, failed)?;
        Some(Self::Disconnected { network: network.name().to_owned(), failed: failed_links(network, failed), cut_off })
    }

    fn part_without(network: &Network, failed: &[ChannelId]) -> Option<CutOff> {
        let mut gone = vec![false; network.channels()];
        for &channel in failed {
            gone[channel.index()] = true;
            gone[network.reverse(channel).index()] = true;
        }
        CutOff::of(network.components(|channel| !gone[channel.index()]))
    }
}

fn failed_links(network: &Network, failed: &[ChannelId]) -> usize {
    let mut links: Vec<_> = failed.iter().map(|&channel| channel.min(network.reverse(channel))).collect();
    links.sort_unstable();
    links.dedup();
    links.len()
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
