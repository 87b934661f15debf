//! Random number generators, each derived from its purpose.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use wormcast_network::split_mix::mix;

/// The purpose of random numbers; part of every seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// The cycles in which a node generates messages.
    Arrivals = 1,
    /// A message's destinations and length.
    Message = 2,
    /// The nodes that take part in a burst.
    Burst = 3,
    /// The choice among several free channels in a cycle.
    Selection = 4,
    /// Schedules that may deadlock.
    DeadlockSchedule = 5,
    /// The router over which a worm goes.
    Waypoint = 6,
    /// The sets of destinations of a node's multicasts.
    Sets = 7,
}

/// A generator for one purpose and one pair of indices, independent of all others.
///
/// A message's content depends on its source and on how many that node has generated before, not on when: runs at other loads
/// and with other algorithms see the same messages (common random numbers).
pub(crate) fn generator(seed: u64, purpose: Purpose, index: u64, sequence: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(number(seed, purpose, index, sequence))
}

/// One random number for one purpose and one pair of indices.
pub(crate) fn number(seed: u64, purpose: Purpose, index: u64, sequence: u64) -> u64 {
    [purpose as u64, index, sequence].into_iter().fold(seed, |state, value| mix(state ^ mix(value)))
}
