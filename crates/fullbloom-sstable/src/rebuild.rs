//! A new `Filter.db` from the keys of an sstable: at another rate, or because the old one is damaged.
//!
//! Three steps: [`propose`] counts the keys and sizes the filter, [`Proposal::build`] builds it,
//! [`Rebuilt::write`] writes it (see [`replace`](crate::replace)). A dry run leaves out the last.

use crate::RebuildError;
use crate::expected::{IndexShort, index_short};
use crate::filter_db::{FilterFile, FilterProblem};
use crate::keys::{Ends, Keys, Scan};
use crate::report::{Recorded, Statistics};
use crate::sstable::Sstable;
use fullbloom::sizing::{Geometry, Request, Target};
use fullbloom::{FileError, SizeError};
use fullbloom_any as any;
use fullbloom_any::{AnyFilter, Builder, Plan};
use fullbloom_files::replace::Output;
use std::ops::ControlFlow;

/// The size of the new filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Sized by Cassandra's rule for the rate recorded in `Statistics.db`.
    Recorded,
    /// Sized by Cassandra's rule for this rate.
    Fpr(f64),
    /// This many bits for each key, rounded to whole bits as Cassandra before 1.2 did.
    BitsPerKey(f64),
    /// The size of the old filter, which must be readable.
    Geometry,
}

/// What a rebuild would write, before anything is written.
#[derive(Debug)]
#[non_exhaustive]
pub struct Proposal<'s> {
    /// The sstable whose filter is rebuilt.
    pub sstable: &'s Sstable,
    /// The number of partition keys in the index.
    pub keys: u64,
    /// Entries of the index that are not in the order of their partitions. If there are any, the index is not
    /// as Cassandra wrote it, and keys may be missing from it.
    pub out_of_order: u64,
    /// The index has fewer keys than the sstable: the new filter would hide rows.
    pub index_short: Option<IndexShort>,
    /// The old filter, where it can be read.
    pub before: Option<Before>,
    /// What is wrong with the old filter.
    pub problem: Option<FilterProblem>,
    /// The new filter: its family is that of the sstable's version, whatever the old one is.
    pub after: Plan,
    /// The requested rate; `None` if bits were requested.
    pub fpr: Option<f64>,
    /// The recorded rate.
    pub recorded: Recorded,
    request: Request,
    source: Keys<'s>,
}

/// The size of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Before {
    /// Bits and probes.
    pub geometry: Geometry,
    /// Bytes of its file.
    pub file_bytes: u64,
}

/// Counts the keys of an sstable and sizes a new filter for them.
pub fn propose(sstable: &Sstable, rate: Rate) -> Result<Proposal<'_>, RebuildError> {
    let statistics = Statistics::read(sstable);
    let (file, problem) = match FilterFile::open(sstable) {
        Ok(mut file) => {
            let problem = file.problem.take();
            (Some(file), problem)
        }
        Err(problem) => (None, Some(problem)),
    };
    let before =
        file.as_ref().map(|file| Before { geometry: file.filter.geometry(), file_bytes: file.file_len() });
    let target = target(rate, &statistics.recorded, before)?;
    let source = Keys::open(sstable)?;
    let mut ends = Ends::default();
    let Scan { keys, out_of_order } = source.visit(|batch| {
        ends.extend(batch);
        ControlFlow::Continue(())
    })?;
    let filter = file.as_ref().map(|file| &file.filter);
    let index_short = index_short(sstable, keys, &ends, statistics.partitions, filter);
    let request = Request { expected_keys: keys, target };
    let after = any::plan(sstable.dialect, &request)?;
    let fpr = match target {
        Target::Fpr(fpr) => Some(fpr),
        _ => None,
    };
    let recorded = statistics.recorded.unwrap_or(Recorded::Unreadable);
    Ok(Proposal {
        sstable,
        keys,
        out_of_order,
        index_short,
        before,
        problem,
        after,
        fpr,
        recorded,
        request,
        source,
    })
}

