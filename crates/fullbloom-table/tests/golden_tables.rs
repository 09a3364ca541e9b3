//! Tables that RocksDB 6.29, 7.8, 9.8, 11.0 and LevelDB wrote: keys, filters and answers.

mod common;

use common::keys_of;

#[test]
fn every_key_the_engine_was_given_comes_out_in_order() {
    for golden in common::all() {
        let table = golden.table();
        assert_eq!(table.has_internal_keys(), !golden.has_plain_keys(), "{}", golden.name);
        let found = keys_of(&table);
        if let Some(keys) = golden.keys() {
            assert!(found == keys, "{}: {} keys, not {}", golden.name, found.len(), keys.len());
        }
        assert!(found.is_sorted() && !found.is_empty(), "{}", golden.name);
        println!("{} {} {:?} {:?}", golden.name, found.len(), table.metaindex().filter, table.index_shape());
    }
}
