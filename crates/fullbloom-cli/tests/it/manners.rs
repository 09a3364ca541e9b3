//! Manners: exit codes, closed and full outputs, special files, help, completions, manual pages, colours.

use crate::common::{self, Dir, command, finish, leveldb_filter, lines, run};
use fullbloom_dialects::Name;
use std::path::Path;
use std::process::Stdio;

/// The names of all commands, as the help lists them.
fn commands() -> Vec<String> {
    let help = run(&["--help"], b"").exits(0);
    let list = help.text().split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let names: Vec<String> = list.unwrap().lines().filter_map(name).filter(|name| name != "help").collect();
    assert!(names.len() >= 18 && ["plan", "which", "man"].iter().all(|name| names.iter().any(|n| n == name)));
    names
}

/// The sstables of the examples.
fn sstables() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/cassandra/shop").to_owned()
}

#[test]
fn wrong_usage_is_exit_code_2_with_a_message() {
    for args in [
        &["chek"][..],
        &["check"],
        &["build"],
        &["plan", "--what"],
        &["check", "f", "--dialect", "nosql"],
        &["--hex"],
    ] {
        run(args, b"").fails_with("");
    }
    let none = run::<&str>(&[], b"").exits(2);
    assert!(none.err.contains("Usage: fullbloom"), "{none:?}");
}

#[test]
fn help_of_every_command_is_on_standard_output_with_examples() {
    for name in commands() {
        for option in ["-h", "--help"] {
            let mut narrow = command(&[&name, option]);
            narrow.env("COLUMNS", "80");
            let help = finish(narrow, b"").exits(0);
            assert!(help.err.is_empty());
            assert!(help.text().contains(&format!("Usage: fullbloom {name}")), "{help:?}");
            let (_, examples) = help.text().split_once("\nExamples:\n").expect("examples");
            let mut goes_on = false;
            for line in examples.lines() {
                assert!(goes_on || line.contains("fullbloom "), "a line was wrapped: {line}");
                assert!(!line.trim_start().contains("  "), "more than a command: {line}");
                goes_on = line.ends_with('\\');
            }
        }
    }
}

/// All options that a command has are on its screen, alone or with others.
#[test]
fn help_fits_a_screen_and_names_every_option() {
    let dir = Dir::new();
    run(&["man", &dir.arg("man1")], b"").exits(0);
    let mut seen = 0;
    for name in commands() {
        let help = run(&[&name, "--help"], b"").exits(0);
        assert!(help.text().lines().count() <= 40, "{name}: {} lines", help.text().lines().count());
        assert!(!help.text().contains("Exit status"), "{name}: the program's help says it once");
        let page =
            String::from_utf8(dir.read(&format!("man1/fullbloom-{name}.1"))).unwrap().replace("\\-", "-");
        let options = page.split("--").skip(1);
        let options =
            options.map(|rest| rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next().unwrap());
        for option in options.filter(|option| !option.is_empty() && !["version", "help"].contains(option)) {
            // `-d <C>` and `-0` stand for themselves where several options share a line.
            let short = match option {
                "delimiter" => "-d <C>",
                "null" => "-0",
                _ => "",
            };
            let known = help.text().contains(&format!("--{option}"))
                || !short.is_empty() && help.text().contains(short);
            // Paragraphs of the page may name options of other commands.
            let own = page.contains(&format!("\\fB--{option}\\fR"));
            seen += u32::from(own);
            assert!(known || !own, "{name}: --{option} is not on the screen\n{}", help.text());
        }
    }
    assert!(seen > 150, "only {seen} options found in the manual pages");
    let program = run(&["--help"], b"").exits(0);
    let words: Vec<&str> = program.text().split_whitespace().collect();
    assert!(program.text().lines().count() <= 40 && words.join(" ").contains("Exit status, as with grep: 0"));
}

