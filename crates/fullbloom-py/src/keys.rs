//! A Python object as keys: one, or many.

use crate::arrow::{Answers, BooleanArray, Chunks};
use crate::column::Column;
use crate::errors::wrong_type;
use crate::run::Run;
use crate::spool::{Reader, Spool};
use fullbloom::keys::Offsets;
use fullbloom::typed::KeyType;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyFrozenSet, PyInt, PyIterator, PyList, PyRange, PyString, PyTuple, PyType,
};
use std::borrow::Cow;

/// Python objects are collected in groups of this many.
const GROUP: usize = 4096;

/// One key.
pub enum Key<'a> {
    /// Text in UTF-8, bytes, or the bytes of a UUID.
    Bytes(Cow<'a, [u8]>),
    /// An integer, a negative one in two's complement.
    Number(u64),
}

impl<'a> Key<'a> {
    /// The object as one key; `None` if it is not a key, though it may hold many.
    pub fn of(object: &'a Bound<'_, PyAny>) -> PyResult<Option<Key<'a>>> {
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Some(Key::Bytes(Cow::Borrowed(text.to_str()?.as_bytes()))));
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Some(Key::Bytes(Cow::Borrowed(bytes.as_bytes()))));
        }
        if object.is_instance_of::<PyBool>() {
            return Err(wrong_type("a bool is not a key; keys are str, bytes and int"));
        }
        if object.is_instance_of::<PyInt>() {
            return number(object).map(|number| Some(Key::Number(number)));
        }
        if let Ok(bytes) = object.cast::<PyByteArray>() {
            return Ok(Some(Key::Bytes(Cow::Owned(bytes.to_vec()))));
        }
        // NumPy's integers; its arrays of one have the method too.
        if object.hasattr("__index__")? && !object.hasattr("__len__")? {
            return number(object).map(|number| Some(Key::Number(number)));
        }
        static UUID: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        if object.is_instance(UUID.import(object.py(), "uuid", "UUID")?)? {
            let bytes: Bound<'_, PyBytes> = object.getattr("bytes")?.cast_into()?;
            return Ok(Some(Key::Bytes(Cow::Owned(bytes.as_bytes().to_vec()))));
        }
        Ok(None)
    }

    /// As [`of`](Key::of), where there must be a key or a null; `None` for a null. `among` many objects, a
    /// wrong one may be an element of a frame's column, which the error takes into account.
    pub fn or_null(object: &'a Bound<'_, PyAny>, among: bool) -> PyResult<Option<Key<'a>>> {
        if object.is_none() {
            return Ok(None);
        }
        match Key::of(object)? {
            None if is_null(object) => Ok(None),
            None => Err(no_key(object, among)),
            key => Ok(key),
        }
    }

    /// Its type, in a filter whose integers are of this type.
    pub fn key_type(&self, of_integers: KeyType) -> KeyType {
        match self {
            Key::Bytes(_) => KeyType::Bytes,
            Key::Number(_) => of_integers,
        }
    }

    /// Calls `use_run` with a run of this key alone.
    pub fn as_run<R>(&self, use_run: impl FnOnce(Run<'_>) -> R) -> R {
        match self {
            Key::Bytes(bytes) => use_run(Run::bytes(&[bytes.as_ref()])),
            Key::Number(number) => use_run(Run::Numbers(&[*number])),
        }
    }
}

fn number(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(number) = object.extract::<i64>() {
        return Ok(number.cast_unsigned());
    }
    object.extract::<u64>().map_err(|e| {
        if e.is_instance_of::<PyOverflowError>(object.py()) {
            return PyOverflowError::new_err("an integer key has 64 bits: from -2**63 to 2**64 - 1");
        }
        e
    })
}

/// Whether the object is `None`, or what pandas has in its place.
pub fn is_null(object: &Bound<'_, PyAny>) -> bool {
    object.is_none() || name_of(object) == "NAType"
}

fn name_of(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "this".to_owned(), |name| name.to_string())
}

fn no_key(object: &Bound<'_, PyAny>, among: bool) -> PyErr {
    let name = name_of(object);
    let hint = match name.as_str() {
        "date" | "datetime" | "datetime64" | "NaTType" | "Period" | "time" | "timedelta" | "timedelta64"
        | "Timedelta" | "Timestamp" => DATES,
        "float" | "float16" | "float32" | "float64" if among => FLOATS,
        _ => "",
    };
    wrong_type(format_args!("keys are str, bytes and int, not {name}{hint}"))
}

/// What to do with a column of floating-point numbers.
pub const FLOATS: &str = concat!(
    " (integers with missing values are floats in pandas: use .astype(\"Int64\"); ",
    "cast other floats to integers or text)"
);

/// What to do with a column of dates.
const DATES: &str = " (cast dates and times to integers of one unit, as .astype(\"int64\") does)";

