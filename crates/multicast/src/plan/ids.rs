//! Tables keyed by ids.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use wormcast_network::NodeId;

/// A table keyed by ids. These are dense numbers that no attacker chooses, so a multiplication spreads them well enough.
pub(crate) type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// A set of ids.
pub(crate) type IdSet<K> = HashSet<K, BuildHasherDefault<IdHasher>>;

/// A number for each of some ids, kept in an array. All are forgotten at once, in no time, so that the array serves many plans.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdTable {
    /// By id, the number and `base`, or less: what has been forgotten.
    entries: Vec<u32>,
    /// More than all that has been forgotten, so at least 1.
    base: u32,
    /// The numbers that may come until all are forgotten.
    most: u32,
}

impl IdTable {
    /// Forgets all, and takes ids and numbers below these.
    pub(crate) fn start(&mut self, ids: usize, numbers: usize) {
        let numbers = u32::try_from(numbers).unwrap_or(u32::MAX - 1);
        let base = (self.base + self.most).max(1);
        if self.entries.len() < ids {
            // Memory that is zero is not touched until it is used.
            *self = Self { entries: vec![0; ids], base: 1, most: numbers };
        } else if base.checked_add(numbers).is_some() {
            (self.base, self.most) = (base, numbers);
        } else {
            self.entries.fill(0);
            (self.base, self.most) = (1, numbers);
        }
    }

    /// The number of an id, if it has one.
    #[inline]
    pub(crate) fn get(&self, id: usize) -> Option<u32> {
        self.entries[id].checked_sub(self.base)
    }

    /// Gives an id a number, and returns the one that it had.
    #[inline]
    pub(crate) fn insert(&mut self, id: usize, number: u32) -> Option<u32> {
        debug_assert!(number < self.most, "{number} of {}", self.most);
        std::mem::replace(&mut self.entries[id], self.base + number).checked_sub(self.base)
    }
}

/// Sorts by numbers below `numbers`; those of the same number stay in their order.
pub(crate) fn sorted_by_number<T: Copy>(mut numbered: Vec<(u32, T)>, numbers: usize) -> Vec<(u32, T)> {
    /// Up to so many numbers for each that is sorted, counting is faster than comparing.
    const SPARSE: usize = 16;
    if numbered.is_sorted_by_key(|entry| entry.0) {
        return numbered;
    }
    if numbers > SPARSE * numbered.len() {
        numbered.sort_by_key(|entry| entry.0);
        return numbered;
    }
    let mut starts = vec![0u32; numbers];
    for entry in &numbered {
        starts[entry.0 as usize] += 1;
    }
    let mut start = 0;
    for count in &mut starts {
        (*count, start) = (start, start + *count);
    }
    let mut sorted = numbered.clone();
    for entry in numbered {
        let place = &mut starts[entry.0 as usize];
        sorted[*place as usize] = entry;
        *place += 1;
    }
    sorted
}

/// Sorts nodes by numbers below `numbers`, and those of the same number by their ids.
pub(crate) fn sorted_nodes(numbered: Vec<(u32, NodeId)>, numbers: usize) -> Vec<(u32, NodeId)> {
    let mut sorted = sorted_by_number(numbered, numbers);
    for run in sorted.chunk_by_mut(|one, next| one.0 == next.0).filter(|run| run.len() > 1) {
        run.sort_unstable();
    }
    sorted
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
        #[test]
        fn numbers_are_counted_as_they_are_compared(numbers in prop::collection::vec(0u32..700, 0..120), limit in 700usize..3000) {
            let numbered: Vec<(u32, u32)> = numbers.into_iter().zip(0..).collect();
            let mut compared = numbered.clone();
            compared.sort_unstable();
            let mut nodes: Vec<(u32, NodeId)> = compared.iter().map(|&(number, id)| (number, NodeId::new(id))).collect();
            prop_assert_eq!(&sorted_by_number(numbered, limit), &compared);
            nodes.reverse();
            let sorted = sorted_nodes(nodes, limit).into_iter().map(|(number, node)| (number, node.raw()));
            prop_assert_eq!(sorted.collect::<Vec<_>>(), compared);
        }

        /// As a plain table that is made anew each time, also where the numbers come to an end.
        #[test]
        fn numbers_of_ids_are_kept(
            rounds in prop::collection::vec((prop::collection::vec((0usize..90, 0u32..50), 1..60), 0u32..3), 1..6),
        ) {
            let mut table = IdTable::default();
            for (entries, near_the_end) in rounds {
                let ids = entries.iter().map(|entry| entry.0 + 1).max().unwrap_or(0);
                if near_the_end == 0 && table.most > 0 {
                    table.most = u32::MAX - table.base - 20;
                }
                table.start(ids, 50);
                let mut plain: HashMap<usize, u32> = HashMap::new();
                for &(id, number) in &entries {
                    prop_assert_eq!(table.get(id), plain.get(&id).copied());
                    prop_assert_eq!(table.insert(id, number), plain.insert(id, number));
                }
                prop_assert!((0..ids).all(|id| table.get(id) == plain.get(&id).copied()));
            }
        }
    }
}
