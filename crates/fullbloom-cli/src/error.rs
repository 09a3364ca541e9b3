//! How a command ends: with an answer, or with a message that says what went wrong and what to do next.

use crate::hints;
use crate::output;
use fullbloom::error::{BuildError, FileCause, Quantity};
use fullbloom::{FileError, SizeError};
use fullbloom_dialects::Name;
use fullbloom_ops::{self as ops, Problem};
use fullbloom_table::TableError;
use std::fmt::{self, Display};
use std::io;
use std::process::ExitCode;

/// The exit code of a command, like that of `grep`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Something was selected, or all is well: 0.
    Yes,
    /// Nothing was selected, or a problem was found: 1.
    No,
    /// An error, already reported: 2.
    Failed,
}

impl Status {
    /// [`Yes`](Status::Yes) if something was selected.
    pub fn selected(any: bool) -> Status {
        if any { Status::Yes } else { Status::No }
    }

    /// The exit status of the process.
    pub fn code(self) -> u8 {
        match self {
            Status::Yes => 0,
            Status::No => 1,
            Status::Failed => 2,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status.code())
    }
}

/// Why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// A message: `error: <what>: <why>`, and perhaps `hint: …`.
    Message {
        /// `<what>: <why>`.
        text: String,
        /// What to do, where we know it.
        hint: Option<String>,
    },
    /// A file was replaced, but may not survive a power failure: an error, though the new file is in place.
    Unflushed(String),
    /// The reader of our output has closed it: the command ends without a message.
    ClosedPipe,
}

impl Failure {
    /// `what` is a file, an option or a dialect; `why` is the cause.
    pub fn new(what: impl Display, why: impl Display) -> Failure {
        Failure::text(format!("{what}: {why}"))
    }

    /// A message whose parts are already joined.
    pub fn text(text: impl Into<String>) -> Failure {
        Failure::Message { text: text.into(), hint: None }
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Failure {
        match self {
            Failure::Message { text, .. } => Failure::Message { text, hint: Some(hint.into()) },
            Failure::Unflushed(_) | Failure::ClosedPipe => self,
        }
    }

    /// Adds that something was saved before: the work is done, and must not be done again.
    #[must_use]
    pub fn after_saving(self, what: impl Display) -> Failure {
        match self {
            Failure::Message { text, hint } => {
                Failure::Message { text: format!("{text}; {what} was saved"), hint }
            }
            Failure::Unflushed(_) | Failure::ClosedPipe => self,
        }
    }

    /// Adds that a file was not saved, which is an error also if only the reader of the output has gone.
    #[must_use]
    pub fn without_saving(self, what: impl Display) -> Failure {
        match self {
            Failure::Message { text, hint } => {
                Failure::Message { text: format!("{text}; {what} was not saved"), hint }
            }
            Failure::ClosedPipe => Failure::new(what, "was not saved: nobody reads standard output any more"),
            Failure::Unflushed(_) => self,
        }
    }

    /// The dialect cannot make a filter of the requested size.
    pub fn size(dialect: Name, cause: &SizeError) -> Failure {
        match cause {
            SizeError::Unsupported { .. } => Failure::text(cause.to_string()), // names its dialect itself
            SizeError::Value { what: Quantity::Fpr, got, .. } if (1.0..=100.0).contains(got) => {
                Failure::new(dialect, cause).hint(format!("{got} in a hundred is written {got}%"))
            }
            _ => Failure::new(dialect, cause),
        }
    }

    /// A filter of this dialect cannot be built.
    pub fn building(dialect: Name, cause: BuildError) -> Failure {
        match cause {
            BuildError::Size(cause) => Failure::size(dialect, &cause),
            BuildError::Option { option, why } => {
                Failure::new(format_args!("--{}", option.as_str().replace('_', "-")), why)
            }
            other => Failure::text(other.to_string()),
        }
    }

    /// Writing to `what` failed.
    pub fn writing(what: impl Display, cause: &io::Error) -> Failure {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::new(what, format_args!("cannot write: {cause}")),
        }
    }

    /// Reports the failure on standard error; returns the exit status.
    pub fn report(&self) -> Status {
        match self {
            Failure::Message { text, hint } => {
                output::error(text, hint.as_deref());
                Status::Failed
            }
            Failure::Unflushed(text) => {
                output::error(text, None);
                Status::Failed
            }
            Failure::ClosedPipe => Status::Yes,
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Message { text, .. } | Failure::Unflushed(text) => f.write_str(text),
            Failure::ClosedPipe => f.write_str("standard output: closed"),
        }
    }
}

impl From<ops::Status> for Status {
    fn from(status: ops::Status) -> Status {
        match status {
            ops::Status::Well => Status::Yes,
            ops::Status::NotWell => Status::No,
            ops::Status::Failed => Status::Failed,
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure::Message { text: hints::line(&problem), hint: hints::of(&problem) }
    }
}

impl From<TableError> for Failure {
    fn from(cause: TableError) -> Failure {
        Failure::text(cause.to_string())
    }
}

impl From<FileError> for Failure {
    fn from(cause: FileError) -> Failure {
        let text = cause.to_string();
        match cause.cause() {
            FileCause::Unflushed(_) => Failure::Unflushed(text),
            FileCause::Changed => Failure::text(text).hint("run the command again"),
            _ => Failure::text(text),
        }
    }
}
