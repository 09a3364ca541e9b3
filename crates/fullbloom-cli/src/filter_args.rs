//! The options that several commands share: what the caller knows of filter files, and what is printed.

use crate::args;
use crate::error::Failure;
use crate::secret::SecretArgs;
use crate::sizing::{FILES, GeometryArgs};
use clap::Args;
use fullbloom_dialects::Name;
use fullbloom_ops::filter::ReadOptions;

/// The dialect and the geometry of filter files.
#[derive(Debug, Args)]
pub struct LayoutArgs {
    /// Read filter files as this dialect, if names and bytes do not say (see: fullbloom dialects)
    #[arg(long, value_name = "D", value_parser = args::dialect(), hide_possible_values = true, help_heading = FILES)]
    pub dialect: Option<Name>,

    #[command(flatten)]
    geometry: GeometryArgs,
}

impl LayoutArgs {
    /// How to read filter files.
    pub fn read(&self) -> ReadOptions {
        let options = ReadOptions::new().dialect(self.dialect);
        match self.geometry.geometry() {
            Some((bits, probes)) => options.geometry(bits, probes),
            None => options,
        }
    }
}

/// The dialect, the geometry and the secret of filter files.
#[derive(Debug, Args)]
pub struct FilterArgs {
    #[command(flatten)]
    layout: LayoutArgs,

    #[command(flatten)]
    pub secret: SecretArgs,
}

impl FilterArgs {
    /// The dialect, if it is given.
    pub fn dialect(&self) -> Option<Name> {
        self.layout.dialect
    }

    /// How to read filter files.
    pub fn read(&self) -> Result<ReadOptions, Failure> {
        Ok(self.layout.read().secret(self.secret.read()?))
    }
}

/// How a command reports what it did.
#[derive(Debug, Clone, Copy, Args)]
pub struct PrintArgs {
    /// Print what was done as one JSON object
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,

    /// Print nothing about what was done
    #[arg(short, long)]
    pub quiet: bool,
}
