//! A policy without a filter: what SlateDB's interface itself costs.

use bytes::BufMut;
use slatedb::{Filter, FilterBuilder, FilterPolicy, FilterQuery, FilterTarget, RowEntry};
use std::sync::Arc;

/// Builds nothing. A lookup reads the first and the last byte of the key.
pub struct CallAlone;

impl FilterPolicy for CallAlone {
    fn name(&self) -> &str {
        "call-alone"
    }

    fn builder(&self) -> Box<dyn FilterBuilder> {
        Box::new(Ends(0))
    }

    fn decode(&self, _: &[u8]) -> Arc<dyn Filter> {
        Arc::new(Ends(0))
    }

    fn estimate_size(&self, _: usize) -> usize {
        0
    }
}

/// A combination of the bytes read.
struct Ends(u8);

fn ends(key: &[u8]) -> u8 {
    match key {
        [first, .., last] => first ^ last,
        _ => 0,
    }
}

impl FilterBuilder for Ends {
    fn add_entry(&mut self, entry: &RowEntry) {
        self.0 ^= ends(&entry.key);
    }

    fn build(&mut self) -> Arc<dyn Filter> {
        Arc::new(Ends(self.0))
    }
}

impl Filter for Ends {
    fn might_match(&self, query: &FilterQuery) -> bool {
        match &query.target {
            FilterTarget::Point(key) => ends(key) == self.0,
            _ => true,
        }
    }

    fn encode(&self, _: &mut dyn BufMut) {}

    fn size(&self) -> usize {
        1
    }

    fn clamp_allocated_size(&self) -> Arc<dyn Filter> {
        Arc::new(Ends(self.0))
    }
}
