//! `fullbloom unique [KEYS…]`: keys that were not there before, as they come.

mod seen;

use crate::args::KeyArgs;
use crate::destination::Destination;
use crate::error::{Failure, Status};
use crate::input::{Keys, Records, threads};
use crate::numbers;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::secret::SecretArgs;
use crate::text;
use fullbloom::dialect::Name;
use fullbloom::native::{GuardedFilter, Hashing, NativeFilter, Plan};
use fullbloom::sizing::{Request, Target};
use seen::Seen;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The rate when nothing is said: a false positive is a new key that is not printed, so it should be rare.
const DEFAULT_FPR: f64 = 1e-6;

/// Print every key the first time it comes, in order, and not again
///
/// Memory is that of a filter, not of the keys: about 4 bytes for each at the usual rate. The price is that now and then a
/// new key is taken for a known one and not printed: one in a million unless --fpr says otherwise. Without
/// --expected-keys, keys in plain files are counted first; for others memory grows with the new keys.
///
/// With --state the filter is kept: keys of earlier runs are known, too. The file is replaced whole when all keys
/// have been read and the new ones printed; if that fails, it stays as it was, and a later run prints them again. Exit
/// status: 0 if there was a new key, 1 if there was none, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom unique < urls > new-urls
  zcat urls.gz | fullbloom unique --expected-keys 2e9 --fpr 1e-4 > new-urls
  fullbloom unique --state seen.bloom --expected-keys 100M today.txt > new-today.txt")]
pub struct Args {
    #[command(flatten)]
    keys: KeyArgs,

    /// How many new keys to size the filter for: 1000000, 1e6, 1M
    #[arg(long, value_name = "N", value_parser = numbers::count, allow_negative_numbers = true)]
    expected_keys: Option<u64>,

    /// Rate of new keys taken for known ones: 0.01, 1e-6, 1% [default: 1e-6]
    #[arg(long, value_name = "P", value_parser = numbers::rate, allow_negative_numbers = true)]
    fpr: Option<f64>,

    /// The filter of all keys so far: read if it is there, made if not, saved at the end
    #[arg(long, value_name = "FILTER")]
    state: Option<PathBuf>,

    #[command(flatten)]
    secret: SecretArgs,

    /// Print only how many keys were new
    #[arg(short = 'c', long)]
    count: bool,
}

