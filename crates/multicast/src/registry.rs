//! Multicast algorithms by name: those of the workbench, and those that a program adds.

use std::sync::{PoisonError, RwLock};

use thiserror::Error;
use wormcast_network::Network;
use wormcast_routing::UnknownName;

use crate::algorithm::{Algorithm, AlgorithmError, Options};
use crate::bit_string::BitString;
use crate::column_path::ColumnPath;
use crate::combine::Combine;
use crate::dstm_tarjan;
use crate::dstm_torus;
use crate::dual_path::DualPath;
use crate::maxport::Maxport;
use crate::minimal_negative_first::MinimalNegativeFirst;
use crate::minimal_negative_first_optimal::MinimalNegativeFirstOptimal;
use crate::multi_path::MultiPath;
use crate::multiport::Multiport;
use crate::pure_negative_first::PureNegativeFirst;
use crate::schl::Schl;
use crate::separate::Separate;
use crate::spam::Spam;
use crate::tree_infinity::TreeInfinity;
use crate::tree_one::TreeOne;
use crate::tree_zero::TreeZero;
use crate::u_cube::UCube;
use crate::u_mesh::UMesh;
use crate::u_min::UMin;
use crate::w_sort::WSort;
use crate::watched::Watched;

/// Makes an algorithm for a network, or says why there is none.
pub type MakeAlgorithm = fn(&Network, &Options) -> Result<Box<dyn Algorithm>, AlgorithmError>;

macro_rules! registry {
    (@make $algorithm:ident) => { $algorithm::new };
    (@make $module:ident $maker:ident) => { $module::$maker };
    ($($name:literal => $algorithm:ident $(:: $maker:ident)?),* $(,)?) => {
        /// The names that [`algorithm_by_name`] knows in every program; [`algorithm_names`] has those that this one adds, too.
        pub const ALGORITHMS: &[&str] = &[$($name),*];

        const MAKERS: &[MakeAlgorithm] =
            &[$(|network, options| Ok(Box::new(registry!(@make $algorithm $($maker)?)(network, options)?))),*];
    };
}

// One line an algorithm.
registry! {
    "separate" => Separate,
    "pure-negative-first" => PureNegativeFirst,
    "minimal-negative-first" => MinimalNegativeFirst,
    "minimal-negative-first-optimal" => MinimalNegativeFirstOptimal,
    "dual-path" => DualPath,
    "multi-path" => MultiPath,
    "column-path" => ColumnPath,
    "schl" => Schl,
    "u-mesh" => UMesh,
    "u-cube" => UCube,
    "maxport" => Maxport,
    "combine" => Combine,
    "w-sort" => WSort,
    "tree-zero" => TreeZero,
    "tree-one" => TreeOne,
    "tree-infinity" => TreeInfinity,
    "spam" => Spam,
    "dstm-1" => dstm_torus::dstm_1,
    "dstm-2" => dstm_torus::dstm_2,
    "dstm-tarjan" => dstm_tarjan::tarjan,
    "dstm-tarjan-best" => dstm_tarjan::best,
    "dstm-tarjan-average" => dstm_tarjan::average,
    "dstm-tarjan-path" => dstm_tarjan::path,
    "bit-string" => BitString,
    "multiport" => Multiport,
    "u-min" => UMin,
}

/// Whether the algorithm of this name makes random choices, which [`Options::seed`] decides; of one that a program adds, that is not known,
/// and it may.
pub fn algorithm_has_seed(name: &str) -> bool {
    name.starts_with("dstm-") || own_revision(name).is_some()
}

/// What the names of algorithms begin with that can do without some links.
const WITH_FAULTS: [&str; 2] = ["spam", "dstm-"];

/// An algorithm that is not part of the workbench, under the name by which users of a program ask for it.
#[derive(Clone, Copy, Debug)]
pub struct OwnAlgorithm {
    name: &'static str,
    revision: u32,
    make: MakeAlgorithm,
    with_faults: bool,
}

impl OwnAlgorithm {
    /// The algorithm that `make` makes.
    ///
    /// The name is that of [`Algorithm::name`]: lower-case letters, digits and hyphens. The `revision` becomes part of the
    /// description under which results are stored: raise it with every change of plans, routing (what a relation's
    /// `candidates` are), rules, switches or ports, or stored results of the old code will be taken for those of the new. `--fresh`
    /// of the commands forgets those of a sweep.
    pub const fn new(name: &'static str, revision: u32, make: MakeAlgorithm) -> Self {
        Self { name, revision, make, with_faults: false }
    }

