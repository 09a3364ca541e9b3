//! What a command found: the one shape that all four commands share.
//!
//! ```text
//!   {"version": 1, "places": [record, …], "problems": [{place, code, severity, message, hint}, …], "summary": {…}}
//! ```

use crate::problem::Problem;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::ops::ControlFlow;
use std::path::Path;

/// The version of the shape. A field may be added without a new one; none is removed or changes its meaning.
pub const VERSION: u32 = 1;

/// One place, and what is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<R> {
    /// What the command reports about it.
    pub record: R,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
}

impl<R> Found<R> {
    /// The same with another record.
    pub fn map<T>(self, record: impl FnOnce(R) -> T) -> Found<T> {
        Found { record: record(self.record), problems: self.problems }
    }
}

/// Everything that a command found.
#[derive(Debug, Clone, PartialEq)]
pub struct Report<R, S> {
    /// The places, in the order in which they were processed.
    pub found: Vec<Found<R>>,
    /// What is wrong elsewhere: with paths that have no record, and with directories.
    pub problems: Vec<Problem>,
    /// Sums over all places.
    pub summary: S,
    /// How the command ends.
    pub status: Status,
}

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Status {
    /// All is well: exit status 0.
    #[default]
    Well,
    /// Something is wrong, or there was nothing to do: exit status 1.
    NotWell,
    /// Something could not be read: exit status 2.
    Failed,
}

impl Status {
    /// How a plan ends that was made in spite of these problems.
    pub(crate) fn of_plan(problems: &[Problem]) -> Status {
        match problems {
            [] => Status::Well,
            some if some.iter().any(Problem::is_failure) => Status::Failed,
            _ => Status::NotWell,
        }
    }
}

impl<R, S> Report<R, S> {
    /// Every problem: of the places first, then the others.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> + Clone {
        self.found.iter().flat_map(|found| &found.problems).chain(&self.problems)
    }

    /// Adds the problem of a path that could not be read.
    pub fn fail(&mut self, problem: Problem) {
        self.problems.push(problem);
        self.status = Status::Failed;
    }
}

impl<R: Serialize, S: Serialize> Serialize for Report<R, S> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        let mut object = serializer.serialize_struct("Report", 4)?;
        object.serialize_field("version", &VERSION)?;
        object.serialize_field("places", &Each(self.found.iter().map(|found| &found.record)))?;
        object.serialize_field("problems", &Each(self.problems()))?;
        object.serialize_field("summary", &self.summary)?;
        object.end()
    }
}

/// A list that is serialised without collecting it first.
struct Each<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for Each<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

/// How many problems there are of each severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Errors.
    pub errors: u64,
    /// Warnings.
    pub warnings: u64,
    /// Notes.
    pub notes: u64,
}

impl Counts {
    /// Counts these problems.
    pub fn of<'a>(problems: impl IntoIterator<Item = &'a Problem>) -> Counts {
        use crate::problem::Severity;
        let mut counts = Counts::default();
        for problem in problems {
            *match problem.severity {
                Severity::Error => &mut counts.errors,
                Severity::Warning => &mut counts.warnings,
                Severity::Note => &mut counts.notes,
            } += 1;
        }
        counts
    }
}

/// The caller's view of work in progress. Every method may be left out; `()` ignores everything.
pub trait Watch<R> {
    /// The work begins: `places` places will be processed.
    fn start(&mut self, places: u64) {
        let _ = places;
    }

    /// What to know before anything is written.
    fn notes(&mut self, notes: &[String]) {
        let _ = notes;
    }

    /// One more place has been processed.
    fn step(&mut self) {}

    /// The work stops until another process is done with this file.
    fn waiting(&mut self, path: &Path) {
        let _ = path;
    }

    /// What was found there; places come in order. Breaking off ends the work, with what was found so far.
    fn found(&mut self, found: &Found<R>) -> ControlFlow<()> {
        let _ = found;
        ControlFlow::Continue(())
    }
}

impl<R> Watch<R> for () {}
