//! What formats of general graphs have in common: vertices with ids, edges between them, and what they mean as a network.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::FileContext;
use crate::builder::{BuildError, MAX_LINKS, MAX_NODES, NetworkBuilder, NodeDetails};
use crate::error::TopologyError;
use crate::ids::RouterId;
use crate::network::{Coordinates, Network};
use crate::text::{did_you_mean, expected_name};
use crate::topologies::spec::MAX_ROUTERS;

/// The value of a vertex's attribute `kind` that makes it a node.
pub(crate) const NODE: &str = "node";
/// The value that makes it a router, as no value does.
pub(crate) const ROUTER: &str = "router";

/// The attribute of an edge that says how many cycles flits take over the link.
pub(crate) const DELAY: &str = "delay_cycles";
/// What that has to be.
pub(super) const CYCLES: &str = "a whole number of cycles from 1 to 4096";
/// What the number of a port has to be.
pub(super) const PORT_NUMBER: &str = "the number of a port, from 0 on";

/// Whether a vertex of this kind is a node, and not a router, as vertices without a kind are.
pub(super) fn is_node(kind: &str) -> Result<bool, String> {
    match kind {
        NODE => Ok(true),
        ROUTER | "" | "null" => Ok(false),
        other => Err(format!("there is no kind `{other}`{}", expected_name(other, [ROUTER, NODE]))),
    }
}

/// What a graph's file says of a vertex beyond its id.
#[derive(Clone, Default)]
pub(super) struct Attributes {
    pub(super) label: String,
    pub(super) is_node: bool,
    /// Of a router.
    pub(super) coordinates: Option<Coordinates>,
}

/// The position that a vertex's attributes give.
#[derive(Clone, Copy, Default)]
pub(super) struct At {
    pub(super) latitude: Option<f64>,
    pub(super) longitude: Option<f64>,
    pub(super) x: Option<f64>,
    pub(super) y: Option<f64>,
}

impl At {
    pub(super) fn coordinates(self) -> Option<Coordinates> {
        let earth = self.latitude.zip(self.longitude);
        let earth = earth.map(|(latitude, longitude)| Coordinates::Earth { latitude, longitude });
        earth.or_else(|| self.x.zip(self.y).map(|(x, y)| Coordinates::Plane { x, y }))
    }
}

/// A coordinate, if there is one: a number of a size that can be drawn, or of degrees that there are.
pub(super) fn coordinate(about: &str, text: &str) -> Result<Option<f64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let (most, written) = match about {
        "latitude" | "Latitude" => (90.0, "90"),
        "longitude" | "Longitude" => (360.0, "360"),
        _ => (1e9, "1e9"),
    };
    match text.parse() {
        Ok(number) if f64::abs(number) <= most => Ok(Some(number)),
        _ => Err(format!("the coordinate `{about}` is `{text}`: expected a number from -{written} to {written}")),
    }
}

struct Vertex {
    attributes: Attributes,
    /// The line that declares it; until then, the line of the edge that first names it.
    line: usize,
    declared: bool,
}

/// An edge, in the direction in which the file has it.
pub(super) struct Edge {
    pub(super) ends: [u32; 2],
    pub(super) ports: [Option<u32>; 2],
    /// The cycles that flits take, if the file says so.
    pub(super) delay: Option<u32>,
    /// Whether it says so of all edges, and so of those of nodes, for which it means nothing.
    pub(super) has_default_delay: bool,
    pub(super) directed: bool,
    pub(super) line: usize,
    /// Its place among the edges, if a line of the file may have many.
    pub(super) number: Option<usize>,
}

impl Edge {
    /// A problem with this edge.
    fn told(&self, problem: String) -> String {
        match self.number {
            Some(number) => format!("edge {number}: {problem}"),
            None => problem,
        }
    }
}

/// What tells which edge a directed one is: its ends, its delay, and its ports.
type Back = ([u32; 2], u32, [Option<u32>; 2]);

/// A graph as its file has it.
#[derive(Default)]
pub(super) struct Vertices {
    /// Positions in `list`.
    by_id: HashMap<String, u32>,
    ids: Vec<Box<str>>,
    list: Vec<Vertex>,
    /// In the order in which they are declared.
    declared: Vec<u32>,
    edges: Vec<Edge>,
}

