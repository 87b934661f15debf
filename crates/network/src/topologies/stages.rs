//! Stages: the geometry of multistage networks.

use crate::ids::{NodeId, RouterId};

/// Stages of equal switches, as bidirectional multistage networks have them.
///
/// A network of radix K and L stages has K^L nodes and in each stage K^(L-1) switches, with K ports to the left (towards
/// the nodes) and K to the right. Stage 0 is next to the nodes. Routers are numbered stage by stage: router
/// `stage * K^(L-1) + position`. Addresses of nodes are numbers of L digits to the base K, positions of L - 1 digits; digit
/// 0 is the least significant.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
///
/// let network = "bmin:4x2".parse::<TopologySpec>()?.build()?;
/// let stages = network.shape().stages().unwrap();
/// assert_eq!((stages.radix(), stages.stages(), stages.width()), (4, 2, 4));
/// let switch = RouterId::new(6);
/// assert_eq!((stages.stage(switch), stages.position(switch)), (1, 2));
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stages {
    radix: u32,
    count: u32,
    width: u32,
}

impl Stages {
    /// The stages of a network of this radix; K^(L-1) must fit.
    pub(crate) fn new(radix: u32, stages: u32) -> Self {
        Self { radix, count: stages, width: radix.pow(stages - 1) }
    }

    /// K: the ports on each side of a switch.
    #[inline]
    pub fn radix(&self) -> u32 {
        self.radix
    }

    /// L: the number of stages.
    #[inline]
    pub fn stages(&self) -> u32 {
        self.count
    }

    /// K^(L-1): the switches in each stage.
    #[inline]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// K^L: the number of nodes.
    #[inline]
    pub fn nodes(&self) -> u32 {
        self.width * self.radix
    }

    /// The stage of a switch.
    #[inline]
    pub fn stage(&self, router: RouterId) -> u32 {
        router.raw() / self.width
    }

    /// The position of a switch in its stage.
    #[inline]
    pub fn position(&self, router: RouterId) -> u32 {
        router.raw() % self.width
    }

    /// The switch at this place.
    #[inline]
    pub fn router(&self, stage: u32, position: u32) -> RouterId {
        RouterId::new(stage * self.width + position)
    }

    /// K to the power of `digit`: the weight of that digit.
    #[inline]
    pub fn weight(&self, digit: u32) -> u32 {
        self.radix.pow(digit)
    }

    /// One digit of an address or a position.
    #[inline]
    pub fn digit(&self, number: u32, digit: u32) -> u32 {
        number / self.weight(digit) % self.radix
    }

    /// A number with one of its digits replaced.
    #[inline]
    pub(crate) fn with_digit(&self, number: u32, digit: u32, value: u32) -> u32 {
        number - self.digit(number, digit) * self.weight(digit) + value * self.weight(digit)
    }

    /// The lowest stage from which a worm can reach `b` downwards after going up from `a`: that of the least common ancestors
    /// of the two nodes, or 0 for one node.
    pub fn common_stage(&self, a: NodeId, b: NodeId) -> u32 {
        (1..self.count).rev().find(|&d| self.digit(a.raw(), d) != self.digit(b.raw(), d)).unwrap_or(0)
    }
}
