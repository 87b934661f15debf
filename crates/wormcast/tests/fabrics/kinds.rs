//! Random fabrics of several families, and the engines of `OpenSM` that route them.

use std::fmt::Write;
use std::sync::Arc;

use wormcast::network::{FileFormat, Network, NetworkBuilder, NetworkIbsim, NodeDetails, RouterId, TopologySpec};

use crate::simulated::{Random, random_fabric};

/// A fabric and how it is routed.
pub(crate) struct Kind {
    pub(crate) family: &'static str,
    pub(crate) engine: &'static str,
    /// Options of `OpenSM`.
    pub(crate) options: Vec<String>,
    /// Files that these options name.
    pub(crate) files: Vec<(&'static str, String)>,
    pub(crate) fabric: Arc<Network>,
}

pub(crate) const FAMILIES: [&str; 7] = ["ring", "mesh", "torus", "fat tree", "regular", "small world", "irregular"];

/// Engines for all fabrics.
const ENGINES: [&str; 7] = ["minhop", "updn", "dnup", "lash", "dfsssp", "sssp", "nue"];

/// Whether an engine relies on virtual lanes.
pub(crate) fn takes_lanes(engine: &str) -> bool {
    ["lash", "dfsssp", "nue", "torus-2QoS"].contains(&engine)
}

impl Kind {
    /// All families in turn, and each with all of its engines.
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let family = FAMILIES[seed as usize % FAMILIES.len()];
        let mut engines = ENGINES.to_vec();
        match family {
            // Its lanes depend on ports, as those of no other engine do, and it routes nothing else.
            "mesh" | "torus" => engines.extend(["dor", "torus-2QoS", "torus-2QoS"]),
            "fat tree" => engines.push("ftree"),
            _ => {}
        }
        let engine = engines[seed as usize / FAMILIES.len() % engines.len()];
        let mut dimensions = Vec::new();
        let fabric = match family {
            "irregular" => random_fabric(seed),
            "fat tree" => fat_tree(seed, &mut random),
            _ => {
                let spec = match family {
                    "ring" => format!("ring:{}", 4 + random.below(9)),
                    "mesh" | "torus" => {
                        dimensions = (0..2 + random.below(5) / 4).map(|_| 3 + random.below(3)).collect();
                        if dimensions.len() == 3 {
                            dimensions.fill(3);
                        }
                        let text: Vec<String> = dimensions.iter().map(u32::to_string).collect();
                        format!("{family}:{}", text.join("x"))
                    }
                    "regular" => {
                        let (nodes, degree) = (2 * (4 + random.below(6)), 3 + random.below(2));
                        format!("regular:nodes={nodes},degree={degree},seed={seed}")
                    }
                    _ => format!("small-world:nodes={},degree=4,rewire=0.2,seed={seed}", 8 + random.below(10)),
                };
                with_hosts(&spec, &mut random)
            }
        };
        let mut options: Vec<String> = Vec::new();
        let mut files = Vec::new();
        match engine {
            "updn" | "dnup" => {
                let root = RouterId::new(random.below(fabric.routers() as u32));
                files.push(("roots", format!("{:#x}\n", fabric.router_guid(root).unwrap())));
                options.extend(["-a", "roots"].map(str::to_owned));
            }
            "nue" => options.extend(["--nue_max_num_vls".to_owned(), (1 + random.below(4)).to_string()]),
            "torus-2QoS" => {
                files.push(("torus.conf", torus_config(family, &fabric, &dimensions)));
                options.extend(["--torus_config", "torus.conf"].map(str::to_owned));
            }
            _ => {}
        }
        if takes_lanes(engine) {
            options.push("-Q".to_owned());
        }
        Self { family, engine, options, files, fabric }
    }
}

/// A fabric as a file, so with names, ports and identifiers.
fn as_file(builder: NetworkBuilder) -> Arc<Network> {
    let network = builder.build().unwrap();
    FileFormat::Fabric.parse(network.name(), &NetworkIbsim(&network).to_string()).unwrap()
}

/// A topology with one or two hosts a switch.
fn with_hosts(spec: &str, random: &mut Random) -> Arc<Network> {
    let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
    let mut builder = NetworkBuilder::new(spec.to_owned());
    builder.at_least(network.routers()).unwrap();
    for channel in network.channel_ids().filter(|&channel| channel < network.reverse(channel)) {
        builder.link(network.from(channel), network.to(channel)).unwrap();
    }
    for router in network.router_ids() {
        for _ in 0..=random.below(3) / 2 {
            builder.node(router, NodeDetails::default()).unwrap();
        }
    }
    as_file(builder)
}

/// Leaves with hosts below spines, with one or two links between each two; or a second level of spines above two halves.
fn fat_tree(seed: u64, random: &mut Random) -> Arc<Network> {
    let (leaves, spines, links) = (4 + 2 * random.below(2), 2 + random.below(3), 1 + random.below(2));
    let has_top = random.below(3) == 0;
    let mut builder = NetworkBuilder::new(format!("fat tree {seed}"));
    let halves = if has_top { 2 } else { 1 };
    let top = leaves + halves * spines;
    builder.at_least((top + if has_top { spines } else { 0 }) as usize).unwrap();
    let mut link = |a: u32, b: u32| builder.link(RouterId::new(a), RouterId::new(b)).unwrap();
    for leaf in 0..leaves {
        let half = leaf * halves / leaves;
        for spine in 0..spines {
            (0..links).for_each(|_| link(leaf, leaves + half * spines + spine));
        }
    }
    if has_top {
        for (half, spine) in (0..2).flat_map(|half| (0..spines).map(move |spine| (half, spine))) {
            (0..spines).for_each(|above| link(leaves + half * spines + spine, top + above));
        }
    }
    for leaf in 0..leaves {
        for _ in 0..2 {
            builder.node(RouterId::new(leaf), NodeDetails::default()).unwrap();
        }
    }
    as_file(builder)
}

/// What tells torus-2QoS which way each dimension goes, from the first switch.
fn torus_config(family: &str, fabric: &Network, dimensions: &[u32]) -> String {
    let mut text = family.to_owned();
    (0..3).for_each(|dimension| write!(text, " {}", dimensions.get(dimension).unwrap_or(&1)).unwrap());
    text.push('\n');
    // Numbers run along the first dimension first.
    let guid = |router| fabric.router_guid(RouterId::new(router)).unwrap();
    let strides: Vec<u32> = dimensions
        .iter()
        .scan(1, |stride, length| {
            let own = *stride;
            *stride *= length;
            Some(own)
        })
        .collect();
    // In a torus from a switch with neighbours on both sides; in a mesh from a corner, where the dimensions end.
    let at = if family == "torus" { strides.iter().sum() } else { 0 };
    for (&stride, name) in strides.iter().zip(["x", "y", "z"]) {
        writeln!(text, "{name}p_link {:#x} {:#x}", guid(at), guid(at + stride)).unwrap();
        if family == "torus" {
            writeln!(text, "{name}m_link {:#x} {:#x}", guid(at), guid(at - stride)).unwrap();
        }
    }
    text
}
