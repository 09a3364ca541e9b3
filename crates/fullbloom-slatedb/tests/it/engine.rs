//! SlateDB as the tests and examples use it: filters in every table, and compaction that starts at once.
#![allow(dead_code, reason = "each program that includes this file uses a part of it")]

use slatedb::config::{CompactionWorkerOptions, CompactorOptions, FlushOptions, FlushType, Settings};
use slatedb::{Db, Error, PrefixExtractor, PrefixTarget};
use std::collections::HashMap;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(10);

/// Memory tables are written out at this size. Every table gets a filter, however small.
pub(crate) fn settings(table_bytes: usize) -> Settings {
    let worker = CompactionWorkerOptions {
        compactions_poll_interval: POLL,
        min_filter_keys: 0,
        max_sst_size: 4 * table_bytes,
        ..Default::default()
    };
    let scheduler = [("min_compaction_sources", "2"), ("max_compaction_sources", "100")];
    Settings {
        min_filter_keys: 0,
        l0_sst_size_bytes: table_bytes,
        max_unflushed_bytes: 8 * table_bytes,
        l0_max_ssts: 1000,
        l0_max_ssts_per_key: 1000,
        compactor_options: Some(CompactorOptions {
            poll_interval: POLL,
            commit_compacted_interval: POLL,
            worker: Some(worker),
            scheduler_options: HashMap::from(scheduler.map(|(name, value)| (name.into(), value.into()))),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// The same without compaction.
pub(crate) fn without_compaction(table_bytes: usize) -> Settings {
    Settings { compactor_options: None, ..settings(table_bytes) }
}

/// Writes the memory table out as a sorted table.
pub(crate) async fn flush(db: &Db) -> Result<(), Error> {
    db.flush_with_options(FlushOptions { flush_type: FlushType::MemTable }).await
}

/// Waits until at most one table has not been compacted.
pub(crate) async fn compacted(db: &Db) -> Result<(), Error> {
    let start = Instant::now();
    loop {
        db.refresh_manifest().await?;
        if db.manifest().l0().len() <= 1 {
            return Ok(());
        }
        assert!(start.elapsed() < Duration::from_secs(60), "compaction did not finish");
        tokio::time::sleep(POLL).await;
    }
}

/// Prefixes of this length, of keys and scans that are long enough.
pub(crate) struct FirstBytes(pub(crate) usize);

impl PrefixExtractor for FirstBytes {
    fn name(&self) -> &str {
        ["first-0", "first-1", "first-2", "first-3"][self.0]
    }

    fn prefix_len(&self, target: &PrefixTarget) -> Option<usize> {
        let (PrefixTarget::Point(bytes) | PrefixTarget::Prefix(bytes)) = target;
        (bytes.len() >= self.0).then_some(self.0)
    }
}
