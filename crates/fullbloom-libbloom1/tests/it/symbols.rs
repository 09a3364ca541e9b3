//! The shared library's name and symbols are the original's, no more and no fewer.
#![allow(unsafe_code)]

use crate::library::{FILE, dynamic::Elf};

#[test]
fn soname_and_symbols_are_those_of_the_list() {
    let elf = Elf::read(FILE);
    assert_eq!(elf.soname, "libbloom.so.1");
    assert!(
        elf.exports.iter().map(String::as_str).eq(include_str!("../../abi/symbols").lines()),
        "{:?}",
        elf.exports
    );
}
