//! The cost of a plan without simulation: startups, steps and channels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wormcast_network::watch::step_every;
use wormcast_network::{ChannelId, NodeId};
use wormcast_routing::{NoRoute, RoutingRelation};

use crate::headers::encoded::Encoding;
use crate::headers::tree_header::HeaderFlit;
use crate::plan::contention::{Contention, Senders};
use crate::plan::ids::IdTable;
use crate::plan::{Itinerary, Plan};

/// How many worms a node sends in one step.
// A node of its own on a router has the router's links; one that is attached to a switch has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "StepPorts")]
pub enum PortModel {
    /// One worm.
    #[default]
    One,
    /// One worm on each of its channels; a node that shares its router with others sends one.
    All,
}

/// A worm of a plan, as shown to users.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WormSummary {
    /// Its position in the plan.
    pub id: u32,
    /// The node that sends it.
    pub from: NodeId,
    /// The worm whose delivery at `from` triggers it.
    pub after: Option<u32>,
    /// The earliest step, from 1, in which it can be sent if earlier worms of the plan go first: after its trigger's step,
    /// after those of all earlier worms that share a channel with it and, on one port or link, of all earlier worms of its sender.
    pub step: u32,
    /// The nodes that it delivers to, in order (trees: parents first).
    pub visits: Vec<NodeId>,
    /// The channels that it takes in an idle network, parents first.
    pub channels: Vec<ChannelId>,
    /// For a worm that may branch, for each of these channels: where it comes from, and whether it delivers.
    pub(crate) branches: Vec<BranchSummary>,
    /// The most hops from its sender to a node that it delivers to.
    pub longest: u32,
    /// Its header flits, if its algorithm plans them one by one.
    pub header_flits: Vec<HeaderFlit>,
    /// The header of a worm that switches replicate.
    pub header: Option<EncodedHeader>,
}

/// What a worm that branches does at the end of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BranchSummary {
    /// The position of the channel on which the worm arrived where this one starts; `None`: that is its sender's router.
    pub(crate) parent: Option<u32>,
    /// Whether it delivers where the channel ends.
    pub(crate) delivers: bool,
}

/// The header of an encoded worm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncodedHeader {
    /// What it consists of.
    pub encoding: Encoding,
    /// Its length in bits ([`Encoded::header_bits`](crate::Encoded::header_bits)).
    pub bits: u32,
}

/// A plan, as shown to users.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlanSummary {
    /// The worms, in plan order.
    pub worms: Vec<WormSummary>,
    /// The worms that the busiest node sends.
    pub startups: u32,
    /// The last worm's step.
    pub steps: u32,
    /// The channels that all worms take, each counted as often as it is taken.
    pub channels: u32,
    /// The most hops from a worm's sender to a node that it delivers to.
    pub longest: u32,
    /// Two worms that contend.
    pub(crate) contention: Option<Contention>,
}

impl Plan {
    /// Routes the plan's worms through an idle network and schedules them in steps: O(channels taken).
    ///
    /// # Errors
    /// If the routing has no route from a stop to the next.
    pub fn summary(&self, routing: &dyn RoutingRelation, ports: PortModel) -> Result<PlanSummary, NoRoute> {
        let mut summary = PlanSummary::default();
        Summariser::default().summarise(self, routing, ports, &mut summary)?;
        Ok(summary)
    }
}

/// Memory for the summaries of many plans.
#[derive(Clone, Debug, Default)]
pub struct Summariser {
    senders: Senders,
    /// For each sender, the last step in which its port is in use, and how many worms it sends.
    ports: Vec<(u32, u32)>,
    /// The last worm on each channel.
    last_on: IdTable,
    steps: Vec<u32>,
    candidates: Vec<ChannelId>,
    depths: Vec<u32>,
}

