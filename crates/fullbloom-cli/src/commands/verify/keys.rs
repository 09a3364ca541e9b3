//! A filter file asked for keys that the caller has.

use super::{Args, Found};
use crate::error::Failure;
use crate::input::{FilterFile, KeyFormat, Keys, Opened};
use crate::progress::Progress;
use crate::text;
use fullbloom::any::{self, AnyGrowing};
use fullbloom::dialect::Name;
use fullbloom::rocksdb::{Builder, Kind, Policy};
use fullbloom::typed::{KeyType, Value};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;

/// What every made-up key begins with that is not a number; it is text, because some dialects take nothing else.
const MARK: &[u8] = b"fullbloom absent ";

/// What asking has shown.
#[derive(Default)]
struct Asked {
    keys: u64,
    missing: u64,
    first_missing: Option<Vec<u8>>,
    absent: u64,
    passed: u64,
    rebuilt_identical: Option<bool>,
}

/// Asks a filter file for all the keys, or only looks at it where none are given.
pub fn found(path: &Path, args: &Args) -> Result<Found, Failure> {
    let geometry = args.geometry.geometry();
    let file = FilterFile::load(path, args.dialect, geometry)?.with_secret(args.secret.read()?);
    let file = file.with_key_type(args.types.key_type);
    let opened = file.open()?;
    if args.keys.is_empty() {
        return Ok(tell(path, &file, &opened, None));
    }
    if opened.is_locked {
        return Err(Failure::locked(path));
    }
    let asked = ask(&file, &opened, args)?;
    Ok(tell(path, &file, &opened, Some(&asked)))
}