    /// The same, of an algorithm that heeds [`Options::faults`]. Without this, it is refused where links have failed.
    #[must_use]
    pub const fn with_faults(self) -> Self {
        Self { with_faults: true, ..self }
    }
}

/// Why an algorithm cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// The name is taken.
    #[error("there is an algorithm `{0}` already: take another name")]
    Taken(&'static str),
    /// It would not do in a list of algorithms, or in a file's name.
    #[error("`{0}` is no name for an algorithm: expected lower-case letters, digits and hyphens, a letter first")]
    Name(&'static str),
}

/// What [`register`] was given, in that order. It only grows, so that what a name means never changes in a process.
static OWN: RwLock<Vec<OwnAlgorithm>> = RwLock::new(Vec::new());

fn own() -> Vec<OwnAlgorithm> {
    // The vector is whole whatever a thread that held it panicked of.
    OWN.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Makes an algorithm known to [`algorithm_by_name`] in this process, and so to experiments and the command line.
///
/// For the whole process, and before anything asks for the algorithm: what a name means is not to depend on who asks.
///
/// # Errors
/// If the name is taken, or is none.
pub fn register(algorithm: OwnAlgorithm) -> Result<(), RegistrationError> {
    let name = algorithm.name;
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(letters) {
        return Err(RegistrationError::Name(name));
    }
    let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
    if ALGORITHMS.contains(&name) || own.iter().any(|known| known.name == name) {
        return Err(RegistrationError::Taken(name));
    }
    own.push(algorithm);
    Ok(())
}

/// The names that [`algorithm_by_name`] knows in this process: [`ALGORITHMS`], then what was [registered](register).
pub fn algorithm_names() -> Vec<&'static str> {
    ALGORITHMS.iter().copied().chain(own().iter().map(|algorithm| algorithm.name)).collect()
}

/// The revision of a [registered](register) algorithm; `None` for those of the workbench, and for unknown names.
pub fn own_revision(name: &str) -> Option<u32> {
    own().iter().find(|algorithm| algorithm.name == name).map(|algorithm| algorithm.revision)
}

/// The algorithm of this name, made for `network`.
///
/// # Errors
/// If there is none of that name, or it is not defined for the network or with the routing asked for. If it is one that was
/// [registered](register): if its relation gives channels that do not leave the router in question, as far as that is found out
/// here, on networks that are not too large; a route that gets there later has [no way](wormcast_routing::NoRoute).
pub fn algorithm_by_name(
    name: &str,
    network: &Network,
    options: &Options,
) -> Result<Box<dyn Algorithm>, AlgorithmError> {
    let (algorithm, make, with_faults, is_own) = if let Some(place) = ALGORITHMS.iter().position(|&known| known == name)
    {
        (ALGORITHMS[place], MAKERS[place], WITH_FAULTS.iter().any(|prefix| name.starts_with(prefix)), false)
    } else if let Some(own) = own().into_iter().find(|own| own.name == name) {
        (own.name, own.make, own.with_faults, true)
    } else {
        return Err(UnknownName { kind: "algorithm", given: name.to_owned(), expected: algorithm_names() }.into());
    };
    if !options.faults.links.is_empty() && !with_faults {
        return Err(AlgorithmError::NeedsAllLinks { algorithm });
    }
    let made = make(network, options)?;
    if made.name() != algorithm {
        return Err(AlgorithmError::Misnamed { registered: algorithm, own: made.name() });
    }
    if !is_own {
        return Ok(made);
    }
    let watched = Watched::new(made);
    if let Some(problem) = watched.try_all(network) {
        return Err(AlgorithmError::Routing { algorithm, problem: problem.to_owned() });
    }
    Ok(Box::new(watched))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wormcast_network::TopologySpec;

    #[test]
    fn every_listed_algorithm_exists_under_its_own_name() {
        let build = |spec: &str| spec.parse::<TopologySpec>().unwrap().build().unwrap();
        let networks = ["mesh:4x4", "hypercube:4", "bmin:4x2", "torus:4x4"].map(build);
        for name in ALGORITHMS {
            let mut made =
                networks.iter().filter_map(|network| algorithm_by_name(name, network, &Options::default()).ok());
            assert_eq!(made.next().unwrap().name(), *name);
        }
    }

    /// An algorithm under a name that the test gives it.
    struct Renamed<const NAME: usize>;

    const NAMES: [&str; 2] = ["registered", "other"];

    impl<const NAME: usize> Algorithm for Renamed<NAME> {
        fn name(&self) -> &'static str {
            NAMES[NAME]
        }

        fn routing(&self) -> &dyn wormcast_routing::RoutingRelation {
            &wormcast_routing::ECube
        }

        fn plan(&self, _: &Network, _: &crate::algorithm::Multicast) -> crate::plan::Plan {
            crate::plan::Plan::default()
        }

        fn dependencies<'n>(&self, network: &'n Network) -> wormcast_routing::Dependencies<'n> {
            wormcast_routing::Dependencies::new(network)
        }
    }

    #[test]
    fn registered_algorithms_have_names_of_their_own() {
        let ring = "ring:4".parse::<TopologySpec>().unwrap().build().unwrap();
        let ask = |name: &str, options: &Options| algorithm_by_name(name, &ring, options);
        let new = |name, make| OwnAlgorithm::new(name, 7, make);
        let make: MakeAlgorithm = |_, _| Ok(Box::new(Renamed::<0>));
        assert!(ask("registered", &Options::default()).is_err());
        register(new("registered", make)).unwrap();
        assert_eq!(ask("registered", &Options::default()).unwrap().name(), "registered");
        assert_eq!([own_revision("registered"), own_revision("separate"), own_revision("x")], [Some(7), None, None]);
        assert!(algorithm_names().starts_with(ALGORITHMS) && algorithm_names().contains(&"registered"));
        let nearest = ask("registred", &Options::default()).err().unwrap().to_string();
        assert!(nearest.ends_with("did you mean `registered`?"), "{nearest}");

        for taken in ["registered", "dual-path"] {
            assert_eq!(register(new(taken, make)), Err(RegistrationError::Taken(taken)));
        }
        for bad in ["", "Comb", "1d", "a b", "a,b", "../a", "kämme"] {
            assert_eq!(register(new(bad, make)), Err(RegistrationError::Name(bad)));
        }
        register(new("misnamed", |_, _| Ok(Box::new(Renamed::<1>)))).unwrap();
        let misnamed = ask("misnamed", &Options::default()).err().unwrap();
        assert_eq!(misnamed, AlgorithmError::Misnamed { registered: "misnamed", own: "other" });

        // Who does not say so cannot do without links.
        let mut failed = Options::default();
        failed.faults.fail(&ring, "0-1").unwrap();
        let refused = ask("registered", &failed).err().unwrap();
        assert_eq!(refused, AlgorithmError::NeedsAllLinks { algorithm: "registered" });
        register(new("other", |_, _| Ok(Box::new(Renamed::<1>))).with_faults()).unwrap();
        assert!(ask("other", &failed).is_ok());
    }

    #[test]
    fn errors_are_clear() {
        let message = |name: &str, topology: &str, routing: Option<&str>| {
            let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
            let options = Options { routing: routing.map(str::to_owned), ..Options::default() };
            algorithm_by_name(name, &network, &options).err().unwrap().to_string()
        };
        assert!(message("dualpath", "mesh:4x4", None).ends_with("did you mean `dual-path`?"));
        assert_eq!(
            message("column-path", "mesh:4x4x4", None),
            "`column-path` needs a 2-D mesh, but `mesh:4x4x4` is a 3-D mesh"
        );
        assert_eq!(message("dual-path", "torus:4x4", None), "`dual-path` needs a mesh, but `torus:4x4` is a torus");
        assert_eq!(
            message("pure-negative-first", "hypercube:3", None),
            "`pure-negative-first` needs a mesh, but `hypercube:3` is a hypercube; the mesh `mesh:2x2x2` has the same links"
        );
        assert_eq!(message("u-cube", "mesh:4x4", None), "`u-cube` needs a hypercube, but `mesh:4x4` is a 2-D mesh");
        assert_eq!(
            message("w-sort", "mesh:2x2x2", None),
            "`w-sort` needs a hypercube, but `mesh:2x2x2` is a 3-D mesh; `hypercube:3` has the same links"
        );
        assert_eq!(message("schl", "hypercube:4", None), "`schl` needs a 2-D mesh, but `hypercube:4` is a hypercube");
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
            "`u-min` needs a bidirectional multistage network, such as `bmin:4x3`, but `mesh:4x4` is a 2-D mesh"
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
        assert!(message("separate", "mesh:4x4", Some("negativefirst")).ends_with("did you mean `negative-first`?"));
    }
}
