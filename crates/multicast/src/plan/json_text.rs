//! JSON whose bulk is lists of small numbers, written straight into a buffer.

use std::sync::Arc;

use serde::Serialize;
use wormcast_network::{ChannelId, Network};

/// Numbers below this have their digits looked up: how many digits there are is then no branch, which would often be mispredicted.
const LOOKED_UP: usize = 1 << 16;

/// The bytes of digits as they are looked up.
const WORD: usize = size_of::<u64>();

/// The bytes of a channel's ends as they are looked up.
const ENDS: usize = size_of::<u128>();

/// The most channels, and routers, of a network whose channels' ends are looked up: a megabyte, and five digits.
const MOST_ENDS: usize = 1 << 16;

/// A text that is written piece by piece, in memory that the next text uses again.
#[derive(Debug, Default)]
pub struct JsonText {
    /// The text, and beyond its end what is to be overwritten.
    bytes: Vec<u8>,
    end: usize,
    /// By number: its digits and a comma, and in the highest byte how many digits; 0 as long as they were not asked for.
    digits: Vec<u64>,
    /// The network that texts are about, and by channel, `[from,to],`, and in the highest byte how many bytes; 0 as long as they were not asked for.
    network: Option<Arc<Network>>,
    ends: Vec<u128>,
}

impl JsonText {
    /// The text so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.end]
    }

    /// The text, as a string.
    pub(super) fn into_string(self) -> String {
        let Self { mut bytes, end, .. } = self;
        bytes.truncate(end);
        // All pieces are UTF-8.
        String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// Begins another text.
    pub fn clear(&mut self) {
        self.end = 0;
    }

    /// Begins another text, about this network. Where two in a row are about the same one, channels are looked up.
    pub fn begin(&mut self, network: &Arc<Network>) {
        self.clear();
        if !self.network.as_ref().is_some_and(|before| Arc::ptr_eq(before, network)) {
            self.network = Some(Arc::clone(network));
            self.ends = Vec::new();
        } else if self.ends.is_empty() && network.channels().max(network.routers()) <= MOST_ENDS {
            // Memory that is zero is not touched until it is used.
            self.ends = vec![0; network.channels()];
        }
    }

    /// Appends bytes as they are.
    #[inline]
    pub fn put(&mut self, piece: &[u8]) {
        self.reserve(piece.len());
        self.bytes[self.end..self.end + piece.len()].copy_from_slice(piece);
        self.end += piece.len();
    }

    /// Appends any value; slowly.
    pub(super) fn value(&mut self, value: &(impl Serialize + ?Sized)) {
        // There is no error: neither the values here nor a list of bytes have any.
        let text = serde_json::to_vec(value).unwrap_or_default();
        self.put(&text);
    }

    /// Appends bytes and a number behind them.
    #[inline]
    pub(super) fn number<const N: usize>(&mut self, before: &[u8; N], number: u32) {
        self.reserve(N + WORD);
        let Some(digits) = self.digits(number) else {
            self.put(before);
            return self.put(number.to_string().as_bytes());
        };
        let room = &mut self.bytes[self.end..self.end + N + WORD];
        room[..N].copy_from_slice(before);
        room[N..].copy_from_slice(&digits.to_le_bytes());
        self.end += N + length(digits);
    }

    /// A list of numbers.
    #[inline]
    pub(super) fn numbers(&mut self, numbers: impl Iterator<Item = u32>) {
        self.put(b"[");
        for number in numbers {
            let Some(digits) = self.digits(number) else {
                self.put(format!("{number},").as_bytes());
                continue;
            };
            self.reserve(WORD);
            self.bytes[self.end..self.end + WORD].copy_from_slice(&digits.to_le_bytes());
            self.end += length(digits) + 1;
        }
        self.end_list();
    }

    /// A list of pairs of numbers.
    #[inline]
    pub(super) fn pairs(&mut self, pairs: impl ExactSizeIterator<Item = [u32; 2]>) {
        /// Both brackets, and a comma behind them, with two numbers and a comma.
        const PAIR: usize = 3 + 2 * WORD;
        self.put(b"[");
        self.reserve((pairs.len() + 1) * PAIR);
        for [first, second] in pairs {
            let digits = self.digits(first).zip(self.digits(second));
            let room = self.bytes[self.end..].first_chunk_mut::<PAIR>();
            let Some(((one, other), room)) = digits.zip(room) else {
                // There may be more digits than there is room for.
                self.put(format!("[{first},{second}],").as_bytes());
                continue;
            };
            // The bracket and the number at once, but for the byte that says how long it is.
            room[..WORD].copy_from_slice(&(one << 8 | u64::from(b'[')).to_le_bytes());
            let next = 2 + length(one);
            room[next..next + WORD].copy_from_slice(&other.to_le_bytes());
            let next = next + length(other);
            room[next..next + 2].copy_from_slice(b"],");
            self.end += next + 2;
        }
        self.end_list();
    }

    /// A list of channels of the network, each a pair of routers.
    pub(super) fn channels(&mut self, network: &Network, channels: &[ChannelId]) {
        let is_looked_up = self.network.as_ref().is_some_and(|about| std::ptr::eq(Arc::as_ptr(about), network));
        if self.ends.is_empty() || !is_looked_up {
            let ends = |&channel: &ChannelId| [network.from(channel).raw(), network.to(channel).raw()];
            return self.pairs(channels.iter().map(ends));
        }
        self.put(b"[");
        self.reserve((channels.len() + 1) * ENDS);
        for &channel in channels {
            let ends = match self.ends[channel.index()] {
                0 => self.look_up_ends(network, channel),
                ends => ends,
            };
            let Some(room) = self.bytes[self.end..].first_chunk_mut::<ENDS>() else { continue };
            *room = ends.to_le_bytes();
            self.end += (ends >> (u128::BITS - 8)) as usize;
        }
        self.end_list();
    }

    /// Closes a list, whose items, if there are any, all have a comma behind them.
    #[inline]
    pub(super) fn end_list(&mut self) {
        if self.bytes().last() == Some(&b',') {
            self.end -= 1;
        }
        self.put(b"]");
    }

    /// Makes room for so many bytes.
    #[inline]
    fn reserve(&mut self, bytes: usize) {
        if self.bytes.len() < self.end + bytes {
            self.grow(bytes);
        }
    }

    #[cold]
    fn grow(&mut self, bytes: usize) {
        let wanted = self.end + bytes;
        self.bytes.resize(wanted.max(2 * self.bytes.len()).max(1 << 12), 0);
    }

    /// The digits of a number, with a comma behind them and how many there are in the highest byte, if it is small.
    #[inline]
    fn digits(&mut self, number: u32) -> Option<u64> {
        match self.digits.get(number as usize) {
            Some(&digits) if digits != 0 => Some(digits),
            _ => self.look_up(number),
        }
    }

    #[cold]
    fn look_up_ends(&mut self, network: &Network, channel: ChannelId) -> u128 {
        let text = format!("[{},{}],", network.from(channel), network.to(channel));
        let mut entry = [0; ENDS];
        entry[..text.len()].copy_from_slice(text.as_bytes());
        entry[ENDS - 1] = text.len() as u8;
        self.ends[channel.index()] = u128::from_le_bytes(entry);
        u128::from_le_bytes(entry)
    }

    #[cold]
    fn look_up(&mut self, number: u32) -> Option<u64> {
        if number as usize >= LOOKED_UP {
            return None;
        }
        if self.digits.is_empty() {
            // Memory that is zero is not touched until it is used.
            self.digits = vec![0; LOOKED_UP];
        }
        let text = format!("{number},");
        let mut entry = [0; WORD];
        entry[..text.len()].copy_from_slice(text.as_bytes());
        entry[WORD - 1] = text.len() as u8 - 1;
        self.digits[number as usize] = u64::from_le_bytes(entry);
        Some(u64::from_le_bytes(entry))
    }
}

