//! Why there are no such trees.

use thiserror::Error;

use crate::registry::UnknownName;
use crate::relation::Unsupported;
use crate::spanning_tree::NotSpanning;

/// Why a construction makes no trees of a network.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The construction's name is unknown.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The construction is not defined on the network, or not with these options.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// Links that are no tree.
    #[error(transparent)]
    NotSpanning(#[from] NotSpanning),
}
