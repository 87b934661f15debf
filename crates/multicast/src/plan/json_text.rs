//! JSON whose bulk is lists of small numbers, written straight into a buffer.

use serde::Serialize;

/// Numbers below this have their digits looked up: how many digits there are is then no branch, which would often be mispredicted.
const LOOKED_UP: usize = 1 << 16;

/// The most bytes of a number, and of a pair in brackets, with a comma.
const MOST: usize = 11;
const MOST_OF_PAIR: usize = 2 * MOST + 2;

/// A text that is written piece by piece, in memory that the next text uses again.
#[derive(Debug, Default)]
pub struct JsonText {
    /// The text, and beyond its end what is to be overwritten.
    bytes: Vec<u8>,
    end: usize,
    /// By number: its digits and a comma, and in the highest byte how many digits; 0 as long as they were not asked for.
    digits: Vec<u64>,
}

impl JsonText {
    /// The text so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.end]
    }

    /// Begins another text.
    pub fn clear(&mut self) {
        self.end = 0;
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

    #[inline]
    pub(super) fn number(&mut self, number: u32) {
        self.reserve(MOST);
        let comma = self.push(number);
        self.end += comma;
    }

    /// A list of numbers.
    pub(super) fn numbers(&mut self, numbers: impl Iterator<Item = u32>) {
        self.put(b"[");
        for number in numbers {
            self.reserve(MOST);
            self.end += self.push(number) + 1;
        }
        self.end_list();
    }

    /// A list of pairs of numbers.
    pub(super) fn pairs(&mut self, pairs: impl Iterator<Item = [u32; 2]>) {
        self.put(b"[");
        for [first, second] in pairs {
            self.reserve(MOST_OF_PAIR);
            self.bytes[self.end] = b'[';
            self.end += 1;
            self.end += self.push(first) + 1;
            self.end += self.push(second);
            self.bytes[self.end..self.end + 2].copy_from_slice(b"],");
            self.end += 2;
        }
        self.end_list();
    }

    /// Closes a list, whose items, if there are any, all have a comma behind them.
    pub(super) fn end_list(&mut self) {
        if self.bytes().last() == Some(&b',') {
            self.end -= 1;
        }
        self.put(b"]");
    }

    /// Makes room for so many bytes, and the few that are written beyond the end.
    #[inline]
    fn reserve(&mut self, bytes: usize) {
        if self.bytes.len() < self.end + bytes + size_of::<u64>() {
            self.grow(bytes);
        }
    }

    #[cold]
    fn grow(&mut self, bytes: usize) {
        let wanted = self.end + bytes + size_of::<u64>();
        self.bytes.resize(wanted.max(2 * self.bytes.len()).max(1 << 12), 0);
    }

    /// Writes a number with a comma to the end, where there is room for it, and returns how many digits it has.
    #[inline]
    fn push(&mut self, number: u32) -> usize {
        let digits = self.digits.get(number as usize).copied().unwrap_or(0);
        if digits == 0 {
            return self.push_any(number);
        }
        self.bytes[self.end..self.end + size_of::<u64>()].copy_from_slice(&digits.to_le_bytes());
        (digits >> (u64::BITS - 8)) as usize
    }

    #[cold]
    fn push_any(&mut self, number: u32) -> usize {
        let text = format!("{number},");
        let text = text.as_bytes();
        self.bytes[self.end..self.end + text.len()].copy_from_slice(text);
        if (number as usize) < LOOKED_UP {
            if self.digits.is_empty() {
                self.digits = vec![0; LOOKED_UP];
            }
            let mut entry = [0; size_of::<u64>()];
            entry[..text.len()].copy_from_slice(text);
            entry[size_of::<u64>() - 1] = text.len() as u8 - 1;
            self.digits[number as usize] = u64::from_le_bytes(entry);
        }
        text.len() - 1
    }
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
                text.number(pairs.first().map_or(0, |pair| pair[0]));
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
            text.number(number);
            assert_eq!(text.bytes(), number.to_string().as_bytes());
        }
    }
}
