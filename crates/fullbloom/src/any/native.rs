//! The native dialect behind the traits of [`any`](super).

use super::{AnyBuilder, AnyFilter, Plan};
use crate::dialect::Name;
use crate::error::{DecodeError, SizeError};
use crate::filter::Doubt;
use crate::native::{self, Builder, GuardedFilter, Hashing, NativeFilter, StoredFilter};
use crate::sizing::{Geometry, Request};
use std::io;

pub(super) fn plan(request: &Request) -> Result<Plan, SizeError> {
    native::Plan::new(request).map(|plan| Plan::from(&plan))
}

/// The largest filter whose file fits.
pub(super) fn plan_within(expected_keys: u64, bytes: u64) -> Result<Plan, SizeError> {
    native::Plan::within(expected_keys, bytes).map(|plan| Plan::from(&plan))
}

impl From<&native::Plan> for Plan {
    fn from(plan: &native::Plan) -> Plan {
        Plan {
            dialect: Name::Native,
            geometry: plan.geometry(),
            encoded_len: plan.encoded_len(),
            expected_fpr: plan.expected_fpr,
            weakness: None,
        }
    }
}

pub(super) fn builder(request: &Request) -> Result<Box<dyn AnyBuilder>, SizeError> {
    let filter = NativeFilter::from_plan(&native::Plan::new(request)?, Hashing::default())?;
    Ok(Box::new(Builder::new(filter, 0)))
}

/// All of the file is checked: who asks through here wants to be told of damage, not a fast start.
pub(super) fn view<'a>(
    bytes: &'a [u8],
    geometry: Option<(u64, u32)>,
) -> Result<Box<dyn AnyFilter + 'a>, DecodeError> {
    native::verify(bytes)?;
    let view: Box<dyn AnyFilter + 'a> = StoredFilter::view(bytes)?.into();
    let found = view.geometry();
    if let Some((bits, probes)) = geometry {
        let pairs =
            [("bits given", bits, found.bit_len), ("probes given", probes.into(), found.probes.into())];
        if let Some(&(field, got, expected)) = pairs.iter().find(|(_, got, expected)| got != expected) {
            return Err(DecodeError::Mismatch { field, at: 0, got, expected });
        }
    }
    Ok(view)
}

impl<S: AsRef<[u8]> + Send + Sync> AnyFilter for NativeFilter<S> {
    fn dialect(&self) -> Name {
        Name::Native
    }

    fn geometry(&self) -> Geometry {
        NativeFilter::geometry(self)
    }

    fn may_contain(&self, key: &[u8]) -> bool {
        NativeFilter::may_contain(self, key)
    }

    fn may_contain_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        NativeFilter::may_contain_batch(self, keys, answers);
    }

    fn encoded_len(&self) -> u64 {
        NativeFilter::encoded_len(self)
    }

    fn bits(&self) -> &[u8] {
        NativeFilter::bits(self)
    }

    fn set_bits(&self) -> u64 {
        NativeFilter::set_bits(self)
    }

    fn fill(&self) -> f64 {
        NativeFilter::fill(self)
    }

    fn expected_fpr(&self) -> f64 {
        NativeFilter::expected_fpr(self)
    }

    fn estimated_keys(&self) -> Option<f64> {
        NativeFilter::estimated_keys(self)
    }

    fn doubt(&self) -> Option<Doubt> {
        None
    }

    fn write_to(&self, out: &mut dyn io::Write) -> io::Result<()> {
        NativeFilter::write_to(self, out)
    }
}

impl AnyBuilder for Builder {
    fn insert_batch(&mut self, keys: &[&[u8]]) {
        Builder::insert_batch(self, keys);
    }

    fn finish(self: Box<Self>) -> Result<Box<dyn AnyFilter>, SizeError> {
        Ok(Box::new(GuardedFilter::from(Builder::finish(*self))))
    }
}
