//! The builder of full filters: keys in, the bytes of RocksDB's builder out.
//!
//! ```text
//!   add ─► hash ─► drop repeats ─► hashes, their xor ─► build ─► filter ─► encode ─► verify
//!                                                    ╰────────── finish ──────────╯
//! ```
//!
//! A filter's size follows from its hashes, so they are kept until it is built: eight bytes each, four for
//! the legacy type.

use super::FullFilter;
use super::construction::{BuildError, Construction, Hashes};
use super::entries::{Entries, GROUP};
use super::fast_local::Xxph3;
use super::legacy::Bloom32;
use super::memory::{Length, MemoryBalance};
use super::reservation::{Account, BUCKET, Reservation};
use super::sizing::{FilterType, Policy};
use crate::hash::{bloom32_rocksdb, xxph3_rocksdb};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use fullbloom_core::error::KeysError;
use fullbloom_core::kernel::Cpu;
use fullbloom_core::kernel::pipeline::hash_all;
use fullbloom_core::keys::{KeyHashOf, Keys};

/// Which of a key and its alternative (its prefix) is stored first, and which repeats are dropped.
///
/// The order decides a Ribbon filter's seed and length, and the repeats decide the number of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AltOrder {
    /// RocksDB 9.6 and later: the alternative first; repeats are detected by hash, including repeats of the
    /// previous key.
    #[default]
    AltFirst,
    /// Before 9.6: the key first, then the alternative, each dropped only if it repeats the last stored hash.
    /// (Those versions' tables compare the keys themselves before they add any.)
    KeyFirst,
}

/// Builds full filters, one after the other.
#[derive(Debug)]
pub struct Builder {
    policy: Policy,
    order: AltOrder,
    detects_corruption: bool,
    account: Option<Account>,
    open: Collected,
    /// The hashes of the last filter, until [`verify`](Builder::verify) has used them.
    unverified: Option<Collected>,
}

/// The hashes of one filter, and the bytes charged for them.
#[derive(Debug)]
struct Collected {
    hashes: Hashes,
    charged: u64,
}

impl Collected {
    fn new(kind: FilterType) -> Collected {
        let hashes = match kind {
            FilterType::Legacy => Hashes::Narrow(Entries::default()),
            FilterType::FastLocal | FilterType::Ribbon => Hashes::Wide(Entries::default()),
        };
        Collected { hashes, charged: 0 }
    }
}

/// The hash of a key for a full filter of one of the two hash functions.
#[derive(Debug, Clone, Copy)]
pub enum FullHash {
    /// Of the legacy Bloom filter.
    Legacy(KeyHashOf<Bloom32>),
    /// Of FastLocalBloom and Ribbon.
    Full(KeyHashOf<Xxph3>),
}

impl From<KeyHashOf<Bloom32>> for FullHash {
    fn from(hash: KeyHashOf<Bloom32>) -> FullHash {
        FullHash::Legacy(hash)
    }
}

impl From<KeyHashOf<Xxph3>> for FullHash {
    fn from(hash: KeyHashOf<Xxph3>) -> FullHash {
        FullHash::Full(hash)
    }
}

impl Builder {
    /// A builder for this policy.
    pub fn new(policy: Policy) -> Builder {
        Builder {
            policy,
            order: AltOrder::default(),
            detects_corruption: false,
            account: None,
            open: Collected::new(policy.filter_type),
            unverified: None,
        }
    }

    /// The order of a key and its alternative.
    pub fn with_alt_order(self, order: AltOrder) -> Builder {
        Builder { order, ..self }
    }

    /// RocksDB's `detect_filter_construct_corruption`: an XOR of all hashes, computed as they are added, is
    /// compared after the filter has been filled; and [`verify`](Builder::verify) looks up every hash in the
    /// finished bytes. The bytes of an intact filter do not change.
    pub fn with_corruption_detection(self) -> Builder {
        Builder { detects_corruption: true, ..self }
    }

    /// Charges memory to this budget, as RocksDB charges its block cache. Charged are: hashes in buckets of
    /// 32,768, reserved when a bucket is half full; a Ribbon filter's rows (20 bytes per slot) while it is
    /// solved, where a refusal means that FastLocalBloom is built instead; and each finished filter, until
    /// the builder is dropped. Other refusals are ignored. The legacy type is not charged, as in RocksDB.
    pub fn with_reservation(self, budget: Arc<dyn Reservation>) -> Builder {
        Builder { account: Some(Account::new(budget)), ..self }
    }

