//! Multicasts to the nodes that an address and a mask name.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use wormcast_network::{Network, NodeId, RouterId};
use wormcast_routing::{Dependencies, E_CUBE, RoutingRelation, Unsupported};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::mesh::fork::ForkingTrees;
use crate::algorithms::mesh::xy_tree::{XY_TREE, YX_TREE, xy_trees, yx_trees};
use crate::capabilities::{AlgorithmCapabilities, Selective};
use crate::plan::Plan;
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Sends};
use crate::registry::options::AlgorithmOption;

/// [`MaskMulticast`], along the row first.
pub const XY_MASK: Descriptor = Descriptor::built_in(
    "xy-mask",
    "one XY tree to 2^n nodes that an address and a mask name; with `cover`, several to any nodes",
    Sends::Trees,
    |network, options| Ok(Box::new(MaskMulticast::xy(network, options)?)),
)
.on(Family::Mesh2d)
.routed_by(&E_CUBE)
.offering(&[AlgorithmOption::Cover]);

/// [`MaskMulticast`], along the column first.
pub const YX_MASK: Descriptor = Descriptor::built_in(
    "yx-mask",
    "one YX tree to 2^n nodes that an address and a mask name; with `cover`, several to any nodes",
    Sends::Trees,
    |network, options| Ok(Box::new(MaskMulticast::yx(network, options)?)),
)
.on(Family::Mesh2d)
.offering(&[AlgorithmOption::Cover]);

/// An address and a mask: the routers whose coordinates are those of the address in all bits that the mask does not have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Mask {
    /// The smallest coordinates: none of the mask's bits is set.
    pub at: (u32, u32),
    /// The bits of both coordinates that may be any.
    pub mask: (u32, u32),
}

impl Mask {
    /// Whether it names the router at these coordinates.
    pub fn names(self, (x, y): (u32, u32)) -> bool {
        (x & !self.mask.0, y & !self.mask.1) == self.at
    }

    /// How many routers it names, in a mesh that has them all: 2^n.
    pub fn size(self) -> u64 {
        1 << (self.mask.0.count_ones() + self.mask.1.count_ones())
    }

    /// The smallest one that names all of these, of which there is at least one.
    fn around(all: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let and = all.clone().fold((u32::MAX, u32::MAX), |(a, b), (x, y)| (a & x, b & y));
        let or = all.fold((0, 0), |(a, b), (x, y)| (a | x, b | y));
        Self { at: and, mask: (or.0 & !and.0, or.1 & !and.1) }
    }
}

/// Mask multicast: the header says an address and a mask, and a tree worm goes to the 2^n nodes that both name.
///
/// Source: `FlooNoC`, `floo_route_xymask.sv`. Between the smallest and the largest coordinates that the mask allows, the worm goes along the source's row, and along each column that
/// the mask names: that is the [XY tree](crate::XY_TREE) of these nodes (`xy-mask`), or its mirror image (`yx-mask`). A set of other destinations is
/// refused, and the error names the nearest that would do. With the option `cover` it is sent as several worms, largest masks first, each the largest that names only nodes
/// which still lack the message: seldom more than necessary.
///
/// The hardware sends a copy to the source, too, if the mask names it. Here a source is never a destination: destinations are a mask with or without their
/// source, and the copy, which takes no link, is not made.
///
/// On 2-D meshes. Safe and unsafe as the [XY tree](crate::XY_TREE). O(n^1.6 log n) for a cover of n destinations.
///
/// ```
/// use wormcast_multicast::{AlgorithmOptions, Multicast, Options, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec, parse_node_list};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let multicast = |list: &str| Ok::<_, Box<dyn std::error::Error>>(Multicast::new(NodeId::new(0), &parse_node_list(&mesh, list)?));
/// let mask = algorithm_by_name("xy-mask", &mesh, &Options::default())?;
/// assert_eq!(mask.refusal(&multicast("1,1;3,1;1,3;3,3")?), None);
/// // With the source these are a mask.
/// assert_eq!(mask.refusal(&multicast("1,0;0,1;1,1")?), None);
/// assert!(mask.refusal(&multicast("1,1;2,1;3,1")?).is_some());
/// let cover = Options { own: AlgorithmOptions { cover: Some(true), ..AlgorithmOptions::default() }, ..Options::default() };
/// let cover = algorithm_by_name("xy-mask", &mesh, &cover)?;
/// assert_eq!(cover.plan(&multicast("1,1;2,1;3,1")?).worms.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MaskMulticast {
    name: &'static str,
    trees: ForkingTrees,
    cover: bool,
}

