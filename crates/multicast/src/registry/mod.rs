//! Multicast algorithms by name: the built-in ones, and those that a program adds.

pub(crate) mod algorithm_cache;
pub(crate) mod descriptor;
pub(crate) mod family;
pub(crate) mod options;

use std::sync::{Arc, PoisonError, RwLock};

use thiserror::Error;
use wormcast_network::Network;
use wormcast_routing::{RoutingDescriptor, UnknownName};

use crate::algorithm::{Algorithm, AlgorithmError};
use crate::algorithms::hypercube::{combine, maxport, u_cube, w_sort};
use crate::algorithms::irregular::{chain_ordered, spam, tables, tree_infinity, tree_one, tree_zero};
use crate::algorithms::mesh::{
    bounded_negative_first, column_path, double_channel_xy_tree, dual_path, dual_path_adaptive, mask,
    minimal_negative_first, minimal_negative_first_optimal, multi_path, pure_negative_first, rpm, schl, u_mesh, vctm,
    xy_tree,
};
use crate::algorithms::multistage::{bit_string, multiport, u_min};
use crate::algorithms::separate;
use crate::algorithms::torus::{dstm_tarjan, dstm_torus};
use crate::registry::descriptor::{Descriptor, Options};

/// All built-in algorithms; [`algorithms`] also has those that this program adds.
pub const ALGORITHMS: &[&Descriptor] = &[
    &separate::SEPARATE,
    &pure_negative_first::PURE_NEGATIVE_FIRST,
    &minimal_negative_first::MINIMAL_NEGATIVE_FIRST,
    &minimal_negative_first_optimal::MINIMAL_NEGATIVE_FIRST_OPTIMAL,
    &bounded_negative_first::BOUNDED_NEGATIVE_FIRST,
    &dual_path::DUAL_PATH,
    &dual_path_adaptive::DUAL_PATH_ADAPTIVE,
    &multi_path::MULTI_PATH,
    &column_path::COLUMN_PATH,
    &schl::SCHL,
    &u_mesh::U_MESH,
    &xy_tree::XY_TREE,
    &xy_tree::YX_TREE,
    &double_channel_xy_tree::DOUBLE_CHANNEL_XY_TREE,
    &mask::XY_MASK,
    &mask::YX_MASK,
    &rpm::RPM,
    &vctm::VCTM,
    &u_cube::U_CUBE,
    &maxport::MAXPORT,
    &combine::COMBINE,
    &w_sort::W_SORT,
    &chain_ordered::CHAIN_ORDERED,
    &tree_zero::TREE_ZERO,
    &tree_one::TREE_ONE,
    &tree_infinity::TREE_INFINITY,
    &spam::SPAM,
    &dstm_torus::DSTM_1,
    &dstm_torus::DSTM_2,
    &dstm_tarjan::DSTM_TARJAN,
    &dstm_tarjan::DSTM_TARJAN_BEST,
    &dstm_tarjan::DSTM_TARJAN_AVERAGE,
    &dstm_tarjan::DSTM_TARJAN_PATH,
    &bit_string::BIT_STRING,
    &multiport::MULTIPORT,
    &u_min::U_MIN,
    &tables::TABLES,
];

/// Why an algorithm cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// The name is taken.
    #[error("there is an algorithm `{0}` already: take another name")]
    Taken(&'static str),
    /// The name cannot stand in a list of algorithms or in a file name.
    #[error("`{0}` is no name for an algorithm: expected lower-case letters, digits and hyphens, a letter first")]
    Name(&'static str),
}

/// What [`register`] was given, in that order, and [`replace`] in the place of that.
static OWN: RwLock<Vec<&'static Descriptor>> = RwLock::new(Vec::new());

fn own() -> Vec<&'static Descriptor> {
    // A descriptor is pushed or replaced at once, so a panic in another thread cannot have left the list half changed.
    OWN.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Makes an algorithm known by its name in this process, and so to experiments and the command line.
///
/// It holds for the whole process. Call it before anything asks for the algorithm, so that a name means the same to all callers.
///
/// # Errors
/// If the name is taken or not valid.
pub fn register(algorithm: Descriptor) -> Result<(), RegistrationError> {
    add(algorithm, false)
}

/// As [`register`], but an algorithm that a program registered under this name before gives way. What was made of that one stays as it is.
///
/// For interactive programs, in which a function is written, tried and written again.
///
/// # Errors
/// If the name is that of a built-in algorithm or not valid.
pub fn replace(algorithm: Descriptor) -> Result<(), RegistrationError> {
    add(algorithm, true)
}

fn add(algorithm: Descriptor, again: bool) -> Result<(), RegistrationError> {
    let name = algorithm.name;
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(letters) {
        return Err(RegistrationError::Name(name));
    }
    let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
    let before = own.iter().position(|known| known.name == name);
    if before.is_some() && !again || ALGORITHMS.iter().any(|known| known.name == name) {
        return Err(RegistrationError::Taken(name));
    }
    // For as long as the process, as its name.
    let algorithm: &'static Descriptor = Box::leak(Box::new(algorithm));
    match before {
        Some(before) => own[before] = algorithm,
        None => own.push(algorithm),
    }
    Ok(())
}

/// The algorithms that have a name in this process: [`ALGORITHMS`], then what was [registered](register).
pub fn algorithms() -> Vec<&'static Descriptor> {
    [ALGORITHMS, &own()].concat()
}