/// Many keys.
pub enum Source<'py> {
    /// A NumPy array or another buffer.
    Column(Column),
    /// Arrow arrays.
    Arrow(Chunks),
    /// Anything that can be iterated over.
    Objects(Bound<'py, PyAny>),
    /// What an iterator returned.
    Spooled(Spool<'py>),
}

/// The keys of Python objects, group by group.
enum Groups<'a, 'py> {
    Objects(Bound<'py, PyIterator>),
    Spooled(Reader<'a, 'py>),
}

impl Groups<'_, '_> {
    fn fill(&mut self, gathered: &mut Gathered) -> PyResult<bool> {
        match self {
            Groups::Objects(objects) => gathered.fill(objects),
            Groups::Spooled(reader) => reader.fill(gathered),
        }
    }
}

impl<'py> Source<'py> {
    /// The keys that an object holds.
    pub fn of(object: &Bound<'py, PyAny>) -> PyResult<Source<'py>> {
        if Key::of(object)?.is_some() {
            return Err(wrong_type("this takes many keys: put a single key into a list"));
        }
        if let Some(chunks) = Chunks::of(object)? {
            return Ok(Source::Arrow(chunks));
        }
        if let Some(column) = Column::of(object)? {
            return Ok(Source::Column(column));
        }
        if object.hasattr("__iter__")? || object.hasattr("__getitem__")? {
            return Ok(Source::Objects(object.clone()));
        }
        Err(no_key(object, false))
    }

    /// Makes sure that the keys can be read twice and are the same both times: what an iterator returns is
    /// spooled, and objects that may change between the passes are copied into a list. An object with a
    /// length need not be readable again.
    pub fn keep(&mut self, py: Python<'py>) -> PyResult<()> {
        match self {
            Source::Column(_) | Source::Spooled(_) => {}
            Source::Arrow(chunks) => {
                py.detach(|| chunks.count())?;
            }
            Source::Objects(object) => {
                let never_changes = object.is_exact_instance_of::<PyTuple>()
                    || object.is_exact_instance_of::<PyFrozenSet>()
                    || object.is_exact_instance_of::<PyRange>();
                if object.len().is_err() {
                    *self = Source::Spooled(Spool::of(object.try_iter()?)?);
                } else if !never_changes {
                    *object = listed(object)?;
                }
            }
        }
        Ok(())
    }

    /// How many keys there are. What an iterator returns is spooled.
    pub fn count(&mut self, py: Python<'py>) -> PyResult<u64> {
        match self {
            Source::Column(column) => Ok(column.elements().count() as u64),
            Source::Arrow(chunks) => py.detach(|| chunks.count()),
            Source::Objects(object) => {
                if let Ok(len) = object.len() {
                    return Ok(len as u64);
                }
                let spool = Spool::of(object.try_iter()?)?;
                let count = spool.count();
                *self = Source::Spooled(spool);
                Ok(count)
            }
            Source::Spooled(spool) => Ok(spool.count()),
        }
    }
}

/// The items of an object as a list.
fn listed<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(object.py());
    list.call_method1("extend", (object,))?;
    Ok(list.into_any())
}

impl<'py> Source<'py> {
    /// The objects, group by group. Without keys there is no group.
    fn groups(&self) -> PyResult<Option<Groups<'_, 'py>>> {
        match self {
            Source::Objects(object) => object.try_iter().map(Groups::Objects).map(Some),
            Source::Spooled(spool) => spool.read().map(Groups::Spooled).map(Some),
            Source::Column(_) | Source::Arrow(_) => Ok(None),
        }
    }

    /// Calls `each` with all keys that are not null, detached from Python. With `keep`, which needs
    /// [`keep`](Source::keep) before, they can be read again.
    pub fn each(
        &mut self,
        py: Python<'py>,
        keep: bool,
        mut each: impl FnMut(Run<'_>) -> PyResult<()> + Send,
    ) -> PyResult<()> {
        match self {
            Source::Column(column) => {
                let elements = column.elements();
                py.detach(|| elements.runs(each))
            }
            Source::Arrow(chunks) if keep => {
                let mut kept = chunks.kept();
                py.detach(|| kept.try_for_each(|chunk| chunk.runs_without_nulls(&mut each)))
            }
            Source::Arrow(chunks) => py.detach(|| {
                while let Some(chunk) = chunks.next()? {
                    chunk.runs_without_nulls(&mut each)?;
                }
                Ok(())
            }),
            Source::Objects(_) | Source::Spooled(_) => {
                let mut groups = self.groups()?;
                let mut gathered = Gathered::default();
                while let Some(groups) = &mut groups
                    && groups.fill(&mut gathered)?
                {
                    py.detach(|| gathered.runs(&mut each))?;
                    py.check_signals()?;
                }
                Ok(())
            }
        }
    }

    /// Looks up all keys, detached from Python; nulls are answered no.
    pub fn look_up(
        &mut self,
        py: Python<'py>,
        mut look_up: impl FnMut(Run<'_>, &mut [bool]) -> PyResult<()> + Send,
    ) -> PyResult<Answered<'py>> {
        match self {
            Source::Column(column) => {
                let elements = column.elements();
                let bytes = PyByteArray::new_with(py, elements.count(), |bytes| {
                    py.detach(|| elements.look_up(&mut look_up, bytes))
                })?;
                Ok(Answered::Bytes(bytes))
            }
            Source::Arrow(chunks) => {
                let answers = py.detach(|| {
                    let mut answers = Answers::default();
                    while let Some(chunk) = chunks.next()? {
                        answers.reserve(chunk.count());
                        chunk.look_up(&mut look_up, |some| answers.push(some))?;
                    }
                    PyResult::Ok(answers.finish())
                })?;
                Ok(Answered::Arrow(answers))
            }
            Source::Objects(_) | Source::Spooled(_) => {
                let mut groups = self.groups()?;
                let mut gathered = Gathered::default();
                let mut answers = Vec::new();
                while let Some(groups) = &mut groups
                    && groups.fill(&mut gathered)?
                {
                    let first = answers.len();
                    answers.resize(first + gathered.count(), 0);
                    py.detach(|| gathered.look_up(&mut look_up, &mut answers[first..]))?;
                    py.check_signals()?;
                }
                Ok(Answered::Bytes(PyByteArray::new(py, &answers)))
            }
        }
    }
}

/// Answers, in the form that fits the keys.
pub enum Answered<'py> {
    /// A byte of 0 or 1 for each key.
    Bytes(Bound<'py, PyByteArray>),
    /// An Arrow array.
    Arrow(BooleanArray),
}

/// The keys of some Python objects, as runs.
#[derive(Default)]
pub struct Gathered {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) numbers: Vec<u64>,
    pub(crate) data: Vec<u8>,
    /// Where each text begins, and where the last one ends.
    pub(crate) offsets: Vec<i64>,
}

/// What an object is.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// An integer.
    Number,
    /// Text or bytes.
    Bytes,
    /// `None`.
    Null,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 3] = [Kind::Number, Kind::Bytes, Kind::Null];
}

