//! Exceptions of a native filter whose kind is known at run time.

use crate::storage::Storage;
use crate::stored::StoredFilter;
use crate::{AnyFilter, AnyKeys};
use alloc::boxed::Box;
use fullbloom::Filter;
use fullbloom::exceptions::ExceptError;
use fullbloom_compact::CompactFilter;
use fullbloom_core::native::guard;

/// The same for both kinds that can have exceptions.
#[derive(Debug)]
enum Either<F, C> {
    Fast(F),
    Compact(C),
}

/// Evaluates the same expression over either kind.
macro_rules! either {
    ($kind:expr, $pass:ident => $body:expr) => {
        match $kind {
            Either::Fast($pass) => $body,
            Either::Compact($pass) => $body,
        }
    };
}

/// First pass: takes the known-good keys and remembers those that the filter reports present.
#[derive(Debug)]
pub struct GoodKeys(Box<Either<guard::GoodKeys<Filter>, guard::GoodKeys<CompactFilter<Storage>>>>);

/// Second pass: takes every key of the filter again, so that none is rejected.
#[derive(Debug)]
pub struct Members(Box<Either<guard::Members<Filter>, guard::Members<CompactFilter<Storage>>>>);

impl AnyFilter {
    /// Begins to build exceptions, in two passes: first the known-good keys, then all keys of the filter
    /// again.
    ///
    /// ```
    /// use fullbloom_any::BuildOptions;
    /// use fullbloom_dialects::Name;
    ///
    /// let mut filter = BuildOptions::new(Name::Native).expected_keys(1).empty()?;
    /// filter.insert(b"bad")?;
    /// let mut good = filter.except()?;
    /// good.add(&[b"good".as_slice()])?;
    /// let mut members = good.members()?;
    /// members.add(&[b"bad".as_slice()])?;
    /// let filter = members.finish()?;
    /// assert!(filter.may_contain(b"bad") && !filter.may_contain(b"good"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the filter has exceptions already or is locked, and for filters that cannot have exceptions: those
    /// of other dialects, dynamic ones, and those that do not own their bytes.
    pub fn except(self) -> Result<GoodKeys, ExceptError> {
        let kind = match self.into_native() {
            Ok(StoredFilter::Fast(filter)) => Either::Fast(guard::GoodKeys::new(filter)?),
            Ok(StoredFilter::Compact(filter)) if filter.storage().is_owned() => {
                Either::Compact(guard::GoodKeys::new(filter)?)
            }
            Ok(StoredFilter::FixedFast(filter)) if filter.storage().is_owned() => {
                return Err(ExceptError::Closed);
            }
            _ => return Err(ExceptError::Unsupported),
        };
        Ok(GoodKeys(Box::new(kind)))
    }
}

impl GoodKeys {
    /// Takes known-good keys; may be called any number of times. Memory is used only for the false positives
    /// among them.
    pub fn add<'k>(&mut self, keys: impl Into<AnyKeys<'k>>) -> Result<(), ExceptError> {
        either!(&mut *self.0, pass => pass.add(&keys.into()))
    }

    /// Proceeds to the second pass.
    pub fn members(self) -> Result<Members, ExceptError> {
        let kind = match *self.0 {
            Either::Fast(pass) => Either::Fast(pass.members()?),
            Either::Compact(pass) => Either::Compact(pass.members()?),
        };
        Ok(Members(Box::new(kind)))
    }
}

impl Members {
    /// Takes keys of the filter, in any order; may be called any number of times.
    pub fn add<'k>(&mut self, keys: impl Into<AnyKeys<'k>>) -> Result<(), ExceptError> {
        either!(&mut *self.0, pass => pass.add(&keys.into()))
    }

    /// How many known-good keys have turned out to be keys of the filter so far.
    pub fn good_members(&self) -> u64 {
        either!(&*self.0, pass => pass.good_members())
    }

    /// The hashes of those keys.
    pub fn good_member_hashes(&self) -> impl Iterator<Item = u64> + '_ {
        let hashes: Box<dyn Iterator<Item = u64> + '_> =
            either!(&*self.0, pass => Box::new(pass.good_member_hashes()));
        hashes
    }

    /// The filter with its exceptions.
    pub fn finish(self) -> Result<AnyFilter, ExceptError> {
        either!(*self.0, pass => pass.finish().map(AnyFilter::from))
    }
}
