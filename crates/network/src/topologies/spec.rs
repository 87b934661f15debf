//! Topology specifications: the text that names a network.

use std::fmt;
use std::io::ErrorKind;
use std::num::IntErrorKind;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use crate::builder::{MAX_LINKS, MAX_NODES, MAX_PORT_NUMBER};
use crate::error::TopologyError;
use crate::input::{is_standard_input, meant_file};
use crate::network::Network;
use crate::text::did_you_mean;
use crate::topologies::bmin::bmin;
use crate::topologies::graph_spec::{GRAPHS, Given, GraphSpec, is_digits};
use crate::topologies::grid::Grid;
use crate::topologies::machine::{MACHINES, MachineSpec};
use crate::topologies::shape::Shape;
use crate::topologies::stages::Stages;
use crate::topologies::unidirectional::{Wiring, unidirectional};
use crate::watch::step;

/// The most routers that a network may have: 16 times a 1024x1024 mesh.
pub const MAX_ROUTERS: usize = 1 << 24;

/// The forms of a topology specification, for help.
pub const TOPOLOGY_FORMS: &str = "`mesh:AxBx…[,nodes=T]`, `torus:AxBx…[,nodes=T]`, `hypercube:N`, `bmin:KxL`, `butterfly:KxL`, `omega:KxL`, \
    `dragonfly:p=P,a=A,h=H`, `hyperx:AxB…,nodes=T`, `fattree:k=K,levels=L`, `slimfly:q=Q,nodes=P`, `random:nodes=N,degree=D,seed=S`, \
    `regular:nodes=N,degree=D,seed=S`, `small-world:nodes=N,degree=D,rewire=P,seed=S`, `tree:nodes=N,seed=S`, `ring:N`, \
    `complete:N`, `petersen`, or the path of a file (edge list, GraphML, node-link JSON, anynet, ibsim, ibnetdiscover)";
const GRIDS: [(&str, &str); 3] = [("mesh", "mesh:16x16"), ("torus", "torus:16x16"), ("hypercube", "hypercube:10")];
const MULTISTAGE: [(&str, &str); 4] =
    [("bmin", "bmin:4x3"), ("butterfly", "butterfly:4x3"), ("omega", "omega:4x3"), FAT_TREE];
const FAT_TREE: (&str, &str) = ("fattree", "fattree:k=4,levels=3");

/// Some forms, for messages.
const EXPECTED: &str = "a form such as `mesh:16x16`, `torus:8x8`, `hypercube:10` or `random:nodes=256,degree=4,seed=7`, or the path of a file";

/// The families of topologies, each with an example.
fn families() -> impl Iterator<Item = (&'static str, &'static str)> {
    GRIDS.into_iter().chain(MULTISTAGE).chain(MACHINES).chain(GRAPHS)
}

/// A recipe for a network, as text: `mesh:16x16`, `torus:8x8x8`, `hypercube:10`, `random:nodes=256,degree=4,seed=7`, or a file's
/// path.
///
/// What starts with a family's name and a colon is of that family, and `petersen` alone is too; everything else is a path,
/// which has to exist, or `-`, standard input. To read a file whose name looks like a family, write it as `./petersen`.
///
/// ```
/// use wormcast_network::TopologySpec;
///
/// let spec: TopologySpec = "torus:4x4".parse()?;
/// assert_eq!(spec.to_string(), "torus:4x4");
/// assert_eq!(spec.build()?.links(), 32);
/// let error = "mash:4x4".parse::<TopologySpec>().unwrap_err();
/// assert!(error.to_string().ends_with("did you mean `mesh`?"));
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TopologySpec {
    /// `mesh:AxBx…,nodes=T`: the extents, and the nodes of each router.
    Mesh(Vec<u32>, u32),
    /// `torus:AxBx…,nodes=T`.
    Torus(Vec<u32>, u32),
    /// `hypercube:N`.
    Hypercube(u32),
    /// `bmin:KxL`: a bidirectional multistage network of switches with K ports on each side in L stages, for K^L nodes.
    Bmin(u32, u32),
    /// `butterfly:KxL`: a unidirectional butterfly of switches with K inputs and K outputs in L stages, for K^L nodes.
    Butterfly(u32, u32),
    /// `omega:KxL`: a unidirectional omega network of such switches.
    Omega(u32, u32),
    /// A dragonfly, a `HyperX` or a Slim Fly.
    Machine(MachineSpec),
    /// `fattree:k=K,levels=L`: as `bmin:KxL`, under the name that it has in machines.
    FatTree(u32, u32),
    /// A graph that is generated.
    Graph(GraphSpec),
    /// The path of a file, in any of the formats of [`FileFormat`](crate::FileFormat).
    File(String),
}

