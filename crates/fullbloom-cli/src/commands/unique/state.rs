//! The file that keeps the seen keys between runs.

use super::{Args, DEFAULT_FPR};
use crate::destination::Destination;
use crate::error::Failure;
use crate::input::Keys;
use crate::output;
use crate::text;
use fullbloom_dynamic::{Expiry, Keep};
use fullbloom_files::file_lock::FileLock;
use fullbloom_ops::filter::{Changing, Difference, Wanted};
use std::path::Path;

/// Claims the file.
pub fn lock(args: &Args, path: &Path, keys: &Keys) -> Result<FileLock, Failure> {
    if path == Path::new("-") {
        return Err(Failure::new("--state", "is a file, not a stream"));
    }
    if keys.include(path) {
        return Err(Failure::new(path.display(), "is a key file and would be overwritten by the filter"));
    }
    Ok(Destination::file(path, args.force.force)?.into_lock().expect("a file"))
}

/// Loads the keys of earlier runs. The filter keeps its kind and size; options that ask for others give a
/// warning.
pub fn load(
    args: &Args,
    path: &Path,
    lock: FileLock,
    keys: &Keys,
    expiry: Option<Expiry>,
) -> Result<Changing, Failure> {
    let (seen, problems) =
        Changing::load(path, lock, args.secret.read()?.as_ref(), args.types.key_type.key_type())?;
    problems.iter().for_each(|problem| output::warning(&problem.to_string()));
    seen.remembers_keys()?;
    seen.require_form(args.keys.form())?;
    let recorded = seen.facts().key_field;
    args.keys.part.require_field(path, recorded)?;
    keys.warn_unrecorded(path, recorded);
    let wanted = Wanted {
        expiry,
        expected_keys: args.expected_keys,
        up_to: args.up_to,
        fpr: args.fpr,
        default_fpr: DEFAULT_FPR,
    };
    for difference in seen.differs(&wanted) {
        warn(path, difference)?;
    }
    Ok(seen)
}

/// Says which options the existing filter does not follow.
fn warn(path: &Path, difference: Difference) -> Result<(), Failure> {
    let name = path.display();
    let mut hint = None;
    let text = match difference {
        Difference::NoExpiry => {
            return Err(Failure::new(&name, "is a filter without expiry")
                .hint("--expire needs a state that was made with it: name another file"));
        }
        Difference::Expiry(has) => format!(
            "made with another expiry, which the options do not change; see fullbloom inspect: {}",
            described(&has)
        ),
        Difference::ExpectedKeys(keys) => {
            format!("made for {keys} keys, which --expected-keys does not change")
        }
        Difference::UpTo(keys) => format!("made for up to {keys} keys, which --up-to does not change"),
        Difference::Rate(rate) => {
            format!("made for a rate of {}, which --fpr does not change", text::rate(rate))
        }
        Difference::HighRate(rate) => {
            hint = Some("a new state has a rate of 1e-6, or that of --fpr");
            let (rate, one_in) = (text::rate(rate), text::one_in(rate));
            format!("made for a rate of {rate}: one new key in {one_in} counts as known and is not printed")
        }
        _ => return Ok(()),
    };
    output::warning(&format!("{name}: {text}"));
    if let Some(hint) = hint {
        output::hint(hint);
    }
    Ok(())
}

fn described(expiry: &Expiry) -> String {
    let keep = match expiry.keep {
        Keep::Time(time) => text::duration(time),
        Keep::Keys(keys) => text::counted(keys, "key"),
    };
    let refresh = if expiry.refresh { ", with --refresh" } else { "" };
    format!("{keep} in {}{refresh}", text::counted(expiry.generations.into(), "generation"))
}
