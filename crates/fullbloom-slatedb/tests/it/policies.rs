//! The policies that the tests go through, and helpers to build and query a filter without a store.

use crate::engine::FirstBytes;
use bytes::Bytes;
use fullbloom_slatedb::FullbloomPolicy;
use slatedb::{BloomFilterPolicy, Filter, FilterPolicy, FilterQuery, RowEntry, ValueDeletable};
use std::sync::Arc;

/// A list of policies as a store is configured with, and its name.
pub(crate) type Configuration = (String, Vec<Arc<dyn FilterPolicy>>);

pub(crate) fn fast() -> FullbloomPolicy {
    FullbloomPolicy::fast(10).unwrap()
}

pub(crate) fn compact() -> FullbloomPolicy {
    FullbloomPolicy::compact(0.01).unwrap()
}

/// Our policies of every kind, with whole keys.
pub(crate) fn ours() -> Vec<(&'static str, FullbloomPolicy)> {
    vec![("fast", fast()), ("compact", compact())]
}

pub(crate) fn configurations() -> Vec<Configuration> {
    let mut all: Vec<Configuration> =
        vec![("no filter".into(), vec![]), ("SlateDB's".into(), vec![Arc::new(BloomFilterPolicy::new(10))])];
    for (name, policy) in ours() {
        all.push((name.into(), vec![Arc::new(policy.clone())]));
        let prefixes = policy.clone().with_prefix_extractor(Arc::new(FirstBytes(2)));
        all.push((format!("{name}, keys and prefixes"), vec![Arc::new(prefixes.clone())]));
        all.push((format!("{name}, prefixes"), vec![Arc::new(prefixes.with_whole_key_filtering(false))]));
        all.push((
            format!("{name} and SlateDB's"),
            vec![Arc::new(BloomFilterPolicy::new(10)), Arc::new(policy)],
        ));
    }
    all
}

pub(crate) fn entry(key: &[u8], seq: u64) -> RowEntry {
    let value = ValueDeletable::Value(Bytes::from_static(b"value"));
    RowEntry { key: Bytes::copy_from_slice(key), value, seq, create_ts: None, expire_ts: None }
}

/// The filter of these keys.
pub(crate) fn built<K: AsRef<[u8]>>(policy: &dyn FilterPolicy, keys: &[K]) -> Arc<dyn Filter> {
    let mut builder = policy.builder();
    for key in keys {
        builder.add_entry(&entry(key.as_ref(), 1));
    }
    builder.build()
}

pub(crate) fn encoded(filter: &dyn Filter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.encode(&mut bytes);
    bytes
}

pub(crate) fn point(filter: &dyn Filter, key: &[u8]) -> bool {
    filter.might_match(&FilterQuery::point(Bytes::copy_from_slice(key)))
}

pub(crate) fn prefix(filter: &dyn Filter, prefix: &[u8]) -> bool {
    filter.might_match(&FilterQuery::prefix(Bytes::copy_from_slice(prefix)))
}