#[test]
fn every_dialect_is_listed_once_and_only_by_the_command_for_it() {
    let text = run(&["dialects"], b"").exits(0);
    let json = run(&["dialects", "--json"], b"").exits(0);
    let json: serde_json::Value = serde_json::from_str(json.text()).unwrap();
    assert_eq!(json.as_array().unwrap().len(), Name::ALL.len());
    let (dialects, key_types) = text.text().split_once("\n\n").unwrap();
    assert_eq!(dialects.lines().count(), 1 + Name::ALL.len(), "{text:?}");
    assert!(key_types.contains("timeuuid") && key_types.contains("text,int"), "{text:?}");
    for (name, object) in Name::ALL.iter().zip(json.as_array().unwrap()) {
        assert_eq!(*object, serde_json::json!({ "name": name.as_str(), "description": name.about() }));
        let line = text.text().lines().find(|line| line.split(' ').next() == Some(name.as_str()));
        assert!(line.is_some_and(|line| line.ends_with(name.about())), "{name}: {text:?}");
    }
    for name in ["plan", "build", "check", "inspect", "verify", "merge", "convert", "bench"] {
        for option in ["-h", "--help"] {
            let help = run(&[name, option], b"").exits(0);
            let words: Vec<&str> = help.text().split_whitespace().collect();
            assert!(words.join(" ").contains("see: fullbloom dialects"), "{help:?}");
            assert!(!help.text().contains("cassandra-0.7"), "{help:?}");
        }
    }
}

#[test]
fn a_wrong_kernel_is_one_warning_and_the_command_goes_on() {
    for (value, warnings) in [("abacus", 1), ("scalar", 0), ("", 0)] {
        let mut command = command(&["dialects"]);
        command.env("FULLBLOOM_KERNEL", value);
        let out = finish(command, b"").exits(0);
        assert_eq!(out.err.lines().count(), warnings, "{out:?}");
        if warnings > 0 {
            let start = r#"warning: FULLBLOOM_KERNEL: "#;
            assert!(out.err.starts_with(start) && out.err.contains("abacus"), "{out:?}");
        }
    }
}

#[test]
fn version_names_the_program_its_version_and_the_kernel_in_use() {
    let first = format!("fullbloom {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&["-V"], b"").exits(0).text(), format!("{first}\n"));
    let long = run(&["--version"], b"").exits(0);
    let (line, kernel) = long.text().split_once('\n').unwrap();
    let commit = line.strip_prefix(&first).and_then(|rest| rest.strip_prefix(" (commit ")?.strip_suffix(')'));
    assert!(line == first || commit.is_some_and(|commit| commit.len() >= 12), "{long:?}");
    assert!(kernel.starts_with("kernel "), "{long:?}");
    let mut forced = command(&["--version"]);
    forced.env("FULLBLOOM_KERNEL", "scalar");
    let forced = finish(forced, b"").exits(0);
    assert!(
        forced.text().starts_with(&format!("{line}\nkernel scalar (this CPU can run scalar")),
        "{forced:?}"
    );
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let commands = commands();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["completions", shell], b"").exits(0);
        for name in &commands {
            assert!(script.text().contains(name), "{shell}: {name}");
        }
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            run(&["completions", shell], b"").text().contains("cassandra-0.7"),
            "{shell} completes dialects"
        );
    }
    let page = run(&["man"], b"").exits(0);
    assert!(page.text().contains(".TH fullbloom 1"), "{page:?}");
    let dir = Dir::new();
    run(&["man", &dir.arg("man1")], b"").exits(0);
    let pages = common::list(&dir.path("man1"));
    for name in &commands {
        assert!(pages.contains(&format!("fullbloom-{name}.1")), "{pages:?}");
    }
    let page = String::from_utf8(dir.read("man1/fullbloom-insert.1")).unwrap();
    assert!(page.contains(".SH EXAMPLES\n.nf\n  fullbloom build keys.txt"), "{page}");
    let file = dir.file("file", "");
    run(&["man", &file], b"").fails_with("file: cannot write");
}

