//! The `rocksdb` dialect beside RocksDB: FastLocalBloom asked key by key and in batches, and built.
//!
//! Two opponents. *RocksDB* is the installed library, whatever CPU it was compiled for; Debian's answers one
//! probe at a time. *RocksDB AVX2* is the algorithm of its AVX2 reader and of its builder, compiled for this
//! CPU (`cpp/fast_local_avx2.cc`): what a RocksDB made with `-march=native` does. Keys are eight bytes.

#[cfg(fast_local)]
mod peers;

use crate::Common;
use crate::harness::{self, Contestant, Row, Setting};
use crate::keys::{self, Mix, Questions};
use crate::limit;
use crate::memory::Region;
use fullbloom::keys::Hashes;
use fullbloom::sizing::{Request, Target};
use fullbloom_dialects::RocksDb;
use fullbloom_dialects::filter::{Dialect, Size};
use fullbloom_dialects::hash::xxph3_rocksdb;
use fullbloom_dialects::rocksdb::{BuildError, Builder, FilterType, FullFilter, Policy};
use fullbloom_dialects::{Filter, View};
use std::error::Error;
use std::hint::black_box;

/// Options of `rocksdb`.
#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    common: Common,
    /// Bits per key.
    #[arg(long, value_name = "BITS", value_delimiter = ',')]
    bits_per_key: Option<Vec<f64>>,
    /// Only these: single, batch, build.
    #[arg(long, value_name = "MODES", value_delimiter = ',')]
    modes: Option<Vec<String>>,
}

/// Keys are eight bytes.
type Key = [u8; 8];

/// The opponent that ratios are given to.
const OPPONENT: &str = "RocksDB AVX2";

/// Bytes after the blocks.
const TRAILER: usize = 5;

/// Runs the comparison.
pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let common = &options.common;
    let quick = common.quick;
    let sizes = common.sizes.clone().unwrap_or_else(|| {
        if quick { vec![256 << 10, 256 << 20] } else { vec![256 << 10, 8 << 20, 256 << 20, 1 << 30] }
    });
    let densities =
        options.bits_per_key.clone().unwrap_or_else(|| if quick { vec![10.0] } else { vec![10.0, 16.0] });
    let rounds = common.rounds.unwrap_or(if quick { 7 } else { 21 });
    let wanted = |mode: &str| options.modes.as_ref().is_none_or(|modes| modes.iter().any(|m| m == mode));
    println!("{}; kernel {}", harness::cpu_name(), fullbloom::kernel::Kernel::in_use());
    println!("{}", opponents());
    println!("{rounds} rounds, interleaved; {} pages", if common.huge_pages { "2 MiB" } else { "4 KiB" });

    let mut rows = Vec::new();
    for &bits_per_key in &densities {
        for &bytes in &sizes {
            let subject = Subject::new(bytes, bits_per_key, common.huge_pages)?;
            subject.check()?;
            for (mode, race) in [("single", Subject::single as fn(&_, _) -> _), ("batch", Subject::batch)] {
                if wanted(mode) {
                    let measured = race(&subject, rounds)?;
                    harness::print(&measured, OPPONENT);
                    rows.extend(measured);
                }
            }
            if wanted("build") {
                let measured = subject.build(rounds)?;
                harness::print(&measured, OPPONENT);
                rows.extend(measured);
            }
        }
    }
    if let Some(path) = &common.json {
        harness::save(&rows, path)?;
    }
    Ok(())
}

fn opponents() -> String {
    #[cfg(librocksdb)]
    return format!(
        "RocksDB {} as installed; its AVX2 algorithm with -O3 -march=native",
        crate::librocksdb::version()
    );
    #[cfg(all(fast_local, not(librocksdb)))]
    return "RocksDB's AVX2 algorithm with -O3 -march=native; RocksDB 7 itself is not installed (librocksdb-dev)"
        .to_owned();
    #[cfg(not(fast_local))]
    return "without RocksDB: no C++ compiler for AVX2".to_owned();
}

/// A filter of one size, and what it is asked.
struct Subject {
    /// Blocks and trailer: read by all contestants where they are.
    content: Region,
    dialect: RocksDb,
    members: u64,
    bits_per_key: f64,
    questions: Questions<Key>,
    hashes: Vec<u64>,
    fpr: f64,
}

