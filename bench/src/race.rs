//! One race: all filters of one size are built, checked and queried, in turns.

use crate::contender::{Contender, Contenders};
use crate::harness::{self, Mode, Row, Size};
use crate::keys::{self, Key, Mix, Questions};
use crate::memory;
use fullbloom::sizing::{Request, Sizing, Target};
use std::collections::BTreeSet;
use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;

/// Options of every comparison.
#[derive(clap::Args, Clone, Default)]
pub struct Common {
    /// Measure fewer sizes in fewer rounds, and leave out large filters that are slow to build.
    #[arg(long)]
    pub quick: bool,
    /// Write the rows to this file as a JSON list.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Measure this many rounds (large filters are built in fewer).
    #[arg(long, value_name = "N")]
    pub rounds: Option<usize>,
    /// Measure filters of these sizes, such as 256K,8M,256M,1G.
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = harness::parse_size)]
    pub sizes: Option<Vec<u64>>,
    /// Measure only these modes.
    #[arg(long, value_name = "MODES", value_delimiter = ',')]
    pub modes: Option<Vec<Mode>>,
    /// Measure only filters whose names begin like this, separated by semicolons.
    #[arg(long, value_name = "NAMES", value_delimiter = ';')]
    pub filters: Option<Vec<String>>,
}

/// A command's race: what is measured, and who the ratios are to.
pub struct Race<'a> {
    pub command: &'static str,
    pub options: &'a Common,
    pub modes: &'a [Mode],
    pub base: &'static str,
    /// The answers of all filters must be equal.
    pub same_answers: bool,
}

impl Size {
    /// A filter of this many bytes with this many bits for each key.
    pub fn with_bits(bytes: u64, bits_per_key: f64) -> Result<Size, Box<dyn Error>> {
        if !(1.0..=100.0).contains(&bits_per_key) {
            return Err(format!("--bits-per-key {bits_per_key}: from 1 to 100").into());
        }
        let members = (bytes as f64 * 8.0 / bits_per_key) as u64;
        let request = Request { expected_keys: members, target: Target::BitsPerKey(bits_per_key) };
        Ok(Size { bytes, members, bits_per_key, fpr: Sizing::new(&request)?.expected_fpr, by_rate: false })
    }

    /// The most keys for which a filter of kind fast with this rate has at most this many bytes.
    pub fn with_rate(bytes: u64, fpr: f64) -> Result<Size, Box<dyn Error>> {
        let bits = |members| -> Result<f64, Box<dyn Error>> {
            Ok(Sizing::new(&Request { expected_keys: members, target: Target::Fpr(fpr) })?.bits_per_key())
        };
        let mut members = (bytes as f64 * 8.0 / -fpr.log2()) as u64;
        while bits(members)? * members as f64 > bytes as f64 * 8.0 {
            members -= (members / 200).max(1);
        }
        Ok(Size { bytes, members, bits_per_key: bytes as f64 * 8.0 / members as f64, fpr, by_rate: true })
    }
}

/// Filters above this size are large.
const LARGE: u64 = 64 << 20;

/// Keys that are made at a time while a filter is built.
const CHUNK: u64 = 1 << 22;

/// Absent keys that measure a rate: at 1 % a standard deviation of 0.005 %.
const STRANGERS: u64 = 1 << 22;

