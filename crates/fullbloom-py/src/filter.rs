//! The class `Filter`.

use crate::arrow::BooleanArray;
use crate::asked::{Asked, Wish, told};
use crate::combine::Combine;
use crate::errors;
use crate::keys::{Answered, Key, Source};
use crate::native::{self, NativeFacts};
use crate::run::{Integers, Run};
use crate::state::{Sink, State, Told, builder, is_built_at_once};
use fullbloom::any;
use fullbloom::dialect::Name;
use fullbloom::file;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBytes, PyTuple, PyType};
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

/// A Bloom filter: it answers "is this key in the set?" with a certain no or a probable yes.
///
/// Made by ``build``, ``with_capacity``, ``load``, ``open`` and ``from_bytes``. Keys are ``str`` (their UTF-8 bytes), ``bytes``
/// and ``int``; many at once are NumPy arrays, Arrow arrays, or anything that can be iterated over.
#[pyclass(frozen, module = "fullbloom")]
pub struct Filter {
    state: RwLock<State>,
    integers: Integers,
}

impl Filter {
    fn new(state: State, integers: Integers) -> Filter {
        Filter { state: RwLock::new(state), integers }
    }

    /// Refuses a filter with other integers: in one with both, keys of one of them would not be found.
    fn require_same_integers(&self, other: &Filter) -> PyResult<()> {
        if self.integers == other.integers {
            return Ok(());
        }
        let (ours, theirs) = (self.integers.as_str(), other.integers.as_str());
        Err(errors::value(format_args!(
            "filters cannot be merged: key_type is {ours} in one and {theirs} in the other"
        )))
    }

    /// Looks at the state. Never waits while it holds up the interpreter: who has the lock may need that.
    fn read<R: Send>(&self, py: Python<'_>, look: impl FnOnce(&State) -> PyResult<R> + Send) -> PyResult<R> {
        if let Ok(state) = self.state.try_read() {
            return look(&state);
        }
        self.read_detached(py, look)
    }

    /// As [`read`](Filter::read), for what takes long.
    fn read_detached<R: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&State) -> PyResult<R> + Send,
    ) -> PyResult<R> {
        py.detach(|| look(&self.state.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Changes the state; as [`read`](Filter::read).
    fn write<R: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut State) -> PyResult<R> + Send,
    ) -> PyResult<R> {
        if let Ok(mut state) = self.state.try_write() {
            return change(&mut state);
        }
        py.detach(|| change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner)))
    }

    fn combined(&self, py: Python<'_>, other: &Filter, how: Combine) -> PyResult<Filter> {
        self.require_same_integers(other)?;
        let mut state = self.read_detached(py, State::combinable)?;
        other.read_detached(py, |theirs| state.combine(theirs, how))?;
        Ok(Filter::new(state, self.integers))
    }

    fn combine(&self, py: Python<'_>, other: &Filter, how: Combine) -> PyResult<()> {
        if std::ptr::eq(self, other) {
            // Either way it is what it was, if it can be combined at all.
            return self.read(py, |state| if state.takes_keys() { Ok(()) } else { Err(state.read_only()) });
        }
        self.require_same_integers(other)?;
        py.detach(|| {
            // Always in the same order, so that two threads with the same two filters do not wait for each other.
            let theirs_first = std::ptr::from_ref(other) < std::ptr::from_ref(self);
            let theirs = theirs_first.then(|| other.state.read().unwrap_or_else(PoisonError::into_inner));
            let mut ours = self.state.write().unwrap_or_else(PoisonError::into_inner);
            let theirs = match theirs {
                Some(theirs) => theirs,
                None => other.state.read().unwrap_or_else(PoisonError::into_inner),
            };
            ours.combine(&theirs, how)
        })
    }
}

/// Calls the helper that knows the Arrow libraries in use.
fn wrapped<'py>(keys: &Bound<'py, PyAny>, answers: BooleanArray) -> PyResult<Bound<'py, PyAny>> {
    let py = keys.py();
    py.import("fullbloom._arrow")?.call_method1("like", (keys, answers))
}

#[pymethods]
impl Filter {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn __new__(
        _args: &Bound<'_, PyTuple>,
        _kwargs: Option<&Bound<'_, pyo3::types::PyDict>>,
    ) -> PyResult<Filter> {
        Err(PyTypeError::new_err(
            "use Filter.build, Filter.with_capacity, Filter.load, Filter.open or Filter.from_bytes",
        ))
    }

