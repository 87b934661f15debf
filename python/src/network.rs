//! Networks.

use std::sync::Arc;

use pyo3::prelude::*;
use wormcast::network::{
    self as net, FileFormat, HeatMapSvg, NetworkGraphml, NetworkNodeLink, NetworkSvg, NodeId, TopologySpec,
    misleading_name, parse_node, parse_node_list,
};

use crate::failure::input;
use crate::signals::interruptible;

/// A network of routers and nodes. See `wormcast.Network`.
#[pyclass(frozen, module = "wormcast._native")]
pub(crate) struct Network {
    pub(crate) network: Arc<net::Network>,
}

impl Network {
    pub(crate) fn node(&self, text: &str) -> PyResult<NodeId> {
        parse_node(&self.network, text).map_err(input)
    }

    pub(crate) fn nodes(&self, list: &str) -> PyResult<Vec<NodeId>> {
        parse_node_list(&self.network, list).map_err(input)
    }
}

#[pymethods]
impl Network {
    #[new]
    fn new(py: Python<'_>, spec: &str) -> PyResult<Self> {
        let built = interruptible(py, || spec.parse::<TopologySpec>().and_then(|spec| spec.build()))?;
        Ok(Self { network: built.map_err(input)? })
    }

    /// From the text of a file, in any format that is read.
    #[staticmethod]
    fn of_text(py: Python<'_>, name: &str, text: &str) -> PyResult<Self> {
        let built = interruptible(py, || FileFormat::of(name, text).parse(name, text))?;
        Ok(Self { network: built.map_err(input)? })
    }

    #[getter]
    fn name(&self) -> &str {
        self.network.name()
    }

    /// What is to be warned of: a node that is called by the number of another one.
    #[getter]
    fn misleading_name(&self) -> Option<String> {
        misleading_name(&self.network)
    }

    #[getter]
    fn kind(&self) -> &str {
        self.network.shape().describe()
    }

    #[getter]
    fn node_count(&self) -> usize {
        self.network.nodes()
    }

    #[getter]
    fn router_count(&self) -> usize {
        self.network.routers()
    }

    /// Each channel, by its ends.
    fn channels(&self) -> Vec<(u32, u32)> {
        let network = &self.network;
        network.channel_ids().map(|channel| (network.from(channel).raw(), network.to(channel).raw())).collect()
    }

    /// The router of each node.
    fn routers_of_nodes(&self) -> Vec<u32> {
        self.network.node_ids().map(|node| self.network.router_of(node).raw()).collect()
    }

    /// The coordinates of a node's router in a mesh, torus or hypercube.
    fn coordinates(&self, node: u32) -> PyResult<Option<Vec<u32>>> {
        let node = self.node(&node.to_string())?;
        let router = self.network.router_of(node);
        Ok(self.network.shape().grid().map(|grid| grid.coordinates(router.index())))
    }

    fn node_number(&self, text: &str) -> PyResult<u32> {
        Ok(self.node(text)?.raw())
    }

    fn node_label(&self, node: u32) -> PyResult<String> {
        Ok(self.network.node_label(self.node(&node.to_string())?))
    }

    /// As node-link JSON, which `NetworkX` reads.
    fn node_link(&self) -> PyResult<String> {
        FileFormat::NodeLink.check_expresses(&self.network).map_err(input)?;
        Ok(NetworkNodeLink(&self.network).to_string())
    }

    fn graphml(&self) -> PyResult<String> {
        FileFormat::Graphml.check_expresses(&self.network).map_err(input)?;
        Ok(NetworkGraphml(&self.network).to_string())
    }

    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        interruptible(py, || NetworkSvg(&self.network).to_string())
    }

    /// A picture with a value for each channel.
    fn heat_map(&self, py: Python<'_>, loads: Vec<f64>, title: &str) -> PyResult<String> {
        if loads.len() != self.network.channels() {
            let (given, channels) = (loads.len(), self.network.channels());
            return Err(input(format!("there are {given} loads; expected one for each of the {channels} channels")));
        }
        let wrong = |load: &f64| !(load.is_finite() && *load >= 0.0);
        if let Some(channel) = loads.iter().position(wrong) {
            let load = loads[channel];
            return Err(input(format!(
                "the load of channel {channel} is {load}; expected a finite number that is not negative"
            )));
        }
        let digits = if loads.iter().all(|load| load.fract() == 0.0) { 0 } else { 2 };
        interruptible(py, || HeatMapSvg { network: &self.network, loads: &loads, title, digits }.to_string())
    }

    /// Hops between routers: the longest and the mean of shortest paths; `None` where some are not joined, or there are too many.
    fn distances(&self, py: Python<'_>) -> PyResult<(Option<u32>, Option<f64>)> {
        let distances = interruptible(py, || self.network.distances())?;
        Ok((distances.diameter, distances.average))
    }
}
