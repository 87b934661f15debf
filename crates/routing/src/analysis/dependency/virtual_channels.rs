//! Dependencies between virtual channels, where a relation divides those of links.

use wormcast_network::ChannelId;

use crate::capabilities::VirtualChannels;
use crate::relation::RoutingRelation;

/// The dependencies (held, requested) between channels that remain of unicasts if all virtual channels are struck out whose holders wait for
/// none that remains: only these can be part of a deadlock.
///
/// O(routers x channels x virtual channels), and a logarithm of it.
pub(super) fn blocking(relation: &dyn RoutingRelation, division: &dyn VirtualChannels) -> Vec<(u32, u32)> {
    let network = &**relation.network();
    let count = u32::from(division.needed().max(1));
    let vertices = network.channels() * count as usize;
    // A link may have more than are needed: they are as the last.
    let of = |at, arrived, target, channel: ChannelId| {
        let range = division.range(at, arrived, target, channel);
        let [first, last] = [range.first, range.last].map(|vc| u32::from(vc).min(count - 1));
        (first..=last).map(move |vc| channel.raw() * count + vc)
    };
    let spread = relation.spreading();
    let mut waits: Vec<(u32, u32)> = Vec::new();
    let (mut work, mut candidates) = (Vec::new(), Vec::new());
    for target in network.router_ids().filter(|&router| network.nodes_of(router).len() > 0) {
        let mut reached = vec![false; vertices];
        for source in network.router_ids() {
            spread(source, None, target, &mut candidates);
            let first = candidates.iter().flat_map(|&channel| of(source, None, target, channel));
            work.extend(first.filter(|&next| !std::mem::replace(&mut reached[next as usize], true)));
            while let Some(held) = work.pop() {
                let arrived = ChannelId::new(held / count);
                let at = network.to(arrived);
                spread(at, Some(arrived), target, &mut candidates);
                for next in candidates.iter().flat_map(|&channel| of(at, Some(arrived), target, channel)) {
                    waits.push((held, next));
                    work.extend((!std::mem::replace(&mut reached[next as usize], true)).then_some(next));
                }
            }
        }
        waits.sort_unstable();
        waits.dedup();
    }
    let mut left = vec![0u32; vertices];
    let mut holders: Vec<(u32, u32)> = Vec::with_capacity(waits.len());
    for &(held, next) in &waits {
        left[held as usize] += 1;
        holders.push((next, held));
    }
    holders.sort_unstable();
    let mut struck: Vec<u32> = (0..vertices as u32).filter(|&vertex| left[vertex as usize] == 0).collect();
    while let Some(vertex) = struck.pop() {
        let start = holders.partition_point(|&(next, _)| next < vertex);
        for &(_, held) in holders[start..].iter().take_while(|&&(next, _)| next == vertex) {
            left[held as usize] -= 1;
            struck.extend((left[held as usize] == 0).then_some(held));
        }
    }
    waits.retain(|&(held, next)| left[held as usize] > 0 && left[next as usize] > 0);
    let mut channels: Vec<(u32, u32)> = waits.into_iter().map(|(held, next)| (held / count, next / count)).collect();
    channels.sort_unstable();
    channels.dedup();
    channels
}
