//! The keys of an iterator, kept so that they can be counted first and read again: in memory up to a bound,
//! beyond it in a temporary file.
//!
//! ```text
//!   | length: u64 | count: u64 | kind of each: u8 | numbers: u64 each | length of each text: varint
//!   | texts |
//! ```
//!
//! One such frame for each group of keys. Python's objects take five to ten times as much.

use crate::errors::value;
use crate::keys::{Gathered, Kind};
use fullbloom_core::wire::put_varint;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator};

/// Frames of this many bytes are kept in memory; then they are moved to the file.
const MEMORY: usize = 8 << 20;

/// Keys that have been read.
#[derive(Default)]
pub struct Spool<'py> {
    /// Python's own temporary file, which the system removes with the process.
    file: Option<Bound<'py, PyAny>>,
    /// Frames that are not in the file: the last ones.
    recent: Vec<u8>,
    count: u64,
}

impl<'py> Spool<'py> {
    /// Reads all keys of an iterator.
    pub fn of(mut keys: Bound<'py, PyIterator>) -> PyResult<Spool<'py>> {
        let (mut spool, mut gathered) = (Spool::default(), Gathered::default());
        while gathered.fill(&mut keys)? {
            spool.count += gathered.count() as u64;
            push(&gathered, &mut spool.recent);
            if spool.recent.len() >= MEMORY {
                spool.move_to_file(keys.py())?;
            }
            keys.py().check_signals()?;
        }
        Ok(spool)
    }

    fn move_to_file(&mut self, py: Python<'py>) -> PyResult<()> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(py.import("tempfile")?.call_method0("TemporaryFile")?),
        };
        file.call_method1("write", (PyBytes::new(py, &self.recent),))?;
        self.recent.clear();
        Ok(())
    }

    /// How many keys there are, nulls included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Reads the keys again, from the first on.
    pub fn read(&self) -> PyResult<Reader<'_, 'py>> {
        if let Some(file) = &self.file {
            file.call_method1("seek", (0,))?;
        }
        Ok(Reader { file: self.file.as_ref(), recent: &self.recent })
    }
}

/// Python warns of files that nobody closed.
impl Drop for Spool<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            let _ = file.call_method0("close"); // what was written is not needed any more
        }
    }
}

/// The groups of keys of a [`Spool`], one after the other.
pub struct Reader<'a, 'py> {
    file: Option<&'a Bound<'py, PyAny>>,
    recent: &'a [u8],
}

impl Reader<'_, '_> {
    /// Takes the next group. Returns false after the last one.
    pub fn fill(&mut self, gathered: &mut Gathered) -> PyResult<bool> {
        if let Some(file) = self.file {
            let read =
                |len: u64| file.call_method1("read", (len,))?.cast_into::<PyBytes>().map_err(PyErr::from);
            if let Some(len) = number(&mut read(8)?.as_bytes()) {
                return take(&mut read(len)?.as_bytes(), gathered).ok_or_else(damaged).map(|()| true);
            }
            self.file = None; // at its end
        }
        let Some(len) = number(&mut self.recent) else { return Ok(false) };
        let mut frame = self.recent.split_off(..len as usize).ok_or_else(damaged)?;
        take(&mut frame, gathered).ok_or_else(damaged).map(|()| true)
    }
}

fn damaged() -> PyErr {
    value("the temporary file of the keys has been changed")
}

fn push(gathered: &Gathered, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&(gathered.count() as u64).to_le_bytes());
    out.extend(gathered.kinds.iter().map(|kind| *kind as u8));
    out.extend(gathered.numbers.iter().flat_map(|number| number.to_le_bytes()));
    for ends in gathered.offsets.windows(2) {
        put_varint(out, (ends[1] - ends[0]) as u64);
    }
    out.extend_from_slice(&gathered.data);
    let len = (out.len() - start - 8) as u64;
    out[start..start + 8].copy_from_slice(&len.to_le_bytes());
}

/// The group of a frame without its length; `None` if the frame is not one that was written.
fn take(frame: &mut &[u8], gathered: &mut Gathered) -> Option<()> {
    gathered.clear();
    let count = usize::try_from(number(frame)?).ok()?;
    for kind in frame.split_off(..count)? {
        gathered.kinds.push(Kind::ALL.into_iter().find(|known| *known as u8 == *kind)?);
    }
    for _ in gathered.kinds.iter().filter(|kind| **kind == Kind::Number) {
        gathered.numbers.push(number(frame)?);
    }
    let mut end = 0i64;
    for _ in gathered.kinds.iter().filter(|kind| **kind == Kind::Bytes) {
        end = end.checked_add_unsigned(varint(frame)?)?;
        gathered.offsets.push(end);
    }
    gathered.data.extend_from_slice(frame);
    (end as u64 == frame.len() as u64).then_some(())
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*number))
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}
