//! Rules by which the subnet manager `OpenSM` builds the trees of groups.

use wormcast_network::{ChannelId, NodeId, RouterId};

use super::Target;

mod torus;
mod weighed;

pub use torus::{Torus2QosTrees, read_torus};
pub use weighed::{NoWeights, WeighedEngine, WeighedTrees};

/// What a switch does with the packets of a group.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Branch {
    /// The channels by which it sends them to other switches, in any order; one may be there several times.
    pub channels: Vec<ChannelId>,
    /// The members that it sends them to.
    pub members: Vec<NodeId>,
    /// Whether it is a member itself.
    pub own: bool,
}

impl Branch {
    pub(super) fn add(&mut self, member: Target) {
        match member {
            Target::Node(node) => self.members.push(node),
            Target::Router(_) => self.own = true,
        }
    }
}

/// A rule by which trees are built, each from the members of its group alone.
pub trait TreeRule {
    /// What each switch of the tree does; nothing if there are too few members for a tree.
    fn tree(&self, mlid: u16, members: &[Target]) -> Vec<(RouterId, Branch)>;
}