    /// The policy that filters are built by.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Sets another policy of the same type, for the keys added since the last filter and for later ones.
    pub fn set_policy(&mut self, policy: Policy) {
        debug_assert_eq!(policy.filter_type, self.policy.filter_type);
        self.policy = policy;
    }

    /// The number of hashes kept for the next filter: `num_filter_entries` in a table's properties.
    pub fn entries(&self) -> u64 {
        match &self.open.hashes {
            Hashes::Narrow(entries) => entries.len(),
            Hashes::Wide(entries) => entries.len(),
        }
    }

    /// Adds a key; a repeat of the last stored key is dropped.
    #[inline]
    pub fn add(&mut self, key: &[u8]) {
        match &mut self.open.hashes {
            Hashes::Narrow(entries) => {
                entries.add(bloom32_rocksdb(key));
            }
            Hashes::Wide(entries) => {
                let stored = entries.add(xxph3_rocksdb(key));
                self.charge_entries(stored.into());
            }
        }
    }

    /// As [`add`](Builder::add), for a precomputed hash: of [`hash`](Builder::hash), or of a
    /// [`Filter`](crate::Filter) of this type.
    ///
    /// # Errors
    /// If it is a hash of the other type.
    #[inline]
    pub fn add_hash(&mut self, hash: impl Into<FullHash>) -> Result<(), KeysError> {
        match (&mut self.open.hashes, hash.into()) {
            (Hashes::Narrow(entries), FullHash::Legacy(hash)) => {
                entries.add(hash.by(&Bloom32)?);
            }
            (Hashes::Wide(entries), FullHash::Full(hash)) => {
                let stored = entries.add(hash.by(&Xxph3)?);
                self.charge_entries(stored.into());
            }
            _ => return Err(KeysError::Hash),
        }
        Ok(())
    }

