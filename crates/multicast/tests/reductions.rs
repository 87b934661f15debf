//! Reductions against a naive simulator that moves their flits one by one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use wormcast_multicast::{AlgorithmOptions, Multicast, NoReduction, Options, PortModel, Reduction, algorithm_by_name};
use wormcast_network::{ChannelId, Network, NodeId, RouterId, parse_node, parse_node_list};

use crate::support::{Numbers, build};

fn reduction(network: &Arc<Network>, name: &str, multicast: &Multicast) -> Result<Reduction, NoReduction> {
    let own = AlgorithmOptions { cover: name.ends_with("-mask").then_some(true), ..AlgorithmOptions::default() };
    let algorithm = algorithm_by_name(name, network, &Options { own, ..Options::default() }).unwrap();
    let plan = algorithm.plan(multicast);
    Reduction::of(network, &plan.summary(algorithm.routing(), PortModel::One).unwrap())
}

fn between(network: &Arc<Network>, name: &str, root: &str, contributors: &str) -> Result<Reduction, NoReduction> {
    let list = parse_node_list(network, contributors).unwrap();
    reduction(network, name, &Multicast::new(parse_node(network, root).unwrap(), &list))
}

/// Where flits of a reduction wait: at the end of a channel, or in a node that contributes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Input {
    Link(ChannelId),
    Node(NodeId),
}

/// A flit: of which reduction, its number, and the cycle in which it came.
#[derive(Clone, Copy, Debug)]
struct Flit {
    of: usize,
    number: u64,
    came: u64,
}

/// The channels of a network, with buffers of so many flits; nodes send the reductions that they contribute to in an order of their own.
struct Naive<'a> {
    network: &'a Network,
    reductions: &'a [Reduction],
    routing_delay: u64,
    flits: u64,
    buffer: usize,
    /// For each node, the reductions that it contributes to.
    order: BTreeMap<NodeId, Vec<usize>>,
}

impl Naive<'_> {
    /// What a router combines of a reduction, and where that goes; from the joins, and elsewhere one input.
    fn inputs(&self, of: usize) -> Vec<(Vec<Input>, Option<ChannelId>)> {
        let reduction = &self.reductions[of];
        let root = self.network.router_of(reduction.root);
        let mut routers: BTreeMap<RouterId, (Vec<Input>, Option<ChannelId>)> = BTreeMap::new();
        routers.insert(root, (Vec::new(), None));
        for &channel in &reduction.channels {
            routers.entry(self.network.from(channel)).or_default().1 = Some(channel);
            routers.entry(self.network.to(channel)).or_default().0.push(Input::Link(channel));
        }
        for &node in &reduction.contributors {
            routers.entry(self.network.router_of(node)).or_default().0.push(Input::Node(node));
        }
        let found: BTreeSet<RouterId> =
            routers.iter().filter(|(_, (inputs, _))| inputs.len() > 1).map(|(&router, _)| router).collect();
        assert_eq!(found, reduction.joins.iter().map(|join| join.router).collect());
        for join in &reduction.joins {
            let links = join.inputs.iter().map(|&channel| Input::Link(channel));
            let own: BTreeSet<Input> = links.chain(join.nodes.iter().map(|&node| Input::Node(node))).collect();
            let (inputs, output) = &routers[&join.router];
            assert_eq!((own, join.output), (inputs.iter().copied().collect(), *output));
        }
        assert!(routers.values().all(|(inputs, _)| !inputs.is_empty()));
        routers.into_values().collect()
    }

    /// The cycles in which the roots have everything; `None`: a deadlock.
    fn run(&self) -> Option<Vec<u64>> {
        let mut queues: BTreeMap<Input, VecDeque<Flit>> = BTreeMap::new();
        for (&node, reductions) in &self.order {
            let flits =
                reductions.iter().flat_map(|&of| (0..self.flits).map(move |number| Flit { of, number, came: 0 }));
            queues.insert(Input::Node(node), flits.collect());
        }
        let routers: Vec<_> = (0..self.reductions.len()).map(|of| self.inputs(of)).collect();
        let mut holder: BTreeMap<ChannelId, usize> = BTreeMap::new();
        let mut done = vec![0; self.reductions.len()];
        let mut left = vec![self.flits; self.reductions.len()];
        for cycle in 1.. {
            let mut moved = BTreeSet::new();
            let mut waits_for_time = false;
            // What leaves a buffer makes room in the same cycle, so routers are asked again until nothing moves.
            loop {
                let before = moved.len();
                for (of, routers) in routers.iter().enumerate() {
                    for (place, (inputs, output)) in routers.iter().enumerate() {
                        if moved.contains(&(of, place)) || left[of] == 0 {
                            continue;
                        }
                        let heads: Option<Vec<Flit>> = inputs
                            .iter()
                            .map(|input| {
                                queues.get(input)?.front().copied().filter(|flit| flit.of == of && flit.came < cycle)
                            })
                            .collect();
                        let Some(heads) = heads else { continue };
                        let number = heads[0].number;
                        assert!(heads.iter().all(|head| head.number == number), "combined with another part");
                        let decided = heads.iter().map(|head| head.came).max().unwrap() + self.routing_delay + 1;
                        if number == 0 && cycle < decided {
                            waits_for_time = true;
                            continue;
                        }
                        if let Some(channel) = output {
                            let full =
                                queues.get(&Input::Link(*channel)).is_some_and(|queue| queue.len() >= self.buffer);
                            if full || *holder.get(channel).unwrap_or(&of) != of {
                                continue;
                            }
                            queues.entry(Input::Link(*channel)).or_default().push_back(Flit {
                                of,
                                number,
                                came: cycle,
                            });
                            holder.insert(*channel, of);
                            if number + 1 == self.flits {
                                holder.remove(channel);
                            }
                        } else {
                            left[of] -= 1;
                            done[of] = cycle + 1;
                        }
                        for input in inputs {
                            queues.get_mut(input).unwrap().pop_front();
                        }
                        moved.insert((of, place));
                    }
                }
                if moved.len() == before {
                    break;
                }
            }
            if left.iter().all(|&left| left == 0) {
                break;
            }
            let arrived = queues.values().flatten().any(|flit| flit.came == cycle);
            if moved.is_empty() && !waits_for_time && !arrived {
                return None;
            }
        }
        Some(done)
    }
}