impl TopologySpec {
    /// An example of a family, such as `mesh:16x16` of `mesh`.
    pub fn example_of(family: &str) -> Option<&'static str> {
        families().find(|&(name, _)| name == family).map(|(_, example)| example)
    }
}

impl FromStr for TopologySpec {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<Self, TopologyError> {
        let given = text.trim();
        let unknown = |hint| TopologyError::Unknown { given: given.to_owned(), hint };
        let family_meant = |family: &str| did_you_mean(family, families().map(|(name, _)| name));
        let meant = |family| match family_meant(family) {
            hint if hint.is_empty() => format!("; expected {EXPECTED}"),
            hint => hint,
        };
        if given == "petersen" {
            return Ok(Self::Graph(GraphSpec::Petersen));
        }
        let Some((family, rest)) = given.split_once(':') else {
            return if is_there(given)? {
                Ok(Self::File(given.to_owned()))
            } else if let Some(("petersen", _)) = family_without_colon(given) {
                Err(unknown("; did you mean `petersen`?".to_owned()))
            } else if let Some((family, example)) = family_without_colon(given) {
                Err(unknown(format!(": `{family}` needs its size, as in `{example}`")))
            } else {
                let hints = [family_meant(given), meant_file(Path::new(given)), format!("; expected {EXPECTED}")];
                let hint = hints.iter().find(|hint| !hint.is_empty());
                Err(unknown(format!(": there is no such file{}", hint.map_or("", String::as_str))))
            };
        };
        if let Some(graph) = GraphSpec::parse(given, family, rest)? {
            return Ok(Self::Graph(graph));
        }
        if let Some(machine) = MachineSpec::parse(given, family, rest)? {
            return Ok(Self::Machine(machine));
        }
        match family {
            "mesh" => grid(given, rest, ["a form such as `mesh:16x16`", "mesh:8x8,nodes=4"])
                .map(|(extents, nodes)| Self::Mesh(extents, nodes)),
            "torus" => grid(given, rest, ["a form such as `torus:16x16`", "torus:8x8,nodes=4"])
                .map(|(extents, nodes)| Self::Torus(extents, nodes)),
            "hypercube" => {
                let expected = "a number of dimensions, as in `hypercube:10`";
                let malformed = |problem| TopologyError::Malformed {
                    given: given.to_owned(),
                    problem,
                    expected: expected.to_owned(),
                };
                let n = rest.parse::<u32>().map_err(|_| {
                    malformed(if rest.contains(',') {
                        "routers of a hypercube have one node; a mesh of extents 2 may have several, as in `mesh:2x2x2,nodes=4`".to_owned()
                    } else {
                        format!("`{rest}` is {}", if is_digits(rest) { "too large" } else { "not a number" })
                    })
                })?;
                match 1u128.checked_shl(n) {
                    _ if n == 0 => Err(malformed("a hypercube has at least one dimension".to_owned())),
                    Some(routers) if routers <= MAX_ROUTERS as u128 && n < 128 => Ok(Self::Hypercube(n)),
                    routers => Err(TopologyError::TooLarge {
                        given: given.to_owned(),
                        routers: routers.unwrap_or(u128::MAX),
                        limit: MAX_ROUTERS,
                    }),
                }
            }
            "bmin" => multistage(given, rest, "bmin").map(|(radix, stages)| Self::Bmin(radix, stages)),
            "butterfly" => multistage(given, rest, family).map(|(radix, stages)| Self::Butterfly(radix, stages)),
            "fattree" => {
                let read = Given::read(given, FAT_TREE.1, rest, &["k", "levels"])?;
                let number = |key: &'static str| read.required::<u32>(key, "a whole number");
                let text = format!("{}x{}", number("k")?, number("levels")?);
                multistage(given, &text, "fattree").map(|(radix, stages)| Self::FatTree(radix, stages))
            }
            "omega" => multistage(given, rest, family).map(|(radix, stages)| Self::Omega(radix, stages)),
            _ if is_there(given)? => Ok(Self::File(given.to_owned())),
            _ => Err(unknown(meant(family))),
        }
    }
}

