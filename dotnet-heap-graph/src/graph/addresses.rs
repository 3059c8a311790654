//! Which object is at an address: a bit for every 8 bytes, and how many bits are set before.
//!
//! Bits are kept only where objects are, in four levels: a table of granules of 2 MiB, in each granule a bit for every
//! block of 32 KiB, in each block a bit for every word, in each word a bit for every 8 bytes. So an address costs four
//! loads, of which the first three are mostly in the processor's cache, and memory does not depend on how far apart the
//! objects are.

use super::granules::Granules;

const BITS: u32 = 6;
const MASK: u64 = 63;
/// From the number of a word to that of its granule.
const GRANULE_SHIFT: u32 = 2 * BITS;

/// 64 places, and what is before them.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    /// Which places there are.
    bits: u64,
    /// How many places there are in all words before; what these are the numbers of depends on the level.
    before: u32,
}

impl Word {
    /// The number of a place, if there is one.
    #[inline]
    fn number(self, place: u64) -> Option<u32> {
        let bit = 1 << (place & MASK);
        (self.bits & bit != 0).then(|| self.before + (self.bits & (bit - 1)).count_ones())
    }

    /// The place of a number that is in this word.
    fn place(self, number: u32) -> u64 {
        let mut bits = self.bits;
        for _ in self.before..number {
            bits &= bits.wrapping_sub(1);
        }
        u64::from(bits.trailing_zeros()) & MASK
    }
}

/// The bits of 512 bytes of address space: the address divided by 512, and a bit for every 8 bytes.
pub(crate) type Marks = (u64, u64);

/// Marks the address of an object, after the one marked before or anywhere.
#[inline]
pub(crate) fn mark(marks: &mut Vec<Marks>, address: u64) {
    let (number, bit) = (address >> 9, 1 << (address >> 3 & MASK));
    match marks.last_mut() {
        Some((last, bits)) if *last == number => *bits |= bit,
        _ => marks.push((number, bit)),
    }
}

/// The numbers of all objects by their addresses.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    granules: Granules,
    granule_words: Vec<Word>,
    block_words: Vec<Word>,
    words: Vec<Word>,
    len: u32,
}

impl Addresses {
    /// Numbers all marked addresses in ascending order. `None` if there are more than 32 bits can number.
    pub(crate) fn new(mut marks: Vec<Marks>) -> Option<Self> {
        // This sort is fast for ascending parts, which these are.
        marks.sort_by_key(|(number, _)| *number);
        marks.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 |= if is_same { next.1 } else { 0 };
            is_same
        });
        let mut index = Self { words: Vec::with_capacity(marks.len()), ..Self::default() };
        let mut last = None;
        let mut granules = Vec::new();
        for (number, bits) in marks {
            if last.is_none_or(|last| last >> GRANULE_SHIFT != number >> GRANULE_SHIFT) {
                granules.push(number >> GRANULE_SHIFT);
                index
                    .granule_words
                    .push(Word { bits: 0, before: u32::try_from(index.block_words.len()).ok()? });
            }
            if last.is_none_or(|last| last >> BITS != number >> BITS) {
                index.granule_words.last_mut()?.bits |= 1 << (number >> BITS & MASK);
                index.block_words.push(Word { bits: 0, before: u32::try_from(index.words.len()).ok()? });
            }
            index.block_words.last_mut()?.bits |= 1 << (number & MASK);
            index.words.push(Word { bits, before: index.len });
            index.len = index.len.checked_add(bits.count_ones())?;
            last = Some(number);
        }
        index.granules = Granules::new(granules);
        Some(index)
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// The number of the object at an address.
    #[inline]
    pub(crate) fn number(&self, address: u64) -> Option<u32> {
        if address & 7 != 0 {
            return None;
        }
        let word = address >> 9;
        let granule = self.granules.number(word >> GRANULE_SHIFT)?;
        let block = self.granule_words.get(granule as usize)?.number(word >> BITS)?;
        let word = self.block_words.get(block as usize)?.number(word)?;
        self.words.get(word as usize)?.number(address >> 3)
    }

    /// The address of an object. 0 if there is no such object.
    pub(crate) fn address(&self, number: u32) -> u64 {
        if number >= self.len {
            return 0;
        }
        let (word, place) = find(&self.words, number);
        let (block, word) = find(&self.block_words, word);
        let (granule, block) = find(&self.granule_words, block);
        let granule = self.granules.value(granule);
        (((granule << BITS | block) << BITS | word) << BITS | place) << 3
    }

    /// The addresses of all objects, in their order.
    pub(crate) fn all(&self) -> Vec<u64> {
        let mut all = Vec::with_capacity(self.len as usize);
        let (mut block, mut granule) = (0, 0);
        for (number, word) in (0..).zip(&self.words) {
            while self.block_words.get(block + 1).is_some_and(|next| next.before <= number) {
                block += 1;
            }
            while self.granule_words.get(granule + 1).is_some_and(|next| next.before as usize <= block) {
                granule += 1;
            }
            let place =
                |words: &[Word], at: usize, number| words.get(at).map_or(0, |word| word.place(number));
            let of_granule = self.granules.value(granule as u32) << BITS
                | place(&self.granule_words, granule, block as u32);
            let start = of_granule << BITS | place(&self.block_words, block, number);
            let mut bits = word.bits;
            while bits != 0 {
                all.push((start << BITS | u64::from(bits.trailing_zeros())) << 3);
                bits &= bits - 1;
            }
        }
        all
    }

    /// How many objects have lower addresses.
    pub(crate) fn count_below(&self, address: u64) -> u32 {
        let place = (address >> 3) + u64::from(address & 7 != 0);
        let word = place >> BITS;
        let (granule, is_there) = self.granules.search(word >> GRANULE_SHIFT);
        if !is_there {
            return self.first_of_block(self.granule_words.get(granule as usize).map(|word| word.before));
        }
        let (block, is_there) = below(&self.granule_words, granule, word >> BITS);
        if !is_there {
            return self.first_of_block(Some(block));
        }
        let (word, is_there) = below(&self.block_words, block, word);
        if !is_there {
            return self.first_of_word(Some(word));
        }
        below(&self.words, word, place).0
    }

    fn first_of_block(&self, block: Option<u32>) -> u32 {
        self.first_of_word(
            block.and_then(|block| self.block_words.get(block as usize)).map(|word| word.before),
        )
    }

    fn first_of_word(&self, word: Option<u32>) -> u32 {
        word.and_then(|word| self.words.get(word as usize)).map_or(self.len, |word| word.before)
    }
}