/// One reduction by itself.
fn alone(network: &Network, reduction: &Reduction, routing_delay: u64, flits: u64, buffer: usize) -> Option<u64> {
    let order = reduction.contributors.iter().map(|&node| (node, vec![0])).collect();
    let reductions = std::slice::from_ref(reduction);
    let done = Naive { network, reductions, routing_delay, flits, buffer, order }.run()?;
    Some(done[0])
}

#[test]
fn one_reduction_takes_as_long_as_a_unicast_from_its_farthest_contributor() {
    let mut numbers = Numbers(5);
    let mut seen = [0; 2];
    for (spec, names) in [
        ("mesh:5x4", &["xy-tree", "yx-tree", "xy-mask", "yx-mask", "rpm", "vctm", "separate", "dual-path"][..]),
        ("mesh:3x3,nodes=2", &["xy-tree", "rpm"]),
        ("torus:4x4", &["dstm-1"]),
        ("random:nodes=14,degree=3,seed=4", &["tree-zero", "tree-one", "tree-infinity", "spam"]),
        ("bmin:2x3", &["bit-string"]),
    ] {
        let network = build(spec);
        for case in 0..120 {
            let name = names[case % names.len()];
            let destinations = 1 + numbers.below(network.nodes() - 1);
            let multicast = numbers.multicast(&network, destinations);
            let reduction = match reduction(&network, name, &multicast) {
                Ok(reduction) => reduction,
                Err(error) => {
                    assert!(matches!(error, NoReduction::Worms(worms) if worms > 1), "{spec} {name}: {error}");
                    continue;
                }
            };
            // The simulator knows one way out of a router; trees over tree links may pass a router on the way up and on the way down.
            let out: BTreeSet<RouterId> = reduction.channels.iter().map(|&channel| network.from(channel)).collect();
            if out.len() < reduction.channels.len() || out.contains(&network.router_of(reduction.root)) {
                continue;
            }
            seen[usize::from(reduction.joins.is_empty())] += 1;
            let mut wanted = multicast.destinations().to_vec();
            wanted.sort_unstable();
            assert_eq!((reduction.root, &reduction.contributors), (multicast.source(), &wanted));
            let [routing_delay, flits, buffer] = [5, 20, 3].map(|limit| numbers.below(limit) as u64);
            let [flits, buffer] = [flits + 1, buffer + 1];
            let took = alone(&network, &reduction, routing_delay, flits, buffer as usize);
            assert_eq!(took, Some(reduction.cycles_alone(0, routing_delay, flits)), "{spec} {name} {multicast:?}");
        }
    }
    assert!(seen[0] > 200 && seen[1] > 10, "{seen:?} with joins and without");
}

