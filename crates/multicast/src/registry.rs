//! Multicast algorithms by name.

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

type Make = fn(&Network, &Options) -> Result<Box<dyn Algorithm>, AlgorithmError>;

macro_rules! registry {
    (@make $algorithm:ident) => { $algorithm::new };
    (@make $module:ident $maker:ident) => { $module::$maker };
    ($($name:literal => $algorithm:ident $(:: $maker:ident)?),* $(,)?) => {
        /// The names that [`algorithm_by_name`] knows.
        pub const ALGORITHMS: &[&str] = &[$($name),*];

        const MAKERS: &[Make] =
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

/// What the names of algorithms begin with that can do without some links.
const WITH_FAULTS: [&str; 2] = ["spam", "dstm-"];

/// The algorithm of this name, made for `network`.
///
/// # Errors
/// If there is none of that name, or it is not defined for the network or with the routing asked for.
pub fn algorithm_by_name(
    name: &str,
    network: &Network,
    options: &Options,
) -> Result<Box<dyn Algorithm>, AlgorithmError> {
    match ALGORITHMS.iter().position(|&known| known == name) {
        Some(position)
            if !options.faults.links.is_empty() && !WITH_FAULTS.iter().any(|prefix| name.starts_with(prefix)) =>
        {
            Err(AlgorithmError::NeedsAllLinks { algorithm: ALGORITHMS[position] })
        }
        Some(position) => MAKERS[position](network, options),
        None => Err(UnknownName { kind: "algorithm", given: name.to_owned(), expected: ALGORITHMS.to_vec() }.into()),
    }
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
