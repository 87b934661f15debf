//! A network with its drawing.

use axum::extract::State as Extracted;
use serde::Serialize;
use wormcast_network::{NetworkOutline, TopologySpec, misleading_name};

use super::{Given, Shared, answer};
use crate::answer::{Json, Refusal};

/// The most channels of a network that a browser is given: some 25 bytes of text each, 27 MB for a mesh of 512x512.
const MOST_CHANNELS: usize = 1 << 20;

/// What is answered: the network, and what is to be said of its names.
#[derive(Serialize)]
struct Found {
    #[serde(flatten)]
    outline: NetworkOutline,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// The routers of a grid or a hypercube; 0 of others, which are smaller or soon built.
fn routers(spec: &TopologySpec) -> u64 {
    match spec {
        TopologySpec::Mesh(extents, _) | TopologySpec::Torus(extents, _) => {
            extents.iter().fold(1, |routers, &extent| routers.saturating_mul(u64::from(extent)))
        }
        TopologySpec::Hypercube(dimensions) => 1u64.checked_shl(*dimensions).unwrap_or(u64::MAX),
        _ => 0,
    }
}

pub(super) async fn get(Extracted(state): Extracted<Shared>, given: Given) -> Result<Json, Refusal> {
    given.only(&["topology"], &[])?;
    answer(&state, move |state| {
        let refused = |name: &str, channels: String| {
            Refusal::BadInput(format!(
                "`{name}` has {channels} channels, and the page shows at most {MOST_CHANNELS}; `wormcast topology` describes larger networks"
            ))
        };
        let topology = given.need("topology")?;
        let spec = state.folder.spec(topology)?;
        // Each router but one has a link to another, both ways: what is far too large need not be built.
        let least = routers(&spec).saturating_sub(1).saturating_mul(2);
        if least > MOST_CHANNELS as u64 {
            return Err(refused(topology, format!("at least {least}")));
        }
        let network = spec.build().map_err(Refusal::bad_input)?;
        if network.channels() > MOST_CHANNELS {
            return Err(refused(network.name(), network.channels().to_string()));
        }
        Ok(Found { outline: NetworkOutline::new(&network), warning: misleading_name(&network) })
    })
    .await
}
