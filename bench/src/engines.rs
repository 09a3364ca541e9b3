//! fullbloom and programs that are not crates: libbloom's shared library beside its replacements, and Cassandra and
//! Guava on a JVM.

use crate::contender::Contenders;
use crate::ffi::libbloom::Library;
use crate::harness::{self, Mode, Row, Size};
use crate::keys::mix;
use crate::machine;
use crate::peers;
use crate::race::{Common, Race};
use fullbloom::keys::Hashes;
use fullbloom_dialects::filter::{Insert, Size as SizedDialect};
use fullbloom_dialects::{Cassandra, Filter, Guava};
use std::collections::BTreeSet;
use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command as Process, Stdio};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Compare our libbloom.so.1 and libbloom.so.2 with the installed libbloom 1.6, one call for each key.
    Libbloom(Libraries),
    /// Compare the dialect cassandra with Cassandra's off-heap filter (interop/cassandra/bench starts this).
    Cassandra(Jvm),
    /// Compare the dialect guava with Guava (interop/guava/bench starts this).
    Guava(Jvm),
}

/// Options of `engines libbloom`.
#[derive(clap::Args)]
pub struct Libraries {
    #[command(flatten)]
    common: Common,
    /// Load the original from this file.
    #[arg(long, value_name = "FILE", default_value = "/usr/lib/x86_64-linux-gnu/libbloom.so.1")]
    theirs: PathBuf,
    /// Load our library for 1.6, made by `make bloom1`, from this file.
    #[arg(long, value_name = "FILE", default_value = "target/c/bloom1/libbloom.so.1")]
    ours1: PathBuf,
    /// Load our library for 2.0, made by `make bloom2`, from this file.
    #[arg(long, value_name = "FILE", default_value = "target/c/bloom2/libbloom.so.2")]
    ours2: PathBuf,
    /// Keep a second, sleeping thread in the process, so that our bloom_add sets bits atomically.
    #[arg(long)]
    threaded: bool,
}

/// Options of the commands that start a JVM.
#[derive(clap::Args)]
pub struct Jvm {
    /// Build filters of these numbers of keys.
    #[arg(long, value_delimiter = ',', default_values_t = [218_000, 7_000_000, 220_000_000])]
    keys: Vec<u64>,
    /// Hash the keys before the measurement, on both sides.
    #[arg(long)]
    hashed: bool,
    /// Measure this many rounds.
    #[arg(long, default_value_t = 21)]
    rounds: usize,
    /// Write the rows to this file as a JSON list.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The program on the JVM: `java -cp … CassandraRounds`.
    #[arg(last = true, required = true)]
    java: Vec<String>,
}

pub fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    println!("{}", machine::describe());
    match command {
        Command::Libbloom(options) => libraries(options),
        Command::Cassandra(options) => jvm::<Cassandra>("engines cassandra", options),
        Command::Guava(options) => jvm::<Guava>("engines guava", options),
    }
}

const RATE: f64 = 0.01;
const LIBBLOOM: &str = "libbloom 1.6, installed";

/// Bits per key of libbloom at this rate.
const LIBBLOOM_BITS: f64 = 9.585;

fn libraries(options: &Libraries) -> Result<(), Box<dyn Error>> {
    if options.threaded {
        std::thread::spawn(std::thread::park);
    }
    let mut rows = Vec::new();
    let sizes: &[u64] = if options.common.quick { &[117 << 10] } else { &[117 << 10, 11_700 << 10] };
    for &bytes in options.common.sizes.as_deref().unwrap_or(sizes) {
        let size = Size::with_bits(bytes, LIBBLOOM_BITS)?;
        let mut contenders: Contenders<[u8; 8]> = Vec::new();
        for (name, path) in [
            (LIBBLOOM, &options.theirs),
            ("fullbloom libbloom.so.1", &options.ours1),
            ("fullbloom libbloom.so.2", &options.ours2),
        ] {
            let hint = "install libbloom1, and `make bloom1 bloom2`";
            let library = Library::open(path).map_err(|e| format!("{}: {e}; {hint}", path.display()))?;
            contenders.push(peers::shared_library(name, library, size, RATE));
        }
        let modes = &[Mode::Build, Mode::Single, Mode::Present];
        let race = Race {
            command: "engines libbloom",
            options: &options.common,
            modes,
            base: LIBBLOOM,
            same_answers: false,
        };
        rows.extend(race.run(size, contenders, &mut BTreeSet::new())?);
    }
    match &options.common.json {
        Some(path) => harness::save(&rows, path),
        None => Ok(()),
    }
}

const ORIGINAL: &str = "original on the JVM";

/// Keys inserted or looked up in a round, at most.
const ASKED: u64 = 1_000_000;

/// Rounds before the first that counts: by then the JVM has compiled its loops.
const WARM_UP: usize = 15;

