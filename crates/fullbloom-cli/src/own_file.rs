//! A file that a command writes beside its output, such as a page or metrics. It replaces a file of its own
//! kind and no other.

use crate::destination::Destination;
use crate::error::Failure;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A kind of file that is known by its first bytes.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The option that names the file.
    pub option: &'static str,
    /// What every file of the kind begins with.
    pub beginning: &'static str,
    /// The kind, with its article: `an HTML page`.
    pub what: &'static str,
    /// What is written into it: `the report`.
    pub written: &'static str,
}

impl Kind {
    /// Checks, before any work is done, that a file of this kind can be written there.
    pub fn check(&self, path: &Path) -> Result<(), Failure> {
        let Kind { option, what, written, .. } = self;
        if path == Path::new("-") {
            return Err(Failure::new(option, "needs the name of a file").hint("use ./- for a file called -"));
        }
        if path.is_file() && !self.is_own(path).unwrap_or(false) {
            let why = format!("exists and is not {what}: {written} would overwrite it");
            return Err(Failure::new(path.display(), why));
        }
        Destination::new(path, false).map(drop)
    }

    fn is_own(&self, path: &Path) -> io::Result<bool> {
        let mut bytes = Vec::new();
        File::open(path)?.take(self.beginning.len() as u64).read_to_end(&mut bytes)?;
        Ok(bytes == self.beginning.as_bytes())
    }
}
