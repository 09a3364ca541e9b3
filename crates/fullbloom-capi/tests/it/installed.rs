//! The libraries as `make install-fullbloom` installs them: the commands and programs of `docs/c.md` as they are
//! printed there, with the pkg-config files, with CMake and under valgrind.
//!
//! Each test is skipped, with a line that says so, if a program that it needs is missing, and fails without it
//! if `FULLBLOOM_REQUIRE_CC` is set.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const PAGE: &str = include_str!("../../../../docs/c.md");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const ANSWERS: &str = "alice in nb-1-big-Filter.db: maybe\nalice in nb-2-big-Filter.db: no\n\
    bob in nb-1-big-Filter.db: no\nbob in nb-2-big-Filter.db: maybe\n\
    carol in nb-1-big-Filter.db: no\ncarol in nb-2-big-Filter.db: no\n";

/// The first block of code on the page that begins so.
fn block(start: &str) -> &'static str {
    let at = PAGE.find(start).unwrap_or_else(|| panic!("{start:?} is on the page"));
    let code = PAGE[at..].split_once('\n').unwrap().1;
    code.split_once("```").unwrap().0
}

/// Whether these programs are there; otherwise it says that the test is skipped, or fails.
fn have(programs: &[&str]) -> bool {
    let missing = |program: &&&str| Command::new(program).arg("--version").output().is_err();
    let Some(program) = programs.iter().find(missing) else { return true };
    assert!(std::env::var_os("FULLBLOOM_REQUIRE_CC").is_none(), "{program} is required");
    eprintln!("skipped: {program} is not installed, so nothing installed was tested with it");
    false
}

fn succeeded(mut command: Command) -> Output {
    let done = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(done.status.success(), "{command:?}: {}{}", text(&done.stdout), text(&done.stderr));
    done
}

fn out(command: Command) -> String {
    String::from_utf8(succeeded(command).stdout).unwrap()
}

/// A directory with the installed library in `prefix` and the program of the page beside it.
struct Installed(TempDir);

impl Installed {
    /// Installs the libraries that were built with this test program; building those of a release would take
    /// minutes. The shared one is beside the test program, and the static one is made of the Rust library there.
    fn new() -> Installed {
        let installed = Installed(tempfile::tempdir().unwrap());
        let (stage, test) = (installed.path("stage/fullbloom"), std::env::current_exe().unwrap());
        let built = test.parent().unwrap();
        std::fs::create_dir_all(&stage).unwrap();
        let so = format!("libfullbloom.so.{}", env!("CARGO_PKG_VERSION"));
        std::fs::copy(built.join("libfullbloom_c.so"), stage.join(so)).unwrap();
        std::fs::write(installed.path("all.rs"), "pub use fullbloom_c::*;").unwrap();
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
        rustc.args(["--edition=2024", "--crate-name=all", "--crate-type=staticlib", "all.rs", "-L"]);
        rustc.arg(built).arg("-o").arg(stage.join("libfullbloom.a")).arg("--extern");
        rustc.arg(format!("fullbloom_c={}", built.join("libfullbloom_c.rlib").display()));
        succeeded(installed.here(rustc));
        let mut make = installed.make("install-fullbloom");
        make.env_remove("MAKEFLAGS");
        succeeded(make);
        std::fs::write(installed.path("users.c"), block("```c\n#include <fullbloom.h>\n")).unwrap();
        installed
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.0.path().join(relative)
    }

    fn make(&self, target: &str) -> Command {
        let mut make = Command::new("make");
        make.args(["--silent", "-C", ROOT, target]);
        make.arg(format!("STAGE={}", self.path("stage").display()));
        make.arg(format!("PREFIX={}", self.path("prefix").display()));
        make
    }

    /// In the directory, with the installed library where programs look for it.
    fn here(&self, mut command: Command) -> Command {
        command.current_dir(self.0.path());
        command.env("PKG_CONFIG_PATH", self.path("prefix/lib/pkgconfig"));
        command.env("LD_LIBRARY_PATH", self.path("prefix/lib"));
        command.env("CMAKE_PREFIX_PATH", self.path("prefix"));
        command
    }

    fn run(&self, program: impl AsRef<OsStr>, arguments: &[&str]) -> String {
        let mut command = Command::new(program);
        command.args(arguments);
        out(self.here(command))
    }
}

