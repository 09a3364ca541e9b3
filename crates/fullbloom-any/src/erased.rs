//! The filter of one dialect behind an [`AnyFilter`](super::AnyFilter).

use super::storage::Storage;
use super::{AT_ONCE, AnyKeys, ChangeError, KeyHash, READ_ONLY};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::any::Any;
use fullbloom_core::error::{MergeError, SizeError};
use fullbloom_core::kernel::pipeline::Answers;
use fullbloom_core::keys::KeyHasher as _;
use fullbloom_core::sealed::Words;
use fullbloom_core::sizing::Geometry;
use fullbloom_core::typed::{TypeError, Value};
use fullbloom_core::wire::{Output, Stop};
use fullbloom_dialects::filter::{Dialect, Doubt, Filter, Format, Insert, Weakness};
use fullbloom_dialects::hash::{bloom32_rocksdb, xxph3_rocksdb};
use fullbloom_dialects::{Name, each_dialect};

/// The operations an `AnyFilter` needs of the filter of a dialect.
pub(super) trait Erased: Send + Sync + Any {
    fn name(&self) -> Name;
    fn geometry(&self) -> Geometry;
    fn set_numbers(&mut self, numbers: bool);
    fn may_contain(&self, key: &[u8]) -> bool;
    /// The hash of a key; meaningless if the filter is locked.
    fn hash(&self, key: &[u8]) -> [u64; 2];
    /// [`KeyHasher::variant`].
    fn hash_variant(&self) -> (u32, u64);
    /// As `may_contain`, for a hash; `None` if it is not the filter's own, or the filter is locked. One call
    /// for check and answer, because each call through the table costs as much as a short key's hash.
    fn may_contain_hash(&self, hash: &KeyHash) -> Option<bool>;
    fn may_contain_value(&self, value: Value<'_>) -> Result<bool, TypeError>;
    fn may_contain_batch(&self, keys: &AnyKeys<'_>, answers: Answers<'_>);
    fn encoded_len(&self) -> u64;
    fn bits(&self) -> &[u8];
    fn probes_of(&self, key: &[u8]) -> Option<Vec<u64>>;
    fn is_owned(&self) -> bool;
    fn count_ones(&self) -> u64;
    fn expected_fpr(&self) -> f64;
    fn estimated_keys(&self) -> Option<f64>;
    /// Set bits, estimated keys and expected rate.
    fn occupancy(&self) -> (u64, Option<f64>, f64);
    fn encode(&self, out: &mut dyn Output) -> Result<(), Stop>;
    fn try_clone(&self) -> Result<Box<dyn Erased>, SizeError>;
    fn as_any(&self) -> &dyn Any;

    fn doubt(&self) -> Option<Doubt> {
        None
    }

    fn weakness(&self) -> Option<Weakness> {
        None
    }

    /// Adds keys to a filter that is being built, even if it accepts none later.
    fn build_batch(&mut self, keys: &AnyKeys<'_>) {
        let taken = self.insert_batch(keys, None);
        debug_assert!(taken.is_ok(), "a filter that is being built takes keys");
    }

    fn require_takes_keys(&self) -> Result<(), ChangeError> {
        Err(ChangeError::BuiltAtOnce(self.name().as_str()))
    }

    /// As `insert_batch`, of one key, and called without `require_takes_keys` before it: each further step is
    /// measurable for a single key.
    fn insert(&mut self, key: &[u8]) -> Result<bool, ChangeError> {
        self.require_takes_keys()?;
        let mut new = [false];
        self.insert_batch(&(&[key]).into(), Some((&mut new).into()))?;
        Ok(new[0])
    }

    fn insert_batch(&mut self, keys: &AnyKeys<'_>, new: Option<Answers<'_>>) -> Result<(), ChangeError> {
        let _ = (keys, new);
        self.require_takes_keys()
    }

    fn clear(&mut self) -> Result<(), ChangeError> {
        self.require_takes_keys()
    }

    fn merge(&mut self, other: &dyn Erased) -> Result<(), MergeError> {
        let _ = other;
        Err(MergeError::Unsupported { dialect: self.name().as_str(), why: AT_ONCE })
    }

    fn intersect(&mut self, other: &dyn Erased) -> Result<(), MergeError> {
        self.merge(other)
    }
}

/// Downcasts `other` to the type of `ours`.
fn of_one_type<'a, F: Erased>(ours: &F, other: &'a dyn Erased) -> Result<&'a F, MergeError> {
    other.as_any().downcast_ref().ok_or_else(|| differs(ours.name(), other.name()))
}

