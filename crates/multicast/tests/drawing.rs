//! Drawings of plans on every kind of network.

use std::sync::Arc;

use proptest::prelude::*;
use wormcast_multicast::{Multicast, Options, PlanSummary, PortModel, algorithm_by_name, plan_dot, plan_svg};
use wormcast_network::{Network, NetworkGraphml, NetworkSvg, NodeId, TopologySpec, parse_edge_list};

/// The names of the elements in a document, having checked that tags and quotes pair up.
fn elements(xml: &str) -> Vec<String> {
    let (mut open, mut all) = (Vec::new(), Vec::new());
    for tag in xml.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').expect("a tag ends");
        assert!(!text.contains('>') && text.split('&').skip(1).all(|entity| entity.contains(';')), "unescaped: {text}");
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes pair up: {tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
        } else if !tag.starts_with('?') {
            let name = tag.trim_end_matches('/').split(' ').next().unwrap_or_default().to_owned();
            all.push(name.clone());
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    all
}

fn plan(network: &Arc<Network>, algorithm: &str, multicast: &Multicast) -> PlanSummary {
    let algorithm = algorithm_by_name(algorithm, network, &Options::default()).unwrap();
    algorithm.plan(multicast).summary(algorithm.routing(), PortModel::One).unwrap()
}

proptest! {
    #[test]
    fn every_node_is_drawn_once_and_every_number_is_finite(
        topology in prop::sample::select(vec![
            "mesh:6", "mesh:7x4", "mesh:3x2x3", "mesh:2x3x2x2", "torus:5", "torus:2x4", "torus:4x5", "torus:3x3x3", "hypercube:5",
        ]),
        algorithm in prop::sample::select(vec!["separate", "dual-path", "schl", "u-mesh", "w-sort", "tree-one", "tree-infinity"]),
        source: prop::sample::Index,
        destinations in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
        let node = |index: &prop::sample::Index| NodeId::new(index.index(network.nodes()) as u32);
        let destinations: Vec<NodeId> = destinations.iter().map(node).collect();
        let multicast = Multicast::new(node(&source), &destinations);
        let defined = algorithm_by_name(algorithm, &network, &Options::default()).is_ok();
        let algorithm = if defined { algorithm } else { "separate" };
        let summary = plan(&network, algorithm, &multicast);
        let svg = plan_svg(&network, algorithm, &summary, &multicast);
        // The title has the algorithm's name, and one of them is an infinity.
        let unnamed = svg.replace(algorithm, "");
        prop_assert!(!unnamed.contains("NaN") && !unnamed.contains("inf"));
        let elements = elements(&svg);
        let count = |name| elements.iter().filter(|element| *element == name).count();
        prop_assert_eq!(count("circle"), network.nodes() - 1);
        // One a delivery, and one in the middle of each long run without any.
        prop_assert!(count("polygon") >= multicast.destinations().len(), "an arrow head a delivery");
        // The background, the source, and the tree if there is one: the source and everyone that it serves, or every router that a worm
        // which branches enters.
        let forwards = summary.worms.iter().any(|worm| worm.after.is_some());
        let tree = forwards && summary.worms.iter().all(|worm| worm.visits.len() == 1);
        let tree_worm = algorithm.starts_with("tree-");
        let branches = match &summary.worms[..] {
            [worm] => tree_worm && worm.channels.windows(2).any(|pair| network.to(pair[0]) != network.from(pair[1])),
            _ => false,
        };
        let below = if tree {
            1 + multicast.destinations().len()
        } else if branches {
            1 + summary.worms[0].channels.len()
        } else {
            0
        };
        prop_assert_eq!(count("rect"), 2 + below);
        prop_assert!(plan_dot(&network, &summary, &multicast).matches(" -> ").count() >= network.links());
    }
}

/// Separate addressing sends many worms along the same channels: none may hide another.
#[test]
fn no_two_worms_are_drawn_on_the_same_line() {
    let line = "mesh:6".parse::<TopologySpec>().unwrap().build().unwrap();
    let multicast = Multicast::new(NodeId::new(0), &[1, 2, 3, 4, 5].map(NodeId::new));
    let svg = plan_svg(&line, "separate", &plan(&line, "separate", &multicast), &multicast);
    let worms: Vec<&str> = svg.split("<polyline fill=\"none\" stroke-width=\"2\"").skip(1).collect();
    let mut heights: Vec<&str> = worms
        .iter()
        .map(|worm| {
            let (_, points) = worm.split_once("points=\"").unwrap();
            // The second point: a wide lane starts at the source's centre.
            points.split(' ').nth(1).and_then(|point| point.split_once(',')).unwrap().1
        })
        .collect();
    heights.sort_unstable();
    heights.dedup();
    assert_eq!((worms.len(), heights.len()), (5, 5));
}

/// A network's name may be any file name.
#[test]
fn names_are_escaped() {
    let network = parse_edge_list("a<b>&\"c\"\u{1}", "0 1\n0 1\n1 2\n").unwrap();
    elements(&NetworkSvg(&network).to_string());
    let graphml = NetworkGraphml(&network).to_string();
    elements(&graphml);
    assert!(graphml.contains("a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}"));
}

/// The tree's lines run down, across and down; no two nodes lie in one place, and none on another's line across.
#[test]
fn trees_have_a_row_for_each_step_and_cross_nowhere() {
    let cube = "hypercube:6".parse::<TopologySpec>().unwrap().build().unwrap();
    let everyone: Vec<NodeId> = (0..64).map(NodeId::new).collect();
    for algorithm in ["u-cube", "maxport", "combine", "w-sort"] {
        let multicast = Multicast::new(NodeId::new(21), &everyone);
        let svg = plan_svg(&cube, algorithm, &plan(&cube, algorithm, &multicast), &multicast);
        let number = |element: &str, name: &str| -> f64 {
            let (_, value) = element.split_once(&format!(" {name}=\"")).unwrap();
            value.split_once('"').unwrap().0.parse().unwrap()
        };
        let nodes: Vec<(f64, f64)> = svg
            .lines()
            .filter(|line| line.contains("rx=\"6\""))
            .map(|line| (number(line, "x") + number(line, "width") / 2.0, number(line, "y") + 8.0))
            .collect();
        assert_eq!(nodes.len(), 64);
        let near = |a: f64, b: f64| (a - b).abs() < 0.2;
        for (i, a) in nodes.iter().enumerate() {
            assert!(nodes[..i].iter().all(|b| !near(a.0, b.0) || !near(a.1, b.1)));
        }
        let (_, tree) = svg.split_once(">step 1</text>").unwrap();
        let lines = tree.lines().filter(|line| line.starts_with("<polyline"));
        let mut checked = 0;
        for line in lines {
            let (_, points) = line.split_once("points=\"").unwrap();
            let points: Vec<f64> =
                points.trim_end_matches("\"/>").split([' ', ',']).map(|n| n.parse().unwrap()).collect();
            let [x0, _, _, across, x1, _, _, y1] = points[..] else { panic!("{line}") };
            assert!(nodes.iter().all(|node| !near(node.1, across)));
            // On the sender's column, between it and where the line leaves, there is nobody else.
            let between = |node: &&(f64, f64)| near(node.0, x0) && node.1 > points[1] + 1.0 && node.1 < across;
            assert_eq!(nodes.iter().filter(between).count(), 0);
            assert!(x1 >= x0 && nodes.iter().any(|node| near(node.0, x1) && near(node.1, y1)));
            checked += 1;
        }
        assert_eq!(checked, 63);
    }
}
