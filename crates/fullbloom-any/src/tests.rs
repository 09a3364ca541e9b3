use super::*;
use crate::kind::Kind;
use fullbloom::Hashing;
use fullbloom_core::error::{BuildError, BuildOption, DecodeError};
use fullbloom_core::keys::{Column, Offsets, Views};
use fullbloom_core::sizing::Target;
use fullbloom_core::typed::Value;
use fullbloom_dialects::filter::Check;

const REQUEST: Request = Request { expected_keys: 1000, target: Target::BitsPerKey(10.0) };

fn keys(range: core::ops::Range<u32>) -> Vec<String> {
    range.map(|i| format!("key-{i}")).collect()
}

fn slices(keys: &[String]) -> Vec<&[u8]> {
    keys.iter().map(|key| key.as_bytes()).collect()
}

/// The options for reading the bytes of this filter.
fn options(filter: &AnyFilter) -> ReadOptions {
    let geometry = filter.geometry();
    ReadOptions::from(filter.dialect()).geometry(geometry.bit_len, geometry.probes)
}

/// Dialects whose filters accept keys at any time.
fn inserting() -> impl Iterator<Item = (Name, AnyFilter)> {
    Name::ALL.iter().filter_map(|name| Some((*name, AnyFilter::new(*name, &REQUEST).ok()?)))
}

#[test]
fn the_filter_of_keys_is_what_the_builder_makes_of_them_and_what_two_merged_halves_are() {
    let mut count = 0;
    for (dialect, mut whole) in inserting() {
        let mut half = AnyFilter::new(dialect, &REQUEST).unwrap();
        let all = keys(0..500);
        let slices = slices(&all);
        whole.insert_batch(&slices[..250]).unwrap();
        half.insert_batch(&slices[250..]).unwrap();
        let options = options(&whole);
        whole.merge(&half).unwrap();
        let mut again = AnyFilter::decode(&half.encode(), &options).unwrap();
        again.clear().unwrap();
        again.merge(&AnyFilter::decode(&whole.encode(), &options).unwrap()).unwrap();
        assert_eq!(again.count_ones(), whole.count_ones(), "{dialect}");
        let mut builder = Builder::new(dialect, &REQUEST).unwrap();
        builder.add_batch(slices.as_slice());
        let built = builder.build().unwrap();
        assert!(slices.iter().all(|key| whole.may_contain(key)), "{dialect}");
        let mut single = AnyFilter::new(dialect, &REQUEST).unwrap();
        let new = slices.iter().filter(|key| single.insert(key).unwrap()).count();
        assert!(new > 450 && single.encode() == built.encode(), "{dialect}");
        if !matches!(dialect, Name::Native | Name::Poppy) {
            // These dialects count their keys, and hold an estimate after a merge.
            assert_eq!(whole.encode(), built.encode(), "{dialect}");
        }
        let mut copy = AnyFilter::decode(&whole.encode(), &options).unwrap();
        assert!(slices.iter().all(|key| copy.may_contain(key) && !copy.insert(key).unwrap()), "{dialect}");
        copy.clear().unwrap();
        assert_eq!(copy.count_ones(), 0, "{dialect}");
        assert_eq!(
            copy.encode(),
            AnyFilter::new(dialect, &REQUEST).unwrap().encode(),
            "{dialect}: not as new"
        );
        count += 1;
    }
    assert_eq!(count, Name::ALL.len() - 3);
}

#[test]
fn keys_of_both_filters_are_in_their_intersection_and_others_at_no_higher_rate() {
    for (dialect, mut ours) in inserting() {
        let mut theirs = AnyFilter::new(dialect, &REQUEST).unwrap();
        let all = keys(0..900);
        let slices = slices(&all);
        ours.insert_batch(&slices[..600]).unwrap();
        theirs.insert_batch(&slices[300..]).unwrap();
        let found =
            |filter: &AnyFilter, keys: &[&[u8]]| keys.iter().filter(|key| filter.may_contain(key)).count();
        let before = found(&ours, &slices[..300]);
        ours.intersect(&theirs).unwrap();
        assert_eq!(found(&ours, &slices[300..600]), 300, "{dialect}");
        assert!(found(&ours, &slices[..300]) < before / 4, "{dialect}");
        let other = AnyFilter::new(dialect, &Request { expected_keys: 5000, ..REQUEST }).unwrap();
        assert!(ours.intersect(&other).is_err(), "{dialect}");
    }
}

