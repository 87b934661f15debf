//! Where the switches and nodes of multistage networks lie in a drawing.

use super::layout::{MARGIN, Position};
use crate::ids::{NodeId, RouterId};
use crate::topologies::stages::Stages;

/// The distance between neighbouring nodes.
const NODE: f64 = 26.0;
/// The distance between nodes and their switches.
const CABLE: f64 = 40.0;

/// The layers of a multistage network. With a way up: the nodes at the bottom, stage 0 above them, and so on. Unidirectional: from left
/// to right, with the nodes on both sides, where they inject and where they consume.
#[derive(Clone, Copy)]
pub(super) struct Layers {
    stages: Stages,
    unidirectional: bool,
    /// The distance between stages: links between far switches need room.
    pitch: f64,
    /// The length of cables; where nodes inject in another order than their switches have, they need room too.
    cable: f64,
}

impl Layers {
    pub(super) fn new(stages: Stages, unidirectional: bool) -> Self {
        let pitch = (f64::from(stages.nodes()) * NODE / 6.0).clamp(70.0, 160.0);
        Self { stages, unidirectional, pitch, cable: if unidirectional { pitch.max(CABLE) } else { CABLE } }
    }

    /// The size along the stages and across them.
    fn along(&self) -> f64 {
        let cables = if self.unidirectional { 2.0 } else { 1.0 };
        f64::from(self.stages.stages() - 1) * self.pitch + cables * self.cable + 2.0 * MARGIN
    }

    fn across(&self) -> f64 {
        f64::from(self.stages.nodes() - 1) * NODE + 2.0 * MARGIN
    }

    pub(super) fn width(&self) -> f64 {
        if self.unidirectional { self.along() } else { self.across() }
    }

    pub(super) fn height(&self) -> f64 {
        if self.unidirectional { self.across() } else { self.along() }
    }

    /// The point so far along the stages from the side where nodes inject, at this place across, counted in nodes.
    fn point(&self, along: f64, across: f64) -> Position {
        let across = MARGIN + across * NODE;
        if self.unidirectional {
            Position { x: MARGIN + along, y: across }
        } else {
            Position { x: across, y: self.height() - MARGIN - along }
        }
    }

    /// The centre of a switch: every stage is as wide as the nodes.
    pub(super) fn router(&self, router: RouterId) -> Position {
        let radix = f64::from(self.stages.radix());
        let across = f64::from(self.stages.position(router)) * radix + (radix - 1.0) / 2.0;
        self.point(self.cable + f64::from(self.stages.stage(router)) * self.pitch, across)
    }

    /// Where a node injects.
    pub(super) fn entry(&self, node: NodeId) -> Position {
        self.point(0.0, f64::from(node.raw()))
    }

    /// Where a node consumes.
    pub(super) fn node(&self, node: NodeId) -> Position {
        let along = if self.unidirectional { self.along() - 2.0 * MARGIN } else { 0.0 };
        self.point(along, f64::from(node.raw()))
    }
}
