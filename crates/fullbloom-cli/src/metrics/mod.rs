//! `--metrics FILE`: what a run found, as series for Prometheus.
//!
//! ```text
//!   report ─► inspect | verify: sums by group ─► bounded ─► Exposition ─► FILE, replaced whole
//! ```
//!
//! The text is OpenMetrics. It has nothing that the older text format of Prometheus, which node_exporter's
//! textfile collector reads, understands otherwise: gauges only, no timestamps.

mod exposition;
mod groups;
mod inspect;
mod verify;

pub use inspect::of_inspection;
pub use verify::of_verification;

use crate::error::{Failure, Status};
use crate::own_file::Kind;
use exposition::{Exposition, Labels};
use fullbloom_files::file;
use fullbloom_ops::report::Counts;
use fullbloom_ops::{Problem, Severity};
use groups::{Groups, Sums};
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

/// The file of the metrics.
const METRICS: Kind = Kind {
    option: "--metrics",
    beginning: exposition::BEGINNING,
    what: "a file of our metrics",
    written: "the metrics",
};

/// The heading of the options about metrics.
const HEADING: &str = "Metrics";

/// `--metrics`.
#[derive(Debug, clap::Args)]
pub struct MetricsArgs {
    /// Also write metrics for Prometheus to this file, which must end in .prom for node_exporter
    ///
    /// OpenMetrics text: sums by keyspace and table, or by database and level, at most 10000 series.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    metrics: Option<PathBuf>,

    /// Also write series for up to N single files, the worst first
    #[arg(long, value_name = "N", help_heading = HEADING, requires = "metrics", value_parser = crate::numbers::count)]
    metrics_files: Option<u64>,
}

/// What there is to say about a run besides what it found.
struct Run {
    /// The command.
    command: &'static str,
    begun: Instant,
    status: Status,
}

impl MetricsArgs {
    /// Checks, before any work is done, that the file can be written.
    pub fn check(&self) -> Result<(), Failure> {
        self.metrics.as_deref().map_or(Ok(()), |path| METRICS.check(path))
    }

    /// Writes the metrics of a run, if they are wanted.
    fn write<'a, S: Sums>(
        &self,
        run: &Run,
        groups: impl FnOnce() -> Groups<S>,
        files: impl FnOnce() -> Groups<S>,
        elsewhere: &[Problem],
        all: impl Iterator<Item = &'a Problem>,
    ) -> Result<(), Failure> {
        let Some(path) = &self.metrics else { return Ok(()) };
        // Two files of one directory have two names, so that series of two runs never clash.
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut text = Exposition::new(vec![("run", name)]);
        of_run(&mut text, run, Counts::of(all));
        let mut groups = groups();
        groups.add_problems(Labels::new(), elsewhere);
        let merged = groups.bound();
        let about = "Groups beyond the bound of 10000 series, which are summed up in the group other.";
        text.add(&format!("fullbloom_{}_other_groups", run.command), "", about, Labels::new(), merged as f64);
        groups.write(&mut text, &format!("fullbloom_{}_", run.command));
        if let Some(most) = self.metrics_files {
            let mut files = files();
            files.keep_worst(usize::try_from(most).unwrap_or(usize::MAX));
            files.write_files(&mut text, &format!("fullbloom_{}_file_", run.command));
        }
        let text = text.render();
        Ok(file::replace(path, |out| out.write_all(text.as_bytes()))?)
    }
}

/// The series of the run as a whole.
fn of_run(text: &mut Exposition, run: &Run, counts: Counts) {
    let Run { command, begun, status } = run;
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    text.add(exposition::BUILD, "", "The fullbloom that wrote this file.", version, 1.0);
    let now =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    let mut add = |name: &str, unit, about, labels, value| {
        text.add(&format!("fullbloom_{command}_run_{name}"), unit, about, labels, value);
    };
    add("timestamp_seconds", "seconds", "When the run ended, as a Unix time.", vec![], now);
    let took = begun.elapsed().as_secs_f64();
    add("duration_seconds", "seconds", "How long the run took.", vec![], took);
    let about = "Exit status: 0 all is well, 1 a problem was found, 2 something could not be read.";
    add("status", "", about, vec![], status.code().into());
    let by_severity = [
        (Severity::Error, counts.errors),
        (Severity::Warning, counts.warnings),
        (Severity::Note, counts.notes),
    ];
    for (severity, count) in by_severity {
        let labels = vec![("severity", severity.as_str().to_owned())];
        add("problems", "", "Problems that the run found, by severity.", labels, count as f64);
    }
}
