use super::*;

#[test]
fn a_short_field_names_itself_and_its_offset() {
    let mut cursor = Cursor::new(&[0, 0, 0, 5, 1]);
    assert_eq!(cursor.i32_be("probes"), Ok(5));
    assert_eq!(
        cursor.i32_be("words"),
        Err(DecodeError::Truncated { field: "words", at: 4, need: 4, have: 1 })
    );
}

#[test]
fn a_length_past_the_end_is_refused_and_nothing_is_consumed() {
    let mut cursor = Cursor::new(&[1, 2, 3]);
    assert!(cursor.take("bits", u64::MAX).is_err());
    assert!(cursor.slice("bits", 4).is_err());
    assert_eq!(cursor.clone().slice("bits", 3), Ok(&[1, 2, 3][..]));
    assert_eq!(cursor.take("bits", 3), Ok(0..3));
    assert_eq!(cursor.finish(), Ok(()));
}

#[test]
fn magic_reports_which_byte_differs_before_it_reports_missing_bytes() {
    let mut cursor = Cursor::new(b"libbxoom");
    assert_eq!(cursor.magic("magic", b"libbloom2"), Err(DecodeError::Magic { field: "magic", at: 4 }));
    let mut cursor = Cursor::new(b"libbl");
    assert_eq!(
        cursor.magic("magic", b"libbloom2"),
        Err(DecodeError::Truncated { field: "magic", at: 0, need: 9, have: 5 })
    );
}

#[test]
fn trailing_bytes_are_counted() {
    let mut cursor = Cursor::new(&[7, 8, 9]);
    assert_eq!(cursor.u8("k"), Ok(7));
    assert_eq!(cursor.finish(), Err(DecodeError::Trailing { at: 1, extra: 2 }));
}

#[test]
fn negative_counts_are_refused_where_they_begin() {
    let bytes = [&[9][..], &(-2i32).to_be_bytes(), &(-3i64).to_be_bytes()].concat();
    let mut cursor = Cursor::at_offset(&bytes, 1);
    let refused = cursor.count_be("count").unwrap_err();
    assert!(matches!(refused, DecodeError::Value { field: "count", at: 1, got: -2, .. }), "{refused}");
    let refused = cursor.long_count_be("position").unwrap_err();
    assert!(matches!(refused, DecodeError::Value { field: "position", at: 5, got: -3, .. }), "{refused}");
}

#[test]
fn vints_of_every_length_are_read_and_truncated_ones_are_not() {
    let cases: [(&[u8], u64); 6] = [
        (&[0], 0),
        (&[0x7f], 127),
        (&[0x80, 0x80], 128),
        (&[0xc1, 0x06, 0x6e], 0x1066e),
        (&[0xfe, 1, 2, 3, 4, 5, 6, 7], 0x01_0203_0405_0607),
        (&[0xff; 9], u64::MAX),
    ];
    for (bytes, value) in cases {
        assert_eq!(Cursor::new(bytes).vint("v"), Ok(value), "{bytes:x?}");
        for len in 0..bytes.len() {
            let mut cursor = Cursor::new(&bytes[..len]);
            assert!(cursor.vint("v").is_err(), "{bytes:x?}");
            assert_eq!(cursor.at(), 0);
        }
    }
    assert!(Cursor::new(&[0xff; 9]).vint_position("p").is_err());
}

#[test]
fn varints_come_back_and_take_the_fewest_bytes() {
    for (value, len) in [(0, 1), (127, 1), (128, 2), (u64::from(u32::MAX), 5), (u64::MAX, 10)] {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, value);
        assert_eq!(bytes.len(), len);
        let mut cursor = Cursor::new(&bytes);
        assert_eq!(cursor.varint64("x"), Ok(value));
        assert_eq!(cursor.offset(), bytes.len());
    }
    for value in [0, 1, -1, 63, -64, i64::MAX, i64::MIN] {
        let mut bytes = Vec::new();
        put_zigzag(&mut bytes, value);
        assert_eq!(Cursor::new(&bytes).zigzag64("x"), Ok(value));
    }
}

#[test]
fn a_varint_that_never_ends_or_overflows_is_refused_where_it_begins() {
    let endless = [0xff; 12];
    let refused = Cursor::at_offset(&endless, 1).varint64("size").unwrap_err();
    assert!(matches!(refused, DecodeError::Value { field: "size", at: 1, .. }), "{refused}");
    let short = Cursor::new(&[0x80, 0x80]).varint64("size").unwrap_err();
    assert_eq!(short, DecodeError::Truncated { field: "size", at: 0, need: 3, have: 2 });
    assert!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x10]).varint32("size").is_err());
    assert_eq!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x0f]).varint32("size"), Ok(u32::MAX));
}

#[test]
fn only_the_shortest_form_of_a_varint_is_accepted_where_required() {
    let shortest = |bytes: &[u8]| Cursor::new(bytes).shortest_varint("len", "its shortest form");
    assert_eq!(shortest(&[0]), Ok(0));
    assert_eq!(shortest(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok(u32::MAX.into()));
    for overlong in [&[0x80, 0][..], &[0x81, 0x80, 0], &[0x80, 0x80, 0x80, 0x80, 0x80, 1]] {
        let refused = shortest(overlong).unwrap_err();
        assert!(matches!(refused, DecodeError::Value { field: "len", at: 0, .. }), "{refused}");
    }
    for short in [&[][..], &[0x80], &[0xff, 0xff, 0xff]] {
        let need = short.len() as u64 + 1;
        let have = short.len() as u64;
        assert_eq!(shortest(short), Err(DecodeError::Truncated { field: "len", at: 0, need, have }));
    }
}

#[test]
fn pointers_past_the_end_are_refused_and_one_to_the_end_is_empty() {
    assert!(Cursor::pointed(&[1, 2], "root", 3).is_err());
    assert!(Cursor::pointed(&[1, 2], "root", u64::MAX).is_err());
    assert_eq!(Cursor::pointed(&[1, 2], "root", 2).unwrap().remaining(), 0);
}

#[test]
fn a_part_ends_where_its_length_says_and_counts_from_the_same_front() {
    let mut cursor = Cursor::new(&[1, 2, 3, 4, 5]);
    cursor.take("front", 1).unwrap();
    let mut part = cursor.part("part", 2).unwrap();
    assert_eq!((part.u8("a"), part.u8("b")), (Ok(2), Ok(3)));
    assert_eq!(part.u8("c"), Err(DecodeError::Truncated { field: "c", at: 3, need: 1, have: 0 }));
    assert_eq!(cursor.u8("behind"), Ok(4));
    assert!(cursor.part("part", 2).is_err());
}
