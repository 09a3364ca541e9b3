//! The file that keeps the seen keys between runs.

use super::Args;
use super::seen::Seen;
use crate::destination::Destination;
use crate::error::Failure;
use crate::input::{Keys, load_stored};
use crate::output;
use crate::text;
use fullbloom::NativeFilter;
use fullbloom::native::{RotatingFilter, StoredFilter};
use std::path::Path;

/// The file of `--state`.
pub struct State<'a> {
    path: &'a Path,
    destination: Destination,
}

impl<'a> State<'a> {
    pub fn new(path: &'a Path, keys: &Keys, force: bool) -> Result<State<'a>, Failure> {
        if path == Path::new("-") {
            return Err(Failure::new("--state", "is a file, not a stream"));
        }
        if keys.include(path) {
            return Err(Failure::new(path.display(), "is a key file and would be overwritten by the filter"));
        }
        Ok(State { path, destination: Destination::file(path, force)? })
    }

    /// Whether there is something to load: a run before has saved it.
    pub fn exists(&self) -> bool {
        self.destination.exists()
    }

    /// Loads the keys of earlier runs. The filter keeps its kind and size; options that ask for others give a
    /// warning.
    pub fn load(&self, args: &Args) -> Result<Seen, Failure> {
        let path = self.path.display();
        let stored = load_stored(self.path, args.secret.read()?, args.types.key_type.key_type())?;
        let kind = stored.kind();
        if args.rotation.is_given() && kind != "rotating" {
            return Err(Failure::new(&path, format_args!("is a {kind} filter, which forgets nothing"))
                .hint("--rotate needs a state that was made with it: name another file"));
        }
        match stored {
            StoredFilter::Fast(filter) if !filter.takes_keys() => {
                Err(Failure::new(&path, "the filter has exceptions and takes no more keys"))
            }
            StoredFilter::Fast(filter) => {
                self.warn_of_size(args, &filter);
                Ok(Seen::Fixed(filter))
            }
            StoredFilter::Growing(filter) => {
                self.warn_of_growth(args, filter.planned_fpr());
                Ok(Seen::Growing(filter))
            }
            StoredFilter::Rotating(filter) => {
                self.warn_of_growth(args, filter.planned_fpr());
                self.warn_of_rotation(args, &filter)?;
                Ok(Seen::Rotating(filter))
            }
            _ => Err(Failure::new(
                &path,
                format_args!("is a {kind} filter, which unique cannot use as its state"),
            )
            .hint("fullbloom insert and fullbloom remove change it")),
        }
    }

    /// Replaces the file, completely or not at all.
    pub fn save(&mut self, seen: &Seen) -> Result<(), Failure> {
        self.destination.write(|out| seen.write_to(out))
    }

    fn warn_of_size(&self, args: &Args, filter: &NativeFilter) {
        let (path, made_for) = (self.path.display(), filter.expected_keys());
        if args.expected_keys.is_some_and(|asked| asked != made_for) {
            output::warning(&format!(
                "{path}: made for {made_for} keys, which --expected-keys does not change"
            ));
        }
        self.warn_of_rate(args, filter.planned_fpr());
    }

    fn warn_of_growth(&self, args: &Args, planned: f64) {
        if args.expected_keys.is_some() {
            let (path, why) =
                (self.path.display(), "a state that grows, which --expected-keys does not change");
            output::warning(&format!("{path}: {why}"));
        }
        self.warn_of_rate(args, planned);
    }

    fn warn_of_rate(&self, args: &Args, planned: f64) {
        if args.fpr.is_some_and(|asked| planned > asked * 1.01) {
            let (path, rate) = (self.path.display(), text::rate(planned));
            output::warning(&format!("{path}: made for a rate of {rate}, which --fpr does not change"));
        }
    }

    fn warn_of_rotation(&self, args: &Args, filter: &RotatingFilter) -> Result<(), Failure> {
        let path = self.path.display();
        if args.rotation.requested()?.is_some_and(|asked| asked != filter.rotation()) {
            let why = "made for another rotation, which the options do not change; see fullbloom inspect";
            output::warning(&format!("{path}: {why}"));
        }
        Ok(())
    }
}
