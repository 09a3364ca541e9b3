//! The structures of Arrow's C data interface, as its specification lays them out.
#![allow(unsafe_code)]

use crate::errors::{value, wrong_type};
use pyo3::ffi::c_str;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

pub(super) const SCHEMA: &CStr = c_str!("arrow_schema");
pub(super) const ARRAY: &CStr = c_str!("arrow_array");
pub(super) const STREAM: &CStr = c_str!("arrow_array_stream");

/// `struct ArrowSchema`: a type.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Schema {
    pub(super) format: *const c_char,
    pub(super) name: *const c_char,
    pub(super) metadata: *const c_char,
    pub(super) flags: i64,
    pub(super) n_children: i64,
    pub(super) children: *mut *mut Schema,
    pub(super) dictionary: *mut Schema,
    pub(super) release: Option<unsafe extern "C" fn(*mut Schema)>,
    pub(super) private_data: *mut c_void,
}

/// `struct ArrowArray`: data.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Array {
    pub(super) length: i64,
    pub(super) null_count: i64,
    pub(super) offset: i64,
    pub(super) n_buffers: i64,
    pub(super) n_children: i64,
    pub(super) buffers: *mut *const c_void,
    pub(super) children: *mut *mut Array,
    pub(super) dictionary: *mut Array,
    pub(super) release: Option<unsafe extern "C" fn(*mut Array)>,
    pub(super) private_data: *mut c_void,
}

/// `struct ArrowArrayStream`: data that comes in pieces.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

macro_rules! released_by_itself {
    ($($structure:ident)*) => {
        $(
            // SAFETY: the specification lets a structure be used and released by any thread, one at a time.
            unsafe impl Send for $structure {}

            impl Drop for $structure {
                fn drop(&mut self) {
                    if let Some(release) = self.release {
                        // SAFETY: it has not been released yet, or its callback would be null; nobody uses it
                        // any more.
                        unsafe { release(self) }
                    }
                }
            }
        )*
    };
}
released_by_itself!(Schema Array Stream);
// SAFETY: what is read of an array is not changed by anybody until it is released, which needs it whole.
unsafe impl Sync for Array {}

impl Schema {
    pub(super) const EMPTY: Schema = Schema {
        format: ptr::null(),
        name: ptr::null(),
        metadata: ptr::null(),
        flags: 0,
        n_children: 0,
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: None,
        private_data: ptr::null_mut(),
    };
}

impl Array {
    pub(super) const EMPTY: Array = Array {
        length: 0,
        null_count: 0,
        offset: 0,
        n_buffers: 0,
        n_children: 0,
        buffers: ptr::null_mut(),
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: None,
        private_data: ptr::null_mut(),
    };
}

impl Stream {
    const EMPTY: Stream = Stream {
        get_schema: None,
        get_next: None,
        get_last_error: None,
        release: None,
        private_data: ptr::null_mut(),
    };

    /// The type of its pieces.
    pub(super) fn schema(&mut self) -> PyResult<Schema> {
        let mut schema = Schema::EMPTY;
        let get = self.get_schema.ok_or_else(|| wrong_type("the Arrow stream has been read already"))?;
        // SAFETY: the stream has not been released: `get_schema` is there.
        match unsafe { get(self, &raw mut schema) } {
            0 => Ok(schema),
            code => Err(self.failed(code)),
        }
    }

    /// The next piece; `None` at the end.
    pub(super) fn next(&mut self) -> PyResult<Option<Array>> {
        let mut array = Array::EMPTY;
        let get = self.get_next.ok_or_else(|| wrong_type("the Arrow stream has been read already"))?;
        // SAFETY: as above.
        match unsafe { get(self, &raw mut array) } {
            0 => Ok(array.release.is_some().then_some(array)),
            code => Err(self.failed(code)),
        }
    }

    fn failed(&mut self, code: c_int) -> PyErr {
        let why = match self.get_last_error {
            // SAFETY: called right after a call that failed; the text stays until the next call.
            Some(get) => unsafe {
                let text = get(self);
                if text.is_null() {
                    String::new()
                } else {
                    CStr::from_ptr(text).to_string_lossy().into_owned()
                }
            },
            None => String::new(),
        };
        value(format_args!("the Arrow stream failed with code {code}: {why}"))
    }
}

/// Held while a structure is moved out of a capsule.
static TAKING: Mutex<()> = Mutex::new(());

/// What can be moved out of a capsule.
pub(super) trait Movable: Sized {
    const NAME: &'static CStr;
    const EMPTY: Self;

    /// Takes the structure out of its capsule, which keeps an empty one, as the specification demands.
    fn take(capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        let capsule = capsule
            .cast::<PyCapsule>()
            .map_err(|_| wrong_type("an Arrow method did not return a capsule"))?;
        let place = capsule.pointer_checked(Some(Self::NAME))?.cast::<Self>();
        // Without the interpreter's lock two threads might take from one capsule; one of them gets an empty
        // structure.
        let _alone = TAKING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: a capsule of this name holds such a structure, by the PyCapsule interface, and nobody else
        // takes it now.
        Ok(unsafe { place.replace(Self::EMPTY) })
    }
}

impl Movable for Schema {
    const NAME: &'static CStr = SCHEMA;
    const EMPTY: Schema = Schema::EMPTY;
}

impl Movable for Array {
    const NAME: &'static CStr = ARRAY;
    const EMPTY: Array = Array::EMPTY;
}

impl Movable for Stream {
    const NAME: &'static CStr = STREAM;
    const EMPTY: Stream = Stream::EMPTY;
}
