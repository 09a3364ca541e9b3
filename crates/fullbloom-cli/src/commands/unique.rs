//! `fullbloom unique [KEYS…]`: prints each key the first time it appears.

mod rotation;
mod seen;
mod state;

use crate::args::{KeyArgs, TypeArgs};
use crate::destination::ForceArgs;
use crate::error::{Failure, Status};
use crate::input::{Keys, Records, threads};
use crate::numbers;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::secret::SecretArgs;
use crate::text;
use fullbloom::NativeFilter;
use fullbloom::SizeError;
use fullbloom::dialect::Name;
use fullbloom::native::{GrowingFilter, Hashing, RotatingFilter, Sizing};
use fullbloom::sizing::{Request, Target};
use rotation::RotationArgs;
use seen::Seen;
use state::State;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// The default rate: a false positive is a new key that is not printed, so it should be rare.
const DEFAULT_FPR: f64 = 1e-6;

/// Keys of the first link of a chain if their number is unknown; each further link takes twice as many.
const FIRST: u64 = 1 << 20;

/// Keys of the first generation by default; later ones start with the number of keys of the one before.
const FIRST_OF_GENERATION: u64 = 1 << 17;

/// Print each key only the first time it appears, in order
///
/// Memory holds a filter and not the keys: about 4 bytes for each key at the default rate. The price is that
/// some new keys count as known and are not printed: one in a million, or the rate of --fpr. Without
/// --expected-keys, keys in plain files are counted first; for other input the filter grows with the new
/// keys.
///
/// With --state the filter is kept in a file, and keys of earlier runs are known. Without --expected-keys it
/// grows with the keys and keeps its rate. The file is replaced completely when all keys have been read and
/// the new ones printed, and at every --save-every. If that fails, the file does not change, and a later run
/// prints the keys again.
///
/// With --rotate keys expire some time after they were printed: a key is not printed again within that time,
/// and is printed again after that time and one more step (a seventh of it, or as --generations says). Exit
/// status: 0 if there was a new key, 1 if there was none, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom unique < urls > new-urls
  zcat urls.gz | fullbloom unique --expected-keys 2e9 --fpr 1e-4 > new-urls
  fullbloom unique --state seen.bloom today.txt > new-today.txt
  tail -F log | fullbloom unique --rotate 7d --state week.bloom --save-every 10m
  fullbloom unique --rotate-keys 10M --generations 10 < urls")]
pub struct Args {
    #[command(flatten)]
    keys: KeyArgs,

    #[command(flatten)]
    types: TypeArgs,

    /// How many new keys to size the filter for: 1000000, 1e6, 1M; with --rotate, how many are remembered at
    /// once
    #[arg(long, value_name = "N", value_parser = numbers::count, allow_negative_numbers = true)]
    expected_keys: Option<u64>,

    /// Rate of new keys that count as known: 0.01, 1e-6, 1% [default: 1e-6]
    #[arg(long, value_name = "P", value_parser = numbers::rate, allow_negative_numbers = true)]
    fpr: Option<f64>,

    /// The filter of all keys so far: loaded if the file exists, and saved at the end
    #[arg(long, value_name = "FILTER")]
    state: Option<PathBuf>,

    /// Also save the state at this interval: 10m
    #[arg(long, value_name = "TIME", value_parser = numbers::duration, requires = "state")]
    save_every: Option<Duration>,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    force: ForceArgs,

    /// Print only how many keys were new
    #[arg(short = 'c', long)]
    count: bool,

    #[command(flatten)]
    rotation: RotationArgs,
}

