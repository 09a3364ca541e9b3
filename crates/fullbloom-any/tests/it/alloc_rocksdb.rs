//! Whichever allocation fails while a full filter is built, the result is an error or a filter.

use fullbloom::SizeError;
use fullbloom_dialects::rocksdb::{BuildError, Builder, FilterType, Policy};
use fullbloom_testkit::alloc::failing_at;

#[test]
fn no_failed_allocation_ends_the_process_or_loses_a_key() {
    for kind in [FilterType::Legacy, FilterType::FastLocal, FilterType::Ribbon] {
        let policy = Policy::new(kind, 10.0).unwrap();
        let (mut refused, mut nth) = (0, 1);
        loop {
            let (built, failed) = failing_at(nth, || {
                let mut builder = Builder::new(policy).with_corruption_detection();
                (0..70_000u32).for_each(|i| builder.add(&i.to_be_bytes()));
                builder.build()
            });
            match built {
                Ok(filter) => assert!((0..70_000u32).all(|i| filter.may_contain(&i.to_be_bytes()))),
                Err(e) => {
                    assert!(matches!(e, BuildError::Size(SizeError::Memory { bytes: 1.. })), "{kind:?}: {e}");
                    refused += 1;
                }
            }
            if !failed {
                break; // the build made fewer allocations
            }
            nth += 1;
        }
        assert!(refused >= 10, "{kind:?}: {refused} of {nth}");
    }
}
