//! `fullbloom completions SHELL`

use crate::args::Cli;
use crate::error::{Failure, Status};
use crate::output::Output;
use clap::CommandFactory;
use clap_complete::Shell;

/// Print the completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom completions bash >> ~/.bash_completion
  fullbloom completions zsh > ~/.zfunc/_fullbloom
  fullbloom completions fish > ~/.config/fish/completions/fullbloom.fish")]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "fullbloom", &mut script);
    let mut out = Output::stdout();
    out.bytes(&script)?;
    out.finish()?;
    Ok(Status::Yes)
}