    /// The hash of a key in filters of this type.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> FullHash {
        match &self.open.hashes {
            Hashes::Narrow(_) => FullHash::Legacy(KeyHashOf::new(key, &Bloom32)),
            Hashes::Wide(_) => FullHash::Full(KeyHashOf::new(key, &Xxph3)),
        }
    }

    /// Adds many keys in order, as [`add`](Builder::add) does; faster, since they are hashed together. Null
    /// keys are left out.
    ///
    /// # Errors
    /// If there are fewer bits that say which keys are null than keys. None is added.
    pub fn add_batch<K>(&mut self, keys: &K) -> Result<(), KeysError>
    where
        K: Keys<Xxph3> + Keys<Bloom32> + ?Sized,
    {
        const CHUNK: usize = 256;
        Keys::<Xxph3>::require(keys, &Xxph3, None)?;
        let validity = Keys::<Xxph3>::validity(keys);
        let count = Keys::<Xxph3>::count(keys);
        for start in (0..count).step_by(CHUNK) {
            let len = CHUNK.min(count - start);
            match &mut self.open.hashes {
                Hashes::Narrow(entries) => {
                    let mut hashes = [0; CHUNK];
                    keys.hash_into(&Bloom32, start, &mut hashes[..len], false);
                    let kept =
                        validity.map_or(len, |validity| validity.keep_valid(start, &mut hashes[..len]));
                    hashes[..kept].iter().for_each(|&hash| {
                        entries.add(hash);
                    });
                }
                Hashes::Wide(entries) => {
                    let mut hashes = [0; CHUNK];
                    hash_all(Cpu::in_use(), keys, &Xxph3, start, &mut hashes[..len]);
                    let kept =
                        validity.map_or(len, |validity| validity.keep_valid(start, &mut hashes[..len]));
                    let stored = hashes[..kept].iter().map(|&hash| u64::from(entries.add(hash))).sum();
                    self.charge_entries(stored);
                }
            }
        }
        Ok(())
    }

    /// Adds a key and its prefix, or whatever else stands for it, in the builder's [`AltOrder`]; both can be
    /// looked up. In the default order, the next version of a key and the next key of a prefix store neither
    /// again. Without a prefix, this is [`add`](Self::add).
    pub fn add_with_prefix(&mut self, key: &[u8], prefix: Option<&[u8]>) {
        let Some(prefix) = prefix else { return self.add(key) };
        if self.order == AltOrder::KeyFirst {
            self.add(key);
            self.add(prefix);
            return;
        }
        match &mut self.open.hashes {
            Hashes::Narrow(entries) => {
                entries.add_with_alt(bloom32_rocksdb(key), bloom32_rocksdb(prefix));
            }
            Hashes::Wide(entries) => {
                let stored = entries.add_with_alt(xxph3_rocksdb(key), xxph3_rocksdb(prefix));
                self.charge_entries(stored.map(u64::from).iter().sum());
            }
        }
    }

    /// Charges a bucket when the count, of which the last `stored` are new, has passed its middle.
    #[inline]
    fn charge_entries(&mut self, stored: u64) {
        let Some(account) = &mut self.account else { return };
        let Hashes::Wide(entries) = &self.open.hashes else { return };
        let buckets = |count: u64| (count + GROUP as u64 / 2) / GROUP as u64;
        if buckets(entries.len()) > buckets(entries.len() - stored) {
            account.charge(BUCKET); // a refusal changes nothing, as in RocksDB
            self.open.charged += BUCKET;
        }
    }

    /// The bytes of the filter of the keys added since the last one: the filter block of a table, without the
    /// block's own trailer. With corruption detection, they have been [verified](Builder::verify).
    ///
    /// # Errors
    /// If memory did not suffice, also earlier for the hashes, or a check of corruption detection failed.
    pub fn finish(&mut self) -> Result<Vec<u8>, BuildError> {
        let content = self.build()?.encode();
        self.verify(&content)?;
        Ok(content)
    }

    /// The filter of the keys added since the last one.
    ///
    /// # Errors
    /// As of [`finish`](Builder::finish).
    pub fn build(&mut self) -> Result<FullFilter, BuildError> {
        self.build_as(&Length::ByRule)
    }

    /// As [`build`](Builder::build), in exactly this many bytes, trailer included. The number of probes
    /// follows the length, as with `optimize_filters_for_memory`. This is how a table's filter is rebuilt.
    pub fn build_with_len(&mut self, content_len: u64) -> Result<FullFilter, BuildError> {
        self.build_as(&Length::Exact(content_len))
    }

    /// As [`build`](Builder::build), with a length that RocksDB's `optimize_filters_for_memory` would
    /// choose. `usable` returns the usable size of an allocation of the given size, as `malloc_usable_size`
    /// does.
    pub fn build_for_memory(
        &mut self,
        balance: &MemoryBalance,
        usable: &dyn Fn(u64) -> u64,
    ) -> Result<FullFilter, BuildError> {
        self.build_as(&Length::Balanced { balance, usable })
    }

    fn build_as(&mut self, length: &Length<'_>) -> Result<FullFilter, BuildError> {
        self.forget_unverified();
        let collected = mem::replace(&mut self.open, Collected::new(self.policy.filter_type));
        let construction = Construction {
            policy: &self.policy,
            length,
            account: &mut self.account,
            detects_corruption: self.detects_corruption,
        };
        let built = construction.build(&collected.hashes);
        self.unverified = Some(collected);
        if !self.detects_corruption || built.is_err() {
            self.forget_unverified();
        }
        built
    }

    fn forget_unverified(&mut self) {
        if let (Some(Collected { charged, .. }), Some(account)) = (self.unverified.take(), &mut self.account)
        {
            account.release(charged);
        }
    }

    /// Looks up every hash the filter was built from in the finished bytes, as RocksDB would read them. Call
    /// it when the bytes are in the buffer they will be written from. Without corruption detection nothing is
    /// checked.
    ///
    /// Bytes that match every key pass: no key is lost.
    ///
    /// ```
    /// use fullbloom_dialects::rocksdb::{BuildError, Builder, FilterType, Policy};
    /// let mut builder = Builder::new(Policy::new(FilterType::FastLocal, 10.0)?).with_corruption_detection();
    /// builder.add(b"key");
    /// let mut bytes = builder.build()?.encode();
    /// bytes[..64].fill(0); // for example, a failing disk controller
    /// assert_eq!(builder.verify(&bytes), Err(BuildError::KeysLost { missing: 1, of: 1 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(&mut self, content: &[u8]) -> Result<(), BuildError> {
        let verdict = match &self.unverified {
            Some(collected) => collected.hashes.all_in(content),
            None => Ok(()),
        };
        self.forget_unverified();
        verdict
    }
}

#[cfg(test)]
mod tests;
