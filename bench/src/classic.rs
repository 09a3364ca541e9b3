//! The dialects that set bits over one whole array, beside libbloom 1.6 where it is installed.

use crate::harness::{Contender, Row, compete, mix, print};
use fullbloom::{Cassandra, Filter, Libbloom, Libbloom1};
use std::cell::RefCell;
use std::ffi::{c_int, c_void};

/// libbloom 1.6's `struct bloom`.
#[repr(C)]
struct Bloom {
    entries: c_int,
    error: f64,
    bits: c_int,
    bytes: c_int,
    hashes: c_int,
    bpe: f64,
    bf: *mut u8,
    ready: c_int,
}

type Init = unsafe extern "C" fn(*mut Bloom, c_int, f64) -> c_int;
type Key = unsafe extern "C" fn(*mut Bloom, *const c_void, c_int) -> c_int;
type Reset = unsafe extern "C" fn(*mut Bloom) -> c_int;

/// A filter of the real library.
struct Original {
    bloom: RefCell<Bloom>,
    add: Key,
    check: Key,
    reset: Reset,
    _library: libloading::Library,
}

impl Original {
    fn new(entries: u64) -> Result<Original, libloading::Error> {
        // SAFETY: libbloom has no initialisers; its functions have the types of its header.
        unsafe {
            let library = libloading::Library::new("libbloom.so.1")?;
            let init = *library.get::<Init>(b"bloom_init")?;
            let (add, check) = (*library.get::<Key>(b"bloom_add")?, *library.get::<Key>(b"bloom_check")?);
            let reset = *library.get::<Reset>(b"bloom_reset")?;
            let mut bloom: Bloom = std::mem::zeroed();
            assert_eq!(init(&mut bloom, entries as c_int, RATE), 0);
            Ok(Original { bloom: RefCell::new(bloom), add, check, reset, _library: library })
        }
    }

    fn add(&self, key: &[u8]) -> u64 {
        // SAFETY: `bloom` was made by `bloom_init`, and the key's bytes are there.
        unsafe { (self.add)(&mut *self.bloom.borrow_mut(), key.as_ptr().cast(), key.len() as c_int) as u64 }
    }

    fn check(&self, key: &[u8]) -> u64 {
        // SAFETY: as in `add`.
        unsafe { (self.check)(&mut *self.bloom.borrow_mut(), key.as_ptr().cast(), key.len() as c_int) as u64 }
    }

    fn reset(&self) {
        // SAFETY: as in `add`.
        unsafe { (self.reset)(&mut *self.bloom.borrow_mut()) };
    }
}

const RATE: f64 = 0.01;

/// Runs at one filter size; `bytes` is about that of a filter for a rate of 0.01.
pub fn run(bytes: u64, rounds: usize) -> Vec<Row> {
    let entries = bytes * 8 * 100 / 959;
    let original = Original::new(entries);
    if let Err(e) = &original {
        println!("libbloom 1.6 is not here ({e}); on Debian: apt-get install libbloom1");
    }
    let original = original.ok();
    let key = |i: u64| mix(i).to_le_bytes();
    let asked = entries.min(1_000_000) as usize;
    let keys: Vec<[u8; 8]> = (0..entries).map(key).collect();
    let hits: Vec<[u8; 8]> = (0..asked as u64).map(|i| key(mix(i) % entries)).collect();
    let misses: Vec<[u8; 8]> = (0..asked as u64).map(|i| key(i + (1 << 40))).collect();

    let one = RefCell::new(Filter::<Libbloom1>::with_fpr(entries, RATE).expect("sized"));
    let two = RefCell::new(Filter::<Libbloom>::with_fpr(entries, RATE).expect("sized"));
    let cassandra = RefCell::new(Filter::<Cassandra>::with_fpr(entries, RATE).expect("sized"));
    let mut rows = Vec::new();
    let mut round = |mode: &str, count: usize, contenders: Vec<Contender<'_>>| {
        let measured = compete(mode, bytes, count, rounds, contenders);
        print(&format!("{mode}, filters of {} KiB, {count} keys of 8 bytes", bytes >> 10), &measured);
        rows.extend(measured);
    };

    macro_rules! ours {
        ($name:expr, $filter:ident, $keys:expr, insert) => {
            Contender {
                filter: $name,
                prepare: Box::new(|| $filter.borrow_mut().clear()),
                run: Box::new(|| $keys.iter().map(|k| u64::from($filter.borrow_mut().insert(k))).sum()),
            }
        };
        ($name:expr, $filter:ident, $keys:expr, ask) => {
            Contender {
                filter: $name,
                prepare: Box::new(|| {}),
                run: Box::new(|| {
                    let filter = $filter.borrow();
                    $keys.iter().map(|k| u64::from(filter.may_contain(k))).sum()
                }),
            }
        };
        ($name:expr, $filter:ident, $keys:expr, batch) => {
            Contender {
                filter: $name,
                prepare: Box::new(|| {}),
                run: Box::new(|| {
                    let mut answers = vec![false; $keys.len()];
                    $filter.borrow().may_contain_batch($keys, &mut answers);
                    answers.iter().map(|answer| u64::from(*answer)).sum()
                }),
            }
        };
    }

    let mut contenders = Vec::new();
    if let Some(original) = &original {
        contenders.push(Contender {
            filter: "libbloom 1.6",
            prepare: Box::new(|| original.reset()),
            run: Box::new(|| keys.iter().map(|k| original.add(k)).sum()),
        });
    }
    contenders.push(ours!("fullbloom libbloom-1", one, keys, insert));
    contenders.push(ours!("fullbloom libbloom", two, keys, insert));
    contenders.push(ours!("fullbloom cassandra", cassandra, keys, insert));
    round("insert", keys.len(), contenders);

    for (mode, asked) in [("single, present", &hits), ("single, absent", &misses)] {
        let mut contenders = Vec::new();
        if let Some(original) = &original {
            contenders.push(Contender {
                filter: "libbloom 1.6",
                prepare: Box::new(|| {}),
                run: Box::new(|| asked.iter().map(|k| original.check(k)).sum()),
            });
        }
        contenders.push(ours!("fullbloom libbloom-1", one, asked, ask));
        contenders.push(ours!("fullbloom libbloom", two, asked, ask));
        contenders.push(ours!("fullbloom cassandra", cassandra, asked, ask));
        contenders.push(ours!("  batch, libbloom-1", one, asked, batch));
        contenders.push(ours!("  batch, libbloom", two, asked, batch));
        contenders.push(ours!("  batch, cassandra", cassandra, asked, batch));
        round(mode, asked.len(), contenders);
    }
    rows
}
