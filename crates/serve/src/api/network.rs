//! A network with its drawing.

use axum::extract::State as Extracted;
use serde::Serialize;
use wormcast_network::{NetworkOutline, misleading_name};

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

pub(super) async fn get(Extracted(state): Extracted<Shared>, given: Given) -> Result<Json, Refusal> {
    given.only(&["topology"], &[])?;
    answer(&state, move |state| {
        let network = state.folder.network(given.need("topology")?)?;
        if network.channels() > MOST_CHANNELS {
            return Err(Refusal::bad_input(format!(
                "`{}` has {} channels, and the page shows at most {MOST_CHANNELS}; `wormcast topology` describes larger networks",
                network.name(),
                network.channels()
            )));
        }
        Ok(Found { outline: NetworkOutline::new(&network), warning: misleading_name(&network) })
    })
    .await
}
