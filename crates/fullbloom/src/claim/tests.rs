use super::temporary::prefix;
use super::*;
use crate::file::replace;

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
