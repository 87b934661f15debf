//! What a worm takes in an empty network: the closed forms that runs are checked against, and that split latencies into
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
/// `strips[i]` says whether the i-th router of the path (the sender's is the first) strips an address flit; the stop is router
/// `stop`, and `strips` reaches at least as far as the worm's flits fit into buffers beyond it, or to the end of the path.
///
/// Let flit numbers count from 1, `h(i)` be the cycle in which the first flit leaves router i and `f(i)` its number. The last
/// flit, F, leaves the stop's router s in the maximum over k >= 0 of `h(s+k) + (F - kB) - f(s+k)`, for as long as flit `F - kB`
/// passes that router: with kB flits between them, it cannot be further behind than the buffers allow. Where a router strips,
/// the stripped flit counts like one that leaves. O(flits / buffer).
///
/// ```
/// use wormcast_simulation::{WormTiming, path_delivery};
///
/// // Rule 4 of the model: (D + 1)(r + 1) + L over D = 3 links.
/// let timing = WormTiming { routing_delay: 4, strip_delay: 4, buffer: 1, flits: 20 };
/// assert_eq!(path_delivery(timing, &[false; 4], 3), 4 * 5 + 20);
/// ```
pub fn path_delivery(timing: WormTiming, strips: &[bool], stop: usize) -> u64 {
    let hop = u64::from(timing.routing_delay) + 1;
    let strip = u64::from(timing.strip_delay) + 1;
    let (mut leaves, mut first) = (0, 1u64);
    let mut last = 0;
    for (router, &stripped) in strips.iter().enumerate() {
        // The header arrives, is stripped if it names this router, and the next flit is routed.
        let arrives = leaves;
        leaves = arrives + hop + if stripped { strip } else { 0 };
        first += u64::from(stripped);
        let Some(behind) = router.checked_sub(stop) else { continue };
        let Some(flit) = u64::from(timing.flits).checked_sub(behind as u64 * u64::from(timing.buffer)) else { break };
        if flit >= first {
            last = last.max(leaves + flit - first);
        } else {
            if stripped && flit + 1 == first {
                last = last.max(arrives + strip);
            }
            break;
        }
    }
    last + 1
}

/// Cycles from the end of the startup until a lockstep tree worm, whose branches all carry the same flits, has delivered at a
/// router.
///
/// `heights[d]` is the height of the router's ancestor at depth d below the sender's router (depth 0), itself last: the longest
/// way down from it in hops. A flit leaves a router on all branches together, so each ancestor is held back by everything below
/// it (model.md, "An empty network"). O(depth x flits / buffer).
pub fn lockstep_tree_delivery(timing: WormTiming, heights: &[u32]) -> u64 {
    let hop = u64::from(timing.routing_delay) + 1;
    let (flits, buffer) = (u64::from(timing.flits), u64::from(timing.buffer));
    let depth = heights.len() - 1;
    let held_back = |(d, &height): (usize, &u32)| {
        let leaves = |k: u64| (d as u64 + k + 1) * hop + (flits - 1) - k * buffer;
        let last = (0..=u64::from(height)).take_while(|k| k * buffer < flits).map(leaves).max().unwrap_or(0);
        last + (depth - d) as u64
    };
    heights.iter().enumerate().map(held_back).max().unwrap_or(0) + 1
}