#[test]
fn numbers_are_hashed_as_a_filter_made_for_them_hashes_them() {
    for (dialect, mut filter) in inserting() {
        let numbers: Vec<_> = (-50..50).filter_map(|n| dialect.key(Value::Long(n)).ok()).collect();
        let slices: Vec<&[u8]> = numbers.iter().map(AsRef::as_ref).collect();
        let values: Vec<u64> = (-50..50i64).map(|n| n as u64).collect();
        let Ok(integers) = AnyKeys::integers(&values, KeyType::Long, dialect) else {
            assert!(slices.is_empty(), "{dialect}");
            continue;
        };
        filter.insert_batch(integers).unwrap();
        let mut builder = Builder::new(dialect, &REQUEST).unwrap().with_key_type(KeyType::Long);
        builder.add_batch(slices.as_slice());
        let built = builder.build().unwrap();
        let _ = filter.set_key_type(KeyType::Long); // other dialects do not record it
        assert_eq!(filter.encode(), built.encode(), "{dialect}");
        assert!(filter.may_contain_batch(integers).iter().all(|yes| *yes), "{dialect}");
        assert!(slices.iter().all(|key| built.may_contain(key)), "{dialect}");
        let read = AnyFilter::decode(&built.encode(), &options(&built).key_type(KeyType::Long)).unwrap();
        assert!(slices.iter().all(|key| read.may_contain(key)), "{dialect}");
    }
}

#[test]
fn integers_of_both_widths_are_the_bytes_that_the_system_makes_of_them() {
    for (dialect, mut filter) in inserting() {
        for key_type in [KeyType::Int, KeyType::Long] {
            let value = |n: i32| match key_type {
                KeyType::Int => Value::Int(n),
                _ => Value::Long(n.into()),
            };
            let Ok(integers) = AnyKeys::integers(&[u64::MAX - 6, 7], key_type, dialect) else { continue };
            filter.insert_batch(integers).unwrap();
            let numbers = filter.try_clone().unwrap().with_key_type(key_type);
            for n in [-7, 7] {
                assert!(
                    numbers.may_contain(dialect.key(value(n)).unwrap().as_ref()),
                    "{dialect} {key_type} {n}"
                );
                assert_eq!(filter.may_contain_value(value(n)), Ok(true), "{dialect} {key_type} {n}");
            }
        }
    }
}

#[test]
fn every_form_of_a_batch_gives_the_same_filter_and_the_same_answers() {
    let all = keys(0..700);
    let slices = slices(&all);
    let data = slices.concat();
    let mut ends = vec![0i64];
    ends.extend(slices.iter().scan(0, |end, key| {
        *end += key.len() as i64;
        Some(*end)
    }));
    let narrow: Vec<i32> = ends.iter().map(|end| *end as i32).collect();
    let views: Vec<[u8; 16]> = slices
        .iter()
        .map(|key| {
            let mut view = [0; 16];
            view[0] = key.len() as u8;
            view[4..4 + key.len()].copy_from_slice(key);
            view
        })
        .collect();
    let forms: [AnyKeys<'_>; 3] = [
        Offsets::new(&data, &ends).unwrap().into(),
        Offsets::new(&data, &narrow).unwrap().into(),
        Views::new(&views, &[]).unwrap().into(),
    ];
    for (dialect, mut expected) in inserting() {
        expected.insert_batch(&slices[..300]).unwrap();
        let answers = expected.may_contain_batch(slices.as_slice());
        for form in forms {
            let mut filter = AnyFilter::new(dialect, &REQUEST).unwrap();
            filter.insert_batch(form.part(0..300)).unwrap();
            assert_eq!(filter.encode(), expected.encode(), "{dialect}");
            assert_eq!(filter.may_contain_batch(form), answers, "{dialect}");
            let mut bits = vec![!0u64; slices.len().div_ceil(64)];
            filter.may_contain_batch_into(form, &mut bits).unwrap();
            assert!(answers.iter().enumerate().all(|(i, yes)| (bits[i / 64] >> (i % 64) & 1 == 1) == *yes));
            assert_eq!(
                bits.iter().map(|word| word.count_ones()).sum::<u32>(),
                answers.iter().map(|yes| u32::from(*yes)).sum::<u32>()
            );
        }
    }
}

