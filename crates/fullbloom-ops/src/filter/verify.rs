//! A filter file looked up for keys that the caller has.

use super::open::Rebuild;
use super::{FilterFile, Opened};
use crate::key_spec::KeyText;
use crate::problem::{Code, Problem};
use crate::report::Found;
use crate::{serialise, text};
use fullbloom::SizeError;
use fullbloom::typed::KeyType;
use fullbloom_any::AnyFilter;
use fullbloom_dialects::Name;
use fullbloom_dialects::typed::Value;
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// The start of every made-up key that is not a number. It is text, because some dialects take only text.
const MARK: &[u8] = b"fullbloom absent ";

/// What `verify` reports about a filter file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifiedFilter {
    /// Where it is.
    pub path: String,
    /// Its dialect.
    #[serde(serialize_with = "serialise::some_name")]
    pub dialect: Option<Name>,
    /// Keys it was looked up for; null without keys.
    pub keys: Option<u64>,
    /// Keys that are not in it.
    pub missing: Option<u64>,
    /// Absent keys it was looked up for.
    pub absent_asked: Option<u64>,
    /// Absent keys that were reported present.
    pub absent_passed: Option<u64>,
    /// The rate measured on them.
    pub measured_fpr: Option<f64>,
    /// Whether a filter of the same shape, made from the keys, has the same bits; null if that cannot be
    /// said.
    pub rebuilt_identical: Option<bool>,
    /// The result of rebuilding it: `identical`, `differs`, `order-dependent` (other keys, or these in
    /// another order, give other bytes) or `impossible` (the dialect cannot be rebuilt in the same shape);
    /// null without keys.
    pub rebuilt: Option<&'static str>,
    /// The first missing key, in hex.
    pub first_missing: Option<String>,
    /// The same key as text; in hex after `0x` if it is not text.
    pub first_missing_text: Option<String>,
    /// Whether every byte is covered by a checksum; all of them are right.
    pub checksums: bool,
    /// How the dialect was detected.
    pub recognised: Option<String>,
}

impl VerifiedFilter {
    /// The record of a filter that could not be decoded.
    fn undecoded(path: String) -> VerifiedFilter {
        VerifiedFilter {
            path,
            dialect: None,
            keys: None,
            missing: None,
            absent_asked: None,
            absent_passed: None,
            measured_fpr: None,
            rebuilt_identical: None,
            rebuilt: None,
            first_missing: None,
            first_missing_text: None,
            checksums: false,
            recognised: None,
        }
    }
}

/// Reads a filter file completely, without keys.
pub(crate) fn verify(file: &FilterFile) -> Result<Found<VerifiedFilter>, Problem> {
    match file.open() {
        Ok(opened) => Ok(found(file, &opened, None)),
        Err(problem) => damaged(file, problem),
    }
}

/// Damage of an sstable's filter is a finding of `verify` and not a failure.
fn damaged(file: &FilterFile, problem: Problem) -> Result<Found<VerifiedFilter>, Problem> {
    match problem.code {
        Code::FilterTruncated | Code::FilterMalformed => {
            let record = VerifiedFilter::undecoded(file.path().display().to_string());
            Ok(Found { record, problems: vec![problem] })
        }
        _ => Err(problem),
    }
}

/// Looks up every key, and `absent` made-up keys, and compares the filter with one made from the keys.
///
/// `keys` brings keys into the form that the filter records, calls back with batches of them, and may fail
/// with the caller's own kind of error.
pub fn verify_keys<E: From<Problem>>(
    file: &FilterFile,
    absent: u64,
    keys: impl FnOnce(&AnyFilter, &mut dyn FnMut(&[&[u8]])) -> Result<(), E>,
) -> Result<Found<VerifiedFilter>, E> {
    let opened = match file.open() {
        Ok(opened) => opened,
        Err(problem) => return Ok(damaged(file, problem)?),
    };
    if opened.is_locked {
        return Err(Problem::locked(file.path()).into());
    }
    let mut lookups = Lookups::new(file, &opened, absent);
    keys(&opened.filter, &mut |batch| lookups.batch(batch))?;
    let asked = lookups.finish().map_err(|e| Problem::at(file.path(), Code::Unreadable, e))?;
    Ok(found(file, &opened, Some(&asked)))
}

/// The results of the lookups.
#[derive(Default)]
struct Asked {
    keys: u64,
    missing: u64,
    first_missing: Option<Vec<u8>>,
    absent: u64,
    passed: u64,
    rebuilt_identical: Option<bool>,
}

struct Lookups<'a> {
    opened: &'a Opened,
    dialect: Name,
    key_type: KeyType,
    wanted: u64,
    asked: Asked,
    rebuild: Rebuild<'a>,
    /// Made-up keys that the caller has, so that they are not absent.
    not_absent: HashSet<Vec<u8>>,
    /// Made-up numbers that were reported present, and how often.
    passed: HashMap<Vec<u8>, u64>,
    answers: Vec<bool>,
}

