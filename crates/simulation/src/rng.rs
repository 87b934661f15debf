//! Random number generators, each derived from its purpose.

use std::convert::Infallible;

use rand::TryRng;
use rand::rand_core::utils::fill_bytes_via_next_word;
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

/// The generator xoshiro256++ of Blackman and Vigna, as in the crate `rand_xoshiro`, which takes its state as bytes: runs seed one for each message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Random([u64; 4]);

impl TryRng for Random {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        // The upper bits are the better ones.
        self.try_next_u64().map(|number| (number >> 32) as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let Self([a, b, c, d]) = self;
        let number = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        Ok(number)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        fill_bytes_via_next_word(bytes, || self.try_next_u64())
    }
}

/// A generator for one purpose and one pair of indices, independent of all others.
///
/// A message's content depends on its source and on how many that node has generated before, not on when: runs at other loads
/// and with other algorithms see the same messages (common random numbers).
pub(crate) fn generator(seed: u64, purpose: Purpose, index: u64, sequence: u64) -> Random {
    Sequences::new(seed, purpose, index).generator(sequence)
}

/// One random number for one purpose and one pair of indices.
#[inline]
pub(crate) fn number(seed: u64, purpose: Purpose, index: u64, sequence: u64) -> u64 {
    Sequences::new(seed, purpose, index).number(sequence)
}

/// The generators of one purpose and one index, made ready for any number of them.
#[derive(Clone, Copy)]
pub(crate) struct Sequences(u64);

impl Sequences {
    #[inline]
    pub(crate) fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        Self(mixed(mixed(seed, purpose as u64), index))
    }

    #[inline]
    fn number(self, sequence: u64) -> u64 {
        mixed(self.0, sequence)
    }

    /// The generator of this number in the sequence.
    #[inline]
    pub(crate) fn generator(self, sequence: u64) -> Random {
        // As `seed_from_u64` does it. Not all can be 0, which would be no state.
        let state = self.number(sequence);
        let word = |at: u64| mix(state.wrapping_add(STEP.wrapping_mul(at)));
        Random([word(0), word(1), word(2), word(3)])
    }
}

#[inline]
fn mixed(state: u64, value: u64) -> u64 {
    mix(state ^ mix(value))
}

#[cfg(test)]
mod tests {
    use rand::Rng;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn generators_give_the_numbers_of_their_crate() {
        for (seed, index) in (0..100).map(|i| (i, i * i)).chain([(u64::MAX, 0), (0, u64::MAX)]) {
            let number = number(seed, Purpose::Message, index, 3);
            let mut own = generator(seed, Purpose::Message, index, 3);
            let mut other = Xoshiro256PlusPlus::seed_from_u64(number);
            for _ in 0..50 {
                assert_eq!((own.next_u64(), own.next_u32()), (other.next_u64(), other.next_u32()));
            }
            let (mut bytes, mut others) = ([0; 13], [0; 13]);
            own.fill_bytes(&mut bytes);
            other.fill_bytes(&mut others);
            assert_eq!(bytes, others);
        }
    }
}
