//! A batch of keys whose form is known at run time.

use super::KeyHash;
use core::ops::Range;
use fullbloom_core::keys::{Column, KeyHasher, Keys, Offsets, Views};
use fullbloom_core::sealed::{Sealed, Words as _};
use fullbloom_core::typed::{KeyType, TypeError};
use fullbloom_dialects::Name;

/// Keys in one of the forms of [`fullbloom::keys`], for an [`AnyFilter`](super::AnyFilter).
///
/// ```
/// use fullbloom_any::{AnyFilter, AnyKeys};
/// use fullbloom_dialects::Name;
/// use fullbloom::sizing::{Request, Target};
/// use fullbloom::typed::KeyType;
///
/// let request = Request { expected_keys: 1000, target: Target::Fpr(0.01) };
/// let mut filter = AnyFilter::new(Name::Cassandra, &request)?;
/// let keys: &[&[u8]] = &[b"apple", b"pear"];
/// filter.insert_batch(keys)?;
/// filter.insert_batch(AnyKeys::integers(&[7], KeyType::Long, Name::Cassandra)?)?;
/// assert!(filter.may_contain(&7u64.to_be_bytes())); // the bytes of a Cassandra bigint
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct AnyKeys<'a> {
    form: Form<'a>,
    numbers: bool,
}

