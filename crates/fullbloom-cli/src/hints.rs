//! Hints, with the options of the command that they are about.

use fullbloom::typed::KeyType;
use fullbloom_ops::{Code, Need, Problem};

/// What to do about a problem, in the words of the command line.
pub fn of(problem: &Problem) -> Option<String> {
    let hint = problem.hint.as_deref();
    let with = |option: &str| Some(hint.map_or(option.to_owned(), |hint| format!("{hint} ({option})")));
    let Some(need) = problem.need else { return hint.map(str::to_owned) };
    match need {
        Need::Dialect => with("--dialect D, --bits M --probes K"),
        Need::SstableDialect => with("--dialect D"),
        Need::Geometry => with("--bits M --probes K"),
        Need::Secret => with("--secret FILE"),
        Need::NoSecret => Some("remove --secret".to_owned()),
        Need::Keys => with("--key-type T"),
        Need::KeysOrHex => with("--key-type T, --hex"),
        Need::KeyType(KeyType::Bytes) => Some("its keys are bytes: leave out --key-type".to_owned()),
        Need::KeyType(recorded) => Some(format!("use --key-type {recorded}")),
        Need::Column => with("--column NAME"),
        Need::PartitionKey => with("--partition-key id,day"),
        Need::KeyList => with("verify --keys FILE"),
        Need::Exceptions => with("--except FILE"),
        Need::Request => with("--expected-keys N --fpr P"),
        Need::Rate => with("--fpr P"),
        Need::RateOrOldSize => with("--fpr P, --same-size"),
        Need::SmallerSize => with("--memory SIZE, --fold TIMES"),
        Need::Snapshots => with("--snapshots"),
        Need::Force => with("--force"),
        Need::OtherDirectory => with("-o DIR"),
        Need::StandardOutput => Some("-o - writes to standard output".to_owned()),
        Need::OwnKeys => with("leave out --keys"),
        Need::Build(dialect) => with(&format!("fullbloom build --dialect {dialect} KEYS -o FILTER")),
        Need::BuildCompact => with("fullbloom build --compact KEYS -o FILTER"),
        Need::Convert => with("fullbloom convert --to native"),
        _ => hint.map(str::to_owned),
    }
}

/// The problem in one line. Where it is about a request and not about a file, the place is the name of an
/// option.
pub fn line(problem: &Problem) -> String {
    match problem.place.as_str() {
        // A file may have this name, too; its other problems have other codes.
        option @ ("fpr" | "bits_per_key") if problem.code == Code::SizeRefused => {
            format!("--{}: {}", option.replace('_', "-"), problem.message)
        }
        _ => problem.to_string(),
    }
}
