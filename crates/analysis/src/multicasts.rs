//! Given multicasts beside unicasts: what their worms add to the dependencies.

use wormcast_multicast::{Itinerary, Multicast, Plan, add_plan};
use wormcast_network::{ChannelId, Network};
use wormcast_routing::{Branching, Dependencies, RoutingRelation, VirtualChannels, Worms};
use wormcast_simulation::Sendable;

use crate::error::AnalysisError;
use crate::reachability::fixed;

/// Given multicasts.
pub(crate) struct Multicasts<'n> {
    network: &'n Network,
    /// That of the unicasts.
    relation: &'n dyn RoutingRelation,
    branching: Branching,
    /// By their lines, each as what its worms add to the dependencies.
    all: Vec<(u64, Dependencies<'n>)>,
    /// The multicasts as messages, unless a worm of one of them has a choice of routes.
    messages: Option<Vec<Sendable>>,
    trees: bool,
    /// Whether there are paths that another relation routes.
    fixed: bool,
}

/// Takes the worms of given multicasts while their dependencies are added to those of the unicasts.
pub struct Adding<'a, 'w, 'n> {
    multicasts: &'a mut Multicasts<'n>,
    worms: &'a mut Worms<'w, 'n>,
}

impl Adding<'_, '_, '_> {
    /// Adds a multicast that is sent as this plan, whose paths this relation routes. `line` identifies it in the report.
    ///
    /// # Errors
    /// If switches route its worms.
    pub fn add(
        &mut self,
        line: u64,
        routing: &dyn RoutingRelation,
        multicast: &Multicast,
        plan: &Plan,
    ) -> Result<(), AnalysisError> {
        let Multicasts { network, relation, branching, all, messages, trees, fixed: of_others } = &mut *self.multicasts;
        let (network, branching) = (*network, *branching);
        // Routings with classes have no other options.
        let classes =
            |relation: &dyn RoutingRelation| relation.capabilities().virtual_channels.map(VirtualChannels::needed);
        let same =
            routing.name() == relation.name() && classes(routing).is_some() && classes(routing) == classes(*relation);
        add_plan(self.worms, routing, plan, branching)?;
        let mut own = Dependencies::new(network);
        own.add_worms(|worms| add_plan(worms, routing, plan, branching))?;
        *trees |= plan.worms.iter().any(|worm| matches!(worm.itinerary, Itinerary::Tree(_)));
        *of_others |= !same && plan.worms.iter().any(|worm| matches!(worm.itinerary, Itinerary::Path(_)));
        all.push((line, own));
        let plan = if same { Some(plan.clone()) } else { fixed(routing, plan) };
        match (&mut *messages, plan) {
            (Some(messages), Some(plan)) => messages.push(Sendable { multicast: multicast.clone(), plan }),
            _ => *messages = None,
        }
        Ok(())
    }
}

impl<'n> Multicasts<'n> {
    /// Adds the multicasts of `give` to the dependencies of the unicasts.
    pub(crate) fn beside<E: From<AnalysisError>>(
        relation: &'n dyn RoutingRelation,
        branching: Branching,
        dependencies: &mut Dependencies<'n>,
        give: impl FnOnce(&mut Adding<'_, '_, 'n>) -> Result<(), E>,
    ) -> Result<Self, E> {
        let network = &**relation.network();
        let mut multicasts = Self {
            network,
            relation,
            branching,
            all: Vec::new(),
            messages: Some(Vec::new()),
            trees: false,
            fixed: false,
        };
        dependencies.add_worms(|worms| give(&mut Adding { multicasts: &mut multicasts, worms }))?;
        Ok(multicasts)
    }

    /// The messages with those of the unicasts that may be sent beside them; `None` if the worms of some have a choice of routes.
    pub(crate) fn with(&self, unicasts: Option<Vec<Sendable>>) -> Option<Vec<Sendable>> {
        let mut all = unicasts?;
        all.extend(self.messages.as_ref()?.iter().cloned());
        Some(all)
    }

    /// Whether the worms of some are trees.
    pub(crate) fn has_trees(&self) -> bool {
        self.trees
    }

    /// Whether there are paths that another relation than that of the unicasts routes.
    pub(crate) fn has_fixed_paths(&self) -> bool {
        self.fixed
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// The lines of those that may hold one channel while they wait for the other.
    pub(crate) fn that_wait(&self, (held, requested): (ChannelId, ChannelId)) -> Vec<u64> {
        let mine = |(_, own): &&(u64, Dependencies<'_>)| own.contains(held, requested);
        self.all.iter().filter(mine).map(|&(line, _)| line).collect()
    }
}
