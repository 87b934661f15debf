//! Algorithms from outside the project, whose routing is checked on every hop.

use std::sync::{Arc, OnceLock};

use wormcast_network::{ChannelId, Network, RouterId};
use wormcast_routing::{Dependencies, RoutingCapabilities, RoutingRelation, Spread};

use crate::algorithm::{Algorithm, Multicast};
use crate::capabilities::AlgorithmCapabilities;
use crate::plan::Plan;

/// Wraps an algorithm and its routing relation, and checks that every channel the relation offers leaves the router that was asked
/// about. The first that does not is kept as the fault, and the header is told that it has no route. Built-in algorithms are
/// tested instead and need no wrapper.
pub(crate) struct CheckedAlgorithm {
    algorithm: Box<dyn Algorithm>,
    network: Arc<Network>,
    fault: OnceLock<String>,
}

impl CheckedAlgorithm {
    pub(crate) fn new(algorithm: Box<dyn Algorithm>) -> Self {
        let network = Arc::clone(algorithm.network());
        Self { algorithm, network, fault: OnceLock::new() }
    }

    /// Checks the routes of all unicasts, if there are few enough to do so before each use; on larger networks, faults show up
    /// during the run. Returns the fault.
    pub(crate) fn check_all_routes(&self) -> Option<&str> {
        /// Routers times channels.
        const FEW: usize = 1 << 20;
        let network = &self.network;
        if network.routers() * network.channels() <= FEW {
            let _routes = Dependencies::of_relation(self);
        }
        self.fault()
    }

    /// The first fault.
    fn fault(&self) -> Option<&str> {
        self.fault.get().map(String::as_str)
    }

    /// Empties `out` if one of its channels does not leave the router that was asked about.
    fn check_candidates(&self, at: RouterId, out: &mut Vec<ChannelId>) {
        let network = &*self.network;
        let leaves = |&&channel: &&ChannelId| channel.index() < network.channels() && network.from(channel) == at;
        if let Some(&channel) = out.iter().find(|channel| !leaves(channel)) {
            self.record_fault(at, channel);
            out.clear();
        }
    }

    #[cold]
    fn record_fault(&self, at: RouterId, channel: ChannelId) {
        self.fault.get_or_init(|| {
            let network = &self.network;
            let (algorithm, routing) = (self.algorithm.name(), self.algorithm.routing().name());
            let channels = network.channels();
            let what = if channel.index() < channels {
                format!("which leaves router {}", network.router_label(network.from(channel)))
            } else {
                format!("but the network's channels are 0 to {}", channels.saturating_sub(1))
            };
            let at = network.router_label(at);
            format!("the routing `{routing}` of `{algorithm}` gives channel {channel} at router {at}, {what}")
        });
    }
}

impl RoutingRelation for CheckedAlgorithm {
    fn name(&self) -> &'static str {
        self.algorithm.routing().name()
    }

    fn network(&self) -> &Arc<Network> {
        &self.network
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        self.algorithm.routing().candidates(at, arrived, target, out);
        self.check_candidates(at, out);
    }

    /// Those of the relation, with its spread checked too, and the fault; without a closed form, which would keep routes from being followed.
    fn capabilities(&self) -> RoutingCapabilities<'_> {
        let own = self.algorithm.routing().capabilities();
        let spread = own.spread.map(|_| self as &dyn Spread);
        RoutingCapabilities { spread, fault: self.fault(), closed_form: None, ..own }
    }
}

impl Spread for CheckedAlgorithm {
    fn spread(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        self.algorithm.routing().spread(at, arrived, target, out);
        self.check_candidates(at, out);
    }
}

impl Algorithm for CheckedAlgorithm {
    fn name(&self) -> &'static str {
        self.algorithm.name()
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        self.algorithm.plan(multicast)
    }

    fn dependencies(&self) -> Dependencies<'_> {
        self.algorithm.dependencies()
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        self.algorithm.capabilities()
    }
}

#[cfg(test)]
mod tests {
    use wormcast_network::{NodeId, TopologySpec};
    use wormcast_routing::{ECube, append_route};

    use super::*;
    use crate::algorithm::AlgorithmError;
    use crate::plan::Worm;
    use crate::registry::descriptor::{Descriptor, Options};
    use crate::registry::{algorithm_by_name, register};

    /// E-cube, except for what it gives at one router of a mesh.
    struct Astray {
        ways: ECube,
        at: u32,
        gives: u32,
    }

    impl RoutingRelation for Astray {
        fn name(&self) -> &'static str {
            "astray-ways"
        }

        fn network(&self) -> &Arc<Network> {
            self.ways.network()
        }

        fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
            self.ways.candidates(at, arrived, target, out);
            if at == RouterId::new(self.at) {
                out.clear();
                out.push(ChannelId::new(self.gives));
            }
        }
    }

    impl Algorithm for Astray {
        fn name(&self) -> &'static str {
            "astray"
        }

        fn routing(&self) -> &dyn RoutingRelation {
            self
        }

        fn plan(&self, multicast: &Multicast) -> Plan {
            let worm = |&node: &NodeId| Worm::path(multicast.source(), vec![node]);
            Plan { worms: multicast.destinations().iter().map(worm).collect() }
        }

        fn dependencies(&self) -> Dependencies<'_> {
            Dependencies::of_relation(&self.ways)
        }
    }

    #[test]
    fn channels_of_other_routers_are_named() {
        // Router 5 is 1,1; the first channels leave router 0.
        let make = |network: &Arc<Network>, options: &Options| -> Result<Box<dyn Algorithm>, AlgorithmError> {
            let gives = if options.seed == 0 { 0 } else { network.channels() as u32 };
            Ok(Box::new(Astray { ways: ECube::new(network)?, at: 5, gives }))
        };
        register(Descriptor::new("astray", 1, make)).unwrap();
        let build = |spec: &str| spec.parse::<TopologySpec>().unwrap().build().unwrap();
        let mesh = build("mesh:4x4");
        let said = |seed| {
            let options = Options { seed, ..Options::default() };
            algorithm_by_name("astray", &mesh, &options).err().unwrap().to_string()
        };
        let start = "the routing `astray-ways` of `astray` gives channel";
        assert_eq!(said(0), format!("{start} 0 at router 1,1, which leaves router 0,0"));
        assert_eq!(said(1), format!("{start} 48 at router 1,1, but the network's channels are 0 to 47"));
        // Too large to check all routes: the fault is found when the route is used.
        let large = build("mesh:64x64");
        let algorithm = algorithm_by_name("astray", &large, &Options::default()).unwrap();
        let go = |from, to| {
            let [from, to] = [from, to].map(RouterId::new);
            append_route(algorithm.routing(), from, None, to, &mut Vec::new()).map_err(|lost| lost.to_string())
        };
        assert_eq!(go(0, 4), Ok(()));
        assert_eq!(go(0, 6), Err(format!("{start} 0 at router 5,0, which leaves router 0,0")));
    }
}
