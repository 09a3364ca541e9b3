//! `convert`: a filter in another dialect, or a smaller native one, without its keys.

use super::merge::{refusal, trusted};
use super::{FilterFile, ReadOptions};
use crate::problem::{Code, Need, Problem};
use crate::text;

use fullbloom::sizing::Request;
use fullbloom_any as any;
use fullbloom_any::StoredFilter;
use fullbloom_any::{AnyFilter, ConvertError};
use fullbloom_dialects::Name;
use std::path::Path;

/// What a filter is to become.
#[derive(Debug, Clone)]
pub struct ConvertOptions {
    /// How to read it. A secret is used only for native filters.
    pub read: ReadOptions,
    /// The new dialect.
    pub to: Name,
    /// The keys and the rate the filter was made for, which a libbloom file stores.
    pub made_for: Option<Request>,
    /// How small a native filter becomes.
    pub shrink: Option<Shrink>,
    /// A dynamic filter becomes a compact one, not a fast one.
    pub compact: bool,
    /// The rate of the compact filter, on top of the dynamic one's own. The default is the planned rate of
    /// the dynamic one.
    pub fpr: Option<f64>,
}

/// How small a native filter becomes: it is halved once or several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shrink {
    /// Until its file has at most this many bytes.
    ToBytes(u64),
    /// This many times.
    Times(u32),
}

/// The filter of a file in another dialect, where the positions of its keys stay the same; or from native to
/// native, halved, or as a fast or compact filter of a dynamic one's keys.
pub fn convert(path: &Path, options: &ConvertOptions) -> Result<AnyFilter, Problem> {
    let mut file = FilterFile::load(path, &options.read)?;
    let (from, to) = (file.dialect(), options.to);
    if options.compact {
        if (from, to) != (Name::Native, Name::Native) {
            return Err(refusal(path, "only dynamic filters can become compact ones"));
        }
        return compacted(&file, options.fpr);
    }
    if (from, to) == (Name::Native, Name::Native) {
        let folded = folded(&file, options.shrink)?;
        return Ok(AnyFilter::from(folded));
    }
    if options.shrink.is_some() {
        return Err(Problem::at(path, Code::OptionRefused, "only native filters can be halved"));
    }
    file.options.secret = None;
    let opened = file.open()?;
    if let (Some(problem), true) = (opened.problems.first(), opened.may_lose_keys) {
        return Err(problem.clone());
    }
    any::convert(from, file.bytes(), options.read.geometry, to, options.made_for)
        .map_err(|e| refused(path, from, to, &e))
}

/// The compact filter of a dynamic one's keys.
fn compacted(file: &FilterFile, fpr: Option<f64>) -> Result<AnyFilter, Problem> {
    match trusted(file)?.try_clone().map(AnyFilter::into_native) {
        Ok(Ok(StoredFilter::Dynamic(filter))) => {
            let compact = fullbloom_any::to_compact(&filter, fpr.unwrap_or(filter.planned_fpr()));
            compact.map(AnyFilter::from).map_err(|e| Problem::new(Name::Native, Code::CannotSize, e))
        }
        Ok(Ok(other)) => {
            let why = format!("a {} filter cannot become a compact one: its keys are needed", other.kind());
            Err(refusal(file.path(), why).hint("build it from its keys").needs(Need::BuildCompact))
        }
        Ok(Err(_)) => Err(refusal(file.path(), "is not a native filter")),
        Err(e) => Err(Problem::new(Name::Native, Code::CannotSize, e)),
    }
}

/// The fast filter, halved as often as requested.
fn folded(file: &FilterFile, shrink: Option<Shrink>) -> Result<fullbloom::Filter, Problem> {
    let path = file.path();
    let size = |e| Problem::new(Name::Native, Code::CannotSize, e);
    let stored = trusted(file)?.try_clone().map_err(size)?.into_native();
    let stored = stored.map_err(|_| refusal(path, "is not a native filter"))?;
    let mut filter = match stored {
        StoredFilter::Fast(_) | StoredFilter::FixedFast(_) if shrink.is_none() => {
            return Err(refusal(path, "it is native already")
                .hint("give a smaller size")
                .needs(Need::SmallerSize));
        }
        StoredFilter::FixedFast(_) => {
            return Err(refusal(path, "the filter has exceptions, which hold only for its own size")
                .hint("build the smaller filter from its keys and its known-good keys")
                .needs(Need::Exceptions));
        }
        StoredFilter::Fast(filter) => filter,
        StoredFilter::Dynamic(filter) => filter.to_fast(filter.planned_fpr()).map_err(size)?,
        other => {
            return Err(refusal(path, format!("a {} filter cannot become a fast one", other.kind())));
        }
    };
    let mut times = 0;
    let wanted = |filter: &fullbloom::Filter, times| match shrink {
        Some(Shrink::Times(asked)) => times < asked,
        Some(Shrink::ToBytes(most)) => filter.encoded_len() > most,
        None => false,
    };
    while wanted(&filter, times) {
        filter = filter.folded().map_err(|_| {
            let (blocks, size) = (filter.blocks(), text::bytes(filter.encoded_len()));
            let why =
                format!("it cannot be halved any further: the number of blocks is odd ({blocks}, in {size})");
            refusal(path, why).hint("build the smaller filter from its keys")
        })?;
        times += 1;
    }
    Ok(filter)
}

fn refused(path: &Path, from: Name, to: Name, cause: &ConvertError) -> Problem {
    let problem = refusal(path, format_args!("cannot become {to}: {cause}"));
    let both_cassandra = [from, to].iter().all(|name| name.as_str().starts_with("cassandra"));
    match cause {
        ConvertError::NeedsKeys { .. } if both_cassandra => problem
            .hint("rebuild it beside its sstable, or build it from a list of its keys")
            .needs(Need::Build(to)),
        ConvertError::NeedsKeys { .. } => problem.hint("build it from its keys").needs(Need::Build(to)),
        ConvertError::NeedsNumbers => {
            problem.hint("give the number of keys and the rate it was made for").needs(Need::Request)
        }
        _ => problem,
    }
}
