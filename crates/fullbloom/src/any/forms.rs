//! The forms of the native filter behind the traits of [`any`](super).

use super::AnyFilter;
use crate::dialect::Name;
use crate::filter::Doubt;
use crate::native::{
    GrowingFilter, GuardedFilter, NativeFilter, RemovingFilter, RotatingFilter, StoredFilter,
};
use crate::sizing::Geometry;
use std::io;

/// What every form does by itself.
macro_rules! forwarded {
    ($filter:ident) => {
        fn dialect(&self) -> Name {
            Name::Native
        }

        fn may_contain(&self, key: &[u8]) -> bool {
            $filter::may_contain(self, key)
        }

        fn may_contain_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
            $filter::may_contain_batch(self, keys, answers);
        }

        fn encoded_len(&self) -> u64 {
            $filter::encoded_len(self)
        }

        fn doubt(&self) -> Option<Doubt> {
            None
        }

        fn write_to(&self, out: &mut dyn io::Write) -> io::Result<()> {
            $filter::write_to(self, out)
        }
    };
}

/// Filters that are several: sums over those that are asked.
macro_rules! several {
    ($filter:ident, $of:ident => $links:expr) => {
        impl<S: AsRef<[u8]> + Send + Sync> AnyFilter for $filter<S> {
            forwarded!($filter);

            /// The bits of all; blocks and probes of the last, which has most keys.
            fn geometry(&self) -> Geometry {
                let $of = self;
                let shapes = $links.map(|link: &NativeFilter<S>| link.geometry());
                let sum = |sum: Geometry, next: Geometry| {
                    let bit_len = sum.bit_len.saturating_add(next.bit_len);
                    Geometry { bit_len, ..next }
                };
                shapes.reduce(sum).unwrap_or(Geometry { bit_len: 0, block_len: 512, probes: 0 })
            }

            fn set_bits(&self) -> u64 {
                let $of = self;
                $links.map(|link: &NativeFilter<S>| link.set_bits()).sum()
            }

            fn fill(&self) -> f64 {
                self.set_bits() as f64 / AnyFilter::geometry(self).bit_len.max(1) as f64
            }

            fn expected_fpr(&self) -> f64 {
                $filter::expected_fpr(self)
            }

            fn estimated_keys(&self) -> Option<f64> {
                let $of = self;
                let sum: Option<f64> = $links.map(|link: &NativeFilter<S>| link.estimated_keys()).sum();
                sum.map(|keys| keys + 0.0) // the sum of nothing is -0
            }
        }
    };
}

/// Filters that are a plain one and something beside it, which has a say in the answers.
macro_rules! guarding {
    ($filter:ident) => {
        impl<S: AsRef<[u8]> + Send + Sync> AnyFilter for $filter<S> {
            forwarded!($filter);

            fn geometry(&self) -> Geometry {
                self.filter().geometry()
            }

            fn bits(&self) -> &[u8] {
                self.filter().bits()
            }

            fn set_bits(&self) -> u64 {
                self.filter().set_bits()
            }

            fn fill(&self) -> f64 {
                self.filter().fill()
            }

            fn expected_fpr(&self) -> f64 {
                self.filter().expected_fpr()
            }

            fn estimated_keys(&self) -> Option<f64> {
                self.filter().estimated_keys()
            }
        }
    };
}

several!(GrowingFilter, filter => filter.links().iter());
several!(RotatingFilter, filter => filter.generations().flat_map(|one| one.filter().links()));

guarding!(GuardedFilter);
guarding!(RemovingFilter);

impl<'a, S: AsRef<[u8]> + Send + Sync + 'a> From<StoredFilter<S>> for Box<dyn AnyFilter + 'a> {
    fn from(stored: StoredFilter<S>) -> Self {
        match stored {
            StoredFilter::Plain(filter) => Box::new(filter),
            StoredFilter::Growing(filter) => Box::new(filter),
            StoredFilter::Removing(filter) => Box::new(filter),
            StoredFilter::Rotating(filter) => Box::new(filter),
        }
    }
}
