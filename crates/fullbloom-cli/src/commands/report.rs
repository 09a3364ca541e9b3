//! `fullbloom report NODE.json…`: a cluster, from what `inspect --json` printed on its nodes.

use crate::error::{Failure, Status};
use crate::output::{self, Output};
use crate::render;
#[cfg(feature = "report")]
use crate::report;
use fullbloom_files::replace::is_same_file;
use fullbloom_ops::cluster::{Cluster, NodeReport};
use fullbloom_ops::report::VERSION;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// Compare the nodes of a cluster: totals, differences and problems
///
/// A table of Cassandra, a level of a database or a kind of file is one line over all nodes, the worst first.
/// Files name their nodes.
///
/// Equal problems are one entry with their number. Differences are rates, versions, filters that are missing
/// on some nodes only, and tables that not every node has. Exit status: 0 if all is well, 1 if a node has a
/// problem that makes inspect end with 1, 2 if a file cannot be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom inspect --json /var/lib/cassandra/data > $(hostname).json
  fullbloom report node1.json node2.json node3.json
  fullbloom report nodes/*.json -o cluster.html
  fullbloom report --json nodes/*.json")]
pub struct Args {
    /// What `fullbloom inspect --json` printed on each node
    #[arg(required = true, value_name = "NODE.json")]
    files: Vec<PathBuf>,

    /// Write one self-contained HTML page instead of text
    #[cfg(feature = "report")]
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,

    /// Print one JSON object: places, problems, summary (docs/json.md)
    #[arg(long)]
    json: bool,
}

/// Reads each node's report.
pub fn run(args: &Args) -> Result<Status, Failure> {
    #[cfg(feature = "report")]
    if let Some(path) = &args.output {
        PAGE.check(path)?;
    }
    let mut cluster = Cluster::new();
    let mut failed = false;
    for (place, path) in args.files.iter().enumerate() {
        if args.files[..place].iter().any(|before| is_same_file(before, path)) {
            return Err(Failure::new(path.display(), "was given twice"));
        }
        match node(path) {
            Ok(seen) => {
                let name = name(path, &cluster);
                cluster.add(&name, &path.display().to_string(), seen);
            }
            Err(failure) => {
                failure.report();
                failed = true;
            }
        }
    }
    let seen = cluster.finish();
    let mut out = Output::stdout();
    if args.json {
        out.json(&super::value(&seen))?;
    }
    let mut is_text = !args.json;
    #[cfg(feature = "report")]
    if let Some(path) = &args.output {
        report::write(path, &report::of_cluster(&seen))?;
        is_text = false;
    }
    is_text &= !seen.nodes.is_empty();
    if is_text {
        out.bytes(render::cluster(&seen, output::width()).as_bytes())?;
    }
    out.finish()?;
    Ok(if failed { Status::Failed } else { seen.status.into() })
}

/// The page, under the option of this command.
#[cfg(feature = "report")]
const PAGE: crate::own_file::Kind = crate::own_file::Kind { option: "--output", ..report::PAGE };

/// Reads what `inspect` printed.
fn node(path: &Path) -> Result<NodeReport, Failure> {
    let fail = |why: String| {
        Failure::new(path.display(), why).hint("on each node: fullbloom inspect --json DIR > NODE.json")
    };
    let file = File::open(path).map_err(|e| Failure::new(path.display(), e))?;
    let read: Result<NodeReport, _> = serde_json::from_reader(BufReader::with_capacity(1 << 20, file));
    let report = read.map_err(|e| fail(format!("is not what fullbloom inspect --json prints: {e}")))?;
    match report.version {
        VERSION => Ok(report),
        other => {
            Err(fail(format!("has version {other} of the JSON, and this fullbloom reads version {VERSION}")))
        }
    }
}

/// The name of a node: that of its file, or the whole path where two files have the same name.
fn name(path: &Path, cluster: &Cluster) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if cluster.has(&name) { path.display().to_string() } else { name }
}
