//! Help that fits one screen. The manual pages have every option on its own and all paragraphs.
//!
//! `--help` shows the first paragraph about a command, options that belong together on one line, and examples.

use crate::output;
use clap::builder::{PossibleValue, Resettable};
use clap::{Arg, ArgAction, Command};
use std::fmt::Write as _;

/// The paragraph about a command comes before its usage, and what is joined below its own options.
const TEMPLATE: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// Options that share a line if a command has all of them under this heading.
struct Joined {
    heading: Option<&'static str>,
    options: &'static [&'static str],
    /// The options as they are typed.
    typed: &'static str,
    effect: &'static str,
}

const fn joined(
    heading: Option<&'static str>,
    options: &'static [&'static str],
    typed: &'static str,
    effect: &'static str,
) -> Joined {
    Joined { heading, options, typed, effect }
}

const KEYS: Option<&str> = Some("Keys");
const NATIVE: Option<&str> = Some("Native filters");
const FILES: Option<&str> = Some("Filter files");
const EXPIRY: Option<&str> = Some("Expiry");
const METRICS: Option<&str> = Some("Metrics");

/// In the order of the screen.
const JOINED: &[Joined] = &[
    joined(
        None,
        &["op", "prefix_extractor"],
        "    --op <OP>, --prefix-extractor <E>",
        "Ask a table for get, seek, seek-back; its prefixes",
    ),
    joined(
        None,
        &["map", "force", "explain"],
        "    --map, --force, --explain",
        "Map the file; use a bad header; say how it was read",
    ),
    joined(None, &["json", "quiet"], "    --json, -q, --quiet", "Print one JSON object; print nothing"),
    joined(
        FILES,
        &["dialect", "bits", "probes"],
        "    --dialect <D>, --bits <M>, --probes <K>",
        "What files do not say (see: fullbloom dialects)",
    ),
    joined(FILES, &["secret"], "    --secret <FILE>", "Read a keyed filter's secret from this file"),
    joined(
        NATIVE,
        &["compact", "dynamic", "deletable"],
        "    --compact, --dynamic, --deletable",
        "Smallest; growing; with deletion [default: fast]",
    ),
    joined(NATIVE, &["up_to"], "    --up-to <N>", "Keep a dynamic filter's rate up to N keys"),
    joined(
        NATIVE,
        &["except", "except_wins", "keys_win"],
        "    --except <KEYS>, --except-wins, --keys-win",
        "Never match these keys; the list that wins",
    ),
    joined(
        NATIVE,
        &["keyed", "secret", "store_secret"],
        "    --keyed, --secret <FILE>, --store-secret",
        "Hash with a secret, kept in a file or the filter",
    ),
    joined(
        NATIVE,
        &["seed", "label", "prefer"],
        "    --seed <N>, --label <TEXT>, --prefer <WHAT>",
        "Another hash; a text to store; speed or space",
    ),
    joined(
        EXPIRY,
        &["expire", "expire_keys"],
        "    --expire <TIME>, --expire-keys <N>",
        "Forget keys after a time (7d), or N new keys",
    ),
    joined(
        EXPIRY,
        &["generations", "refresh"],
        "    --generations <N>, --refresh",
        "Forget in N steps; keep a key longer when it appears again",
    ),
    joined(KEYS, &["key_type"], "    --key-type <T>", "Read keys as this type (see: fullbloom dialects)"),
    joined(
        KEYS,
        &["field", "delimiter", "csv"],
        "-f, --field <N>, -d <C>, --csv",
        "Field N is the key; fields end with C; in quotes",
    ),
    joined(
        None,
        &["hex", "null", "binary"],
        "    --hex, -0, --null, --binary",
        "Keys in hex; ending with a zero byte; any bytes",
    ),
    joined(
        KEYS,
        &["hex", "null", "binary"],
        "    --hex, -0, --null, --binary",
        "Keys in hex; ending with a zero byte; any bytes",
    ),
    joined(
        KEYS,
        &["trim", "ignore_case", "crlf"],
        "    --trim, --ignore-case, --crlf",
        "Strip white space; lower case; strip CR",
    ),
    joined(KEYS, &["skip_comments"], "    --skip-comments", "Skip empty lines and lines that begin with #"),
    joined(
        METRICS,
        &["metrics", "metrics_files"],
        "    --metrics <FILE>, --metrics-files <N>",
        "Write metrics for Prometheus; N single files too",
    ),
];

/// The same help for `-h`, `--help` and `help`. As soon as there is a longer text about a command, an option
/// or a value, clap prints three lines for each option.
pub fn compact(command: Command) -> Command {
    let is_program = command.get_bin_name().is_none() && command.get_name() == "fullbloom";
    let long = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let first = long.split("\n\n").nth(1);
    let mut command = match first {
        // All paragraphs about the program, the first about a command.
        Some(_) if is_program => {
            command.before_help(long.split_once("\n\n").map_or("", |(_, rest)| rest).to_owned())
        }
        Some(first) => command.before_help(first.to_owned()),
        None => command,
    };
    let lines: Vec<&Joined> = JOINED.iter().filter(|joined| joined.is_of(&command)).collect();
    let hidden: Vec<&str> = lines.iter().flat_map(|joined| joined.options).copied().collect();
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    if !lines.is_empty() {
        command = command.after_help(format!("{}\n{examples}", section(&lines)));
    }
    if !is_program {
        // `fullbloom build --version` works, and takes no line.
        let version = Arg::new("version").short('V').long("version").action(ArgAction::Version).hide(true);
        command = command.disable_version_flag(true).arg(version);
    }
    command
        .help_template(TEMPLATE)
        .long_about(Resettable::Reset)
        .mut_args(|arg| {
            let is_hidden = arg.is_hide_set() || hidden.contains(&arg.get_id().as_str());
            one_line(arg).hide(is_hidden)
        })
        .mut_subcommands(compact)
}

impl Joined {
    fn is_of(&self, command: &Command) -> bool {
        self.options.iter().all(|option| {
            let has = |arg: &Arg| arg.get_id() == option && arg.get_help_heading() == self.heading;
            command.get_arguments().any(has)
        })
    }
}

/// The lines, with what the options do in one column, wrapped like clap wraps its own.
fn section(lines: &[&Joined]) -> String {
    let width = output::width().unwrap_or(100).min(100);
    let column = lines.iter().map(|line| line.typed.chars().count()).max().unwrap_or(0) + 4;
    let mut text = "More options (the manual page has each on its own: fullbloom man):\n".to_owned();
    for line in lines {
        let mut row = format!("  {:1$}", line.typed, column - 2);
        for word in line.effect.split(' ') {
            if row.chars().count() + 1 + word.chars().count() > width && row.trim_start().len() > column {
                let _ = writeln!(text, "{}", row.trim_end());
                row = " ".repeat(column);
            }
            row += word;
            row.push(' ');
        }
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

/// An option whose values are listed without an explanation of each.
fn one_line(arg: Arg) -> Arg {
    let arg = arg.long_help(Resettable::Reset);
    let values = arg.get_possible_values();
    if arg.is_hide_possible_values_set() || values.iter().all(|value| value.get_help().is_none()) {
        return arg;
    }
    let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.hide_possible_values(true).help(format!("{help} [possible values: {}]", names.join(", ")))
}