#[test]
fn a_closed_pipe_is_a_quiet_end() {
    let dir = Dir::new();
    let keys = dir.file("keys", lines(200_000));
    let filter = dir.arg("f");
    run(&["build", "--dialect", "leveldb", "-q", "-o", &filter, &keys], b"").exits(0);
    for args in [
        &["check", &filter, "--dialect", "leveldb", &keys][..],
        &["check", &filter, "--dialect", "leveldb", "--answers", &keys],
        &["plan", "--expected-keys", "1M", "--fpr", "0.01"],
        &["inspect", "--dialect", "leveldb", &filter],
        &["unique", &keys],
        &["verify", &filter, "--dialect", "leveldb", "--keys", &keys],
        &["rebuild", "--dry-run", "--fpr", "0.2", &sstables()],
        &["table", "build", &keys, "-o", &dir.arg("t.sst")],
        &["bench", "--keys", "1000"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
    ] {
        let mut child = command(args).spawn().unwrap();
        drop(child.stdout.take()); // nobody reads
        let stderr = child.stderr.take();
        assert_eq!(common::wait(&mut child), 0, "{args:?}");
        let mut said = String::new();
        std::io::Read::read_to_string(&mut stderr.unwrap(), &mut said).unwrap();
        assert_eq!(said, "", "{args:?}");
    }
    // Half a filter is no filter.
    let native = dir.arg("native");
    run(&["build", "-q", "-o", &native, &keys], b"").exits(0);
    for args in [
        &["build", "--dialect", "leveldb", "-o", "-", &keys][..],
        &["merge", &native, "-o", "-"],
        &["convert", &native, "--to", "native", "--memory", "1GiB", "-o", "-"],
    ] {
        let mut child = command(args).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(common::wait(&mut child), 2, "{args:?}");
    }
}

#[test]
fn a_rebuild_whose_output_nobody_reads_is_finished_and_a_verification_has_its_status() {
    let dir = Dir::new();
    let unread = |args: &[&str]| {
        let mut child = command(args).spawn().unwrap();
        drop(child.stdout.take());
        common::wait(&mut child)
    };
    let copies = ["read", "unread"].map(|name| {
        common::copy_tree(Path::new(&sstables()), &dir.path(name));
        dir.arg(name)
    });
    let code = run(&["rebuild", "--fpr", "0.2", &copies[0]], b"").code;
    assert_eq!(unread(&["rebuild", "--fpr", "0.2", &copies[1]]), code);
    let table = "orders-5a1c395e0b1f11ef9a3f0242ac120002";
    let filters = |name: &str| {
        let names = common::list(&dir.path(name).join(table));
        let filters = names.into_iter().filter(|name| name.ends_with("Filter.db"));
        filters.map(|file| dir.read(&format!("{name}/{table}/{file}"))).collect::<Vec<_>>()
    };
    assert_eq!(filters("unread"), filters("read"));
    let (keys, filter) = (dir.file("keys", lines(2000)), dir.arg("f"));
    run(&["build", "-q", "-o", &filter], lines(1000).as_bytes()).exits(0);
    assert_eq!(unread(&["verify", &filter, "--keys", &keys]), 1);
}

#[test]
fn a_path_that_ends_with_a_slash_is_not_a_file() {
    let dir = Dir::new();
    for args in [&["build", "-o", &dir.arg("f/")][..], &["unique", "--state", &dir.arg("f/")]] {
        run(args, b"a\n").fails_with("does not name a file");
    }
    assert_eq!(dir.names(), [""; 0]);
}

#[test]
fn names_that_are_too_long_for_a_journal_are_read() {
    let dir = Dir::new();
    let filter = dir.arg(&"n".repeat(250));
    for kind in [&["build", "-q"][..], &["build", "-q", "--dynamic"]] {
        run(&[kind, &["-o", &filter]].concat(), b"a\n").exits(0);
        run(&["insert", "-q", &filter], b"b\n").exits(0);
        assert_eq!(run(&["check", "-c", &filter], b"a\nb\n").exits(0).text(), "2\n");
    }
}

#[cfg(target_os = "linux")]
mod full {
    use super::*;
    use std::fs::OpenOptions;

    fn full() -> Stdio {
        OpenOptions::new().write(true).open("/dev/full").unwrap().into()
    }

    #[test]
    fn a_full_standard_output_is_an_error() {
        let dir = Dir::new();
        let filter = leveldb_filter(&dir, "f", &["a"]);
        run(&["build", "-q", "-o", &dir.arg("native")], b"a\n").exits(0);
        for args in [
            &["check", &filter, "--dialect", "leveldb"][..],
            &["check", &filter, "--dialect", "leveldb", "-c"],
            &["check", &filter, "--dialect", "leveldb", "--answers"],
            &["plan", "--expected-keys", "1M", "--fpr", "0.01"],
            &["plan", "--expected-keys", "1M", "--fpr", "0.01", "--json"],
            &["inspect", "--dialect", "leveldb", &filter],
            &["build", "--dialect", "leveldb", "-o", "-"],
            &["build", "--dialect", "leveldb", "--force", "-o", &filter],
            &["build", "-o", "-"],
            &["unique"],
            &["unique", "-c"],
            &["merge", "--dialect", "leveldb", &filter, "-o", "-"],
            &["convert", &dir.arg("native"), "--to", "native", "--memory", "1GiB", "-o", "-"],
            &["convert", &dir.arg("native"), "--to", "native", "--memory", "1GiB", "-o", &dir.arg("folded")],
            &["verify", &filter, "--dialect", "leveldb", "--keys", "-"],
            &["rebuild", "--dry-run", "--fpr", "0.2", &sstables()],
            &["table", "build", "-o", &dir.arg("t.sst")],
            &["bench", "--keys", "1000"],
            &["completions", "zsh"],
            &["man"],
            &["--version"],
            &["check", "--help"],
        ] {
            let mut command = command(args);
            command.stdout(full());
            finish(command, b"a\n").fails_with("standard output: cannot write");
        }
    }

    #[test]
    fn a_message_that_cannot_be_told_is_given_up_and_the_code_stays() {
        for args in [
            &["check", "missing-filter"][..],
            &["no-such-command"],
            &["plan", "--expected-keys", "5", "--fpr", "nan"],
        ] {
            let mut command = command(args);
            command.stderr(full());
            assert_eq!(finish(command, b"").code, 2, "{args:?}");
        }
        let dir = Dir::new();
        let mut command =
            command(&["build", "--dialect", "rocksdb-block", "--bits-per-key", "0.1", "-o", &dir.arg("f")]);
        command.stderr(full());
        assert_eq!(finish(command, b"").code, 1);
    }

    #[test]
    fn special_files_are_no_filters_and_nobody_waits_for_them() {
        let dir = Dir::new();
        let fifo = dir.arg("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let directory = dir.arg("");
        let missing = dir.arg("missing");
        let looped = dir.arg("loop");
        std::os::unix::fs::symlink("loop", &looped).unwrap();
        for special in [&*fifo, "/dev/null", "/dev/zero", "/dev/full", &directory, &missing, &looped] {
            for args in [
                &["check", special][..],
                &["check", special, "--dialect", "cassandra"],
                &["check", special, "--dialect", "libbloom-1", "--bits", "8", "--probes", "1", "--map"],
                &["inspect", special],
                &["inspect", "--json", special],
                &["merge", special, "-o", &dir.arg("merged")],
                &["unique", "--expected-keys", "5", "--state", special],
                &["convert", special, "--to", "cassandra", "-o", &dir.arg("converted")],
                &["verify", special],
                &["verify", special, "--keys", "-"],
                &["rebuild", special],
            ] {
                if special == missing && args[0] == "unique" {
                    continue; // it is made
                }
                run(args, b"a\n").fails_with("cannot");
            }
            run(&["plan", "--from", special], b"").fails_with(if special == directory {
                "cannot find"
            } else {
                ""
            });
        }
        for special in [&*directory, &missing, &looped] {
            run(&["build", "--dialect", "leveldb", "-o", &dir.arg("f"), special], b"").fails_with("");
        }
        run(&["build", "--dialect", "leveldb", "-o", &fifo], b"a\n").fails_with("not a regular file");
    }

    /// The command as somebody who is not root, for whom permissions count; `None` where nobody else can be.
    fn as_nobody(dir: &Dir, args: &[&str]) -> Option<common::Outcome> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        use std::os::unix::process::CommandExt;
        let mut command = command(args);
        if std::fs::metadata(dir.path("")).unwrap().uid() == 0 {
            // The program may stand where only root looks. Another process copies it: a copy that is open for
            // writing here is so for a moment in children of other tests, too, and cannot be run then.
            let copy = dir.path("fullbloom");
            if !copy.exists() {
                let mut cp = std::process::Command::new("cp");
                assert!(cp.arg(env!("CARGO_BIN_EXE_fullbloom")).arg(&copy).status().unwrap().success());
                std::fs::set_permissions(dir.path(""), std::fs::Permissions::from_mode(0o755)).unwrap();
            }
            command = std::process::Command::new(copy);
            command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.uid(65534).gid(65534);
            if command.spawn().map(|mut child| child.wait()).is_err() {
                eprintln!("not run: nobody else can run the command here");
                return None;
            }
        }
        Some(finish(command, b"a\n"))
    }

    #[test]
    fn what_may_not_be_read_or_written_is_one_error_with_the_path() {
        use std::os::unix::fs::PermissionsExt;
        let dir = Dir::new();
        let mode = |name: &str, mode| {
            std::fs::set_permissions(dir.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let (secret, open) = (leveldb_filter(&dir, "secret.filter", &["a"]), dir.arg("open.bloom"));
        run(&["build", "-q", "-o", &open], b"a\n").exits(0);
        std::fs::create_dir(dir.path("d")).unwrap();
        run(&["build", "-q", "--expected-keys", "100", "-o", &dir.arg("d/f")], b"old\n").exits(0);
        let keys = dir.file("keys", "a\n");
        mode("secret.filter", 0o000);
        mode("d", 0o555);
        let (f, t) = (dir.arg("d/f"), dir.arg("d/t.sst"));
        let old = dir.read("d/f");
        for (args, path) in [
            (&["check", &secret, "--dialect", "leveldb"][..], &secret),
            (&["check", "--map", &secret, "--dialect", "leveldb"], &secret),
            (&["check", &open, &secret], &secret),
            (&["inspect", &secret], &secret),
            (&["verify", &secret, "--dialect", "leveldb", "--keys", &keys], &secret),
            (&["merge", &secret, "--dialect", "leveldb", "-o", "-"], &secret),
            (&["convert", &secret, "--to", "cassandra", "-o", "-"], &secret),
            (&["unique", "--state", &secret], &secret),
            (&["build", "-o", &f], &f),
            (&["merge", &open, "-o", &f], &f),
            (&["convert", &open, "--to", "native", "--memory", "1GiB", "-o", &f], &f),
            (&["unique", "--state", &f], &f),
            (&["table", "build", "-o", &t], &t),
        ] {
            let Some(outcome) = as_nobody(&dir, args) else { return };
            let outcome = outcome.fails_with("Permission denied");
            assert!(outcome.err.starts_with(&format!("error: {path}: ")), "{args:?}: {outcome:?}");
            assert_eq!(outcome.err.matches("error: ").count(), 1, "{args:?}: {outcome:?}");
        }
        assert_eq!((dir.read("d/f"), common::list(&dir.path("d"))), (old, vec!["f".to_owned()]));
        mode("d", 0o755); // so that it can be removed
    }

    #[test]
    fn a_pipe_with_a_name_may_hold_keys() {
        let dir = Dir::new();
        let filter = leveldb_filter(&dir, "f", &["a"]);
        let fifo = dir.arg("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let writer = std::thread::spawn({
            let fifo = fifo.clone();
            move || std::fs::write(fifo, "x\na\n").unwrap()
        });
        let out = run(&["check", &filter, "--dialect", "leveldb", &fifo], b"").exits(0);
        writer.join().unwrap();
        assert_eq!(out.text(), "a\n");
        run(&["check", &filter, "--dialect", "leveldb", "/dev/null"], b"").exits(1);
    }

    #[test]
    fn an_endless_line_is_an_error_and_not_all_memory() {
        let dir = Dir::new();
        let filter = leveldb_filter(&dir, "f", &["a"]);
        let out = run(&["check", &filter, "--dialect", "leveldb", "--binary", "-c", "/dev/zero"], b"");
        out.fails_with("longer than 256 MiB");
    }
}

#[test]
fn a_file_that_claims_more_than_it_holds_is_refused_at_once() {
    let dir = Dir::new();
    let lying = dir.file("nb-1-big-Filter.db", b"\0\0\0\x05\x7f\xff\xff\xff\0\0\0\0");
    for args in [&["check", &lying][..], &["check", &lying, "--map"]] {
        run(args, b"a\n").fails_with("17179869176 bytes");
    }
    for command in ["inspect", "verify"] {
        let out = run(&[command, &lying], b"").exits(1);
        assert!(out.text().contains("12 of 17179869184 bytes"), "{out:?}");
    }
}

#[test]
fn without_a_terminal_there_are_no_colours_and_no_progress() {
    let dir = Dir::new();
    let filter = leveldb_filter(&dir, "f", &["a"]);
    let keys = dir.file("keys", lines(300_000));
    let out = run(&["check", &filter, "--dialect", "leveldb", "-c", &keys], b"");
    assert!(out.err.is_empty(), "{out:?}");
    let out = run(&["check", "missing-filter"], b"").exits(2);
    assert!(!out.err.contains('\x1b'), "{out:?}");
    let out = run::<&str>(&["--help"], b"").exits(0);
    assert!(!out.text().contains('\x1b'), "{out:?}");
}

#[test]
fn a_directory_as_key_file_is_named() {
    let dir = Dir::new();
    let filter = leveldb_filter(&dir, "f", &["a"]);
    let out =
        run(&["check", &filter, "--dialect", "leveldb", &dir.arg("")], b"").fails_with("is a directory");
    assert!(out.err.contains("hint: "), "{out:?}");
}

/// In JSON and in messages, as ESC is.
#[test]
fn characters_that_steer_a_terminal_are_escaped() {
    let dir = Dir::new();
    let label = "a\u{9b}31m\u{202e}txt\u{2066}\u{7f}\u{200f}";
    let filter = dir.arg("f\u{202e}\u{85}.bloom");
    let told = run(&["build", "--label", label, "-o", &filter], b"a\n").exits(0);
    let json = run(&["inspect", "--json", &filter], b"").exits(0);
    let built = run(&["build", "--json", "--label", label, "-o", &filter], b"a\n").exits(0);
    let missing = run(&["inspect", &dir.arg("\u{202e}\u{9b}")], b"").exits(2);
    let is_raw = |c: char| c != '\n' && (c.is_control() || ('\u{200e}'..'\u{206a}').contains(&c));
    for text in [told.text(), json.text(), built.text(), &told.err, &missing.err] {
        assert!(!text.contains(is_raw), "{text:?}");
    }
    assert!(told.text().contains("a\\u{9b}31m\\u{202e}txt"), "{told:?}");
    assert_eq!(json.json()["places"][0]["label"], label);
    assert!(json.text().contains("\\u009b31m\\u202e"), "{json:?}");
}

/// Other programs open what `which -l` prints.
#[cfg(target_os = "linux")]
#[test]
fn paths_in_a_pipe_are_printed_as_they_are() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let dir = Dir::new();
    let plain = dir.arg("f.bloom");
    run(&["build", "-q", "-o", &plain], b"a\n").exits(0);
    let path = dir.path("x").with_file_name(OsStr::from_bytes(b"\x1b[31m\xff\xe2\x80\xae.bloom"));
    std::fs::rename(&plain, &path).unwrap();
    let args = ["which", "-l", "-e", "a"].map(OsStr::new);
    let listed = run(&[&args[..], &[path.as_os_str()]].concat(), b"").exits(0);
    assert_eq!(listed.out, [path.as_os_str().as_bytes(), b"\n"].concat());
    let args = ["which", "-e", "a"].map(OsStr::new);
    let shown = run(&[&args[..], &[path.as_os_str()]].concat(), b"").exits(0);
    assert!(shown.text().contains("\\u{1b}[31m"), "{shown:?}");
}

#[test]
fn a_file_that_is_not_a_filter_is_replaced_only_by_force() {
    let dir = Dir::new();
    let (notes, old) = (dir.file("notes.txt", "precious\n"), dir.arg("old.bloom"));
    run(&["build", "-q", "-o", &old], b"a\n").exits(0);
    for args in [
        &["build", "-o", &notes][..],
        &["build", "--dialect", "leveldb", "-o", &notes],
        &["build", "--dialect", "libbloom-1", "--bits", "72", "--probes", "3", "-o", &notes],
        &["build", "--dialect", "cassandra", "-o", &notes],
        &["merge", &old, &old, "-o", &notes],
        &["convert", &old, "--to", "native", "--fold", "1", "-o", &notes],
    ] {
        let refused = run(args, b"a\n").fails_with("nothing shows");
        assert!(refused.err.contains("--force"), "{refused:?}");
        assert_eq!(dir.read("notes.txt"), b"precious\n");
    }
    run(&["table", "build", "-o", &notes], b"a\n").fails_with("is a table");
    assert_eq!(dir.read("notes.txt"), b"precious\n");
    // The name of a filter does not make one of a note.
    let named = dir.file("nb-1-big-Filter.db", "my notes");
    run(&["build", "--dialect", "cassandra", "-o", &named], b"a\n").fails_with("nothing shows");
    // What is a filter, by its bytes, its name, or the dialect, is replaced; so is an empty file.
    let empty = dir.file("empty", "");
    run(&["build", "-q", "-o", &empty], b"a\n").exits(0);
    for (dialect, name) in
        [("native", "f"), ("cassandra", "f.cassandra"), ("guava", "f.guava"), ("rocksdb", "f.rocksdb")]
    {
        for _ in 0..2 {
            run(&["build", "-q", "--dialect", dialect, "-o", &dir.arg(name)], lines(50).as_bytes()).exits(0);
        }
    }
    let leveldb = ["build", "-q", "--dialect", "leveldb", "-o", &dir.arg("f.leveldb")];
    run(&leveldb, b"a\n").exits(0);
    run(&leveldb, b"a\n").fails_with("nothing shows");
    run(&[&leveldb[..], &["--force"]].concat(), b"a\n").exits(0);
    run(&["build", "-q", "--force", "-o", &notes], b"a\n").exits(0);
    assert!(dir.read("notes.txt").starts_with(b"\x89FBLOOM"));
}

#[test]
fn keys_on_the_command_line_are_inserted_and_removed() {
    let dir = Dir::new();
    let filter = dir.arg("f.bloom");
    run(&["build", "-q", "--deletable", "-o", &filter], b"apple\n").exits(0);
    let out = run(&["insert", &filter, "-e", "pear", "-e", "-plum"], b"").exits(0);
    assert!(out.text().starts_with("2 keys inserted"), "{out:?}");
    assert_eq!(run(&["check", &filter], b"pear\n-plum\nfig\n").exits(0).text(), "pear\n-plum\n");
    run(&["remove", &filter, "-e", "pear"], b"").exits(0);
    run(&["check", &filter, "-e", "pear"], b"").exits(1);
    for command in ["check", "insert", "remove"] {
        let refused = run(&[command, &filter, "apple"], b"").fails_with("apple: cannot read keys");
        assert!(refused.err.contains("hint: -e KEY"), "{refused:?}");
    }
}

/// Somebody who reads only the error would insert the keys a second time.
#[cfg(unix)]
#[test]
fn what_was_saved_before_the_output_failed_is_called_saved() {
    let dir = Dir::new();
    let (filter, other, keys) = (dir.arg("f.bloom"), dir.arg("g.bloom"), dir.file("keys", lines(100)));
    run(&["build", "-q", "--deletable", "-o", &filter, &keys], b"").exits(0);
    let full = |args: &[&str]| {
        let mut command = command(args);
        let device = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        command.stdout(Stdio::from(device));
        finish(command, b"")
    };
    for args in [
        &["insert", &filter, "-e", "more"][..],
        &["remove", &filter, "-e", "more"],
        &["build", "--json", &keys, "-o", &other],
        &["merge", &filter, &filter, "-o", &other],
        &["convert", &filter, "--to", "native", "-o", &other],
    ] {
        let failed = full(args).fails_with("standard output: cannot write");
        assert!(failed.err.contains(".bloom was saved"), "{args:?}: {failed:?}");
    }
    let failed = full(&["remove", &filter, "-e", "never there"]);
    assert!(!failed.err.contains("saved"), "{failed:?}");
    common::copy_tree(Path::new(&sstables()), &dir.path("shop"));
    let failed = full(&["rebuild", "--fpr", "0.2", &dir.arg("shop")]).fails_with("cannot write");
    assert!(failed.err.contains("1 file was saved"), "{failed:?}");
}
