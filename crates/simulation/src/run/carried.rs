//! Which worms the switching of a scenario can carry.

use wormcast_multicast::{Itinerary, Sends, Worm};

use crate::config::switching::{BranchReplication, Header};
use crate::run::scenario::Scenario;
use crate::run::simulate::SimulationError;

/// The kind of worm that has this itinerary.
const fn kind(itinerary: &Itinerary) -> Sends {
    match itinerary {
        Itinerary::Path(path) if path.stops.len() > 1 => Sends::Paths,
        Itinerary::Path(_) => Sends::Unicasts,
        Itinerary::Tree(_) => Sends::Trees,
        Itinerary::Encoded(_) => Sends::Encoded,
    }
}

impl Scenario {
    /// Why the switching cannot carry worms of a kind, whatever their way: the setting that would have to change, and what would do.
    /// `None` if it can.
    pub fn refuses(&self, worms: Sends) -> Option<SimulationError> {
        let config = self.engine;
        let fail = |setting, worms, problem| Some(self.switching_error(setting, worms, problem));
        match worms {
            Sends::Paths if self.switch.is_some() => fail(
                "switching.model",
                "paths through several destinations",
                "buffered switches cannot split: use an algorithm such as `bit-string` or `u-min`, or `model = \"wormhole\"`",
            ),
            Sends::Trees if self.switch.is_some() => fail(
                "switching.model",
                "trees of fixed channels",
                "buffered switches cannot follow: use an algorithm such as `bit-string` or `u-min`, or `model = \"wormhole\"`",
            ),
            Sends::Encoded if self.switch.is_none() => fail(
                "switching.model",
                "worms with encoded destinations",
                "buffered switches replicate: set `switching.model = \"central-buffer\"` or `\"input-buffer\"`",
            ),
            Sends::Paths if config.header == Header::Tree => fail(
                "switching.header",
                "paths",
                "have no tree header for several stops: use `header = \"all-destinations\"` or another",
            ),
            Sends::Trees if config.header == Header::AllDestinations => fail(
                "switching.header",
                "trees",
                "cannot be told by a list of stops: use `header = \"tree\"` or another",
            ),
            Sends::Trees
                if config.virtual_channels > 1
                    && config.header.strips_trees()
                    && config.replication == BranchReplication::Lockstep =>
            {
                fail(
                    "switching.virtual_channels",
                    "trees",
                    "carry a tree header on one virtual channel only: set `virtual_channels = 1`, or another `header`",
                )
            }
            Sends::Trees if !config.delay.is_one() && config.replication == BranchReplication::Lockstep => fail(
                "timing.delay",
                "trees",
                "the flit engine moves in lockstep over links of one cycle only: set `delay = 1`, or `switching.replication = \"independent\"`",
            ),
            Sends::Trees if config.header.strips_trees() && config.replication == BranchReplication::Independent => {
                fail(
                    "switching.replication",
                    "trees",
                    "carry a tree header in lockstep only: set `replication = \"lockstep\"`",
                )
            }
            Sends::Unicasts | Sends::Paths | Sends::Trees | Sends::Encoded => None,
        }
    }

    /// Why the switching cannot carry a worm; `None` if it can.
    pub(crate) fn refuses_worm(&self, worm: &Worm) -> Option<SimulationError> {
        let kind = kind(&worm.itinerary);
        if let Some(class) = worm.consumption_class
            && u32::from(class) >= self.engine.ports.consumption
        {
            return Some(self.switching_error(
                "switching.consumption_ports",
                if matches!(worm.itinerary, Itinerary::Path(_)) { "paths" } else { "trees" },
                format!(
                    "are bound to consumption channels that the nodes do not have: raise `consumption_ports` to {}",
                    self.algorithm.capabilities().ports.map_or(0, |ports| ports.consumption).max(u32::from(class) + 1)
                ),
            ));
        }
        if worm.virtual_channels.is_some_and(|range| range.of(self.engine.virtual_channels).is_empty()) {
            return Some(self.switching_error(
                "switching.virtual_channels",
                if matches!(worm.itinerary, Itinerary::Path(_)) { "paths" } else { "trees" },
                "are bound to virtual channels that the links do not have: raise `virtual_channels`",
            ));
        }
        if kind == Sends::Trees && !self.may_send_trees {
            let problem = "its descriptor does not say: declare what it sends";
            return Some(self.switching_error("algorithm", "trees", problem));
        }
        self.refuses(kind).or_else(|| match &worm.itinerary {
            Itinerary::Tree(tree)
                if self.engine.header == Header::Tree && tree.trunk.is_some() && tree.header.is_empty() =>
            {
                Some(self.switching_error(
                    "switching.header",
                    "trees",
                    "have a trunk but no header that routers could decode: use `header = \"bit-string\"` or another",
                ))
            }
            _ => None,
        })
    }

    fn switching_error(
        &self,
        setting: &'static str,
        worms: &'static str,
        problem: impl Into<String>,
    ) -> SimulationError {
        let problem = problem.into();
        SimulationError::Switching { setting, algorithm: self.algorithm.name(), worms, problem }
    }
}