/// The error for filters of two dialects.
pub(super) fn differs(ours: Name, theirs: Name) -> MergeError {
    MergeError::Differs { what: "dialect", ours: ours.to_string(), theirs: theirs.to_string() }
}

/// Methods that are the same for every dialect.
macro_rules! common {
    () => {
        fn name(&self) -> Name {
            name_of(&self.dialect)
        }

        fn geometry(&self) -> Geometry {
            Filter::geometry(self)
        }

        fn set_numbers(&mut self, numbers: bool) {
            self.dialect.set_numbers(numbers);
        }

        fn may_contain(&self, key: &[u8]) -> bool {
            Filter::may_contain(self, key)
        }

        fn hash(&self, key: &[u8]) -> [u64; 2] {
            self.dialect.hasher().hash(key).to_words()
        }

        fn hash_variant(&self) -> (u32, u64) {
            self.dialect.hasher().variant()
        }

        fn may_contain_hash(&self, hash: &KeyHash) -> Option<bool> {
            let ours = hash.is_by(name_of(&self.dialect), self.dialect.hasher().variant());
            ours.then(|| self.dialect.test(self.bits.as_ref(), Words::from_words(hash.words())))
        }

        fn may_contain_value(&self, value: Value<'_>) -> Result<bool, TypeError> {
            Filter::may_contain_value(self, value)
        }

        fn may_contain_batch(&self, keys: &AnyKeys<'_>, answers: Answers<'_>) {
            match keys.are_numbers() {
                true => {
                    let mut numbers = self.dialect.clone();
                    numbers.set_numbers(true);
                    numbers.test_batch(self.bits.as_ref(), keys, answers);
                }
                false => self.dialect.test_batch(self.bits.as_ref(), keys, answers),
            }
        }

        fn encoded_len(&self) -> u64 {
            Filter::encoded_len(self)
        }

        fn bits(&self) -> &[u8] {
            Filter::bits(self)
        }

        fn probes_of(&self, key: &[u8]) -> Option<Vec<u64>> {
            Filter::probes_of(self, key)
        }

        fn is_owned(&self) -> bool {
            self.bits.is_owned()
        }

        fn count_ones(&self) -> u64 {
            Filter::count_ones(self)
        }

        fn expected_fpr(&self) -> f64 {
            Filter::expected_fpr(self)
        }

        fn estimated_keys(&self) -> Option<f64> {
            Filter::estimated_keys(self)
        }

        fn occupancy(&self) -> (u64, Option<f64>, f64) {
            Filter::occupancy(self)
        }

        fn encode(&self, out: &mut dyn Output) -> Result<(), Stop> {
            self.dialect.encode(self.bits.as_ref(), out)
        }

        fn try_clone(&self) -> Result<Box<dyn Erased>, SizeError> {
            let Filter { dialect, bits } = Filter::try_clone(self)?;
            Ok(Box::new(Filter { dialect, bits: Storage::Owned(bits) }))
        }

        fn as_any(&self) -> &dyn Any {
            self
        }

        fn doubt(&self) -> Option<Doubt> {
            self.dialect.doubt()
        }

        fn weakness(&self) -> Option<Weakness> {
            self.dialect.weakness()
        }
    };
}

/// Dialects whose bits can be merged and intersected.
macro_rules! mergeable {
    () => {
        fn merge(&mut self, other: &dyn Erased) -> Result<(), MergeError> {
            let other = of_one_type(self, other)?;
            as_changeable(self)?.merge(other)
        }

        fn intersect(&mut self, other: &dyn Erased) -> Result<(), MergeError> {
            let other = of_one_type(self, other)?;
            as_changeable(self)?.intersect(other)
        }
    };
}

