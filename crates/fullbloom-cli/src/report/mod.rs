//! `--report FILE.html`: a report as one page, with drawings, that needs nothing but a browser.
//!
//! ```text
//!   the command's report ─► inspect | plan ─► Page ─► HTML with inline SVG, no script, no external files
//! ```

mod draw;
mod html;
mod inspect;
mod plan;

pub use inspect::of_inspection;
pub use plan::{of_dialects, of_place};

use crate::error::Failure;
use fullbloom_files::file;
use html::Page;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// `--report`.
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// Also write the numbers, with drawings, as one self-contained HTML page
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

impl ReportArgs {
    /// Whether a page is wanted.
    pub fn is_wanted(&self) -> bool {
        self.report.is_some()
    }

    /// Writes the page, if one is wanted.
    pub fn write(&self, page: impl FnOnce() -> Page) -> Result<(), Failure> {
        let Some(path) = &self.report else { return Ok(()) };
        let text = page().render();
        Ok(file::replace(path, |out| out.write_all(text.as_bytes()))?)
    }

    /// Checks, before any work is done, that the page can be written.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.report {
            Some(path) if path == Path::new("-") => {
                Err(Failure::new("--report", "needs the name of a file").hint("use ./- for a file called -"))
            }
            Some(path) if is_something_else(path) => Err(Failure::new(
                path.display(),
                "exists and is not an HTML page: the report would overwrite it",
            )),
            Some(path) => crate::destination::Destination::new(path, false).map(drop),
            None => Ok(()),
        }
    }
}

/// Whether a file exists that is not a report, such as a filter that was meant to be inspected.
fn is_something_else(path: &Path) -> bool {
    let begins = |mut file: File| -> io::Result<bool> {
        let mut bytes = Vec::new();
        file.by_ref().take(html::BEGINNING.len() as u64).read_to_end(&mut bytes)?;
        Ok(bytes == html::BEGINNING.as_bytes())
    };
    path.is_file() && !File::open(path).and_then(begins).unwrap_or(false)
}
