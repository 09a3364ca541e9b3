use super::*;
use arrow_array::builder::{FixedSizeBinaryBuilder, StringViewBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    LargeBinaryArray, LargeStringArray, StringArray, TimestampMillisecondArray, UInt8Array, UInt16Array,
    UInt32Array, UInt64Array,
};
use fullbloom_dialects::Parquet;
use std::sync::Arc;

fn filter() -> Filter {
    Filter::with_fpr(10_000, 1e-9).unwrap()
}

/// Text of many lengths, as far as Arrow stores it in a view and beyond; every seventh is null.
fn texts() -> Vec<Option<String>> {
    (0..500).map(|i| (i % 7 != 3).then(|| format!("{i}-").repeat(i % 9))).collect()
}

#[test]
fn every_form_of_the_same_text_is_the_same_keys() {
    let texts = texts();
    let mut views = StringViewBuilder::new();
    texts.iter().for_each(|text| views.append_option(text.as_deref()));
    let views = views.finish();
    let bytes: Vec<Option<&[u8]>> = texts.iter().map(|text| text.as_ref().map(String::as_bytes)).collect();
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(texts.clone())),
        Arc::new(LargeStringArray::from(texts.clone())),
        Arc::new(BinaryArray::from(bytes.clone())),
        Arc::new(LargeBinaryArray::from(bytes)),
        Arc::new(views.clone().to_binary_view()),
        Arc::new(views),
    ];
    let mut expected = filter();
    expected.extend(texts.iter().flatten());
    for array in &arrays {
        let mut inserted = filter();
        insert(&mut inserted, array).unwrap();
        assert_eq!(inserted, expected, "{}", array.data_type());
        // Also of a part of the array, which begins inside a byte of its bitmap.
        for (offset, len) in [(0, 500), (3, 490), (13, 64), (499, 1), (20, 0)] {
            let part = array.slice(offset, len);
            let answers = may_contain(&expected, &part).unwrap();
            let nulls = texts[offset..][..len].iter().filter(|text| text.is_none()).count();
            assert_eq!((answers.len(), answers.null_count()), (len, nulls));
            assert_eq!(answers.true_count(), len - nulls, "{} {offset}", array.data_type());
            assert_eq!(may_contain(&filter(), &part).unwrap().true_count(), 0);
        }
    }
}

#[test]
fn one_integer_is_one_key_in_every_width() {
    let numbers = [0, 1, 100, 127];
    let mut expected = filter();
    expected.extend(numbers);
    macro_rules! check {
        ($($of:ident $number:ty),*) => {
            $(let array = $of::from_iter(numbers.map(|n| Some(n as $number)).into_iter().chain([None]));
            let mut inserted = filter();
            insert(&mut inserted, &array).unwrap();
            assert_eq!(inserted, expected);
            assert_eq!(may_contain(&expected, &array).unwrap().true_count(), 4);)*
        };
    }
    check!(Int8Array i8, Int16Array i16, Int32Array i32, Int64Array i64);
    check!(UInt8Array u8, UInt16Array u16, UInt32Array u32, UInt64Array u64);
    let mut negative = filter();
    insert(&mut negative, &Int8Array::from(vec![-5])).unwrap();
    assert!(negative.may_contain(-5i64));
}

#[test]
fn fixed_bytes_are_keys_and_other_types_are_refused() {
    let mut builder = FixedSizeBinaryBuilder::new(16);
    builder.append_value([7; 16]).unwrap();
    builder.append_null();
    let uuids = builder.finish();
    let mut filter = filter();
    insert(&mut filter, &uuids).unwrap();
    assert!(filter.may_contain([7; 16]) && filter.keys() == 1);
    let dictionary: DictionaryArray<Int32Type> = vec!["a", "b", "a"].into_iter().collect();
    let refused: [&dyn Array; 3] =
        [&Float64Array::from(vec![1.0]), &dictionary, &TimestampMillisecondArray::from(vec![1])];
    for array in refused {
        let error = may_contain(&filter, array).unwrap_err();
        assert_eq!(error, Error::Unsupported(array.data_type().clone()));
        assert!(insert(&mut filter, array).is_err() && error.to_string().contains("cast"));
    }
}

#[test]
fn numbers_in_a_filter_of_text_are_an_error() {
    let mut text = filter();
    text.set_key_type(Some(KeyType::Text));
    assert!(matches!(may_contain(&text, &Int32Array::from(vec![1])), Err(Error::Keys(KeysError::Type(_)))));
    assert!(insert(&mut text, &UInt8Array::from(vec![1])).is_err());
    assert!(may_contain(&text, &StringArray::from(vec!["1"])).is_ok());
}

#[test]
fn filters_of_other_systems_take_the_same_arrays() {
    let numbers = Int32Array::from(vec![Some(1), None, Some(3)]);
    let keys = ArrowKeys::new(&numbers).unwrap();
    let mut filter = fullbloom_dialects::Filter::<Parquet>::with_fpr(100, 1e-6).unwrap();
    filter.insert_batch(&keys).unwrap();
    assert!(filter.may_contain(1i32.to_le_bytes()) && !filter.may_contain(1i64.to_le_bytes()));
    let answers = keys.answers(|bits| filter.may_contain_batch_into(&keys, bits)).unwrap();
    assert_eq!(answers, BooleanArray::from(vec![Some(true), None, Some(true)]));
}
