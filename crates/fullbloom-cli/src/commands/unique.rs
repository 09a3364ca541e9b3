//! `fullbloom unique [KEYS…]`: prints each key the first time it appears.

mod expiry;
mod saver;
#[cfg(unix)]
mod signals;
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
use expiry::ExpiryArgs;
use fullbloom::Hashing;
use fullbloom::sizing::Target;
use fullbloom_any::BuildOptions;
use fullbloom_any::Kind;
use fullbloom_dialects::Name;
use fullbloom_dynamic::Mode;
use fullbloom_ops::filter::Changing;
use saver::{Saver, State};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

/// The default rate: a false positive is a new key that is not printed, so it should be rare.
const DEFAULT_FPR: f64 = 1e-6;

/// Print each key only the first time it appears, in order
///
/// Keeps a filter in memory and not the keys: 5.0 to 6.4 bytes per key. Printed keys are new; one new key in
/// a million is missed.
///
/// The rate of --fpr holds up to a billion keys or --up-to. The filter grows with the keys; --expected-keys
/// reserves memory, and keeps the rate for that number only.
///
/// With --state the filter is kept in a file, and keys of earlier runs are known. It is saved at the end, and
/// at every --save-every, and when Ctrl-C (SIGINT) or SIGTERM stops the run. A few new keys go into a journal
/// beside it, STATE.journal: keep it with the file. If a save fails, or nobody reads the output any more,
/// earlier saves stay, and a later run prints the other keys again.
///
/// With --expire a key is not printed again within that time. It expires up to one step later; a step is 1/7
/// of the time, or 1/N with --generations N. Exit status: 0 if there was a new key, 1 if there was none, 2 on
/// errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom unique --state seen.bloom today.txt > new-today.txt
  tail -F log | fullbloom unique --expire 7d --state week.bloom --save-every 10m
  fullbloom unique --expire-keys 10M < urls")]
pub struct Args {
    #[command(flatten)]
    keys: KeyArgs,

    #[command(flatten)]
    types: TypeArgs,

    /// Make room for this many new keys: 1e6, 1M; with --expire, at any one time
    #[arg(long, value_name = "N", value_parser = numbers::count, allow_negative_numbers = true)]
    expected_keys: Option<u64>,

    /// Keep the rate up to this many keys [default: 1e9, or --expected-keys]
    #[arg(long, value_name = "N", value_parser = numbers::count, allow_negative_numbers = true)]
    up_to: Option<u64>,

    /// Miss at most this share of the new keys: 0.01, 1% [default: 1e-6]
    #[arg(long, value_name = "P", value_parser = numbers::rate, allow_negative_numbers = true)]
    fpr: Option<f64>,

    /// Keep the filter in this file: keys of earlier runs are known
    #[arg(long, value_name = "FILTER")]
    state: Option<PathBuf>,

    /// Save the state at this interval too: 10m
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
    expiry: ExpiryArgs,
}

/// Prints the new keys.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let format = args.types.apply(args.keys.format(), Name::Native)?;
    let mut keys = Keys::new(&args.keys.files, format)?;
    let seen = begin(args, &keys)?;
    keys.apply_form(seen.key_form());
    let (planned, hashing) = (seen.planned_keys(), seen.hashing().clone());
    let mut out = Output::stdout();
    let progress =
        if out.is_terminal() { Progress::hidden() } else { Progress::new("reading keys", keys.total()) };

    let end = keys.format().end;
    let (mut new, mut count, mut warned) = (Vec::new(), 0, false);
    let saver = Saver::new(seen, args.save_every, args.state.is_some());
    saver.beside(|| {
        keys.in_order_hashed_records(&progress, threads(), &hashing, |hashes, records| {
            saver.change(|state| {
                new.resize(hashes.len(), false);
                let added = state.seen.insert_new(hashes, &mut new)?;
                count += added;
                state.unsaved |= added > 0 || state.seen.refreshes();
                if !args.count {
                    // A key that was not printed must not be saved as known.
                    let printed = print(&mut out, records, &new, end).and_then(|()| out.pause());
                    printed.map_err(|failure| not_saved(args, failure))?;
                }
                if !warned && state.seen.is_overfull() {
                    warned = true;
                    output::warning(&format!(
                        "more than the {planned} new keys planned for: from now on the rate rises"
                    ));
                }
                Ok(())
            })?;
            Ok(ControlFlow::Continue(()))
        })
    })?;
    drop(progress);
    let State { seen, unsaved, .. } = saver.into_state();
    if args.count {
        out.record(count.to_string().as_bytes(), b'\n').map_err(|failure| not_saved(args, failure))?;
    }
    out.finish().map_err(|failure| not_saved(args, failure))?;
    if seen.is_overfull() {
        let keys = match seen.keys() {
            u64::MAX => "an unknown number of".to_owned(), // every bit is set
            keys => keys.to_string(),
        };
        let one_in = text::one_in(seen.expected_fpr());
        output::warning(&format!(
            "{keys} keys are in the filter, {planned} were planned for: now one new key in {one_in} counts as known"
        ));
        output::hint("--up-to N keeps the rate of a new state up to N keys");
    }
    if args.state.is_some() && (unsaved || !seen.is_saved()) {
        seen.finish()?;
    }
    Ok(Status::selected(count > 0))
}

/// The output could not be written, so the state is not saved.
fn not_saved(args: &Args, failure: Failure) -> Failure {
    match &args.state {
        None => failure,
        Some(state) => failure
            .without_saving(state.display())
            .hint("the next run takes the keys since the last save for new ones, and prints them again"),
    }
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

/// The filter to start with, and whether it is kept in a file.
fn begin(args: &Args, keys: &Keys) -> Result<Changing, Failure> {
    let expiry = args.expiry.requested()?;
    let file = match &args.state {
        None => None,
        Some(path) => {
            let lock = state::lock(args, path, keys)?;
            if lock.exists() {
                return state::load(args, path, lock, keys, expiry);
            }
            Some((path.as_path(), lock))
        }
    };
    let hashing = args.secret.read()?.map_or(Hashing::default(), Hashing::Secret);
    let options = BuildOptions::new(Name::Native)
        .kind(Kind::Dynamic)
        .target(Target::Fpr(args.fpr.unwrap_or(DEFAULT_FPR)))
        .expected_keys(args.expected_keys)
        .up_to(args.up_to)
        .mode(expiry.map_or(Mode::Set, Mode::Expiring))
        .hashing(hashing)
        .key_type(args.types.key_type.key_type())
        .key_form(args.keys.form())
        .key_field(keys.key_field());
    Ok(Changing::new(options.empty().map_err(|e| Failure::building(Name::Native, e))?, file))
}
