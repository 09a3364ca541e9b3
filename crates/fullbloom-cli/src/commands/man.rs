//! `fullbloom man [DIR]`

use crate::args::Cli;
use crate::error::{Failure, Status};
use crate::output::Output;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Print the manual page, or write all of them into a directory
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom man | man -l -
  fullbloom man ~/.local/share/man/man1")]
pub struct Args {
    /// Write all pages into this directory; without it, the program's page is printed
    directory: Option<PathBuf>,
}

/// Prints or writes the pages.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build(); // names such as fullbloom-table-build come with it
    if let Some(directory) = &args.directory {
        let written = fs::create_dir_all(directory).and_then(|()| write_all(&command, directory));
        written
            .map_err(|e| Failure::new(directory.display(), format_args!("cannot write manual pages: {e}")))?;
        return Ok(Status::Yes);
    }
    let page = page(&man(&command)).map_err(|e| Failure::new("manual page", e))?;
    let mut out = Output::stdout();
    out.bytes(&page)?;
    out.finish()?;
    Ok(Status::Yes)
}

fn man(command: &Command) -> Man {
    let version = env!("CARGO_PKG_VERSION");
    Man::new(command.clone()).source(format!("fullbloom {version}")).manual("fullbloom")
}

/// The page of the command, and those of all below it.
fn write_all(command: &Command, directory: &Path) -> io::Result<()> {
    for below in command.get_subcommands() {
        write_all(below, directory)?;
    }
    let man = man(command);
    fs::write(directory.join(man.get_filename()), page(&man)?)
}

/// The page. The generator puts the text after the options under "EXTRA" and fills its lines. These are
/// examples, whose lines must not be joined.
fn page(man: &Man) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render(&mut page)?;
    let page = String::from_utf8(page).map_err(io::Error::other)?;
    let Some((before, rest)) = page.split_once(".SH EXTRA\nExamples:\n") else { return Ok(page.into()) };
    let (examples, after) = match rest.find("\n.SH ") {
        Some(end) => rest.split_at(end + 1),
        None => (rest, ""),
    };
    Ok(format!("{before}.SH EXAMPLES\n.nf\n{examples}.fi\n{after}").into())
}
