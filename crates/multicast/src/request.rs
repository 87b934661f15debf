//! Requests: an algorithm, by which routing, with which root, seed and failed links; and what is made of them.

use std::collections::HashMap;
use std::sync::Arc;

use thiserror::Error;
use wormcast_network::Network;
use wormcast_routing::{RoutingDescriptor, RoutingError};

use crate::algorithm::{Algorithm, AlgorithmError, Options};
use crate::descriptor::Descriptor;
use crate::faults::{FaultError, FaultInformation, Faults};

/// What a user asks for, with the names looked up: an algorithm, and what it is told. It is good for any network; what its texts name there
/// is found when the algorithm is [made](Self::make).
///
/// ```
/// use wormcast_multicast::{Part, Request};
/// use wormcast_network::TopologySpec;
///
/// let torus = "torus:4x4".parse::<TopologySpec>()?.build()?;
/// let request = Request { root: Some("2,1".to_owned()), ..Request::new("separate", Some("up-down"))? };
/// assert_eq!(request.make(&torus)?.routing().name(), "up-down");
/// let refused = Request { routing: None, ..request }.make(&torus).err().unwrap();
/// assert_eq!((refused.part, refused.part.key()), (Part::Root, "root"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// The algorithm.
    pub algorithm: &'static Descriptor,
    /// The routing that it shall use; `None`: its own.
    pub routing: Option<&'static RoutingDescriptor>,
    /// The root of that routing, as [`Root::parse`](wormcast_routing::Root::parse) reads it; `None`: the smallest id.
    pub root: Option<String>,
    /// The seed of all random choices, 0 by default.
    pub seed: u64,
    /// Links that have failed.
    pub faults: FaultRequest,
}

/// Links that shall have failed.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct FaultRequest {
    /// The links, as [`Faults::fail`] reads them.
    pub links: Vec<String>,
    /// So many further links, drawn with the seed.
    pub random: u32,
    /// Who knows of them.
    pub information: FaultInformation,
}

impl FaultRequest {
    /// The links on a network.
    fn on(&self, network: &Network, seed: u64) -> Result<Faults, FaultError> {
        let mut faults = Faults { links: Vec::new(), information: self.information };
        self.links.iter().try_for_each(|link| faults.fail(network, link))?;
        faults.fail_at_random(network, self.random as usize, seed)?;
        Ok(faults)
    }
}

/// What of a request an error is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The algorithm.
    Algorithm,
    /// The routing.
    Routing,
    /// The root.
    Root,
    /// That links have failed.
    Faults,
    /// The links that are named.
    FailedLinks,
    /// The number of those that are drawn.
    RandomFaults,
}

impl Part {
    /// The setting of an experiment file.
    pub fn key(self) -> &'static str {
        match self {
            Self::Algorithm => "algorithm",
            Self::Routing => "routing",
            Self::Root => "root",
            Self::Faults => "faults",
            Self::FailedLinks => "faults.links",
            Self::RandomFaults => "faults.random",
        }
    }
}

/// Why a request comes to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{error}")]
pub struct Refused {
    /// What of it is to blame.
    pub part: Part,
    /// The problem.
    pub error: Box<AlgorithmError>,
}

impl Refused {
    fn new(part: Part, error: impl Into<AlgorithmError>) -> Self {
        Self { part, error: Box::new(error.into()) }
    }
}

impl Request {
    /// An algorithm and its routing by their names, and nothing else.
    ///
    /// # Errors
    /// If there is none of that name, naming the nearest.
    pub fn new(algorithm: &str, routing: Option<&str>) -> Result<Self, Refused> {
        let algorithm = Descriptor::named(algorithm).map_err(|unknown| Refused::new(Part::Algorithm, unknown))?;
        let routing = routing.map(RoutingDescriptor::named).transpose();
        let routing = routing.map_err(|unknown| Refused::new(Part::Routing, unknown))?;
        Ok(Self { algorithm, routing, root: None, seed: 0, faults: FaultRequest::default() })
    }

    /// The algorithm, made for a network.
    ///
    /// # Errors
    /// If it takes something else, or is not defined there. An error that there is not without the routing is the routing's, one that there
    /// is not without faults is theirs.
    pub fn make(&self, network: &Network) -> Result<Box<dyn Algorithm>, Refused> {
        self.resolve(network).map_err(|error| Refused::new(self.to_blame(network, &error), error))
    }

