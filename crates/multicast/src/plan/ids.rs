//! Tables keyed by ids.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use wormcast_network::ChannelId;

/// A table keyed by ids. These are dense numbers that no attacker chooses, so a multiplication spreads them well enough.
/// A summary looks up every channel of a plan; the standard hasher would take most of its time.
pub(crate) type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// A set of ids.
pub(crate) type IdSet<K> = HashSet<K, BuildHasherDefault<IdHasher>>;

/// A number below `u32::MAX` for each of some channels: an array where the channels are many of those with smaller ids, and else a hash table.
pub(crate) enum ChannelTable {
    Dense(Vec<u32>),
    Sparse(IdMap<ChannelId, u32>),
}

impl ChannelTable {
    const NONE: u32 = u32::MAX;

    /// For at most as many channels as come here, some of them perhaps several times.
    pub(crate) fn of<'a>(channels: impl Iterator<Item = &'a ChannelId> + Clone) -> Self {
        let (count, end) = channels.fold((0, 0), |(count, end), channel| (count + 1, end.max(channel.index() + 1)));
        if end / 16 <= count {
            return Self::Dense(vec![Self::NONE; end]);
        }
        let mut table = IdMap::default();
        table.reserve(count);
        Self::Sparse(table)
    }

    /// The number of a channel, if it has one.
    #[inline]
    pub(crate) fn get(&self, channel: ChannelId) -> Option<u32> {
        match self {
            Self::Dense(numbers) => numbers.get(channel.index()).copied().filter(|&number| number != Self::NONE),
            Self::Sparse(table) => table.get(&channel).copied(),
        }
    }

    /// Gives a channel a number, and returns the one that it had.
    #[inline]
    pub(crate) fn insert(&mut self, channel: ChannelId, number: u32) -> Option<u32> {
        match self {
            Self::Dense(numbers) => {
                Some(std::mem::replace(&mut numbers[channel.index()], number)).filter(|&number| number != Self::NONE)
            }
            Self::Sparse(table) => table.insert(channel, number),
        }
    }
}

#[derive(Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    fn write_u32(&mut self, id: u32) {
        // 2^64 over the golden ratio.
        self.0 = (self.0.rotate_left(32) ^ u64::from(id)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As a plain table, whether the channels are many or few of the ids.
        #[test]
        fn numbers_of_channels_are_kept(entries in prop::collection::vec((0u32..900, 0u32..50), 1..120), spread in prop::sample::select(vec![1u32, 40])) {
            let entries: Vec<_> = entries.into_iter().map(|(channel, number)| (ChannelId::new(channel * spread), number)).collect();
            let channels: Vec<ChannelId> = entries.iter().map(|entry| entry.0).collect();
            let mut table = ChannelTable::of(channels.iter());
            let mut plain: HashMap<ChannelId, u32> = HashMap::new();
            for &(channel, number) in &entries {
                prop_assert_eq!(table.get(channel), plain.get(&channel).copied());
                prop_assert_eq!(table.insert(channel, number), plain.insert(channel, number));
            }
            prop_assert!(channels.iter().all(|channel| table.get(*channel) == plain.get(channel).copied()));
            let dense = matches!(table, ChannelTable::Dense(_));
            let end = channels.iter().map(|channel| channel.index() + 1).max().unwrap_or(0);
            prop_assert_eq!(dense, end < 16 * (channels.len() + 1));
        }
    }
}
