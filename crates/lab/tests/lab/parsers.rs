//! Mutated experiments, traces and topologies: whatever is read, it is understood or refused, and a refusal is a line that names
//! the place.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use wormcast_lab::{Experiment, Override};
use wormcast_network::{Network, TopologySpec, parse_edge_list, parse_node, parse_node_list};

/// What mutations insert: the words and signs that mean something somewhere.
const WORDS: &[&str] = &[
    "",
    " ",
    "\n",
    "\t",
    "\r\n",
    "#",
    "=",
    ".",
    ",",
    ";",
    ":",
    "x",
    "-",
    "\"",
    "'",
    "\"\"\"",
    "[",
    "]",
    "[[",
    "{",
    "}",
    "0",
    "1",
    "-1",
    "7",
    "1e308",
    "-0.0",
    "nan",
    "inf",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "true",
    "\u{e9}",
    "\u{feff}",
    "\u{0}",
    "\u{2028}",
    "mesh:",
    "torus:",
    "hypercube:",
    "uniform",
    "from",
    "to",
    "points",
    "scale",
    "log",
    "sweep",
    "traffic",
    "algorithm",
    "title",
    "with",
    "variation",
    "quick",
    "claim",
    "1979-05-27",
    "x0",
    "0x",
    "0o8",
    "_",
    "__",
    "+",
    "e5",
    "\\",
    "`",
    "1x1",
    "99999x99999",
    "{ uniform = [2, 1] }",
    "{ from = 1, to = 2, points = 3 }",
];

/// What to do to a text: at a place, remove so many characters, insert a word.
type Mutation = (prop::sample::Index, usize, &'static str);

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let removed = prop_oneof![4 => Just(0usize), 4 => 1usize..6, 1 => 1usize..60];
    prop::collection::vec((any::<prop::sample::Index>(), removed, prop::sample::select(WORDS)), 1..5)
}

fn mutated(text: &str, mutations: &[Mutation]) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for (at, removed, word) in mutations {
        let from = at.index(characters.len() + 1);
        let to = (from + removed).min(characters.len());
        characters.splice(from..to, word.chars());
    }
    characters.into_iter().collect()
}

const EXPERIMENT: &str = r#"title = "Latency"
topology = "mesh:4x4"
algorithm = "dual-path"
seed = 3
[switching]
buffer = 2
header = "bit-string"
header_flits = 2
[timing]
cycle_ns = 5.0
startup = 10
startup_mode = "per-port"
[traffic]
arrivals = { process = "negative-binomial", rate = 0.01, successes = 2 }
length = { uniform = [10, 100] }
multicast = { destinations = 3, fraction = 0.5 }
unicast = { pattern = "hot-spot", node = "1,1", fraction = 0.5 }
[run]
mode = "steady"
warmup = "auto"
messages = 10
[stop]
confidence = 0.9
max_replications = 20
[sweep]
algorithm = ["dual-path", "column-path"]
"traffic.arrivals.rate" = { from = 0.01, to = 0.1, points = 3, scale = "log" }
[plot]
x = "traffic.arrivals.rate"
y = "latency.last"
series = "algorithm"
[with.column-path]
switching.buffer = 3
[quick]
run.messages = 5
[variation.deep]
switching.buffer = 1_000
[[claim]]
id = "lower"
text = "Dual-path is lower."
order = { lower = ["dual-path"], higher = ["column-path"], over = 0.5 }
"#;

/// Everything that is done with an experiment before it runs, small ones only.
fn read(text: &str, overrides: &[Override]) {
    let refused = |error: wormcast_lab::Diagnostic| {
        assert!(!error.message().is_empty() && !error.to_string().contains('\u{1b}'));
        assert!(error.render(false).starts_with("error"));
    };
    let experiment = match Experiment::parse("x.toml", text, overrides) {
        Ok(experiment) => experiment,
        Err(error) => return refused(error),
    };
    let versions = experiment.variations().into_iter().map(|name| experiment.variation(&name));
    for version in versions.chain(experiment.has_quick().then(|| experiment.quick())) {
        let _ = version.and_then(|version| version.points().map(drop)).map_err(refused);
    }
    let _ = (experiment.figure(), experiment.swept(), experiment.point().map_err(refused));
    // A mutation may ask for a network of millions of nodes, or for 100,000 points: both are legal.
    match experiment.points() {
        Err(error) => refused(error),
        Ok(points) if points.len() <= 64 => {
            let small = |spec: &str| spec.len() <= "mesh:12x12".len() && !spec.starts_with("hypercube");
            if points.iter().all(|point| small(&point.spec.topology)) {
                let _ = experiment.jobs(&points).map_err(refused);
            }
        }
        Ok(_) => {}
    }
}

