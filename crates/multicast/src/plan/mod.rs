//! The plan: what algorithms produce and engines simulate.

pub(crate) mod contention;
pub(crate) mod dependencies;
pub(crate) mod ids;
pub(crate) mod json_text;
pub(crate) mod reduction;
pub(crate) mod report;
pub(crate) mod summary;

use std::cell::RefCell;

use thiserror::Error;
use wormcast_network::{ChannelId, Network, NodeId, RouterId};
use wormcast_routing::{NoRoute, RoutingRelation, VcRange, append_route_with};

use crate::algorithm::Multicast;
use crate::headers::encoded::Encoded;
use crate::headers::tree_header::HeaderFlit;

/// The worms of one multicast, in the order in which their senders start them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// The worms; a worm's id within the plan is its position.
    pub worms: Vec<Worm>,
}

/// One worm: its sender, when it may start, and its itinerary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Worm {
    /// The node that sends it.
    pub from: NodeId,
    /// The worm, earlier in the plan, whose delivery at `from` lets this one start (software forwarding); `None`: it starts
    /// when the message is generated, and `from` is the source.
    pub after: Option<u32>,
    /// Its itinerary.
    pub itinerary: Itinerary,
    /// The one consumption channel that it may use at every node (model.md, rule 9); `None`: any. [`check_contract`](crate::check_contract) asks the algorithm's
    /// dependencies whether such worms are among those that they are about.
    pub consumption_class: Option<u8>,
    /// The virtual channels that it may take of links, of those that its relation permits (model.md, rule 18); `None`: any. The same holds for it.
    pub virtual_channels: Option<VcRange>,
}

/// The itinerary of a worm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Itinerary {
    /// One header that visits stops in order.
    Path(Path),
    /// A worm that is replicated where its branches part.
    Tree(Tree),
    /// A worm whose header encodes its destinations, which switches route and replicate.
    Encoded(Encoded),
}

impl Plan {
    /// The plan that replaces an empty one.
    pub(crate) fn made(replace: impl FnOnce(&mut Self)) -> Self {
        let mut plan = Self::default();
        replace(&mut plan);
        plan
    }

    /// Replaces the plan by one of path worms that the source sends, each to one of these lists of nodes.
    pub(crate) fn replace_by_paths(&mut self, source: NodeId, lists: Vec<Vec<NodeId>>) {
        self.worms.clear();
        self.worms.extend(lists.into_iter().map(|stops| Worm::path(source, stops)));
    }

    /// The list of stops of worm `id`, without stops, to be used again; a new one if that is no path worm.
    pub(crate) fn take_stops(&mut self, id: usize) -> Vec<NodeId> {
        let Some(Itinerary::Path(path)) = self.worms.get_mut(id).map(|worm| &mut worm.itinerary) else {
            return Vec::new();
        };
        path.stops.clear();
        std::mem::take(&mut path.stops)
    }

    /// Removes the worms from `first` on, and returns the lists of stops, without stops, of those that are path worms.
    pub(crate) fn cut(&mut self, first: usize) -> Vec<Vec<NodeId>> {
        let cut = self.worms.drain(first.min(self.worms.len())..);
        let stops = cut.filter_map(|worm| match worm.itinerary {
            Itinerary::Path(Path { mut stops, .. }) => {
                stops.clear();
                Some(stops)
            }
            _ => None,
        });
        stops.collect()
    }

    /// The tree of worm `id`, to be used again, or a new one. It has neither trunk, deliveries nor header, but may have branches, which [`Branches`] writes
    /// over.
    pub(crate) fn take_tree(&mut self, id: usize) -> Tree {
        let Some(Itinerary::Tree(tree)) = self.worms.get_mut(id).map(|worm| &mut worm.itinerary) else {
            return Tree::default();
        };
        tree.trunk = None;
        tree.delivers.clear();
        tree.header.clear();
        std::mem::take(tree)
    }

    /// Puts worm `id` in place of a worm, or behind the last.
    pub(crate) fn put(&mut self, id: usize, worm: Worm) {
        match self.worms.get_mut(id) {
            Some(place) => *place = worm,
            None => self.worms.push(worm),
        }
    }

