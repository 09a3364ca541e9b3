//! Commands in the middle of a pipe answer what they have been asked before more comes.

use crate::common::{Dir, command, run, wait};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

/// Far longer than an answer takes: reached only by one that waits for the end of its input.
const PATIENCE: Duration = Duration::from_secs(60);

/// Gives keys one by one, the next only after the answer to the one before has come.
fn converse(args: &[&str], keys: &[&str]) {
    let mut command = command(args);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sender, answers) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        BufReader::new(stdout).lines().map_while(Result::ok).for_each(|line| sender.send(line).unwrap());
    });
    for key in keys {
        writeln!(stdin, "{key}").unwrap();
        let answer = answers.recv_timeout(PATIENCE);
        if answer.is_err() {
            child.kill().unwrap();
        }
        assert_eq!(answer.as_deref(), Ok(*key), "{args:?}");
    }
    drop(stdin);
    assert_eq!(wait(&mut child), 0);
    reader.join().unwrap();
}

#[test]
fn unique_saves_its_state_while_no_keys_come() {
    let dir = Dir::new();
    let state = dir.arg("state");
    let mut child = command(&["unique", "--state", &state, "--save-every", "20ms"]).spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    keys.write_all(b"a\nb\n").unwrap();
    keys.flush().unwrap();
    let begun = std::time::Instant::now();
    while !dir.path("state").exists() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the state is not saved");
        std::thread::sleep(Duration::from_millis(5));
    }
    // Both keys came in one block, or the second save is soon to come.
    while run(&["check", "-c", &state], b"a\nb\n").text() != "2\n" {
        assert!(begun.elapsed() < Duration::from_secs(30), "the state is not saved again");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn unique_tells_a_new_key_before_the_next_comes() {
    converse(&["unique"], &["a", "two", "three"]);
    converse(&["unique", "--expected-keys", "100"], &["one", "two", "three"]);
}

#[test]
fn check_answers_a_key_before_the_next_comes() {
    let dir = Dir::new();
    let filter = dir.arg("f.bloom");
    run(&["build", "-o", &filter], b"one\ntwo\n").exits(0);
    converse(&["check", &filter], &["one", "two", "one"]);
}
