//! Network files: there and back, what real ones say, and what broken ones cannot do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use wormcast_network::{
    ChannelId, FileFormat, Network, NetworkAnynet, NetworkBuilder, NetworkEdgeList, NetworkGraphml, NetworkIbsim,
    NetworkNodeLink, NodeDetails, RouterId, TopologySpec,
};

const FORMATS: [FileFormat; 5] =
    [FileFormat::EdgeList, FileFormat::Graphml, FileFormat::NodeLink, FileFormat::Anynet, FileFormat::Fabric];

fn write(format: FileFormat, network: &Network) -> String {
    match format {
        FileFormat::EdgeList => NetworkEdgeList(network).to_string(),
        FileFormat::Graphml => NetworkGraphml(network).to_string(),
        FileFormat::NodeLink => NetworkNodeLink(network).to_string(),
        FileFormat::Anynet => NetworkAnynet(network).to_string(),
        _ => NetworkIbsim(network).to_string(),
    }
}

/// Which routers are joined, how often, and who is attached where.
fn wiring(network: &Network) -> (usize, Vec<(u32, u32)>, Vec<u32>) {
    let mut links: Vec<_> = network.channel_ids().map(|c| (network.from(c).raw(), network.to(c).raw())).collect();
    links.sort_unstable();
    (network.routers(), links, network.node_ids().map(|node| network.router_of(node).raw()).collect())
}

type Link = (u32, u32, Option<u32>, Option<u32>);

fn ports(network: &Network) -> (Vec<Link>, Vec<Option<u32>>) {
    let ends = |c: ChannelId| (network.from(c).raw(), network.to(c).raw());
    let mut links: Vec<Link> = network
        .channel_ids()
        .map(|c| (ends(c).0, ends(c).1, network.port_of(c), network.port_of(network.reverse(c))))
        .collect();
    links.sort_unstable();
    (links, network.node_ids().map(|node| network.node_port(node)).collect())
}

fn names(network: &Network) -> (Vec<Option<&str>>, Vec<Option<&str>>) {
    (
        network.router_ids().map(|router| network.router_name(router)).collect(),
        network.node_ids().map(|node| network.node_name(node)).collect(),
    )
}

/// What every network promises, wherever it comes from.
fn check(network: &Network) {
    assert!(network.routers() > 0 && network.nodes() > 0);
    let mut next = 0;
    for router in network.router_ids() {
        for node in network.nodes_of(router) {
            assert_eq!((node.raw(), network.router_of(node)), (next, router));
            next += 1;
            if let Some(port) = network.node_port(node) {
                assert_eq!(network.node_by_port(router, port), Some(node));
            }
        }
        for channel in network.outputs(router) {
            assert_eq!(network.from(channel), router);
            if let Some(port) = network.port_of(channel) {
                assert_eq!(network.channel_by_port(router, port), Some(channel));
                assert_eq!(network.node_by_port(router, port), None);
            }
        }
    }
    assert_eq!(next as usize, network.nodes());
    for channel in network.channel_ids() {
        let back = network.reverse(channel);
        assert_ne!(network.from(channel), network.to(channel));
        assert_eq!((network.reverse(back), network.from(back)), (channel, network.to(channel)));
    }
}

/// What a random network is made of.
#[derive(Clone, Debug)]
struct Parts {
    /// Nodes at each router; `None`: one each.
    nodes: Option<Vec<usize>>,
    routers: usize,
    links: Vec<(usize, usize)>,
    ports: bool,
    names: bool,
}

fn parts() -> impl Strategy<Value = Parts> {
    (1usize..9).prop_flat_map(|routers| {
        let nodes = prop::collection::vec(0usize..4, routers);
        let links = prop::collection::vec((0..routers, 0..routers), 0..20);
        let nodes = prop::option::weighted(0.7, nodes);
        (nodes, links, any::<bool>(), any::<bool>()).prop_map(move |(mut nodes, mut links, ports, names)| {
            links.retain(|(u, v)| u != v);
            if let Some(nodes) = &mut nodes {
                nodes[0] = nodes[0].max(1);
            }
            Parts { nodes, routers, links, ports, names }
        })
    })
}

