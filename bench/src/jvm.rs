//! The `cassandra` and `guava` dialects beside the originals on a JVM: a second process that takes turns with
//! this one.
//!
//! The JVM does a round for each line it is given and answers with its CPU time (`interop/jvm/Rounds.java`),
//! so rounds are interleaved as everywhere here. Both fill the same filter with the same keys and must count
//! the same answers.

use crate::harness::{self, Row, Setting};
use crate::keys::mix;
use fullbloom::keys::Hashes;
use fullbloom_dialects::Filter;
use fullbloom_dialects::filter::{Insert, Size};
use fullbloom_dialects::{Cassandra, Guava};
use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What to measure.
#[derive(clap::Args)]
pub struct Options {
    /// `cassandra` or `guava`.
    dialect: String,
    /// Keys in the filter.
    #[arg(long, value_delimiter = ',', default_values_t = [218_000, 7_000_000, 220_000_000])]
    keys: Vec<u64>,
    /// Hashes are made before, on both sides.
    #[arg(long)]
    hashed: bool,
    /// Rounds of each measurement.
    #[arg(long, default_value_t = 21)]
    rounds: usize,
    /// Write the rows there, as a JSON list.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The JVM's side: `java -cp … CassandraRounds`.
    #[arg(last = true, required = true)]
    java: Vec<String>,
}

const RATE: f64 = 0.01;
const ORIGINAL: &str = "original on the JVM";
/// Keys inserted or asked in a round, at most.
const ASKED: u64 = 1_000_000;
/// Rounds before the first that counts: by then the JVM has compiled its loops.
const WARM_UP: usize = 15;

/// All sizes.
pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    println!("{}; 8-byte keys, rate {RATE}", harness::cpu_name());
    let rows = match options.dialect.as_str() {
        "cassandra" => measure::<Cassandra>(options)?,
        "guava" => measure::<Guava>(options)?,
        other => return Err(format!("{other}: neither cassandra nor guava").into()),
    };
    match &options.json {
        Some(path) => harness::save(&rows, path),
        None => Ok(()),
    }
}

fn measure<D: Insert + Size>(options: &Options) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    let mut jvm = Jvm::start(&options.java)?;
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
        for (what, mode) in [("insert", "build"), ("present", "single"), ("absent", "single")] {
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
            println!("\n{what}, {count} keys:");
            let bits_per_key = (bits as f64 / count as f64 * 100.0).round() / 100.0;
            let setting = Setting { keys: "u64", bytes: bits / 8, bits_per_key, mode };
            let names = [ORIGINAL, "fullbloom, one by one", "fullbloom, batch"];
            let race: Vec<Row> = names
                .into_iter()
                .zip(speeds)
                .map(|(name, s)| Row::new(name.to_owned(), &setting, s))
                .collect();
            harness::print(&race, ORIGINAL);
            rows.extend(race);
        }
    }
    Ok(rows)
}

/// The other process.
struct Jvm {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Jvm {
    fn start(java: &[String]) -> Result<Jvm, Box<dyn Error>> {
        let (program, args) = java.split_first().ok_or("no program for the JVM's side")?;
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{program}: {e}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Ok(Jvm { child, input, output: BufReader::new(output.ok_or("no pipe to the JVM")?) })
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

impl Drop for Jvm {
    fn drop(&mut self) {
        self.input = None; // the end of its input ends it
        let _ = self.child.wait();
    }
}