#[derive(Debug, Clone, Copy)]
enum Form<'a> {
    Slices(&'a [&'a [u8]]),
    /// Eight bytes, least significant first.
    Words(&'a [u64]),
    /// The lower four bytes, least significant first.
    Halves(&'a [u64]),
    /// Eight bytes, most significant first.
    WordsBe(&'a [u64]),
    /// The lower four bytes, most significant first.
    HalvesBe(&'a [u64]),
    Narrow(Offsets<'a, i32>),
    Wide(Offsets<'a, i64>),
    Views(Views<'a>),
    /// Hashes that the filter has accepted as its own.
    Hashes(&'a [KeyHash]),
}

impl<'a> AnyKeys<'a> {
    const fn of(form: Form<'a>) -> Self {
        AnyKeys { form, numbers: false }
    }

    /// Integers as keys, negative ones in two's complement, encoded the way this dialect's system encodes an
    /// [`Int`](KeyType::Int) (the lower 32 bits) or a [`Long`](KeyType::Long).
    pub fn integers(values: &'a [u64], key_type: KeyType, dialect: Name) -> Result<Self, TypeError> {
        let form = match dialect.integer_bytes(key_type)? {
            (8, false) => Form::Words(values),
            (8, true) => Form::WordsBe(values),
            (_, false) => Form::Halves(values),
            (_, true) => Form::HalvesBe(values),
        };
        Ok(AnyKeys { form, numbers: true })
    }

    /// Keys by their hashes, which the filter that they are for has checked.
    pub(super) fn hashes(hashes: &'a [KeyHash]) -> Self {
        AnyKeys::of(Form::Hashes(hashes))
    }

    /// How many keys there are.
    pub fn count(&self) -> usize {
        match &self.form {
            Form::Slices(slices) => slices.len(),
            Form::Words(values) | Form::Halves(values) | Form::WordsBe(values) | Form::HalvesBe(values) => {
                values.len()
            }
            Form::Narrow(offsets) => offsets.len(),
            Form::Wide(offsets) => offsets.len(),
            Form::Views(views) => views.len(),
            Form::Hashes(hashes) => hashes.len(),
        }
    }

    /// Key number `i`; `None` if the keys are numbers, which have no bytes in memory.
    ///
    /// # Panics
    /// If `i` is not below the number of keys.
    pub fn get(&self, i: usize) -> Option<&'a [u8]> {
        match &self.form {
            Form::Slices(slices) => Some(slices[i]),
            Form::Narrow(offsets) => Some(offsets.get(i)),
            Form::Wide(offsets) => Some(offsets.get(i)),
            Form::Views(views) => Some(views.get(i)),
            Form::Words(_) | Form::Halves(_) | Form::WordsBe(_) | Form::HalvesBe(_) | Form::Hashes(_) => None,
        }
    }

    /// Whether the keys are numbers, which some dialects hash in another way.
    pub(super) fn are_numbers(&self) -> bool {
        self.numbers
    }

    /// The keys at these indices.
    ///
    /// # Panics
    /// If an index is not below the number of keys.
    #[must_use]
    pub fn part(&self, keys: Range<usize>) -> AnyKeys<'a> {
        let form = match &self.form {
            Form::Slices(slices) => Form::Slices(&slices[keys]),
            Form::Words(values) => Form::Words(&values[keys]),
            Form::Halves(values) => Form::Halves(&values[keys]),
            Form::WordsBe(values) => Form::WordsBe(&values[keys]),
            Form::HalvesBe(values) => Form::HalvesBe(&values[keys]),
            Form::Narrow(offsets) => Form::Narrow(offsets.part(keys)),
            Form::Wide(offsets) => Form::Wide(offsets.part(keys)),
            Form::Views(views) => Form::Views(views.part(keys)),
            Form::Hashes(hashes) => Form::Hashes(&hashes[keys]),
        };
        AnyKeys { form, ..*self }
    }
}

impl AnyKeys<'_> {
    /// [`Keys::hash_into`] for every form.
    #[inline(never)]
    fn hash_form<H: KeyHasher>(&self, hasher: &H, start: usize, out: &mut [H::Hash]) {
        match &self.form {
            Form::Slices(slices) => slices.hash_into(hasher, start, out, false),
            Form::Words(values) => Column(values).hash_into(hasher, start, out, false),
            Form::Halves(values) => {
                hasher.hash_iter(part(values, start, out.len()).map(|v| (v as u32).to_le_bytes()), out);
            }
            Form::WordsBe(values) => {
                hasher.hash_iter(part(values, start, out.len()).map(u64::to_be_bytes), out);
            }
            Form::HalvesBe(values) => {
                hasher.hash_iter(part(values, start, out.len()).map(|v| (v as u32).to_be_bytes()), out);
            }
            Form::Narrow(offsets) => offsets.hash_into(hasher, start, out, false),
            Form::Wide(offsets) => offsets.hash_into(hasher, start, out, false),
            Form::Views(views) => views.hash_into(hasher, start, out, false),
            Form::Hashes(hashes) => {
                for (out, hash) in out.iter_mut().zip(&hashes[start..]) {
                    *out = H::Hash::from_words(hash.words());
                }
            }
        }
    }
}

impl Sealed for AnyKeys<'_> {}

/// `count` numbers from `start` on.
#[inline(always)]
fn part(values: &[u64], start: usize, count: usize) -> impl Iterator<Item = u64> + '_ {
    values[start..][..count].iter().copied()
}

impl<H: KeyHasher> Keys<H> for AnyKeys<'_> {
    #[inline(always)]
    fn count(&self) -> usize {
        AnyKeys::count(self)
    }

    /// A call for each chunk of keys: inlined, the eight forms would be in every pipeline of every dialect
    /// and CPU. Only where hashes are computed in vectors, compiled for the CPU of the pipeline, the common
    /// forms are inlined.
    #[inline(always)]
    fn hash_into(&self, hasher: &H, start: usize, out: &mut [H::Hash], wide: bool) {
        match &self.form {
            Form::Slices(slices) if wide => slices.hash_into(hasher, start, out, wide),
            Form::Words(values) if wide => Column(values).hash_into(hasher, start, out, wide),
            _ => self.hash_form(hasher, start, out),
        }
    }

    #[inline(always)]
    fn prefetch(&self, start: usize, count: usize) {
        match &self.form {
            Form::Slices(slices) => Keys::<H>::prefetch(*slices, start, count),
            Form::Words(values) => Keys::<H>::prefetch(&Column(values), start, count),
            _ => {}
        }
    }
}

impl<'a> From<&'a [&'a [u8]]> for AnyKeys<'a> {
    fn from(slices: &'a [&'a [u8]]) -> Self {
        AnyKeys::of(Form::Slices(slices))
    }
}

impl<'a, const N: usize> From<&'a [&'a [u8]; N]> for AnyKeys<'a> {
    fn from(slices: &'a [&'a [u8]; N]) -> Self {
        AnyKeys::of(Form::Slices(slices))
    }
}

impl<'a> From<Column<'a, u64>> for AnyKeys<'a> {
    fn from(values: Column<'a, u64>) -> Self {
        AnyKeys::of(Form::Words(values.0))
    }
}

impl<'a> From<Offsets<'a, i32>> for AnyKeys<'a> {
    fn from(offsets: Offsets<'a, i32>) -> Self {
        AnyKeys::of(Form::Narrow(offsets))
    }
}

impl<'a> From<Offsets<'a, i64>> for AnyKeys<'a> {
    fn from(offsets: Offsets<'a, i64>) -> Self {
        AnyKeys::of(Form::Wide(offsets))
    }
}

impl<'a> From<Views<'a>> for AnyKeys<'a> {
    fn from(views: Views<'a>) -> Self {
        AnyKeys::of(Form::Views(views))
    }
}
