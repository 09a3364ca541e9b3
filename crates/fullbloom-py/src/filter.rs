//! The class `Filter`.

mod shared;

use crate::arrow::BooleanArray;
use crate::build::{Insertion, build, look_up, remove};
use crate::errors;
use crate::held::{Combine, Held};
use crate::keys::{Answered, Key, Source, is_null};
use crate::options::{self, Size, read_options};
use crate::run::{Run, key_type};
use fullbloom::Hashing;
use fullbloom::typed::KeyType;
use fullbloom_any::AnyFilter;
use fullbloom_any::{Kind, StoredFilter};
use fullbloom_core::part::Check;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBool, PyBytes, PyDict, PyTuple, PyType};
use shared::require_to_ask;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// A Bloom filter: it answers "is this key in the set?" with a certain no or a probable yes.
///
/// Made by ``build``, ``with_capacity``, ``load``, ``open`` and ``from_bytes``. Keys are ``str`` (their UTF-8
/// bytes), ``bytes``, ``int`` and ``uuid.UUID`` (its 16 bytes); many at once are NumPy arrays, Arrow arrays,
/// or anything that can be iterated over. ``None`` is a null: it is not added, and is answered no.
#[pyclass(frozen, module = "fullbloom")]
pub struct Filter {
    held: Held,
    /// The type of integer keys.
    key_type: KeyType,
    /// The type of the keys that may be added, if the filter records it and was read, or takes no more keys.
    recorded: Option<KeyType>,
}

/// The answers as the library that the keys came from has them.
fn wrapped<'py>(keys: &Bound<'py, PyAny>, answers: BooleanArray) -> PyResult<Bound<'py, PyAny>> {
    let py = keys.py();
    py.import("fullbloom._arrow")?.call_method1("like", (keys, answers))
}

/// Writes the encoded filter into `room`: how much of it stays free; `None` if it is too small.
fn encode_into(filter: &AnyFilter, mut room: &mut [u8]) -> Option<usize> {
    filter.write_to(&mut room).ok()?; // a slice has no other reason to refuse
    Some(room.len())
}

