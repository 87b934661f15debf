//! Latencies in an empty network: the closed forms that runs are checked against, and that split latencies into
//! network time and blocking.

/// The timing of routers and the shape of worms that closed forms depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WormTiming {
    /// Cycles that a header spends in each router before it requests (r).
    pub routing_delay: u32,
    /// Cycles between the first in which an address flit could move and the one in which it is stripped.
    pub strip_delay: u32,
    /// Flits a buffer (B).
    pub buffer: u32,
    /// Flits that the sender injects, header and data.
    pub flits: u32,
}

/// Cycles from the end of the startup until a path worm has delivered at a stop.
///
/// Routers are counted from 0, the sender's. `strips` lists, in increasing order, those that strip an address flit; the stop is
/// router `stop`; and `routers` are known of: to the end of the path, or at least as far as the worm's flits fit into buffers
/// beyond the stop.
///
/// Let flit numbers count from 1, `h(i)` be the cycle in which the first flit leaves router i and `f(i)` its number. The last
/// flit, F, leaves the stop's router s in the maximum over k >= 0 of `h(s+k) + (F - kB) - f(s+k)`, for as long as flit `F - kB`
/// passes that router: with kB flits between them, it cannot be further behind than the buffers allow. Where a router strips,
/// the stripped flit counts like one that leaves. Between two routers that strip, the terms rise or fall evenly with k, so the
/// first and the last of them are enough: O(strips).
///
/// ```
/// use wormcast_simulation::{WormTiming, path_delivery};
///
/// // Rule 4 of the model: (D + 1)(r + 1) + L over D = 3 links.
/// let timing = WormTiming { routing_delay: 4, strip_delay: 4, buffer: 1, flits: 20 };
/// assert_eq!(path_delivery(timing, &[], 4, 3), 4 * 5 + 20);
/// ```
#[inline]
pub fn path_delivery(timing: WormTiming, strips: &[u32], routers: u32, stop: u32) -> u64 {
    if strips.is_empty() && stop + 1 == routers {
        // Of a unicast, for one: nothing is ahead.
        return u64::from(routers) * (u64::from(timing.routing_delay) + 1) + u64::from(timing.flits);
    }
    path_delivery_among(timing, strips, routers, stop)
}

/// The same, where something is ahead of the stop.
fn path_delivery_among(timing: WormTiming, strips: &[u32], routers: u32, stop: u32) -> u64 {
    let hop = i64::from(timing.routing_delay) + 1;
    let strip = i64::from(timing.strip_delay) + 1;
    let (flits, buffer) = (i64::from(timing.flits), i64::from(timing.buffer));
    let mut last = 0;
    // A stretch of routers with as many strips up to each of them.
    let mut stripped = strips.partition_point(|&router| router <= stop);
    let mut begin = stop;
    while begin < routers {
        let end = strips.get(stripped).map_or(routers, |&router| router.min(routers));
        let first = 1 + stripped as i64;
        let (nearest, furthest) = (i64::from(begin - stop), i64::from(end - 1 - stop));
        let within = (flits - first).div_euclid(buffer).min(furthest);
        if within < nearest {
            // Flit `flits - nearest * buffer` does not pass the first router: it may be the one that is stripped there.
            if stripped > 0 && strips[stripped - 1] == begin && flits - nearest * buffer == first - 1 {
                last = last.max(i64::from(begin) * hop + stripped as i64 * strip);
            }
            break;
        }
        for k in [nearest, within] {
            let leaves = (i64::from(stop) + k + 1) * hop + stripped as i64 * strip;
            last = last.max(leaves + flits - k * buffer - first);
        }
        if within < furthest {
            break;
        }
        begin = end;
        stripped += 1;
    }
    last as u64 + 1
}

