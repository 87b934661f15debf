//! A cache of networks and of algorithms made for them.

use std::collections::HashMap;
use std::sync::Arc;

use wormcast_network::Network;

use crate::algorithm::Algorithm;
use crate::registry::descriptor::{Refused, Request};

/// A cache of networks by name, and of the algorithms made for them by [`Request`].
#[derive(Default)]
pub struct AlgorithmCache {
    networks: HashMap<String, Entry>,
    algorithms: usize,
    channels: usize,
    /// Limits: algorithms, and channels of all networks together.
    most: Option<(usize, usize)>,
}

struct Entry {
    network: Arc<Network>,
    algorithms: HashMap<Request, Arc<dyn Algorithm>>,
}

impl AlgorithmCache {
    /// A cache that is emptied when it would hold more algorithms than this, or networks with more channels in all, which is what
    /// its memory grows with.
    pub fn bounded(algorithms: usize, channels: usize) -> Self {
        Self { most: Some((algorithms, channels)), ..Self::default() }
    }

    /// The network of this name, built if it is not in the cache.
    ///
    /// # Errors
    /// Those of `build`.
    pub fn network<E>(
        &mut self,
        name: &str,
        build: impl FnOnce() -> Result<Arc<Network>, E>,
    ) -> Result<Arc<Network>, E> {
        if let Some(entry) = self.networks.get(name) {
            return Ok(Arc::clone(&entry.network));
        }
        let network = build()?;
        self.forget_if_full();
        self.keep(name, &network);
        Ok(network)
    }

    /// The algorithm that a request asks for on the network of this name, made if it is not in the cache.
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