impl Descriptor {
    /// The algorithm of this name, built in or [registered](register).
    ///
    /// # Errors
    /// If there is none, naming the nearest.
    pub fn named(name: &str) -> Result<&'static Self, UnknownName> {
        let find = |known: &[&'static Self]| known.iter().copied().find(|algorithm| algorithm.name == name);
        find(ALGORITHMS).or_else(|| find(&own())).ok_or_else(|| {
            let expected = algorithms().iter().map(|algorithm| algorithm.name).collect();
            let instead = RoutingDescriptor::named(name).is_ok().then_some("a routing");
            UnknownName { kind: "algorithm", given: name.to_owned(), expected, instead }
        })
    }
}

/// The routing of this name.
///
/// # Errors
/// If there is none, naming the nearest, or saying that it is an algorithm's.
pub fn routing_named(name: &str) -> Result<&'static RoutingDescriptor, UnknownName> {
    RoutingDescriptor::named(name).map_err(|unknown| {
        let instead = Descriptor::named(name).is_ok().then_some("an algorithm");
        UnknownName { instead, ..unknown }
    })
}

/// Whether an algorithm is one that a program [adds](register).
pub fn is_own(algorithm: &dyn Algorithm) -> bool {
    Descriptor::named(algorithm.name()).is_ok_and(Descriptor::is_own)
}

/// The algorithm of this name, made for `network`: [`Descriptor::named`] and [`make`](Descriptor::make) in one.
///
/// # Errors
/// If there is none of that name, naming the nearest, or it cannot be made.
pub fn algorithm_by_name(
    name: &str,
    network: &Arc<Network>,
    options: &Options,
) -> Result<Box<dyn Algorithm>, AlgorithmError> {
    Descriptor::named(name)?.make(network, options)
}

#[cfg(test)]
mod tests {
    use wormcast_network::{NodeId, TopologySpec};
    use wormcast_routing::{Dependencies, ROUTINGS, RoutingDescriptor, RoutingOptions, RoutingRelation, UP_DOWN};

    use super::*;
    use crate::algorithm::Multicast;
    use crate::algorithms::irregular::tables::TABLES;
    use crate::plan::Itinerary;
    use crate::registry::descriptor::MakeAlgorithm;
    use crate::registry::descriptor::RequestPart;
    use crate::registry::family::{Routed, Sends};

