//! Prints random filters of a dialect, for the real programs to build and read beside us.
//!
//! ```text
//! cargo run --release -p fullbloom-any --example random_filters -- DIALECT COUNT [SEED]
//! cargo run --release -p fullbloom-any --example random_filters -- DIALECT damaged [SEED]
//! ```
//!
//! One line for each filter, parts separated by tabs: `fpr` or `bits`; its value; expected keys; bits;
//! probes; keys; other keys; the filter; our answers to the other keys as zeros and ones. Lists of keys are
//! hex with a comma behind each key. Of damaged files: the kind of damage; the file; `accepted` or the reason
//! why our strict reader refuses it.

use fullbloom::sizing::{Request, Target};
use fullbloom_any::{AnyFilter, Builder};
use fullbloom_dialects::Name;
use fullbloom_testkit::keys::SplitMix;
use fullbloom_testkit::to_hex;
use std::error::Error;
use std::io::{self, Write};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [dialect, count, rest @ ..] = &args[..] else {
        return Err("usage: random_filters DIALECT (COUNT | damaged) [SEED]".into());
    };
    let dialect: Name = dialect.parse()?;
    let mut random = SplitMix::new(rest.first().map_or(Ok(1), |seed| seed.parse())?);
    let mut out = io::BufWriter::new(io::stdout().lock());
    if count == "damaged" {
        damaged(dialect, &mut random, &mut out)?;
    } else {
        for _ in 0..count.parse::<u64>()? {
            let case = Case::random(dialect, &mut random)?;
            writeln!(out, "{}", case.line()?)?;
        }
    }
    Ok(out.flush()?)
}

struct Case {
    request: Request,
    keys: Vec<Vec<u8>>,
    others: Vec<Vec<u8>>,
    filter: AnyFilter,
}

impl Case {
    fn random(dialect: Name, random: &mut SplitMix) -> Result<Case, Box<dyn Error>> {
        let text = matches!(dialect, Name::JavaLsm | Name::Cassandra0);
        let count = [1, 30, 400, 3000][random.below(4) as usize];
        let count = random.below(count);
        let keys: Vec<_> = (0..count).map(|_| key(text, random)).collect();
        let others = (0..40).map(|_| key(text, random)).collect();
        let least = if dialect == Name::Libbloom || dialect == Name::Libbloom1 { 1000 } else { 1 };
        // Fewer and more keys come than were expected.
        let expected_keys = (count * (50 + random.below(150)) / 100).max(least);
        let target = if random.below(3) == 0
            && matches!(dialect, Name::Cassandra | Name::Cassandra3 | Name::Cassandra2)
        {
            Target::BitsPerKey((1 + random.below(20)) as f64)
        } else {
            // From a half down to one in 12,000, evenly by magnitude: Cassandra's table ends a little below.
            Target::Fpr(0.5 * 10f64.powf(-(random.below(3800) as f64) / 1000.0))
        };
        let request = Request { expected_keys, target };
        let mut builder = Builder::new(dialect, &request)?;
        keys.iter().for_each(|key| builder.add(key));
        Ok(Case { request, keys, others, filter: builder.build()? })
    }

    fn bytes(&self) -> Vec<u8> {
        self.filter.encode()
    }

    fn line(&self) -> Result<String, Box<dyn Error>> {
        let target = match self.request.target {
            Target::Fpr(fpr) => format!("fpr\t{fpr:?}"),
            Target::BitsPerKey(bits) => format!("bits\t{bits}"),
            _ => return Err("no such target is made here".into()),
        };
        let list = |keys: &[Vec<u8>]| -> String { keys.iter().map(|key| to_hex(key) + ",").collect() };
        let answers: String =
            self.others.iter().map(|key| if self.filter.may_contain(key) { '1' } else { '0' }).collect();
        let geometry = self.filter.geometry();
        Ok(format!(
            "{target}\t{}\t{}\t{}\t{}\t{}\t{}\t{answers}",
            self.request.expected_keys,
            geometry.bit_len,
            geometry.probes,
            list(&self.keys),
            list(&self.others),
            to_hex(&self.bytes()),
        ))
    }
}

/// Any bytes, short ones often; or text of one to four bytes per character.
fn key(text: bool, random: &mut SplitMix) -> Vec<u8> {
    let longest = [3, 20, 60][random.below(3) as usize];
    let len = random.below(longest) as usize;
    if !text {
        return random.bytes(len);
    }
    let characters = (0..len).map(|_| match random.below(8) {
        0 => char::from_u32(0x80 + random.below(0xd000) as u32).unwrap_or('?'),
        1 => char::from_u32(0x1_0000 + random.below(0x10_0000) as u32).unwrap_or('?'),
        _ => char::from(b' ' + random.below(95) as u8),
    });
    characters.collect::<String>().into_bytes()
}

/// Files that are not what the system writes, each kind of damage on several filters.
fn damaged(dialect: Name, random: &mut SplitMix, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    for _ in 0..20 {
        let case = Case::random(dialect, random)?;
        let whole = case.bytes();
        let mut say = |damage: &str, bytes: &[u8]| {
            let verdict = match AnyFilter::decode(bytes, &dialect.into()) {
                Ok(_) => "accepted".to_owned(),
                Err(why) => why.to_string(),
            };
            writeln!(out, "{damage}\t{}\t{verdict}", to_hex(bytes))
        };
        let with = |at: usize, field: &[u8]| {
            let mut bytes = whole.clone();
            bytes[at..at + field.len()].copy_from_slice(field);
            bytes
        };
        say("none", &whole)?;
        say("empty file", &[])?;
        say("half of the header", &whole[..4])?;
        say("header alone", &whole[..8])?;
        say("last byte missing", &whole[..whole.len() - 1])?;
        say("last word missing", &whole[..whole.len() - 8])?;
        say("a byte behind the end", &[&whole[..], &[0]].concat())?;
        say("hash count 0", &with(0, &[0; 4]))?;
        say("hash count -1", &with(0, &[0xff; 4]))?;
        say("hash count 2^31 - 1", &with(0, &[0x7f, 0xff, 0xff, 0xff]))?;
        say("word count 0", &with(4, &[0; 4]))?;
        say("word count -1", &with(4, &[0xff; 4]))?;
        let words = u32::from_be_bytes([whole[4], whole[5], whole[6], whole[7]]);
        say("word count one more", &with(4, &(words + 1).to_be_bytes()))?;
        say("word count one less", &with(4, &(words - 1).to_be_bytes()))?;
    }
    Ok(())
}
