//! What to type next.

use crate::text;
use fullbloom_ops::next::{Gain, Next, Spread, Step};

/// What the names in the commands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Tables of Cassandra, with a rate each.
    Tables,
    /// Column families, with bits per key.
    Families,
    /// Columns of Parquet files, with a rate each.
    #[cfg(feature = "parquet")]
    Columns,
}

impl Of {
    fn count(self, count: usize) -> String {
        match (self, count) {
            (Of::Tables, count) => text::counted(count as u64, "table"),
            #[cfg(feature = "parquet")]
            (Of::Columns, count) => text::counted(count as u64, "column"),
            (Of::Families, 1) => "1 column family".to_owned(),
            (Of::Families, count) => format!("{count} column families"),
        }
    }
}

/// The commands, those that gain the same below a line that sums them up; empty if there are none.
pub fn next(next: &Next, of: Of) -> String {
    let mut shown = String::new();
    for steps in next.steps.chunk_by(|a, b| a.gain() == b.gain()) {
        shown += &format!("{} {}:\n", of.count(steps.len()), gained(steps));
        for step in steps {
            let comment = comment(step);
            shown += &text::printable(&match of {
                Of::Tables => format!("  {} -- {comment}", step.command),
                Of::Families if step.name.is_empty() => format!("  {} ({comment})", step.command),
                Of::Families => format!("  {}: {} ({comment})", step.name, step.command),
                #[cfg(feature = "parquet")]
                Of::Columns => format!("  {} ({comment})", step.command),
            });
            shown.push('\n');
        }
    }
    if !next.after.is_empty() {
        shown += match of {
            Of::Tables => "Then on every node:\n",
            _ => "Then:\n",
        };
        next.after.iter().for_each(|line| shown += &format!("  {}\n", text::printable(line)));
    }
    // One table is its own sum.
    if let Some(planned) = next.planned.filter(|_| next.steps.len() > 1 || next.even.is_some()) {
        shown += &format!("All filters are then {}", spread(planned));
        if let Some(even) = next.even {
            let value = match of {
                Of::Families => format!("{} bits per key", text::decimal(even.value, 1)),
                _ => format!("a rate of {}", even.value),
            };
            shown += &format!("; with {value} everywhere they are {}", spread(even.spread));
        }
        shown += &format!(
            ".\nReads are those of a lookup of an absent key, for lookups that go to all {} equally often.\n",
            match of {
                Of::Tables => "tables",
                Of::Families => "column families",
                #[cfg(feature = "parquet")]
                Of::Columns => "columns",
            }
        );
    }
    shown
}

/// What several commands of one gain do: `save 2.1 GiB for up to 0.02 more useless reads per lookup`.
pub fn gained(steps: &[Step]) -> String {
    let verb = if steps.len() == 1 { "saves" } else { "save" };
    let bytes = steps.iter().map(Step::saved_bytes).sum::<i128>().unsigned_abs();
    let bytes = text::bytes(u64::try_from(bytes).unwrap_or(u64::MAX));
    // A lookup reads one table: reads do not add up.
    let most = steps.iter().map(|step| step.saved_reads().abs()).fold(0.0, f64::max);
    let reads = text::decimal(most, 4);
    let up_to = if steps.len() == 1 { "" } else { "up to " };
    match steps.first().map(Step::gain) {
        Some(Gain::Both) => format!("{verb} {bytes} and {up_to}{reads} useless reads per lookup"),
        Some(Gain::Memory) => format!("{verb} {bytes} for {up_to}{reads} more useless reads per lookup"),
        Some(Gain::Reads) => format!("{verb} {up_to}{reads} useless reads per lookup for {bytes}"),
        _ => format!("as requested, with {bytes} more and {up_to}{reads} more useless reads per lookup"),
    }
}

/// `1.7 KiB, 0.0335 reads; then 1.4 KiB, 0.0851 reads`
fn comment(step: &Step) -> String {
    let side = |bytes: u64, reads: f64| format!("{}, {} reads", text::bytes(bytes), text::decimal(reads, 4));
    let now = side(step.bytes_now, step.useless_reads_now);
    format!("{now}; then {}", side(step.bytes_then, step.useless_reads_then))
}

fn spread(spread: Spread) -> String {
    format!(
        "{} with a mean of {} useless reads",
        text::bytes(spread.bytes),
        text::decimal(spread.useless_reads, 4)
    )
}
