//! Writing under bad conditions: every command that writes a file, killed before every system call, with
//! calls that fail or do half their work, at the limit of a file's size, several at once, and with readers
//! who have the old file mapped. Each file is the old or the new one, whole; an error is one message and exit
//! code 2; what a killed process left is gone after the next run.
//!
//! With `FULLBLOOM_TESTS=all` every call is taken. Otherwise these are: every call that changes files, and
//! one of [`FEW`] others.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)] // ptrace, setrlimit

mod journal;
mod scenes;
mod scylla;
mod trace;

use crate::common;
use fullbloom::storage::Mapped;
use fullbloom_testkit::steps::{self, Steps};
use scenes::{SCENARIOS, Scene};
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, thread};
use trace::{Call, Deed};

/// The first call that is the command's own, where calls can be looked at: what comes before is the loader's
/// and the runtime's. It is the first thing that `main` does.
fn main_begins(calls: &[Call]) -> usize {
    let own = |call: &Call| call.number == libc::SYS_rt_sigaction && call.first == libc::SIGXFSZ as u64;
    calls.iter().position(own).unwrap_or(0)
}

/// One of this many calls that change no file is taken, unless all are.
const FEW: u64 = 16;

/// The calls before which a command is killed.
fn kill_points(calls: &[Call], steps: Steps) -> Vec<usize> {
    let begin = main_begins(calls);
    let taken = |at: &usize| match *at < begin {
        // The loader has nothing to break: a few points of it are enough.
        true => at.is_multiple_of(16) && steps.takes(*at as u64 / 16),
        false => calls[*at].changes_files() || steps.takes(*at as u64),
    };
    (0..calls.len()).filter(taken).collect()
}

#[test]
fn killed_before_any_system_call_every_command_leaves_whole_files_and_the_next_run_clears_up() {
    if !trace::is_allowed() {
        return;
    }
    let steps = Steps::every(FEW);
    let (mut points, mut finished, mut left_behind) = (0, 0, 0);
    for scenario in &SCENARIOS {
        let scene = Scene::new(scenario);
        let whole = trace::run(scene.command(), Deed::Watch, |_| false);
        assert_eq!(whole.code, Some(0), "{}", scenario.name);
        for at in kill_points(&whole.calls, steps) {
            scene.restore();
            let killed = trace::run(scene.command(), Deed::Kill, trace::again(&whole.calls, at));
            let when = format!("killed before call {at}");
            let new = scene.is_new(&when);
            points += 1;
            finished += u64::from(new);
            // Threads meet in another order each time, so a run may have had fewer calls.
            assert!(killed.code.is_none() || (killed.code == Some(0) && new), "{}: {when}", scenario.name);
            if scene.strays() > 0 {
                left_behind += 1;
                let again = scene.command().status().unwrap();
                // A command that ended before only its lock file was left has done all: unique then finds
                // nothing new.
                let nothing_new = new && again.code() == Some(1) && scene.said().is_empty();
                assert!(
                    again.success() || nothing_new,
                    "{}: the run after one {when}: {}",
                    scenario.name,
                    scene.said()
                );
                assert_eq!(scene.strays(), 0, "{}: after the run after one {when}", scenario.name);
                assert!(scene.is_new(&when), "{}: after the run after one {when}", scenario.name);
            }
        }
    }
    println!("{points} kills: all done {finished} times, temporary files left {left_behind} times");
    let enough = points > steps.least(1000, 150) && finished > steps.least(50, 12) && left_behind > 100;
    assert!(enough, "{points} {finished} {left_behind}");
}

/// Whether a write after these calls goes to a new file: the last one that was opened is new and only written
/// to. Other writes go to standard output and standard error.
#[cfg(target_arch = "x86_64")]
fn is_to_new_file(before: &[Call]) -> bool {
    const NEW: u64 = (libc::O_CREAT | libc::O_EXCL) as u64;
    let opened = before.iter().rev().find(|call| call.number == libc::SYS_openat);
    opened.is_some_and(|call| {
        call.third & NEW == NEW && call.third & libc::O_ACCMODE as u64 == libc::O_WRONLY as u64
    })
}

