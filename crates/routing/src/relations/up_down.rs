//! Up*/down* routing's turns.

use std::collections::VecDeque;

use wormcast_network::text::did_you_mean;
use wormcast_network::watch::step_every;
use wormcast_network::{Network, RouterId, router_named};

use crate::registry::RoutingDescriptor;
use crate::relation::Unsupported;
use crate::relations::destination_tag::DESTINATION_TAG;
use crate::turns::turn_routing::{Adaptivity, TurnRouting};
use crate::turns::turn_set::{Label, TurnSet};

/// [`up_down`]'s turns, by all channels on shortest permitted paths ([`TurnRouting`]).
pub const UP_DOWN: RoutingDescriptor = RoutingDescriptor::new(
    "up-down",
    "all channels on shortest permitted paths",
    "links with channels both ways",
    |network, options| {
        let turns = up_down(network, options.root.unwrap_or_default())?;
        Ok(Box::new(TurnRouting::new(UP_DOWN.name, network, turns, Adaptivity::Adaptive)))
    },
)
.with_root()
.of_any_kind()
.over_turns();

/// The permitted turns of the adaptive routing, restricted to the first of its channels.
pub const UP_DOWN_DETERMINISTIC: RoutingDescriptor = RoutingDescriptor::new(
    "up-down-deterministic",
    "one channel: the smallest on shortest permitted paths",
    UP_DOWN.needs,
    |network, options| {
        let turns = up_down(network, options.root.unwrap_or_default())?;
        Ok(Box::new(TurnRouting::new(UP_DOWN_DETERMINISTIC.name, network, turns, Adaptivity::First)))
    },
)
.with_root()
.of_any_kind()
.over_turns();

/// Which router up*/down* takes for the root of its tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Root {
    /// The smallest id.
    #[default]
    SmallestId,
    /// The largest number of links; of several, the smallest id.
    MaximumDegree,
    /// This router.
    Router(RouterId),
}

/// A text that does not name a [`Root`] of the network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidRoot(String);

impl Root {
    /// Parses a root: `smallest-id`, `maximum-degree` (or `max-degree`), a router's number, in a grid its coordinates, or its name if the
    /// network has names.
    ///
    /// # Errors
    /// If it is neither, naming what is nearest, or the name of several routers.
    ///
    /// ```
    /// use wormcast_network::{RouterId, TopologySpec};
    /// use wormcast_routing::Root;
    ///
    /// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
    /// assert_eq!(Root::parse(&mesh, "maximum-degree"), Ok(Root::MaximumDegree));
    /// assert_eq!(Root::parse(&mesh, "1,1"), Ok(Root::Router(RouterId::new(5))));
    /// let message = Root::parse(&mesh, "max-degre").unwrap_err().to_string();
    /// assert!(message.ends_with("; did you mean `maximum-degree`?"), "{message}");
    /// # Ok::<(), wormcast_network::TopologyError>(())
    /// ```
    pub fn parse(network: &Network, text: &str) -> Result<Self, InvalidRoot> {
        let given = text.trim();
        match given {
            "smallest-id" => return Ok(Self::SmallestId),
            "maximum-degree" | "max-degree" => return Ok(Self::MaximumDegree),
            _ => {}
        }
        let routers = || network.router_ids();
        let last = network.routers().saturating_sub(1);
        let number = given.bytes().all(|byte| byte.is_ascii_digit()).then(|| given.parse::<usize>().ok()).flatten();
        // What is no router's number may be a name.
        let number = number.filter(|&number| number <= last);
        let coordinates = || {
            let grid = network.shape().grid()?;
            let parts = given.split(',').map(|part| part.trim().parse().ok()).collect::<Option<Vec<u32>>>()?;
            let fits = parts.len() == grid.dimensions() && parts.iter().zip(grid.extents()).all(|(c, k)| c < k);
            fits.then(|| grid.index(&parts))
        };
        let mut router = number.or_else(coordinates).filter(|&router| router <= last);
        if router.is_none() {
            let named = router_named(network, text).map_err(|error| InvalidRoot(error.to_string()))?;
            router = named.map(RouterId::index);
        }
        match router {
            Some(router) => Ok(Self::Router(RouterId::new(router as u32))),
            None => {
                let names = routers().filter_map(|router| network.router_name(router));
                let words = ["smallest-id", "maximum-degree"].into_iter().chain(names);
                let hint = did_you_mean(given, words);
                let or_name = if network.has_names() { ", or a name" } else { "" };
                Err(InvalidRoot(format!(
                    "`{given}` is not a root in `{}`: expected `smallest-id`, `maximum-degree` or a router, 0 to {last}{or_name}{hint}",
                    network.name()
                )))
            }
        }
    }
}

