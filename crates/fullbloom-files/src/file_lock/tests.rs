use super::temporary::prefix;
use super::*;
use crate::file::replace;
use fullbloom_testkit::steps;

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    replace(&path, |out| out.write_all(b"old")).unwrap();
    let failed = replace(&path, |out| {
        out.write_all(&[7; 100_000])?;
        Err(io::Error::other("planted"))
    });
    assert!(failed.unwrap_err().to_string().ends_with("cannot save: planted"));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(dir.path()), ["f"]);
}

#[test]
fn what_a_killed_writer_left_is_removed_and_what_a_live_one_writes_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let (f, g) = (prefix("f".as_ref()), prefix("g".as_ref()));
    let (dead, live, other) = (format!("{f}1-0.tmp"), format!("{f}1-1.tmp"), format!("{g}1-0.tmp"));
    for name in [&dead, &live, &other, ".f.2024-01.tmp"] {
        fs::write(dir.path().join(name), b"half").unwrap();
    }
    let lock = File::open(dir.path().join(&live)).unwrap();
    lock.lock().unwrap();
    replace(&dir.path().join("f"), |out| out.write_all(b"new")).unwrap();
    let left = names(dir.path());
    assert!(!left.contains(&dead), "{left:?}");
    assert!(
        [live, other, ".f.2024-01.tmp".into(), "f".into()].iter().all(|name| left.contains(name)),
        "{left:?}"
    );
}

#[test]
fn savers_of_one_file_never_fail_and_readers_never_see_a_part() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    replace(&path, |out| out.write_all(&[0; 5000])).unwrap();
    std::thread::scope(|threads| {
        for byte in 1..=8u8 {
            let path = &path;
            threads.spawn(move || {
                for _ in 0..40 {
                    replace(path, |out| out.write_all(&[byte; 5000])).unwrap();
                }
            });
        }
        for _ in 0..200 {
            let bytes = fs::read(&path).unwrap();
            assert_eq!(bytes.len(), 5000);
            assert!(bytes.iter().all(|byte| *byte == bytes[0]));
        }
    });
    assert_eq!(names(dir.path()), ["f"]);
}

#[test]
fn first_savers_of_a_new_file_never_fail() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..if steps::all() { 300 } else { 60 } {
        let path = dir.path().join(format!("f{round}"));
        std::thread::scope(|threads| {
            for byte in 1..=3u8 {
                let path = &path;
                threads.spawn(move || replace(path, |out| out.write_all(&[byte])).unwrap());
            }
        });
        assert_eq!(fs::read(&path).unwrap().len(), 1);
    }
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_not_a_lock_file() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join(format!("{}lock", prefix("f".as_ref())));
    std::os::unix::fs::symlink(dir.path().join("nowhere"), &lock).unwrap();
    let refused = replace(&dir.path().join("f"), |out| out.write_all(b"new")).unwrap_err();
    assert!(refused.to_string().ends_with("is not a lock file"), "{refused}");
}

#[test]
fn a_path_with_a_slash_at_the_end_does_not_name_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let refused = replace(&dir.path().join("f/"), |out| out.write_all(b"new")).unwrap_err();
    assert!(refused.to_string().ends_with("the path does not name a file"), "{refused}");
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn the_longest_names_can_be_saved() {
    let dir = tempfile::tempdir().unwrap();
    replace(&dir.path().join("n".repeat(255)), |out| out.write_all(b"new")).unwrap();
}

#[cfg(unix)]
#[test]
fn permissions_and_links_survive_a_replacement() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().unwrap();
    let (path, link) = (dir.path().join("f"), dir.path().join("link"));
    fs::write(&path, b"old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("f", &link).unwrap();
    replace(&link, |out| out.write_all(b"new")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_claim_keeps_others_waiting_and_leaves_nothing_behind() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new");
    let (waited, written) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|threads| {
        let mut lock = FileLock::new(&path).unwrap();
        assert!(!lock.exists() && lock.unlocked().is_none());
        threads.spawn(|| {
            let lock = FileLock::wait(&path, || waited.store(true, Ordering::SeqCst)).unwrap();
            assert!(lock.exists() && written.load(Ordering::SeqCst), "the file of the first is seen");
        });
        while !waited.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        // Twice: the lock is for the file that it has written itself.
        lock.replace(|out| out.write_all(b"first")).unwrap();
        written.store(true, Ordering::SeqCst);
        lock.replace(|out| out.write_all(b"second")).unwrap();
        assert!(lock.exists());
    });
    assert_eq!(fs::read(&path).unwrap(), b"second");
    assert_eq!(names(dir.path()), ["new"]);
}

