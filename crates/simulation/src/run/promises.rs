//! What a run checks of the plans that it is given.

use wormcast_multicast::{Multicast, Plan, check_plan, is_own};
use wormcast_network::NodeId;
use wormcast_routing::Dependencies;

use crate::run::scenario::Scenario;
use crate::run::simulate::SimulationError;

/// Multicasts of a run whose plans are held against all that an algorithm of a program's own promises. The check takes longer than
/// the planning, and who breaks a promise mostly does so soon.
const CHECKED: u32 = 100;

/// Holds plans against what their algorithm promises: all of them deliver as they should; the first ones of an algorithm that is not
/// part of the workbench also go only where its relation leads and do only what its dependencies tell of.
pub(crate) struct Promises<'a> {
    /// Plans that are still to be checked in full.
    left: u32,
    told: Option<Dependencies<'a>>,
    /// What checks keep for their memory.
    delivered_by: Vec<(NodeId, Option<usize>)>,
}

impl<'a> Promises<'a> {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let is_own = is_own(scenario.algorithm.as_ref());
        Self { left: if is_own { CHECKED } else { 0 }, told: None, delivered_by: Vec::new() }
    }

    pub(crate) fn check(
        &mut self,
        scenario: &'a Scenario,
        multicast: &Multicast,
        plan: &Plan,
    ) -> Result<(), SimulationError> {
        let (network, algorithm) = (&*scenario.network, &*scenario.algorithm);
        let checked = if self.left == 0 {
            plan.check_with(network, multicast, &mut self.delivered_by).map_err(Into::into)
        } else {
            self.left -= 1;
            let told = &mut self.told;
            check_plan(algorithm, multicast, plan, move || &*told.get_or_insert_with(|| algorithm.dependencies()))
        };
        checked.map_err(|error| SimulationError::Plan { algorithm: algorithm.name(), error })
    }
}
