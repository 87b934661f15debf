//! Chooses forwarding tables for a routing: one output for each router and destination, so that every route is one of the routing's.

mod search;

use thiserror::Error;
use wormcast_network::{ChannelId, NodeId, RouterId};

use self::search::Chooser;
use super::{Destination, ForwardingTables, Output, Target};
use crate::relation::RoutingRelation;
use crate::turns::turn_routing::TurnRouting;

/// How a worm entered a router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// It started there.
    Source,
    /// On a channel.
    By(ChannelId),
}

/// Two arrivals that no single table entry can serve.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The router of the entry.
    pub router: RouterId,
    /// The router that worms are to reach.
    pub target: RouterId,
    /// Two arrivals, and the channels that the routing has for each: none in common.
    pub needs: [(Arrival, Vec<ChannelId>); 2],
    /// Whether it is certain that no tables exist, because a router has no output left that the next router could continue. Otherwise
    /// the search ended without any, and this is an example of why.
    pub proven: bool,
}

/// Why there are no tables for a routing.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum NoTables {
    /// No tables have a route of the routing for every pair.
    #[error("no single output of router {} serves all worms to router {}", .0.router, .0.target)]
    Conflict(Box<Conflict>),
    /// The search was given up.
    #[error("no tables were found for worms to router {0} within the steps allowed: there may be some")]
    GivenUp(RouterId),
    /// The routing itself has no route.
    #[error("there is no route from router {from} to router {to}")]
    NoRoute {
        /// Where it should start.
        from: RouterId,
        /// Where it should end.
        to: RouterId,
    },
}

/// The tables found.
#[derive(Clone, Debug)]
pub struct ChosenTables {
    /// The tables.
    pub tables: ForwardingTables,
    /// Routers to which some routes are longer than the routing's.
    pub detours: Vec<RouterId>,
}

/// Chooses forwarding tables: for every node, an output at every router, such that the routes from all nodes are routes of
/// `relation`.
///
/// Tables ignore the channel on which a worm arrived, so two worms to one destination that meet continue together. For each
/// destination this is a search for a tree: routers are taken in the order of their distance to the destination, each chooses an
/// output whose next router has chosen one that the relation has for worms that come that way, and no choice is made that leaves a
/// router further out without any. First, outputs that can be part of no tree are struck out; where that leaves a router
/// none, there are no such tables, and a [`Conflict`] says why. Otherwise the search goes back on its choices, up to a limit, so it
/// may give up although tables exist. Among equally good outputs the one with the least traffic so far is taken, so that nodes of
/// one router, and parallel links, share the load.
///
/// With `detours`, for a routing over permitted turns, destinations without such a tree get one whose routes take permitted
/// turns only but are not all shortest. It grows by the nearest routers first.
///
/// There are entries at routers without nodes that no message passes, and for routers as destinations: management needs both, and
/// takes detours where it has to. Where the routing permits none, these are missing.
///
/// *Complexity:* O(routers x channels x degree), unless the search has to go back.
///
/// # Errors
/// If there are none, or none were found.
pub fn choose_tables(relation: &dyn RoutingRelation, detours: bool) -> Result<ChosenTables, NoTables> {
    let all_turns = relation.capabilities().turns.map(TurnRouting::turns);
    let network = relation.network();
    let mut chooser = Chooser::new(network, relation);
    let mut entries = Vec::new();
    let mut with_detours = Vec::new();
    for target in network.router_ids() {
        let nodes: Vec<NodeId> = network.nodes_of(target).collect();
        // Management may take detours.
        let turns = all_turns.filter(|_| detours || nodes.is_empty());
        let options = match chooser.options(target) {
            Ok(options) => Some(options),
            Err(_) if nodes.is_empty() => None,
            Err(NoTables::Conflict(_)) if turns.is_some() => None,
            Err(error) => return Err(error),
        };
        let mut first_tree = None;
        let mut detour = false;
        // A router without nodes is still reached by management.
        for node in nodes.iter().copied().map(Some).chain(nodes.is_empty().then_some(None)) {
            let shortest = options.as_ref().map(|options| chooser.search(target, options));
            let tree = match (shortest, turns) {
                (Some(Ok(tree)), _) => tree,
                (_, Some(turns)) => match chooser.grow(target, turns) {
                    Ok(tree) => {
                        detour = node.is_some();
                        tree
                    }
                    Err(_) if node.is_none() => continue,
                    Err(error) => return Err(error),
                },
                (_, None) if node.is_none() => continue,
                (Some(Err(error)), None) => return Err(error),
                (None, None) => continue,
            };
            let tree = chooser.complete(target, tree);
            chooser.count(&tree);
            if let Some(node) = node {
                let destination = Destination { target: Target::Node(node), address: None };
                entries.extend(tree.iter().map(|&(router, channel)| (destination, router, Output::Channel(channel))));
                entries.push((destination, target, Output::Node(node)));
            }
            first_tree.get_or_insert(tree);
        }
        if let Some(tree) = first_tree {
            let destination = Destination { target: Target::Router(target), address: None };
            entries.extend(tree.iter().map(|&(router, channel)| (destination, router, Output::Channel(channel))));
            entries.push((destination, target, Output::Own));
        }
        if detour {
            with_detours.push(target);
        }
    }
    let tables = ForwardingTables::new(network, &entries).expect("one entry for each router and destination");
    Ok(ChosenTables { tables, detours: with_detours })
}