fn network(parts: &Parts) -> Arc<Network> {
    let mut builder = NetworkBuilder::new("x");
    for router in 0..parts.routers {
        let name = if parts.names { format!("switch {router} <&> 'ø' %") } else { String::new() };
        builder.router(&name).unwrap();
    }
    // Ports in no particular order, each once.
    let mut used = vec![0u32; parts.routers];
    let mut port = |router: usize| {
        used[router] += 1;
        1 + (used[router] * 5 + 3) % 97
    };
    for &(u, v) in &parts.links {
        let (a, b) = (RouterId::new(u as u32), RouterId::new(v as u32));
        if parts.ports {
            builder.link_ports((a, port(u)), (b, port(v))).unwrap();
        } else {
            builder.link(a, b).unwrap();
        }
    }
    for (router, &count) in parts.nodes.iter().flatten().enumerate() {
        for node in 0..count {
            let name = if parts.names { format!("host {router}.{node} <&> 'ø' %") } else { String::new() };
            let port = parts.ports.then(|| port(router));
            builder.node(RouterId::new(router as u32), NodeDetails { name, port, ..NodeDetails::default() }).unwrap();
        }
    }
    builder.build().unwrap()
}

#[test]
fn names_of_several_lines_are_kept() {
    let mut builder = NetworkBuilder::new("x");
    let (one, two) = (builder.router("line 1\nline 2").unwrap(), builder.router("a\tb\rc").unwrap());
    builder.link(one, two).unwrap();
    let network = builder.build().unwrap();
    for format in [FileFormat::Graphml, FileFormat::NodeLink] {
        let read = format.parse("x", &write(format, &network)).unwrap();
        assert_eq!(names(&read), names(&network), "{format:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_is_written_is_read_back(parts in parts()) {
        let network = network(&parts);
        check(&network);
        for format in FORMATS {
            if format.check_expresses(&network).is_err() {
                prop_assert_eq!(format, FileFormat::EdgeList);
                continue;
            }
            let text = write(format, &network);
            let back = format.parse("x", &text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            check(&back);
            prop_assert_eq!(wiring(&back), wiring(&network), "{:?}", format);
            // Fabrics are read with the GUIDs that devices have, or else get: written again, they have them.
            let again = write(format, &back);
            if format == FileFormat::Fabric {
                let back = format.parse("x", &again).map_err(|error| TestCaseError::fail(format!("{error}\n{again}")))?;
                prop_assert_eq!(write(format, &back), again);
            } else {
                prop_assert_eq!(again, text, "{:?}", format);
            }
            if matches!(format, FileFormat::Graphml | FileFormat::NodeLink) {
                prop_assert_eq!(ports(&back), ports(&network), "{:?}", format);
                prop_assert_eq!(names(&back), names(&network), "{:?}", format);
            }
            if format == FileFormat::Fabric && parts.ports && parts.nodes.is_some() {
                prop_assert_eq!(ports(&back), ports(&network));
                if parts.names {
                    prop_assert_eq!(names(&back), names(&network));
                }
            }
        }
    }
}

/// A change to a file.
#[derive(Clone, Debug)]
enum Mutation {
    Byte(prop::sample::Index, u8),
    Insert(prop::sample::Index, &'static str),
    Truncate(prop::sample::Index),
    Remove(prop::sample::Index, usize),
    RepeatLine(prop::sample::Index),
    RemoveLine(prop::sample::Index),
    SwapLines(prop::sample::Index, prop::sample::Index),
    /// A word in the place of another one of the file.
    CopyWord(prop::sample::Index, prop::sample::Index),
}

const PIECES: [&str; 24] = [
    "0",
    "-1",
    "255",
    "65536",
    "4294967296",
    "99999999999999999999",
    "\"",
    "'",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "/>",
    "&#0;",
    "&x;",
    "<![CDATA[",
    "<!--",
    ",",
    "\n",
    "#",
    "\u{0}",
    "ø",
];

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let index = any::<prop::sample::Index>;
    let mutation = prop_oneof![
        3 => (index(), any::<u8>()).prop_map(|(at, byte)| Mutation::Byte(at, byte)),
        3 => (index(), prop::sample::select(&PIECES[..])).prop_map(|(at, piece)| Mutation::Insert(at, piece)),
        1 => index().prop_map(Mutation::Truncate),
        2 => (index(), 1usize..20).prop_map(|(at, length)| Mutation::Remove(at, length)),
        2 => index().prop_map(Mutation::RepeatLine),
        2 => index().prop_map(Mutation::RemoveLine),
        2 => (index(), index()).prop_map(|(a, b)| Mutation::SwapLines(a, b)),
        4 => (index(), index()).prop_map(|(a, b)| Mutation::CopyWord(a, b)),
    ];
    prop::collection::vec(mutation, 1..6)
}

fn mutated(text: &str, mutations: &[Mutation]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for mutation in mutations {
        if bytes.is_empty() {
            break;
        }
        match mutation {
            Mutation::Byte(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Mutation::Insert(at, piece) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, piece.bytes());
            }
            Mutation::Truncate(at) => bytes.truncate(at.index(bytes.len())),
            Mutation::Remove(at, length) => {
                let at = at.index(bytes.len());
                bytes.drain(at..(at + length).min(bytes.len()));
            }
            Mutation::RepeatLine(at) => change_lines(&mut bytes, |lines| {
                let at = at.index(lines.len());
                lines.insert(at, lines[at].clone());
            }),
            Mutation::RemoveLine(at) => change_lines(&mut bytes, |lines| drop(lines.remove(at.index(lines.len())))),
            Mutation::SwapLines(a, b) => change_lines(&mut bytes, |lines| {
                let count = lines.len();
                lines.swap(a.index(count), b.index(count));
            }),
            Mutation::CopyWord(from, to) => {
                let words: Vec<(usize, usize)> = words(&bytes);
                if words.is_empty() {
                    continue;
                }
                let (from, to) = (words[from.index(words.len())], words[to.index(words.len())]);
                let word = bytes[from.0..from.1].to_vec();
                bytes.splice(to.0..to.1, word);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn change_lines(bytes: &mut Vec<u8>, change: impl Fn(&mut Vec<Vec<u8>>)) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    change(&mut lines);
    *bytes = lines.concat();
}

/// Runs of letters and digits.
fn words(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, byte) in bytes.iter().chain(b" ").enumerate() {
        match (byte.is_ascii_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(begin)) => {
                words.push((begin, at));
                start = None;
            }
            _ => {}
        }
    }
    words
}

const SAMPLES: [(FileFormat, &str); 6] = [
    (FileFormat::EdgeList, include_str!("samples/bridge.edges")),
    (FileFormat::Graphml, include_str!("samples/islands.graphml")),
    (FileFormat::NodeLink, include_str!("samples/rack.json")),
    (FileFormat::Anynet, include_str!("samples/chips.anynet")),
    (FileFormat::Fabric, include_str!("samples/pods.net")),
    (FileFormat::Fabric, include_str!("samples/cluster.topofile")),
];

/// A broken file is a network or an error with a line of the file, and nothing else.
fn survives(format: FileFormat, text: &str) {
    match format.parse("x", text) {
        Ok(network) => check(&network),
        Err(error) => {
            let message = error.to_string();
            let line = message.strip_prefix("x:").and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
            let lines = text.lines().count().max(1);
            // Behind the last line is where XML and JSON miss something.
            assert!(line.is_some_and(|line| (1..=lines + 1).contains(&line)), "{lines} lines, but: {message}");
            assert!(message.contains("; expected "), "{message}");
        }
    }
}

proptest! {
    // For each of the six samples, in its own format and in that which its content suggests.
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn broken_files_are_explained(mutations in mutations()) {
        for (format, sample) in SAMPLES {
            let text = mutated(sample, &mutations);
            survives(format, &text);
            survives(FileFormat::of("x", &text), &text);
        }
    }
}

#[test]
fn samples_say_what_they_say() {
    let figures = |(format, text): (FileFormat, &str)| {
        let network = format.parse("x", text).unwrap();
        check(&network);
        assert_eq!(FileFormat::of("x", text), format);
        (network.routers(), network.nodes(), network.links(), network.joined_pairs())
    };
    assert_eq!(
        SAMPLES.map(figures),
        [(6, 6, 8, 7), (5, 5, 6, 5), (2, 3, 2, 1), (5, 7, 5, 4), (4, 4, 4, 4), (3, 4, 3, 2)]
    );
    let islands = FileFormat::Graphml.parse("x", SAMPLES[1].1).unwrap();
    assert_eq!(names(&islands).0, [Some("Port & Pier"), Some("Sandø"), Some("Holm"), None, Some("<north>")]);
    let rack = FileFormat::NodeLink.parse("x", SAMPLES[2].1).unwrap();
    // At the top of the rack, by port: 3 and 7.
    assert_eq!(names(&rack).1, [Some("two"), Some("one"), None]);
}

/// Every format into every other that has a place for it, with the same wiring at the end.
#[test]
fn samples_convert() {
    for (format, text) in SAMPLES {
        let network = format.parse("x", text).unwrap();
        for other in FORMATS.into_iter().filter(|other| other.check_expresses(&network).is_ok()) {
            let converted = other.parse("x", &write(other, &network)).unwrap();
            assert_eq!(wiring(&converted), wiring(&network), "{format:?} as {other:?}");
        }
    }
}

#[test]
fn what_a_format_has_no_place_for_is_said() {
    let network = FileFormat::Anynet.parse("chips", SAMPLES[3].1).unwrap();
    assert_eq!(
        FileFormat::EdgeList.check_expresses(&network).unwrap_err().to_string(),
        "an edge list has no place for routers that have no node, or several, as in chips; use `graphml`, `node-link` or `anynet`"
    );
    let star = "complete:300".parse::<TopologySpec>().unwrap().build().unwrap();
    let message = FileFormat::Fabric.check_expresses(&star).unwrap_err().to_string();
    assert!(message.starts_with(
        "an ibsim network has no place for a port 255 (ports have the numbers 1 to 254), as in complete:300"
    ));
}

#[test]
fn files_that_cannot_be_read() {
    let build = |path: &Path| TopologySpec::File(path.display().to_string()).build().unwrap_err().to_string();
    assert!(build(Path::new("no/such/file")).starts_with("cannot read topology file `no/such/file`: "));
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(build(directory).starts_with("cannot read topology file"));
    // An endless file stops at the limit; a file that is no text says where.
    let latin = std::env::temp_dir().join(format!("wormcast-latin-{}", std::process::id()));
    std::fs::write(&latin, b"0 1\n# caf\xe9\n").unwrap();
    let message = build(&latin);
    std::fs::remove_file(&latin).unwrap();
    assert!(message.ends_with(":2: the bytes are not UTF-8; expected text"), "{message}");
}

/// Public files that are too large, or not ours, to be in the repository.
fn shared(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(path);
    path.exists().then_some(path)
}

fn load(path: &Path) -> Arc<Network> {
    let network = TopologySpec::File(path.display().to_string()).build().unwrap();
    check(&network);
    network
}

#[test]
fn a_production_cluster() {
    let Some(path) = shared("X5.topofile") else { return };
    let cluster = load(&path);
    assert_eq!((cluster.routers(), cluster.nodes(), cluster.adapters()), (11, 89, Some(89)));
    assert_eq!((cluster.links() + cluster.nodes(), cluster.links(), cluster.joined_pairs()), (159, 70, 24));
    let (degrees, distances) = (cluster.degrees(), cluster.distances());
    assert_eq!((degrees.min, degrees.max, distances.diameter, distances.connected), (4, 19, Some(4), true));
    let first = RouterId::new(0);
    assert_eq!(
        (cluster.router_name(first), cluster.router_guid(first)),
        (Some("S-0008f10500200b50"), Some(0x8_f105_0020_0b50))
    );
    let node = cluster.node_by_port(first, 4).unwrap();
    assert_eq!(
        (cluster.node_name(node), cluster.node_guid(node)),
        (Some("H-003048c749cd0000"), Some(0x30_48c7_49cd_0001))
    );
    let channel = cluster.channel_by_port(first, 16).unwrap();
    assert_eq!(cluster.router_name(cluster.to(channel)), Some("S-0008f10500108098"));
    assert_eq!(cluster.port_of(cluster.reverse(channel)), Some(8));
    let again = FileFormat::Fabric.parse("x", &NetworkIbsim(&cluster).to_string()).unwrap();
    assert_eq!((wiring(&again), ports(&again), names(&again)), (wiring(&cluster), ports(&cluster), names(&cluster)));
}

#[test]
fn networks_of_the_topology_zoo() {
    for (name, routers, links, pairs) in
        [("Abilene", 11, 14, 14), ("Geant2012", 40, 61, 61), ("Renater2010", 43, 56, 56), ("Uninett2011", 69, 98, 96)]
    {
        let Some(path) = shared(&format!("topology-zoo/{name}.graphml")) else { return };
        let network = load(&path);
        assert_eq!((network.routers(), network.nodes()), (routers, routers), "{name}");
        assert_eq!((network.links(), network.joined_pairs()), (links, pairs), "{name}");
        assert!(network.router_name(RouterId::new(0)).is_some());
    }
}

#[test]
fn networks_of_other_simulators() {
    let figures = |path: &str| {
        shared(path).map(|path| {
            let network = load(&path);
            (network.routers(), network.nodes(), network.links(), network.adapters())
        })
    };
    let Some(anynet) = figures("booksim-anynet") else { return };
    assert_eq!(anynet, (3, 9, 3, None));
    for (path, expected) in [
        ("ibsim_net", (2, 2, 2, Some(2))),
        ("ibsim_net.1", (1, 2, 0, Some(2))),
        ("ibsim_net.2sw2path", (2, 2, 2, Some(2))),
        ("ibsim_net.2sw2path4hca", (2, 4, 2, Some(4))),
        ("ibsim_net.2sw2path4hca2port", (2, 4, 2, Some(2))),
    ] {
        assert_eq!(figures(&format!("ibsim/{path}")), Some(expected), "{path}");
    }
    for (name, links) in [("k6", 15), ("mesh4x4", 24), ("torus4x4", 32), ("petersen", 15)] {
        let Some(fabric) = shared(&format!("opensm/{name}.net")) else { return };
        let Some(edges) = shared(&format!("opensm/{name}.edges")) else { return };
        let (fabric, edges) = (load(&fabric), load(&edges));
        assert_eq!((wiring(&fabric), fabric.links()), (wiring(&edges), links), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn broken_specifications_are_explained(mutations in mutations(), which in 0usize..10) {
        let text = mutated([
            "mesh:4x4", "torus:3x5x2", "hypercube:6", "random:nodes=256,degree=4.5,seed=7", "regular:nodes=64,degree=4,seed=7",
            "small-world:nodes=64,degree=4,rewire=0.1,seed=7", "tree:nodes=64,seed=7", "ring:16", "complete:8", "petersen",
        ][which], &mutations);
        match text.parse::<TopologySpec>() {
            // A directory or a file of that name may well be there.
            Ok(TopologySpec::File(_)) => {}
            Ok(spec) => prop_assert_eq!(spec.to_string().parse::<TopologySpec>().unwrap(), spec),
            Err(error) => {
                let said = error.to_string();
                let explained = ["expected ", "; at most ", "did you mean ", "as in `"].iter().any(|words| said.contains(words));
                prop_assert!(explained, "{said}");
            }
        }
    }
}
