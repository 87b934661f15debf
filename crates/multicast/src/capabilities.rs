//! Optional capabilities of multicast algorithms.

use wormcast_network::{NodeId, Ports};
use wormcast_routing::{Branching, Dependencies, MultidestinationRouting, VirtualChannels};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::irregular::covering_matrix::CoveringMatrix;
use crate::plan::Plan;
use crate::registry::descriptor::Descriptor;
use crate::registry::options::AlgorithmOption;

/// The optional capabilities and needs of an algorithm; none by default.
#[derive(Clone, Copy, Default)]
pub struct AlgorithmCapabilities<'a> {
    /// The default injection and consumption channels of nodes, if the algorithm is defined with such
    /// numbers. A plan may bind worms to any of these consumption channels.
    pub ports: Option<Ports>,
    /// The virtual channels that links need to have, if its worms keep to some of them; 0: its routing alone says so.
    pub virtual_channels: u8,
    /// Trees that wormhole switches replicate.
    pub trees: Option<&'a dyn BranchingTrees>,
    /// For an algorithm whose worms switches replicate: how they route them.
    pub switches: Option<&'a dyn MultidestinationRouting>,
    /// Plans that minimise something.
    pub minimum: Option<&'a dyn Minimum>,
    /// Covers of destinations by as few next routers as possible.
    pub covers: Option<&'a dyn Covers>,
    /// An option that was asked for and makes no difference on this network, and why.
    pub idle: Option<(AlgorithmOption, &'a str)>,
    /// For an algorithm whose plans in a run depend on the messages before.
    pub remembers: Option<&'a dyn Remembers>,
    /// For an algorithm that does not send every multicast.
    pub selective: Option<&'a dyn Selective>,
    /// For an algorithm that knows groups of nodes: the members of each, sorted.
    pub groups: Option<&'a [Vec<NodeId>]>,
    /// Why a file that it was made from may not be the whole of it; names file and line.
    pub doubt: Option<&'a str>,
}

impl<'a> AlgorithmCapabilities<'a> {
    /// An option of the algorithm that makes no difference to plans by themselves, or to all worms that may be sent, and why.
    pub fn idle_option(&self) -> Option<(AlgorithmOption, &'a str)> {
        let reason = "what is planned by itself finds all that it needs set up; runs, and mode `plan` of experiments, begin with nothing";
        self.idle.or_else(|| Some((self.remembers?.asked_by(), reason)))
    }
}

/// Sends trees, whose dependencies depend on the switches.
pub trait BranchingTrees: Send + Sync {
    /// The switches that the trees are meant for, which are the default of runs.
    fn branching(&self) -> Branching;

    /// As [`Algorithm::dependencies`], which are those with the switches that the trees are meant for.
    fn dependencies_with(&self, branching: Branching) -> Dependencies<'_>;
}

/// Minimises something, and may have to settle for less.
pub trait Minimum: Send + Sync {
    /// Whether this multicast's plan is certainly a minimum.
    fn is_exact(&self, multicast: &Multicast) -> bool;
}

/// Covers destinations by as few next routers as possible.
pub trait Covers: Send + Sync {
    /// The choice that the algorithm had at each router of this multicast's plan.
    fn covering_matrices(&self, multicast: &Multicast) -> Vec<CoveringMatrix>;
}

/// Plans that depend on what was sent before in a run, such as on trees that are set up. [`Algorithm::plan`] is then the plan without any such history, or with all that helps.
pub trait Remembers: Send + Sync {
    /// The option that makes it remember, which makes no difference to a multicast that is planned by itself.
    fn asked_by(&self) -> AlgorithmOption;

    /// The state of a run before its first message.
    fn session(&self) -> Box<dyn Session + '_>;
}

/// The state of a run, as far as plans depend on it.
pub trait Session {
    /// The worms that the next multicast sends.
    fn plan(&mut self, multicast: &Multicast) -> Plan;
}

/// Plans the messages of a run, one after the other.
pub struct Planner<'a> {
    algorithm: &'a dyn Algorithm,
    session: Option<Box<dyn Session + 'a>>,
}

impl<'a> Planner<'a> {
    /// Before the first message.
    pub fn new(algorithm: &'a dyn Algorithm) -> Self {
        Self { algorithm, session: algorithm.capabilities().remembers.map(Remembers::session) }
    }

    /// The worms that the next multicast sends.
    pub fn plan(&mut self, multicast: &Multicast) -> Plan {
        let mut plan = Plan::default();
        self.plan_into(multicast, &mut plan);
        plan
    }

    /// As [`plan`](Self::plan), in place of the plan of an earlier multicast, whose lists may be used again.
    #[inline]
    pub fn plan_into(&mut self, multicast: &Multicast, plan: &mut Plan) {
        match &mut self.session {
            Some(session) => *plan = session.plan(multicast),
            None => self.algorithm.plan_into(multicast, plan),
        }
    }
}

/// Sends only some multicasts, since their headers cannot name every set of destinations.
pub trait Selective: Send + Sync {
    /// Why it does not send this multicast, as what comes after its name, and what would do; `None` if it does. A plan of a multicast that is refused is correct, but does not
    /// keep to the headers.
    fn refusal(&self, multicast: &Multicast) -> Option<String>;
}

impl dyn Algorithm + '_ {
    /// Why the algorithm does not send a multicast, as a sentence without its full stop; `None` if it does, as most do always.
    pub fn refusal(&self, multicast: &Multicast) -> Option<String> {
        let problem = self.capabilities().selective?.refusal(multicast)?;
        Some(format!("`{}` {problem}", self.name()))
    }

    /// Whether a plan may have trees that wormhole switches replicate: not if the [`Descriptor`] of this name
    /// [says otherwise](Descriptor::may_send_trees).
    pub fn may_send_trees(&self) -> bool {
        Descriptor::named(self.name()).map_or(true, Descriptor::may_send_trees)
    }

    /// The switches that the algorithm's worms are meant for: for all but [trees](BranchingTrees), plain wormhole switches, which are enough
    /// for paths.
    pub fn branching(&self) -> Branching {
        self.capabilities().trees.map_or(Branching::LOCKSTEP, BranchingTrees::branching)
    }

    /// The virtual channels that links need to have, at least, and what needs them: the algorithm, whose worms keep to some of them, or its routing, which divides
    /// them.
    pub fn needed_virtual_channels(&self) -> (u8, &'static str) {
        let division = self.routing().capabilities().virtual_channels.map_or(1, VirtualChannels::needed);
        let own = self.capabilities().virtual_channels;
        if own > division { (own, self.name()) } else { (division, self.routing().name()) }
    }

    /// The [dependencies](Algorithm::dependencies) with other switches, which make a difference to [trees](BranchingTrees).
    pub fn dependencies_with(&self, branching: Branching) -> Dependencies<'_> {
        match self.capabilities().trees {
            Some(trees) => trees.dependencies_with(branching),
            None => self.dependencies(),
        }
    }
}