/// What can be done to a call: errors of disks where something is written, and of reading elsewhere. Memory
/// and threads are not the disk's.
#[cfg(target_arch = "x86_64")]
fn deeds(call: &Call) -> &'static [Deed] {
    const WRITING: [Deed; 4] =
        [Deed::Fail(libc::ENOSPC), Deed::Fail(libc::EIO), Deed::Fail(libc::EDQUOT), Deed::Fail(libc::EINTR)];
    const WRITING_BYTES: [Deed; 5] = [WRITING[0], WRITING[1], WRITING[2], WRITING[3], Deed::Shorten];
    const READING: [Deed; 2] = [Deed::Fail(libc::EIO), Deed::Fail(libc::EINTR)];
    const LOOKING: [Deed; 1] = [Deed::Fail(libc::EIO)];
    match call.number {
        libc::SYS_write => &WRITING_BYTES,
        libc::SYS_openat if call.third & libc::O_CREAT as u64 != 0 => &WRITING,
        libc::SYS_writev
        | libc::SYS_pwrite64
        | libc::SYS_fsync
        | libc::SYS_fdatasync
        | libc::SYS_ftruncate
        | libc::SYS_rename
        | libc::SYS_renameat
        | libc::SYS_renameat2
        | libc::SYS_link
        | libc::SYS_linkat
        | libc::SYS_mkdir
        | libc::SYS_fchmod
        | libc::SYS_fchown
        | libc::SYS_copy_file_range => &WRITING,
        libc::SYS_openat | libc::SYS_read | libc::SYS_pread64 => &READING,
        libc::SYS_lseek
        | libc::SYS_statx
        | libc::SYS_stat
        | libc::SYS_lstat
        | libc::SYS_fstat
        | libc::SYS_newfstatat
        | libc::SYS_readlink
        | libc::SYS_getdents64
        | libc::SYS_flock
        | libc::SYS_fcntl => &LOOKING,
        // Not `close`: what was written is known from `fsync`, and a directory's cannot fail.
        _ => &[],
    }
}

/// Whether this is done to the call at this index. What changes files gets one of the disk's errors each
/// time, and is always tried with half a write.
#[cfg(target_arch = "x86_64")]
fn is_done(deed: Deed, call: &Call, at: u64, scene: &Scene, steps: Steps) -> bool {
    let disk_errors = [libc::ENOSPC, libc::EIO, libc::EDQUOT];
    let turn = disk_errors[steps.turn(at, 3) as usize];
    steps.takes(at)
        || match (call.changes_files(), deed) {
            (true, Deed::Fail(error)) => error == turn,
            (true, _) => true,
            (false, Deed::Fail(error)) => error == libc::EIO && scene.scenario.all_lookups,
            (false, _) => false,
        }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn any_file_call_that_fails_or_writes_too_little_is_one_error_or_none_and_leaves_whole_files() {
    if !trace::is_allowed() {
        return;
    }
    let steps = Steps::every(FEW);
    let (mut points, mut refused, mut done) = (0, 0, 0);
    for scenario in &SCENARIOS {
        let scene = Scene::new(scenario);
        let calls = trace::run(scene.command(), Deed::Watch, |_| false).calls;
        let begin = main_begins(&calls);
        assert!(begin > 0, "{calls:?}");
        let has = |number| calls[begin..].iter().any(|call| call.number == number);
        assert!(has(libc::SYS_write) && has(libc::SYS_fsync) && has(libc::SYS_rename), "{calls:?}");
        for at in begin..calls.len() {
            let call = calls[at];
            for &deed in deeds(&call).iter().filter(|deed| is_done(**deed, &call, at as u64, &scene, steps)) {
                scene.restore();
                let ended = trace::run(scene.command(), deed, trace::again(&calls, at));
                let said = scene.said();
                let when = format!("{deed:?} at call {call:?}, {:?}: {said:?}", ended.code);
                let new = scene.is_new(&when);
                assert_eq!(scene.strays(), 0, "{}: {when}", scenario.name);
                points += 1;
                let to_output = call.number == libc::SYS_write && !is_to_new_file(&calls[..at]);
                match ended.code {
                    Some(0) => {
                        assert!(new, "{}: {when}: said to be done", scenario.name);
                        assert!(!said.contains("error: "), "{}: {when}", scenario.name);
                        done += 1;
                    }
                    Some(2) => {
                        // The flush of a directory comes after the rename, and so does what is said about it.
                        let in_place = said.contains("power failure");
                        let untold = said.starts_with("error: standard output: ");
                        assert!(!new || in_place || untold || to_output, "{}: {when}", scenario.name);
                        let lines: Vec<&str> =
                            said.lines().filter(|line| !line.starts_with("hint: ")).collect();
                        assert!(
                            matches!(lines[..], [line] if line.starts_with("error: ")) || to_output,
                            "{}: {when}: one message",
                            scenario.name
                        );
                        refused += 1;
                    }
                    _ => panic!("{}: {when}", scenario.name),
                }
                let writes = [libc::SYS_write, libc::SYS_fsync].contains(&call.number) && !to_output;
                if writes {
                    let survives = matches!(deed, Deed::Fail(libc::EINTR) | Deed::Shorten);
                    assert_eq!(ended.code, Some(if survives { 0 } else { 2 }), "{}: {when}", scenario.name);
                }
            }
        }
    }
    println!("{points} calls made to fail: {refused} refused, {done} done all the same");
    let enough =
        points > steps.least(1000, 200) && refused > steps.least(500, 100) && done > steps.least(100, 30);
    assert!(enough, "{points} {refused} {done}");
}

#[test]
fn files_past_the_size_limit_are_one_error_and_nothing_changes() {
    for scenario in &SCENARIOS {
        let scene = Scene::new(scenario);
        let longest = scene.written().map(|(_, bytes)| bytes.len() as u64).max().unwrap();
        for limit in [0, 1, longest / 2, longest - 1, longest] {
            scene.restore();
            let mut command = scene.command();
            command.stderr(Stdio::piped()); // a file would be limited, too
            let set = move || {
                let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
                // SAFETY: the struct outlives the call, which is safe between fork and exec.
                match unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) } {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                }
            };
            // SAFETY: see above.
            unsafe { command.pre_exec(set) };
            let ended = common::finish(command, b"");
            let when = format!("limit {limit} of {longest}: {ended:?}");
            let new = scene.is_new(&when);
            assert_eq!((scene.strays(), new), (0, limit == longest), "{}: {when}", scenario.name);
            if !new {
                let told = ended.err.matches("error: ").count();
                assert_eq!(told, scene.unwritten(), "{}: {when}", scenario.name);
                ended.fails_with("File too large");
            } else {
                ended.exits(0);
            }
        }
    }
}

