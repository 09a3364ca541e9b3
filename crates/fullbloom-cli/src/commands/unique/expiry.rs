//! The options for the expiry of keys.

use crate::error::Failure;
use crate::numbers;
use fullbloom_dialects::Name;
use fullbloom_dynamic::{Expiry, Keep};
use std::time::Duration;

/// The options for expiry.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Expiry")]
pub struct ExpiryArgs {
    /// Keys expire after this time: 7d, 12h, 90m, 30s
    #[arg(long, value_name = "TIME", value_parser = numbers::duration, conflicts_with = "expire_keys")]
    expire: Option<Duration>,

    /// Keys expire after this many new ones: 10M
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    expire_keys: Option<u64>,

    /// Number of steps in which keys expire, 1 to 200; keys are remembered for up to one step longer
    /// [default: 7]
    #[arg(long, value_name = "N", value_parser = numbers::small_count)]
    generations: Option<u32>,

    /// Restart a key's time whenever it appears
    #[arg(long)]
    refresh: bool,
}

impl ExpiryArgs {
    /// The requested expiry, if any.
    pub fn requested(&self) -> Result<Option<Expiry>, Failure> {
        let keep = match (self.expire, self.expire_keys) {
            (Some(time), _) => Keep::Time(time),
            (None, Some(keys)) => Keep::Keys(keys),
            (None, None) => {
                let given = [("--generations", self.generations.is_some()), ("--refresh", self.refresh)];
                return match given.iter().find(|(_, given)| *given) {
                    Some((option, _)) => Err(Failure::new(option, "needs keys that expire")
                        .hint("give --expire TIME or --expire-keys N")),
                    None => Ok(None),
                };
            }
        };
        let usual = Expiry::of(keep);
        let generations = self.generations.unwrap_or(usual.generations);
        let expiry = Expiry { generations, refresh: self.refresh, ..usual };
        expiry.check().map_err(|e| Failure::size(Name::Native, &e))?;
        Ok(Some(expiry))
    }
}
