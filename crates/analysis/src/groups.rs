//! What is known of multicast tables, as data: which members the packets of each group reach, and which groups are to blame for a deadlock.

use serde::Serialize;
use wormcast_network::Network;
use wormcast_routing::{GroupReport, Resource, Target};

use crate::report::CycleResource;

/// The analysis of multicast tables.
#[derive(Debug, Serialize)]
pub struct Groups {
    /// How packets branch.
    pub branching: &'static str,
    /// The groups, by address.
    pub groups: Vec<GroupFound>,
    /// Who is to blame for a deadlock, if there can be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blame: Option<Blame>,
}

/// How the packets of a group fare.
#[derive(Debug, Serialize)]
pub struct GroupFound {
    /// Its address, as `0xc001`.
    pub mlid: String,
    /// Its members, as users write them.
    pub members: Vec<String>,
    /// Whether the packets of each node among them reach all other members.
    pub connected: bool,
    /// The members that are not reached from the one whose packets get furthest.
    pub missing: Vec<String>,
    /// The members that get a packet more than once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubled: Vec<String>,
    /// What gets packets and is no member.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strangers: Vec<String>,
    /// Channels that packets take again and again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub circle: Option<Vec<CycleResource>>,
    /// Ports where nothing is attached, by switch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nowhere: Vec<(String, u32)>,
}

/// Who is to blame for a deadlock.
#[derive(Debug, Serialize)]
pub struct Blame {
    /// Whether unicasts alone can deadlock.
    pub unicasts_alone: bool,
    /// The groups each of which, alone beside the unicasts, can deadlock.
    pub alone: Vec<String>,
    /// A smallest set of groups that can deadlock beside the unicasts; empty if unicasts alone can.
    pub smallest: Vec<String>,
    /// Whether no smaller set can: false where there are too many sets to try.
    pub is_smallest: bool,
}

impl GroupFound {
    pub(crate) fn new(network: &Network, report: GroupReport) -> Self {
        let name = |target| match target {
            Target::Node(node) => network.node_label(node),
            Target::Router(router) => network.router_label(router),
        };
        let names = |targets: Vec<Target>| targets.into_iter().map(name).collect();
        let channel = |channel| CycleResource::new(network, Resource::Channel(channel));
        Self {
            mlid: mlid_text(report.mlid),
            members: names(report.members),
            connected: report.connected,
            missing: names(report.missing),
            doubled: names(report.doubled),
            strangers: names(report.strangers),
            circle: report.circle.map(|channels| channels.into_iter().map(channel).collect()),
            nowhere: report.nowhere.into_iter().map(|(router, port)| (network.router_label(router), port)).collect(),
        }
    }
}

/// The address of a group in readable form.
pub(crate) fn mlid_text(mlid: u16) -> String {
    format!("{mlid:#06x}")
}

/// What is known of virtual lanes.
#[derive(Debug, Serialize)]
pub struct LanesFound {
    /// How many there are.
    pub count: u32,
    /// Switches of which nothing is said, so that each service level is a lane of its own there.
    pub switches_without: usize,
    /// Pairs of a source and an address, of a node or of a group that it sends to, of which no service level is said, though others of the source are: taken for
    /// level 0.
    pub without_level: u64,
    /// Pairs of a source and an address whose packets are dropped.
    pub dropped: u64,
    /// The lanes, from 0.
    pub by_lane: Vec<LaneFound>,
}

/// What is known of a virtual lane.
#[derive(Debug, Serialize)]
pub struct LaneFound {
    /// Its number.
    pub lane: u32,
    /// Whether no packet on it can be blocked forever.
    pub deadlock_free: bool,
    /// The channels on which packets of this lane can be.
    pub blocked: usize,
}
