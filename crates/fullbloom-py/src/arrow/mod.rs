//! Arrow arrays and streams as keys, and answers as an Arrow array, through the PyCapsule interface: no Arrow
//! library is needed, and no value is copied.

mod abi;
mod answers;
mod chunk;
mod part;
mod types;
mod validity;

pub use answers::{Answers, BooleanArray};
pub use chunk::Chunk;

use abi::{Array, Movable, Schema, Stream};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;
use types::Type;

/// Keys that come in chunks.
pub struct Chunks {
    keys: Arc<Type>,
    /// Chunks that are there already, last first.
    waiting: Vec<Chunk>,
    stream: Option<Stream>,
}

impl Chunks {
    /// The chunks of an object; `None` if it has no PyCapsule interface.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Chunks>> {
        if let Some(method) = object.getattr_opt("__arrow_c_array__")? {
            let pair = method.call0()?;
            let pair = pair.cast::<PyTuple>()?;
            let (schema, array) = (Schema::take(&pair.get_item(0)?)?, Array::take(&pair.get_item(1)?)?);
            let keys = Arc::new(Type::of(&schema)?);
            let waiting = vec![Chunk::new(array, keys.clone())?];
            return Ok(Some(Chunks { keys, waiting, stream: None }));
        }
        if let Some(method) = object.getattr_opt("__arrow_c_stream__")? {
            let capsule = match method.call0() {
                // pandas has the method, but needs pyarrow for it; then it is read in another way.
                Err(e) if e.is_instance_of::<PyImportError>(object.py()) => return Ok(None),
                called => called?,
            };
            let mut stream = Stream::take(&capsule)?;
            // A stream may need other Python threads to run.
            let keys = object.py().detach(|| Type::of(&stream.schema()?))?;
            return Ok(Some(Chunks { keys: Arc::new(keys), waiting: Vec::new(), stream: Some(stream) }));
        }
        Ok(None)
    }

    /// The next chunk. Call it detached from Python: a stream may wait for other threads.
    pub fn next(&mut self) -> PyResult<Option<Chunk>> {
        if let Some(chunk) = self.waiting.pop() {
            return Ok(Some(chunk));
        }
        let Some(stream) = &mut self.stream else { return Ok(None) };
        match stream.next()? {
            Some(array) => Chunk::new(array, self.keys.clone()).map(Some),
            None => {
                self.stream = None;
                Ok(None)
            }
        }
    }

    /// The chunks that [`count`](Chunks::count) has kept, in order.
    pub fn kept(&self) -> impl Iterator<Item = &Chunk> {
        self.waiting.iter().rev()
    }

    /// How many keys are not null. Reads all chunks and keeps them.
    pub fn count(&mut self) -> PyResult<u64> {
        let (mut all, mut count) = (Vec::new(), 0);
        while let Some(chunk) = self.next()? {
            count += (chunk.count() - chunk.nulls()?) as u64;
            all.push(chunk);
        }
        all.reverse();
        self.waiting = all;
        Ok(count)
    }
}
