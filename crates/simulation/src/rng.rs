//! Random number generators, each derived from its purpose.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use wormcast_network::split_mix::{STEP, mix};

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
    // As `seed_from_u64`, whose words are written out byte by byte: runs seed a generator for each message.
    let state = number(seed, purpose, index, sequence);
    let mut words = [[0; 8]; 4];
    let mut at = state;
    for word in &mut words {
        *word = mix(at).to_le_bytes();
        at = at.wrapping_add(STEP);
    }
    let mut seed = [0; 32];
    seed.copy_from_slice(words.as_flattened());
    Xoshiro256PlusPlus::from_seed(seed)
}

/// One random number for one purpose and one pair of indices.
#[inline]
pub(crate) fn number(seed: u64, purpose: Purpose, index: u64, sequence: u64) -> u64 {
    let with = |state: u64, value: u64| mix(state ^ mix(value));
    with(with(with(seed, purpose as u64), index), sequence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_are_seeded_as_their_crate_does_it() {
        for (seed, index) in (0..100).map(|i| (i, i * i)).chain([(u64::MAX, 0), (0, u64::MAX)]) {
            let number = number(seed, Purpose::Message, index, 3);
            let own = generator(seed, Purpose::Message, index, 3);
            assert_eq!(own, Xoshiro256PlusPlus::seed_from_u64(number));
        }
    }
}