    /// Makes worm `id` a unicast, in place of a worm, whose list of stops is used again, or behind the last.
    #[inline]
    pub(crate) fn put_unicast(&mut self, id: usize, from: NodeId, after: Option<u32>, to: NodeId) {
        match self.worms.get_mut(id) {
            Some(Worm {
                from: sender,
                after: trigger,
                itinerary: Itinerary::Path(Path { exit, stops }),
                consumption_class,
                virtual_channels,
            }) => {
                (*sender, *trigger, *exit, *consumption_class, *virtual_channels) = (from, after, None, None, None);
                stops.clear();
                stops.push(to);
            }
            _ => self.put(id, Worm { after, ..Worm::path(from, vec![to]) }),
        }
    }
}

/// A path from stop to stop, each leg routed by the algorithm's relation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// The channel that the worm must take first; `None`: the relation decides.
    pub exit: Option<ChannelId>,
    /// The nodes that it delivers to, in order. It delivers when it first visits the next of them, and at once to those directly
    /// behind it in the list that are at the same router.
    pub stops: Vec<NodeId>,
}

/// A tree of fixed channels.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tree {
    /// How the worm gets to the router where its branches begin; `None`: that is the source's.
    pub trunk: Option<Trunk>,
    /// The nodes, at the router where the branches begin, that the worm delivers to.
    pub delivers: Vec<NodeId>,
    /// The channels, each after the one that leads to it.
    pub branches: Vec<Branch>,
    /// Its header flits, where routers decode them (model.md, rule 16); empty if the algorithm has no encoding.
    pub header: Vec<HeaderFlit>,
}

/// The route of a tree worm to the router where its branches begin, routed by the algorithm's relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trunk {
    /// The channel that the worm must take first; `None`: the relation decides.
    pub exit: Option<ChannelId>,
    /// The router where the branches begin, not the sender's.
    pub to: RouterId,
}

/// A channel of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Branch {
    /// The channel.
    pub channel: ChannelId,
    /// The position of the branch that enters the router which this one leaves; `None`: it leaves the router where the
    /// branches begin.
    pub parent: Option<u32>,
    /// The nodes, at the router that the channel enters, that the worm delivers to.
    pub delivers: Vec<NodeId>,
}

/// The branches of a tree, written over those of an earlier one, whose lists of deliveries are used again.
pub(crate) struct Branches<'a> {
    branches: &'a mut Vec<Branch>,
    written: usize,
}

/// The most lists that are kept for later trees.
const MOST_SPARE: usize = 1 << 12;

thread_local! {
    /// Lists of deliveries, without any, of trees that had more branches than those which were written over them.
    static SPARE: RefCell<Vec<Vec<NodeId>>> = const { RefCell::new(Vec::new()) };
}

impl<'a> Branches<'a> {
    pub(crate) fn over(branches: &'a mut Vec<Branch>) -> Self {
        Self { branches, written: 0 }
    }

    /// Writes the next branch, and returns its place.
    #[inline]
    pub(crate) fn put(&mut self, channel: ChannelId, parent: Option<u32>) -> u32 {
        let place = self.written;
        match self.branches.get_mut(place) {
            Some(branch) => {
                (branch.channel, branch.parent) = (channel, parent);
                branch.delivers.clear();
            }
            None => {
                let delivers = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
                self.branches.push(Branch { channel, parent, delivers });
            }
        }
        self.written += 1;
        place as u32
    }

    /// What a branch that has been written delivers to.
    #[inline]
    pub(crate) fn delivers(&mut self, place: u32) -> &mut Vec<NodeId> {
        &mut self.branches[place as usize].delivers
    }

    /// Removes what is left of the earlier tree.
    pub(crate) fn end(self) {
        let rest = self.branches.drain(self.written..).map(|branch| branch.delivers);
        let of_use = rest.filter(|list| list.capacity() > 0).map(|mut list| {
            list.clear();
            list
        });
        SPARE.with_borrow_mut(|spare| {
            let room = MOST_SPARE.saturating_sub(spare.len());
            spare.extend(of_use.take(room));
        });
    }
}

