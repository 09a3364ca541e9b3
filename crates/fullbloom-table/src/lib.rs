//! Bloom filters inside the sorted tables of storage engines.

pub mod cassandra;
