//! A network with its drawing.

use axum::extract::State as Extracted;
use wormcast_network::NetworkOutline;

use super::{Given, Shared, answer};
use crate::answer::{Json, Refusal};

/// The most routers that a browser is given, some 60 MB of text.
const MOST_ROUTERS: usize = 1 << 18;

pub(super) async fn get(Extracted(state): Extracted<Shared>, given: Given) -> Result<Json, Refusal> {
    given.only(&["topology"], &[])?;
    answer(&state, move |state| {
        let network = state.folder.network(given.need("topology")?)?;
        if network.routers() > MOST_ROUTERS {
            return Err(Refusal::bad_input(format!(
                "`{}` has {} routers: the page shows at most {MOST_ROUTERS}; `wormcast topology` describes larger networks",
                network.name(),
                network.routers()
            )));
        }
        Ok(NetworkOutline::new(&network))
    })
    .await
}
