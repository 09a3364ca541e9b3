//! What a person who chooses keys can do to a filter: makes a million keys from one that is known to be in
//! it, and asks three filters of the same 100,000 keys for them.
//!
//! `cargo run --release -p fullbloom-any --example forge`

use fullbloom_dialects::Filter;

use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Request, Target};
use fullbloom::{Hashing, Secret};
use fullbloom_core::hash::fold64;
use fullbloom_dialects::Cassandra;
use fullbloom_dialects::hash::murmur3_cassandra;
use fullbloom_testkit::forge;

const KEYS: u64 = 100_000;
const ASKED: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keys: Vec<String> = (0..KEYS).map(|i| format!("user-{i}")).collect();
    let plan = Sizing::new(&Request { expected_keys: KEYS, target: Target::Fpr(0.01) })?;
    let mut native = fullbloom::Filter::with_sizing(&plan, Hashing::Seed(0))?;
    native.insert_batch(keys.as_slice())?;
    let mut keyed =
        fullbloom::Filter::with_sizing(&plan, Hashing::Secret(Secret::new(*b"not in the file!")))?;
    keyed.insert_batch(keys.as_slice())?;
    let mut cassandra = Filter::<Cassandra>::with_fpr(KEYS, 0.01)?;
    cassandra.insert_batch(&keys)?;

    let known = b"user-17";
    let (by_fold, by_murmur) = (fold64(known, 0), murmur3_cassandra(known));
    println!("{ASKED} absent keys asked, share called present:\n");
    println!("{:<28}{:>12}{:>12}{:>12}", "keys", "cassandra", "native", "keyed");
    let row = |name: &str, key: &dyn Fn(u64) -> [u8; 32]| {
        let mut present = [0u32; 3];
        for number in 0..ASKED {
            let key = key(number);
            present[0] += u32::from(cassandra.may_contain(key));
            present[1] += u32::from(native.may_contain(key));
            present[2] += u32::from(keyed.may_contain(key));
        }
        let [a, b, c] = present.map(|count| format!("{:.3} %", f64::from(count) * 100.0 / ASKED as f64));
        println!("{name:<28}{a:>12}{b:>12}{c:>12}");
    };
    row("of no one's choice", &|number| forge::fold64(!0, fold64(&number.to_le_bytes(), 7), number));
    row("forged for Murmur3", &|number| forge::murmur3(by_murmur, number));
    row("forged for fold64, seed 0", &|number| forge::fold64(0, by_fold, number));
    Ok(())
}
