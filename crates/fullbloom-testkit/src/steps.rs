//! Walks over many points, such as every system call of a command, of which `cargo test` takes a part.
//!
//! | `FULLBLOOM_TESTS` | points |
//! |---|---|
//! | not set | every n-th, from a start that differs from run to run and is printed |
//! | `start:NUMBER` | every n-th, from this start: repeats a run |
//! | `all` | all |

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The environment variable.
const VARIABLE: &str = "FULLBLOOM_TESTS";

/// Which points the walks of this process take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Points {
    All,
    From(u64),
}

impl Points {
    /// Parses the value of the environment variable.
    fn parse(value: &str) -> Option<Points> {
        match value.strip_prefix("start:") {
            Some(start) => start.parse().ok().map(Points::From),
            None => (value == "all").then_some(Points::All),
        }
    }

    /// The same for all walks of a process, so that one number repeats all of them.
    fn of_process() -> Points {
        static POINTS: OnceLock<Points> = OnceLock::new();
        *POINTS.get_or_init(|| match std::env::var_os(VARIABLE) {
            Some(value) => value
                .to_str()
                .and_then(Points::parse)
                .unwrap_or_else(|| panic!("{VARIABLE}: {value:?} is neither \"all\" nor \"start:NUMBER\"")),
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
                Points::From(u64::from(now.subsec_micros()))
            }
        })
    }
}

/// Whether the walks of this process take all points.
pub fn all() -> bool {
    Points::of_process() == Points::All
}

/// The points of one walk.
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    every: u64,
    start: u64,
}

impl Steps {
    /// One of `every` points, or all. Prints how to repeat the walk; the test harness shows it if the test
    /// fails.
    pub fn every(every: u64) -> Steps {
        match Points::of_process() {
            Points::All => Steps { every: 1, start: 0 },
            Points::From(start) => {
                println!("one of {every} points is taken; the same ones again: {VARIABLE}=start:{start}");
                Steps { every, start }
            }
        }
    }

    /// Whether the point with this index is taken.
    pub fn takes(&self, index: u64) -> bool {
        self.start.wrapping_add(index).is_multiple_of(self.every)
    }

    /// The distance of two points.
    pub fn distance(&self) -> u64 {
        self.every
    }

    /// A number below `len` that differs from run to run and from index to index.
    pub fn turn(&self, index: u64, len: u64) -> u64 {
        self.start.wrapping_add(index) % len
    }

    /// How many points a walk must have at least: `all` of them, or `few`.
    pub fn least(&self, all: u64, few: u64) -> u64 {
        if self.every == 1 { all } else { few }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_and_a_start_are_values() {
        assert_eq!(Points::parse("all"), Some(Points::All));
        assert_eq!(Points::parse("start:17"), Some(Points::From(17)));
        for value in ["", "ALL", "all ", "1", "start", "start:", "start:x", "start:-1"] {
            assert_eq!(Points::parse(value), None, "{value:?}");
        }
    }

    #[test]
    fn every_start_takes_one_of_n_points_and_all_starts_take_all() {
        let taken = |start| (0..100).filter(|i| Steps { every: 10, start }.takes(*i)).collect::<Vec<u64>>();
        assert!((0..10).all(|start| taken(start).len() == 10));
        let mut all: Vec<u64> = (7..17).flat_map(taken).collect();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<u64>>());
        assert!((0..100).all(|i| Steps { every: 1, start: 0 }.takes(i)));
    }
}
