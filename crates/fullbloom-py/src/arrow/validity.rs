//! Which keys of an Arrow array are not null.

use crate::run::Run;
use pyo3::prelude::*;

/// Keys are gathered in groups of this many.
pub(super) const GROUP: usize = 4096;

/// Which keys are not null.
pub(super) enum Validity<'a> {
    All,
    None,
    /// Bit `start + i` for key `i`.
    Bits {
        bits: &'a [u8],
        start: usize,
    },
    /// A dictionary with nulls among its values: a bool for each key.
    Each(Vec<bool>),
}

impl Validity<'_> {
    pub(super) fn is_all(&self) -> bool {
        matches!(self, Validity::All)
    }

    pub(super) fn is_valid(&self, i: usize) -> bool {
        match self {
            Validity::All => true,
            Validity::None => false,
            Validity::Bits { bits, start } => bits[(start + i) / 8] >> ((start + i) % 8) & 1 == 1,
            Validity::Each(valid) => valid[i],
        }
    }

    /// Calls `each` with the keys of a run that are not null; `first` is the number of its first key.
    pub(super) fn valid_keys(
        &self,
        first: usize,
        run: Run<'_>,
        each: &mut impl FnMut(Run<'_>) -> PyResult<()>,
    ) -> PyResult<()> {
        for start in (0..run.count()).step_by(GROUP) {
            let group = start..run.count().min(start + GROUP);
            let valid = group.filter(|&i| self.is_valid(first + i));
            match run {
                Run::Numbers(numbers) => each(Run::Numbers(&valid.map(|i| numbers[i]).collect::<Vec<_>>()))?,
                Run::Bytes(keys) => {
                    let slices: Vec<&[u8]> = valid.filter_map(|i| keys.get(i)).collect();
                    each(Run::bytes(slices.as_slice()))?;
                }
            }
        }
        Ok(())
    }
}
