//! The C functions with Rust types; only casts are hidden.
#![allow(unsafe_code)]

use fullbloom_any::KeyHash;
use fullbloom_c::dialect::number;
pub use fullbloom_c::dynamic::Dynamic;
use fullbloom_c::facts::{Facts, fullbloom_filter_facts};
use fullbloom_c::filter::*;
use fullbloom_c::handle;
use fullbloom_c::hash::*;
use fullbloom_c::sizing::Sizing;
use fullbloom_c::status::{Status, fullbloom_message};
use fullbloom_dialects::Name;
use std::ffi::{CStr, CString, c_void};
use std::path::Path;
use std::ptr::null_mut;

pub fn sizing(expected_keys: u64) -> Sizing {
    Sizing {
        struct_size: size_of::<Sizing>(),
        expected_keys,
        fpr: 0.0,
        bits_per_key: 0.0,
        bits: 0,
        probes: 0,
        secret: std::ptr::null(),
    }
}

pub fn message() -> String {
    // SAFETY: the message is a C string that lives until this thread makes the next call.
    unsafe { CStr::from_ptr(fullbloom_message()) }.to_str().unwrap().to_owned()
}

/// A handle that frees itself.
pub struct Filter(pub *mut handle::Filter);

// SAFETY: the C interface allows questions to one filter from several threads, and the tests ask nothing
// else.
unsafe impl Sync for Filter {}

impl Drop for Filter {
    fn drop(&mut self) {
        // SAFETY: the handle was made by the library and is freed once, here.
        assert_eq!(unsafe { fullbloom_filter_free(&mut self.0) }, Status::Ok);
        assert!(self.0.is_null());
    }
}

pub type Made = Result<Filter, Status>;

fn made(call: impl FnOnce(*mut *mut handle::Filter) -> Status) -> Made {
    let mut filter = std::ptr::without_provenance_mut(8); // overwritten whatever happens
    match call(&mut filter) {
        Status::Ok => Ok(Filter(filter)),
        status => {
            assert!(filter.is_null(), "a failed call leaves NULL");
            Err(status)
        }
    }
}

pub fn create(dialect: Name, sizing: &Sizing) -> Made {
    // SAFETY: `out` has room for a handle; other pointers are to values that outlive the call.
    made(|out| unsafe { fullbloom_filter_create(number(dialect), sizing, out) })
}

/// A set; FULLBLOOM_DYNAMIC_INIT.
pub const SET: Dynamic = Dynamic {
    struct_size: size_of::<Dynamic>(),
    up_to: 0,
    expire_ms: 0,
    expire_keys: 0,
    generations: 0,
    refresh: 0,
    deletable: 0,
    reserved: [0; 2],
};

pub fn dynamic(sizing: &Sizing, dynamic: &Dynamic) -> Made {
    // SAFETY: `out` has room for a handle; other pointers are to values that outlive the call.
    made(|out| unsafe { fullbloom_filter_create_dynamic(sizing, dynamic, out) })
}

pub fn view(dialect: i32, bytes: &[u8], (bits, probes): (u64, u32)) -> Made {
    // SAFETY: `out` has room for a handle; other pointers are to values that outlive the call.
    made(|out| unsafe {
        fullbloom_filter_view(dialect, bytes.as_ptr().cast(), bytes.len(), bits, probes, out)
    })
}

pub fn decode(dialect: i32, bytes: &[u8], (bits, probes): (u64, u32)) -> Made {
    // SAFETY: `out` has room for a handle; other pointers are to values that outlive the call.
    made(|out| unsafe {
        fullbloom_filter_decode(dialect, bytes.as_ptr().cast(), bytes.len(), bits, probes, out)
    })
}

pub fn c_path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

pub fn load(dialect: i32, path: &Path, (bits, probes): (u64, u32)) -> Made {
    // SAFETY: `out` has room for a handle; other pointers are to values that outlive the call.
    made(|out| unsafe { fullbloom_filter_load(dialect, c_path(path).as_ptr(), bits, probes, out) })
}

pub fn open(dialect: i32, path: &Path, (bits, probes): (u64, u32)) -> Made {
    // SAFETY: `out` has room for a handle; other pointers are to values that outlive the call.
    made(|out| unsafe { fullbloom_filter_open(dialect, c_path(path).as_ptr(), bits, probes, out) })
}

impl Filter {
    pub fn insert(&self, key: &[u8]) -> Result<bool, Status> {
        let mut changed = false;
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        let status = unsafe { fullbloom_filter_insert(self.0, key.as_ptr().cast(), key.len(), &mut changed) };
        if status == Status::Ok { Ok(changed) } else { Err(status) }
    }

    pub fn remove(&self, key: &[u8]) -> Result<bool, Status> {
        let mut removed = false;
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        let status = unsafe { fullbloom_filter_remove(self.0, key.as_ptr().cast(), key.len(), &mut removed) };
        if status == Status::Ok { Ok(removed) } else { Err(status) }
    }

    pub fn advance(&self, now_ms: u64) -> Status {
        // SAFETY: the handle lives as long as `self`.
        unsafe { fullbloom_filter_advance(self.0, now_ms) }
    }

