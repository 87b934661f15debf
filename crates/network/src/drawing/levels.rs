//! Where the switches of a fabric lie: hosts at the bottom, above them the switches that have hosts, then those one cable further away, and
//! so on.

use super::layout::{MARGIN, Position};
use super::stress::Graph;
use crate::network::Network;

/// The distance between levels.
const PITCH: f64 = 120.0;
/// The distance between hosts that are drawn, and between them and their switch.
const HOST: f64 = 26.0;
const CABLE: f64 = 48.0;
/// The most hosts that are drawn one by one.
pub(super) const MOST_HOSTS: usize = 128;
/// The room of a switch, where there are few of them and where there are many.
const SLOTS: [f64; 2] = [64.0, 36.0];
const MANY: usize = 60;
/// How often the order of the levels is improved.
const SWEEPS: usize = 12;
/// The largest share of joined pairs within a level for which levels say anything.
const LEVEL_LINKS: f64 = 0.25;

/// A fabric in levels.
pub(super) struct Levels {
    pub(super) routers: Vec<Position>,
    /// Empty if there are too many to draw.
    pub(super) nodes: Vec<Position>,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Levels {
    /// The levels of a network some of whose routers only switch; of others, and where most links would run within levels, there are
    /// none.
    pub(super) fn new(network: &Network, graph: &Graph) -> Option<Self> {
        let hosts = |router: usize| network.nodes_of(crate::RouterId::new(router as u32)).len();
        let level = graph.distances((0..graph.vertices()).filter(|&router| hosts(router) > 0));
        let highest = level.iter().copied().max().filter(|&highest| highest > 0 && highest < u32::MAX)?;
        let pairs: Vec<(usize, usize)> = (0..graph.vertices())
            .flat_map(|a| graph.neighbours(a).iter().map(move |&b| (a, b as usize)).filter(|(a, b)| a < b))
            .collect();
        let within = pairs.iter().filter(|&&(a, b)| level[a] == level[b]).count();
        if within as f64 > LEVEL_LINKS * pairs.len() as f64 {
            return None;
        }
        let mut rows: Vec<Vec<usize>> = (0..=highest).map(|_| Vec::new()).collect();
        for (router, &level) in level.iter().enumerate() {
            rows[level as usize].push(router);
        }
        order(graph, &level, &mut rows);

        let draws_hosts = network.nodes() <= MOST_HOSTS;
        let slot = SLOTS[usize::from(rows.iter().any(|row| row.len() > MANY))];
        let slot_of = |router: usize| if draws_hosts { slot.max((hosts(router) as f64 + 0.7) * HOST) } else { slot };
        let widths = rows.iter().enumerate().map(|(level, row)| match level {
            0 => row.iter().map(|&router| slot_of(router)).sum::<f64>(),
            _ => row.len() as f64 * slot,
        });
        let across = widths.fold(0.0, f64::max);
        let (width, cable) = (across + 2.0 * MARGIN, if draws_hosts { CABLE } else { 0.0 });
        let height = f64::from(highest) * PITCH + cable + 2.0 * MARGIN;
        let mut routers = vec![Position { x: 0.0, y: 0.0 }; graph.vertices()];
        let mut nodes = vec![Position { x: 0.0, y: 0.0 }; if draws_hosts { network.nodes() } else { 0 }];
        for (level, row) in rows.iter().enumerate() {
            let y = height - MARGIN - cable - level as f64 * PITCH;
            let needed: f64 = if level == 0 { row.iter().map(|&router| slot_of(router)).sum() } else { across };
            let mut left = MARGIN + (across - needed) / 2.0;
            for &router in row {
                let own = if level == 0 { slot_of(router) } else { across / row.len() as f64 };
                let x = left + own / 2.0;
                routers[router] = Position { x, y };
                left += own;
                for (place, node) in network.nodes_of(crate::RouterId::new(router as u32)).enumerate() {
                    if let Some(at) = nodes.get_mut(node.index()) {
                        let aside = place as f64 - (hosts(router) as f64 - 1.0) / 2.0;
                        *at = Position { x: x + aside * HOST, y: y + CABLE };
                    }
                }
            }
        }
        Some(Self { routers, nodes, width, height })
    }
}

/// Orders each level by the mean place of the neighbours below and above in turn, and keeps the order with the fewest crossings.
fn order(graph: &Graph, level: &[u32], rows: &mut Vec<Vec<usize>>) {
    let mut place = vec![0.0; graph.vertices()];
    let settle = |row: &[usize], place: &mut Vec<f64>| {
        for (position, &router) in row.iter().enumerate() {
            place[router] = (position as f64 + 0.5) / row.len() as f64;
        }
    };
    for row in rows.iter() {
        settle(row, &mut place);
    }
    let mut best = (crossings(graph, level, rows, &place), rows.clone());
    for sweep in 0..SWEEPS {
        let up = sweep % 2 == 0;
        let order: Vec<usize> = if up { (1..rows.len()).collect() } else { (0..rows.len() - 1).rev().collect() };
        for row in order {
            let other = if up { row - 1 } else { row + 1 };
            let mean = |router: usize| {
                let near = graph.neighbours(router).iter().map(|&next| next as usize);
                let places: Vec<f64> =
                    near.filter(|&next| level[next] as usize == other).map(|next| place[next]).collect();
                if places.is_empty() { place[router] } else { places.iter().sum::<f64>() / places.len() as f64 }
            };
            let mut means: Vec<(f64, usize)> = rows[row].iter().map(|&router| (mean(router), router)).collect();
            means.sort_by(|a, b| a.0.total_cmp(&b.0));
            rows[row] = means.into_iter().map(|(_, router)| router).collect();
            settle(&rows[row], &mut place);
        }
        let now = crossings(graph, level, rows, &place);
        if now < best.0 {
            best = (now, rows.clone());
        }
    }
    *rows = best.1;
}

/// How many links between neighbouring levels cross.
fn crossings(graph: &Graph, level: &[u32], rows: &[Vec<usize>], place: &[f64]) -> u64 {
    let mut crossings = 0;
    for row in rows.iter().skip(1) {
        // By their upper ends, then by their lower ones: each that starts to the left and ends to the right crosses.
        let mut lower: Vec<f64> = Vec::new();
        for &router in row {
            let below = graph.neighbours(router).iter().map(|&next| next as usize);
            let mut ends: Vec<f64> =
                below.filter(|&next| level[next] + 1 == level[router]).map(|next| place[next]).collect();
            ends.sort_by(f64::total_cmp);
            lower.extend(ends);
        }
        crossings += inversions(&mut lower);
    }
    crossings
}

/// How many pairs are in the wrong order; sorts the values.
fn inversions(values: &mut [f64]) -> u64 {
    if values.len() < 2 {
        return 0;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut count = inversions(left) + inversions(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut a, mut b) = (0, 0);
    while a < left.len() || b < right.len() {
        if b == right.len() || a < left.len() && left[a] <= right[b] {
            merged.push(left[a]);
            a += 1;
        } else {
            count += (left.len() - a) as u64;
            merged.push(right[b]);
            b += 1;
        }
    }
    values.copy_from_slice(&merged);
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{NetworkBuilder, NodeDetails};
    use crate::ids::RouterId;

    #[test]
    fn inversions_are_counted() {
        assert_eq!(inversions(&mut [1.0, 2.0, 2.0, 3.0]), 0);
        assert_eq!(inversions(&mut [4.0, 3.0, 2.0, 1.0]), 6);
        assert_eq!(inversions(&mut [2.0, 4.0, 1.0, 3.0, 5.0]), 3);
    }

    /// Two pods of two leaves and two spines each, and two cores, mixed up.
    #[test]
    fn a_fat_tree_has_three_levels_and_pods_stay_together() {
        let mut builder = NetworkBuilder::new("fat tree");
        builder.at_least(10).unwrap();
        let [cores, spines, leaves] = [[0, 5], [1, 6], [2, 7]];
        let more = [[3, 8], [4, 9]];
        let id = RouterId::new;
        for pod in 0..2 {
            for leaf in [leaves[pod], more[0][pod]] {
                for spine in [spines[pod], more[1][pod]] {
                    builder.link(id(leaf), id(spine)).unwrap();
                }
                builder.node(id(leaf), NodeDetails::default()).unwrap();
                builder.node(id(leaf), NodeDetails::default()).unwrap();
            }
            for (spine, core) in [spines[pod], more[1][pod]].into_iter().zip(cores) {
                builder.link(id(spine), id(core)).unwrap();
            }
        }
        let network = builder.build().unwrap();
        let graph = super::super::layout::graph(&network);
        let levels = Levels::new(&network, &graph).unwrap();
        let y = |router: u32| levels.routers[router as usize].y;
        let level = |a: u32, b: u32| (y(a) - y(b)).abs() < 1e-9;
        assert!(level(0, 5) && level(1, 6) && level(2, 7) && y(0) < y(1) && y(1) < y(2));
        assert!(levels.nodes.iter().all(|node| node.y > y(2)));
        let x = |router: u32| levels.routers[router as usize].x;
        let pod = |pod: usize| [x(leaves[pod]), x(more[0][pod])];
        let (low, high) = (pod(0), pod(1));
        assert!(low.iter().all(|l| high.iter().all(|h| l < h)) || low.iter().all(|l| high.iter().all(|h| l > h)));
    }
}