#[test]
fn filters_of_two_dialects_or_two_shapes_are_not_merged() {
    let mut ours = AnyFilter::new(Name::LevelDb, &REQUEST).unwrap();
    let other = AnyFilter::new(Name::RocksDbBlock, &REQUEST).unwrap();
    let refused = ours.merge(&other).unwrap_err().to_string();
    assert!(refused.contains("dialect is leveldb in one and rocksdb-block"), "{refused}");
    let other = Request { expected_keys: 2000, ..REQUEST };
    assert!(ours.merge(&AnyFilter::new(Name::LevelDb, &other).unwrap()).is_err());
}

#[test]
fn full_filters_of_rocksdb_are_merged_but_take_no_keys_and_ribbon_ones_are_not_merged() {
    for (dialect, merges) in
        [(Name::RocksDb, true), (Name::RocksDbLegacy, true), (Name::RocksDbRibbon, false)]
    {
        let built = |range| {
            let mut builder = Builder::new(dialect, &REQUEST).unwrap();
            let all = keys(range);
            builder.add_batch(slices(&all).as_slice());
            builder.build().unwrap()
        };
        let mut one = built(0..2000);
        let other = built(2000..4000);
        assert_eq!(one.merge(&other).is_ok(), merges, "{dialect}");
        assert_eq!(one.insert(b"key"), Err(ChangeError::BuiltAtOnce(dialect.as_str())));
        if merges {
            assert!(slices(&keys(0..4000)).iter().all(|key| one.may_contain(key)), "{dialect}");
        }
        let bytes = other.encode();
        assert!(AnyFilter::decode(&bytes[..bytes.len() - 1], &dialect.into()).is_err());
    }
}

#[test]
fn a_filter_over_kept_bytes_answers_and_does_not_change() {
    for (dialect, mut filter) in inserting() {
        filter.insert(b"key-1").unwrap();
        let options = options(&filter);
        let mut kept = AnyFilter::over(filter.encode(), &options, Check::All).unwrap();
        assert!(kept.may_contain(b"key-1"), "{dialect}");
        assert_eq!(kept.insert(b"key-2"), Err(ChangeError::ReadOnly), "{dialect}");
        assert_eq!(kept.clear(), Err(ChangeError::ReadOnly), "{dialect}");
        assert!(kept.merge(&filter).is_err(), "{dialect}");
        filter.merge(&kept).unwrap();
        let mut copy = kept.try_clone().unwrap();
        assert!(copy.insert(b"key-2").unwrap() && copy.may_contain(b"key-1"), "{dialect}");
    }
}

#[test]
fn what_is_saved_is_opened_and_loaded_again() {
    let dir = tempfile::tempdir().unwrap();
    for (dialect, mut filter) in inserting() {
        filter.insert(b"key-1").unwrap();
        let path = dir.path().join(dialect.as_str());
        filter.save(&path).unwrap();
        let options = options(&filter);
        for read in [AnyFilter::load(&path, &options), AnyFilter::open(&path, &options, Check::Header)] {
            let read = read.unwrap();
            assert_eq!((read.dialect(), read.may_contain(b"key-1")), (dialect, true));
            assert_eq!(read.encode(), filter.encode(), "{dialect}");
        }
    }
}

#[test]
fn damage_of_a_native_file_that_only_its_front_was_read_of_is_found_by_verify() {
    let mut filter = AnyFilter::new(Name::Native, &REQUEST).unwrap();
    filter.insert(b"key-1").unwrap();
    assert_eq!(filter.hashing(), Some(&Hashing::Seed(0)));
    let mut file = filter.encode();
    let sound = AnyFilter::over(file.clone(), &Name::Native.into(), Check::Header).unwrap();
    assert_eq!((filter.verify(), sound.verify()), (Ok(()), Ok(())));
    *file.last_mut().unwrap() ^= 1;
    let damaged = AnyFilter::over(file, &Name::Native.into(), Check::Header).unwrap();
    assert!(damaged.verify().is_err());
}

#[test]
fn keys_of_a_batch_are_had_by_number_unless_they_are_integers() {
    let slices: [&[u8]; 2] = [b"one", b"two"];
    let offsets = Offsets::new(b"onetwo", &[0i32, 3, 6]).unwrap();
    for keys in [AnyKeys::from(&slices), AnyKeys::from(offsets)] {
        assert_eq!((keys.get(0), keys.get(1)), (Some(&b"one"[..]), Some(&b"two"[..])));
    }
    assert_eq!(AnyKeys::from(Column(&[1u64])).get(0), None);
}

