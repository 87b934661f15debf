//! Where the switches and nodes of multistage networks lie in a drawing.

use super::layout::{MARGIN, Point};
use crate::ids::{NodeId, RouterId};
use crate::stages::Stages;

/// The distance between neighbouring nodes.
const NODE: f64 = 26.0;
/// The distance between the nodes and their switches.
const CABLE: f64 = 40.0;

/// The layers of a multistage network: the nodes at the bottom, stage 0 above them, and so on.
#[derive(Clone, Copy)]
pub(super) struct Layers {
    stages: Stages,
    /// The distance between stages: links between far switches need room.
    rise: f64,
}

impl Layers {
    pub(super) fn new(stages: Stages) -> Self {
        let across = f64::from(stages.nodes()) * NODE;
        Self { stages, rise: (across / 6.0).clamp(70.0, 160.0) }
    }

    pub(super) fn width(&self) -> f64 {
        (f64::from(self.stages.nodes()) - 1.0) * NODE + 2.0 * MARGIN
    }

    pub(super) fn height(&self) -> f64 {
        f64::from(self.stages.stages() - 1) * self.rise + CABLE + 2.0 * MARGIN
    }

    /// The centre of a switch: every stage is as wide as the nodes.
    pub(super) fn router(&self, router: RouterId) -> Point {
        let radix = f64::from(self.stages.radix());
        let across = f64::from(self.stages.position(router)) * radix + (radix - 1.0) / 2.0;
        let up = CABLE + f64::from(self.stages.stage(router)) * self.rise;
        Point { x: MARGIN + across * NODE, y: self.height() - MARGIN - up }
    }

    pub(super) fn node(&self, node: NodeId) -> Point {
        Point { x: MARGIN + f64::from(node.raw()) * NODE, y: self.height() - MARGIN }
    }
}
