//! Sstables that a Cassandra 5.0.4 node wrote, in both of its formats.

use fullbloom_sstable::report;
use fullbloom_sstable::{Keys, Sstable, verify, walk};
use fullbloom_testkit::vectors;
use std::ops::ControlFlow;

fn sstables() -> Vec<Sstable> {
    let found = walk::walk(&vectors::root().join("cassandra/sstables"), walk::Options::default()).unwrap();
    assert_eq!(found.sstables.len(), 2);
    found.sstables
}

#[test]
fn the_keys_of_both_formats_are_those_the_node_wrote_in_the_order_of_their_tokens() {
    const KEYSPACES: [&[u8]; 6] =
        [b"system_auth", b"system_schema", b"system_distributed", b"system", b"shop", b"system_traces"];
    for sstable in sstables() {
        let mut keys = Vec::new();
        let scan = Keys::open(&sstable).unwrap().visit(|batch| {
            keys.extend(batch.iter().map(|key| key.to_vec()));
            ControlFlow::Continue(())
        });
        assert_eq!(scan.unwrap().out_of_order, 0);
        assert_eq!(keys, KEYSPACES, "{}", sstable.path("Filter.db").display());
    }
}

#[test]
fn both_filters_have_every_key_and_are_made_again_byte_for_byte() {
    for sstable in sstables() {
        let verification = verify::verify(&sstable, verify::Options::default());
        assert_eq!((verification.missing, verification.rebuilt_identical), (Some(0), Some(true)));
        assert!(verification.is_well());
    }
}

#[test]
fn the_rate_of_the_table_is_read_from_its_statistics() {
    for sstable in sstables() {
        assert_eq!(report::recorded(&sstable).unwrap().fpr(), Some(0.01));
    }
}