impl Worm {
    /// A path worm that the source sends, free in its first channel and its consumption channels.
    pub fn path(from: NodeId, stops: Vec<NodeId>) -> Self {
        Self {
            from,
            after: None,
            itinerary: Itinerary::Path(Path { exit: None, stops }),
            consumption_class: None,
            virtual_channels: None,
        }
    }

    /// A tree worm that the source sends, with no delivery at its own router.
    pub fn tree(from: NodeId, branches: Vec<Branch>) -> Self {
        Self::of_tree(from, Tree { branches, ..Tree::default() })
    }

    /// A tree worm that the source sends.
    pub(crate) fn of_tree(from: NodeId, tree: Tree) -> Self {
        Self { from, after: None, itinerary: Itinerary::Tree(tree), consumption_class: None, virtual_channels: None }
    }

    /// A worm that the source sends with its destinations encoded in the header.
    pub fn encoded(from: NodeId, encoded: Encoded) -> Self {
        Self {
            from,
            after: None,
            itinerary: Itinerary::Encoded(encoded),
            consumption_class: None,
            virtual_channels: None,
        }
    }

    /// Sends the worm only once worm `trigger` of the plan has delivered at its sender.
    #[must_use]
    pub fn after(self, trigger: u32) -> Self {
        Self { after: Some(trigger), ..self }
    }

    /// Keeps the worm to these virtual channels of links.
    #[must_use]
    pub fn on_virtual_channels(self, range: VcRange) -> Self {
        Self { virtual_channels: Some(range), ..self }
    }

    /// The nodes that it delivers to: in order for a path, parents first for a tree, as listed for an encoded
    /// worm.
    pub fn visits(&self) -> Vec<NodeId> {
        self.visited().collect()
    }

    fn visited(&self) -> impl Iterator<Item = NodeId> {
        let (stops, branches): (&[NodeId], &[Branch]) = match &self.itinerary {
            Itinerary::Path(path) => (&path.stops, &[]),
            Itinerary::Tree(tree) => (&tree.delivers, &tree.branches),
            Itinerary::Encoded(encoded) => (&encoded.destinations, &[]),
        };
        stops.iter().chain(branches.iter().flat_map(|branch| &branch.delivers)).copied()
    }

    /// The channels that it takes in an idle network, parents first.
    ///
    /// # Errors
    /// If the relation has no route from a stop to the next, or to some destination of an encoded worm.
    pub fn channels(&self, routing: &dyn RoutingRelation) -> Result<Vec<ChannelId>, NoRoute> {
        let mut channels = Vec::new();
        self.append_channels(routing, &mut Vec::new(), &mut channels)?;
        Ok(channels)
    }

    /// Appends its [`channels`](Self::channels) to a list that has none, with another list that may be used again.
    pub(crate) fn append_channels(
        &self,
        routing: &dyn RoutingRelation,
        candidates: &mut Vec<ChannelId>,
        channels: &mut Vec<ChannelId>,
    ) -> Result<(), NoRoute> {
        let network = routing.network();
        match &self.itinerary {
            Itinerary::Path(path) => {
                let stops = path.stops.iter().map(|&stop| network.router_of(stop));
                self.append_legs(path.exit, stops, routing, candidates, channels)?;
            }
            Itinerary::Tree(tree) => {
                if let Some(trunk) = tree.trunk {
                    self.append_trunk(trunk, routing, candidates, channels)?;
                }
                channels.extend(tree.branches.iter().map(|branch| branch.channel));
            }
            Itinerary::Encoded(encoded) => {
                let route = encoded.route(routing, self.from, |_| 0)?;
                channels.extend(route.channels.into_iter().map(|(channel, _)| channel));
            }
        }
        Ok(())
    }

    /// Appends the channels of its tree's trunk.
    pub(crate) fn append_trunk(
        &self,
        Trunk { exit, to }: Trunk,
        routing: &dyn RoutingRelation,
        candidates: &mut Vec<ChannelId>,
        channels: &mut Vec<ChannelId>,
    ) -> Result<(), NoRoute> {
        self.append_legs(exit, [to], routing, candidates, channels)
    }