impl Race<'_> {
    fn wants(&self, mode: Mode) -> bool {
        self.options.modes.as_ref().is_none_or(|modes| modes.contains(&mode)) && self.modes.contains(&mode)
    }

    /// Rounds of queries take milliseconds where the filter is in a cache.
    fn question_rounds(&self, bytes: u64) -> usize {
        let usual = if bytes <= 16 << 20 { 31 } else { 11 };
        self.options.rounds.unwrap_or(if self.options.quick { usual / 3 } else { usual })
    }

    /// Rounds of building large filters take minutes.
    fn build_rounds(&self, bytes: u64) -> usize {
        let usual: usize = match bytes {
            _ if !self.wants(Mode::Build) && !self.wants(Mode::Remove) => 1,
            0..=0x10_0000 => 21,
            0x10_0001..=0x100_0000 => 5,
            _ => 1,
        };
        let quick = if self.options.quick { usual.div_ceil(3) } else { usual };
        self.options.rounds.map_or(quick, |rounds| rounds.min(usual))
    }

    /// Builds, checks and queries all filters of one size. Why a filter is left out goes to `notes`.
    pub fn run<K: Key>(
        &self,
        size: Size,
        mut contenders: Contenders<K>,
        notes: &mut BTreeSet<String>,
    ) -> Result<Vec<Row>, Box<dyn Error>> {
        contenders.retain(|contender| {
            let named = |names: &Vec<String>| names.iter().any(|name| contender.name().starts_with(name));
            if !self.options.filters.as_ref().is_none_or(named) {
                return false;
            }
            let why = if self.options.quick && size.bytes > LARGE && contender.is_slow() {
                Some("too slow to build for --quick".to_owned())
            } else {
                memory::refused(size.members * contender.scratch())
            };
            if let Some(why) = &why {
                notes.insert(format!("{} at {}: {why}", contender.name(), harness::bytes(size.bytes)));
            }
            why.is_none()
        });
        let (mut built, held) = self.build(size, &mut contenders);
        let rates = self.check(size, &contenders)?;
        let bits: Vec<f64> = contenders
            .iter()
            .zip(held)
            .map(|(contender, held)| {
                let asked = if contender.is_counted() { held } else { size.bytes };
                contender.bytes().unwrap_or(asked) as f64 * 8.0 / size.members as f64
            })
            .collect();
        let mut rows = Vec::new();
        for mode in [Mode::Single, Mode::Present, Mode::Batch] {
            // A filter on several threads differs in building alone.
            if self.wants(mode) {
                built.extend(self.ask::<K>(mode, size, &contenders));
            }
        }
        for mode in [Mode::Build, Mode::Single, Mode::Present, Mode::Batch, Mode::Remove] {
            let race: Vec<Row> = built
                .iter()
                .filter(|(_, row)| row.mode == mode)
                .map(|(at, row)| {
                    let filter = contenders[*at].is_filter();
                    Row { fpr: rates[*at], bits: filter.then_some(bits[*at]), ..row.clone() }
                })
                .collect();
            if self.wants(mode) {
                harness::print(&race, self.base);
                rows.extend(race);
            }
        }
        Ok(rows)
    }

    /// Builds every filter in every round, and keeps those of the last round for queries. Returns also the memory that
    /// each one took in the first round, when it was alone.
    fn build<K: Key>(
        &self,
        size: Size,
        contenders: &mut [Box<dyn Contender<K>>],
    ) -> (Vec<(usize, Row)>, Vec<u64>) {
        let rounds = self.build_rounds(size.bytes);
        let mut speeds = vec![[Vec::new(), Vec::new()]; contenders.len()];
        let (mut scratch, mut taken) = (vec![0.0; contenders.len()], vec![0; contenders.len()]);
        let warm_up = usize::from(rounds > 1);
        // Before the memory of a filter is counted.
        let mut chunk = Vec::with_capacity(size.members.min(CHUNK) as usize);
        for round in 0..rounds + warm_up {
            for (i, contender) in contenders.iter_mut().enumerate() {
                let mut seconds = 0.0;
                let held = memory::held_by(|| seconds = fill(contender.as_mut(), size.members, &mut chunk));
                if round == 0 {
                    taken[i] = held.after;
                }
                scratch[i] = held.peak.saturating_sub(held.after) as f64 / size.members as f64;
                let emptied = if self.wants(Mode::Remove) {
                    empty(contender.as_mut(), size.members, &mut chunk)
                } else {
                    None
                };
                if round >= warm_up {
                    speeds[i][0].push(size.members as f64 / seconds / 1e6);
                    speeds[i][1].extend(emptied.map(|seconds| size.members as f64 / seconds / 1e6));
                }
                if emptied.is_some() && round + 1 == rounds + warm_up {
                    fill(contender.as_mut(), size.members, &mut chunk);
                }
            }
        }
        contenders.iter_mut().for_each(|contender| contender.settle());
        let mut rows = Vec::new();
        for (i, [builds, removals]) in speeds.into_iter().enumerate() {
            let row =
                |mode, speeds| Row::new(self.command, contenders[i].name(), K::NAME, size, mode, speeds);
            rows.push((i, Row { scratch: Some(scratch[i]), ..row(Mode::Build, builds) }));
            if !removals.is_empty() {
                rows.push((i, row(Mode::Remove, removals)));
            }
        }
        (rows, taken)
    }

    /// The measured rates. An error if a filter has lost a key, or answers a batch otherwise than single keys.
    fn check<K: Key>(
        &self,
        size: Size,
        contenders: &[Box<dyn Contender<K>>],
    ) -> Result<Vec<Option<f64>>, Box<dyn Error>> {
        let members: Vec<K> = (0..1 << 16).map(|i| keys::member(keys::mix(i) % size.members)).collect();
        let strangers: Vec<K> = (0..STRANGERS).map(keys::stranger).collect();
        let mut first: Option<Vec<bool>> = None;
        let mut rates = Vec::new();
        for contender in contenders {
            let name = contender.name();
            if !contender.is_filter() {
                rates.push(None);
                continue;
            }
            if contender.count(&members) != members.len() {
                return Err(format!("{name} has lost keys").into());
            }
            let mut answers = vec![false; strangers.len()];
            contender.answer(&strangers, &mut answers);
            let found = answers.iter().filter(|&&yes| yes).count();
            if contender.count(&strangers) != found {
                return Err(format!("{name} answers a batch otherwise than single keys").into());
            }
            rates.push(Some(found as f64 / strangers.len() as f64));
            if self.same_answers && *first.get_or_insert_with(|| answers.clone()) != answers {
                return Err(format!("{name} answers otherwise than {}", contenders[0].name()).into());
            }
        }
        Ok(rates)
    }

    /// Queries all filters in turn.
    fn ask<K: Key>(&self, mode: Mode, size: Size, contenders: &[Box<dyn Contender<K>>]) -> Vec<(usize, Row)> {
        let mix = match mode {
            Mode::Batch => Mix::Half,
            Mode::Present => Mix::Present,
            _ => Mix::Absent,
        };
        let questions = Questions::<K>::new(size.bytes, size.members, mix);
        // A window of a small filter takes less than a tenth of a millisecond, and its first pass brings the
        // filter back into the cache.
        let repeats = if questions.window() <= 1 << 15 { 32 } else { 1 };
        let mut answers = vec![false; questions.window()];
        let rounds = self.question_rounds(size.bytes);
        let warm_up = usize::from(rounds > 1);
        let mut speeds = vec![Vec::new(); contenders.len()];
        let mut turn = 0;
        for round in 0..rounds + warm_up {
            for (contender, speeds) in contenders.iter().zip(&mut speeds) {
                // A filter that is built on several threads is queried like the same filter built on one.
                if contender.threads() > 1 {
                    continue;
                }
                let keys = &questions.keys[questions.at(turn)];
                turn += 1;
                let seconds = harness::time(1, || {
                    for _ in 0..repeats {
                        if mode == Mode::Batch {
                            contender.answer(keys, &mut answers);
                            black_box(&answers);
                        } else {
                            black_box(contender.count(keys));
                        }
                    }
                });
                if round >= warm_up {
                    speeds.push((keys.len() * repeats) as f64 / seconds / 1e6);
                }
            }
        }
        let row = |(i, speeds): (usize, Vec<f64>)| {
            (i, Row::new(self.command, contenders[i].name(), K::NAME, size, mode, speeds))
        };
        speeds.into_iter().enumerate().filter(|(_, speeds)| !speeds.is_empty()).map(row).collect()
    }
}

/// The seconds that building takes. The keys are made outside of the time.
fn fill<K: Key>(contender: &mut dyn Contender<K>, members: u64, chunk: &mut Vec<K>) -> f64 {
    let threads = contender.threads();
    let mut seconds = harness::time(threads, || contender.start());
    for_chunks(members, chunk, |chunk| seconds += harness::time(threads, || contender.insert(chunk)));
    seconds + harness::time(threads, || contender.finish())
}

/// The seconds that removing all keys takes.
fn empty<K: Key>(contender: &mut dyn Contender<K>, members: u64, chunk: &mut Vec<K>) -> Option<f64> {
    let mut seconds = None;
    for_chunks(members, chunk, |chunk| {
        let mut removed = None;
        let this = harness::time(1, || removed = contender.remove(chunk));
        seconds = removed.map(|_| seconds.unwrap_or(0.0) + this);
    });
    seconds
}

fn for_chunks<K: Key>(members: u64, chunk: &mut Vec<K>, mut then: impl FnMut(&[K])) {
    for start in (0..members).step_by(CHUNK as usize) {
        chunk.clear();
        chunk.extend((start..members.min(start + CHUNK)).map(keys::member::<K>));
        then(chunk);
    }
}