/// As [`path_delivery`], where links take several cycles: `lags` are the cycles of each link beyond the first, those that the worm takes from the sender's router on.
///
/// A link with the lag l gets a flit to the next router l cycles later, and a free slot there is known before it l cycles later. So with buffers of fewer than 2l + 1 flits, a link
/// carries them in bursts, and what the last flit takes depends on all of them: the recurrence is followed flit by flit, O(flits x links).
///
/// ```
/// use wormcast_simulation::{WormTiming, delayed_path_delivery};
///
/// let timing = |buffer| WormTiming { routing_delay: 4, strip_delay: 4, buffer, flits: 20 };
/// // (D + 1)(r + 1) + L and two cycles more for each of D = 3 links, if buffers have 2 x 3 - 1 flits.
/// assert_eq!(delayed_path_delivery(timing(5), &[2, 2, 2], &[], 3), 4 * 5 + 20 + 3 * 2);
/// // With buffers of one flit, one crosses every 5 cycles.
/// assert_eq!(delayed_path_delivery(timing(1), &[2, 2, 2], &[], 3), 4 * 5 + 20 + 3 * 2 + 19 * 4);
/// ```
pub fn delayed_path_delivery(timing: WormTiming, lags: &[u32], strips: &[u32], stop: u32) -> u64 {
    let [routing, stripping] = [timing.routing_delay, timing.strip_delay].map(|delay| u64::from(delay) + 1);
    let room = timing.buffer.min(timing.flits) as usize;
    // Where a buffer takes the whole worm, no flit waits for a slot.
    let kept = if timing.buffer >= timing.flits { 1 } else { room };
    let routers = lags.len() + 1;
    // By router, when the last flits left it, as many as its buffer holds, and how many have; when the last one did.
    let mut left = vec![0u64; routers * kept];
    let mut count = vec![0usize; routers];
    let mut last = vec![0u64; routers];
    let mut injected = 0;
    // When the slot is free that the next flit takes in a router's buffer.
    let slot = |left: &[u64], count: &[usize], entered: usize, router: usize| {
        if entered < room {
            return 0;
        }
        debug_assert!(entered - room < count[router], "flits leave in order");
        left[router * kept + (entered - room) % kept]
    };
    let mut entered = vec![0usize; routers];
    for flit in 1..=timing.flits as usize {
        let after = if flit == 1 { 0 } else { injected + 1 };
        injected = after.max(slot(&left, &count, entered[0], 0));
        let mut enters = injected;
        for router in 0..routers {
            entered[router] += 1;
            let before = strips.partition_point(|&at| (at as usize) < router);
            let named = strips.get(before).is_some_and(|&at| at as usize == router);
            let header = before + 1 + usize::from(named);
            let strips_it = named && flit == before + 1;
            let mut leaves = match flit {
                _ if strips_it => enters + stripping,
                _ if flit == header => enters.max(last[router]) + routing,
                _ => enters.max(last[router]) + 1,
            };
            let lag = lags.get(router).map(|&lag| u64::from(lag));
            if let (Some(lag), false) = (lag, strips_it) {
                let free = slot(&left, &count, entered[router + 1], router + 1);
                leaves = leaves.max(if free == 0 { 0 } else { free + lag });
            }
            left[router * kept + count[router] % kept] = leaves;
            count[router] += 1;
            last[router] = leaves;
            if strips_it {
                break;
            }
            enters = leaves + lag.unwrap_or(0);
        }
    }
    last[stop as usize] + 1
}

/// Cycles from the end of the startup until a lockstep tree worm, whose branches all carry the same flits, has delivered at a
/// router.
///
/// `heights` are those of the router and its ancestors, the router's own first, that of the sender's router last: the longest
/// ways down in hops. A flit leaves a router on all branches together, so each ancestor is held back by everything below it
/// (docs/worm-engine.md). O(depth).
pub fn lockstep_tree_delivery<I>(timing: WormTiming, heights: I) -> u64
where
    I: IntoIterator<Item = u32, IntoIter: Clone>,
{
    let hop = u64::from(timing.routing_delay) + 1;
    let (flits, buffer) = (u64::from(timing.flits), u64::from(timing.buffer));
    let heights = heights.into_iter();
    let depth = (heights.clone().count() - 1) as u64;
    let held_back = |(up, height): (u64, u32)| {
        // The terms rise or fall evenly with k.
        let leaves = |k: u64| (depth - up + k + 1) * hop + (flits - 1) - k * buffer;
        let furthest = u64::from(height).min((flits - 1) / buffer);
        leaves(0).max(leaves(furthest)) + up
    };
    (0..).zip(heights).map(held_back).max().unwrap_or(0) + 1
}