impl Vertices {
    /// The vertex of this id, which may be declared later.
    pub(super) fn named(&mut self, id: &str, line: usize) -> u32 {
        if let Some(&vertex) = self.by_id.get(id) {
            return vertex;
        }
        let vertex = self.list.len() as u32;
        self.by_id.insert(id.to_owned(), vertex);
        self.ids.push(id.into());
        self.list.push(Vertex { attributes: Attributes::default(), line, declared: false });
        vertex
    }

    pub(super) fn declare(&mut self, id: &str, attributes: Attributes, line: usize) -> Result<(), String> {
        let vertex = self.named(id, line);
        let known = &mut self.list[vertex as usize];
        if known.declared {
            return Err(format!("vertex `{id}` is declared already, in line {}", known.line));
        }
        *known = Vertex { attributes, line, declared: true };
        self.declared.push(vertex);
        let limit = MAX_ROUTERS + MAX_NODES;
        if self.declared.len() > limit { Err(format!("there are more than {limit} vertices")) } else { Ok(()) }
    }

    pub(super) fn join(&mut self, edge: Edge) -> Result<(), String> {
        self.edges.push(edge);
        let limit = 2 * MAX_LINKS;
        if self.edges.len() > limit { Err(format!("there are more than {limit} edges")) } else { Ok(()) }
    }

    /// The network: a router for each vertex, with one node, or as vertices' kinds say.
    pub(super) fn build(mut self, file: FileContext<'_>, last: usize) -> Result<Arc<Network>, TopologyError> {
        if let Some(index) = self.list.iter().position(|vertex| !vertex.declared) {
            let line = self.list[index].line;
            let (id, declared) = (&self.ids[index], self.declared.iter().map(|&vertex| &*self.ids[vertex as usize]));
            let hint = did_you_mean(id, declared);
            return Err(file.error(line, format!("an edge names vertex `{id}`, which is not declared{hint}")));
        }
        self.pair_directed().map_err(|(line, problem)| file.error(line, problem))?;
        let fabric = self.list.iter().any(|vertex| vertex.attributes.is_node);
        let mut builder = NetworkBuilder::new(file.path);
        let mut routers: Vec<Option<RouterId>> = vec![None; self.list.len()];
        for &index in &self.declared {
            let vertex = &self.list[index as usize];
            if !vertex.attributes.is_node {
                let Vertex { attributes, line, .. } = vertex;
                let router = builder.router(&attributes.label).map_err(|error| file.error(*line, error))?;
                if let Some(coordinates) = attributes.coordinates {
                    builder.coordinates(router, coordinates).map_err(|error| file.error(*line, error))?;
                }
                routers[index as usize] = Some(router);
            }
        }
        // The edge of each node.
        let mut attached: Vec<Option<usize>> = vec![None; if fabric { self.list.len() } else { 0 }];
        for (position, edge) in self.edges.iter().enumerate() {
            let error = |problem: String| file.error(edge.line, edge.told(problem));
            let [a, b] = edge.ends;
            let node = match (routers[a as usize], routers[b as usize]) {
                (Some(a), Some(b)) => {
                    match edge.ports {
                        [None, None] => builder.link(a, b),
                        [Some(p), Some(q)] => builder.link_ports((a, p), (b, q)),
                        _ => return Err(error("an edge has a port at one end only".to_owned())),
                    }
                    .map_err(|problem| error(self.explained(&problem, &routers, position)))?;
                    edge.delay
                        .map_or(Ok(()), |cycles| builder.delay(cycles))
                        .map_err(|problem| error(problem.to_string()))?;
                    continue;
                }
                (Some(_), None) => b,
                (None, Some(_)) => a,
                (None, None) => {
                    let [a, b] = [a, b].map(|vertex| &self.ids[vertex as usize]);
                    return Err(error(format!("nodes `{a}` and `{b}` are joined without a router")));
                }
            };
            if edge.delay.is_some() && !edge.has_default_delay {
                return Err(error(format!("`{DELAY}` is of links between routers: nodes take every flit at once")));
            }
            if attached[node as usize].replace(position).is_some() {
                return Err(error(format!("node `{}` is joined to two routers", self.ids[node as usize])));
            }
        }
        for &index in self.declared.iter().filter(|_| fabric) {
            let vertex = &mut self.list[index as usize];
            if !vertex.attributes.is_node {
                continue;
            }
            let name = std::mem::take(&mut vertex.attributes.label);
            let (id, line) = (&self.ids[index as usize], vertex.line);
            let edge = attached[index as usize].map(|position| (position, &self.edges[position]));
            let end = edge.and_then(|(position, edge)| {
                let end = usize::from(edge.ends[0] == index);
                Some((position, routers[edge.ends[end] as usize]?, edge.ports[end]))
            });
            let Some((position, router, port)) = end else {
                return Err(file.error(line, format!("node `{id}` is joined to no router")));
            };
            builder.node(router, NodeDetails { name, port, ..NodeDetails::default() }).map_err(|problem| {
                let line =
                    if matches!(problem, BuildError::PortTaken { .. }) { self.edges[position].line } else { line };
                file.error(line, self.explained(&problem, &routers, position))
            })?;
        }
        builder.build().map_err(|error| file.error(last, error))
    }