impl MaskMulticast {
    /// `xy-mask` on a 2-D mesh.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn xy(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        one_node_each(XY_MASK.name, XY_TREE.name, network)?;
        let cover = options.own.cover == Some(true);
        Ok(Self { name: XY_MASK.name, trees: xy_trees(&XY_MASK, network)?, cover })
    }

    /// `yx-mask` on a 2-D mesh.
    ///
    /// # Errors
    /// If the network is of another kind, or a routing is asked for.
    pub fn yx(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        one_node_each(YX_MASK.name, YX_TREE.name, network)?;
        let cover = options.own.cover == Some(true);
        Ok(Self { name: YX_MASK.name, trees: yx_trees(&YX_MASK, network, options)?, cover })
    }

    fn coordinates(&self, router: RouterId) -> (u32, u32) {
        let along = |d| self.trees.grid().coordinate(router.index(), d);
        (along(0), along(1))
    }

    /// What is to be named by masks.
    fn masks(&self, multicast: &Multicast) -> Masks {
        let network = &**self.trees.routing().network();
        let at = |&node: &NodeId| self.coordinates(network.router_of(node));
        let mut wanted: Vec<(u32, u32)> = multicast.destinations().iter().map(at).collect();
        wanted.sort_unstable();
        wanted.dedup();
        Masks { wanted, source: at(&multicast.source()) }
    }

    /// The destinations that a mask names, in the order in which they were given.
    fn named(&self, multicast: &Multicast, mask: Mask) -> Vec<NodeId> {
        let network = &**self.trees.routing().network();
        let named = |node: &&NodeId| mask.names(self.coordinates(network.router_of(**node)));
        multicast.destinations().iter().filter(named).copied().collect()
    }
}

/// The routers that want a message, sorted, and that of its source.
struct Masks {
    wanted: Vec<(u32, u32)>,
    source: (u32, u32),
}

impl Masks {
    /// Whether one mask names all that want the message, and nobody else but perhaps the source.
    fn single(&self) -> Option<Mask> {
        let exactly = |mask: Mask| mask.size() == self.wanted.len() as u64 + u64::from(self.adds_source(mask));
        let alone = Mask::around(self.wanted.iter().copied());
        let with_source = Mask::around(self.wanted.iter().copied().chain([self.source]));
        [alone, with_source].into_iter().find(|&mask| exactly(mask))
    }

    /// Whether a mask names the source, which does not want the message.
    fn adds_source(&self, mask: Mask) -> bool {
        mask.names(self.source) && self.wanted.binary_search(&self.source).is_err()
    }

    /// All masks that name only routers that want the message, or the source.
    ///
    /// Each is found once, bit by bit from the lowest: O(routers) for each mask of bits that any of them has.
    fn within(&self) -> Vec<Mask> {
        // Coordinates are put together to numbers in which each bit of theirs is one bit.
        let all = || self.wanted.iter().chain([&self.source]);
        let (wide, high) = all().fold((0, 0), |(wide, high), &(x, y)| (wide | x, high | y));
        let height = u32::BITS - high.leading_zeros();
        let numbers = 1usize << (u32::BITS - wide.leading_zeros() + height);
        let (number, apart) =
            (|(x, y): (u32, u32)| x << height | y, |number: u32| (number >> height, number & ((1 << height) - 1)));
        let bits = number((wide, high));
        let bits: Vec<u32> = (0..u32::BITS).map(|place| 1 << place).filter(|bit| bits & bit != 0).collect();
        let mut places: Vec<u32> = self.wanted.iter().map(|&at| number(at)).collect();
        if self.wanted.binary_search(&self.source).is_err() {
            places.push(number(self.source));
        }
        let (mut found, mut present) = (Vec::new(), vec![0u64; numbers.div_ceil(64)]);
        // The addresses that a mask may have, and the bits above its own.
        let mut open = vec![(0, places, &bits[..])];
        while let Some((mask, places, above)) = open.pop() {
            found.extend(places.iter().map(|&at| Mask { at: apart(at), mask: apart(mask) }));
            for &at in &places {
                present[at as usize / 64] |= 1 << (at % 64);
            }
            for (place, bit) in above.iter().enumerate() {
                // Whether the other half is there, that with the bit set, cannot be foreseen.
                let (mut whole, mut count) = (vec![0; places.len()], 0);
                for &at in &places {
                    let other = at | bit;
                    whole[count] = at;
                    count += usize::from(at != other) & (present[other as usize / 64] >> (other % 64)) as usize & 1;
                }
                whole.truncate(count);
                if count > 0 {
                    open.push((mask | bit, whole, &above[place + 1..]));
                }
            }
            for &at in &places {
                present[at as usize / 64] = 0;
            }
        }
        found.retain(|&mask| self.gain(mask) > 0);
        found
    }

