//! The environment variable that forces a kernel. The choice is made once per process, so each case runs
//! `child` in a separate process.

use fullbloom::kernel::{Kernel, VARIABLE};
use fullbloom_dialects::Filter;
use fullbloom_dialects::RocksDb;
use fullbloom_testkit::process;
use std::process::Output;

/// A process that finds this value in the variable: it queries a filter and prints which kernel it used.
fn with_variable(value: Option<&str>) -> Output {
    process::alone("kernel::child", |child| {
        child.env_remove(VARIABLE).envs(value.map(|value| (VARIABLE, value)));
    })
}

#[test]
#[ignore = "not a test by itself; the others here run it: cargo test -p fullbloom-any --test it kernel::"]
fn child() {
    let keys: Vec<[u8; 8]> = (0..100u64).map(u64::to_le_bytes).collect();
    let mut filter = Filter::<RocksDb>::with_bits_per_key(100, 10.0).unwrap();
    filter.insert_batch(&keys[..50]).unwrap();
    let mut answers = [false; 100];
    filter.may_contain_batch_into(&keys, &mut answers).unwrap();
    assert!(keys.iter().zip(answers).all(|(key, answer)| filter.may_contain(key) == answer));
    assert!(answers[..50].iter().all(|&yes| yes) && answers[50..].iter().any(|&yes| !yes));
    println!("used {}.", Kernel::in_use());
    if let Err(error) = Kernel::forced() {
        println!("refused: {error}");
    }
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn every_available_kernel_can_be_forced() {
    for kernel in Kernel::available() {
        let (out, err) = texts(&with_variable(Some(kernel.name())));
        assert!(out.contains(&format!("used {kernel}.")), "{out}");
        assert!(!err.contains(VARIABLE), "{err}");
    }
}

#[test]
fn without_the_variable_or_with_an_empty_one_the_fastest_kernel_is_used() {
    let fastest = Kernel::available().last().unwrap();
    for value in [None, Some("")] {
        let (out, err) = texts(&with_variable(value));
        assert!(out.contains(&format!("used {fastest}.")), "{out}");
        assert!(!err.contains(VARIABLE), "{err}");
    }
}

/// The library prints nothing; a program that wants to print it uses `Kernel::forced`.
#[test]
fn a_kernel_that_is_not_available_is_reported_to_the_caller_and_the_fastest_is_used() {
    let fastest = Kernel::available().last().unwrap();
    let missing = Kernel::ALL.into_iter().find(|kernel| Kernel::by_name(kernel.name()).is_err()).unwrap();
    for value in [missing.name(), "fastest"] {
        let (out, err) = texts(&with_variable(Some(value)));
        assert!(out.contains(&format!("used {fastest}.")), "{out}");
        let report = out.lines().find(|line| line.starts_with("refused")).expect("a report");
        assert!(report.contains(value) && report.contains(fastest.name()), "{report}");
        assert!(!err.contains(VARIABLE), "{err}");
    }
}