/// The number of the first place that is not below this one, and whether it is this one.
fn below(words: &[Word], index: u32, place: u64) -> (u32, bool) {
    let word = words.get(index as usize).copied().unwrap_or_default();
    let bit = 1 << (place & MASK);
    (word.before + (word.bits & (bit - 1)).count_ones(), word.bits & bit != 0)
}

/// The word that has a number, and the place there.
fn find(words: &[Word], number: u32) -> (u32, u64) {
    let index = words.partition_point(|word| word.before <= number).saturating_sub(1);
    (index as u32, words.get(index).map_or(0, |word| word.place(number)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn check(addresses: &[u64]) {
        let mut marks = Vec::new();
        addresses.iter().for_each(|address| mark(&mut marks, *address));
        let index = Addresses::new(marks).unwrap();
        let sorted: BTreeSet<u64> = addresses.iter().copied().collect();
        assert_eq!(index.len() as usize, sorted.len());
        for (number, address) in sorted.iter().enumerate() {
            let number = number as u32;
            assert_eq!(index.number(*address), Some(number));
            assert_eq!(index.address(number), *address);
            assert_eq!(index.count_below(*address), number);
            assert_eq!(index.count_below(*address | 7), number + 1);
            assert_eq!(index.number(address | 4), None);
            let next = address.wrapping_add(8);
            assert_eq!(index.number(next).is_some(), sorted.contains(&next));
        }
        assert!(index.all().iter().eq(&sorted));
        assert_eq!(index.address(index.len()), 0);
    }

    #[test]
    fn few_addresses() {
        check(&[]);
        check(&[0]);
        check(&[!7, 0, 8, 1 << 40]);
    }

    proptest! {
        #[test]
        fn addresses_have_their_numbers(
            parts in prop::collection::vec((any::<u64>(), 0u32..64, prop::collection::vec(1u64..200, 0..50)), 0..9),
        ) {
            let mut addresses = Vec::new();
            for (start, shift, gaps) in parts {
                let mut address = start >> shift & !7;
                addresses.push(address);
                for gap in gaps {
                    address = address.wrapping_add(gap * 8);
                    addresses.push(address);
                }
            }
            check(&addresses);
        }
    }
}
