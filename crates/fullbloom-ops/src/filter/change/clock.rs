//! The clock of a filter whose keys expire by age.

use crate::problem::{Code, Problem};
use crate::text;
use fullbloom_dynamic::{DynamicFilter, Expiry, Keep, Mode};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A clock may be this much behind the one that a filter was last used with.
const CLOCK_SLACK: Duration = Duration::from_secs(60);

/// The warning of a filter that was last used in the future. If that is further ahead than keys are
/// remembered, their ages are unknown and this is an error: the user must find out which clock is wrong.
pub(super) fn check(
    path: &Path,
    filter: &DynamicFilter,
    now: SystemTime,
) -> Result<Option<Problem>, Problem> {
    let Mode::Expiring(Expiry { keep: Keep::Time(keep), .. }) = filter.mode() else { return Ok(None) };
    let Ok(ahead) = filter.time().duration_since(now) else { return Ok(None) };
    let when = text::time(filter.time());
    let why = format!("was last used at {when}, which is in the future: one of the two clocks is wrong");
    let problem = Problem::at(path, Code::Doubtful, why);
    if ahead > keep {
        return Err(problem.hint("set this machine's clock; if the other was wrong, begin a new state"));
    }
    Ok((ahead >= CLOCK_SLACK).then_some(problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbloom_dynamic::DynamicOptions;

    #[test]
    fn a_clock_behind_by_a_minute_is_a_warning_and_by_the_whole_time_an_error() {
        let expiry = Expiry::of(Keep::Time(Duration::from_secs(3600)));
        let mut filter =
            DynamicFilter::new(DynamicOptions::new(10, 0.01).mode(Mode::Expiring(expiry))).unwrap();
        let used = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        filter.advance(used).unwrap();
        let at = |behind| check(Path::new("f"), &filter, used - Duration::from_secs(behind));
        assert_eq!(at(0), Ok(None));
        assert_eq!(at(59), Ok(None));
        assert!(at(60).unwrap().is_some_and(|problem| problem.message.contains("in the future")));
        assert!(at(3600).unwrap().is_some());
        assert!(at(3601).is_err());
    }
}