#[test]
fn a_native_filter_keeps_the_type_of_its_keys_and_refuses_others() {
    let long = |numbers: &[u64]| {
        let mut builder = Builder::new(Name::Native, &REQUEST).unwrap().with_key_type(KeyType::Long);
        builder.add_batch(AnyKeys::integers(numbers, KeyType::Long, Name::Native).unwrap());
        builder.build().unwrap()
    };
    let mut filter = long(&[7, 8]);
    assert_eq!((filter.key_type(), filter.recorded_key_type()), (KeyType::Long, Some(KeyType::Long)));
    assert_eq!(filter.may_contain_value(Value::Int(7)), Ok(true));
    let refused = TypeError::Recorded { recorded: KeyType::Long, given: KeyType::Text };
    assert_eq!(filter.may_contain_value(Value::Text("7")), Err(refused));
    let copies =
        [filter.try_clone().unwrap(), AnyFilter::decode(&filter.encode(), &Name::Native.into()).unwrap()];
    for copy in copies {
        assert_eq!(copy.key_type(), KeyType::Long);
    }

    filter.merge(&long(&[9])).unwrap();
    assert_eq!(filter.recorded_key_type(), Some(KeyType::Long));
    let texts = AnyFilter::new(Name::Native, &REQUEST).unwrap().with_key_type(KeyType::Text);
    assert!(matches!(filter.merge(&texts), Err(MergeError::Differs { what: "the key type", .. })));
    let mut unknown = AnyFilter::new(Name::Native, &REQUEST).unwrap();
    unknown.insert(b"either").unwrap();
    filter.merge(&unknown).unwrap();
    assert_eq!(filter.recorded_key_type(), None, "keys of an unknown type are in it");
    assert_eq!(filter.may_contain_value(Value::Text("either")), Ok(true));
}

#[test]
fn what_is_inserted_decides_what_is_recorded() {
    let mut filter = AnyFilter::new(Name::Native, &REQUEST).unwrap();
    assert_eq!(filter.recorded_key_type(), None);
    filter.note_key_type(KeyType::Text);
    filter.insert(b"a").unwrap();
    filter.note_key_type(KeyType::Bytes);
    assert_eq!(filter.recorded_key_type(), Some(KeyType::Text));
    filter.note_key_type(KeyType::Long);
    assert_eq!(filter.recorded_key_type(), None, "two types");
    filter.note_key_type(KeyType::Text);
    assert_eq!(filter.recorded_key_type(), None, "the first keys are still there");

    let mut other = AnyFilter::new(Name::Spark, &REQUEST).unwrap();
    assert!(matches!(other.set_key_type(KeyType::Long), Err(ChangeError::Unsupported(_))));
    assert_eq!(other.with_key_type(KeyType::Long).recorded_key_type(), None);
    let kept = AnyFilter::over(filter.encode(), &Name::Native.into(), Check::All);
    assert_eq!(kept.unwrap().set_key_type(KeyType::Long), Err(ChangeError::ReadOnly));
}

#[test]
fn a_damaged_part_of_a_file_read_in_place_is_found_by_the_keys_that_need_it() {
    let request = Request { expected_keys: 200_000, target: Target::BitsPerKey(10.0) };
    let all = keys(0..200_000);
    let mut filter = AnyFilter::new(Name::Native, &request).unwrap();
    filter.insert_batch(slices(&all).as_slice()).unwrap();
    let mut file = filter.encode();
    let sound = AnyFilter::over(file.clone(), &Name::Native.into(), Check::Header).unwrap();
    assert_eq!(sound.verify_keys(slices(&all).as_slice()), Ok(()));
    let len = file.len();
    file[len - 100] ^= 1; // in the last chunk of four
    let damaged = AnyFilter::over(file, &Name::Native.into(), Check::Header).unwrap();
    let refused: Vec<bool> =
        all.iter().take(1000).map(|key| damaged.verify_keys(&[key.as_bytes()]).is_err()).collect();
    let count = refused.iter().filter(|refused| **refused).count();
    assert!((50..500).contains(&count), "{count} of 1000 keys are in the damaged chunk");
    assert!(matches!(damaged.verify_keys(slices(&all).as_slice()), Err(DecodeError::Checksum { .. })));
    assert!(damaged.verify().is_err());
}

