//! `fullbloom table build [ENTRIES…] -o TABLE`: a table of LevelDB or RocksDB from keys and values.

mod entries;

use crate::args::EntryArgs;
use crate::destination::{Destination, ForceArgs};
use crate::error::{Failure, Status};
use crate::filter_args::PrintArgs;
use crate::input::Keys;
use crate::numbers;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::text;
use entries::Entries;
use fullbloom_ops::filter::require_replaceable_by_table;
use fullbloom_ops::table::{self, NewFilter};
use fullbloom_table::checksum::Checksum;
use fullbloom_table::compression::Compression;
use fullbloom_table::filter::Holds;
use fullbloom_table::filter::build::{FilterOptions, Partitioning};
use fullbloom_table::writer::{Format, TableWriter, WriterOptions};
use fullbloom_table::{EnginePrefix, Problem, TableError};
use serde_json::json;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Build tables of LevelDB and RocksDB
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom table build entries.tsv -o entries.sst
  fullbloom table build --engine leveldb entries.tsv -o 000005.ldb")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Build(BuildArgs),
}

/// Build a table from keys and values, with a filter, that RocksDB ingests or LevelDB opens
///
/// Each line is a key, a tab and a value. Lines are sorted in memory; of several with the same key the last
/// one is used.
///
/// Without a tab the value is empty. --sorted expects sorted lines and needs no memory. The file is replaced
/// completely or not at all.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom table build entries.tsv -o entries.sst
  fullbloom table build --sorted --compression zstd entries.gz -o entries.sst
  fullbloom table build --engine leveldb entries.tsv -o 000005.ldb")]
struct BuildArgs {
    #[command(flatten)]
    entries: EntryArgs,

    /// Write the table to this file
    #[arg(short, long, value_name = "TABLE")]
    output: PathBuf,

    /// Expect lines sorted by key, in byte order, each key once
    #[arg(long)]
    sorted: bool,

    /// Write the table for this engine
    #[arg(long, value_name = "E", value_enum, default_value_t = Engine::Rocksdb)]
    engine: Engine,

    /// Write this format_version of RocksDB, 0 to 6
    #[arg(long, value_name = "V", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=6))]
    format_version: u32,

    /// Write this kind of filter
    #[arg(long, value_name = "K", value_enum, default_value_t = Kind::Full)]
    kind: Kind,

    /// Write a Ribbon filter instead of a Bloom filter
    #[arg(long)]
    ribbon: bool,

    /// Give each key this many bits in the filter
    #[arg(long, value_name = "B", default_value_t = 10.0)]
    bits_per_key: f64,

    /// Insert prefixes into the filter too: fixed:N, capped:N or noop
    #[arg(long, value_name = "E")]
    prefix_extractor: Option<EnginePrefix>,

    /// Leave whole keys out of the filter
    #[arg(long, requires = "prefix_extractor")]
    no_whole_keys: bool,

    /// Make filter and index partitions this large
    #[arg(long, value_name = "SIZE", value_parser = numbers::size, default_value = "4KiB")]
    partition_size: u64,

    /// Compress blocks
    #[arg(long, value_name = "C", value_enum, default_value_t = Packing::None)]
    compression: Packing,

    /// Seal blocks with this checksum
    #[arg(long, value_name = "C", value_enum, default_value_t = Sum::Xxh3)]
    checksum: Sum,

    /// Make data blocks this large
    #[arg(long, value_name = "SIZE", value_parser = numbers::size, default_value = "4KiB")]
    block_size: u64,

    #[command(flatten)]
    force: ForceArgs,