#[test]
fn a_file_that_was_changed_since_it_was_claimed_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let change: [fn(&Path); 4] = [
        |path| fs::write(path, b"longer than before").unwrap(),
        |path| fs::remove_file(path).unwrap(),
        |path| {
            fs::write(path.with_extension("2"), b"old").unwrap();
            fs::rename(path.with_extension("2"), path).unwrap();
        },
        |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        },
    ];
    for change in change {
        fs::write(&path, b"old").unwrap();
        let mut lock = FileLock::new(&path).unwrap();
        let prepared = lock.prepare(|out| out.write_all(b"new")).unwrap();
        change(&path);
        let refused = prepared.commit().unwrap_err();
        assert!(!refused.is_in_place());
        assert_ne!(fs::read(&path).unwrap_or_default(), b"new");
        let _ = fs::remove_dir(&path);
    }
    fs::remove_file(&path).unwrap_or_default();
    let mut lock = FileLock::new(&path).unwrap();
    fs::write(&path, b"of another program").unwrap();
    assert!(matches!(
        lock.replace(|out| out.write_all(b"new")).unwrap_err().cause(),
        fullbloom_core::error::FileCause::Changed
    ));
    drop(lock);
    assert_eq!(names(dir.path()), ["f"]);
}

#[cfg(unix)]
#[test]
fn a_lock_file_that_is_none_is_refused_and_one_left_over_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let lock = dir.path().join(format!("{}lock", prefix("f".as_ref())));
    fs::write(&lock, b"").unwrap();
    replace(&path, |out| out.write_all(b"new")).unwrap();
    assert_eq!(names(dir.path()), ["f"]);
    fs::write(dir.path().join("elsewhere"), b"").unwrap();
    std::os::unix::fs::symlink("elsewhere", &lock).unwrap();
    let refused = replace(&path, |out| out.write_all(b"newer")).unwrap_err().to_string();
    assert!(refused.contains("not a lock file"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[cfg(unix)]
#[test]
fn private_files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    for name in ["old", "new"] {
        let path = dir.path().join(name);
        if name == "old" {
            fs::write(&path, b"old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        }
        let mut lock = FileLock::new(&path).unwrap();
        lock.make_private();
        lock.replace(|out| out.write_all(b"secret")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
}

/// The link of another user, as somebody could put it into `/tmp`. Only root can make one.
#[cfg(unix)]
#[test]
fn another_users_link_in_a_shared_directory_is_not_followed() {
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
    let (shared, private) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (link, victim) = (shared.path().join("out"), private.path().join("victim"));
    fs::write(&victim, b"precious").unwrap();
    symlink(&victim, &link).unwrap();
    if lchown(&link, Some(12_345), None).is_err() {
        return;
    }
    let mode = |mode| fs::set_permissions(shared.path(), fs::Permissions::from_mode(mode)).unwrap();
    let save = |path: &Path| replace(path, |out| out.write_all(b"new"));
    mode(0o1777);
    let refused = save(&link).unwrap_err().to_string();
    assert!(refused.contains("symbolic link of another user"), "{refused}");
    assert!(crate::replace::restore(&link, || {}).is_err());
    assert_eq!(fs::read(&victim).unwrap(), b"precious");

    // A link that leads to the link is no better.
    let own = private.path().join("own");
    symlink(&link, &own).unwrap();
    assert!(save(&own).is_err());
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    assert_eq!(names(shared.path()), ["out"]);

    // Without the sticky bit the administrator chose to share everything; the directory's owner is trusted.
    mode(0o777);
    save(&link).unwrap();
    mode(0o1777);
    chown(shared.path(), Some(12_345), None).unwrap();
    save(&link).unwrap();
    chown(shared.path(), Some(0), None).unwrap();
    lchown(&link, Some(0), None).unwrap();
    save(&link).unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"new");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[cfg(unix)]
#[test]
fn lock_and_temporary_files_are_for_those_who_may_write_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let in_the_way = || {
        let names = names(dir.path()).into_iter().filter(|name| name.starts_with(".fullbloom-"));
        names.map(|name| mode(&dir.path().join(name))).collect::<Vec<_>>()
    };
    let save = |expected: [u32; 2]| {
        let mut lock = FileLock::new(&path).unwrap();
        lock.replace(|out| {
            assert_eq!(in_the_way(), expected);
            out.write_all(b"new")
        })
        .unwrap();
    };
    save([0o600, 0o600]);
    fs::write(dir.path().join("usual"), b"").unwrap();
    assert_eq!(mode(&path), mode(&dir.path().join("usual")), "a new file has the usual permissions");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    save([0o600, 0o660]); // the temporary file comes first: its name begins with a digit
    assert_eq!(mode(&path), 0o664);
}

#[test]
fn a_claim_alone_removes_what_a_killed_process_left() {
    let dir = tempfile::tempdir().unwrap();
    let f = prefix("f".as_ref());
    for name in [format!("{f}1-0.tmp"), format!("{f}lock")] {
        fs::write(dir.path().join(name), b"").unwrap();
    }
    drop(FileLock::new(&dir.path().join("f")).unwrap());
    assert_eq!(names(dir.path()), [""; 0]);
}