#[test]
fn commands_in_several_processes_leave_whole_files_at_every_moment() {
    for scenario in &SCENARIOS {
        let scene = Scene::new(scenario);
        let writing = AtomicBool::new(true);
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut looked = 0;
                while writing.load(Ordering::Relaxed) {
                    scene.judge_files(&scene.files(), "read while several write");
                    looked += 1;
                }
                looked
            });
            for round in 0..if steps::all() { 4 } else { 2 } {
                let children: Vec<_> = (0..4).map(|_| scene.command().spawn().unwrap()).collect();
                let codes: Vec<i32> =
                    children.into_iter().map(|mut child| common::wait(&mut child)).collect();
                // Only one of several can make a secret, or a state; one that is known by now has nothing
                // new.
                let allowed: &[i32] = match scenario.name {
                    "unique with a state to be made" => &[0, 1, 2],
                    name if name.starts_with("build --secret") => &[0, 2],
                    _ => &[0, 1],
                };
                assert!(
                    codes.iter().all(|code| allowed.contains(code)) && (codes.contains(&0) || round > 0),
                    "{}: {codes:?}",
                    scenario.name
                );
            }
            writing.store(false, Ordering::Relaxed);
            assert!(reader.join().unwrap() > 0);
        });
        assert!(scene.is_new("after several"), "{}", scenario.name);
        assert_eq!(scene.strays(), 0, "{}", scenario.name);
    }
}

#[test]
fn who_has_an_old_file_mapped_keeps_it_while_it_is_replaced() {
    for scenario in &SCENARIOS {
        let scene = Scene::new(scenario);
        for _ in 0..3 {
            let map = |(name, bytes)| (Mapped::open(&scene.dir.path(&format!("d/{name}"))).unwrap(), bytes);
            let mapped: Vec<_> = scene.old.iter().map(map).collect();
            assert!(scene.command().status().unwrap().success(), "{}", scenario.name);
            assert!(scene.is_new("while mapped"), "{}", scenario.name);
            assert!(mapped.iter().all(|(map, bytes)| map.as_ref() == bytes.as_slice()), "{}", scenario.name);
            scene.restore();
        }
    }
}
