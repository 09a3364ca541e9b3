//! The operations that dispatch by name needs of every dialect.

use super::AT_ONCE;
use super::build::{self, boxed};
use super::erased::Erased;
use super::plan::{self, Plan};
use super::read::{ReadOptions, read_dialect};
use super::storage::Storage;
use alloc::boxed::Box;
use fullbloom_core::error::{DecodeError, SizeError};
use fullbloom_core::sizing::Request;
use fullbloom_dialects::each_dialect;
use fullbloom_dialects::filter::{Check, Dialect, Filter, Format, Size};
use fullbloom_dialects::rocksdb::{FilterType, Full};

/// A dialect that is selected by name at run time.
pub(super) trait AtRunTime: Dialect {
    /// The type of RocksDB's full filters, which are built from all their keys at once.
    const FULL: Option<FilterType> = None;

    /// Reads its bytes.
    fn read(bytes: Storage, options: &ReadOptions, check: Check) -> Result<Box<dyn Erased>, DecodeError>;

    /// An empty filter that accepts keys at any time.
    fn empty(request: &Request) -> Result<Box<dyn Erased>, SizeError>;

    /// The plan for a request.
    fn plan(request: &Request) -> Result<Plan, SizeError>;

    /// The length of the encoded filter for a request. Cheaper than the whole plan: some dialects compute
    /// their rate by filling filters.
    fn planned_len(request: &Request) -> Result<u64, SizeError> {
        Self::plan(request).map(|plan| plan.encoded_len)
    }
}

/// The same for every dialect.
macro_rules! read_as {
    ($D:ty) => {
        fn read(bytes: Storage, options: &ReadOptions, check: Check) -> Result<Box<dyn Erased>, DecodeError> {
            read_dialect::<$D>(bytes, options, check)
        }
    };
}

/// For each dialect, by how its filters are made.
macro_rules! at_run_time {
    (sized $D:ty) => {
        impl AtRunTime for $D {
            read_as!($D);

            fn empty(request: &Request) -> Result<Box<dyn Erased>, SizeError> {
                Filter::<$D>::new(request).map(boxed)
            }

            fn plan(request: &Request) -> Result<Plan, SizeError> {
                plan::sized::<$D>(request)
            }

            fn planned_len(request: &Request) -> Result<u64, SizeError> {
                Ok(<$D>::size(request)?.encoded_len())
            }
        }
    };
    (full $D:ty) => {
        impl AtRunTime for $D {
            const FULL: Option<FilterType> = Some(<$D>::KIND);

            read_as!($D);

            fn empty(_: &Request) -> Result<Box<dyn Erased>, SizeError> {
                Err(SizeError::Unsupported { dialect: Self::NAME.as_str(), what: AT_ONCE })
            }

            fn plan(request: &Request) -> Result<Plan, SizeError> {
                plan::full::<$D>(request)
            }

            fn planned_len(request: &Request) -> Result<u64, SizeError> {
                let policy = build::policy(<$D>::KIND, request.expected_keys, request.target)?;
                Ok(plan::content_len(&policy, request.expected_keys))
            }
        }
    };
    (ribbon $D:ty) => {
        at_run_time! { full $D }
    };
}

each_dialect!(at_run_time);