    #[test]
    fn every_algorithm_is_as_it_is_described() {
        let build = |spec: &str| spec.parse::<TopologySpec>().unwrap().build().unwrap();
        let networks = ["mesh:4x4", "hypercube:4", "bmin:4x2", "torus:4x4"].map(build);
        for descriptor in ALGORITHMS {
            let made = |network: &Arc<Network>, options: &Options| descriptor.make(network, options).ok();
            let default = Options::default();
            let (network, algorithm) = networks.iter().find_map(|n| Some((n, made(n, &default)?))).unwrap();
            let name = descriptor.name;
            assert_eq!(algorithm.name(), name);
            assert_eq!((descriptor.revision, descriptor.is_own(), descriptor.summary.is_empty()), (0, false, false));
            // Some bring their own.
            let own = if name == TABLES.name { TABLES.name } else { algorithm.routing().name() };
            let default = descriptor.routed.default_on(network).map_or(own, |routing| routing.name);
            assert_eq!(default, algorithm.routing().name());
            // What it sends.
            let multicast = Multicast::new(NodeId::new(0), &[1, 2, 6, 7, 9, 13, 14].map(NodeId::new));
            let worms = algorithm.plan(&multicast).worms;
            let sent = worms.iter().map(|worm| match &worm.itinerary {
                Itinerary::Path(path) if path.stops.len() == 1 => Sends::Unicasts,
                Itinerary::Path(_) => Sends::Paths,
                Itinerary::Tree(_) => Sends::Trees,
                Itinerary::Encoded(_) => Sends::Encoded,
            });
            assert_eq!(sent.max_by_key(|&sent| sent as u8), descriptor.sends, "{name}");
            // What it takes.
            let seeded = |seed| made(network, &Options { seed, ..Options::default() }).unwrap().plan(&multicast);
            let draws = (1..9).any(|seed| seeded(seed) != seeded(0));
            assert!(descriptor.draws || !draws, "{name}");

            let mut failed = Options::default();
            failed.faults.fail(network, "0-1").or_else(|_| failed.faults.fail(network, "0-4")).unwrap();
            assert_eq!(made(network, &failed).is_some(), descriptor.faults, "{name}");
            for routing in ROUTINGS {
                let refused = Options { routing: Some(routing), ..Options::default() };
                let fits = match descriptor.routed {
                    Routed::By(own) => own == *routing,
                    Routed::OverTurns(_) => routing.over_turns,
                    Routed::OneOf(known, _) => known.contains(routing),
                    Routed::Any(_) | Routed::Itself => true,
                };
                assert!(fits || made(network, &refused).is_none(), "{name} by {}", routing.name);
            }
        }
    }

    /// An algorithm under a name that the test gives it.
    struct Renamed<const NAME: usize>(Box<dyn RoutingRelation>);

    const NAMES: [&str; 3] = ["registered", "other", "elsewhere"];

    impl<const NAME: usize> Algorithm for Renamed<NAME> {
        fn name(&self) -> &'static str {
            NAMES[NAME]
        }

        fn routing(&self) -> &dyn RoutingRelation {
            self.0.as_ref()
        }

        fn plan(&self, _: &crate::algorithm::Multicast) -> crate::plan::Plan {
            crate::plan::Plan::default()
        }

