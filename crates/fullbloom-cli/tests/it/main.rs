//! The command's tests, in one program: `cargo test -p fullbloom-cli --test it crash::` runs one module of it.

mod build;
mod cassandra;
mod check;
mod common;
mod convert;
mod crash;
mod databases;
mod formats;
mod golden;
mod inspect;
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
mod plan;
mod report;
mod streaming;
#[path = "../../../fullbloom-sstable/tests/support/mod.rs"]
mod support;
mod tables;
mod tour;
mod unique;
mod verify;