#[test]
fn the_probes_of_a_key_are_the_bits_that_inserting_it_sets() {
    let mut count = 0;
    for dialect in Name::ALL {
        let mut builder = Builder::new(*dialect, &REQUEST).unwrap();
        builder.add(b"alice");
        let filter = builder.build().unwrap();
        let Some(probes) = filter.probes_of(b"alice") else {
            assert_eq!(*dialect, Name::RocksDbRibbon);
            continue;
        };
        let mut distinct = probes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(probes.len() >= filter.geometry().probes as usize, "{dialect}");
        let is_set = |at: &u64| filter.bits()[(at / 8) as usize] >> (at % 8) & 1 == 1;
        assert!(probes.iter().all(is_set), "{dialect}");
        // poppy counts the bits of its buckets, and has one more in its cache.
        let cached = u64::from(*dialect == Name::Poppy && probes.len() as u32 > filter.geometry().probes);
        assert_eq!(distinct.len() as u64, filter.count_ones() + cached, "{dialect}");
        count += 1;
    }
    assert!(count > 20);
}

#[cfg(feature = "std")]
#[test]
fn one_pass_over_the_array_shows_what_three_do() {
    let all = keys(0..3000);
    let slices = slices(&all);
    let kinds = [Kind::Fast, Kind::Compact, Kind::Dynamic];
    let native = kinds.map(|kind| BuildOptions::new(Name::Native).kind(kind).expected_keys(2000));
    let others = Name::ALL.iter().map(|name| BuildOptions::new(*name).expected_keys(2000));
    for options in others.chain(native) {
        let mut builder = options.begin().unwrap();
        builder.add_batch(slices.as_slice());
        let filter = builder.build().unwrap();
        let (shown, dialect) = (filter.occupancy(), filter.dialect());
        assert_eq!((shown.set_bits, shown.fill), (filter.count_ones(), filter.fill()), "{dialect}");
        assert_eq!(shown.estimated_keys, filter.estimated_keys(), "{dialect}");
        assert_eq!(shown.expected_fpr, filter.expected_fpr(), "{dialect}");
    }
}

#[cfg(feature = "std")]
#[test]
fn every_kind_is_built_from_keys_and_from_their_hashes() {
    let keys: Vec<String> = (0..2000).map(|i| format!("key-{i}")).collect();
    let slices: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
    for kind in [Kind::Fast, Kind::Compact, Kind::Dynamic] {
        let options = BuildOptions::new(Name::Native).kind(kind).expected_keys(2000).label("mine");
        let mut builder = options.begin().unwrap();
        builder.note_key_type(KeyType::Text);
        builder.add_batch(slices.as_slice());
        assert_eq!((builder.inserted(), builder.exceeded(), builder.has_failed()), (2000, None, false));
        let mut hashed = options.begin().unwrap().with_key_type(KeyType::Text);
        let hashes = hashed.hashing().unwrap().hash_batch(slices.as_slice()).unwrap();
        hashed.add_hashes(&hashes);
        let (built, hashed) = (builder.build().unwrap(), hashed.build().unwrap());
        assert!(built.encode() == hashed.encode(), "{kind}");
        assert_eq!((built.kind(), built.native_facts().unwrap().label), (Some(kind), "mine".into()));
        assert_eq!(options.empty().is_err(), kind == Kind::Compact);
    }
}

#[test]
fn options_that_do_not_go_together_are_refused_by_name() {
    use fullbloom::sizing::Prefer;
    use fullbloom_dynamic::Mode;
    let native = || BuildOptions::new(Name::Native).expected_keys(10);
    let refused = [
        (BuildOptions::new(Name::Cassandra).label("x"), BuildOption::Label),
        (BuildOptions::new(Name::Spark).kind(Kind::Dynamic), BuildOption::Kind),
        (BuildOptions::new(Name::RocksDb).exceptions(true), BuildOption::Except),
        (native().store_secret(true), BuildOption::StoreSecret),
        (native().up_to(5), BuildOption::UpTo),
        (native().mode(Mode::Counting), BuildOption::Mode),
        (native().kind(Kind::Compact).prefer(Prefer::Space), BuildOption::Prefer),
        (native().kind(Kind::Dynamic).exceptions(true), BuildOption::Except),
        (native().kind(Kind::Compact).target(Target::BitsPerKey(10.0)), BuildOption::Kind),
        (native().expected_keys(None), BuildOption::ExpectedKeys),
    ];
    for (options, option) in refused {
        let error = options.begin().unwrap_err();
        assert!(matches!(error, BuildError::Option { option: named, .. } if named == option), "{error}");
    }
    for (dialect, seed) in [(Name::Native, -1), (Name::Spark2, 1 << 31), (Name::LevelDb, 1)] {
        assert!(BuildOptions::new(dialect).seed(seed).is_err());
    }
}

