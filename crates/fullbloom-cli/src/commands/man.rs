//! `fullbloom man [DIR]`

use crate::args::Cli;
use crate::error::{Failure, Status};
use crate::output::Output;
use clap::CommandFactory;
use std::fs;
use std::path::PathBuf;

/// Print the manual page, or write all of them into a directory
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom man | man -l -
  fullbloom man ~/.local/share/man/man1")]
pub struct Args {
    /// Write all pages here; without it, the program's page is printed
    directory: Option<PathBuf>,
}

/// Prints or writes the pages.
pub fn run(args: &Args) -> Result<Status, Failure> {
    if let Some(directory) = &args.directory {
        let written =
            fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(Cli::command(), directory));
        written
            .map_err(|e| Failure::new(directory.display(), format_args!("cannot write manual pages: {e}")))?;
        return Ok(Status::Yes);
    }
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(Cli::command()).render(&mut page);
    rendered.map_err(|e| Failure::new("manual page", e))?;
    let mut out = Output::stdout()?;
    out.bytes(&page)?;
    out.finish()?;
    Ok(Status::Yes)
}