/// Whether a program is linked to any shared library.
fn is_dynamic(program: &Path) -> bool {
    let found = out({
        let mut readelf = Command::new("readelf");
        readelf.arg("-d").arg(program);
        readelf
    });
    found.contains("(NEEDED)")
}

#[test]
fn the_program_on_the_page_compiles_and_runs_as_printed_shared_and_static() {
    if !have(&["cc", "make", "pkg-config", "readelf"]) {
        return;
    }
    let installed = Installed::new();
    assert_eq!(installed.run("sh", &["-ec", block("```sh\ncc -std=c99 -Wall")]), ANSWERS);
    assert!(is_dynamic(&installed.path("users")));
    for file in ["nb-1-big-Filter.db", "nb-2-big-Filter.db"] {
        std::fs::remove_file(installed.path(file)).unwrap();
    }
    assert_eq!(installed.run("sh", &["-ec", block("```sh\ncc -std=c99 -static")]), ANSWERS);
    assert!(!is_dynamic(&installed.path("users_static")));
}

#[test]
fn cmake_finds_the_package_and_links_both_libraries() {
    if !have(&["cc", "make", "cmake"]) {
        return;
    }
    let installed = Installed::new();
    let list = block("```cmake\n");
    std::fs::write(installed.path("CMakeLists.txt"), list).unwrap();
    let build = |installed: &Installed| {
        installed.run("cmake", &["-S", ".", "-B", "build"]);
        installed.run("cmake", &["--build", "build"]);
        for program in ["build/users", "build/users_static"] {
            assert_eq!(installed.run(installed.path(program), &[]), ANSWERS, "{program}");
        }
        std::fs::remove_dir_all(installed.path("build")).unwrap();
    };
    build(&installed);
    // The installed tree works wherever it is moved to.
    std::fs::rename(installed.path("prefix"), installed.path("moved")).unwrap();
    std::os::unix::fs::symlink("moved", installed.path("prefix")).unwrap();
    build(&installed);

    let accepts = |version: &str| {
        let list = list.replace("fullbloom 0.1 REQUIRED", &format!("fullbloom {version} REQUIRED"));
        std::fs::write(installed.path("CMakeLists.txt"), list).unwrap();
        let mut cmake = Command::new("cmake");
        cmake.args(["-S", ".", "-B", "versions"]);
        installed.here(cmake).output().unwrap().status.success()
    };
    let ours = env!("CARGO_PKG_VERSION");
    assert!(["", "0", "0.1", ours, &format!("{ours} EXACT")].into_iter().all(accepts));
    assert!(!["0.0", "0.2", "0.1.999", "1", "1.0"].into_iter().any(accepts));
}

#[test]
fn uninstalling_leaves_no_file() {
    if !have(&["make"]) {
        return;
    }
    let installed = Installed::new();
    assert!(installed.path("prefix/lib/cmake/fullbloom/fullbloomConfig.cmake").exists());
    succeeded(installed.make("uninstall"));
    let mut left = vec![installed.path("prefix")];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            assert!(path.is_dir(), "{} was left", path.display());
            left.push(path);
        }
    }
}

/// C evaluates the arguments of one call in any order: the message can be fetched before the call that fails.
#[test]
fn a_message_that_is_kept_over_a_failing_call_is_not_freed_memory() {
    if !have(&["cc", "make", "pkg-config", "valgrind"]) {
        return;
    }
    let installed = Installed::new();
    let program = "#include <fullbloom.h>\n#include <stdio.h>\n\
        int main(void)\n{\n\
        for (int i = 0; i < 3; i++) {\n\
        const char *kept = fullbloom_message();\n\
        printf(\"%d %s\\n\", fullbloom_filter_finish(NULL), fullbloom_message());\n\
        printf(\"%d %s\\n\", fullbloom_dialect_by_name(\"none\", NULL), kept);\n\
        }\nreturn 0;\n}\n";
    std::fs::write(installed.path("message.c"), program).unwrap();
    let compile = "cc -g -o message message.c $(pkg-config --cflags --libs fullbloom)";
    installed.run("sh", &["-ec", compile]);
    let printed = installed.run("valgrind", &["--quiet", "--error-exitcode=9", "./message"]);
    assert!(printed.lines().count() == 6 && printed.contains("1 filter is NULL"), "{printed}");
}
