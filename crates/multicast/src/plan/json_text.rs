//! JSON whose bulk is lists of small numbers, written straight into a buffer.

use std::sync::Arc;

use serde::Serialize;
use wormcast_network::{ChannelId, Network};

/// Numbers below this have their digits looked up: how many digits there are is then no branch, which would often be mispredicted.
const LOOKED_UP: usize = 1 << 16;

/// The bytes of digits as they are looked up.
const WORD: usize = size_of::<u64>();

/// The most bytes of a number, with a comma behind it.
pub(super) const NUMBER: usize = 11;

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
    digits: Digits,
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
    pub fn put<const N: usize>(&mut self, piece: &[u8; N]) {
        self.within(N, |room| room.put(piece));
    }

    /// Appends any value; slowly.
    pub(super) fn value(&mut self, value: &(impl Serialize + ?Sized)) {
        // There is no error: neither the values here nor a list of bytes have any.
        let text = serde_json::to_vec(value).unwrap_or_default();
        self.reserve(text.len());
        self.bytes[self.end..self.end + text.len()].copy_from_slice(&text);
        self.end += text.len();
    }

    /// Appends bytes and a number behind them.
    #[inline]
    pub(super) fn number<const N: usize>(&mut self, before: &[u8; N], number: u32) {
        self.within(N + NUMBER, |room| {
            room.put(before);
            room.number(number);
        });
    }

    /// A list of numbers.
    pub(super) fn numbers(&mut self, numbers: impl ExactSizeIterator<Item = u32>) {
        self.within(2 + numbers.len() * NUMBER, |room| room.numbers(numbers));
    }

    /// A list of pairs of numbers.
    fn pairs(&mut self, pairs: impl ExactSizeIterator<Item = [u32; 2]>) {
        self.within(2 + pairs.len() * (3 + 2 * NUMBER), |room| {
            room.put(b"[");
            let start = room.end;
            for [first, second] in pairs {
                room.put(b"[");
                room.item(first);
                room.number(second);
                room.put(b"],");
            }
            room.end_list(start);
        });
    }

    /// Appends a part of at most so many bytes, as `write` says.
    #[inline]
    pub(super) fn within(&mut self, most: usize, write: impl FnOnce(&mut Room<'_>)) {
        // Digits are written with what is behind them in their word.
        self.reserve(most + WORD);
        let mut room = Room { bytes: &mut self.bytes, end: self.end, digits: &mut self.digits };
        write(&mut room);
        self.end = room.end;
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
        let Self { bytes, end, ends: texts, .. } = self;
        let mut written = *end;
        for &channel in channels {
            let text = match texts[channel.index()] {
                0 => look_up_ends(network, channel, texts),
                text => text,
            };
            let Some(room) = bytes[written..].first_chunk_mut::<ENDS>() else { continue };
            *room = text.to_le_bytes();
            written += (text >> (u128::BITS - 8)) as usize;
        }
        *end = written;
        self.end_list();
    }

    /// Closes a list, whose items, if there are any, all have a comma behind them.
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
}

/// Room for a part of a text. Where the part ends is known to the text once it has all been written.
pub(super) struct Room<'a> {
    bytes: &'a mut [u8],
    end: usize,
    digits: &'a mut Digits,
}

impl Room<'_> {
    /// Appends bytes as they are.
    #[inline]
    pub(super) fn put<const N: usize>(&mut self, piece: &[u8; N]) {
        self.bytes[self.end..self.end + N].copy_from_slice(piece);
        self.end += N;
    }

    /// A number.
    #[expect(clippy::inline_always, reason = "as for an item")]
    #[inline(always)]
    pub(super) fn number(&mut self, number: u32) {
        self.item(number);
        self.end -= 1;
    }

    /// A number and a comma.
    #[expect(
        clippy::inline_always,
        reason = "a call would keep the end of the text in memory, and take as long as the number"
    )]
    #[inline(always)]
    fn item(&mut self, number: u32) {
        if let Some(digits) = self.digits.of(number) {
            self.bytes[self.end..self.end + WORD].copy_from_slice(&digits.to_le_bytes());
            self.end += length(digits) + 1;
        } else {
            let text = format!("{number},");
            self.bytes[self.end..self.end + text.len()].copy_from_slice(text.as_bytes());
            self.end += text.len();
        }
    }

    /// A list of numbers.
    #[inline]
    pub(super) fn numbers(&mut self, numbers: impl Iterator<Item = u32>) {
        self.put(b"[");
        let start = self.end;
        numbers.for_each(|number| self.item(number));
        self.end_list(start);
    }

    /// Closes a list whose items, if there are any, begin here, and all have a comma behind them.
    #[inline]
    fn end_list(&mut self, start: usize) {
        self.end -= usize::from(self.end > start);
        self.put(b"]");
    }
}

/// By number: its digits and a comma, and in the highest byte how many digits; 0 as long as they were not asked for.
#[derive(Debug, Default)]
struct Digits(Vec<u64>);

impl Digits {
    /// The digits of a number, with a comma behind them and how many there are in the highest byte, if it is small.
    #[inline]
    fn of(&mut self, number: u32) -> Option<u64> {
        match self.0.get(number as usize) {
            Some(&digits) if digits != 0 => Some(digits),
            _ => self.look_up(number),
        }
    }

    #[cold]
    fn look_up(&mut self, number: u32) -> Option<u64> {
        if number as usize >= LOOKED_UP {
            return None;
        }
        if self.0.is_empty() {
            // Memory that is zero is not touched until it is used.
            self.0 = vec![0; LOOKED_UP];
        }
        let text = format!("{number},");
        let mut entry = [0; WORD];
        entry[..text.len()].copy_from_slice(text.as_bytes());
        entry[WORD - 1] = text.len() as u8 - 1;
        self.0[number as usize] = u64::from_le_bytes(entry);
        Some(u64::from_le_bytes(entry))
    }
}

/// The text of a channel, which is kept.
#[cold]
fn look_up_ends(network: &Network, channel: ChannelId, texts: &mut [u128]) -> u128 {
    let text = format!("[{},{}],", network.from(channel), network.to(channel));
    let mut entry = [0; ENDS];
    entry[..text.len()].copy_from_slice(text.as_bytes());
    entry[ENDS - 1] = text.len() as u8;
    texts[channel.index()] = u128::from_le_bytes(entry);
    u128::from_le_bytes(entry)
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
                text.number(b"", pairs.first().map_or(0, |pair| pair[0]));
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
