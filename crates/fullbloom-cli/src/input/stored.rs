//! Native filters that a command changes, of any kind.

use crate::error::Failure;
use crate::output;
use crate::text;
use fullbloom::DecodeError;
use fullbloom::error::FileCause;
use fullbloom::internal::claim::Claim;
use fullbloom::internal::journal::JournalWriter;
use fullbloom::native::{DynamicFilter, Expiry, Keep, Mode, Secret, StoredFilter};
use fullbloom::typed::KeyType;
use fullbloom_ops::filter::other_key_type;
use std::path::Path;
use std::time::SystemTime;

/// Loads the filter in the claimed file and its journal, to be changed by keys of this type: with its secret if it
/// is keyed, and with its clock checked.
pub fn load_stored(
    path: &Path,
    claim: Claim,
    secret: Option<Secret>,
    key_type: KeyType,
) -> Result<(StoredFilter, JournalWriter), Failure> {
    let (mut stored, writer) = load(path, claim)?;
    stored.require_key_type(key_type).map_err(|e| other_key_type(path, &e))?;
    if let Some(secret) = secret {
        stored = stored.unlock(&secret).map_err(|e| Failure::new(path.display(), e))?;
    }
    if stored.is_locked() {
        return Err(Failure::locked(path));
    }
    if let StoredFilter::Dynamic(filter) = &stored {
        look_at_clock(path, filter)?;
    }
    if writer.torn_bytes() > 0 {
        let why = "of its journal were not completely saved, and are cut off";
        output::warning(&format!("{}: the last {} bytes {why}", path.display(), writer.torn_bytes()));
    }
    Ok((stored, writer))
}

/// The failure to load a file; a file that is not a native filter is reported as such.
fn load(path: &Path, claim: Claim) -> Result<(StoredFilter, JournalWriter), Failure> {
    JournalWriter::load(claim).map_err(|e| match e.cause() {
        FileCause::Decode(DecodeError::Magic { at: 0, .. } | DecodeError::Truncated { at: 0, .. }) => {
            Failure::new(path.display(), "is not a native filter")
                .hint("fullbloom inspect shows what it is; fullbloom build makes a native filter")
        }
        _ => e.into(),
    })
}

/// Warns of a filter that was last used in the future. If that is further ahead than keys are remembered,
/// their ages are unknown and this is an error: the user must find out which clock is wrong.
fn look_at_clock(path: &Path, filter: &DynamicFilter) -> Result<(), Failure> {
    let Mode::Expiring(Expiry { keep: Keep::Time(keep), .. }) = filter.mode() else { return Ok(()) };
    let Ok(ahead) = filter.time().duration_since(SystemTime::now()) else { return Ok(()) };
    let (name, when) = (path.display(), text::time(filter.time()));
    let why = format!("was last used at {when}, which is in the future: one of the two clocks is wrong");
    if ahead > keep {
        let hint = "set this machine's clock; if the other was wrong, begin a new state";
        return Err(Failure::new(name, why).hint(hint));
    }
    if ahead.as_secs() >= 60 {
        output::warning(&format!("{name}: {why}"));
    }
    Ok(())
}