impl<'a> Lookups<'a> {
    fn new(file: &'a FilterFile, opened: &'a Opened, absent: u64) -> Lookups<'a> {
        let mut lookups = Lookups {
            opened,
            dialect: file.dialect(),
            key_type: opened.filter.key_type(),
            wanted: absent,
            asked: Asked::default(),
            rebuild: Rebuild::new(file, opened),
            not_absent: HashSet::new(),
            passed: HashMap::new(),
            answers: Vec::new(),
        };
        // The caller may have any number, so they are looked up first, and those that pass are kept until the
        // caller's keys are known. Texts are known by their mark, and are looked up last.
        if lookups.key_type.is_number() {
            for key in (0..absent).map(|number| made_up(lookups.key_type, lookups.dialect, number)) {
                lookups.asked.absent += 1;
                if opened.filter.may_contain(&key) {
                    *lookups.passed.entry(key).or_default() += 1;
                }
            }
        }
        lookups
    }

    fn batch(&mut self, keys: &[&[u8]]) {
        let is_number = self.key_type.is_number();
        self.answers.resize(keys.len(), false);
        let asked = self.opened.filter.may_contain_batch_into(keys, &mut self.answers);
        asked.expect("a place for each key");
        self.asked.keys += keys.len() as u64;
        for (key, _) in keys.iter().zip(&self.answers).filter(|(_, answer)| !**answer) {
            self.asked.missing += 1;
            self.asked.first_missing.get_or_insert_with(|| key.to_vec());
        }
        if is_number {
            self.asked.absent -= keys.iter().filter_map(|key| self.passed.remove(*key)).sum::<u64>();
        } else {
            let marked = keys.iter().filter(|key| key.starts_with(MARK));
            self.not_absent.extend(marked.map(|key| key.to_vec()));
        }
        self.rebuild.insert(keys);
    }

    fn finish(mut self) -> Result<Asked, SizeError> {
        self.asked.passed = self.passed.values().sum();
        let texts = if self.key_type.is_number() { 0 } else { self.wanted };
        for key in (0..texts).map(|number| made_up(self.key_type, self.dialect, number)) {
            if !self.not_absent.contains(&key) {
                self.asked.absent += 1;
                self.asked.passed += u64::from(self.opened.filter.may_contain(&key));
            }
        }
        self.asked.rebuilt_identical = self.rebuild.compare(self.opened, self.asked.missing)?;
        Ok(self.asked)
    }
}

/// The bytes of a made-up key: a number where keys are numbers.
fn made_up(key_type: KeyType, dialect: Name, number: u64) -> Vec<u8> {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let value = match key_type {
        KeyType::Int => Value::Int((mixed >> 32) as i32),
        KeyType::Long => Value::Long(mixed as i64),
        KeyType::Float => Value::Float((mixed >> 40) as f32 + 0.5),
        KeyType::Double => Value::Double((mixed >> 12) as f64 + 0.5),
        _ => return [MARK, format!("{mixed:016x}").as_bytes()].concat(),
    };
    // A type that the dialect does not have was refused before.
    dialect.key(value).map_or(Vec::new(), |key| key.as_ref().to_vec())
}

fn found(file: &FilterFile, opened: &Opened, asked: Option<&Asked>) -> Found<VerifiedFilter> {
    let (path, dialect) = (file.path(), opened.filter.dialect());
    let mut problems = opened.problems.clone();
    problems.extend(super::saturated(file, opened, opened.filter.expected_fpr()));
    let missing = asked.map_or(0, |asked| asked.missing);
    if missing > 0 {
        let are = if missing == 1 { "is" } else { "are" };
        let why = format!("{} {are} not in the filter", text::counted(missing, "key"));
        problems.push(Problem::at(path, Code::KeyMissing, why));
    }
    if asked.is_some_and(|asked| asked.rebuilt_identical == Some(false)) {
        problems.push(Problem::at(
            path,
            Code::BytesDiffer,
            "its bits differ from a filter rebuilt from these keys",
        ));
    }
    let record = VerifiedFilter {
        path: path.display().to_string(),
        dialect: Some(dialect),
        keys: asked.map(|a| a.keys),
        missing: asked.map(|a| a.missing),
        absent_asked: asked.map(|a| a.absent),
        absent_passed: asked.map(|a| a.passed),
        measured_fpr: asked.filter(|a| a.absent > 0).map(|a| a.passed as f64 / a.absent as f64),
        rebuilt_identical: asked.and_then(|a| a.rebuilt_identical),
        rebuilt: asked.map(|a| match a.rebuilt_identical {
            Some(true) => "identical",
            Some(false) => "differs",
            None if dialect == Name::RocksDbRibbon => "order-dependent",
            None => "impossible",
        }),
        first_missing: asked.and_then(|a| a.first_missing.as_deref()).map(text::hex),
        first_missing_text: asked
            .and_then(|a| a.first_missing.as_deref())
            .map(|key| KeyText::Bytes.shown(key)),
        checksums: dialect == Name::Native,
        recognised: Some(file.recognised().to_owned()),
    };
    Found { record, problems }
}
