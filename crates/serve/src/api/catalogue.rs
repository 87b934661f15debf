//! The algorithms, routings and measured quantities that there are, from their descriptors.

use axum::extract::State as Extracted;
use serde::Serialize;
use wormcast_lab::Quantity;
use wormcast_multicast::{Routed, algorithms};
use wormcast_routing::ROUTINGS;

use super::{Given, Shared, answer};
use crate::answer::{Json, Refusal};

#[derive(Serialize)]
struct Catalogue {
    algorithms: Vec<AlgorithmEntry>,
    routings: Vec<RoutingEntry>,
    quantities: Vec<QuantityEntry>,
}

#[derive(Serialize)]
struct AlgorithmEntry {
    name: &'static str,
    summary: &'static str,
    /// What its networks are called.
    networks: &'static str,
    /// The shapes of [`NetworkOutline`](wormcast_network::NetworkOutline) that these have.
    shapes: Vec<&'static str>,
    /// What it sends; null if unknown.
    sends: Option<&'static str>,
    options: Vec<String>,
    /// The only routing that it can use; null if it takes others.
    routing: Option<&'static str>,
    /// Whether it avoids failed links.
    faults: bool,
    /// Whether it makes random choices.
    draws: bool,
}

#[derive(Serialize)]
struct RoutingEntry {
    name: &'static str,
    summary: &'static str,
    networks: &'static str,
    root: bool,
}

#[derive(Serialize)]
struct QuantityEntry {
    name: &'static str,
}

pub(super) async fn get(Extracted(state): Extracted<Shared>, given: Given) -> Result<Json, Refusal> {
    use wormcast_multicast::Family;

    given.only(&[], &[])?;
    answer(&state, |_| {
        let shapes = |family: Family| -> Vec<&'static str> {
            let all = ["mesh", "torus", "hypercube", "bmin", "butterfly", "omega", "irregular"];
            let fit = match family {
                Family::Mesh | Family::Mesh2d => &all[..1],
                Family::Torus | Family::SquareTorus => &all[1..2],
                Family::Hypercube => &all[2..3],
                Family::Multistage => &all[3..6],
                Family::BidirectionalMultistage => &all[3..4],
                Family::Connected | Family::Any => &all[..],
            };
            fit.to_vec()
        };
        let algorithms = algorithms().into_iter().map(|algorithm| AlgorithmEntry {
            name: algorithm.name,
            summary: algorithm.summary,
            networks: algorithm.family.name(),
            shapes: shapes(algorithm.family),
            sends: algorithm.sends.map(wormcast_multicast::Sends::name),
            options: algorithm.options.iter().map(ToString::to_string).collect(),
            routing: if let Routed::By(routing) = algorithm.routed { Some(routing.name) } else { None },
            faults: algorithm.faults,
            draws: algorithm.draws,
        });
        let routings = ROUTINGS.iter().map(|routing| RoutingEntry {
            name: routing.name,
            summary: routing.summary,
            networks: routing.needs,
            root: routing.root,
        });
        let quantities = Quantity::names().map(|name| QuantityEntry { name });
        Ok(Catalogue {
            algorithms: algorithms.collect(),
            routings: routings.collect(),
            quantities: quantities.collect(),
        })
    })
    .await
}
