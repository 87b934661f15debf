//! The seed of each replication.

use wormcast_network::split_mix::{STEP, finalise};

/// The seed of a replication: a function of the experiment's seed and the replication's number alone, so that all points of a
/// sweep meet the same random numbers in the same replication.
///
/// It is `mix(mix(seed) + (replication + 1) * 0x9e3779b97f4a7c15)`, where `mix` is the finaliser of `SplitMix64` and all
/// arithmetic is modulo 2^64. The inner `mix` keeps the replications of neighbouring seeds apart.
///
/// ```
/// use wormcast_lab::replication_seed;
///
/// assert_eq!(replication_seed(0, 0), 0xe220_a839_7b1d_cdaf);
/// assert_ne!(replication_seed(1, 0), replication_seed(1, 1));
/// ```
pub fn replication_seed(seed: u64, replication: u32) -> u64 {
    finalise(finalise(seed).wrapping_add(STEP.wrapping_mul(u64::from(replication) + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_zero_gives_the_sequence_of_splitmix64() {
        // mix(0) = 0, so that these are the first outputs of SplitMix64 seeded with 0, as published.
        assert_eq!(replication_seed(0, 0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(replication_seed(0, 1), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(replication_seed(0, 2), 0x06c4_5d18_8009_454f);
    }

    #[test]
    fn seeds_are_distinct() {
        let mut seeds: Vec<u64> = (0..100).flat_map(|seed| (0..100).map(move |r| replication_seed(seed, r))).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 10_000);
    }
}