/// For each dialect, by how its filters are made.
macro_rules! erased {
    // Filters that take keys at any time.
    (sized $D:ty) => {
        impl Erased for Filter<$D, Storage> {
            common!();
            mergeable!();

            fn require_takes_keys(&self) -> Result<(), ChangeError> {
                if self.bits.is_owned() { Ok(()) } else { Err(ChangeError::ReadOnly) }
            }

            fn insert(&mut self, key: &[u8]) -> Result<bool, ChangeError> {
                let hash = self.dialect.hasher().hash(key);
                let bits = self.bits.as_mut().ok_or(ChangeError::ReadOnly)?;
                Ok(self.dialect.set(bits, hash))
            }

            fn insert_batch(
                &mut self,
                keys: &AnyKeys<'_>,
                new: Option<Answers<'_>>,
            ) -> Result<(), ChangeError> {
                let Filter { dialect, bits } = self;
                let bits = bits.as_mut().ok_or(ChangeError::ReadOnly)?;
                // Numeric keys go into the same bits; these dialects store nothing else.
                let mut numbers = dialect.clone();
                numbers.set_numbers(true);
                let dialect = if keys.are_numbers() { &mut numbers } else { dialect };
                match new {
                    Some(new) => dialect.set_batch_new(bits, keys, new),
                    None => dialect.set_batch(bits, keys),
                }
                Ok(())
            }

            fn clear(&mut self) -> Result<(), ChangeError> {
                let bits = self.bits.as_mut().ok_or(ChangeError::ReadOnly)?;
                self.dialect.clear(bits);
                Ok(())
            }
        }
    };
    // Full filters of RocksDB are sized by their keys and take no more afterwards. Bloom filters can be
    // merged.
    (full $D:ty) => {
        impl Erased for Filter<$D, Storage> {
            common!();
            mergeable!();

            fn build_batch(&mut self, keys: &AnyKeys<'_>) {
                if let Some(bits) = self.bits.as_mut() {
                    self.dialect.set_batch(bits, keys);
                }
            }
        }
    };
    (ribbon $D:ty) => {
        impl Erased for Filter<$D, Storage> {
            common!();
        }
    };
}

each_dialect!(erased);

fn name_of<D: Format>(_: &D) -> Name {
    D::NAME
}

/// The same filter over mutable bits. Its dialect must not store anything that changes with keys.
fn as_changeable<D: Insert>(filter: &mut Filter<D, Storage>) -> Result<Filter<D, &mut [u8]>, MergeError> {
    let unsupported = MergeError::Unsupported { dialect: D::NAME.as_str(), why: READ_ONLY };
    let bits = filter.bits.as_mut().ok_or(unsupported)?;
    Ok(Filter { dialect: filter.dialect.clone(), bits })
}

/// The filter without bits: for no keys, or for bytes that match every key.
pub(super) struct Constant {
    pub(super) name: Name,
    pub(super) answer: bool,
    pub(super) bytes: Vec<u8>,
}

impl Erased for Constant {
    fn name(&self) -> Name {
        self.name
    }

    fn geometry(&self) -> Geometry {
        Geometry::whole(0, 0)
    }

    fn set_numbers(&mut self, _: bool) {}

    fn may_contain(&self, _: &[u8]) -> bool {
        self.answer
    }

    /// Only RocksDB's full filters can be without bits.
    fn hash(&self, key: &[u8]) -> [u64; 2] {
        match self.name {
            Name::RocksDbLegacy => bloom32_rocksdb(key).to_words(),
            _ => xxph3_rocksdb(key).to_words(),
        }
    }

    fn hash_variant(&self) -> (u32, u64) {
        (0, 0)
    }

    fn may_contain_hash(&self, hash: &KeyHash) -> Option<bool> {
        hash.is_by(self.name, self.hash_variant()).then_some(self.answer)
    }

    fn may_contain_value(&self, value: Value<'_>) -> Result<bool, TypeError> {
        self.name.key(value).map(|_| self.answer)
    }

    fn may_contain_batch(&self, keys: &AnyKeys<'_>, mut answers: Answers<'_>) {
        answers.fill(keys.count(), self.answer);
    }

    fn encoded_len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn bits(&self) -> &[u8] {
        &[]
    }

    fn probes_of(&self, _: &[u8]) -> Option<Vec<u64>> {
        None
    }

    fn is_owned(&self) -> bool {
        true
    }

    fn count_ones(&self) -> u64 {
        0
    }

    fn expected_fpr(&self) -> f64 {
        f64::from(u8::from(self.answer))
    }

    fn estimated_keys(&self) -> Option<f64> {
        (!self.answer).then_some(0.0)
    }

    fn occupancy(&self) -> (u64, Option<f64>, f64) {
        (self.count_ones(), self.estimated_keys(), self.expected_fpr())
    }

    fn encode(&self, out: &mut dyn Output) -> Result<(), Stop> {
        out.write_all(&self.bytes)
    }

    fn try_clone(&self) -> Result<Box<dyn Erased>, SizeError> {
        Ok(Box::new(Constant { bytes: self.bytes.clone(), ..*self }))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
