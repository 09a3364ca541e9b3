//! The command's tests, in one program: `cargo test -p fullbloom-cli --test it crash::` runs one module of
//! it.

mod build;
mod cassandra;
mod check;
mod common;
mod contents;
mod convert;
mod crash;
mod databases;
mod exceptions;
mod formats;
mod golden;
mod hostile;
mod inspect;
mod journal;
mod json;
mod key_types;
mod keys;
mod limits;
mod manners;
mod merge;
mod native;
mod native_kinds;
mod operators;
mod parquet;
mod partition_keys;
mod plan;
mod races;
mod report;
mod streaming;
#[path = "../../../fullbloom-sstable/tests/support/mod.rs"]
mod support;
mod tables;
mod tour;
mod unique;
mod verify;
