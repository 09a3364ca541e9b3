//! Finds the commit that the command is built from, for `fullbloom --version`.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=FULLBLOOM_COMMIT");
    let commit = env::var("FULLBLOOM_COMMIT").ok().or_else(published).or_else(checked_out);
    if let Some(commit) = commit.filter(|commit| !commit.is_empty()) {
        println!("cargo::rustc-env=FULLBLOOM_COMMIT={commit}");
    }
}

/// In a published archive: the commit that cargo wrote into it.
fn published() -> Option<String> {
    let info = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, after) = info.split_once("\"sha1\": \"")?;
    after.get(..12).map(str::to_owned)
}

/// In a checkout, for optimised builds only: others are made all the time, and need not be made again for
/// every commit.
fn checked_out() -> Option<String> {
    if env::var("PROFILE").ok()? != "release" {
        return None;
    }
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    let head = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&head).exists() {
        println!("cargo::rerun-if-changed={head}");
    }
    git(&["describe", "--always", "--abbrev=12", "--exclude=*", "--dirty"])
}
