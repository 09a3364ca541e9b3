//! Prevents programs from implementing the traits: only the crates of fullbloom do.

/// Implemented only in the crates of fullbloom.
pub trait Sealed {}

/// The hash of a key as two words, for code that learns the dialect at run time.
pub trait Words: Sized {
    /// The words; the second one is 0 for a hash of one word.
    fn to_words(self) -> [u64; 2];

    /// The inverse of [`to_words`](Words::to_words). Bits that the hash does not have are ignored.
    fn from_words(words: [u64; 2]) -> Self;
}

macro_rules! words {
    ($($Int:ty)*) => {
        $(impl Words for $Int {
            #[inline(always)]
            fn to_words(self) -> [u64; 2] {
                [self as u64, 0]
            }

            #[inline(always)]
            fn from_words(words: [u64; 2]) -> Self {
                words[0] as $Int
            }
        }

        impl Words for [$Int; 2] {
            #[inline(always)]
            fn to_words(self) -> [u64; 2] {
                self.map(|word| word as u64)
            }

            #[inline(always)]
            fn from_words(words: [u64; 2]) -> Self {
                words.map(|word| word as $Int)
            }
        })*
    };
}

words! { u64 u32 i32 }