    /// How many that want the message a mask names, which names nobody else but perhaps the source.
    fn gain(&self, mask: Mask) -> u64 {
        mask.size() - u64::from(self.adds_source(mask))
    }

    /// Masks that name more come first.
    fn rank(&self, mask: Mask) -> (Reverse<u64>, Mask) {
        (Reverse(self.gain(mask)), mask)
    }

    /// Masks that name every router that wants the message once, and nobody else but perhaps the source.
    fn cover(&self) -> Vec<Mask> {
        if let Some(single) = self.single() {
            return vec![single];
        }
        let mut left: HashSet<(u32, u32)> = self.wanted.iter().copied().collect();
        let mut chosen = Vec::new();
        let mut within = self.within();
        within.sort_unstable_by_key(|&mask| self.rank(mask));
        for mask in within {
            if left.is_empty() {
                break;
            }
            let named: Vec<_> = self.wanted.iter().copied().filter(|&at| mask.names(at)).collect();
            if named.iter().all(|at| left.contains(at)) {
                for at in &named {
                    left.remove(at);
                }
                chosen.push(mask);
            }
        }
        chosen
    }
}

/// Refuses a mesh whose routers have several nodes: masks name routers.
fn one_node_each(name: &str, instead: &str, network: &Network) -> Result<(), Unsupported> {
    if network.has_one_node_each() || network.shape().mesh().is_none() {
        return Ok(());
    }
    let error = Unsupported::new(name, "one node a router, as its masks name routers", network);
    Err(error.with_hint(&format!("`{instead}` sends the same trees to any nodes")))
}

impl Selective for MaskMulticast {
    fn refusal(&self, multicast: &Multicast) -> Option<String> {
        let masks = self.masks(multicast);
        if self.cover || masks.wanted.is_empty() || masks.single().is_some() {
            return None;
        }
        let text = |mask: Mask| {
            let ((x, y), (mx, my)) = (mask.at, mask.mask);
            let size = mask.size();
            let nodes = if size == 1 { "node" } else { "nodes" };
            format!("{x},{y} with mask {mx},{my} ({size} {nodes})")
        };
        let around = Mask::around(masks.wanted.iter().copied());
        let within = masks.within().into_iter().min_by_key(|&mask| masks.rank(mask)).map(text).unwrap_or_default();
        // Every mask that has them all has what the smallest one names.
        let grid = self.trees.grid();
        let (x, y) = (around.at.0 | around.mask.0, around.at.1 | around.mask.1);
        let nearest = if x < grid.extents()[0] && y < grid.extents()[1] {
            format!("the nearest are {}, which has them all, and {within}, the largest of them", text(around))
        } else {
            format!(
                "the nearest is {within}, the largest of them, as a mask that has them all names nodes beyond the mesh"
            )
        };
        Some(format!(
            "sends to 2^n nodes that an address and a mask name, and these {} are not such a set; {nearest}; with the option `cover`, several masks reach them",
            masks.wanted.len(),
        ))
    }
}