    fn resolve(&self, network: &Network) -> Result<Box<dyn Algorithm>, AlgorithmError> {
        let faults = self.faults.on(network, self.seed)?;
        let root = self.root.as_deref();
        let routing = self.algorithm.check(network, self.routing, root.is_some(), !faults.links.is_empty())?;
        let root = match (routing, root) {
            (Some(routing), root) => routing.root(network, root)?,
            (None, Some(text)) => Some(wormcast_routing::Root::parse(network, text).map_err(RoutingError::from)?),
            (None, None) => None,
        };
        self.algorithm.checked(network, &Options { routing: self.routing, root, seed: self.seed, faults })
    }

    fn to_blame(&self, network: &Network, error: &AlgorithmError) -> Part {
        match error {
            AlgorithmError::FixedRouting { .. } => Part::Routing,
            AlgorithmError::Root(_) => Part::Root,
            AlgorithmError::Fault(FaultError::TooMany { .. }) => Part::RandomFaults,
            AlgorithmError::Fault(_) => Part::FailedLinks,
            AlgorithmError::NeedsAllLinks { .. } | AlgorithmError::NoWholeTree { .. } => Part::Faults,
            _ => {
                // What would do without one of the others is not to blame itself.
                let does = |request: Self| request.resolve(network).is_ok();
                let none = FaultRequest::default();
                if self.routing.is_some() && does(Self { routing: None, root: None, ..self.clone() }) {
                    Part::Routing
                } else if self.faults == none || !does(Self { faults: none, ..self.clone() }) {
                    Part::Algorithm
                } else if self.faults.random > 0 {
                    Part::RandomFaults
                } else {
                    Part::Faults
                }
            }
        }
    }
}

/// Networks, and algorithms made for them, so that each is made once.
#[derive(Default)]
pub struct Made {
    networks: HashMap<String, Entry>,
    algorithms: usize,
    channels: usize,
    /// The most algorithms, and the most channels of all networks together.
    most: Option<(usize, usize)>,
}

struct Entry {
    network: Arc<Network>,
    algorithms: HashMap<Request, Arc<dyn Algorithm>>,
}

impl Made {
    /// Beyond so many algorithms, or channels of all networks together, which is what their memory grows with, everything is made anew.
    pub fn bounded(algorithms: usize, channels: usize) -> Self {
        Self { most: Some((algorithms, channels)), ..Self::default() }
    }

    /// The network that goes by this name, built if there is none yet.
    ///
    /// # Errors
    /// Those of `build`.
    pub fn network<E>(&mut self, name: &str, build: impl FnOnce() -> Result<Network, E>) -> Result<Arc<Network>, E> {
        if let Some(entry) = self.networks.get(name) {
            return Ok(Arc::clone(&entry.network));
        }
        let network = Arc::new(build()?);
        self.forget_if_full();
        self.keep(name, &network);
        Ok(network)
    }

    /// What a request asks for on the network that goes by this name, made if it is not yet.
    ///
    /// # Errors
    /// As [`Request::make`].
    pub fn algorithm(
        &mut self,
        name: &str,
        network: &Arc<Network>,
        request: &Request,
    ) -> Result<Arc<dyn Algorithm>, Refused> {
        if let Some(made) = self.networks.get(name).and_then(|entry| entry.algorithms.get(request)) {
            return Ok(Arc::clone(made));
        }
        let made: Arc<dyn Algorithm> = Arc::from(request.make(network)?);
        self.forget_if_full();
        self.keep(name, network).algorithms.insert(request.clone(), Arc::clone(&made));
        self.algorithms += 1;
        Ok(made)
    }

    fn keep(&mut self, name: &str, network: &Arc<Network>) -> &mut Entry {
        self.networks.entry(name.to_owned()).or_insert_with(|| {
            self.channels += network.channels();
            Entry { network: Arc::clone(network), algorithms: HashMap::new() }
        })
    }

    fn forget_if_full(&mut self) {
        let full = |&(algorithms, channels): &(usize, usize)| self.algorithms >= algorithms || self.channels > channels;
        if self.most.as_ref().is_some_and(full) {
            *self = Self { most: self.most, ..Self::default() };
        }
    }
}
