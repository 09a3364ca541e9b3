//! The file that keeps the seen keys between runs.

use super::seen::Seen;
use super::{Args, DEFAULT_FPR};
use crate::destination::Destination;
use crate::error::Failure;
use crate::input::{Keys, load_stored};
use crate::output;
use crate::text;
use fullbloom::internal::claim::Claim;
use fullbloom::internal::journal::JournalWriter;
use fullbloom::native::{Expiry, Mode, StoredFilter};
use std::path::Path;

/// The file of `--state`.
pub struct State<'a> {
    path: &'a Path,
    saver: Saver,
}

/// How the filter is saved.
enum Saver {
    /// Whole.
    Whole(Box<Claim>),
    /// Whole, or as a few keys in its journal.
    Journal(Box<JournalWriter>),
}

impl<'a> State<'a> {
    /// Claims the file, and loads the keys of earlier runs. The filter keeps its kind and size; options that ask for
    /// others give a warning.
    pub fn open(args: &Args, path: &'a Path, keys: &Keys) -> Result<(State<'a>, Option<Seen>), Failure> {
        if path == Path::new("-") {
            return Err(Failure::new("--state", "is a file, not a stream"));
        }
        if keys.include(path) {
            return Err(Failure::new(path.display(), "is a key file and would be overwritten by the filter"));
        }
        let destination = Destination::file(path, args.force.force)?;
        let exists = destination.exists();
        let claim = destination.into_claim().expect("a file");
        if !exists {
            return Ok((State { path, saver: Saver::Journal(Box::new(JournalWriter::new(claim))) }, None));
        }
        let key_type = args.types.key_type.key_type();
        let (stored, writer) = load_stored(path, claim, args.secret.read()?, key_type)?;
        let (kind, name) = (stored.kind(), path.display());
        let is_usable = match &stored {
            StoredFilter::Fast(filter) => filter.takes_keys(),
            StoredFilter::Dynamic(filter) => filter.mode() != Mode::Counting,
            _ => false,
        };
        if is_usable {
            warn_of_other_options(args, path, &stored)?;
        }
        match stored {
            StoredFilter::Fast(filter) if !filter.takes_keys() => {
                Err(Failure::new(&name, "the filter has exceptions and takes no more keys"))
            }
            StoredFilter::Fast(filter) => Ok((
                State { path, saver: Saver::Whole(Box::new(writer.into_claim())) },
                Some(Seen::Fixed(filter)),
            )),
            StoredFilter::Dynamic(filter) if filter.mode() != Mode::Counting => {
                Ok((State { path, saver: Saver::Journal(Box::new(writer)) }, Some(Seen::Dynamic(filter))))
            }
            StoredFilter::Dynamic(_) => {
                let why = "is a deletable filter, which counts every key and cannot be a state";
                Err(Failure::new(&name, why).hint("fullbloom insert and fullbloom remove change it"))
            }
            _ => Err(Failure::new(&name, format_args!("is a {kind} filter, which takes no more keys"))),
        }
    }

    /// Whether a run has saved it.
    pub fn exists(&self) -> bool {
        match &self.saver {
            Saver::Whole(claim) => claim.exists(),
            Saver::Journal(writer) => writer.exists(),
        }
    }

    /// Notes keys that were inserted since the last save.
    pub fn record(&mut self, seen: &Seen, hashes: &[u64], new: &[bool]) {
        if let (Saver::Journal(writer), Seen::Dynamic(filter)) = (&mut self.saver, seen) {
            writer.record(filter, hashes, new);
        }
    }

    /// Saves what was inserted since the last save, completely or not at all.
    pub fn save(&mut self, seen: &Seen) -> Result<(), Failure> {
        match (&mut self.saver, seen) {
            (Saver::Journal(writer), Seen::Dynamic(filter)) => writer.save(filter)?,
            (Saver::Whole(claim), Seen::Fixed(filter)) => claim.replace(|out| filter.write_to(out))?,
            _ => unreachable!("{}: the kind does not change", self.path.display()),
        }
        Ok(())
    }

    /// Saves for the last time.
    pub fn finish(mut self, seen: &Seen) -> Result<(), Failure> {
        match (self.saver, seen) {
            (Saver::Journal(writer), Seen::Dynamic(filter)) => Ok(writer.finish(filter)?),
            (saver, seen) => {
                self.saver = saver;
                self.save(seen)
            }
        }
    }
}

/// Says which options the existing filter does not follow.
fn warn_of_other_options(args: &Args, path: &Path, stored: &StoredFilter) -> Result<(), Failure> {
    let name = path.display();
    let facts = stored.facts();
    let asked = args.expiry.requested()?;
    let has = match stored {
        StoredFilter::Dynamic(filter) => match filter.mode() {
            Mode::Expiring(expiry) => Some(expiry),
            _ => None,
        },
        _ => None,
    };
    match (asked, has) {
        (Some(_), None) => {
            return Err(Failure::new(&name, "is a filter that forgets nothing")
                .hint("--expire needs a state that was made with it: name another file"));
        }
        (Some(asked), Some(has)) if asked != has => {
            let why = "made with another expiry, which the options do not change; see fullbloom inspect";
            output::warning(&format!("{name}: {why}: {}", described(&has)));
        }
        _ => {}
    }
    let (made_for, up_to) = match stored {
        StoredFilter::Dynamic(filter) => (filter.expected_keys(), Some(filter.up_to())),
        _ => (facts.expected_keys, None),
    };
    if args.expected_keys.is_some_and(|asked| asked != made_for && up_to.is_none_or(|up_to| asked > up_to)) {
        let made_for = up_to.unwrap_or(made_for);
        output::warning(&format!("{name}: made for {made_for} keys, which --expected-keys does not change"));
    }
    if args.up_to.is_some_and(|asked| Some(asked) != up_to) {
        let made_for = up_to.unwrap_or(made_for);
        output::warning(&format!("{name}: made for up to {made_for} keys, which --up-to does not change"));
    }
    let rate = facts.planned_fpr;
    let differs = |asked: f64| rate > asked * 1.01 || rate < asked / 1.01;
    match args.fpr {
        Some(asked) if differs(asked) => {
            let rate = text::rate(rate);
            output::warning(&format!("{name}: made for a rate of {rate}, which --fpr does not change"));
        }
        None if rate > DEFAULT_FPR * 1.01 => {
            let one_in = text::one_in(rate);
            output::warning(&format!(
                "{name}: made for a rate of {}: one new key in {one_in} counts as known and is not printed",
                text::rate(rate)
            ));
            output::hint("a new state has a rate of 1e-6, or that of --fpr");
        }
        _ => {}
    }
    Ok(())
}

fn described(expiry: &Expiry) -> String {
    use fullbloom::native::Keep;
    let keep = match expiry.keep {
        Keep::Time(time) => text::duration(time),
        Keep::Keys(keys) => text::counted(keys, "key"),
    };
    let refresh = if expiry.refresh { ", with --refresh" } else { "" };
    format!("{keep} in {}{refresh}", text::counted(expiry.generations.into(), "generation"))
}
