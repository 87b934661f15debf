//! When the worms of a set have to start to meet where they block each other: differences of times.

use wormcast_network::NodeId;

use super::members::{Member, Step};
use super::sets::DeadSet;
use super::worms::{ResourceId, Resources};
use crate::config::buffer::Buffer;
use crate::engine::EngineConfig;
use crate::observers::observer::Cycle;

/// `to` starts at least `by` cycles after `from`, which may be negative.
#[derive(Clone, Copy)]
struct Difference {
    from: usize,
    to: usize,
    by: i64,
}

/// Of two differences, one has to hold.
type Either = [Difference; 2];

/// Cycles from a worm's first grant, that of an injection channel, to when it asks for what it is granted at a vertex.
struct Times<'a, 'm> {
    member: &'m Member<'a>,
    hop: i64,
    length: i64,
}

impl Times<'_, '_> {
    fn granted(&self, vertex: u32, pool: bool) -> i64 {
        (i64::from(self.member.worm().vertices[vertex as usize].depth) + i64::from(pool)) * self.hop
    }

    /// When it has left the channel by which it entered a vertex.
    fn released(&self, vertex: u32) -> i64 {
        let depth = i64::from(self.member.worm().vertices[vertex as usize].depth);
        let squeezed = (depth + i64::from(self.member.stretch)) * self.hop;
        squeezed.max((depth + 1) * self.hop + self.length - 1) + 1
    }

    fn asks(&self, front: usize) -> i64 {
        self.granted(self.member.fronts[front].waiting.at, true)
    }
}

/// The data flits with which a worm stretches over so many channels when it waits, and no more: where buffers take any worm, it does not stretch.
pub(super) fn length(stretch: u32, config: &EngineConfig) -> u32 {
    if config.buffer == Buffer::WHOLE {
        return 1;
    }
    stretch.saturating_sub(1).saturating_mul(config.buffer).saturating_add(1)
}

/// Cycles of the first grants of a set's worms with which they block each other if nothing else delays them; `None` if there are
/// none, or too many orders to try.
///
/// Each channel that two of them use has an order, which is part of what is looked for; with an order, all conditions are
/// differences of two times, and there are such times if no cycle of differences adds up to more than 0.
pub(super) fn starts(
    set: &DeadSet<'_>,
    senders: &[NodeId],
    config: &EngineConfig,
    resources: &Resources,
) -> Option<Vec<Cycle>> {
    let members = &set.members;
    let hop = i64::from(config.routing_delay) + 1;
    let times: Vec<Times<'_, '_>> =
        members.iter().map(|member| Times { member, hop, length: i64::from(length(member.stretch, config)) }).collect();
    // The resource, the vertex, whether it is a consumption channel, and whether the worm holds it in the end.
    let uses = |member: &Member<'_>| -> Vec<(ResourceId, u32, bool, bool)> {
        member.acquired().map(|(resource, vertex, pool)| (resource, vertex, pool, member.stays_at(vertex))).collect()
    };
    let all: Vec<_> = members.iter().map(uses).collect();
    let users = |resource: ResourceId| {
        all.iter().filter(|uses| uses.iter().any(|&(other, ..)| other == resource)).count() as u32
    };
    let (mut fixed, mut either) = (Vec::new(), Vec::new());
    for i in 0..members.len() {
        for j in i + 1..members.len() {
            for &(resource, u, pool_i, stays_i) in &all[i] {
                for &(_, v, pool_j, stays_j) in all[j].iter().filter(|&&(other, ..)| other == resource) {
                    if users(resource) <= resources.capacity(resource) || stays_i && stays_j {
                        continue;
                    }
                    let i_first = Difference { from: i, to: j, by: times[i].released(u) - times[j].granted(v, pool_j) };
                    let j_first = Difference { from: j, to: i, by: times[j].released(v) - times[i].granted(u, pool_i) };
                    match (stays_i, stays_j) {
                        (true, _) => fixed.push(j_first),
                        (_, true) => fixed.push(i_first),
                        _ if first(&set.steps, i, u, j, v) => either.push([i_first, j_first]),
                        _ => either.push([j_first, i_first]),
                    }
                }
            }
            if senders[i] == senders[j] {
                let startup = i64::from(config.startup);
                let after = |from, to| Difference { from, to, by: startup };
                either.push([after(i, j), after(j, i)]);
            }
        }
        for (number, front) in members[i].fronts.iter().enumerate() {
            for &resource in &front.waiting.parts[front.part] {
                for j in (0..members.len()).filter(|&j| j != i) {
                    for &(_, v, pool, _) in all[j].iter().filter(|&&(other, .., stays)| other == resource && stays) {
                        let by = times[j].granted(v, pool) + 1 - times[i].asks(number);
                        fixed.push(Difference { from: j, to: i, by });
                    }
                }
            }
        }
    }
    for &((from, older), (to, younger)) in &set.queues {
        fixed.push(Difference { from, to, by: times[from].asks(older) + 1 - times[to].asks(younger) });
    }
    let mut tries = 20_000;
    let found = choose(members.len(), &mut fixed, &either, &mut tries)?;
    let least = found.iter().copied().min()?;
    found.iter().map(|&at| Cycle::try_from(at - least).ok()).collect()
}

/// Whether a member is granted what leads to a vertex before another is, in a solution.
fn first(steps: &[Step], i: usize, u: u32, j: usize, v: u32) -> bool {
    let place =
        |member: usize, vertex: u32| steps.iter().position(|step| step.member == member && step.vertex == vertex);
    // The channel into a vertex is granted no later than the request there.
    place(i, u) < place(j, v)
}

/// Times that satisfy all differences and one of each pair.
fn choose(count: usize, fixed: &mut Vec<Difference>, either: &[Either], tries: &mut u32) -> Option<Vec<i64>> {
    *tries = tries.checked_sub(1)?;
    let times = earliest(count, fixed)?;
    let holds = |difference: &Difference| times[difference.to] - times[difference.from] >= difference.by;
    let Some(open) = either.iter().find(|pair| !pair.iter().any(holds)) else { return Some(times) };
    for &difference in open {
        fixed.push(difference);
        let found = choose(count, fixed, either, tries);
        fixed.pop();
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The earliest times that satisfy differences; `None` if none do.
fn earliest(count: usize, differences: &[Difference]) -> Option<Vec<i64>> {
    let mut times = vec![0; count];
    for _ in 0..=count {
        let mut changed = false;
        for &Difference { from, to, by } in differences {
            if times[to] < times[from] + by {
                times[to] = times[from] + by;
                changed = true;
            }
        }
        if !changed {
            return Some(times);
        }
    }
    None
}