/// The family, with an example, that a text without a colon was probably meant to name: `mesh`, `mesh 4x4`, `mesh=4x4`, `mesh4x4`.
fn family_without_colon(given: &str) -> Option<(&'static str, &'static str)> {
    let letters = given.find(|c: char| !c.is_ascii_alphabetic() && c != '-').unwrap_or(given.len());
    let (family, rest) = given.split_at(letters);
    let is_size = rest.is_empty()
        || !rest.contains(['.', '/']) && rest.starts_with(|c: char| " =,".contains(c) || c.is_ascii_digit());
    families().find(|&(name, _)| is_size && name == family.to_ascii_lowercase())
}

/// Whether there is a file of this name; standard input always is.
fn is_there(path: &str) -> Result<bool, TopologyError> {
    if is_standard_input(path) {
        return Ok(true);
    }
    // Without permission to look, the file may exist; a name that no file can have does not.
    match Path::new(path).try_exists() {
        Ok(there) => Ok(there),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotADirectory | ErrorKind::InvalidInput | ErrorKind::InvalidFilename
            ) =>
        {
            Ok(false)
        }
        Err(error) => Err(TopologyError::Unreadable { path: path.to_owned(), reason: error.to_string() }),
    }
}

/// The extents of a mesh or torus, and the nodes of each router.
fn grid(given: &str, rest: &str, forms: [&'static str; 2]) -> Result<(Vec<u32>, u32), TopologyError> {
    let (sizes, further) = rest.split_once(',').map_or((rest, None), |(sizes, further)| (sizes, Some(further)));
    let sizes = extents(given, sizes, forms[0])?;
    let Some(further) = further else { return Ok((sizes, 1)) };
    let further = Given::read(given, forms[1], further, &["nodes"])?;
    let each = further.at_least_one("nodes", None)?;
    let nodes = sizes.iter().fold(u128::from(each), |nodes, &extent| nodes * u128::from(extent));
    if nodes > MAX_NODES as u128 {
        return Err(further.error(format!("it has {nodes} nodes, and at most {MAX_NODES} are supported")));
    }
    Ok((sizes, each))
}

pub(super) fn extents(given: &str, rest: &str, expected: &'static str) -> Result<Vec<u32>, TopologyError> {
    let malformed =
        |problem| TopologyError::Malformed { given: given.to_owned(), problem, expected: expected.to_owned() };
    let extents = rest
        .split('x')
        .map(|part| match part.parse::<u32>() {
            Ok(0) => Err(malformed("an extent of 0 leaves no routers".to_owned())),
            Ok(k) => Ok(k),
            Err(_) if part.is_empty() => Err(malformed("an extent is missing".to_owned())),
            Err(error) if *error.kind() == IntErrorKind::PosOverflow => {
                Err(malformed(format!("the extent {part} is too large")))
            }
            Err(_) => Err(malformed(format!("`{part}` is not an extent"))),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let routers = extents.iter().try_fold(1u128, |product, &k| product.checked_mul(u128::from(k)));
    match routers {
        Some(routers) if routers <= MAX_ROUTERS as u128 => Ok(extents),
        _ => Err(TopologyError::TooLarge {
            given: given.to_owned(),
            routers: routers.unwrap_or(u128::MAX),
            limit: MAX_ROUTERS,
        }),
    }
}

/// The radix and the number of stages of a multistage network.
fn multistage(given: &str, rest: &str, family: &str) -> Result<(u32, u32), TopologyError> {
    let malformed = |problem| TopologyError::Malformed {
        given: given.to_owned(),
        problem,
        expected: match family {
            "fattree" => format!("ports each way and levels, as in `{}`", FAT_TREE.1),
            _ => format!("the radix of switches and the number of stages, as in `{family}:4x3`"),
        },
    };
    let problem = |part: &str| if is_digits(part) { "too large" } else { "not a number" };
    let number = |part: &str| part.parse::<u32>().map_err(|_| malformed(format!("`{part}` is {}", problem(part))));
    let numbers = rest.split('x').map(number);
    let [radix, stages] = numbers.collect::<Result<Vec<u32>, _>>()?[..] else {
        return Err(malformed(format!("`{rest}` is not two numbers")));
    };
    if radix < 2 || stages == 0 {
        return Err(malformed("switches have at least 2 ports on each side, and there is at least 1 stage".to_owned()));
    }
    let most_ports = MAX_PORT_NUMBER.div_ceil(2);
    if radix > most_ports {
        return Err(malformed(format!("switches have at most {most_ports} ports on each side")));
    }
    let nodes = u128::from(radix).checked_pow(stages).unwrap_or(u128::MAX);
    let routers = (nodes / u128::from(radix)).saturating_mul(u128::from(stages));
    if routers > MAX_ROUTERS as u128 {
        return Err(TopologyError::TooLarge { given: given.to_owned(), routers, limit: MAX_ROUTERS });
    }
    let links = nodes * u128::from(stages - 1);
    if nodes > MAX_NODES as u128 || links > MAX_LINKS as u128 {
        return Err(malformed(format!(
            "it has {nodes} nodes and {links} links, and at most {MAX_NODES} and {MAX_LINKS} are supported"
        )));
    }
    Ok((radix, stages))
}

impl fmt::Display for TopologySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |extents: &[u32]| extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        match self {
            Self::Mesh(extents, 1) => write!(f, "mesh:{}", join(extents)),
            Self::Mesh(extents, nodes) => write!(f, "mesh:{},nodes={nodes}", join(extents)),
            Self::Torus(extents, 1) => write!(f, "torus:{}", join(extents)),
            Self::Torus(extents, nodes) => write!(f, "torus:{},nodes={nodes}", join(extents)),
            Self::Hypercube(n) => write!(f, "hypercube:{n}"),
            Self::Bmin(radix, stages) => write!(f, "bmin:{radix}x{stages}"),
            Self::Butterfly(radix, stages) => write!(f, "butterfly:{radix}x{stages}"),
            Self::Omega(radix, stages) => write!(f, "omega:{radix}x{stages}"),
            Self::FatTree(radix, stages) => write!(f, "fattree:k={radix},levels={stages}"),
            Self::Machine(machine) => machine.fmt(f),
            Self::Graph(graph) => graph.fmt(f),
            Self::File(path) => f.write_str(path),
        }
    }
}

impl TopologySpec {
    /// Builds the network; linear in its size.
    ///
    /// # Errors
    /// If it is a file that cannot be read or understood, if random draws give no connected graph, or if there is not enough memory
    /// ([`memory`](Self::memory)).
    pub fn build(&self) -> Result<Arc<Network>, TopologyError> {
        self.check_memory().map_err(TopologyError::Memory)?;
        step("building the network", "routers", 0, 0);
        let name = self.to_string();
        let (shape, each) = match self {
            Self::Mesh(extents, nodes) => (Shape::Mesh(Grid::new(extents)), *nodes),
            Self::Torus(extents, nodes) => (Shape::Torus(Grid::new(extents)), *nodes),
            Self::Hypercube(n) => (Shape::Hypercube(Grid::new(&vec![2; *n as usize])), 1),
            Self::Bmin(radix, stages) | Self::FatTree(radix, stages) => {
                return Ok(Arc::new(bmin(name, Stages::new(*radix, *stages))));
            }
            Self::Butterfly(radix, stages) => {
                return Ok(Arc::new(unidirectional(name, Stages::new(*radix, *stages), Wiring::Butterfly)));
            }
            Self::Omega(radix, stages) => {
                return Ok(Arc::new(unidirectional(name, Stages::new(*radix, *stages), Wiring::Omega)));
            }
            Self::Machine(machine) => return Ok(machine.build()),
            Self::Graph(graph) => return graph.build(),
            Self::File(path) => return crate::files::read(path),
        };
        Ok(Arc::new(Network::from_shape(name, shape).with_nodes_each(each)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        text.parse::<TopologySpec>().unwrap_err().to_string()
    }

    #[test]
    fn several_nodes_are_written_as_they_are_read() {
        for text in ["mesh:4x4", "mesh:4x3,nodes=2", "torus:5,nodes=3"] {
            assert_eq!(text.parse::<TopologySpec>().unwrap().to_string(), text);
        }
        assert_eq!("torus:4x4, nodes=1".parse::<TopologySpec>().unwrap().to_string(), "torus:4x4");
    }

    #[test]
    fn errors_repeat_no_text_of_any_length() {
        let long = "a".repeat(5000);
        for given in [
            long.clone(),
            format!("mesh:{long}"),
            format!("ring:{long}"),
            format!("random:{long}"),
            format!("{long}:4"),
        ] {
            assert!(message(&given).chars().count() < 1000, "{}", message(&given));
        }
    }

    #[test]
    fn errors_name_the_nearest_valid_form() {
        assert!(message("mesh").contains("needs its size, as in `mesh:16x16`"));
        for written in ["mesh 4x4", "mesh=4x4", "Mesh4x4"] {
            assert!(message(written).ends_with(": `mesh` needs its size, as in `mesh:16x16`"), "{written}");
        }
        assert!(message("mesh2.edges").contains("there is no such file"));
        assert!(message("hypercub:4").ends_with("did you mean `hypercube`?"));
        assert!(message("mesh:4xx4").contains("an extent is missing"));
        assert!(message("mesh:4294967296x4294967296").contains("the extent 4294967296 is too large"));
        assert!(message("mesh:0x4").contains("an extent of 0 leaves no routers"));
        assert!(message("mesh:99999x99999").contains("has 9999800001 routers"));
        assert!(message("hypercube:500").contains("has more than 1000000000000 routers; at most"));
        assert!(message("hypercube:3,nodes=4").contains("have one node; a mesh of extents 2 may have several"));
        assert!(
            message("mesh:4x4,nodes=0")
                .contains("`nodes=0` leaves nothing: at least 1; expected a form such as `mesh:8x8,nodes=4`")
        );
        assert!(message("mesh:4x4,nodez=2").contains("no key `nodez`; did you mean `nodes`?"));
        assert!(
            message("torus:4x4,")
                .contains("`` is not of the form `key=value`; expected a form such as `torus:8x8,nodes=4`")
        );
        assert!(message("torus:4096x4096,nodes=2").contains("it has 33554432 nodes, and at most 16777216"));
        assert!(message("hypercube:0").contains("at least one dimension"));
        assert!(message("bmin").contains("needs its size, as in `bmin:4x3`"));
        assert!(message("bmni:4x2").ends_with("did you mean `bmin`?"));
        assert!(message("bmin:4").contains("`4` is not two numbers; expected the radix"));
        assert!(message("bmin:4x2x2").contains("is not two numbers"));
        assert!(message("bmin:1x3").contains("at least 2 ports on each side"));
        assert!(message("bmin:4x0").contains("at least 1 stage"));
        assert!(message("bmin:4xy").contains("`y` is not a number"));
        assert!(message("bmin:99999999999x2").contains("`99999999999` is too large"));
        assert!(message("hypercube:99999999999").contains("`99999999999` is too large"));
        assert!(message("mesh:3x3,nodes=9999999999").contains("`nodes=9999999999` is too large"));
        assert!(message("slimfly:q=9999999967").contains("`q=9999999967` is too large"));
        assert!(message("bmin:40000x1").contains("at most 32768 ports on each side"));
        assert!(message("bmin:2x400").contains("routers; at most"));
        assert!(message("bmin:256x4").contains("routers; at most"));
        assert!(message("bmin:5000x2").contains("it has 25000000 nodes"));
        assert!(message("no/such/file").contains("there is no such file"));
        assert!(message(&"x".repeat(5000)).contains("there is no such file"));
    }
}