fn ask(file: &FilterFile, opened: &Opened<'_>, args: &Args) -> Result<Asked, Failure> {
    let mut asked = Asked::default();
    let sound = &file.bytes()[..opened.bytes as usize];
    // Made anew in the same shape; a filter that is solved for all its keys at once, when all are there.
    let copy = || -> Option<Box<dyn AnyGrowing>> {
        match opened.filter.dialect() {
            // With the secret, which the bytes alone do not have.
            Name::Native => Some(Box::new(file.native().ok()?.into_filter().ok()?.to_owned().ok()?)),
            dialect => any::decode(dialect, sound, args.geometry.geometry()).ok().flatten(),
        }
    };
    let mut anew = copy();
    if let Some(anew) = &mut anew {
        anew.clear();
    }
    let mut solved = (opened.filter.dialect() == Name::RocksDbRibbon).then(ribbon).flatten();
    let format = KeyFormat { end: if args.null { 0 } else { b'\n' }, hex: args.hex, typed: None };
    let mut keys = Keys::new(&args.keys, args.types.apply(format, file.dialect())?)?;
    let is_number = args.types.key_type.is_number();
    let made_up = |number| made_up(args.types.key_type, file.dialect(), number);
    // Of made-up keys, those that the caller has are not absent. Texts among them are known by their mark and kept; any number
    // may be one, so they are asked first, and what passed is kept until the caller's keys are known.
    let mut not_absent = HashSet::new();
    let mut passed: HashMap<Vec<u8>, u64> = HashMap::new();
    if is_number {
        for key in (0..args.absent).map(made_up) {
            asked.absent += 1;
            if opened.filter.may_contain(&key) {
                *passed.entry(key).or_default() += 1;
            }
        }
    }
    let progress = Progress::new("asking for keys", keys.total());
    let mut answers = Vec::new();
    keys.for_each_batch(&progress, |batch| {
        answers.resize(batch.keys.len(), false);
        opened.filter.may_contain_batch(batch.keys, &mut answers);
        asked.keys += batch.keys.len() as u64;
        for (key, _) in batch.keys.iter().zip(&answers).filter(|(_, answer)| !**answer) {
            asked.missing += 1;
            asked.first_missing.get_or_insert_with(|| key.to_vec());
        }
        if is_number {
            asked.absent -= batch.keys.iter().filter_map(|key| passed.remove(*key)).sum::<u64>();
        } else {
            let marked = batch.keys.iter().filter(|key| key.starts_with(MARK));
            not_absent.extend(marked.map(|key| key.to_vec()));
        }
        match &mut anew {
            Some(anew) if is_number => anew.insert_numbers(batch.keys),
            Some(anew) => anew.insert_batch(batch.keys),
            None => {}
        }
        if let Some(solved) = &mut solved {
            solved.insert_batch(batch.keys);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    asked.passed = passed.values().sum();
    let texts = if is_number { 0 } else { args.absent };
    for key in (0..texts).map(made_up).filter(|key| !not_absent.contains(key)) {
        asked.absent += 1;
        asked.passed += u64::from(opened.filter.may_contain(&key));
    }
    if let (Some(mut anew), Some(old)) = (anew, copy()) {
        // The same bits: as many, and nothing new when the old ones are added.
        let bits = anew.set_bits();
        let merged = anew.merge(&*old);
        asked.rebuilt_identical =
            merged.is_ok().then(|| bits == opened.filter.set_bits() && bits == anew.set_bits());
    }
    if let Some(mut solved) = solved {
        let made = solved.finish_with_len(sound.len() as u64);
        asked.rebuilt_identical = match made.is_ok_and(|made| made.encode() == sound) {
            true => Some(true),
            // The bytes depend on which key came first: others are no sign of damage while no key is missing.
            false => (asked.missing > 0).then_some(false),
        };
    }
    Ok(asked)
}

/// Solves a Ribbon filter anew. Its length is taken from the file; with the most bits for each key, small ones do not become
/// Bloom filters sooner than they did.
fn ribbon() -> Option<Builder> {
    Policy::new(Kind::Ribbon, 100.0).ok().map(Builder::new)
}

/// The bytes of a key that nobody has: a number where keys are numbers, which they are asked for as.
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
    value.key(dialect).map_or(Vec::new(), |key| key.as_ref().to_vec())
}

fn tell(path: &Path, file: &FilterFile, opened: &Opened<'_>, asked: Option<&Asked>) -> Found {
    let dialect = opened.filter.dialect();
    let measured = asked.filter(|a| a.absent > 0).map(|a| a.passed as f64 / a.absent as f64);
    let rebuilt = asked.and_then(|a| a.rebuilt_identical);
    let json = json!({
        "path": path.display().to_string(),
        "dialect": dialect.as_str(),
        "keys": asked.map(|a| a.keys),
        "missing": asked.map(|a| a.missing),
        "absent_asked": asked.map(|a| a.absent),
        "absent_passed": asked.map(|a| a.passed),
        "measured_fpr": measured,
        "rebuilt_identical": rebuilt,
        "first_missing": asked.and_then(|a| a.first_missing.as_deref()).map(text::hex),
        "recognised": file.recognised(),
        "problems": opened.warnings,
    });
    let mut text = format!("{}\n", text::printable(&path.display().to_string()));
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<15} {}", text::printable(&value)); // a String takes everything
    };
    line("dialect", format!("{dialect}, {}", dialect.about()));
    line("recognised", file.recognised().to_owned());
    match asked {
        None => line(
            "read",
            match dialect {
                Name::Native => "whole, and every checksum is right; --keys asks for keys".into(),
                _ => "whole; the format has no checksum: --keys asks for keys".into(),
            },
        ),
        Some(asked) => {
            line("keys", asked.keys.to_string());
            line("missing", asked.missing.to_string());
            if let Some(key) = &asked.first_missing {
                line("first missing", format!("{} (hex)", text::hex(key)));
            }
            if let Some(fpr) = measured {
                line("measured rate", format!("{} of {} absent keys", text::rate(fpr), asked.absent));
            }
            line(
                "rebuilt",
                match rebuilt {
                    Some(true) => "identical".into(),
                    Some(false) => "not identical: other bits than these keys give".into(),
                    None if dialect == Name::RocksDbRibbon => {
                        "not identical: other keys, or these in another order".into()
                    }
                    None => "cannot be made anew in the same shape".into(),
                },
            );
        }
    }
    for warning in &opened.warnings {
        line("problem", warning.clone());
    }
    let missing = asked.map_or(0, |asked| asked.missing);
    Found { json, text, is_well: missing == 0 && rebuilt != Some(false) && opened.warnings.is_empty() }
}
