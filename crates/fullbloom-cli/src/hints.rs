//! Hints about the caller's knowledge of a file, with the options that give it.

use fullbloom::typed::KeyType;
use fullbloom_ops::{Knowledge, Problem};

/// What to do about a problem, in the words of the command line.
pub fn of(problem: &Problem) -> Option<String> {
    let hint = problem.hint.as_deref();
    let with = |option: &str| Some(hint.map_or(option.to_owned(), |hint| format!("{hint} ({option})")));
    match problem.knowledge {
        None => hint.map(str::to_owned),
        Some(Knowledge::Dialect) => with("--dialect D, --bits M --probes K"),
        Some(Knowledge::Geometry) => with("--bits M --probes K"),
        Some(Knowledge::Secret) => with("--secret FILE"),
        Some(Knowledge::Keys) => with("--key-type T"),
        Some(Knowledge::NoSecret) => Some("remove --secret".to_owned()),
        Some(Knowledge::KeyType(KeyType::Bytes)) => {
            Some("its keys are bytes: leave out --key-type".to_owned())
        }
        Some(Knowledge::KeyType(recorded)) => Some(format!("use --key-type {recorded}")),
        Some(_) => hint.map(str::to_owned),
    }
}