/// How many digits there are.
#[inline]
fn length(digits: u64) -> usize {
    // At most seven, which saves a check.
    (digits >> (u64::BITS - 8)) as usize & 7
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_number() -> impl Strategy<Value = u32> {
        (any::<u32>(), 0..u32::BITS).prop_map(|(number, shift)| number >> shift)
    }

    proptest! {
        /// As the serialiser writes them, in a text that has been used before.
        #[test]
        fn lists_are_those_of_the_serialiser(
            texts in prop::collection::vec((prop::collection::vec(any_number(), 0..40), prop::collection::vec([any_number(), any_number()], 0..40)), 1..6),
        ) {
            let mut text = JsonText::default();
            for (numbers, pairs) in texts {
                text.clear();
                text.put(b"[");
                text.numbers(numbers.iter().copied());
                text.put(b",");
                text.pairs(pairs.iter().copied());
                text.put(b",");
                text.number(b"",pairs.first().map_or(0, |pair| pair[0]));
                text.put(b"]");
                let expected = serde_json::to_vec(&(&numbers, &pairs, pairs.first().map_or(0, |pair| pair[0]))).unwrap();
                prop_assert_eq!(text.bytes(), expected);
            }
        }
    }

    /// Every number that is looked up, and those around each length.
    #[test]
    fn all_digits_are_right() {
        let mut text = JsonText::default();
        let edges = (1..10).flat_map(|digits| [10u32.pow(digits) - 1, 10u32.pow(digits)]);
        for number in (0..2 * LOOKED_UP as u32).chain(0..300).chain(edges).chain([u32::MAX]) {
            text.clear();
            text.number(b"", number);
            assert_eq!(text.bytes(), number.to_string().as_bytes());
        }
    }
}