    /// A filter of these keys.
    ///
    /// ``fpr`` is the rate of false answers wanted (1 % if nothing is said), ``bits_per_key`` what to spend instead. It is
    /// sized for as many keys as there are, or for ``expected_keys`` if more will come. ``threads`` other than 1 builds
    /// large native filters on several cores (0: all), with a buffer of up to half the filter's size. ``key_type`` says
    /// whether integers are hashed as 32 bits (``"int"``) or 64 (``"long"``), where the dialect's system tells them apart.
    #[staticmethod]
    #[pyo3(signature = (keys, fpr=None, *, bits_per_key=None, dialect="native", expected_keys=None, bits=None, probes=None,
                        seed=None, secret=None, store_secret=false, label=None, except_keys=None, threads=1,
                        key_type="long"))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn build<'py>(
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        fpr: Option<f64>,
        bits_per_key: Option<f64>,
        dialect: &str,
        expected_keys: Option<u64>,
        bits: Option<u64>,
        probes: Option<u32>,
        seed: Option<u64>,
        secret: Option<&[u8]>,
        store_secret: bool,
        label: Option<String>,
        except_keys: Option<&Bound<'py, PyAny>>,
        threads: usize,
        key_type: &str,
    ) -> PyResult<Filter> {
        let integers = Integers::named(key_type)?;
        let wish = Wish { fpr, bits_per_key, bits, probes };
        let asked = Asked::new(dialect, &wish, seed, secret, store_secret, label)?;
        if except_keys.is_some() && asked.dialect != Name::Native {
            let told = "except_keys: only native filters have this, not";
            return Err(errors::value(format_args!("{told} {}", asked.dialect)));
        }
        let mut source = Source::of(keys)?;
        let keep = except_keys.is_some();
        let uncounted = any::ignores_expected_keys(asked.dialect, asked.target);
        if keep {
            source.keep(py)?;
        }
        let counted = if expected_keys.is_none() && !uncounted { source.count(py)? } else { 0 };
        let expected_keys = expected_keys.unwrap_or(counted);
        if is_built_at_once(asked.dialect) {
            let mut made = builder(asked.dialect, &asked.request(expected_keys)).map_err(errors::size)?;
            let mut sink = Sink::Builder(&mut *made, asked.dialect);
            source.each(py, keep, |run| sink.take(run, integers, threads))?;
            let filter = py.detach(|| made.finish()).map_err(errors::size)?;
            return Ok(Filter::new(State::Built(filter), integers));
        }
        let mut state = asked.empty(expected_keys)?;
        let mut sink = Sink::State(&mut state);
        source.each(py, keep, |run| sink.take(run, integers, threads))?;
        match (state, except_keys) {
            (State::Native(filter), Some(good)) => native::guarded(py, filter, &mut source, good)
                .map(|guarded| Filter::new(State::Guarded(guarded), integers)),
            (state, _) => Ok(Filter::new(state, integers)),
        }
    }

    /// An empty filter that will hold ``expected_keys`` keys at the rate ``fpr``, or for ``bits_per_key``.
    #[staticmethod]
    #[pyo3(signature = (expected_keys, fpr=None, *, bits_per_key=None, dialect="native", bits=None, probes=None,
                        seed=None, secret=None, store_secret=false, label=None, key_type="long"))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn with_capacity(
        expected_keys: u64,
        fpr: Option<f64>,
        bits_per_key: Option<f64>,
        dialect: &str,
        bits: Option<u64>,
        probes: Option<u32>,
        seed: Option<u64>,
        secret: Option<&[u8]>,
        store_secret: bool,
        label: Option<String>,
        key_type: &str,
    ) -> PyResult<Filter> {
        let integers = Integers::named(key_type)?;
        let wish = Wish { fpr, bits_per_key, bits, probes };
        let asked = Asked::new(dialect, &wish, seed, secret, store_secret, label)?;
        asked.empty(expected_keys).map(|state| Filter::new(state, integers))
    }

    /// Reads a filter from a file and checks all of it. The file may change or go afterwards.
    ///
    /// The dialect is told by the file's name and bytes, where they tell. ``bits`` and ``probes`` are needed by the dialects
    /// that store nothing else than bits (``libbloom-1``, ``java-lsm``). ``key_type`` is as of ``build``; no file tells it.
    #[staticmethod]
    #[pyo3(signature = (path, dialect=None, *, bits=None, probes=None, secret=None, key_type="long"))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        dialect: Option<&str>,
        bits: Option<u64>,
        probes: Option<u32>,
        secret: Option<&[u8]>,
        key_type: &str,
    ) -> PyResult<Filter> {
        let integers = Integers::named(key_type)?;
        let told = told(dialect, bits, probes, secret)?;
        py.detach(|| State::load(&path, &told)).map(|state| Filter::new(state, integers))
    }

    /// Maps a filter's file: it answers at once, and processes that open the same file share its memory.
    ///
    /// Of a native file only the front is checked; see ``verify``. The file must not be cut short meanwhile, which would end
    /// the process; replacing it, as ``save`` does, is safe. Such a filter takes no keys.
    #[staticmethod]
    #[pyo3(signature = (path, dialect=None, *, bits=None, probes=None, secret=None, key_type="long"))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        dialect: Option<&str>,
        bits: Option<u64>,
        probes: Option<u32>,
        secret: Option<&[u8]>,
        key_type: &str,
    ) -> PyResult<Filter> {
        let integers = Integers::named(key_type)?;
        let told = told(dialect, bits, probes, secret)?;
        py.detach(|| State::open(&path, &told)).map(|state| Filter::new(state, integers))
    }

    /// A filter from its encoded bytes, all of them checked; arguments as of ``load``.
    #[staticmethod]
    #[pyo3(signature = (data, dialect=None, bits=None, probes=None, secret=None, key_type="long"))]
    fn from_bytes(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        dialect: Option<&str>,
        bits: Option<u64>,
        probes: Option<u32>,
        secret: Option<&[u8]>,
        key_type: &str,
    ) -> PyResult<Filter> {
        let integers = Integers::named(key_type)?;
        let told = told(dialect, bits, probes, secret)?;
        let bytes = crate::column::byte_copy(data)?;
        py.detach(|| State::decode(bytes, None, &told))
            .map(|state| Filter::new(state, integers))
            .map_err(errors::decode)
    }

    /// Adds a key; true if it was surely not there before.
    fn add(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = Key::required(key)?;
        self.write(py, |state| state.add(&key, self.integers))
    }

    /// Adds many keys. Nulls (``None``) are not added. If a key is refused, keys before it may be in.
    #[pyo3(signature = (keys, *, threads=1))]
    fn update<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>, threads: usize) -> PyResult<()> {
        let mut source = Source::of(keys)?;
        self.read(py, |state| if state.takes_keys() { Ok(()) } else { Err(state.read_only()) })?;
        let insert = |run: Run<'_>| {
            self.state.write().unwrap_or_else(PoisonError::into_inner).insert(run, self.integers, threads)
        };
        source.each(py, false, |run| match threads {
            1 => run.pieces().try_for_each(insert),
            _ => insert(run),
        })
    }

    /// Whether a key may be present, or which of many may be.
    ///
    /// One key gives a bool. Many give an array of bools, one for each: Arrow's for Arrow's, else NumPy's. Nulls are answered
    /// no. The interpreter is free meanwhile, and other threads may ask the same filter.
    fn may_contain<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(key) = Key::of(keys)? {
            let answer = self.read(py, |state| state.may_contain(&key, self.integers))?;
            return Ok(pyo3::types::PyBool::new(py, answer).to_owned().into_any());
        }
        let mut source = Source::of(keys)?;
        let answers = source.ask(py, |run, answers| {
            self.state.read().unwrap_or_else(PoisonError::into_inner).ask(run, self.integers, answers)
        })?;
        match answers {
            Answered::Arrow(answers) => wrapped(keys, answers),
            Answered::Bytes(bytes) => py.import("numpy")?.call_method1("frombuffer", (bytes, "?")),
        }
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = Key::required(key)?;
        self.read(py, |state| state.may_contain(&key, self.integers))
    }

    /// Forgets all keys.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, State::clear)
    }

    /// How many keys are in: counted by native filters, of others estimated.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let counted = self.read(py, |state| {
            state.filter()?;
            Ok(native::facts(state).map(|filter| filter.keys))
        })?;
        if let Some(keys) = counted {
            return Ok(keys as usize);
        }
        match self.estimated_keys(py)? {
            Some(keys) if keys < 1e18 => Ok(keys.round() as usize),
            _ => Err(errors::value("how many keys are in cannot be told")),
        }
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// How many distinct keys the set bits speak of; None when they do not tell. Reads the whole array.
    #[getter]
    fn estimated_keys(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.read_detached(py, |state| Ok(state.filter()?.estimated_keys().filter(|keys| keys.is_finite())))
    }

    /// The rate of false answers to expect of the filter as it is. Reads the whole array.
    #[getter]
    fn expected_fpr(&self, py: Python<'_>) -> PyResult<f64> {
        self.read_detached(py, |state| Ok(state.filter()?.expected_fpr()))
    }

    /// Share of bits that are set. Reads the whole array.
    #[getter]
    fn fill(&self, py: Python<'_>) -> PyResult<f64> {
        self.read_detached(py, |state| Ok(state.filter()?.fill()))
    }

    /// The name of its dialect.
    #[getter]
    fn dialect(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.read(py, |state| Ok(state.filter()?.dialect().as_str()))
    }

    /// What integers are hashed as: ``"int"``, of 32 bits, or ``"long"``, of 64.
    #[getter]
    fn key_type(&self) -> &'static str {
        self.integers.as_str()
    }

    /// Length of the bit array in bits.
    #[getter]
    fn bits(&self, py: Python<'_>) -> PyResult<u64> {
        self.read(py, |state| Ok(state.filter()?.geometry().bit_len))
    }

    /// Bits that are tested for each key.
    #[getter]
    fn probes(&self, py: Python<'_>) -> PyResult<u32> {
        self.read(py, |state| Ok(state.filter()?.geometry().probes))
    }

    /// Length of the encoded filter in bytes; of ``java-lsm``, which drops zeros at the end, the most it can be.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.read(py, |state| Ok(state.filter()?.encoded_len()))
    }

    /// The keys a native filter was made for; None where that is not known.
    #[getter]
    fn expected_keys(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.of_native(py, |facts| Some(facts.expected_keys).filter(|keys| *keys > 0))
    }

    /// The public seed of a native filter's hash; None for others and for keyed ones.
    #[getter]
    fn seed(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.of_native(py, |facts| facts.seed)
    }

    /// Whether a native filter is hashed with a secret.
    #[getter]
    fn is_keyed(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |state| {
            let secret = state.told(state.filter()?).secret;
            Ok(secret.is_some() || native::facts(state).is_some_and(|facts| facts.keyed))
        })
    }

    /// Whether the secret is not known, so that the filter cannot be asked.
    #[getter]
    fn is_locked(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |state| state.filter().map(|_| state.is_locked()))
    }

    /// Whether keys can be added.
    #[getter]
    fn takes_keys(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |state| state.filter().map(|_| state.takes_keys()))
    }

    /// A text that is kept with a native filter; empty for others. Can be set.
    #[getter]
    fn label(&self, py: Python<'_>) -> PyResult<String> {
        self.of_native(py, |facts| Some(facts.label)).map(Option::unwrap_or_default)
    }

    #[setter]
    fn set_label(&self, py: Python<'_>, label: &str) -> PyResult<()> {
        self.write(py, |state| match state {
            State::Native(filter) => {
                filter.set_label(label);
                Ok(())
            }
            _ => Err(errors::value("label: only native filters that take keys can be given one")),
        })
    }

    /// A copy with half as many blocks: the same keys, half the memory, a higher rate. Only of native filters whose number
    /// of blocks is even.
    fn folded(&self, py: Python<'_>) -> PyResult<Filter> {
        self.read_detached(py, |state| {
            state.require_plain("folded")?;
            match state.combinable()? {
                State::Native(filter) => filter
                    .folded()
                    .map(|filter| Filter::new(State::Native(filter), self.integers))
                    .map_err(errors::size),
                _ => Err(errors::value("only native filters can be folded")),
            }
        })
    }

    /// Checks every byte of a mapped native file against its checksums; raises ``FormatError``. Others were checked when
    /// they were made.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.read_detached(py, |state| match state {
            State::Mapped(filter) => filter.verify().map_err(errors::decode),
            other => other.filter().map(|_| ()),
        })
    }

    /// Saves the filter: the file is replaced whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.read_detached(py, |state| {
            let filter = state.filter()?;
            file::replace(&path, |out| filter.write_to(out)).map_err(errors::file)
        })
    }

    /// The encoded filter: the bytes that ``save`` writes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        loop {
            let len = self.read_detached(py, State::encoded_len)?;
            let len = usize::try_from(len).map_err(errors::value)?;
            let mut fits = false;
            let bytes = PyBytes::new_with(py, len, |room| {
                fits = self.read_detached(py, |state| state.encode_into(room))?;
                Ok(())
            })?;
            if fits {
                return Ok(bytes);
            }
            // Another thread has changed the label, or zeros at the end, meanwhile.
        }
    }

    /// A copy; it takes keys if filters of its dialect do.
    fn copy(&self, py: Python<'_>) -> PyResult<Filter> {
        self.read_detached(py, State::copy).map(|state| Filter::new(state, self.integers))
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Filter> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Filter> {
        self.copy(py)
    }

    /// A pickle holds the encoded bytes and, of a keyed filter, the secret.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let told: Told = self.read(py, |state| Ok(state.told(state.filter()?)))?;
        let secret = told.secret.as_ref().map(|secret| PyBytes::new(py, secret.as_bytes()));
        let (bits, probes) = told.geometry.unzip();
        let dialect = told.dialect.map(Name::as_str);
        let args =
            (self.to_bytes(py)?, dialect, bits, probes, secret, self.integers.as_str()).into_pyobject(py)?;
        Ok((PyType::new::<Filter>(py).getattr("from_bytes")?, args))
    }

    fn __or__(&self, py: Python<'_>, other: &Filter) -> PyResult<Filter> {
        self.combined(py, other, Combine::Union)
    }

    fn __and__(&self, py: Python<'_>, other: &Filter) -> PyResult<Filter> {
        self.combined(py, other, Combine::Intersection)
    }

    fn __ior__(&self, py: Python<'_>, other: &Filter) -> PyResult<()> {
        self.combine(py, other, Combine::Union)
    }

    fn __iand__(&self, py: Python<'_>, other: &Filter) -> PyResult<()> {
        self.combine(py, other, Combine::Intersection)
    }

    /// Equal are filters with the same bytes; of native ones the number of keys and the label do not matter.
    fn __richcmp__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let (Ok(other), CompareOp::Eq | CompareOp::Ne) = (other.cast::<Filter>(), op) else {
            return Ok(py.NotImplemented());
        };
        let other = other.get();
        let equal = std::ptr::eq(self, other)
            || py.detach(|| {
                let (one, two) = match std::ptr::from_ref(other) < std::ptr::from_ref(self) {
                    true => (other, self),
                    false => (self, other),
                };
                let one = one.state.read().unwrap_or_else(PoisonError::into_inner);
                let two = two.state.read().unwrap_or_else(PoisonError::into_inner);
                one.equals(&two)
            })?;
        Ok(pyo3::types::PyBool::new(py, equal == matches!(op, CompareOp::Eq)).to_owned().into_any().unbind())
    }

    /// Lets go of the memory or the mapped file; the filter cannot be used any more.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, |state| {
            *state = State::Closed;
            Ok(())
        })
    }

    fn __enter__(slf: Py<Filter>) -> Py<Filter> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |state| {
            let Ok(filter) = state.filter() else { return Ok("<fullbloom.Filter, closed>".to_owned()) };
            let (dialect, geometry) = (filter.dialect(), filter.geometry());
            let keys = native::facts(state).map_or(String::new(), |facts| {
                format!("{}{} keys, ", if facts.estimated { "about " } else { "" }, facts.keys)
            });
            let (bits, probes) = (geometry.bit_len, geometry.probes);
            let locked = if state.is_locked() { ", locked" } else { "" };
            Ok(format!("<fullbloom.Filter {dialect}: {keys}{bits} bits, {probes} probes{locked}>"))
        })
    }

    fn __sizeof__(&self, py: Python<'_>) -> PyResult<usize> {
        self.read(py, |state| Ok(size_of::<Filter>() + state.filter().map_or(0, |f| f.bits().len())))
    }
}

impl Filter {
    /// Something that only native filters have.
    fn of_native<R: Send>(
        &self,
        py: Python<'_>,
        get: impl FnOnce(NativeFacts) -> Option<R> + Send,
    ) -> PyResult<Option<R>> {
        self.read(py, |state| {
            state.filter()?;
            Ok(native::facts(state).and_then(get))
        })
    }
}