impl Gathered {
    /// Takes the next keys; false if there are none. `None` is a null.
    pub fn fill(&mut self, keys: &mut Bound<'_, PyIterator>) -> PyResult<bool> {
        self.clear();
        for object in keys.by_ref().take(GROUP) {
            let object = object?;
            match Key::or_null(&object, true)? {
                None => self.kinds.push(Kind::Null),
                Some(Key::Number(number)) => {
                    self.numbers.push(number);
                    self.kinds.push(Kind::Number);
                }
                Some(Key::Bytes(bytes)) => {
                    self.data.extend_from_slice(&bytes);
                    self.offsets.push(self.data.len() as i64);
                    self.kinds.push(Kind::Bytes);
                }
            }
        }
        Ok(!self.kinds.is_empty())
    }

    /// Forgets the keys, and keeps the memory.
    pub fn clear(&mut self) {
        self.kinds.clear();
        self.numbers.clear();
        self.data.clear();
        self.offsets.clear();
        self.offsets.push(0);
    }

    /// How many there are, nulls included.
    pub fn count(&self) -> usize {
        self.kinds.len()
    }

    /// Calls `each` with those that are not null: numbers, then the others.
    pub fn runs(&self, mut each: impl FnMut(Run<'_>) -> PyResult<()>) -> PyResult<()> {
        if !self.numbers.is_empty() {
            each(Run::Numbers(&self.numbers))?;
        }
        if self.offsets.len() > 1 { each(self.bytes()) } else { Ok(()) }
    }

    fn bytes(&self) -> Run<'_> {
        Run::bytes(Offsets::new(&self.data, &self.offsets).expect("offsets of appended keys do not decrease"))
    }

    /// Looks up all of them: a byte of 0 or 1 for each. Nulls are answered no.
    pub fn look_up(
        &self,
        look_up: &mut impl FnMut(Run<'_>, &mut [bool]) -> PyResult<()>,
        answers: &mut [u8],
    ) -> PyResult<()> {
        let mut of_numbers = vec![false; self.numbers.len()];
        let mut of_bytes = vec![false; self.offsets.len() - 1];
        if !of_numbers.is_empty() {
            look_up(Run::Numbers(&self.numbers), &mut of_numbers)?;
        }
        if !of_bytes.is_empty() {
            look_up(self.bytes(), &mut of_bytes)?;
        }
        let (mut of_numbers, mut of_bytes) = (of_numbers.into_iter(), of_bytes.into_iter());
        for (answer, kind) in answers.iter_mut().zip(&self.kinds) {
            let of_kind = match kind {
                Kind::Number => of_numbers.next(),
                Kind::Bytes => of_bytes.next(),
                Kind::Null => None,
            };
            *answer = of_kind.unwrap_or_default().into();
        }
        Ok(())
    }
}
