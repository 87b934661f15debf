//! Checks of the plans in a run.

use wormcast_multicast::{Multicast, Plan, check_plan, is_own};
use wormcast_network::NodeId;
use wormcast_routing::Dependencies;

use crate::run::scenario::Scenario;
use crate::run::simulate::SimulationError;

/// Multicasts of a run whose plans are checked against the whole contract, if the algorithm comes from outside the project. The check
/// takes longer than the planning, and violations mostly show up early.
const CHECKED: u32 = 100;

/// Checks plans against the contract of their algorithm. Every plan must deliver to each destination exactly once. The first plans of
/// an algorithm from outside the project must also have routes and stay within the declared dependencies.
pub(crate) struct PlanChecker<'a> {
    /// Whether the algorithm sends every multicast.
    sends_all: bool,
    /// Plans still to be checked in full.
    left: u32,
    declared: Option<Dependencies<'a>>,
    /// Scratch space of the check.
    delivered_by: Vec<(NodeId, Option<usize>)>,
}

impl<'a> PlanChecker<'a> {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let is_own = is_own(scenario.algorithm.as_ref());
        let sends_all = scenario.algorithm.capabilities().selective.is_none();
        Self { sends_all, left: if is_own { CHECKED } else { 0 }, declared: None, delivered_by: Vec::new() }
    }

    /// Whether it would find nothing wrong with a plan, and the switching carries that, as far as can be said at once.
    #[inline]
    pub(crate) fn passes(&self, multicast: &Multicast, plan: &Plan) -> bool {
        // Everything carries a unicast that may take any channel.
        self.sends_all && self.left == 0 && plan.is_unicast_of(multicast)
    }

    pub(crate) fn check(
        &mut self,
        scenario: &'a Scenario,
        multicast: &Multicast,
        plan: &Plan,
    ) -> Result<(), SimulationError> {
        let (network, algorithm) = (&*scenario.network, &*scenario.algorithm);
        if !self.sends_all
            && let Some(problem) = algorithm.refusal(multicast)
        {
            let source = network.node_label(multicast.source());
            return Err(SimulationError::Refused { source_node: source, problem });
        }
        let checked = if self.left == 0 {
            plan.check_with(network, multicast, &mut self.delivered_by).map_err(Into::into)
        } else {
            self.left -= 1;
            let declared = &mut self.declared;
            check_plan(algorithm, multicast, plan, move || &*declared.get_or_insert_with(|| algorithm.dependencies()))
        };
        checked.map_err(|error| SimulationError::Plan { algorithm: algorithm.name(), error })
    }
}
