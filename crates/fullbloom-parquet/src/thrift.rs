//! A walk over a struct in Thrift's compact encoding, before the parquet crate reads it.
//!
//! That crate allocates what a file announces: lists of the footer by their length, pages by their size. So
//! both are compared with the bytes that are there, and with limits, first.

/// Nested deeper than anything in Parquet's definition.
const DEEPEST: usize = 32;

/// Something on the way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Met {
    /// The beginning of a struct inside another.
    Struct,
    /// The value of an integer field or element.
    Number(i64),
}

/// Walks over the struct at the beginning of `bytes`. Calls `met` for each struct in it and for each integer,
/// with the field ids that lead there; 0 stands for the elements of a list. Returns the length of the struct;
/// `None` if it is malformed, or announces more than there is.
pub(crate) fn walk(bytes: &[u8], mut met: impl FnMut(&[i16], Met)) -> Option<usize> {
    let mut walker = Walker { rest: bytes, path: Vec::new(), met: &mut met };
    walker.fields()?;
    Some(bytes.len() - walker.rest.len())
}

struct Walker<'a, F> {
    rest: &'a [u8],
    path: Vec<i16>,
    met: &'a mut F,
}

impl<F: FnMut(&[i16], Met)> Walker<'_, F> {
    fn fields(&mut self) -> Option<()> {
        if self.path.len() >= DEEPEST {
            return None;
        }
        let mut last = 0i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            last = match head >> 4 {
                0 => i16::try_from(zigzag(self.varint()?)).ok()?,
                step => last.checked_add(step.into())?,
            };
            self.path.push(last);
            // The value of a boolean field is in its type.
            if !matches!(head & 0xf, 1 | 2) {
                self.value(head & 0xf)?;
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8) -> Option<()> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => {
                let value = zigzag(self.varint()?);
                (self.met)(&self.path, Met::Number(value));
                Some(())
            }
            7 => self.skip(8),
            8 => {
                let len = self.varint()?;
                self.skip(len)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                self.elements(count, &[head & 0xf])
            }
            11 => {
                let count = self.varint()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                self.elements(count, &[kinds >> 4, kinds & 0xf])
            }
            12 => {
                (self.met)(&self.path, Met::Struct);
                self.fields()
            }
            13 => self.skip(16),
            _ => None,
        }
    }

    /// `count` times values of these kinds. Each takes a byte at least.
    fn elements(&mut self, count: u64, kinds: &[u8]) -> Option<()> {
        if count > self.rest.len() as u64 || self.path.len() >= DEEPEST {
            return None;
        }
        self.path.push(0);
        for _ in 0..count {
            for kind in kinds {
                self.value(*kind)?;
            }
        }
        self.path.pop();
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn skip(&mut self, len: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(len).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_path_and_the_length_is_that_of_the_struct() {
        // 1: i32 3, 2: struct { 1: i64 -1, 3: "ab" }, 5: true, 6: list of two i32, 7: double, then a byte.
        let bytes = [
            &[0x15, 6, 0x1c, 0x16, 1, 0x28, 2, b'a', b'b', 0, 0x31, 0x19, 0x25, 2, 4, 0x17][..],
            &[0; 8],
            &[0, 9],
        ]
        .concat();
        let mut found = Vec::new();
        assert_eq!(walk(&bytes, |path, met| found.push((path.to_vec(), met))), Some(bytes.len() - 1));
        let number = Met::Number;
        let inner = [(vec![2], Met::Struct), (vec![2, 1], number(-1))];
        let outer = [(vec![1], number(3)), (vec![6, 0], number(1)), (vec![6, 0], number(2))];
        assert_eq!(found, [&outer[..1], &inner, &outer[1..]].concat());
        for len in 0..bytes.len() - 1 {
            assert_eq!(walk(&bytes[..len], |_, _| {}), None, "{len}");
        }
    }

    #[test]
    fn a_list_longer_than_the_bytes_and_endless_nesting_are_refused() {
        assert_eq!(walk(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7, 0, 0], |_, _| {}), None);
        assert_eq!(walk(&[0x1c; 1000], |_, _| {}), None);
        assert_eq!(walk(&[0x19; 1000], |_, _| {}), None);
        assert_eq!(walk(&[0x19, 0, 0], |_, _| {}), Some(3), "an empty list has no type");
    }
}
