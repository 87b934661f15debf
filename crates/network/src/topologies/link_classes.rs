//! Classes of links, and how long flits take over links.

use crate::ids::ChannelId;
use crate::network::Network;
use crate::topologies::shape::Shape;

/// The longest delay of a link, in cycles.
pub const MAX_LINK_DELAY: u32 = 1 << 12;

impl Network {
    /// How many classes of links the topology tells apart, at least 1: the dimensions of a mesh, torus, hypercube or `HyperX`; in a multistage network, the
    /// links between one stage and the next; in a dragonfly, those within groups and those between groups. Elsewhere all links are one class.
    pub fn link_classes(&self) -> usize {
        match self.shape() {
            Shape::Mesh(grid) | Shape::Torus(grid) | Shape::Hypercube(grid) => grid.dimensions(),
            Shape::HyperX(hyperx) => hyperx.grid().dimensions(),
            Shape::Bmin(stages) | Shape::Butterfly(stages) | Shape::Omega(stages) => {
                stages.stages().saturating_sub(1).max(1) as usize
            }
            Shape::Dragonfly(_) => 2,
            Shape::SlimFly(_) | Shape::Irregular => 1,
        }
    }

    /// What these classes are, in their order, for messages.
    pub fn link_classes_are(&self) -> &'static str {
        match self.shape() {
            Shape::Mesh(_) | Shape::Torus(_) | Shape::Hypercube(_) | Shape::HyperX(_) => {
                "one for each dimension, x first"
            }
            Shape::Bmin(_) | Shape::Butterfly(_) | Shape::Omega(_) => {
                "one for the links behind each stage but the last"
            }
            Shape::Dragonfly(_) => "one for the links within groups and one for those between groups",
            Shape::SlimFly(_) | Shape::Irregular => "one for all links",
        }
    }

    /// The class of a channel between routers, below [`link_classes`](Self::link_classes); the same for both channels of a link.
    ///
    /// ```
    /// use wormcast_network::TopologySpec;
    ///
    /// let dragonfly = "dragonfly:p=1,a=4,h=1".parse::<TopologySpec>()?.build()?;
    /// let global = dragonfly.channel_ids().filter(|&channel| dragonfly.link_class(channel) == 1).count();
    /// // A link between every two of five groups.
    /// assert_eq!(global, 2 * 10);
    /// # Ok::<(), wormcast_network::TopologyError>(())
    /// ```
    pub fn link_class(&self, channel: ChannelId) -> usize {
        let [from, to] = [self.from(channel), self.to(channel)];
        let differ = |grid: &crate::Grid| {
            let differs = |d: &usize| grid.coordinate(from.index(), *d) != grid.coordinate(to.index(), *d);
            (0..grid.dimensions()).find(differs).unwrap_or(0)
        };
        match self.shape() {
            Shape::Mesh(grid) | Shape::Torus(grid) | Shape::Hypercube(grid) => differ(grid),
            Shape::HyperX(hyperx) => differ(hyperx.grid()),
            Shape::Bmin(stages) | Shape::Butterfly(stages) | Shape::Omega(stages) => {
                stages.stage(from).min(stages.stage(to)) as usize
            }
            Shape::Dragonfly(dragonfly) => usize::from(dragonfly.group(from) != dragonfly.group(to)),
            Shape::SlimFly(_) | Shape::Irregular => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::TopologySpec;

    #[test]
    fn every_class_has_links_and_both_ways_are_of_one() {
        for (text, classes) in [
            ("mesh:4x3x2,nodes=2", 3),
            ("torus:2x5", 2),
            ("hypercube:4", 4),
            ("hyperx:3x4,nodes=2", 2),
            ("bmin:2x4", 3),
            ("fattree:k=3,levels=2", 1),
            ("butterfly:2x3", 2),
            ("omega:3x3", 2),
            ("dragonfly:p=1,a=3,h=2", 2),
            ("slimfly:q=5,nodes=1", 1),
            ("petersen", 1),
            ("bmin:4x1", 1),
        ] {
            let network = text.parse::<TopologySpec>().unwrap().build().unwrap();
            assert_eq!(network.link_classes(), classes, "{text}");
            let mut links = vec![0; classes];
            for channel in network.channel_ids() {
                links[network.link_class(channel)] += 1;
                assert_eq!(network.link_class(channel), network.link_class(network.reverse(channel)));
            }
            assert!(network.channels() == 0 || links.iter().all(|&links| links > 0), "{text}: {links:?}");
        }
        let cube = "hypercube:3".parse::<TopologySpec>().unwrap().build().unwrap();
        for channel in cube.channel_ids() {
            let bit = cube.from(channel).raw() ^ cube.to(channel).raw();
            assert_eq!(cube.link_class(channel), bit.trailing_zeros() as usize);
        }
    }
}