/// Prints the new keys.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let format = args.types.apply(args.keys.format(), Name::Native)?;
    let mut keys = Keys::new(&args.keys.files, format)?;
    let mut state =
        args.state.as_deref().map(|path| State::new(path, &keys, args.force.force)).transpose()?;
    let mut seen = begin(args, state.as_ref(), &mut keys)?;
    if !state.as_ref().is_some_and(State::exists) {
        seen.set_key_type(args.types.key_type.key_type());
    }
    let planned = seen.planned().unwrap_or(0);
    let mut out = Output::stdout();
    let progress =
        if out.is_terminal() { Progress::hidden() } else { Progress::new("reading keys", keys.total()) };

    let end = keys.format().end;
    let (mut new, mut count, mut warned) = (Vec::new(), 0, false);
    let (mut saved_at, mut unsaved) = (Instant::now(), false);
    let hashing = seen.hashing().clone();
    keys.in_order_hashed_records(&progress, threads(), &hashing, |hashes, records| {
        new.resize(hashes.len(), false);
        let added = seen.insert(hashes, &mut new).map_err(|e| Failure::size(Name::Native, &e))?;
        count += added;
        unsaved |= added > 0 || matches!(seen, Seen::Rotating(_));
        if !args.count {
            print(&mut out, records, &new, end)?;
            out.pause()?;
        }
        if !warned && seen.is_overfull() {
            warned = true;
            output::warning(&format!(
                "more than the {planned} new keys planned for: from now on the rate rises"
            ));
        }
        if let (Some(state), Some(every)) = (&mut state, args.save_every)
            && unsaved
            && saved_at.elapsed() >= every
        {
            out.flush()?; // a key that was not printed must not be saved as known
            state.save(&seen)?;
            (saved_at, unsaved) = (Instant::now(), false);
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
            "{keys} keys are in the filter, {planned} were planned for: now one new key in {} counts as known",
            text::one_in(rate)
        ));
        output::hint("a --state made without --expected-keys grows with its keys");
    }
    if let Some(mut state) = state
        && (unsaved || !state.exists())
    {
        state.save(&seen)?;
    }
    Ok(Status::selected(count > 0))
}

/// Prints the new records, adjacent ones together.
fn print(out: &mut Output, records: Records<'_>, new: &[bool], end: u8) -> Result<(), Failure> {
    let mut at = 0;
    while at < new.len() {
        let mut next = at + 1;
        while next < new.len() && new[next] == new[at] && !records.follows_gap(next) {
            next += 1;
        }
        if new[at] {
            out.bytes(records.run(at..next))?;
            if next == records.len() && records.last_is_unended() {
                out.bytes(&[end])?;
            }
        }
        at = next;
    }
    Ok(())
}

/// The filter to start with.
fn begin(args: &Args, state: Option<&State<'_>>, keys: &mut Keys) -> Result<Seen, Failure> {
    let rotation = args.rotation.requested()?;
    if let Some(state) = state.filter(|state| state.exists()) {
        return state.load(args);
    }
    let size = |e: SizeError| Failure::size(Name::Native, &e);
    let fpr = args.fpr.unwrap_or(DEFAULT_FPR);
    let hashing = args.secret.read()?.map_or(Hashing::default(), Hashing::Secret);
    let fixed = |expected_keys| {
        let request = Request { expected_keys, target: Target::Fpr(fpr) };
        let filter = Sizing::new(&request).and_then(|plan| NativeFilter::with_sizing(&plan, hashing.clone()));
        filter.map(Seen::Fixed).map_err(size)
    };
    let growing = |first| GrowingFilter::new(first, fpr, hashing.clone()).map(Seen::Growing).map_err(size);
    if let Some(rotation) = rotation {
        let part = |keys: u64| keys.div_ceil(u64::from(rotation.generations));
        let first = args.expected_keys.map_or(FIRST_OF_GENERATION, part);
        let filter = RotatingFilter::with_hashing(rotation, first, fpr, hashing.clone(), SystemTime::now());
        return filter.map(Seen::Rotating).map_err(size);
    }
    if let Some(expected_keys) = args.expected_keys {
        return fixed(expected_keys);
    }
    fixed(0)?; // reports a wrong rate before anything is read
    if !keys.are_plain_files() {
        return growing(FIRST);
    }
    let counted = keys.count(&Progress::new("counting keys", keys.total()))?;
    // A state will get more keys in later runs.
    if state.is_some() { growing(counted.max(1000)) } else { fixed(counted) }
}