#[pymethods]
impl Filter {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn __new__(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<Filter> {
        Err(PyTypeError::new_err(
            "use Filter.build, Filter.with_capacity, Filter.load, Filter.open or Filter.from_bytes",
        ))
    }

    /// A filter of these keys.
    ///
    /// ``fpr`` is the false-positive rate (1 % by default); ``bits_per_key`` sets the memory instead. The
    /// filter is sized for the number of keys given, or for ``expected_keys`` if more will come. With
    /// ``threads`` other than 1, large native filters are built on several cores (0: all), with a buffer of
    /// up to half the filter's size; so are filters from 512 MiB on with one thread. ``seed`` is that of a
    /// native or a ``spark-2`` filter. ``key_type`` says whether integers are hashed as 32 bits (``"int"``)
    /// or 64 (``"long"``), for systems that tell them apart.
    ///
    /// With ``kind="compact"`` the filter is about 30 % smaller and takes no more keys. It is sized by
    /// ``fpr``, from 2**-64 to 0.5, and repeated keys count once. Eight bytes of each key are kept while it
    /// is built, in 1 GiB of memory at most; more go to a temporary file. With ``kind="dynamic"`` it grows
    /// with its keys, now and later.
    ///
    /// The keys of an iterator, whose number is not known, are kept in 8 MiB of memory at most while they are
    /// counted; more go to a temporary file. With ``expected_keys`` they are not kept at all.
    #[staticmethod]
    #[pyo3(signature = (keys, fpr=None, *, bits_per_key=None, dialect="native", expected_keys=None, bits=None,
                        probes=None, seed=None, secret=None, store_secret=false, label=None, except_keys=None, threads=1,
                        key_type=None, kind="fast"))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn build<'py>(
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        fpr: Option<f64>,
        bits_per_key: Option<f64>,
        dialect: &str,
        #[pyo3(from_py_with = options::expected_keys)] expected_keys: Option<u64>,
        #[pyo3(from_py_with = options::bits)] bits: Option<u64>,
        #[pyo3(from_py_with = options::probes)] probes: Option<u32>,
        seed: Option<i128>,
        secret: Option<&[u8]>,
        store_secret: bool,
        label: Option<String>,
        except_keys: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = options::threads)] threads: usize,
        key_type: Option<&str>,
        kind: &str,
    ) -> PyResult<Filter> {
        let key_type = self::key_type(key_type)?.unwrap_or(KeyType::Long);
        let size = Size { fpr, bits_per_key, bits, probes };
        let options = options::new_filter(dialect, &size, seed, secret, store_secret, label)?
            .kind(options::kind(kind)?)
            .expected_keys(expected_keys)
            .threads(threads);
        build(py, options, options::dialect(dialect)?, keys, except_keys, key_type)
            .map(|filter| Filter::new(filter, key_type))
    }

    /// An empty filter for ``expected_keys`` keys at the rate ``fpr``, or with ``bits_per_key``.
    ///
    /// With ``kind="dynamic"`` it grows beyond them and keeps its rate up to ``up_to`` keys: unless given, up
    /// to ``expected_keys``, or a billion if these are not given either. With ``deletable`` keys can be
    /// removed; with ``expire``, a number of seconds, they expire.
    #[staticmethod]
    #[pyo3(signature = (expected_keys=None, fpr=None, *, bits_per_key=None, dialect="native", bits=None,
                        probes=None, seed=None, secret=None, store_secret=false, label=None, key_type=None,
                        kind="fast", up_to=None, deletable=false, expire=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn with_capacity(
        #[pyo3(from_py_with = options::expected_keys)] expected_keys: Option<u64>,
        fpr: Option<f64>,
        bits_per_key: Option<f64>,
        dialect: &str,
        #[pyo3(from_py_with = options::bits)] bits: Option<u64>,
        #[pyo3(from_py_with = options::probes)] probes: Option<u32>,
        seed: Option<i128>,
        secret: Option<&[u8]>,
        store_secret: bool,
        label: Option<String>,
        key_type: Option<&str>,
        kind: &str,
        #[pyo3(from_py_with = options::up_to)] up_to: Option<u64>,
        deletable: bool,
        expire: Option<f64>,
    ) -> PyResult<Filter> {
        let key_type = self::key_type(key_type)?.unwrap_or(KeyType::Long);
        let size = Size { fpr, bits_per_key, bits, probes };
        let options = options::new_filter(dialect, &size, seed, secret, store_secret, label)?
            .kind(options::kind(kind)?)
            .expected_keys(expected_keys)
            .up_to(up_to)
            .mode(options::mode(deletable, expire)?);
        options.check().map_err(errors::build)?;
        let mut filter = options.empty().map_err(|e| match options.is_built_at_once() {
            true => errors::built_at_once(e),
            false => errors::build(e),
        })?;
        filter.advance(SystemTime::now()).map_err(errors::size)?;
        Ok(Filter::new(filter, key_type))
    }

    /// Reads a filter from a file and checks all of it. The file may change or go afterwards.
    ///
    /// The dialect is detected by the file's name and bytes, where that is possible. ``bits`` and ``probes``
    /// are needed by the dialects that store only bits (``libbloom-1``, ``java-lsm``). ``key_type`` is that
    /// of ``build``; only native files record it. Keys that are not of the recorded type raise ``TypeError``.
    #[staticmethod]
    #[pyo3(signature = (path, dialect=None, *, bits=None, probes=None, secret=None, key_type=None))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        dialect: Option<&str>,
        #[pyo3(from_py_with = options::bits)] bits: Option<u64>,
        #[pyo3(from_py_with = options::probes)] probes: Option<u32>,
        secret: Option<&[u8]>,
        key_type: Option<&str>,
    ) -> PyResult<Filter> {
        let key_type = self::key_type(key_type)?;
        let options = read_options(dialect, bits, probes, secret)?;
        let filter = py.detach(|| AnyFilter::load(&path, &options)).map_err(errors::file)?;
        Ok(Filter::of_read(filter, key_type))
    }

    /// Maps a filter's file: it answers at once, and processes that open the same file share its memory.
    ///
    /// Only the header of a native file is checked; see ``verify``. The file must not be truncated while it is
    /// mapped, which would end the process; replacing it, as ``save`` does, is safe. A mapped filter takes no
    /// keys. Other arguments as of ``load``.
    #[staticmethod]
    #[pyo3(signature = (path, dialect=None, *, bits=None, probes=None, secret=None, key_type=None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        dialect: Option<&str>,
        #[pyo3(from_py_with = options::bits)] bits: Option<u64>,
        #[pyo3(from_py_with = options::probes)] probes: Option<u32>,
        secret: Option<&[u8]>,
        key_type: Option<&str>,
    ) -> PyResult<Filter> {
        let key_type = self::key_type(key_type)?;
        let options = read_options(dialect, bits, probes, secret)?;
        let filter = py.detach(|| AnyFilter::open(&path, &options, Check::Header)).map_err(errors::file)?;
        Ok(Filter::of_read(filter, key_type))
    }

    /// A filter from its encoded bytes, all of them checked; arguments as of ``load``.
    #[staticmethod]
    #[pyo3(signature = (data, dialect=None, *, bits=None, probes=None, secret=None, key_type=None))]
    fn from_bytes(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        dialect: Option<&str>,
        #[pyo3(from_py_with = options::bits)] bits: Option<u64>,
        #[pyo3(from_py_with = options::probes)] probes: Option<u32>,
        secret: Option<&[u8]>,
        key_type: Option<&str>,
    ) -> PyResult<Filter> {
        let key_type = self::key_type(key_type)?;
        let options = read_options(dialect, bits, probes, secret)?;
        let bytes = crate::column::byte_copy(data)?;
        let filter = py.detach(|| AnyFilter::decode_owned(bytes, &options)).map_err(errors::decode)?;
        Ok(Filter::of_read(filter, key_type))
    }

    /// Adds a key; true if it was surely not there before. None is not added.
    fn add(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Some(key) = Key::or_null(key, false)? else {
            return self
                .held
                .read(py, |filter| filter.require_takes_keys().map_err(errors::change))
                .map(|()| false);
        };
        let key_type = key.key_type(self.key_type);
        self.require_to_add(key_type)?;
        self.held.write(py, |filter| {
            filter.note_key_type(key_type);
            match &key {
                Key::Bytes(bytes) => filter.insert(bytes).map_err(errors::change),
                Key::Number(number) => {
                    let (number, mut new) = ([*number], [false]);
                    let keys = Run::Numbers(&number).keys(self.key_type, filter.dialect())?;
                    filter.insert_batch_new(keys, &mut new).map_err(errors::change)?;
                    Ok(new[0])
                }
            }
        })
    }

    /// Adds many keys. Nulls (``None``) are not added. If a key is refused, keys before it may have been
    /// added.
    #[pyo3(signature = (keys, *, threads=1))]
    fn update<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = options::threads)] threads: usize,
    ) -> PyResult<()> {
        let mut source = Source::of(keys)?;
        self.held.read(py, |filter| filter.require_takes_keys().map_err(errors::change))?;
        let how = Insertion { key_type: self.key_type, threads };
        let insert = |run: Run<'_>| {
            self.require_to_add(run.key_type(self.key_type))?;
            self.held.write_now(|filter| how.insert(filter, run))
        };
        source.each(py, false, |run| match threads {
            1 => run.pieces().try_for_each(insert),
            _ => insert(run),
        })
    }

    /// Removes a key, or many, from a filter that supports deletion. One key gives a bool: whether it was
    /// there. Many give the number of those that were there; nulls (``None``) are left out.
    ///
    /// Remove only keys that were added, each as often as it was added. Removing another key that looks
    /// present removes the key that has the same fingerprint.
    fn remove<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let remove = |run: Run<'_>| {
            self.held.write_now(|filter| {
                require_to_ask(filter, run.key_type(self.key_type))?;
                remove(filter, run, self.key_type)
            })
        };
        if is_null(keys) {
            self.held.read(py, |_| Ok(()))?; // refused once it is closed
            return Ok(PyBool::new(py, false).to_owned().into_any());
        }
        if let Some(key) = Key::of(keys)? {
            let removed = py.detach(|| key.as_run(remove))?;
            return Ok(PyBool::new(py, removed > 0).to_owned().into_any());
        }
        let mut count = 0u64;
        Source::of(keys)?.each(py, false, |run| {
            for piece in run.pieces() {
                count += remove(piece)?;
            }
            Ok(())
        })?;
        Ok(count.into_pyobject(py)?.into_any())
    }

    /// Whether a key may be present, or which of many may be.
    ///
    /// One key gives a bool. Many give an array of bools, one for each key: an Arrow array for Arrow keys,
    /// else a NumPy array. Nulls (``None``) are answered no. If the keys of a native filter are all integers,
    /// or all text and bytes, keys of the other type raise ``TypeError``. The interpreter is free meanwhile,
    /// and other threads may use the same filter.
    fn may_contain<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let one = Key::of(keys)?;
        if one.is_some() || is_null(keys) {
            let answer = self.contains(py, one.as_ref())?;
            return Ok(PyBool::new(py, answer).to_owned().into_any());
        }
        let mut source = Source::of(keys)?;
        let answers = source.look_up(py, |run, answers| {
            self.held.read_now(|filter| {
                require_to_ask(filter, run.key_type(self.key_type))?;
                look_up(filter, run, self.key_type, answers)
            })
        })?;
        match answers {
            Answered::Arrow(answers) => wrapped(keys, answers),
            Answered::Bytes(bytes) => py.import("numpy")?.call_method1("frombuffer", (bytes, "?")),
        }
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.contains(py, Key::or_null(key, false)?.as_ref())
    }

    /// Forgets all keys.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.held.write(py, |filter| filter.clear().map_err(errors::change))
    }

    /// Sets the clock of a filter that forgets keys by their age: to ``now``, in seconds since 1970, or to
    /// the current time. Keys that are too old by then are not found any more, and keys added later have this
    /// age. Other filters stay as they are.
    #[pyo3(signature = (now=None))]
    fn advance(&self, py: Python<'_>, now: Option<f64>) -> PyResult<()> {
        let now = match now.map(Duration::try_from_secs_f64).transpose().map_err(errors::value)? {
            Some(since) => SystemTime::UNIX_EPOCH.checked_add(since),
            None => Some(SystemTime::now()),
        };
        let now = now.ok_or_else(|| errors::value("now is too late for a clock"))?;
        self.held.write(py, |filter| filter.advance(now).map_err(errors::size))
    }

    /// The number of keys: counted by compact and dynamic filters, estimated for others.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let keys = match self.of_native(py, |facts| Some(facts.keys))? {
            Some(keys) => Some(keys),
            None => self.estimated_keys(py)?.map(|keys| keys.round() as u64),
        };
        match keys.and_then(|keys| isize::try_from(keys).ok()) {
            Some(keys) => Ok(keys as usize),
            None => Err(errors::value("the number of keys cannot be estimated: too many bits are set")),
        }
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// The number of distinct keys, estimated from the set bits; None when it cannot be estimated. Reads the
    /// whole array.
    #[getter]
    fn estimated_keys(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.held.read_detached(py, |filter| Ok(filter.estimated_keys().filter(|keys| keys.is_finite())))
    }

    /// The expected false-positive rate of the filter as it is now. Reads the whole array.
    #[getter]
    fn expected_fpr(&self, py: Python<'_>) -> PyResult<f64> {
        self.held.read_detached(py, |filter| Ok(filter.expected_fpr()))
    }

    /// Share of bits that are set. Reads the whole array.
    #[getter]
    fn fill(&self, py: Python<'_>) -> PyResult<f64> {
        self.held.read_detached(py, |filter| Ok(filter.fill()))
    }

    /// The name of its dialect.
    #[getter]
    fn dialect(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.held.read(py, |filter| Ok(filter.dialect().as_str()))
    }

    /// The kind of a native filter: ``"fast"``, ``"compact"`` or ``"dynamic"``; None for
    /// other dialects.
    #[getter]
    fn kind(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        self.held.read(py, |filter| Ok(filter.kind().map(Kind::as_str)))
    }

    /// The type of integer keys: ``"int"``, 32 bits, or ``"long"``, 64.
    #[getter]
    fn key_type(&self) -> &'static str {
        self.key_type.as_str()
    }

    /// Length of the bit array in bits.
    #[getter]
    fn bits(&self, py: Python<'_>) -> PyResult<u64> {
        self.held.read(py, |filter| Ok(filter.geometry().bit_len))
    }

    /// Bits that are tested for each key.
    #[getter]
    fn probes(&self, py: Python<'_>) -> PyResult<u32> {
        self.held.read(py, |filter| Ok(filter.geometry().probes))
    }

    /// Length of the encoded filter in bytes; an upper bound for ``java-lsm``, which drops zeros at the end.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.held.read(py, |filter| Ok(filter.encoded_len()))
    }

    /// The number of keys a native filter was made for; None where that is not known.
    #[getter]
    fn expected_keys(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.of_native(py, |facts| Some(facts.expected_keys).filter(|keys| *keys > 0))
    }

    /// The public seed of a native filter's hash; None for other dialects and for keyed filters.
    #[getter]
    fn seed(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.held.read(py, |filter| match filter.hashing() {
            Some(Hashing::Seed(seed)) => Ok(Some(*seed)),
            _ => Ok(None),
        })
    }

    /// Whether a native filter is hashed with a secret.
    #[getter]
    fn is_keyed(&self, py: Python<'_>) -> PyResult<bool> {
        self.held
            .read(py, |filter| Ok(filter.is_locked() || matches!(filter.hashing(), Some(Hashing::Secret(_)))))
    }

    /// Whether the filter is keyed and its secret is not known, so that it cannot answer.
    #[getter]
    fn is_locked(&self, py: Python<'_>) -> PyResult<bool> {
        self.held.read(py, |filter| Ok(filter.is_locked()))
    }

    /// Whether keys can be added.
    #[getter]
    fn takes_keys(&self, py: Python<'_>) -> PyResult<bool> {
        self.held.read(py, |filter| Ok(filter.require_takes_keys().is_ok()))
    }

    /// A text that is stored with a native filter; empty for other dialects. Can be set.
    #[getter]
    fn label(&self, py: Python<'_>) -> PyResult<String> {
        self.of_native(py, |facts| Some(facts.label)).map(Option::unwrap_or_default)
    }

    #[setter]
    fn set_label(&self, py: Python<'_>, label: &str) -> PyResult<()> {
        self.held.write(py, |filter| filter.set_label(label).map_err(errors::change))
    }

    /// A copy with half as many blocks: the same keys, half the memory, a higher rate. For fast native
    /// filters with an even number of blocks.
    fn folded(&self, py: Python<'_>) -> PyResult<Filter> {
        let copy = self.held.read_detached(py, |filter| {
            match filter.kind() {
                None => return Err(errors::value("only native filters can be folded")),
                Some(Kind::Fast) => {}
                Some(kind) => {
                    return Err(errors::value(format_args!(
                        "a native filter of the kind {kind} cannot be folded: only fast ones can"
                    )));
                }
            }
            filter.try_clone().map_err(errors::size)
        })?;
        copy.require_takes_keys().map_err(errors::change)?;
        match copy.into_native() {
            Ok(StoredFilter::Fast(filter)) => {
                py.detach(|| filter.folded()).map(|filter| self.like(filter.into())).map_err(errors::size)
            }
            _ => Err(errors::value("only native filters can be folded")),
        }
    }

    /// Compares every byte of a mapped native file with its checksums; raises ``FormatError``. Other filters
    /// were checked when they were read.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.held.read_detached(py, |filter| filter.verify().map_err(errors::decode))
    }

    /// Saves the filter: the file is replaced whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.held.read_detached(py, |filter| filter.save(&path).map_err(errors::file))
    }

    /// The encoded filter: the bytes that ``save`` writes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut len = None;
        loop {
            let room = match len {
                Some(len) => len,
                None => usize::try_from(self.nbytes(py)?).map_err(errors::value)?,
            };
            let mut left = None;
            let bytes = PyBytes::new_with(py, room, |room| {
                left = self.held.read_detached(py, |filter| Ok(encode_into(filter, room)))?;
                Ok(())
            })?;
            match left {
                Some(0) => return Ok(bytes),
                // It drops zeros at the end, or another thread has changed it: once more, with the right
                // length.
                Some(left) => len = Some(room - left),
                None => len = None,
            }
        }
    }

    /// A copy; it takes keys if filters of its dialect and kind do.
    fn copy(&self, py: Python<'_>) -> PyResult<Filter> {
        self.held.copy(py).map(|filter| self.like(filter))
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Filter> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Filter> {
        self.copy(py)
    }

    /// A pickle holds the encoded bytes and, for a keyed filter, the secret.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (dialect, geometry, secret) = self.held.read(py, |filter| {
            // Native files say it themselves, and that of a filter that grows may change meanwhile.
            let geometry = filter.kind().is_none().then(|| filter.geometry());
            Ok((filter.dialect(), geometry, filter.secret().cloned()))
        })?;
        let (bits, probes) = geometry.map(|geometry| (geometry.bit_len, geometry.probes)).unzip();
        let secret = secret.as_ref().map(|secret| PyBytes::new(py, secret.as_bytes()));
        let bytes = self.to_bytes(py)?;
        let args = (bytes, dialect.as_str(), bits, probes, secret, self.key_type());
        Ok((PyType::new::<Filter>(py).getattr("_unpickled")?, args.into_pyobject(py)?))
    }

    /// What ``__reduce__`` gives, as a filter.
    #[staticmethod]
    fn _unpickled(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        dialect: Option<&str>,
        bits: Option<u64>,
        probes: Option<u32>,
        secret: Option<&[u8]>,
        key_type: Option<&str>,
    ) -> PyResult<Filter> {
        Filter::from_bytes(py, data, dialect, bits, probes, secret, key_type)
    }

    fn __or__(&self, py: Python<'_>, other: &Filter) -> PyResult<Filter> {
        self.combined(py, other, Combine::Merge)
    }

    fn __and__(&self, py: Python<'_>, other: &Filter) -> PyResult<Filter> {
        self.combined(py, other, Combine::Intersect)
    }

    fn __ior__(&self, py: Python<'_>, other: &Filter) -> PyResult<()> {
        self.combine(py, other, Combine::Merge)
    }

    fn __iand__(&self, py: Python<'_>, other: &Filter) -> PyResult<()> {
        self.combine(py, other, Combine::Intersect)
    }

    /// Filters with the same bytes are equal; the label and the number of keys of native filters do not
    /// matter.
    fn __richcmp__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let (Ok(other), CompareOp::Eq | CompareOp::Ne) = (other.cast::<Filter>(), op) else {
            return Ok(py.NotImplemented());
        };
        let equal = self.held.equals(py, &other.get().held)?;
        Ok(PyBool::new(py, equal == matches!(op, CompareOp::Eq)).to_owned().into_any().unbind())
    }

    /// Frees the memory or unmaps the file; the filter cannot be used any more.
    fn close(&self, py: Python<'_>) {
        self.held.close(py);
    }

    fn __enter__(slf: Py<Filter>) -> Py<Filter> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let described = self.held.read_detached(py, |filter| {
            let (dialect, geometry) = (filter.dialect(), filter.geometry());
            let kind = filter.kind().filter(|kind| *kind != Kind::Fast);
            let kind = kind.map_or(String::new(), |kind| format!(", {kind}"));
            let keys = filter.native_facts().map_or(String::new(), |facts| match facts.keys {
                u64::MAX => "too many keys to estimate, ".to_owned(),
                keys => format!("{}{keys} keys, ", if facts.keys_are_estimated { "about " } else { "" }),
            });
            let (bits, probes) = (geometry.bit_len, geometry.probes);
            let locked = if filter.is_locked() { ", locked" } else { "" };
            Ok(format!("<fullbloom.Filter {dialect}{kind}: {keys}{bits} bits, {probes} probes{locked}>"))
        });
        described.unwrap_or_else(|_| "<fullbloom.Filter, closed>".to_owned())
    }

    fn __sizeof__(&self, py: Python<'_>) -> usize {
        let held = self.held.read(py, |filter| Ok(filter.encoded_len() as usize));
        size_of::<Filter>() + held.unwrap_or(0)
    }
}
