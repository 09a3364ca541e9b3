//! What to type next: other filters for single tables or column families, in the order of what they gain.

use serde::Serialize;
use std::cmp::Ordering;

/// With the memory that filters take now, other sizes are proposed if they save this share of the useless
/// reads: less is not worth rewriting the data.
pub(crate) const WORTHWHILE: f64 = 0.1;

/// What to type, and what it would do.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Next {
    /// The commands, in the order of what they gain.
    pub steps: Vec<Step>,
    /// What to type after them, so that existing data get the new filters.
    pub after: Vec<String>,
    /// All filters after these commands; null where no sizes were chosen.
    pub planned: Option<Spread>,
    /// The textbook's way, in the same memory: the same rate or bits per key everywhere; null if nothing fits,
    /// and where there is one table.
    pub even: Option<Even>,
}

/// What filters cost, and what they do for lookups that go to every table equally often.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Bytes of all filters.
    pub bytes: u64,
    /// Data files that a lookup of an absent key reads needlessly: the mean over the tables.
    pub useless_reads: f64,
}

/// The same for all.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Even {
    /// The rate of Cassandra's tables, or the bits per key of column families.
    pub value: f64,
    /// What it costs.
    #[serde(flatten)]
    pub spread: Spread,
}

/// A command that changes the filters of a table or column family.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The table or column family.
    pub name: String,
    /// What to type, or the option to set.
    pub command: String,
    /// Bytes of its filters as they are: those in memory, where that is another number.
    pub bytes_now: u64,
    /// Bytes of its filters then.
    pub bytes_then: u64,
    /// Data files that a lookup of an absent key in it reads needlessly now.
    pub useless_reads_now: f64,
    /// The same then.
    pub useless_reads_then: f64,
}

/// What a command gains, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gain {
    /// Memory and reads.
    Both,
    /// Memory, at the price of reads.
    Memory,
    /// Reads, at the price of memory.
    Reads,
    /// Nothing: it is what the caller asked for.
    Nothing,
}

impl Step {
    /// Bytes that it saves; negative if it takes more.
    pub fn saved_bytes(&self) -> i128 {
        i128::from(self.bytes_now) - i128::from(self.bytes_then)
    }

    /// Useless reads that it saves; negative if there are more.
    pub fn saved_reads(&self) -> f64 {
        self.useless_reads_now - self.useless_reads_then
    }

    /// What it gains.
    pub fn gain(&self) -> Gain {
        match (self.saved_bytes() >= 0, self.saved_reads() >= 0.0) {
            (true, true) => Gain::Both,
            (true, false) => Gain::Memory,
            (false, true) => Gain::Reads,
            (false, false) => Gain::Nothing,
        }
    }

    /// The gain for its price, in bytes for each read; to be compared among commands that gain the same.
    fn worth(&self) -> f64 {
        let (bytes, reads) = (self.saved_bytes() as f64, self.saved_reads());
        match self.gain() {
            Gain::Both => bytes,
            Gain::Memory => bytes / -reads,
            Gain::Reads => reads / -bytes,
            Gain::Nothing => -bytes.abs(),
        }
    }

    /// The order of what is gained: the best is the least.
    fn order(&self, other: &Step) -> Ordering {
        self.gain().cmp(&other.gain()).then_with(|| other.worth().total_cmp(&self.worth()))
    }
}

impl Next {
    /// Puts the commands into the order of what they gain.
    pub(crate) fn sort(&mut self) {
        self.steps.sort_by(Step::order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, bytes: (u64, u64), reads: (f64, f64)) -> Step {
        Step {
            name: name.to_owned(),
            command: String::new(),
            bytes_now: bytes.0,
            bytes_then: bytes.1,
            useless_reads_now: reads.0,
            useless_reads_then: reads.1,
        }
    }

    #[test]
    fn what_gains_most_for_its_price_comes_first() {
        let mut next = Next {
            steps: vec![
                step("worse", (10, 20), (0.1, 0.2)),
                step("dear reads", (10, 1000), (0.2, 0.1)),
                step("little memory", (100, 50), (0.1, 0.2)),
                step("cheap reads", (10, 20), (0.2, 0.1)),
                step("much memory", (1000, 50), (0.1, 0.2)),
                step("both", (20, 10), (0.2, 0.1)),
            ],
            ..Next::default()
        };
        next.sort();
        let names: Vec<&str> = next.steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names, ["both", "much memory", "little memory", "cheap reads", "dear reads", "worse"]);
    }
}
