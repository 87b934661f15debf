//! What is here: the program, the folder, and the files that the page can show.

use axum::extract::State as Extracted;
use serde::Serialize;

use super::{Given, Shared, answer};
use crate::answer::{Json, Refusal};
use crate::folder::{Item, Items};

#[derive(Serialize)]
struct Info {
    version: &'static str,
    /// Null if unknown.
    commit: Option<&'static str>,
    root: String,
    /// The file that the command line named, as among the items; null if it named the folder.
    open: Option<Item>,
    #[serde(flatten)]
    items: Items,
}

pub(super) async fn get(Extracted(state): Extracted<Shared>, given: Given) -> Result<Json, Refusal> {
    given.only(&[], &[])?;
    answer(&state, |state| {
        let commit = state.program.revision;
        Ok(Info {
            version: state.program.version,
            commit: (!commit.is_empty()).then_some(commit),
            root: state.folder.root().display().to_string(),
            open: state.opened.as_deref().and_then(|file| state.folder.item(file)),
            items: state.folder.items(),
        })
    })
    .await
}