    /// Appends the channels from its sender, by this exit, from stop to stop.
    fn append_legs(
        &self,
        exit: Option<ChannelId>,
        stops: impl IntoIterator<Item = RouterId>,
        routing: &dyn RoutingRelation,
        candidates: &mut Vec<ChannelId>,
        channels: &mut Vec<ChannelId>,
    ) -> Result<(), NoRoute> {
        let network = routing.network();
        channels.extend(exit);
        let mut at = exit.map_or(network.entry_of(self.from), |channel| network.to(channel));
        for stop in stops {
            append_route_with(routing, (at, channels.last().copied()), stop, candidates, channels)?;
            at = stop;
        }
        Ok(())
    }
}

/// What is wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// No worm delivers to a destination.
    #[error("no worm delivers to destination {0}")]
    Missing(NodeId),
    /// A worm delivers to a node for the second time, or to a node that is not a destination.
    #[error("worm {worm} delivers to node {node}, which {why}")]
    Unwanted {
        /// The worm.
        worm: usize,
        /// The node.
        node: NodeId,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The sender of a worm does not have the message by then.
    #[error("worm {worm} starts at node {from}, which {why}")]
    Untriggered {
        /// The worm.
        worm: usize,
        /// Its sender.
        from: NodeId,
        /// What is wrong.
        why: &'static str,
    },
    /// A worm has no stops, a tree's branches are not connected, or a header cannot encode the destinations.
    #[error("worm {worm} {problem}")]
    Shape {
        /// The worm.
        worm: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl Plan {
    /// Checks that the plan delivers to each destination exactly once, that every sender has the message before it sends,
    /// and that every itinerary is connected.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self, network: &Network, multicast: &Multicast) -> Result<(), PlanError> {
        self.check_with(network, multicast, &mut Vec::new())
    }

    /// Whether it is that of a multicast to one destination, with one worm that the source sends there, and that may take any channel. There is nothing to
    /// [check](Self::check) then.
    #[inline]
    pub fn is_unicast_of(&self, multicast: &Multicast) -> bool {
        match (&self.worms[..], multicast.destinations()) {
            (
                [
                    Worm {
                        from,
                        after: None,
                        itinerary: Itinerary::Path(Path { exit: None, stops }),
                        consumption_class: None,
                        virtual_channels: None,
                    },
                ],
                [destination],
            ) => matches!(stops[..], [stop] if stop == *destination) && *from == multicast.source(),
            _ => false,
        }
    }

    /// As [`check`](Self::check), with a reusable list: runs check every plan.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_with(
        &self,
        network: &Network,
        multicast: &Multicast,
        delivered_by: &mut Vec<(NodeId, Option<usize>)>,
    ) -> Result<(), PlanError> {
        if self.is_unicast_of(multicast) {
            return Ok(());
        }
        // A sorted list is faster than a hash table.
        delivered_by.clear();
        delivered_by.extend(multicast.destinations().iter().map(|&node| (node, None)));
        delivered_by.sort_unstable();
        let place = |list: &[(NodeId, Option<usize>)], node| list.binary_search_by_key(&node, |entry| entry.0).ok();
        // A node that is no destination may get the message if it sends it on.
        let relays = |node: NodeId, id: usize| {
            let sent_on = |worm: &Worm| worm.from == node && worm.after == Some(id as u32);
            node != multicast.source() && self.worms.get(id + 1..).is_some_and(|later| later.iter().any(sent_on))
        };
        for (id, worm) in self.worms.iter().enumerate() {
            let untriggered = |why| PlanError::Untriggered { worm: id, from: worm.from, why };
            match worm.after {
                None if worm.from != multicast.source() => return Err(untriggered("is not the source")),
                Some(trigger) if !self.has_from(delivered_by, worm, trigger as usize, id) => {
                    return Err(untriggered(
                        "the worm that triggers it does not deliver to, or not before it in the plan",
                    ));
                }
                _ => {}
            }
            self.check_shape(network, id)?;
            for node in worm.visited() {
                let unwanted = |why| PlanError::Unwanted { worm: id, node, why };
                let Some(at) = place(delivered_by, node) else {
                    if relays(node, id) {
                        continue;
                    }
                    return Err(unwanted("is not a destination"));
                };
                if delivered_by[at].1.replace(id).is_some() {
                    return Err(unwanted("has the message already"));
                }
            }
        }
        let missing = delivered_by.iter().find(|(_, worm)| worm.is_none());
        missing.map_or(Ok(()), |&(node, _)| Err(PlanError::Missing(node)))
    }

    /// Whether a worm's sender has the message from an earlier worm of the plan.
    fn has_from(&self, delivered_by: &[(NodeId, Option<usize>)], worm: &Worm, trigger: usize, id: usize) -> bool {
        match delivered_by.binary_search_by_key(&worm.from, |entry| entry.0) {
            Ok(at) => delivered_by[at].1 == Some(trigger),
            Err(_) => trigger < id && self.worms[trigger].visited().any(|node| node == worm.from),
        }
    }

    fn check_shape(&self, network: &Network, id: usize) -> Result<(), PlanError> {
        let worm = &self.worms[id];
        let problem = |problem| Err(PlanError::Shape { worm: id, problem });
        let source = network.entry_of(worm.from);
        match &worm.itinerary {
            Itinerary::Path(path) if path.stops.is_empty() => problem("has no stop"),
            Itinerary::Path(path) if path.exit.is_some_and(|exit| network.from(exit) != source) => {
                problem("leaves by a channel of another router")
            }
            Itinerary::Path(path) => {
                if path.exit.is_some() && network.router_of(path.stops[0]) == source {
                    return problem("leaves its sender's router, where its first stop is");
                }
                Ok(())
            }
            Itinerary::Encoded(encoded) => encoded.problem(network).map_or(Ok(()), problem),
            Itinerary::Tree(tree) => {
                let top = tree.trunk.map_or(source, |trunk| trunk.to);
                if tree.trunk.is_some_and(|trunk| trunk.to == source) {
                    return problem("has a trunk that ends where it begins");
                }
                if tree.trunk.and_then(|trunk| trunk.exit).is_some_and(|exit| network.from(exit) != source) {
                    return problem("leaves by a channel of another router");
                }
                let start = |branch: &Branch| match branch.parent {
                    None => Some(top),
                    Some(parent) => tree.branches.get(parent as usize).map(|p| network.to(p.channel)),
                };
                let mut has_child = vec![false; tree.branches.len()];
                for (position, branch) in tree.branches.iter().enumerate() {
                    if branch.parent.is_some_and(|p| p as usize >= position) {
                        return problem("has a branch before the one that leads to it");
                    }
                    if start(branch) != Some(network.from(branch.channel)) {
                        return problem("has a branch that does not start where its parent ends");
                    }
                    if branch.delivers.iter().any(|&node| network.router_of(node) != network.to(branch.channel)) {
                        return problem("has a branch that delivers to a node of another router");
                    }
                    if let Some(parent) = branch.parent {
                        has_child[parent as usize] = true;
                    }
                }
                if tree.delivers.iter().any(|&node| network.router_of(node) != top) {
                    return problem("delivers where its branches begin to a node of another router");
                }
                let dangling = |(i, branch): (usize, &Branch)| !has_child[i] && branch.delivers.is_empty();
                if tree.branches.is_empty() && tree.delivers.is_empty() {
                    return problem("has no delivery");
                }
                if tree.branches.iter().enumerate().any(dangling) {
                    return problem("has a branch that leads to no delivery");
                }
                // A worm holds what it was granted: it would wait for itself.
                let mut channels: Vec<ChannelId> = tree.branches.iter().map(|branch| branch.channel).collect();
                channels.sort_unstable();
                if channels.windows(2).any(|pair| pair[0] == pair[1]) {
                    return problem("takes a channel twice");
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wormcast_network::{RouterId, TopologySpec};

    #[test]
    fn only_plain_unicasts_need_no_check() {
        let node = NodeId::new;
        let to = |list: &[u32]| Multicast::new(node(1), &list.iter().map(|&to| node(to)).collect::<Vec<_>>());
        let plan = |worms: Vec<Worm>| Plan { worms };
        let unicast = || Worm::path(node(1), vec![node(2)]);
        let exit = Itinerary::Path(Path { exit: Some(ChannelId::new(0)), stops: vec![node(2)] });
        assert!(plan(vec![unicast()]).is_unicast_of(&to(&[2])));
        let others = [
            vec![],
            vec![unicast(), unicast()],
            vec![Worm::path(node(1), vec![node(3)])],
            vec![Worm::path(node(1), vec![node(2), node(3)])],
            vec![Worm::path(node(0), vec![node(2)])],
            vec![unicast().after(0)],
            vec![unicast().on_virtual_channels(VcRange::only(0))],
            vec![Worm { consumption_class: Some(0), ..unicast() }],
            vec![Worm { itinerary: exit, ..unicast() }],
            vec![Worm::tree(node(1), Vec::new())],
        ];
        for worms in others {
            assert!(!plan(worms.clone()).is_unicast_of(&to(&[2])), "{worms:?}");
        }
        assert!(!plan(vec![unicast()]).is_unicast_of(&to(&[2, 3])));
    }

    fn node(id: u32) -> NodeId {
        NodeId::new(id)
    }

    #[test]
    fn check_names_the_broken_rule() {
        let mesh = "mesh:3x3".parse::<TopologySpec>().unwrap().build().unwrap();
        let multicast = Multicast::new(node(0), &[node(1), node(2)]);
        let check = |worms: Vec<Worm>| Plan { worms }.check(&mesh, &multicast).map_err(|e| e.to_string());
        assert_eq!(check(vec![Worm::path(node(0), vec![node(1), node(2)])]), Ok(()));
        assert_eq!(
            check(vec![Worm::path(node(0), vec![node(1)]), Worm::path(node(1), vec![node(2)]).after(0)]),
            Ok(())
        );
        assert_eq!(
            check(vec![Worm::path(node(0), vec![node(1)])]),
            Err("no worm delivers to destination 2".to_owned())
        );
        assert_eq!(
            check(vec![Worm::path(node(0), vec![node(1), node(1)])]),
            Err("worm 0 delivers to node 1, which has the message already".to_owned())
        );
        assert_eq!(
            check(vec![Worm::path(node(0), vec![node(4)])]),
            Err("worm 0 delivers to node 4, which is not a destination".to_owned())
        );
        assert_eq!(
            check(vec![Worm::path(node(1), vec![node(2)])]),
            Err("worm 0 starts at node 1, which is not the source".to_owned())
        );
        let channel = |u, v| mesh.channel_between(RouterId::new(u), RouterId::new(v)).unwrap();
        let branch = |channel: ChannelId, parent, delivers: bool| Branch {
            channel,
            parent,
            delivers: Vec::from_iter(delivers.then(|| node(mesh.to(channel).raw()))),
        };
        let tree = |branches| check(vec![Worm::tree(node(0), branches)]);
        assert_eq!(tree(vec![branch(channel(0, 1), None, true), branch(channel(1, 2), Some(0), true)]), Ok(()));
        assert_eq!(
            tree(vec![branch(channel(0, 1), None, true), branch(channel(4, 5), Some(0), true)]),
            Err("worm 0 has a branch that does not start where its parent ends".to_owned())
        );
        assert_eq!(
            tree(vec![branch(channel(0, 1), None, true), branch(channel(0, 3), None, false)]),
            Err("worm 0 has a branch that leads to no delivery".to_owned())
        );
        let there_and_back = |back| {
            tree(vec![
                branch(channel(0, 1), None, true),
                branch(channel(1, 0), Some(0), false),
                branch(back, Some(1), true),
            ])
        };
        let twice = there_and_back(channel(0, 1));
        assert_eq!(twice, Err("worm 0 takes a channel twice".to_owned()));
    }
}
