//! Help that fits one or two screens: a line or two for each option. The manual pages have the same text at
//! length.

use clap::builder::{PossibleValue, Resettable};
use clap::{Arg, Command};

/// The paragraph about a command comes before its usage.
const TEMPLATE: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// The same help for `-h`, `--help` and `help`. As soon as there is a longer text about a command, an option
/// or a value, clap prints three lines for each option.
pub fn compact(command: Command) -> Command {
    let long = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let command = match long.split_once("\n\n") {
        Some((_, paragraphs)) => command.before_help(paragraphs.to_owned()),
        None => command,
    };
    command.help_template(TEMPLATE).long_about(Resettable::Reset).mut_args(one_line).mut_subcommands(compact)
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
