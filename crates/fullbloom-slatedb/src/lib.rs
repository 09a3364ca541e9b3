//! Filter policies for SlateDB: the native filters of fullbloom in its sorted tables.
//!
//! ```
//! use fullbloom_slatedb::FullbloomPolicy;
//! use slatedb::{Db, object_store::memory::InMemory};
//! use std::sync::Arc;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = Db::builder("store", Arc::new(InMemory::new()))
//!     .with_filter_policies(vec![Arc::new(FullbloomPolicy::fast(10)?)])
//!     .build()
//!     .await?;
//! db.put(b"alice", b"1").await?;
//! assert_eq!(db.get(b"mallory").await?, None);
//! db.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Which policy
//!
//! | policy | use |
//! |---|---|
//! | [`FullbloomPolicy::fast`]`(10)` | the default: a rate of 1 % at 10 bits per key, one cache line for each lookup |
//! | [`FullbloomPolicy::compact`]`(0.01)` | less to store and to cache: 7.1 bits per key at 1 %; building takes longer |
//!
//! Every policy reads the filters of every other, so a store can change its policy at any time: new tables
//! get the new filters, and old tables keep theirs until compaction rewrites them. Tables without a filter,
//! or with SlateDB's own, are read without one, unless SlateDB's policy is registered as well.
//!
//! # Bytes
//!
//! A filter is stored as the bytes of a `.bloom` file: magic, version, everything that a lookup needs, bits.
//! The command `fullbloom inspect` reads them. Bytes that cannot be decoded (of a later version, or damaged)
//! answer "maybe" to every query: SlateDB then reads the table. SlateDB has a checksum for each filter block,
//! so the checksums inside the filter are not compared again.
//!
//! A policy writes its name into each table: `fullbloom`, followed by the name of the prefix extractor and by
//! `:wh=0` without whole keys. A filter is used only by a policy with the same name, because another
//! extractor stores other prefixes.
//!
//! # Copies
//!
//! SlateDB passes an encoded filter as a borrowed slice, so decoding copies it once, into memory that is
//! aligned to cache lines. From then on the block cache and all lookups share this copy. A lookup allocates
//! nothing.
#![warn(missing_docs)]

mod builder;
mod filter;
mod policy;
mod targets;

pub use policy::FullbloomPolicy;
