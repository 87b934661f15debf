//! Routing over permitted turns.

pub(crate) mod irreducible;
pub(crate) mod turn_routing;
pub(crate) mod turn_search;
pub(crate) mod turn_set;
pub(crate) mod turn_survey;