    #[command(flatten)]
    print: PrintArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Engine {
    Rocksdb,
    Leveldb,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// No filter
    None,
    /// One filter
    Full,
    /// Partitions, each ending when it is full
    Partitioned,
    /// Partitions that end where the index's do
    PartitionedWithIndex,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Packing {
    None,
    Snappy,
    Zlib,
    Bzip2,
    Lz4,
    Zstd,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Sum {
    None,
    Crc32c,
    Xxhash,
    Xxhash64,
    Xxh3,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<Status, Failure> {
    match &args.command {
        Command::Build(args) => build(args),
    }
}

impl BuildArgs {
    fn options(&self) -> Result<WriterOptions, Failure> {
        let compression = match self.compression {
            Packing::None => Compression::None,
            Packing::Snappy => Compression::Snappy,
            Packing::Zlib => Compression::Zlib,
            Packing::Bzip2 => Compression::Bzip2,
            Packing::Lz4 => Compression::Lz4,
            Packing::Zstd => Compression::Zstd,
        };
        let checksum = match self.checksum {
            Sum::None => Checksum::None,
            Sum::Crc32c => Checksum::Crc32c,
            Sum::Xxhash => Checksum::XxHash,
            Sum::Xxhash64 => Checksum::XxHash64,
            Sum::Xxh3 => Checksum::Xxh3,
        };
        let block_size = self.block_size;
        let filter = self.filter()?;
        if self.engine == Engine::Leveldb {
            return Ok(WriterOptions { compression, block_size, filter, ..WriterOptions::leveldb() });
        }
        Ok(WriterOptions {
            format: self.format(),
            block_size,
            compression,
            checksum,
            index: table::index_layout(self.partitions().as_ref()),
            filter,
            ..WriterOptions::default()
        })
    }

    fn format(&self) -> Format {
        match self.engine {
            Engine::Leveldb => Format::LevelDb,
            Engine::Rocksdb => Format::RocksDb { version: self.format_version },
        }
    }

    fn partitions(&self) -> Option<Partitioning> {
        let with_index = match self.kind {
            Kind::None | Kind::Full => return None,
            Kind::Partitioned => false,
            Kind::PartitionedWithIndex => true,
        };
        Some(Partitioning { target: self.partition_size, with_index, ..Partitioning::default() })
    }

    fn filter(&self) -> Result<Option<FilterOptions>, Failure> {
        let filter = NewFilter {
            format: self.format(),
            ribbon: self.ribbon,
            partitions: self.partitions(),
            bits_per_key: self.bits_per_key,
            holds: Holds { whole_keys: !self.no_whole_keys, prefixes: self.prefix_extractor.map(Into::into) },
        };
        let Some(dialect) = filter.dialect() else {
            return Err(Failure::new("--ribbon", "LevelDB has no Ribbon filters"));
        };
        if self.kind == Kind::None {
            return Ok(None);
        }
        filter.options(dialect).map(Some).map_err(|e| Failure::size(dialect, &e))
    }
}

/// An error of the table writer or the input, passed through the I/O error of the file writer.
enum Trouble {
    Table(TableError),
    Input(Failure),
}

impl From<TableError> for Trouble {
    fn from(error: TableError) -> Trouble {
        Trouble::Table(error)
    }
}

fn build(args: &BuildArgs) -> Result<Status, Failure> {
    let mut destination = Destination::new(&args.output, args.force.force)?;
    if let Destination::Stdout = destination {
        let why = "a table must be written to a file, because the file is checked afterwards";
        let failure = Failure::new("standard output", why);
        return Err(failure.hint("name a file: -o TABLE, or ./- for a file called -"));
    }
    if !args.force.force {
        require_replaceable_by_table(&args.output)?;
    }
    let options = args.options()?;
    let mut keys = Keys::new(&args.entries.files, args.entries.format())?;
    if keys.include(&args.output) {
        return Err(Failure::new(args.output.display(), "is an input and would be overwritten by the table"));
    }
    // Before the file is begun: sorting may need more memory than there is.
    let sorted = if args.sorted { None } else { Some(collect(args, &mut keys)?) };
    let mut trouble = None;
    let mut made = None;
    let saved = destination.write(|out| {
        write(args, options.clone(), &mut keys, sorted.as_ref(), out)
            .map(|written| made = Some(written))
            .map_err(|error| {
                trouble = Some(error);
                io::Error::other("the table could not be written")
            })
    });
    match trouble {
        Some(Trouble::Input(failure)) => return Err(failure),
        Some(Trouble::Table(error)) => return Err(Failure::new(args.output.display(), error)),
        None => saved?,
    }
    let made = made.unwrap_or_default();
    if made.repeated > 0 {
        output::warning(&format!(
            "{} appeared more than once; the last value is used",
            text::counted(made.repeated, "key")
        ));
    }
    summarise(args, &made).map_err(|failure| failure.after_saving(args.output.display()))?;
    Ok(Status::Yes)
}

#[derive(Debug, Default)]
struct Made {
    entries: u64,
    repeated: u64,
    data_blocks: u64,
    file_len: u64,
    filter_len: u64,
    filter_entries: u64,
}

fn write(
    args: &BuildArgs,
    options: WriterOptions,
    keys: &mut Keys,
    sorted: Option<&Entries>,
    out: &mut dyn Write,
) -> Result<Made, Trouble> {
    let mut writer = TableWriter::new(out, options)?;
    let mut repeated = 0;
    if let Some(sorted) = sorted {
        for (key, value) in sorted.last_of_each_key() {
            writer.put(key, value)?;
        }
        repeated = sorted.repeated();
    } else {
        let (mut stopped, mut line) = (None, 0u64);
        let walked = for_each_entry(args, keys, |key, value| {
            line += 1;
            match writer.put(key, value) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    stopped = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        match stopped {
            Some(error) if matches!(error.problem(), Problem::Input { .. }) => {
                let failure = Failure::new(format_args!("--sorted: line {line}"), error);
                return Err(Trouble::Input(failure.hint("without --sorted lines are sorted in memory")));
            }
            Some(error) => return Err(error.into()),
            None => {}
        }
        walked.map_err(Trouble::Input)?;
    }
    let written = writer.finish()?;
    Ok(Made {
        entries: written.entries,
        repeated,
        data_blocks: written.data_blocks,
        file_len: written.file_len,
        filter_len: written.filter_len,
        filter_entries: written.filter_entries,
    })
}

/// All entries, sorted by key.
fn collect(args: &BuildArgs, keys: &mut Keys) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut full = Ok(());
    for_each_entry(args, keys, |key, value| {
        full = entries.push(key, value);
        if full.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    full.map_err(|_| {
        let failure = Failure::new("the entries", "not enough memory to sort them");
        failure.hint("sort them first, in byte order (LC_ALL=C sort -u), and give --sorted")
    })?;
    entries.sort();
    Ok(entries)
}

fn for_each_entry(
    args: &BuildArgs,
    keys: &mut Keys,
    mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<(), Failure> {
    let progress = Progress::new("reading entries", keys.total());
    let (mut key_bytes, mut value_bytes) = (Vec::new(), Vec::new());
    let mut number = 0u64;
    keys.for_each_batch(&progress, |batch| {
        for record in batch.records {
            number += 1;
            let tab = memchr::memchr(b'\t', record);
            let (key, value) = tab.map_or((*record, &[][..]), |at| (&record[..at], &record[at + 1..]));
            let flow = if args.entries.hex {
                key_bytes.clear();
                value_bytes.clear();
                text::decode_hex(key, &mut key_bytes)
                    .and_then(|()| text::decode_hex(value, &mut value_bytes))
                    .map_err(|why| Failure::new(format_args!("line {number}"), why))?;
                each(&key_bytes, &value_bytes)
            } else {
                each(key, value)
            };
            if flow.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}

fn summarise(args: &BuildArgs, made: &Made) -> Result<(), Failure> {
    if args.print.quiet {
        return Ok(());
    }
    let path = args.output.display().to_string();
    let mut out = Output::stdout();
    if args.print.json {
        out.json(&json!({
            "path": path,
            "entries": made.entries,
            "data_blocks": made.data_blocks,
            "bytes": made.file_len,
            "filter_bytes": made.filter_len,
            "filter_entries": made.filter_entries,
        }))?;
    } else {
        let line = format!(
            "{}: {} {} in {}, {}; filter {}\n",
            text::printable(&path),
            made.entries,
            if made.entries == 1 { "entry" } else { "entries" },
            text::counted(made.data_blocks, "block"),
            text::bytes(made.file_len),
            text::bytes(made.filter_len),
        );
        out.bytes(line.as_bytes())?;
    }
    out.finish()
}