#[test]
fn a_builder_says_when_there_are_more_keys_than_the_filter_is_sized_for() {
    let mut builder = BuildOptions::new(Name::Cassandra).expected_keys(2).begin().unwrap();
    builder.add(b"a");
    builder.add(b"b");
    assert_eq!(builder.exceeded(), None);
    builder.add(b"c");
    assert_eq!(builder.exceeded(), Some(2));
    let mut sized_by_keys = BuildOptions::new(Name::RocksDb).expected_keys(1).begin().unwrap();
    sized_by_keys.add(b"a");
    sized_by_keys.add(b"b");
    assert_eq!(sized_by_keys.exceeded(), None);
}

#[test]
fn every_kind_records_the_field_of_its_keys_and_a_merge_keeps_it() {
    use fullbloom_core::typed::KeyField;
    let field = |number| KeyField::new(number, b';', false);
    let build = |kind, field| {
        let options = BuildOptions::new(Name::Native).kind(kind).expected_keys(100).label("x");
        let mut builder = options.key_field(field).begin().unwrap();
        builder.add(b"alice");
        builder.build().unwrap()
    };
    for kind in [Kind::Fast, Kind::Compact, Kind::Dynamic] {
        let built = build(kind, field(7));
        let bytes = built.encode();
        assert_eq!(built.encoded_len(), bytes.len() as u64, "{kind}");
        let read = AnyFilter::decode(&bytes, &ReadOptions::new()).unwrap();
        assert_eq!((read.key_field(), read.encode() == bytes), (field(7), true), "{kind}");
        for other in [field(7), field(8), None].into_iter().filter(|_| kind != Kind::Compact) {
            let (mut ours, mut theirs) = (build(kind, field(7)), build(kind, other));
            theirs.merge(&ours).unwrap();
            ours.merge(&build(kind, other)).unwrap();
            assert_eq!((ours.key_field(), theirs.key_field()), (field(7), other.or(field(7))), "{kind}");
        }
        // The section's content, found by its bytes: field 0 is refused.
        let content = [7, 0, 0, 0, b';', 0, 0, 0];
        let at = bytes.windows(8).position(|bytes| bytes == content).unwrap();
        let mut bad = bytes.clone();
        bad[at] = 0;
        let header = u32::from_le_bytes(bad[16..20].try_into().unwrap()) as usize;
        let sum = fullbloom_core::checksum::crc32c(&bad[12..header]);
        bad[8..12].copy_from_slice(&sum.to_le_bytes());
        let refused = AnyFilter::decode(&bad, &ReadOptions::new()).unwrap_err();
        assert!(matches!(refused, DecodeError::Value { field: "key field", .. }), "{refused}");
    }
}

/// Such a filter would answer "no" for its own keys, as the user writes them.
#[test]
fn a_filter_of_keys_in_a_form_is_refused_unless_the_caller_applies_it() {
    use fullbloom_core::typed::{KeyForm, TypeError};
    let form = KeyForm { ignore_case: true, trim: false };
    for kind in [Kind::Fast, Kind::Compact, Kind::Dynamic] {
        let options = BuildOptions::new(Name::Native).kind(kind).expected_keys(100).key_form(form);
        let mut builder = options.begin().unwrap();
        builder.add(&form.apply(b"Alice"));
        let bytes = builder.build().unwrap().encode();
        let refused = AnyFilter::decode(&bytes, &ReadOptions::new()).unwrap_err();
        assert_eq!(refused, DecodeError::KeyType(TypeError::Form { recorded: form }), "{kind}");
        let read = AnyFilter::decode(&bytes, &ReadOptions::new().key_form_applied()).unwrap();
        assert!(read.key_form() == form && read.may_contain(&read.key_form().apply(b"ALICE")));
        assert_eq!(read.encode(), bytes);

        // Other flags are unknown.
        let mut newer = bytes.clone();
        let header = u32::from_le_bytes(newer[16..20].try_into().unwrap()) as usize;
        let record = u64::from_le_bytes(newer[72..80].try_into().unwrap()) as usize;
        assert_eq!(newer[record + 5], 2);
        newer[record + 5] |= 8;
        let sum = fullbloom_core::checksum::crc32c(&newer[12..header]);
        newer[8..12].copy_from_slice(&sum.to_le_bytes());
        let refused = AnyFilter::decode(&newer, &ReadOptions::new().key_form_applied()).unwrap_err();
        assert!(matches!(refused, DecodeError::Newer { field: "flags", .. }), "{refused}");
    }
}