/// A second process that takes turns with this one. The JVM does one round for each line that it is given and answers
/// with its CPU time (`interop/jvm/Rounds.java`). Both sides fill the same filter with the same keys and must count
/// the same answers.
fn jvm<D: Insert + SizedDialect>(command: &str, options: &Jvm) -> Result<(), Box<dyn Error>> {
    let mut rows = Vec::new();
    let mut jvm = Partner::start(&options.java)?;
    for &count in &options.keys {
        let asked = count.min(ASKED);
        jvm.ask(&format!("create {count} {asked}"))?;
        let key = |i: u64| mix(i).to_le_bytes();
        let present: Vec<[u8; 8]> = (0..asked).map(|i| key(mix(i) % count)).collect();
        let absent: Vec<[u8; 8]> = (0..asked).map(|i| key(i + (1 << 40))).collect();
        let mut filter = Filter::<D>::with_fpr(count, RATE)?;
        for start in (0..count).step_by(1 << 16) {
            let keys: Vec<[u8; 8]> = (start..count.min(start + (1 << 16))).map(key).collect();
            filter.insert_batch(&keys)?;
        }
        let hashes = [&present, &absent].map(|keys| keys.iter().map(|k| filter.hash(k)).collect::<Vec<_>>());
        let raw = hashes.each_ref().map(|hashes| hashes.iter().map(|h| h.to_raw()).collect::<Vec<_>>());
        let bits = filter.geometry().bit_len;
        for (what, mode) in [("insert", Mode::Build), ("present", Mode::Present), ("absent", Mode::Single)] {
            let which = usize::from(what == "absent");
            let (keys, hashes, raw) = ([&present, &absent][which], &hashes[which], &raw[which]);
            let mut round = |who: usize| -> Result<(f64, u64), Box<dyn Error>> {
                if who == 0 {
                    return jvm.ask(what);
                }
                let mut counted = 0;
                let seconds = harness::time(1, || {
                    counted = black_box(match (what, who, options.hashed) {
                        ("insert", 1, false) => keys.iter().map(|k| u64::from(filter.insert(k))).sum(),
                        ("insert", 1, true) => {
                            let mut insert = |h: &_| filter.insert_hash(*h).expect("its own hash");
                            hashes.iter().map(|h| u64::from(insert(h))).sum()
                        }
                        ("insert", _, false) => {
                            filter.insert_batch(keys).expect("the keys fit");
                            0
                        }
                        ("insert", _, true) => {
                            let batch = Hashes::new(raw, filter.dialect().hasher());
                            filter.insert_batch(&batch).expect("its own hashes");
                            0
                        }
                        (_, 1, false) => keys.iter().map(|k| u64::from(filter.may_contain(k))).sum(),
                        (_, 1, true) => hashes.iter().map(|h| u64::from(filter.may_contain_hash(*h))).sum(),
                        (_, _, hashed) => {
                            let answers = match hashed {
                                true => {
                                    filter.may_contain_batch(&Hashes::new(raw, filter.dialect().hasher()))
                                }
                                false => filter.may_contain_batch(keys),
                            };
                            let answers = answers.expect("the keys fit");
                            answers.iter().map(|answer| u64::from(*answer)).sum()
                        }
                    });
                });
                Ok((seconds, counted))
            };
            let mut speeds = [const { Vec::new() }; 3];
            for number in 0..options.rounds + WARM_UP {
                let mut counts = Vec::new();
                for (who, speeds) in speeds.iter_mut().enumerate() {
                    let (seconds, counted) = round(who)?;
                    counts.push(counted);
                    if number >= WARM_UP {
                        speeds.push(asked as f64 / seconds / 1e6);
                    }
                }
                if counts.iter().any(|count| *count != counts[0]) {
                    return Err(format!("{what}: different answers: {counts:?}").into());
                }
            }
            let size = Size {
                bytes: bits / 8,
                members: count,
                bits_per_key: bits as f64 / count as f64,
                fpr: RATE,
                by_rate: true,
            };
            let names = [ORIGINAL, "fullbloom, one by one", "fullbloom, batch"];
            let row = |(name, speeds)| Row::new(command, name, "u64", size, mode, speeds);
            let race: Vec<Row> = names.into_iter().zip(speeds).map(row).collect();
            harness::print(&race, ORIGINAL);
            rows.extend(race);
        }
    }
    match &options.json {
        Some(path) => harness::save(&rows, path),
        None => Ok(()),
    }
}

/// The other process.
struct Partner {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Partner {
    fn start(java: &[String]) -> Result<Partner, Box<dyn Error>> {
        let (program, args) = java.split_first().ok_or("no program for the JVM's side")?;
        let mut child = Process::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{program}: {e}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Ok(Partner { child, input, output: BufReader::new(output.ok_or("no pipe to the JVM")?) })
    }

    /// One round: CPU seconds, and what was counted.
    fn ask(&mut self, what: &str) -> Result<(f64, u64), Box<dyn Error>> {
        writeln!(self.input.as_mut().ok_or("no pipe to the JVM")?, "{what}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let (nanos, counted) =
            line.trim().split_once(' ').ok_or_else(|| format!("{what}: the JVM said {line:?}"))?;
        Ok((nanos.parse::<f64>()? * 1e-9, counted.parse()?))
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        self.input = None; // the end of its input ends it
        let _ = self.child.wait();
    }
}
