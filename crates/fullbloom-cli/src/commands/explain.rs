//! `fullbloom explain`: the glossary, and one lookup step by step.
//!
//! `explain/glossary.md` is docs/glossary.md, word for word: a test compares them.

use crate::error::{Failure, Status};
use crate::output::{self, Output};
use crate::text;
use fullbloom::Filter;
use std::fmt::Write as _;

/// Explain the words of this command, or one lookup step by step
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom explain
  fullbloom explain rate
  fullbloom explain --lookup user:17
  fullbloom explain --lookup user:154")]
pub struct Args {
    /// Explain one word
    #[arg(value_name = "WORD", conflicts_with = "lookup")]
    word: Vec<String>,

    /// Look up this key in a filter of user:1 to user:50, and show each step
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    lookup: Option<String>,
}

const GLOSSARY: &str = include_str!("explain/glossary.md");

/// Prints the glossary, one entry, or one lookup.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let page = match (args.word.as_slice(), &args.lookup) {
        (_, Some(key)) => lookup(key)?,
        ([], None) => entries().map(|(word, text)| shown(word, text)).collect(),
        (words, None) => entry(&words.join(" "))?,
    };
    let mut out = Output::stdout();
    out.bytes(page.as_bytes())?;
    out.finish()?;
    Ok(Status::Yes)
}

/// The words and their explanations.
fn entries() -> impl Iterator<Item = (&'static str, &'static str)> {
    GLOSSARY.split("\n## ").skip(1).filter_map(|entry| entry.split_once('\n'))
}

/// The entry of a word, or those whose text has it: `fpr` is not an entry, but is explained under rate.
fn entry(word: &str) -> Result<String, Failure> {
    let wanted = word.to_lowercase();
    let is_word = |c: char| c.is_alphanumeric() || c == '-';
    let mentions =
        |text: &str| format!(" {text} ").replace(|c| !is_word(c), " ").contains(&format!(" {wanted} "));
    let found = entries().find(|(word, _)| *word == wanted);
    let page: String = match found {
        Some((word, text)) => shown(word, text),
        None => {
            entries().filter(|(_, text)| mentions(&text.to_lowercase())).map(|(w, t)| shown(w, t)).collect()
        }
    };
    if page.is_empty() {
        let words: Vec<&str> = entries().map(|(word, _)| word).collect();
        return Err(Failure::new(word, "not in the glossary").hint(format!("it has {}", words.join(", "))));
    }
    Ok(page)
}

/// A word, and its explanation indented below it.
fn shown(word: &str, text: &str) -> String {
    const INDENT: &str = "    ";
    let width = output::width().unwrap_or(100).clamp(30, 100);
    let (mut page, mut line) = (format!("{word}\n"), String::new());
    for part in text.replace('`', "").split_whitespace() {
        if !line.is_empty() && INDENT.len() + line.chars().count() + 1 + part.chars().count() > width {
            let _ = writeln!(page, "{INDENT}{line}");
            line.clear();
        }
        line += if line.is_empty() { "" } else { " " };
        line += part;
    }
    let _ = writeln!(page, "{INDENT}{line}");
    page
}

/// Keys in the filter of the example: at 10 bits for each, as many as one cache line holds.
const KEYS: u64 = 50;

/// Bits in a row of the drawing.
const ROW: u64 = 32;

/// Each step of one lookup, as the library does it.
fn lookup(key: &str) -> Result<String, Failure> {
    let failed = |e: fullbloom::SizeError| Failure::new("the example", e);
    let mut filter = Filter::with_bits_per_key(KEYS, 10.0).map_err(failed)?;
    let keys: Vec<String> = (1..=KEYS).map(|number| format!("user:{number}")).collect();
    keys.iter().for_each(|key| {
        filter.insert(key.as_str());
    });
    let bits = filter.bits().len() * 8;
    let is_set = |bit: u64| filter.bits()[bit as usize / 8] >> (bit % 8) & 1 == 1;
    let probes = filter.probes_of(key).unwrap_or_default();
    let mut page = format!(
        "The filter holds {KEYS} keys, user:1 to user:{KEYS}, in one line of {bits} bits.\n\
         {} of them are 1: fill {}. # is a 1, . a 0; the bits of the key are in brackets.\n\n",
        (0..bits as u64).filter(|&bit| is_set(bit)).count(),
        text::rate(filter.fill())
    );
    for row in 0..bits as u64 / ROW {
        let _ = write!(page, "  {:>4} ", row * ROW);
        let mut closes = false;
        for bit in row * ROW..(row + 1) * ROW {
            let is_probe = probes.contains(&bit);
            page.push(match (closes, is_probe) {
                (true, true) => '|',
                (true, false) => ']',
                (false, true) => '[',
                (false, false) => ' ',
            });
            page.push(if is_set(bit) { '#' } else { '.' });
            closes = is_probe;
        }
        page += if closes { "]\n" } else { "\n" };
    }
    let shown = text::printable(key);
    let _ = writeln!(page, "\n1. hash    {shown} becomes the number 0x{:016x}", filter.hash(key).to_raw());
    let _ = writeln!(
        page,
        "2. probes  the number chooses {} bits, the same ones in every filter of this size and seed:",
        probes.len()
    );
    for &probe in &probes {
        let _ = writeln!(page, "             bit {probe:>3} is {}", u8::from(is_set(probe)));
    }
    let is_inserted = keys.iter().any(|inserted| inserted == key);
    let answer = match (filter.may_contain(key), is_inserted) {
        (true, true) => "maybe: all of its bits are 1, as they are for every inserted key",
        (true, false) => {
            "maybe, and that is wrong: other keys have set all of its bits. This is a false positive"
        }
        (false, _) => "surely not: an inserted key has set all of its bits, and one of these is 0",
    };
    let _ = writeln!(page, "3. answer  {answer}");
    let absent = 1_000;
    let wrong =
        (KEYS + 1..=KEYS + absent).filter(|number| filter.may_contain(format!("user:{number}"))).count();
    let _ = writeln!(
        page,
        "\nOf user:{} to user:{}, which were never inserted, {wrong} get the answer maybe.\n\
         The rate that the filter expects of its bits is {}.",
        KEYS + 1,
        KEYS + absent,
        text::rate(filter.expected_fpr())
    );
    Ok(page)
}
