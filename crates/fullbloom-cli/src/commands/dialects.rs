//! `fullbloom dialects`: the names that `--dialect` and `--key-type` take.

use crate::error::{Failure, Status};
use crate::output::Output;
use crate::table::Table;
use fullbloom_dialects::Name;
use serde_json::{Value, json};

/// List all dialects and key types: the names that --dialect and --key-type take
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom dialects
  fullbloom dialects --json")]
pub struct Args {
    /// Print a JSON list of objects: [{"name": …, "description": …}, …]
    #[arg(long)]
    json: bool,
}

/// The types of keys and how they are written. The system of the dialect decides how they are hashed.
const KEY_TYPES: [(&str, &str); 11] = [
    ("bytes", "the bytes of the line"),
    ("text, ascii", "UTF-8 or ASCII"),
    ("utf16", "UTF-8, hashed as UTF-16"),
    ("int, smallint, tinyint", "a number of 32, 16 or 8 bits; Cassandra has the smaller ones"),
    ("long, bigint", "a number of 64 bits"),
    ("varint", "a number of any length (Cassandra)"),
    ("float, double", "a number such as 1.5"),
    ("boolean", "true or false (Cassandra)"),
    ("date, timestamp", "2024-02-29, 2024-02-29T12:00:00Z (Cassandra)"),
    ("uuid, timeuuid, inet, blob", "as cqlsh prints them (Cassandra)"),
    ("text,int", "partition keys of several columns, written a:7 (Cassandra)"),
];

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
        let mut table = Table::new(&["key type", "written as"]).text(&["written as"]);
        for (name, written) in KEY_TYPES {
            table.row(vec![name.to_owned(), written.to_owned()]);
        }
        out.bytes(format!("\n{}", table.render()).as_bytes())?;
    }
    out.finish()?;
    Ok(Status::Yes)
}