/// The turns that up*/down* prohibits, on any network.
///
/// A breadth-first tree from the root gives every router a level. A link goes up towards the lower level, between routers of
/// one level towards the smaller id. Worms go up first and then down: turns from down to up are prohibited, which, for both
/// directions, are those between two links that both go up from the router.
///
/// No cycle goes only up or only down, and every worm can go up to the root and down again: free of deadlock and
/// connected. No single turn can be permitted in addition: from the one router up to an ancestor of both, down to the other,
/// and by the turn back would be a cycle. But there are more prohibited turns than [turn
/// prohibition](crate::turn_prohibition()) needs. Where a network is not connected, every further component has a
/// root of its own, found by the same rule or, if a router was named, with the smallest id.
///
/// *Source:* Schroeder et al. 1990 (Autonet); paper 3, section 1. O(channels).
///
/// # Errors
/// If the root is not a router of the network.
///
/// ```
/// use wormcast_network::TopologySpec;
/// use wormcast_routing::{Root, up_down};
///
/// // A ring: no worm turns where the two routes down from the root meet.
/// let ring = "torus:6".parse::<TopologySpec>()?.build()?;
/// let turns = up_down(&ring, Root::SmallestId)?;
/// let (one, other) = turns.prohibited(&ring).next().unwrap();
/// assert_eq!(ring.from(one).raw(), 3);
/// assert_eq!((ring.to(one).raw(), ring.to(other).raw()), (2, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn up_down(network: &Network, root: Root) -> Result<TurnSet, Unsupported> {
    let routers = network.routers();
    if let Root::Router(router) = root
        && router.index() >= routers
    {
        let last = routers.saturating_sub(1);
        return Err(Unsupported::new(UP_DOWN.name, &format!("router {router} as its root"), network)
            .with_hint(&format!("its routers are 0 to {last}")));
    }
    require_ways_back(&UP_DOWN, network)?;
    let level = levels(network, root);
    let rank = |r: RouterId| (level[r.index()], r);
    let mut labels = Vec::with_capacity(network.channels());
    for router in (0..routers as u32).map(RouterId::new) {
        step_every(12, "finding the ways up", "routers", router.index(), routers);
        for channel in network.outputs(router) {
            let up = rank(network.to(channel)) < rank(router);
            labels.push(if up { Label::group(1) } else { Label::FREE });
        }
    }
    Ok(TurnSet::new(network, labels))
}

/// Turns are between links that worms take both ways.
pub(crate) fn require_ways_back(routing: &RoutingDescriptor, network: &Network) -> Result<(), Unsupported> {
    if network.is_unidirectional() {
        return Err(routing.unsupported(network).with_hint(&format!("use `{}`", DESTINATION_TAG.name)));
    }
    Ok(())
}

/// The distance of every router from the root of its component.
fn levels(network: &Network, root: Root) -> Vec<u32> {
    let mut roots: Vec<RouterId> = network.router_ids().collect();
    match root {
        Root::SmallestId => {}
        Root::MaximumDegree => roots.sort_by_key(|&r| std::cmp::Reverse(network.outputs(r).len())),
        Root::Router(router) => roots.insert(0, router),
    }
    let mut level = vec![u32::MAX; network.routers()];
    let mut queue = VecDeque::new();
    for root in roots {
        if level[root.index()] == u32::MAX {
            level[root.index()] = 0;
            queue.push_back(root);
        }
        while let Some(router) = queue.pop_front() {
            for channel in network.outputs(router) {
                let next = network.to(channel);
                if level[next.index()] == u32::MAX {
                    level[next.index()] = level[router.index()] + 1;
                    queue.push_back(next);
                }
            }
        }
    }
    level
}
