//! Routing relations by name.

use thiserror::Error;

use crate::e_cube::ECube;
use crate::hamiltonian::Hamiltonian;
use crate::negative_first::NegativeFirst;
use crate::relation::RoutingRelation;

/// The names that [`routing_by_name`] knows.
pub const ROUTINGS: [&str; 3] = ["e-cube", "negative-first", "hamiltonian"];

/// A name that no registry entry has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown {kind} `{given}`: expected one of {}{}", .expected.join(", "), nearest(.given, .expected))]
pub struct UnknownName {
    /// What was looked for, such as `routing`.
    pub kind: &'static str,
    /// What was given.
    pub given: String,
    /// The valid names.
    pub expected: Vec<&'static str>,
}

fn nearest(given: &str, expected: &[&str]) -> String {
    expected
        .iter()
        .map(|name| (strsim::damerau_levenshtein(given, name), name))
        .min()
        .filter(|&(distance, name)| distance <= name.len() / 2)
        .map_or_else(String::new, |(_, name)| format!("; did you mean `{name}`?"))
}

/// The routing relation of this name.
///
/// # Errors
/// If there is none, naming the nearest.
pub fn routing_by_name(name: &str) -> Result<Box<dyn RoutingRelation>, UnknownName> {
    match name {
        "e-cube" => Ok(Box::new(ECube)),
        "negative-first" => Ok(Box::new(NegativeFirst)),
        "hamiltonian" => Ok(Box::new(Hamiltonian)),
        _ => Err(UnknownName { kind: "routing", given: name.to_owned(), expected: ROUTINGS.to_vec() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_routing_exists_under_its_own_name() {
        for name in ROUTINGS {
            assert_eq!(routing_by_name(name).unwrap().name(), name);
        }
    }

    #[test]
    fn an_unknown_name_gets_a_suggestion() {
        let message = routing_by_name("ecube").err().unwrap().to_string();
        assert_eq!(
            message,
            "unknown routing `ecube`: expected one of e-cube, negative-first, hamiltonian; did you mean `e-cube`?"
        );
    }
}
