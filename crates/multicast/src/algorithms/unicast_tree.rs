//! Software forwarding along a chain: every receiver takes over a part of its sender's share.

use std::collections::VecDeque;

use wormcast_network::NodeId;

use crate::plan::Plan;

/// A part of a chain and the node in it that serves the rest of it: positions in the chain, ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    pub(crate) left: usize,
    /// The node that has the message.
    pub(crate) holder: usize,
    pub(crate) right: usize,
}

/// The unicasts by which the node at position `source` gives a message to all others of `chain`, in place of an earlier plan.
///
/// `hand_over` says what the holder of a share gives away next, and to whom: an end of the share without its holder. A node
/// sends all its unicasts before those that it sent to forward theirs: the worms are in breadth-first order.
/// O(chain x the cost of `hand_over`).
pub(crate) fn unicast_tree(chain: &[NodeId], source: usize, plan: &mut Plan, hand_over: impl Fn(Share) -> Share) {
    let unicasts = chain.len().saturating_sub(1);
    plan.worms.truncate(unicasts);
    plan.worms.reserve(unicasts - plan.worms.len());
    let mut sent = 0;
    let whole = Share { left: 0, holder: source, right: unicasts };
    // A queue, not recursion: trees can be as deep as the chain is long.
    let mut shares = VecDeque::from([(whole, None)]);
    while let Some((mut share, trigger)) = shares.pop_front() {
        while share.left < share.right {
            let given = hand_over(share);
            plan.put_unicast(sent, chain[share.holder], trigger, chain[given.holder]);
            if given.left < given.right {
                shares.push_back((given, Some(sent as u32)));
            }
            sent += 1;
            if given.left > share.holder {
                share.right = given.left - 1;
            } else {
                share.left = given.right + 1;
            }
        }
    }
}

/// What the holder of a part of a chain gives away: the half that it is not in; in the exact middle, what follows it.
pub(crate) fn other_half(Share { left, holder, right }: Share) -> Share {
    let twice_the_middle = left + right;
    if 2 * holder <= twice_the_middle {
        let receiver = if 2 * holder == twice_the_middle { holder + 1 } else { twice_the_middle.div_ceil(2) };
        Share { left: receiver, holder: receiver, right }
    } else {
        let receiver = twice_the_middle / 2;
        Share { left, holder: receiver, right: receiver }
    }
}
