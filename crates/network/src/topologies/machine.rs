//! Specifications of the networks of large machines: dragonflies, `HyperX` and Slim Flies.

use std::fmt;
use std::sync::Arc;

use crate::builder::{MAX_LINKS, MAX_NODES};
use crate::error::TopologyError;
use crate::network::Network;
use crate::topologies::dragonfly::Dragonfly;
use crate::topologies::graph_spec::Given;
use crate::topologies::grid::Grid;
use crate::topologies::hyperx::HyperX;
use crate::topologies::shape::Shape;
use crate::topologies::slimfly::{SlimFly, has_slim_fly};
use crate::topologies::spec::{MAX_ROUTERS, extents};

/// A network of routers with several nodes each.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MachineSpec {
    /// `dragonfly:p=P,a=A,h=H`.
    Dragonfly(Dragonfly),
    /// `hyperx:AxB…,nodes=T`.
    HyperX(HyperX),
    /// `slimfly:q=Q,nodes=P`.
    SlimFly(SlimFly),
}

/// The families, each with an example.
pub(crate) const MACHINES: [(&str, &str); 3] =
    [("dragonfly", "dragonfly:p=2,a=4,h=2"), ("hyperx", "hyperx:4x4,nodes=4"), ("slimfly", "slimfly:q=5,nodes=4")];

impl MachineSpec {
    /// Parses what follows the colon of a family's specification.
    pub(crate) fn parse(spec: &str, family: &str, rest: &str) -> Result<Option<Self>, TopologyError> {
        let Some(&(family, example)) = MACHINES.iter().find(|&&(name, _)| name == family) else { return Ok(None) };
        let read = |text, keys: &[&'static str]| Given::read(spec, example, text, keys);
        let (machine, given) = match family {
            "dragonfly" => {
                let given = read(rest, &["p", "a", "h"])?;
                let [p, a, h] = ["p", "a", "h"].map(|key| given.at_least_one(key, None));
                (Self::Dragonfly(Dragonfly { p: p?, a: a?, h: h? }), given)
            }
            "hyperx" => {
                let (sizes, further) = rest.split_once(',').unwrap_or((rest, ""));
                let grid = extents(spec, sizes, "a form such as `hyperx:4x4,nodes=4`")?;
                let given = if further.is_empty() { Given::nothing(spec, example) } else { read(further, &["nodes"])? };
                let links = HyperX::link_count(&grid);
                let nodes = given.at_least_one("nodes", Some(1))?;
                given.check_links(links)?;
                (Self::HyperX(HyperX { grid: Grid::new(&grid), nodes }), given)
            }
            _ => {
                let given = read(rest, &["q", "nodes"])?;
                let (q, nodes) = (given.required::<u32>("q", "a whole number")?, given.at_least_one("nodes", Some(1))?);
                let routers = 2 * u128::from(q) * u128::from(q);
                if routers > MAX_ROUTERS as u128 {
                    return Err(TopologyError::TooLarge { given: spec.to_owned(), routers, limit: MAX_ROUTERS });
                }
                if !has_slim_fly(q) {
                    let fits = |q: u32| {
                        2 * u128::from(q) * u128::from(q) <= MAX_ROUTERS as u128
                            && SlimFly::link_count(q) <= MAX_LINKS as u128
                    };
                    let exists = |q: &u32| has_slim_fly(*q) && fits(*q);
                    let below = (3..q).rev().find(exists);
                    let above = (q.max(2) + 1..=2 * q.max(2)).find(exists);
                    let nearest: Vec<String> = below.into_iter().chain(above).map(|q| format!("`q={q}`")).collect();
                    return Err(given.error(format!(
                        "`q={q}` is not a prime power from 3 on: the nearest is {}",
                        nearest.join(" or ")
                    )));
                }
                given.check_links(SlimFly::link_count(q))?;
                (Self::SlimFly(SlimFly::new(q, nodes)), given)
            }
        };
        let (routers, links, nodes) = machine.sizes();
        if routers > MAX_ROUTERS as u128 {
            return Err(TopologyError::TooLarge { given: spec.to_owned(), routers, limit: MAX_ROUTERS });
        }
        if links > MAX_LINKS as u128 || nodes > MAX_NODES as u128 {
            return Err(given.error(format!(
                "it has {nodes} nodes and {links} links, and at most {MAX_NODES} and {MAX_LINKS} are supported"
            )));
        }
        Ok(Some(machine))
    }

    /// Routers, links and nodes.
    pub(crate) fn sizes(&self) -> (u128, u128, u128) {
        let (routers, links, each) = match self {
            Self::Dragonfly(dragonfly) => (dragonfly.routers(), dragonfly.link_count(), dragonfly.nodes_each()),
            Self::HyperX(hyperx) => {
                (hyperx.grid.len() as u128, HyperX::link_count(hyperx.grid.extents()), hyperx.nodes)
            }
            Self::SlimFly(fly) => (2 * u128::from(fly.q()).pow(2), SlimFly::link_count(fly.q()), fly.nodes_each()),
        };
        (routers, links, routers * u128::from(each))
    }

    pub(crate) fn build(&self) -> Arc<Network> {
        let (routers, _, nodes) = self.sizes();
        let (links, shape) = match self {
            Self::Dragonfly(dragonfly) => (dragonfly.links(), Shape::Dragonfly(*dragonfly)),
            Self::HyperX(hyperx) => (hyperx.links(), Shape::HyperX(hyperx.clone())),
            Self::SlimFly(fly) => (fly.links(), Shape::SlimFly(fly.clone())),
        };
        let each = (nodes / routers) as u32;
        let network = Network::from_ports(self.to_string(), routers as usize, &links, &[]);
        Arc::new(network.with_nodes_each(each).with_shape(shape))
    }

    /// The next smaller network of the family.
    pub(crate) fn smaller(&self) -> Option<Self> {
        let fewer = |number: u32| Some(number - (number / 16).max(1)).filter(|&number| number > 0);
        Some(match self {
            Self::Dragonfly(Dragonfly { p, a, h }) => Self::Dragonfly(Dragonfly { p: *p, a: fewer(*a)?, h: *h }),
            Self::HyperX(HyperX { grid, nodes }) => {
                let mut extents = grid.extents().to_vec();
                let longest = extents.iter_mut().max()?;
                *longest = fewer(*longest)?;
                Self::HyperX(HyperX { grid: Grid::new(&extents), nodes: *nodes })
            }
            Self::SlimFly(fly) => {
                let q = (3..fly.q()).rev().find(|&q| has_slim_fly(q))?;
                Self::SlimFly(SlimFly::new(q, fly.nodes_each()))
            }
        })
    }
}

impl fmt::Display for MachineSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dragonfly(dragonfly) => dragonfly.fmt(f),
            Self::HyperX(hyperx) => hyperx.fmt(f),
            Self::SlimFly(fly) => fly.fmt(f),
        }
    }
}