impl Subject {
    fn new(bytes: u64, bits_per_key: f64, huge_pages: bool) -> Result<Subject, Box<dyn Error>> {
        let members = (bytes as f64 * 8.0 / bits_per_key) as u64;
        let sized = Request { expected_keys: members, target: Target::BitsPerKey(bits_per_key) };
        let probes = RocksDb::size(&sized)?.geometry().probes;
        let exact = Request { expected_keys: members, target: Target::Exact { bit_len: bytes * 8, probes } };
        let dialect = RocksDb::size(&exact)?;
        let mut content = Region::zeroed(bytes as usize + TRAILER, huge_pages)?;
        let (data, trailer) = content.split_at_mut(bytes as usize);
        let mut some = Vec::new();
        for start in (0..members).step_by(1 << 16) {
            some.clear();
            some.extend((start..members.min(start + (1 << 16))).map(keys::member::<Key>));
            Filter::from_parts(dialect, &mut *data)?.insert_batch(&some)?;
        }
        trailer.copy_from_slice(&[0xff, 0, probes as u8, 0, 0]);
        let questions = Questions::<Key>::new(bytes, members, Mix::Half);
        let hashes = questions.keys.iter().map(|key| xxph3_rocksdb(key)).collect();
        let mut subject = Subject { content, dialect, members, bits_per_key, questions, hashes, fpr: 0.0 };
        subject.fpr = subject.measured_fpr();
        Ok(subject)
    }

