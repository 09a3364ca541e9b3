//! `fullbloom dialects`: the names that `--dialect` takes.

use crate::error::{Failure, Status};
use crate::output::Output;
use crate::table::Table;
use fullbloom::dialect::Name;
use serde_json::{Value, json};

/// List all dialects: the names that --dialect takes, and the system of each
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom dialects
  fullbloom dialects --json")]
pub struct Args {
    /// A JSON list of objects: [{"name": …, "description": …}, …]
    #[arg(long)]
    json: bool,
}

/// Prints the list.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let mut out = Output::stdout();
    if args.json {
        let all = Name::ALL.iter().map(|name| json!({ "name": name.as_str(), "description": name.about() }));
        out.json(&Value::from_iter(all))?;
    } else {
        let mut table = Table::new(&["dialect", "description"]).text(&["description"]);
        for name in Name::ALL {
            table.row(vec![name.to_string(), name.about().to_owned()]);
        }
        out.bytes(table.render().as_bytes())?;
    }
    out.finish()?;
    Ok(Status::Yes)
}
