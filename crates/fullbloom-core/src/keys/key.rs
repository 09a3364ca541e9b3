//! One key: bytes or text, and for some filters integers and tuples.

use super::KeyHasher;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// A key as a filter with the hasher `H` takes it.
///
/// | key | every filter | native filters, Spark's |
/// |---|---|---|
/// | `&str`, `&String`, `&[u8]`, `&[u8; N]`, `&Vec<u8>`, `&Bytes`: a reference to anything that is `AsRef<[u8]>` | its bytes | its bytes |
/// | `String`, `Vec<u8>`, `Box<[u8]>`, `[u8; N]` | its bytes | its bytes |
/// | an integer of any width and sign | – | eight bytes, least significant first, sign-extended; an `i128` or `u128` outside -2⁶³..2⁶⁴: sixteen |
/// | a tuple of two to four keys | – | the bytes of its parts, each after its length in eight bytes |
///
/// So `5u8`, `5i32` and `5i64` are one key, in every language that writes native filters. A negative number and
/// the `u64` of the same 64 bits are one key, too.
///
/// ```
/// use fullbloom::Filter;
///
/// let mut filter = fullbloom::Filter::with_fpr(1_000, 0.01)?;
/// filter.insert("alice");
/// filter.insert(&String::from("bob"));
/// filter.insert(17u32);
/// filter.insert(("alice", 17));
/// assert!(filter.may_contain(b"alice") && filter.may_contain("bob"));
/// assert!(filter.may_contain(17i64) && filter.may_contain(&17u64.to_le_bytes()));
/// assert!(filter.may_contain(("alice", 17u8)) && !filter.may_contain(("bob", 17)));
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
///
/// Implement it for your own type by calling [`hash_with`](Key::hash_with) and [`append_to`](Key::append_to) of
/// the bytes that stand for a value.
pub trait Key<H: KeyHasher> {
    /// The hash of the key.
    fn hash_with(&self, hasher: &H) -> H::Hash;

    /// Appends the bytes of the key.
    fn append_to(&self, bytes: &mut Vec<u8>);
}

impl<K: AsRef<[u8]> + ?Sized, H: KeyHasher> Key<H> for &K {
    #[inline(always)]
    fn hash_with(&self, hasher: &H) -> H::Hash {
        hasher.hash((*self).as_ref())
    }

    fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice((*self).as_ref());
    }
}

macro_rules! owned {
    ($($({$($constant:tt)+})? $key:ty,)*) => {
        $(impl<H: KeyHasher $(, $($constant)+)?> Key<H> for $key {
            #[inline(always)]
            fn hash_with(&self, hasher: &H) -> H::Hash {
                hasher.hash(self.as_ref())
            }

            fn append_to(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(self.as_ref());
            }
        })*
    };
}

owned!(String, Vec<u8>, Box<[u8]>, {const N: usize} [u8; N],);

/// A hasher that takes integers as eight bytes, whatever their width, and tuples. Implemented in this crate only.
pub trait TakesIntegers: KeyHasher {}

/// The bytes of a 128-bit integer as a key: eight where they are enough.
#[derive(Clone, Copy)]
pub struct Shortest {
    bytes: [u8; 16],
    len: usize,
}

impl Shortest {
    /// An integer, and whether it is between -2⁶³ and 2⁶⁴.
    #[inline(always)]
    fn new(bytes: [u8; 16], is_long: bool) -> Shortest {
        Shortest { bytes, len: if is_long { 8 } else { 16 } }
    }
}

impl AsRef<[u8]> for Shortest {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The bytes of an integer as a key.
pub trait Integer: Copy {
    /// Whether every value has eight bytes.
    const IS_LONG: bool;

    /// The eight bytes as a little-endian word; the low half of a 128-bit integer.
    fn word(self) -> u64;

    /// The bytes, where eight may be too few.
    fn shortest(self) -> Shortest;
}

macro_rules! integers {
    ($($number:ty, $wide:ty, $is_long:expr, $fits:expr;)*) => {
        $(impl Integer for $number {
            const IS_LONG: bool = $is_long;

            #[inline(always)]
            fn word(self) -> u64 {
                self as u64
            }

            #[inline(always)]
            fn shortest(self) -> Shortest {
                let wide: $wide = self.into();
                let fits: fn($wide) -> bool = $fits;
                Shortest::new(wide.to_le_bytes(), fits(wide))
            }
        }

        impl<H: TakesIntegers> Key<H> for $number {
            #[inline(always)]
            fn hash_with(&self, hasher: &H) -> H::Hash {
                if Self::IS_LONG {
                    hasher.hash(&self.word().to_le_bytes())
                } else {
                    hasher.hash(self.shortest().as_ref())
                }
            }

            fn append_to(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(self.shortest().as_ref());
            }
        })*
    };
}

integers! {
    u8, u128, true, |_| true; u16, u128, true, |_| true; u32, u128, true, |_| true; u64, u128, true, |_| true;
    i8, i128, true, |_| true; i16, i128, true, |_| true; i32, i128, true, |_| true; i64, i128, true, |_| true;
    u128, u128, false, |n| n <= u64::MAX.into();
    i128, i128, false, |n| n >= i64::MIN.into() && n <= u64::MAX.into();
}

macro_rules! tuples {
    ($($(($part:ident, $index:tt))+;)*) => {
        $(impl<H: TakesIntegers, $($part: Key<H>),+> Key<H> for ($($part,)+) {
            fn hash_with(&self, hasher: &H) -> H::Hash {
                let mut bytes = Vec::new();
                self.append_to(&mut bytes);
                hasher.hash(&bytes)
            }

            fn append_to(&self, bytes: &mut Vec<u8>) {
                $(append_part(&self.$index, bytes);)+
            }
        })*
    };
}

tuples! {
    (A, 0) (B, 1);
    (A, 0) (B, 1) (C, 2);
    (A, 0) (B, 1) (C, 2) (D, 3);
}

/// Appends the length of a part, then its bytes: without the length, ("ab", "c") and ("a", "bc") would be one
/// key.
fn append_part<H: KeyHasher>(part: &impl Key<H>, bytes: &mut Vec<u8>) {
    let at = bytes.len();
    bytes.extend_from_slice(&[0; 8]);
    part.append_to(bytes);
    let len = (bytes.len() - at - 8) as u64;
    bytes[at..at + 8].copy_from_slice(&len.to_le_bytes());
}