impl Algorithm for MaskMulticast {
    fn name(&self) -> &'static str {
        self.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self.trees.routing()
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        let none = multicast.destinations().is_empty();
        let masks = if none { Vec::new() } else { self.masks(multicast).cover() };
        plan.worms.truncate(masks.len());
        for (id, mask) in masks.into_iter().enumerate() {
            self.trees.put_worm(plan, id, multicast.source(), &self.named(multicast, mask), None);
        }
    }

    fn dependencies(&self) -> Dependencies<'_> {
        self.trees.dependencies()
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        let selective: &dyn Selective = self;
        AlgorithmCapabilities {
            trees: Some(&self.trees),
            selective: Some(selective),
            ..AlgorithmCapabilities::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The fewest masks that name each of some of 16 places once, for every set of places without a source among them.
    fn fewest() -> Vec<u8> {
        let mut cubes: Vec<u32> = Vec::new();
        for mask in 0..16u32 {
            for at in (0..16u32).filter(|at| at & mask == 0) {
                cubes.push((0..16).filter(|place| place & !mask == at).map(|place| 1 << place).sum());
            }
        }
        let mut fewest = vec![0u8; 1 << 16];
        for set in 1..1u32 << 16 {
            let lowest = set & set.wrapping_neg();
            let fits = cubes.iter().filter(|&&cube| cube & lowest != 0 && cube & !set == 0);
            fewest[set as usize] = fits.map(|cube| fewest[(set & !cube) as usize] + 1).min().unwrap();
        }
        fewest
    }

    proptest! {
        /// All masks of a mesh, one by one, by what they name.
        #[test]
        fn masks_within_a_set_are_those_that_name_none_beside_it(
            places in prop::collection::btree_set((0u32..8, 0u32..5), 1..40),
            source in (0u32..8, 0u32..5),
        ) {
            let all: Vec<Mask> = (0..8 * 8 * 8 * 8)
                .map(|n| Mask { at: (n & 7, n >> 3 & 7), mask: (n >> 6 & 7, n >> 9 & 7) })
                .filter(|mask| mask.at.0 & mask.mask.0 == 0 && mask.at.1 & mask.mask.1 == 0)
                .collect();
            let named = |mask: Mask| (0..8).flat_map(|x| (0..8).map(move |y| (x, y))).filter(move |&at| mask.names(at));
            let is_within = |mask: Mask| named(mask).all(|at| places.contains(&at) || at == source);
            let mut expected: Vec<Mask> = all
                .into_iter()
                .filter(|&mask| is_within(mask) && named(mask).any(|at| places.contains(&at)))
                .collect();
            expected.sort_unstable();
            let mut within = Masks { wanted: places.iter().copied().collect(), source }.within();
            within.sort_unstable();
            prop_assert_eq!(within, expected);
        }
    }

    /// All sets of nodes of a 4x4 mesh, from a source outside of them: every node is named once, no other is, and there are seldom more masks than necessary.
    #[test]
    fn covers_name_each_node_once_and_are_almost_as_few_as_possible() {
        let fewest = fewest();
        let (mut more, mut masks_in_all, mut fewest_in_all) = ([0u32; 4], 0u32, 0u32);
        for set in 1..1u32 << 16 {
            let wanted: Vec<(u32, u32)> =
                (0..16).filter(|place| set >> place & 1 == 1).map(|p| (p / 4, p % 4)).collect();
            let masks = Masks { wanted: wanted.clone(), source: (9, 9) }.cover();
            let mut named: Vec<(u32, u32)> = Vec::new();
            for mask in &masks {
                named.extend((0..16).map(|p| (p / 4, p % 4)).filter(|&at| mask.names(at)));
            }
            named.sort_unstable();
            assert_eq!(named, wanted);
            let least = u32::from(fewest[set as usize]);
            more[masks.len() - least as usize] += 1;
            (masks_in_all, fewest_in_all) = (masks_in_all + masks.len() as u32, fewest_in_all + least);
        }
        // None, one or two too many.
        assert_eq!(more, [61_046, 4_421, 68, 0]);
        assert_eq!((masks_in_all, fewest_in_all), (277_262, 272_705));
    }
}