    pub fn may_contain(&self, key: &[u8]) -> Result<bool, Status> {
        let mut answer = false;
        let status =
            // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
            unsafe { fullbloom_filter_may_contain(self.0, key.as_ptr().cast(), key.len(), &mut answer) };
        if status == Status::Ok {
            return Ok(answer);
        }
        assert!(answer, "a failed call says maybe");
        Err(status)
    }

    pub fn hash(&self, key: &[u8]) -> Result<KeyHash, Status> {
        // SAFETY: a struct of integers: any bytes are a value of each.
        let mut hash: KeyHash = unsafe { std::mem::transmute([0xaau8; 32]) };
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        match unsafe { fullbloom_filter_hash(self.0, key.as_ptr().cast(), key.len(), &mut hash) } {
            Status::Ok => Ok(hash),
            status => {
                assert!(hash == no_hash(), "a failed call leaves zeros");
                Err(status)
            }
        }
    }

    pub fn insert_hash(&self, hash: &KeyHash) -> Result<bool, Status> {
        let mut changed = false;
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        let status = unsafe { fullbloom_filter_insert_hash(self.0, hash, &mut changed) };
        if status == Status::Ok { Ok(changed) } else { Err(status) }
    }

    pub fn insert_hashes(&self, hashes: &[KeyHash]) -> Status {
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        unsafe { fullbloom_filter_insert_hash_batch(self.0, hashes.as_ptr(), hashes.len()) }
    }

    pub fn may_contain_hash(&self, hash: &KeyHash) -> Result<bool, Status> {
        let mut answer = false;
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        let status = unsafe { fullbloom_filter_may_contain_hash(self.0, hash, &mut answer) };
        if status == Status::Ok {
            return Ok(answer);
        }
        assert!(answer, "a failed call says maybe");
        Err(status)
    }

    pub fn answers_of_hashes(&self, hashes: &[KeyHash]) -> Result<Vec<bool>, Status> {
        let mut answers = vec![false; hashes.len()];
        let (start, out) = (hashes.as_ptr(), answers.as_mut_ptr());
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        let status = unsafe { fullbloom_filter_may_contain_hash_batch(self.0, start, hashes.len(), out) };
        if status == Status::Ok {
            return Ok(answers);
        }
        assert!(answers.iter().all(|&answer| answer), "a failed call says maybe");
        Err(status)
    }

    pub fn insert_batch(&self, keys: &[&[u8]]) -> Status {
        let (starts, lens) = arrays(keys);
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        unsafe { fullbloom_filter_insert_batch(self.0, starts.as_ptr(), lens.as_ptr(), keys.len()) }
    }

    pub fn answers(&self, keys: &[&[u8]]) -> Result<Vec<bool>, Status> {
        let (starts, lens) = arrays(keys);
        let mut answers = vec![false; keys.len()];
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        let status = unsafe {
            fullbloom_filter_may_contain_batch(
                self.0,
                starts.as_ptr(),
                lens.as_ptr(),
                keys.len(),
                answers.as_mut_ptr(),
            )
        };
        if status == Status::Ok {
            return Ok(answers);
        }
        assert!(answers.iter().all(|&answer| answer), "a failed call says maybe");
        Err(status)
    }

    pub fn finish(&self) -> Status {
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        unsafe { fullbloom_filter_finish(self.0) }
    }

    pub fn clear(&self) -> Status {
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        unsafe { fullbloom_filter_clear(self.0) }
    }

    pub fn merge(&self, other: &Filter) -> Status {
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        unsafe { fullbloom_filter_merge(self.0, other.0) }
    }

    pub fn save(&self, path: &Path) -> Status {
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        unsafe { fullbloom_filter_save(self.0, c_path(path).as_ptr()) }
    }

    pub fn encode(&self) -> Result<Vec<u8>, Status> {
        let mut len = 0;
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        match unsafe { fullbloom_filter_encode(self.0, null_mut(), 0, &mut len) } {
            Status::Buffer => {}
            Status::Ok => assert_eq!(len, 0),
            status => return Err(status),
        }
        let mut bytes = vec![0xaa; len as usize];
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        let status = unsafe {
            fullbloom_filter_encode(self.0, bytes.as_mut_ptr().cast::<c_void>(), bytes.len(), &mut len)
        };
        assert_eq!((status, len), (Status::Ok, bytes.len() as u64));
        Ok(bytes)
    }

    pub fn facts(&self) -> Result<Facts, Status> {
        let mut facts = empty_facts();
        // SAFETY: the handle lives as long as `self`; other pointers are to values that outlive the call.
        match unsafe { fullbloom_filter_facts(self.0, &mut facts) } {
            Status::Ok => Ok(facts),
            status => Err(status),
        }
    }
}

fn arrays(keys: &[&[u8]]) -> (Vec<*const c_void>, Vec<usize>) {
    (keys.iter().map(|key| key.as_ptr().cast()).collect(), keys.iter().map(|key| key.len()).collect())
}

/// A hash that belongs to no filter.
pub fn no_hash() -> KeyHash {
    // SAFETY: a struct of integers: all zeros is a value of each.
    unsafe { std::mem::zeroed() }
}

pub fn empty_facts() -> Facts {
    // SAFETY: a struct of numbers, flags and pointers: all zeros is a value of each.
    let mut facts: Facts = unsafe { std::mem::zeroed() };
    facts.struct_size = size_of::<Facts>();
    facts
}
