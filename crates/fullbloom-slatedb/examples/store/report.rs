//! The result as a table and as a bar chart.

/// What a number of lookups cost.
#[derive(Debug)]
pub(crate) struct Lookups {
    pub(crate) count: u64,
    pub(crate) found: u64,
    /// Reads of the object store: one for each data block.
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
}

impl Lookups {
    pub(crate) fn bytes_per_lookup(&self) -> f64 {
        self.bytes as f64 / self.count as f64
    }

    fn cells(&self) -> [String; 2] {
        let count = self.count as f64;
        [format!("{:.3}", self.requests as f64 / count), format!("{:.3}", self.bytes_per_lookup() / 1024.0)]
    }
}

/// One policy.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) tables: usize,
    /// Sorted runs and tables of level 0: each may have to be read for a key.
    pub(crate) runs: usize,
    pub(crate) absent: Lookups,
    pub(crate) present: Lookups,
}

pub(crate) fn table(rows: &[Row]) {
    println!("{:26}{:>16}   {:-^18}   {:-^18}", "", "", " absent keys ", " present keys ");
    println!(
        "{:26}{:>8}{:>8}   {:>8}{:>10}   {:>8}{:>10}",
        "", "tables", "runs", "blocks", "KiB", "blocks", "KiB"
    );
    for row in rows {
        let ([a, b], [c, d]) = (row.absent.cells(), row.present.cells());
        println!("{:26}{:>8}{:>8}   {a:>8}{b:>10}   {c:>8}{d:>10}", row.name, row.tables, row.runs);
    }
}

/// One bar for each policy, relative to the longest.
pub(crate) fn chart(title: &str, rows: &[Row], value: impl Fn(&Row) -> f64) {
    const WIDTH: f64 = 60.0;
    let longest = rows.iter().map(&value).fold(f64::MIN_POSITIVE, f64::max);
    println!("{title}");
    for row in rows {
        let value = value(row);
        let eighths = (value / longest * WIDTH * 8.0).round() as usize;
        let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
        println!("{:26}{}{part} {value:.3}", row.name, "█".repeat(eighths / 8));
    }
}
