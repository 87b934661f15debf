//! Headers that encode several destinations.

pub(crate) mod encoded;
pub(crate) mod tree_header;