fn network(spec: &str) -> Arc<Network> {
    spec.parse::<TopologySpec>().unwrap().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn experiments(mutations in mutations()) {
        read(&mutated(EXPERIMENT, &mutations), &[]);
    }

    #[test]
    fn overrides(mutations in mutations(), which in 0usize..4) {
        let argument = ["traffic.arrivals.rate=0.5", "sweep.algorithm=['separate']", "traffic.length={ uniform = [1, 2] }", "seed=4"][which];
        if let Ok(given) = Override::set(&mutated(argument, &mutations)) {
            read(EXPERIMENT, &[given]);
        }
    }

    #[test]
    fn traces(mutations in mutations()) {
        let directory = tempfile::tempdir().unwrap();
        let trace = directory.path().join("messages.txt");
        std::fs::write(&trace, mutated("# two\n0 1,1 20 3;0,2\n\n7 0 1 5 # last\n9 15 100 1;2;3\n", &mutations)).unwrap();
        let text = "topology = 'mesh:4x4'\nalgorithm = 'separate'\ntraffic.trace = 'messages.txt'\n";
        let experiment = Experiment::parse(&directory.path().join("x.toml").display().to_string(), text, &[]).unwrap();
        if let Err(error) = experiment.jobs(&experiment.points().unwrap()) {
            prop_assert!(error.to_string().contains("messages.txt:"), "{}", error);
        }
    }

    #[test]
    fn edge_lists(mutations in mutations()) {
        let text = mutated("# a ring\n0 1\n1 2 # second\n\n2 3\n3 0\n", &mutations);
        match parse_edge_list("ring", &text) {
            Ok(network) => prop_assert!(network.links() > 0 && network.routers() <= 1 << 24),
            Err(error) => prop_assert!(error.to_string().starts_with("ring:"), "{}", error),
        }
    }

    #[test]
    fn topologies(mutations in mutations(), which in 0usize..4) {
        let text = mutated(["mesh:4x4", "torus:3x5x2", "hypercube:6", "ring.txt"][which], &mutations);
        // A directory or a file of that name may well be there.
        if let Ok(spec) = text.parse::<TopologySpec>() && !matches!(spec, TopologySpec::File(_)) {
            prop_assert_eq!(spec.to_string().parse::<TopologySpec>().unwrap(), spec);
        }
    }

    #[test]
    fn nodes(mutations in mutations(), which in 0usize..3) {
        let network = network(["mesh:4x4", "torus:3x5x2", "hypercube:6"][which]);
        let text = mutated("1,4;1,5;27;0,0,0;3", &mutations);
        if let Ok(nodes) = parse_node_list(&network, &text) {
            prop_assert!(nodes.iter().all(|node| node.index() < network.nodes()));
        }
        let _ = parse_node(&network, &text);
    }
}

/// Bytes that are no text at all.
#[test]
fn files_of_any_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.toml");
    let mut state = 1u64;
    for length in 0..200 {
        let mut bytes: Vec<u8> = Vec::new();
        for _ in 0..length {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            bytes.push((state >> 56) as u8);
        }
        std::fs::write(&path, &bytes).unwrap();
        assert!(Experiment::read(Path::new(&path), &[]).and_then(|experiment| experiment.points()).is_err());
    }
}

#[test]
fn files_that_are_no_text_are_pointed_at() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.toml");
    std::fs::write(&path, b"title = \"\xc3\xa9\"\nseed = \xff3\n").unwrap();
    let error = Experiment::read(&path, &[]).unwrap_err();
    assert_eq!(error.position(), Some((2, 8)), "{error}");
    assert_eq!(error.message(), "this is no text: the byte 0xff is not UTF-8 here");
    // Other line ends and a mark at the start are good.
    std::fs::write(&path, b"\xef\xbb\xbftitle = \"x\"\r\nseeed = 3\r\n").unwrap();
    let error = Experiment::read(&path, &[]).unwrap_err();
    assert_eq!(error.position().map(|(line, _)| line), Some(2), "{error}");
    // A device without an end is no file; a trace is read more than once.
    if cfg!(unix) {
        let endless = Experiment::read(Path::new("/dev/zero"), &[]).unwrap_err();
        assert!(endless.message().starts_with("this is no experiment file"), "{endless}");
        let text = "topology = 'mesh:4x4'\nalgorithm = 'dual-path'\ntraffic.trace = '/dev/zero'\n";
        let error = Experiment::parse("x.toml", text, &[]).unwrap().points().unwrap_err();
        assert!(error.to_string().starts_with("x.toml:3:17: `/dev/zero` is not a file"), "{error}");
    }
}