impl Summariser {
    /// As [`Plan::summary`], in place of the summary of an earlier plan, whose lists are used again. After an error it is that of no plan.
    ///
    /// # Errors
    /// As [`Plan::summary`].
    pub fn summarise(
        &mut self,
        plan: &Plan,
        routing: &dyn RoutingRelation,
        ports: PortModel,
        summary: &mut PlanSummary,
    ) -> Result<(), NoRoute> {
        let network = &**routing.network();
        let one_port = ports == PortModel::One || !network.has_one_node_each();
        let Self { senders, ports, last_on, steps, candidates, depths } = self;
        let worms = std::mem::take(&mut summary.worms);
        *summary = PlanSummary { worms, ..PlanSummary::default() };
        summary.worms.resize_with(plan.worms.len(), WormSummary::default);
        senders.find(&plan.worms, network.nodes());
        ports.clear();
        ports.resize(senders.count(), (0, 0));
        last_on.start(network.channels(), plan.worms.len());
        steps.clear();
        let mut first_to_meet = u32::MAX;
        for (id, (worm, made)) in plan.worms.iter().zip(&mut summary.worms).enumerate() {
            // Never for the first: most plans are small, and one of very many.
            step_every(10, "following worms", "worms", id + 1, plan.worms.len());
            let WormSummary { visits, channels, branches, header_flits, .. } = made;
            visits.clear();
            channels.clear();
            branches.clear();
            header_flits.clear();
            let mut header = None;
            let longest = match &worm.itinerary {
                Itinerary::Path(path) => {
                    visits.extend_from_slice(&path.stops);
                    worm.append_channels(routing, candidates, channels)?;
                    channels.len() as u32
                }
                Itinerary::Tree(tree) => {
                    if let Some(trunk) = tree.trunk {
                        worm.append_trunk(trunk, routing, candidates, channels)?;
                    }
                    header_flits.extend_from_slice(&tree.header);
                    visits.extend_from_slice(&tree.delivers);
                    let trunk = channels.len() as u32;
                    // A delivery where the branches begin is the trunk's last.
                    branches.extend((0..trunk).map(|place| BranchSummary {
                        parent: place.checked_sub(1),
                        delivers: place + 1 == trunk && !tree.delivers.is_empty(),
                    }));
                    branches.extend(tree.branches.iter().map(|branch| BranchSummary {
                        parent: branch.parent.map_or(trunk.checked_sub(1), |parent| Some(trunk + parent)),
                        delivers: !branch.delivers.is_empty(),
                    }));
                    channels.extend(tree.branches.iter().map(|branch| branch.channel));
                    depths.clear();
                    let mut longest = trunk;
                    depths.reserve(tree.branches.len());
                    for branch in &tree.branches {
                        let depth = branch.parent.map_or(trunk, |parent| depths[parent as usize]) + 1;
                        longest = longest.max(depth);
                        depths.push(depth);
                        // Mostly none or one.
                        branch.delivers.iter().for_each(|&node| visits.push(node));
                    }
                    longest
                }
                Itinerary::Encoded(encoded) => {
                    visits.extend_from_slice(&encoded.destinations);
                    let bits = encoded.header_bits(network, worm.from);
                    header = Some(EncodedHeader { encoding: encoded.encoding, bits });
                    let route = encoded.route(routing, worm.from, |_| 0)?;
                    channels.extend(route.channels.iter().map(|&(channel, _)| channel));
                    branches
                        .extend(route.channels.iter().map(|&(_, parent)| BranchSummary { parent, delivers: false }));
                    for place in route.deliveries.iter().filter_map(|&(_, place)| place) {
                        branches[place as usize].delivers = true;
                    }
                    route.longest()
                }
            };
            let (port, sent) = &mut ports[senders.of(id)];
            let triggered = worm.after.map_or(0, |trigger| steps[trigger as usize]);
            let mut latest = if one_port { triggered.max(*port) } else { triggered };
            // Whoever takes a channel is sent after all that took it before, so those who meet there are one after the other in the plan, too.
            let mut meets = None;
            // Mostly a worm meets another on one channel after the other: what has been seen of it need not be looked at again.
            let mut seen = id as u32;
            for &channel in &*channels {
                let Some(first) = last_on.insert(channel.index(), id as u32).filter(|&first| first != seen) else {
                    continue;
                };
                if first == id as u32 {
                    continue;
                }
                seen = first;
                latest = latest.max(steps[first as usize]);
                if meets.is_none() && !senders.reaches(first as usize, id) {
                    meets = Some(Contention { first, second: id as u32, channel });
                }
            }
            let step = latest + 1;
            if meets.is_some() && step < first_to_meet {
                (summary.contention, first_to_meet) = (meets, step);
            }
            steps.push(step);
            *port = step;
            *sent += 1;
            (made.id, made.from, made.after, made.step) = (id as u32, worm.from, worm.after, step);
            (made.longest, made.header) = (longest, header);
            summary.startups = summary.startups.max(*sent);
            summary.steps = summary.steps.max(step);
            summary.channels += made.channels.len() as u32;
            summary.longest = summary.longest.max(longest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Worm;
    use proptest::prelude::*;
    use wormcast_network::TopologySpec;
    use wormcast_routing::{Adaptivity, ECube, Turnaround};

    fn node(id: u32) -> NodeId {
        NodeId::new(id)
    }

    #[test]
    fn steps_respect_ports_triggers_and_contention() {
        let line = "mesh:5".parse::<TopologySpec>().unwrap().build().unwrap();
        // From 1: to 2, to 0, and from 2 on to 4 after the first; then 1 to 3, which meets no other in step 2 with all ports
        // but shares channel 1-2 with worm 0 in step 1 and channel 2-3 with worm 2 in step 2.
        let plan = Plan {
            worms: vec![
                Worm::path(node(1), vec![node(2)]),
                Worm::path(node(1), vec![node(0)]),
                Worm::path(node(2), vec![node(4)]).after(0),
                Worm::path(node(1), vec![node(3)]),
            ],
        };
        let steps = |ports| {
            let summary = plan.summary(&ECube::new(&line).unwrap(), ports).unwrap();
            (summary.worms.iter().map(|w| w.step).collect::<Vec<_>>(), summary.steps)
        };
        assert_eq!(steps(PortModel::All), (vec![1, 1, 2, 3], 3));
        assert_eq!(steps(PortModel::One), (vec![1, 2, 2, 3], 3));
        let summary = plan.summary(&ECube::new(&line).unwrap(), PortModel::One).unwrap();
        assert_eq!((summary.startups, summary.channels, summary.longest), (3, 6, 2));
        let entered: Vec<u32> = summary.worms[2].channels.iter().map(|&channel| line.to(channel).raw()).collect();
        assert_eq!(entered, [3, 4]);
    }

    /// A node of a switch has one link: two unicasts take two steps even where they part at once.
    #[test]
    fn nodes_of_switches_have_one_link() {
        let bmin = "bmin:4x2".parse::<TopologySpec>().unwrap().build().unwrap();
        let plan = Plan { worms: [1, 2, 14].map(|to| Worm::path(node(0), vec![node(to)])).to_vec() };
        for ports in [PortModel::One, PortModel::All] {
            let summary = plan.summary(&Turnaround::new(&bmin, Adaptivity::Adaptive).unwrap(), ports).unwrap();
            assert_eq!(summary.worms.iter().map(|worm| worm.step).collect::<Vec<_>>(), [1, 2, 3]);
        }
    }

    /// Whether `later` has to wait for `earlier`.
    fn clash(ports: PortModel, earlier: &WormSummary, later: &WormSummary) -> bool {
        (ports == PortModel::One && earlier.from == later.from)
            || earlier.channels.iter().any(|channel| later.channels.contains(channel))
    }

    proptest! {
        /// By the definition: the first step after the trigger's and those of all earlier worms that are in the way.
        #[test]
        fn every_step_is_the_earliest(
            pairs in prop::collection::vec((0u32..12, 0u32..12), 1..15),
            ports in prop::sample::select(vec![PortModel::One, PortModel::All]),
        ) {
            let mesh = "mesh:4x3".parse::<TopologySpec>().unwrap().build().unwrap();
            let apart = pairs.into_iter().filter(|(from, to)| from != to);
            let worms: Vec<Worm> = apart.map(|(from, to)| Worm::path(node(from), vec![node(to)])).collect();
            // A worm is triggered by the first earlier one that ends where it starts.
            let trigger = |id: usize| {
                worms[..id].iter().position(|earlier| earlier.visits() == [worms[id].from]).map(|id| id as u32)
            };
            let worms = (0..worms.len()).map(|id| Worm { after: trigger(id), ..worms[id].clone() }).collect();
            let summary = Plan { worms }.summary(&ECube::new(&mesh).unwrap(), ports).unwrap();
            for (id, worm) in summary.worms.iter().enumerate() {
                let earlier = &summary.worms[..id];
                let trigger = worm.after.map(|trigger| &earlier[trigger as usize]);
                let first = trigger.into_iter().chain(earlier.iter().filter(|other| clash(ports, other, worm)));
                prop_assert_eq!(worm.step, first.map(|other| other.step).max().unwrap_or(0) + 1);
            }
        }
    }
}
