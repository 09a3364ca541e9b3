//! Files that the browser reads: only the parts that are needed, in pieces.

use crate::{json, problem};
use fullbloom_ops::{KeySpec, Look, LookOptions};
use fullbloom_table::Source;
use serde::Serialize;
use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    /// Fills `out` with the bytes of file number `file` from `at` on; false if they cannot be read.
    #[wasm_bindgen(js_name = fullbloomRead)]
    fn read_file(file: u32, at: f64, out: &mut [u8]) -> bool;
}

/// Read at once, so that the browser never holds more than one piece beside the filter.
const PIECE: usize = 4 << 20;

/// Fills the bytes with those of the file from an offset on; false if they cannot be read.
type Fill = dyn Fn(f64, &mut [u8]) -> bool + Send + Sync;

/// A file that the page holds.
struct PageFile {
    len: u64,
    fill: Box<Fill>,
}

impl Source for PageFile {
    fn byte_len(&self) -> u64 {
        self.len
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Cow<'_, [u8]>> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| {
            io::Error::other(format!("{len} bytes do not fit into the memory of this page: use the command"))
        })?;
        bytes.resize(len, 0);
        for (number, piece) in bytes.chunks_mut(PIECE).enumerate() {
            if !(self.fill)((offset + (number * PIECE) as u64) as f64, piece) {
                return Err(io::Error::other("the browser cannot read the file: it was changed or moved"));
            }
        }
        Ok(Cow::Owned(bytes))
    }
}

/// An open file.
#[wasm_bindgen]
pub struct Looked {
    look: Look,
}

/// What the page draws beside the report.
#[derive(Serialize)]
struct Drawn {
    /// The share of set bits in each part of the array; empty without one array.
    fill: Vec<f64>,
    /// Bits of the array, as the positions of probes count them.
    array_len: u64,
}

/// Opens file number `file`, which has `len` bytes. `now` is in milliseconds since 1970; `dialect` is empty if
/// the file shall say it. `bits` and `probes` are for raw bits, and 0 elsewhere.
#[wasm_bindgen]
pub fn look(
    name: &str,
    file: u32,
    len: f64,
    now: f64,
    dialect: &str,
    bits: f64,
    probes: u32,
) -> Result<Looked, String> {
    let fill = Box::new(move |at, out: &mut [u8]| read_file(file, at, out));
    open(name, PageFile { len: len as u64, fill }, now, dialect, (bits, probes))
}

fn open(
    name: &str,
    file: PageFile,
    now: f64,
    dialect: &str,
    (bits, probes): (f64, u32),
) -> Result<Looked, String> {
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now as u64);
    let mut options = LookOptions::at(now);
    if !dialect.is_empty() {
        let name = dialect.parse().map_err(|e: fullbloom_dialects::error::UnknownName| e.to_string())?;
        options.read.dialect = Some(name);
    }
    if bits > 0.0 && probes > 0 {
        options.read.geometry = Some((bits as u64, probes));
    }
    let source: Arc<dyn Source> = Arc::new(file);
    let look = Look::open_with(name, source, Vec::new(), &options).map_err(|e| problem(&e))?;
    Ok(Looked { look })
}

#[wasm_bindgen]
impl Looked {
    /// What `fullbloom inspect --json` prints.
    pub fn report(&self) -> String {
        json(self.look.report())
    }

    /// What to do about each problem of the report, in order.
    pub fn next_steps(&self) -> String {
        let steps: Vec<Option<&str>> =
            self.look.report().problems().map(|problem| problem.hint.as_deref()).collect();
        json(&steps)
    }

    /// The fill along the array of filter number `index`.
    pub fn drawn(&self, index: usize) -> String {
        json(&Drawn { fill: self.look.fill(index), array_len: self.look.array_len(index) })
    }

    /// Looks up a key, written as `spec` says: `hex`, a type such as `int` or `uuid`, or nothing for
    /// what the file suggests.
    pub fn lookup(&self, index: usize, key: &str, spec: &str) -> Result<String, String> {
        let answer = match spec {
            "hex" => self.look.lookup(index, &unhex(key)?, Some(&KeySpec::BYTES)),
            "" => self.look.lookup(index, key.as_bytes(), None),
            named => self.look.lookup(index, key.as_bytes(), Some(&named.parse()?)),
        };
        answer.map(|answer| json(&answer))
    }
}

/// The bytes of hex digits; spaces are ignored.
fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).ok_or_else(|| format!("{c:?} is not a hex digit")))
        .collect::<Result<_, _>>()?;
    match digits.as_chunks::<2>() {
        (pairs, []) => Ok(pairs.iter().map(|[high, low]| (high << 4 | low) as u8).collect()),
        _ => Err("an odd number of hex digits".to_owned()),
    }
}

#[cfg(test)]
mod tests;