/// The model of `FlooNoC`'s authors, of n beats over c columns and r rows, with alpha = 30 and beta = 1.
#[test]
fn the_time_of_a_mask_is_that_of_its_hardware() {
    for (columns, rows) in [(4u64, 1u64), (4, 4), (8, 2), (2, 8), (1, 4)] {
        let network = build(&format!("mesh:{columns}x{rows}"));
        for name in ["xy-mask", "yx-mask"] {
            let reduction = between(&network, name, "0", "all").unwrap();
            for n in [1, 16, 256] {
                let model = 30 + (n + columns - 1 + rows - 1);
                assert_eq!(reduction.cycles_alone(29, 0, n), model, "{name}, {columns} x {rows}, {n} beats");
            }
        }
    }
}

/// Along the row to the root's column, and then along that.
#[test]
fn the_reverse_of_a_yx_tree_is_an_xy_reduction() {
    let network = build("mesh:6x5");
    let mut numbers = Numbers(8);
    for (name, first) in [("yx-tree", 0), ("yx-mask", 0), ("xy-tree", 1)] {
        for _ in 0..100 {
            let contributors = 1 + numbers.below(29);
            let multicast = numbers.multicast(&network, contributors);
            let Ok(reduction) = reduction(&network, name, &multicast) else { continue };
            let grid = |router: RouterId| [router.raw() % 6, router.raw() / 6];
            let out: BTreeMap<RouterId, ChannelId> =
                reduction.channels.iter().map(|&channel| (network.from(channel), channel)).collect();
            assert_eq!(out.len(), reduction.channels.len(), "one way out of each router");
            let root = network.router_of(reduction.root);
            for &node in &reduction.contributors {
                let mut at = network.router_of(node);
                while at != root {
                    let next = network.to(out[&at]);
                    let along = usize::from(grid(at)[0] == grid(next)[0]);
                    let due = if grid(at)[first] == grid(root)[first] { 1 - first } else { first };
                    assert_eq!(along, due, "{name}: from {} to {}", at.raw(), next.raw());
                    at = next;
                }
            }
        }
    }
}

/// The two of the documentation, and what makes each of them dead.
#[test]
fn two_reductions_can_deadlock() {
    let network = build("mesh:4x1");
    let [zero, one, two] = [0, 1, 2].map(NodeId::new);
    let run = |reductions: &[Reduction], order: &[(NodeId, Vec<usize>)], buffer| {
        let order = order.iter().cloned().collect();
        Naive { network: &network, reductions, routing_delay: 1, flits: 4, buffer, order }.run()
    };
    let reductions = ["0;2", "1;2"].map(|contributors| between(&network, "yx-tree", "3", contributors).unwrap());
    for buffer in [1, 4, 100] {
        // The link from 1 to 2 goes to the second one first.
        let ways = |of_two: Vec<usize>| [(zero, vec![0]), (one, vec![1]), (two, of_two)];
        assert_eq!(run(&reductions, &ways(vec![0, 1]), buffer), None, "{buffer}");
        assert!(run(&reductions, &ways(vec![1, 0]), buffer).is_some(), "{buffer}");
    }
    // The same contributors in opposite orders: no buffer is large enough.
    let same = [0, 1].map(|_| between(&network, "yx-tree", "2", "0;1").unwrap());
    for buffer in [1, 100] {
        assert_eq!(run(&same, &[(zero, vec![0, 1]), (one, vec![1, 0])], buffer), None);
        assert!(run(&same, &[(zero, vec![0, 1]), (one, vec![0, 1])], buffer).is_some());
    }
    // Neither a channel nor a contributor in common: each takes the time that it takes alone.
    let apart = [("0", "1;2"), ("2", "3")].map(|(root, from)| between(&network, "yx-tree", root, from).unwrap());
    let done = run(&apart, &[(one, vec![0]), (two, vec![0]), (NodeId::new(3), vec![1])], 1).unwrap();
    let alone: Vec<u64> = apart.iter().map(|reduction| reduction.cycles_alone(0, 1, 4)).collect();
    assert_eq!(done, alone);
}

#[test]
fn what_is_not_one_tree_has_no_reverse() {
    let mesh = build("mesh:4x4");
    assert_eq!(between(&mesh, "separate", "0", "1;2"), Err(NoReduction::Worms(2)));
    let butterfly = build("butterfly:2x3");
    assert!(matches!(between(&butterfly, "separate", "0", "1"), Err(NoReduction::OneWay(_))));
}