/// Prints the new keys.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let mut keys = Keys::new(&args.keys.files, args.keys.format())?;
    let state = args.state.as_deref().map(|path| State::new(path, &keys)).transpose()?;
    let mut seen = begin(args, state.as_ref(), &mut keys)?;
    let planned = seen.planned();
    let mut out = Output::stdout()?;
    let progress =
        if out.is_terminal() { Progress::hidden() } else { Progress::new("reading keys", keys.total()) };

    let end = keys.format().end;
    let (mut new, mut count, mut warned) = (Vec::new(), 0, false);
    let hashing = seen.hashing().clone();
    keys.in_order_hashed_records(&progress, threads(), &hashing, |hashes, records| {
        new.resize(hashes.len(), false);
        count += seen.insert(hashes, &mut new).map_err(|e| Failure::size(Name::Native, &e))?;
        if !args.count {
            print(&mut out, records, &new, end)?;
            out.pause()?;
        }
        if !warned && seen.is_overfull() {
            warned = true;
            output::warning(&format!(
                "more than the {planned} new keys planned for: from here on the rate grows"
            ));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    drop(progress);
    if args.count {
        out.record(count.to_string().as_bytes(), b'\n')?;
    }
    out.finish()?;
    if let Some((rate, keys)) = seen.overfull_rate() {
        output::warning(&format!(
            "{keys} keys are in where {planned} were planned for: by now one new key in {} is taken for a known one",
            text::one_in(rate)
        ));
        output::hint("give a larger --expected-keys; a --state must then be begun anew");
    }
    if let (Some(state), Some(filter)) = (state, seen.only())
        && (count > 0 || !state.is_there)
    {
        state.destination.write(|out| filter.write_to(out))?;
    }
    Ok(Status::selected(count > 0))
}

/// Prints the new records, neighbours at once.
fn print(out: &mut Output, records: Records<'_>, new: &[bool], end: u8) -> Result<(), Failure> {
    let mut at = 0;
    for run in new.chunk_by(|a, b| a == b) {
        let next = at + run.len();
        if run[0] {
            out.bytes(records.run(at..next))?;
            if next == records.len() && records.last_is_unended() {
                out.bytes(&[end])?;
            }
        }
        at = next;
    }
    Ok(())
}

/// Where the filter is kept between runs.
struct State<'a> {
    path: &'a Path,
    destination: Destination<'a>,
    is_there: bool,
}

impl<'a> State<'a> {
    fn new(path: &'a Path, keys: &Keys) -> Result<State<'a>, Failure> {
        if path == Path::new("-") {
            return Err(Failure::new("--state", "is a file, not a stream"));
        }
        if keys.include(path) {
            return Err(Failure::new(path.display(), "is a key file and would be overwritten by the filter"));
        }
        let destination = Destination::new(path)?;
        // A file that cannot be looked at is there: to begin anew would be to forget its keys.
        let looked = path.try_exists();
        let is_there = looked.map_err(|e| Failure::new(path.display(), format_args!("cannot open: {e}")))?;
        Ok(State { path, destination, is_there })
    }

    /// The filter of earlier runs.
    fn load(&self, args: &Args) -> Result<NativeFilter, Failure> {
        let mut guarded = GuardedFilter::load(self.path)?;
        if let Some(secret) = args.secret.read()? {
            guarded = guarded.unlock(&secret).map_err(|e| Failure::new(self.path.display(), e))?;
        }
        guarded.into_filter().map_err(|guarded| match guarded.is_locked() {
            true => {
                Failure::new(self.path.display(), "the filter is keyed, and its secret is not in the file")
                    .hint("give --secret FILE")
            }
            false => Failure::new(self.path.display(), "the filter has exceptions and takes no more keys"),
        })
    }
}

/// The filter to begin with.
fn begin(args: &Args, state: Option<&State<'_>>, keys: &mut Keys) -> Result<Seen, Failure> {
    let fpr = args.fpr.unwrap_or(DEFAULT_FPR);
    let sized = |expected_keys| {
        let request = Request { expected_keys, target: Target::Fpr(fpr) };
        let hashing = args.secret.read()?.map_or(Hashing::default(), Hashing::Secret);
        let filter = Plan::new(&request).and_then(|plan| NativeFilter::from_plan(&plan, hashing));
        filter.map_err(|e| Failure::size(Name::Native, &e))
    };
    if let Some(state) = state.filter(|state| state.is_there) {
        let filter = state.load(args)?;
        warn_of_size(args, state.path, &filter);
        return Ok(Seen::fixed(filter));
    }
    if let Some(expected_keys) = args.expected_keys {
        return sized(expected_keys).map(Seen::fixed);
    }
    sized(0)?; // a wrong rate is told before anything is read
    if keys.are_plain_files() {
        let counted = keys.count(&Progress::new("counting keys", keys.total()))?;
        return sized(counted).map(Seen::fixed);
    }
    match state {
        Some(state) => Err(Failure::new(state.path.display(), "how many keys it shall hold is not known")
            .hint("a state has one size: give --expected-keys N when it is made")),
        None => Seen::growing(fpr, sized(seen::FIRST)?.hashing().clone())
            .map_err(|e| Failure::size(Name::Native, &e)),
    }
}

/// A state keeps the size it was made with.
fn warn_of_size(args: &Args, path: &Path, filter: &NativeFilter) {
    let made_for = filter.expected_keys();
    if args.expected_keys.is_some_and(|asked| asked != made_for) {
        output::warning(&format!(
            "{}: made for {made_for} keys, which --expected-keys does not change",
            path.display()
        ));
    }
    if args.fpr.is_some_and(|asked| filter.planned_fpr() > asked * 1.01) {
        output::warning(&format!(
            "{}: made for a rate of {}, which --fpr does not change",
            path.display(),
            text::rate(filter.planned_fpr())
        ));
    }
}
