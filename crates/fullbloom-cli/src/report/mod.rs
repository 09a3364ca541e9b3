//! `--report FILE.html`: a report as one page, with drawings, that needs nothing but a browser.
//!
//! ```text
//!   the command's report ─► inspect | plan | cluster ─► Page ─► HTML with inline SVG and a script that sorts tables;
//!                                                              no external files
//! ```

mod cluster;
mod draw;
mod html;
mod inspect;
mod plan;

pub use cluster::of_cluster;
pub use inspect::of_inspection;
pub use plan::{of_dialects, of_place};

use crate::error::Failure;
use crate::own_file::Kind;
use fullbloom_files::file;
use html::Page;
use std::path::{Path, PathBuf};

/// The file of a page.
pub const PAGE: Kind =
    Kind { option: "--report", beginning: html::BEGINNING, what: "an HTML page", written: "the report" };

/// Writes a page.
pub fn write(path: &Path, page: &Page) -> Result<(), Failure> {
    let text = page.render();
    Ok(file::replace(path, |out| out.write_all(text.as_bytes()))?)
}

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
        self.report.as_deref().map_or(Ok(()), |path| write(path, &page()))
    }

    /// Checks, before any work is done, that the page can be written.
    pub fn check(&self) -> Result<(), Failure> {
        self.report.as_deref().map_or(Ok(()), |path| PAGE.check(path))
    }
}