    fn view(&self) -> View<'_, RocksDb> {
        Filter::<RocksDb>::view(&self.content).expect("a sound filter")
    }

    fn lines(&self) -> &[[u8; 64]] {
        self.content[..self.content.len() - TRAILER].as_chunks().0
    }

    fn measured_fpr(&self) -> f64 {
        let strangers: Vec<Key> = (0..1 << 20).map(keys::stranger).collect();
        let answers = self.view().may_contain_batch(&strangers).expect("the keys fit");
        answers.iter().filter(|&&yes| yes).count() as f64 / answers.len() as f64
    }

    fn setting(&self, mode: &'static str) -> Setting {
        let bytes = (self.content.len() - TRAILER) as u64;
        Setting { keys: "u64", bytes, bits_per_key: self.bits_per_key, mode }
    }

    /// All contestants must give the same answers before any is timed.
    fn check(&self) -> Result<(), Box<dyn Error>> {
        let keys = &self.questions.keys[self.questions.at(0)];
        let one_by_one: Vec<bool> = keys.iter().map(|key| self.view().may_contain(key)).collect();
        if self.view().may_contain_batch(keys)? != one_by_one {
            return Err("a batch does not answer as single keys do".into());
        }
        #[cfg(fast_local)]
        peers::check_answers(&self.content, self.dialect, keys, &one_by_one)?;
        Ok(())
    }

    fn single(&self, rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
        let (view, questions) = (self.view(), &self.questions);
        let mut contestants = vec![Contestant::new("fullbloom", move |turn| {
            let found =
                questions.keys[questions.at(turn)].iter().filter(|key| view.may_contain(*key)).count();
            black_box(found);
        })];
        #[cfg(fast_local)]
        contestants.extend(peers::single(&self.content, self.dialect, questions)?);
        contestants.push(Contestant::new("LIMIT", move |turn| {
            limit::single(self.lines(), &self.hashes[questions.at(turn)], |&hash| hash);
        }));
        Ok(harness::race(
            &self.setting("single"),
            questions.window() as u64,
            rounds,
            Some(self.fpr),
            contestants,
        ))
    }

    fn batch(&self, rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
        let (view, questions) = (self.view(), &self.questions);
        let slices: Vec<&[u8]> = questions.keys.iter().map(|key| &key[..]).collect();
        let answers = || vec![false; questions.window()];
        let mut contestants = Vec::new();
        let (mut out, by) = (answers(), view.clone());
        contestants.push(Contestant::new("fullbloom", move |turn| {
            by.may_contain_batch_into(&questions.keys[questions.at(turn)], &mut out).expect("the keys fit");
            black_box(&out);
        }));
        let (mut out, by, slices) = (answers(), view.clone(), &slices);
        contestants.push(Contestant::new("fullbloom, slices", move |turn| {
            by.may_contain_batch_into(&slices[questions.at(turn)], &mut out).expect("the keys fit");
            black_box(&out);
        }));
        let (mut out, by) = (answers(), view.clone());
        contestants.push(Contestant::new("fullbloom, hashes", move |turn| {
            let batch = Hashes::new(&self.hashes[questions.at(turn)], by.dialect().hasher());
            by.may_contain_batch_into(&batch, &mut out).expect("its own hashes");
            black_box(&out);
        }));
        let mut out = vec![0; questions.window().div_ceil(64)];
        contestants.push(Contestant::new("fullbloom, bitmap", move |turn| {
            view.may_contain_batch_into(&questions.keys[questions.at(turn)], &mut out).expect("the keys fit");
            black_box(&out);
        }));
        #[cfg(fast_local)]
        contestants.extend(peers::batch(&self.content, self.dialect, questions, &self.hashes)?);
        contestants.push(Contestant::new("LIMIT", move |turn| {
            limit::batch(self.lines(), &self.hashes[questions.at(turn)], |&hash| hash);
        }));
        Ok(harness::race(
            &self.setting("batch"),
            questions.window() as u64,
            rounds,
            Some(self.fpr),
            contestants,
        ))
    }

    /// From keys to a filter in memory of its own, which every contestant asks for as it does: page faults
    /// count. Builds of large filters take seconds and gigabytes, so there are fewer of them.
    fn build(&self, rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
        let bytes = self.content.len() - TRAILER;
        let rounds = match bytes {
            0..=0x400_0000 => rounds,
            0x400_0001..=0x2000_0000 => rounds.min(3),
            _ => 1,
        };
        // The same keys again and again in place of more than 2^24: who keeps hashes keeps all of them, and
        // who sets bits goes to another block with each.
        let some: Vec<Key> = (0..self.members.min(1 << 24)).map(keys::member).collect();
        let members = Members { some: &some, count: self.members };
        let policy = Policy::new(FilterType::FastLocal, self.bits_per_key)?;
        let built = ours(policy, members)?.encode();
        let len = built.len() - TRAILER;
        #[cfg(fast_local)]
        peers::check_build(members, self.bits_per_key, self.dialect.geometry().probes, &built)?;
        drop(built);

        let mut contestants = vec![Contestant::new("fullbloom", move |_| {
            black_box(ours(policy, members).expect("it was built before"));
        })];
        let probes = self.dialect.geometry().probes;
        let target = Target::Exact { bit_len: 8 * len as u64, probes };
        let request = Request { expected_keys: members.count, target };
        contestants.push(Contestant::new("fullbloom, size known", move |_| {
            let mut filter = Filter::<RocksDb>::new(&request).expect("it was built before");
            for keys in members.parts() {
                filter.insert_batch(keys).expect("the keys fit");
            }
            black_box(filter);
        }));
        #[cfg(fast_local)]
        contestants.extend(peers::build(members, self.bits_per_key, len, probes));
        let hashes: Vec<u64> = some.iter().map(|key| xxph3_rocksdb(key)).collect();
        let mut touched = Region::zeroed(len, false)?;
        contestants.push(Contestant::new("LIMIT", move |_| {
            for keys in members.parts() {
                limit::build(touched.as_chunks_mut().0, &hashes[..keys.len()], |&hash| hash);
            }
        }));
        Ok(harness::race(&self.setting("build"), members.count, rounds, None, contestants))
    }
}

/// Keys to build from.
#[derive(Clone, Copy)]
struct Members<'a> {
    some: &'a [Key],
    count: u64,
}

impl<'a> Members<'a> {
    /// All of `some`, over and over, until there were `count`.
    fn parts(self) -> impl Iterator<Item = &'a [Key]> {
        let whole = (0..self.count / self.some.len() as u64).map(move |_| self.some);
        let rest = (self.count % self.some.len() as u64) as usize;
        whole.chain(std::iter::once(&self.some[..rest]))
    }
}

/// The filter of these keys, as RocksDB's builder makes it: all hashes are kept, then the bits are set.
fn ours(policy: Policy, members: Members<'_>) -> Result<FullFilter, BuildError> {
    let mut builder = Builder::new(policy);
    for keys in members.parts() {
        builder.add_batch(keys).expect("the keys fit");
    }
    builder.build()
}
