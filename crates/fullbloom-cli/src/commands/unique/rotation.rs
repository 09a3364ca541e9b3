//! When keys are forgotten.

use crate::error::Failure;
use crate::numbers;
use fullbloom::dialect::Name;
use fullbloom::native::{Keep, Rotation};
use std::time::Duration;

/// In how many steps keys are forgotten, when nothing is said.
const GENERATIONS: u32 = 7;

/// The options of forgetting.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Forgetting")]
pub struct RotationArgs {
    /// Forget keys after this time: 7d, 12h, 90m, 30s
    #[arg(long, value_name = "TIME", value_parser = numbers::duration, conflicts_with = "rotate_keys")]
    rotate: Option<Duration>,

    /// Forget keys after so many new ones: 10M
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    rotate_keys: Option<u64>,

    /// In how many steps keys are forgotten, 1 to 1000: they are remembered up to one step longer than asked [default: 7]
    #[arg(long, value_name = "N", value_parser = numbers::small_count)]
    generations: Option<u32>,

    /// Remember a known key anew when it comes again; it is then printed again only after it has not come for the whole time
    #[arg(long)]
    refresh: bool,
}

impl RotationArgs {
    /// Whether keys are to be forgotten.
    pub fn is_given(&self) -> bool {
        self.rotate.is_some() || self.rotate_keys.is_some()
    }

    /// What is asked for, if anything is.
    pub fn asked(&self) -> Result<Option<Rotation>, Failure> {
        let keep = match (self.rotate, self.rotate_keys) {
            (Some(time), _) => Keep::Time(time),
            (None, Some(keys)) => Keep::Keys(keys),
            (None, None) => {
                let given = [("--generations", self.generations.is_some()), ("--refresh", self.refresh)];
                return match given.iter().find(|(_, given)| *given) {
                    Some((option, _)) => {
                        Err(Failure::new(option, "says how keys are forgotten, but none are")
                            .hint("give --rotate TIME or --rotate-keys N"))
                    }
                    None => Ok(None),
                };
            }
        };
        let generations = self.generations.unwrap_or(GENERATIONS);
        let rotation = Rotation { keep, generations, refresh: self.refresh };
        rotation.check().map_err(|e| Failure::size(Name::Native, &e))?;
        Ok(Some(rotation))
    }
}
