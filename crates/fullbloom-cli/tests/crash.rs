//! Saving under bad conditions: killed before every system call, every call failing, many savers at once. The old file or the
//! new one is there, whole, and what a killed process left is gone after the next run.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)] // ptrace

mod common;
mod trace;

use common::{Dir, lines, run};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use trace::Deed;

/// A directory with a filter `f`, and two others that `merge` makes to a new `f`.
struct Scene {
    dir: Dir,
    old: Vec<u8>,
    new: Vec<u8>,
}

impl Scene {
    /// Large enough that the save takes several writes.
    fn new() -> Scene {
        let dir = Dir::new();
        fs::create_dir(dir.path("d")).unwrap();
        for (name, keys) in [("a", "a\n".to_owned()), ("b", lines(50_000)), ("d/f", "old\n".to_owned())] {
            let args = ["build", "-q", "--expected-keys", "200k", "-o", &dir.arg(name)];
            run(&args, keys.as_bytes()).exits(0);
        }
        run(&["merge", "-q", &dir.arg("a"), &dir.arg("b"), "-o", &dir.arg("new")], b"").exits(0);
        let (old, new) = (dir.read("d/f"), dir.read("new"));
        assert!(old != new && new.len() > 200_000);
        Scene { dir, old, new }
    }

    /// The command that replaces the old `f`.
    fn save(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fullbloom"));
        command.args(["merge", "-q", &self.dir.arg("a"), &self.dir.arg("b"), "-o", &self.dir.arg("d/f")]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn path(&self) -> PathBuf {
        self.dir.path("d/f")
    }

    fn restore(&self) {
        fs::write(self.path(), &self.old).unwrap();
    }

    /// Whether the new file is there; else the old one is.
    #[track_caller]
    fn is_new(&self, when: &str) -> bool {
        let now = fs::read(self.path()).unwrap();
        assert!(now == self.old || now == self.new, "{when}: {} bytes of neither file", now.len());
        now == self.new
    }

    /// Files beside `f`.
    fn strays(&self) -> usize {
        common::list(&self.dir.path("d")).len() - 1
    }
}

#[test]
fn killed_before_any_system_call_a_save_leaves_the_old_or_the_new_file_and_the_next_save_clears_up() {
    if !trace::is_allowed() {
        return;
    }
    let scene = Scene::new();
    let whole = trace::run(scene.save(), Deed::Watch, 0);
    assert_eq!(whole.code, Some(0));
    let (mut old, mut new, mut left_behind) = (0, 0, 0);
    for at in 0..whole.calls.len() {
        scene.restore();
        let killed = trace::run(scene.save(), Deed::Kill, at);
        assert_eq!(killed.code, None, "killed before call {at}");
        if scene.is_new(&format!("killed before call {at}")) {
            new += 1;
        } else {
            old += 1;
        }
        if scene.strays() > 0 {
            left_behind += 1;
            run(&["merge", "-q", &scene.dir.arg("a"), "-o", &scene.dir.arg("d/f")], b"").exits(0);
            assert_eq!(scene.strays(), 0, "after the save that followed a kill before call {at}");
        }
    }
    println!(
        "{} calls: old file {old} times, new file {new} times, temporary file left {left_behind} times",
        whole.calls.len()
    );
    assert!(
        old > 20 && new > 0 && left_behind > 3,
        "{old} {new} {left_behind}: the kills reached into the save"
    );
}

#[cfg(target_arch = "x86_64")]
#[test]
fn any_file_call_of_a_save_that_fails_is_an_error_and_leaves_a_whole_file_and_no_other() {
    /// Calls that work on files; memory and threads are not the disk's.
    const FILE_CALLS: [libc::c_long; 14] = [
        libc::SYS_openat,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_fsync,
        libc::SYS_rename,
        libc::SYS_renameat2,
        libc::SYS_fchmod,
        libc::SYS_fchown,
        libc::SYS_flock,
        libc::SYS_statx,
        libc::SYS_fstat,
        libc::SYS_close,
        libc::SYS_copy_file_range,
        libc::SYS_lseek,
    ];
    if !trace::is_allowed() {
        return;
    }
    let scene = Scene::new();
    let calls = trace::run(scene.save(), Deed::Watch, 0).calls;
    let creates = |call: &trace::Call| {
        call.number == libc::SYS_openat && call.third & u64::from(libc::O_CREAT.unsigned_abs()) != 0
    };
    let begin = calls.iter().position(creates).expect("the temporary file is created");
    let points: Vec<usize> =
        (begin..calls.len()).filter(|&at| FILE_CALLS.contains(&calls[at].number)).collect();
    let names = |number| calls[begin..].iter().any(|call| call.number == number);
    assert!(names(libc::SYS_write) && names(libc::SYS_fsync) && names(libc::SYS_rename), "{calls:?}");
    let (mut refused, mut saved) = (0, 0);
    for &at in &points {
        for error in [libc::ENOSPC, libc::EIO, libc::EDQUOT, libc::EINTR] {
            scene.restore();
            let call = calls[at].number;
            let when = format!("call {at} (number {call}) failed with {error}");
            let code = trace::run(scene.save(), Deed::Fail(error), at).code;
            let new = scene.is_new(&when);
            assert_eq!(scene.strays(), 0, "{when}");
            match code {
                Some(0) => {
                    assert!(new, "{when}: said to be saved");
                    saved += 1;
                }
                // The flush of the directory comes after the rename.
                Some(2) => {
                    assert!(!new || call == libc::SYS_fsync, "{when}: said to have failed");
                    refused += 1;
                }
                other => panic!("{when}: ended with {other:?}"),
            }
            if [libc::SYS_write, libc::SYS_fsync].contains(&call) {
                assert_eq!(code, Some(if error == libc::EINTR { 0 } else { 2 }), "{when}");
            }
        }
    }
    println!(
        "{} calls of a save, 4 errors each: {refused} refused, {saved} saved all the same",
        points.len()
    );
    assert!(refused >= 3 * 4 && saved >= 3, "{refused} {saved}");
}

#[test]
fn savers_in_several_processes_leave_one_whole_file_at_every_moment() {
    let scene = Scene::new();
    let (b, f) = (scene.dir.arg("b"), scene.dir.arg("d/f"));
    let b_bytes = scene.dir.read("b");
    std::thread::scope(|scope| {
        let savers: Vec<_> = (0..4)
            .map(|i| {
                let scene = &scene;
                let (b, f) = (&b, &f);
                scope.spawn(move || {
                    for _ in 0..15 {
                        if i % 2 == 0 {
                            assert!(scene.save().status().unwrap().success());
                        } else {
                            run(&["merge", "-q", b, "-o", f], b"").exits(0);
                        }
                    }
                })
            })
            .collect();
        let mut seen = 0;
        while savers.iter().any(|saver| !saver.is_finished()) || seen < 20 {
            let now = fs::read(scene.path()).unwrap();
            assert!([&scene.old, &scene.new, &b_bytes].contains(&&now), "{} bytes of none", now.len());
            fullbloom::native::GuardedFilter::decode(&now).unwrap();
            seen += 1;
        }
    });
    assert_eq!(scene.strays(), 0);
}

#[test]
fn a_mapped_filter_answers_as_before_while_its_file_is_replaced() {
    let scene = Scene::new();
    let mapped = fullbloom::native::GuardedFilter::open(scene.path()).unwrap();
    for _ in 0..20 {
        assert!(scene.save().status().unwrap().success());
        assert!(mapped.may_contain(b"old") && !mapped.may_contain(b"key17"));
        mapped.verify().unwrap();
        scene.restore_by_rename();
    }
}

impl Scene {
    /// As another saver would: the file is not written to in place.
    fn restore_by_rename(&self) {
        let beside = self.dir.path("restored");
        fs::write(&beside, &self.old).unwrap();
        fs::rename(beside, self.path()).unwrap();
    }
}
