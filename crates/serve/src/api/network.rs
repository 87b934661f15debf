//! A network with its drawing.

use axum::extract::State as Extracted;
use wormcast_network::NetworkOutline;

use super::{Given, Shared, answer};
use crate::answer::{Json, Refusal};

pub(super) async fn get(Extracted(state): Extracted<Shared>, given: Given) -> Result<Json, Refusal> {
    given.only(&["topology"], &[])?;
    answer(&state, move |state| Ok(NetworkOutline::new(&*state.folder.network(given.need("topology")?)?))).await
}