        fn dependencies(&self) -> Dependencies<'_> {
            let network = self.network();
            Dependencies::new(network)
        }
    }

    #[test]
    fn registered_algorithms_have_names_of_their_own() {
        let ring = "ring:4".parse::<TopologySpec>().unwrap().build().unwrap();
        let ask = |name: &str, options: &Options| algorithm_by_name(name, &ring, options);
        let new = |name, make| Descriptor::new(name, 7, make);
        let make: MakeAlgorithm =
            |network, _| Ok(Box::new(Renamed::<0>(UP_DOWN.make(network, &RoutingOptions::default())?)));
        assert!(ask("registered", &Options::default()).is_err());
        register(new("registered", make)).unwrap();
        assert_eq!(ask("registered", &Options::default()).unwrap().name(), "registered");
        let found = Descriptor::named("registered").unwrap();
        assert_eq!((found.revision, found.is_own()), (7, true));
        assert!(algorithms().starts_with(ALGORITHMS) && algorithms().contains(&found));
        let nearest = ask("registred", &Options::default()).err().unwrap().to_string();
        assert!(nearest.ends_with("did you mean `registered`?"), "{nearest}");

        for taken in ["registered", "dual-path"] {
            assert_eq!(register(new(taken, make)), Err(RegistrationError::Taken(taken)));
        }
        // In a notebook, the next version takes the place of the last.
        let second = Descriptor::new("registered", 8, make).routed(Routed::By(&UP_DOWN));
        assert_eq!((replace(second), Descriptor::named("registered").unwrap().revision), (Ok(()), 8));
        assert_ne!(Descriptor::named("registered").unwrap(), found);
        assert_eq!(replace(new("dual-path", make)), Err(RegistrationError::Taken("dual-path")));
        for bad in ["", "Comb", "1d", "a b", "a,b", "../a", "kämme"] {
            assert_eq!(register(new(bad, make)), Err(RegistrationError::Name(bad)));
        }
        register(new("misnamed", |network, _| {
            Ok(Box::new(Renamed::<1>(UP_DOWN.make(network, &RoutingOptions::default())?)))
        }))
        .unwrap();
        let misnamed = ask("misnamed", &Options::default()).err().unwrap();
        assert_eq!(misnamed, AlgorithmError::Misnamed { registered: "misnamed", own: "other" });

        // One whose relation is that of a network of its own.
        let elsewhere: MakeAlgorithm = |network, _| {
            let own = Network::clone(network);
            Ok(Box::new(Renamed::<2>(UP_DOWN.make(&Arc::new(own), &RoutingOptions::default())?)))
        };
        register(new("elsewhere", elsewhere)).unwrap();
        assert_eq!(
            ask("elsewhere", &Options::default()).err().unwrap().to_string(),
            "the routing `up-down` of `elsewhere` is not made for `ring:4`: it has to hold the network that is given"
        );

        // Who does not say so cannot do without links.
        let mut failed = Options::default();
        failed.faults.fail(&ring, "0-1").unwrap();
        let refused = ask("registered", &failed).err().unwrap();
        assert!(matches!(refused, AlgorithmError::NotTaken { algorithm: "registered", part: RequestPart::Faults, .. }));
        register(
            new("other", |network, _| Ok(Box::new(Renamed::<1>(UP_DOWN.make(network, &RoutingOptions::default())?))))
                .with_faults(),
        )
        .unwrap();
        assert!(ask("other", &failed).is_ok());
    }

    #[test]
    fn errors_are_clear() {
        let message = |name: &str, topology: &str, routing: Option<&str>| {
            let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
            let routing = routing.map(|routing| RoutingDescriptor::named(routing).unwrap());
            algorithm_by_name(name, &network, &Options { routing, ..Options::default() }).err().unwrap().to_string()
        };
        assert!(message("dualpath", "mesh:4x4", None).ends_with("did you mean `dual-path`?"));
        assert_eq!(
            message("column-path", "mesh:4x4x4", None),
            "`column-path` needs a 2-D mesh, but `mesh:4x4x4` is a 3-D mesh; for this one there is `pure-negative-first`, `minimal-negative-first`, \
             `minimal-negative-first-optimal`, `bounded-negative-first` and `dual-path`"
        );
        assert_eq!(
            message("dual-path", "torus:4x4", None),
            "`dual-path` needs a mesh, but `torus:4x4` is a torus; for this one there is `dstm-1`, `dstm-2` and `dstm-tarjan-path`"
        );
        assert_eq!(
            message("pure-negative-first", "hypercube:3", None),
            "`pure-negative-first` needs a mesh, but `hypercube:3` is a hypercube; the mesh `mesh:2x2x2` has the same links"
        );
        assert_eq!(
            message("u-cube", "mesh:4x4", None),
            "`u-cube` needs a hypercube, but `mesh:4x4` is a 2-D mesh; for this one there is `u-mesh`"
        );
        assert_eq!(
            message("w-sort", "mesh:2x2x2", None),
            "`w-sort` needs a hypercube, but `mesh:2x2x2` is a 3-D mesh; `hypercube:3` has the same links"
        );
        assert_eq!(
            message("schl", "hypercube:4", None),
            "`schl` needs a 2-D mesh, but `hypercube:4` is a hypercube; for this one there is `u-cube`, `maxport`, `combine` and `w-sort`"
        );
        assert_eq!(
            message("dual-path", "mesh:4x4", Some("e-cube")),
            "`dual-path` is defined with `hamiltonian` routing and cannot use `e-cube`; leave the routing out"
        );
        assert_eq!(
            message("tree-one", "mesh:4x4", Some("e-cube")),
            "`tree-one` needs a routing over permitted turns, such as `turn-prohibition` or `up-down`; `e-cube` is none"
        );
        assert_eq!(
            message("u-min", "mesh:4x4", None),
            "`u-min` needs a bidirectional multistage network, such as `bmin:4x3`, but `mesh:4x4` is a 2-D mesh; for this one there is `u-mesh`"
        );
        assert_eq!(
            message("multiport", "ring:4", None),
            "`multiport` needs a multistage network, such as `bmin:4x3`, but `ring:4` is an irregular network"
        );
        assert_eq!(
            message("multiport", "bmin:4x2", Some("up-down")),
            "`multiport` is defined with `turnaround` routing and cannot use `up-down`; leave the routing out"
        );
        assert_eq!(
            message("bit-string", "mesh:4x4", Some("e-cube")),
            "`bit-string` is defined with `up-down` routing and cannot use `e-cube`; leave the routing out"
        );
        assert_eq!(
            message("bit-string", "mesh:4x4", Some("turnaround")),
            "`turnaround` needs a bidirectional multistage network, but `mesh:4x4` is a 2-D mesh; `bmin:KxL` is one, and \
             `up-down` does the same on other networks"
        );
    }
}