    /// A problem with the edge at this position, with vertices by their ids and the other edge that takes a port.
    fn explained(&self, problem: &BuildError, routers: &[Option<RouterId>], position: usize) -> String {
        let (router, port) = match *problem {
            BuildError::PortTaken { router, port, .. } => (router, port),
            BuildError::SelfLoop(_) => {
                let id = &self.ids[self.edges[position].ends[0] as usize];
                return format!("`{id}` is joined to itself");
            }
            _ => return problem.to_string(),
        };
        let vertex = |end: u32| routers[end as usize] == Some(router);
        let takes = |edge: &Edge| (0..2).find(|&end| vertex(edge.ends[end]) && edge.ports[end] == Some(port));
        let others = self.edges.iter().enumerate().filter(|&(other, _)| other != position);
        let Some((edge, end)) = others.map(|(_, edge)| edge).find_map(|edge| Some((edge, takes(edge)?))) else {
            return problem.to_string();
        };
        let [here, there] = [end, 1 - end].map(|end| &self.ids[edge.ends[end] as usize]);
        format!("port {port} of `{here}` is taken already, by the edge to `{there}` in line {}", edge.line)
    }

    /// Makes links of directed edges: channels come in pairs, so each edge needs one back.
    fn pair_directed(&mut self) -> Result<(), (usize, String)> {
        // Edges that wait for the one back, by what that has to be.
        let mut waiting: HashMap<Back, VecDeque<usize>> = HashMap::new();
        let mut paired = vec![false; self.edges.len()];
        for (index, edge) in self.edges.iter().enumerate().filter(|(_, edge)| edge.directed) {
            let ([a, b], [p, q]) = (edge.ends, edge.ports);
            let delay = edge.delay.unwrap_or(1);
            // NetworkX's `to_directed` copies the ports as they are.
            let forth = [[p, q], [q, p]].into_iter().find_map(|ports| {
                let edges = waiting.get_mut(&([a, b], delay, ports))?;
                edges.pop_front()
            });
            match forth {
                Some(forth) => (paired[forth], paired[index]) = (true, true),
                None => waiting.entry(([b, a], delay, [q, p])).or_default().push_back(index),
            }
        }
        if let Some(alone) = waiting.into_values().flatten().min() {
            let Edge { ends, line, delay, .. } = self.edges[alone];
            let [a, b] = ends.map(|vertex| &self.ids[vertex as usize]);
            let is_back = |&back: &usize| {
                let edge = &self.edges[back];
                edge.directed && !paired[back] && edge.ends == [ends[1], ends[0]]
            };
            if let Some(back) = (0..self.edges.len()).find(is_back).map(|back| &self.edges[back]) {
                let differs = delay.unwrap_or(1) != back.delay.unwrap_or(1);
                let what = if differs { format!("the `{DELAY}`") } else { "the ports".to_owned() };
                let problem = format!("{what} from `{b}` to `{a}` must be the same as on the way back, in line {line}");
                return Err((back.line, back.told(problem)));
            }
            let problem = format!("the directed edge from `{a}` to `{b}` has none back: channels come in pairs");
            return Err((line, self.edges[alone].told(problem)));
        }
        // Of each pair, the one from the smaller vertex stays.
        let mut position = 0..;
        self.edges.retain(|edge| !position.next().is_some_and(|p| paired[p]) || edge.ends[0] < edge.ends[1]);
        Ok(())
    }
}