fn target(
    rate: Rate,
    recorded: &Result<Recorded, FileError>,
    before: Option<Before>,
) -> Result<Target, RebuildError> {
    let fpr = match rate {
        Rate::Fpr(fpr) => fpr,
        Rate::BitsPerKey(bits_per_key) => return Ok(Target::BitsPerKey(bits_per_key)),
        Rate::Geometry => {
            let Some(Before { geometry, .. }) = before else {
                return Err(RebuildError::NoRate { why: "the old filter cannot be read" });
            };
            return Ok(Target::Exact { bit_len: geometry.bit_len, probes: geometry.probes });
        }
        Rate::Recorded => match recorded {
            Ok(Recorded::Found(validation)) => validation.fpr,
            Ok(Recorded::NotRead) => {
                return Err(RebuildError::NoRate {
                    why: "sstables before version ka record it in a form that is not read",
                });
            }
            Ok(Recorded::Encrypted) => {
                return Err(RebuildError::NoRate { why: "Statistics.db is encrypted" });
            }
            Ok(Recorded::Missing) => {
                return Err(RebuildError::NoRate { why: "there is no Statistics.db" });
            }
            Ok(Recorded::Nothing | Recorded::Unreadable) => {
                return Err(RebuildError::NoRate { why: "Statistics.db records none" });
            }
            Err(_) => return Err(RebuildError::NoRate { why: "Statistics.db cannot be read" }),
        },
    };
    if fpr == 1.0 {
        return Err(RebuildError::NoFilter);
    }
    Ok(Target::Fpr(fpr))
}

impl<'s> Proposal<'s> {
    /// Builds the filter and looks every key up in it before returning it.
    pub fn build(&self) -> Result<Rebuilt<'s>, RebuildError> {
        let mut builder = Builder::new(self.sstable.dialect, &self.request)?;
        let mut found = 0;
        self.source.visit(|batch| {
            found += batch.len() as u64;
            builder.add_batch(batch);
            ControlFlow::Continue(())
        })?;
        let filter = builder.build()?;
        let (mut asked, mut answers) = (0, Vec::new());
        self.source.visit(|batch| {
            answers.resize(batch.len(), false);
            filter.may_contain_batch_into(batch, &mut answers).expect("a place for each key");
            asked += answers.iter().filter(|answer| **answer).count() as u64;
            ControlFlow::Continue(())
        })?;
        // Fewer found than inserted: other keys were read the second time, or memory failed.
        if found != self.keys || asked != found {
            return Err(RebuildError::Changed { counted: self.keys, found: asked.min(found) });
        }
        Ok(Rebuilt { filter, sstable: self.sstable })
    }
}

/// A rebuilt filter, in memory.
pub struct Rebuilt<'s> {
    filter: AnyFilter,
    pub(crate) sstable: &'s Sstable,
}

impl Rebuilt<'_> {
    /// The rebuilt filter.
    pub fn filter(&self) -> &AnyFilter {
        &self.filter
    }

    /// The bytes of the new `Filter.db`.
    pub fn encode(&self) -> Result<Vec<u8>, SizeError> {
        let len = self.filter.encoded_len();
        let refused = SizeError::Memory { bytes: len };
        let mut bytes = Vec::new();
        let room = usize::try_from(len).ok().and_then(|len| bytes.try_reserve_exact(len).ok());
        room.ok_or(refused)?;
        self.filter.write_to(&mut bytes).expect("writing to memory that is there cannot fail");
        Ok(bytes)
    }

    /// Whether the sstable's `Filter.db` has these bytes already.
    pub fn is_in_place(&self) -> bool {
        FilterFile::open(self.sstable).is_ok_and(|file| file.is_exactly(&self.filter))
    }
}

/// The first sstable whose filter would be written to the same file as another one's.
pub fn first_clash<'s>(sstables: &'s [Sstable], output: &Output) -> Option<&'s Sstable> {
    let Output::Into(_) = output else { return None };
    let mut names = std::collections::HashSet::new();
    sstables.iter().find(|sstable| !names.insert(sstable.prefix.as_str()))
}
