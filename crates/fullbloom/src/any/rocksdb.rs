//! RocksDB's full filters behind their names: they are built when all keys are known, and what was asked to
//! be a Ribbon filter may turn out to be a Bloom filter, or nothing.

use super::{AnyBuilder, AnyFilter, Plan, planned, typed_view};
use crate::dialect::Name;
use crate::dialect::rocksdb::{
    BuildError, Builder, FullFilter, Kind, MATCHES_EVERYTHING, Policy, RocksDb, RocksDbLegacy, RocksDbRibbon,
    sniff,
};
use crate::error::{DecodeError, SizeError};
use crate::filter::{Doubt, Filter};
use crate::sizing::{Geometry, Request, Target};
use std::io;

const NOT_EXACT: SizeError = SizeError::Unsupported {
    dialect: "rocksdb-ribbon",
    what: "a Ribbon filter has no bits and probes to ask for; give bits per key or a rate",
};

/// The policy that the target means for this many keys.
fn policy(kind: Kind, keys: u64, target: Target) -> Result<Policy, SizeError> {
    match target {
        Target::BitsPerKey(bits_per_key) => Policy::new(kind, bits_per_key),
        Target::Fpr(fpr) => Policy::for_fpr(kind, keys, fpr),
        Target::Exact { .. } => Err(NOT_EXACT),
    }
}

pub(super) fn plan(dialect: Name, kind: Kind, request: &Request) -> Result<Plan, SizeError> {
    let keys = request.expected_keys;
    match (request.target, kind) {
        (Target::Exact { .. }, Kind::Legacy) => return planned::<RocksDbLegacy>(request),
        (Target::Exact { .. }, Kind::FastLocal) => return planned::<RocksDb>(request),
        _ => {}
    }
    let policy = policy(kind, keys, request.target)?;
    Ok(Plan {
        dialect,
        geometry: policy.geometry(keys),
        encoded_len: content_len(&policy, keys),
        expected_fpr: policy.expected_fpr(keys),
        weakness: None,
    })
}

pub(super) fn encoded_len(kind: Kind, request: &Request) -> Result<u64, SizeError> {
    let keys = request.expected_keys;
    Ok(content_len(&policy(kind, keys, request.target)?, keys))
}

/// No keys are no bytes.
fn content_len(policy: &Policy, keys: u64) -> u64 {
    if keys == 0 { 0 } else { policy.content_len(keys) }
}

pub(super) fn builder(
    dialect: Name,
    kind: Kind,
    request: &Request,
) -> Result<Box<dyn AnyBuilder>, SizeError> {
    match (request.target, kind) {
        (Target::Exact { .. }, Kind::Legacy) => Ok(Box::new(Filter::<RocksDbLegacy>::new(request)?)),
        (Target::Exact { .. }, Kind::FastLocal) => Ok(Box::new(Filter::<RocksDb>::new(request)?)),
        (target, _) => {
            // For a rate, the policy of no keys: it refuses what is no rate, and is replaced at the end.
            let builder = Builder::new(policy(kind, 0, target)?);
            Ok(Box::new(Collecting { dialect, kind, target, builder }))
        }
    }
}

/// Keeps hashes until all keys were there.
struct Collecting {
    dialect: Name,
    kind: Kind,
    target: Target,
    builder: Builder,
}

impl AnyBuilder for Collecting {
    fn insert_batch(&mut self, keys: &[&[u8]]) {
        self.builder.insert_batch(keys);
    }

    fn finish(mut self: Box<Self>) -> Result<Box<dyn AnyFilter>, SizeError> {
        self.builder.set_policy(policy(self.kind, self.builder.entries(), self.target)?);
        let dialect = self.dialect;
        match self.builder.finish() {
            Ok(FullFilter::Nothing) => Ok(Box::new(Constant { dialect, answer: false })),
            Ok(FullFilter::Everything) => Ok(Box::new(Constant { dialect, answer: true })),
            Ok(FullFilter::Legacy(filter)) => Ok(Box::new(filter)),
            Ok(FullFilter::FastLocal(filter)) => Ok(Box::new(filter)),
            Ok(FullFilter::Ribbon(filter)) => Ok(Box::new(filter)),
            Err(BuildError::Size(e)) => Err(e),
            Err(e @ (BuildError::HashesChanged | BuildError::KeysLost { .. })) => {
                unreachable!("{e}: corruption is not looked for")
            }
        }
    }
}

/// A Ribbon filter, or the Bloom filter that RocksDB falls back to; which of them, the filter says.
pub(super) fn ribbon_view(
    bytes: &[u8],
    geometry: Option<(u64, u32)>,
) -> Result<Box<dyn AnyFilter + '_>, DecodeError> {
    if sniff(bytes) == Some(Name::RocksDb) {
        return Ok(Box::new(typed_view::<RocksDb>(bytes, geometry)?));
    }
    Ok(Box::new(typed_view::<RocksDbRibbon>(bytes, geometry)?))
}

/// The filter without bits: of no keys, or of bytes that match every key.
struct Constant {
    dialect: Name,
    answer: bool,
}

impl Constant {
    fn bytes(&self) -> &'static [u8] {
        if self.answer { &MATCHES_EVERYTHING } else { &[] }
    }
}

impl AnyFilter for Constant {
    fn dialect(&self) -> Name {
        self.dialect
    }

    fn geometry(&self) -> Geometry {
        Geometry::whole(0, 0)
    }

    fn may_contain(&self, _key: &[u8]) -> bool {
        self.answer
    }

    fn may_contain_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "one answer for each key");
        answers.fill(self.answer);
    }

    fn encoded_len(&self) -> u64 {
        self.bytes().len() as u64
    }

    fn set_bits(&self) -> u64 {
        0
    }

    fn fill(&self) -> f64 {
        0.0
    }

    fn expected_fpr(&self) -> f64 {
        f64::from(u8::from(self.answer))
    }

    fn estimated_keys(&self) -> Option<f64> {
        (!self.answer).then_some(0.0)
    }

    fn doubt(&self) -> Option<Doubt> {
        None
    }

    fn write_to(&self, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(self.bytes())
    }
}
