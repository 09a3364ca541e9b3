//! Runs a command one system call at a time, with `ptrace` as a debugger does: to end it before a chosen
//! call, to make a chosen call fail, or to let it write less than it was told to. Nothing in the command
//! knows of it. Calls are those of the main thread, which is the one that saves.

use libc::{c_int, c_long, c_void, pid_t};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::{io, ptr};

/// What is done at a chosen system call.
#[derive(Debug, Clone, Copy)]
pub enum Deed {
    /// Nothing: the calls are only listed.
    Watch,
    /// The process is killed before the call is made.
    Kill,
    /// The call is not made, and fails with this error number.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // registers are looked at on x86-64 only
    Fail(i32),
    /// The call is made with a third argument of 1: a write that takes one byte.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    Shorten,
}

/// How a traced run ended.
#[derive(Debug)]
pub struct Traced {
    /// The exit code; `None` when it was killed.
    pub code: Option<i32>,
    /// The system calls of the main thread, in order, up to the one that something was done to.
    pub calls: Vec<Call>,
}

/// A system call; zeros where registers are not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Its number.
    pub number: c_long,
    /// Its first argument: a file, or a signal.
    pub first: u64,
    /// Its third argument: the flags of `openat`, the length of `write`.
    pub third: u64,
}

impl Call {
    /// Whether the call may change a file or a directory, or ends the process. Between two such calls a kill
    /// leaves the same files. Where registers are not looked at, every call may.
    #[cfg(target_arch = "x86_64")]
    pub fn changes_files(&self) -> bool {
        match self.number {
            libc::SYS_openat => self.third & (libc::O_CREAT | libc::O_TRUNC) as u64 != 0,
            // Standard output and standard error are no files of the command's own.
            libc::SYS_write | libc::SYS_writev => self.first > 2,
            libc::SYS_pwrite64
            | libc::SYS_fsync
            | libc::SYS_fdatasync
            | libc::SYS_truncate
            | libc::SYS_ftruncate
            | libc::SYS_fallocate
            | libc::SYS_rename
            | libc::SYS_renameat
            | libc::SYS_renameat2
            | libc::SYS_link
            | libc::SYS_linkat
            | libc::SYS_symlink
            | libc::SYS_symlinkat
            | libc::SYS_unlink
            | libc::SYS_unlinkat
            | libc::SYS_mkdir
            | libc::SYS_mkdirat
            | libc::SYS_rmdir
            | libc::SYS_fchmod
            | libc::SYS_fchown
            | libc::SYS_copy_file_range
            | libc::SYS_sendfile
            | libc::SYS_exit_group => true,
            _ => false,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub fn changes_files(&self) -> bool {
        true
    }
}

/// Finds `calls[at]` in another run of the same command. Threads meet in another order each time, so a call is
/// found again as the n-th of its kind; how the output is split into writes depends on that order, so a write
/// has the same length, too.
pub fn again(calls: &[Call], at: usize) -> impl FnMut(&Call) -> bool {
    #[cfg(target_arch = "x86_64")]
    const WRITE: c_long = libc::SYS_write;
    #[cfg(not(target_arch = "x86_64"))]
    const WRITE: c_long = -1;
    let call = calls[at];
    let alike = move |other: &Call| {
        other.number == call.number && (call.number != WRITE || other.third == call.third)
    };
    let mut before = calls[..at].iter().filter(|other| alike(other)).count();
    move |other| {
        let alike = alike(other);
        let here = alike && before == 0;
        before -= usize::from(alike && before > 0);
        here
    }
}

#[cfg(not(target_env = "musl"))]
type Request = libc::c_uint;
#[cfg(target_env = "musl")]
type Request = c_int;

/// Whether a process may trace its children here: some sandboxes forbid it. Tests that need it say so and
/// end.
pub fn is_allowed() -> bool {
    let mut command = Command::new("/");
    // SAFETY: as in `run`.
    unsafe { command.pre_exec(trace_me) };
    // A directory cannot be run; where tracing is forbidden, that is told first.
    let refused = command.spawn().err().and_then(|e| e.raw_os_error());
    let allowed = refused == Some(libc::EACCES);
    if !allowed {
        println!("not run: processes may not be traced here ({refused:?})");
    }
    allowed
}

fn trace_me() -> io::Result<()> {
    // SAFETY: the request takes no pointers.
    match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, no(), no()) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Runs the command, and does `deed` at the first of its system calls that `here` says yes to.
pub fn run(mut command: Command, deed: Deed, mut here: impl FnMut(&Call) -> bool) -> Traced {
    // SAFETY: the closure runs between fork and exec and makes one system call, which is safe there.
    unsafe { command.pre_exec(trace_me) };
    #[allow(clippy::zombie_processes)] // waited for below, by its number
    let child: Child = command.spawn().expect("the command can be started and traced");
    let pid = pid_t::try_from(child.id()).unwrap();
    wait(pid); // the stop after exec
    request(libc::PTRACE_SETOPTIONS, pid, (libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL) as usize);
    let mut calls = Vec::new();
    let (mut done, mut failing) = (false, None);
    let (mut inside, mut signal) = (false, 0);
    loop {
        // Nothing more to do: no more stops.
        let free = done && !inside;
        request(if free { libc::PTRACE_CONT } else { libc::PTRACE_SYSCALL }, pid, signal);
        signal = 0;
        let status = wait(pid);
        if libc::WIFEXITED(status) {
            return Traced { code: Some(libc::WEXITSTATUS(status)), calls };
        }
        if libc::WIFSIGNALED(status) {
            return Traced { code: None, calls };
        }
        if libc::WSTOPSIG(status) != libc::SIGTRAP | 0x80 {
            signal = usize::try_from(libc::WSTOPSIG(status)).unwrap(); // a signal of the command's own: pass it on
            continue;
        }
        inside = !inside;
        if inside {
            let call = call(pid);
            calls.push(call);
            if !done && here(&call) {
                done = true;
                match deed {
                    Deed::Watch => {}
                    Deed::Kill => {
                        // SAFETY: a signal to our own child, which has not been waited for yet.
                        unsafe { libc::kill(pid, libc::SIGKILL) };
                        wait(pid);
                        return Traced { code: None, calls };
                    }
                    Deed::Fail(error) => {
                        skip(pid);
                        failing = Some(error);
                    }
                    Deed::Shorten => shorten(pid),
                }
            }
        } else if let Some(error) = failing.take() {
            answer(pid, error);
        }
    }
}

fn no() -> *mut c_void {
    ptr::null_mut()
}

fn request(request: Request, pid: pid_t, data: usize) {
    // SAFETY: these requests take a number in place of the data pointer and touch no memory of ours.
    let done = unsafe { libc::ptrace(request, pid, no(), data as *mut c_void) };
    assert_ne!(done, -1, "ptrace: {}", io::Error::last_os_error());
}

fn wait(pid: pid_t) -> c_int {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) };
    assert_eq!(waited, pid, "waitpid: {}", io::Error::last_os_error());
    status
}

#[cfg(target_arch = "x86_64")]
fn registers(pid: pid_t) -> libc::user_regs_struct {
    // SAFETY: all-zero registers are registers, and the request fills as many bytes as the struct has.
    unsafe {
        let mut registers: libc::user_regs_struct = std::mem::zeroed();
        assert_ne!(libc::ptrace(libc::PTRACE_GETREGS, pid, no(), &raw mut registers), -1);
        registers
    }
}

#[cfg(target_arch = "x86_64")]
fn set_registers(pid: pid_t, registers: &libc::user_regs_struct) {
    // SAFETY: the request reads as many bytes as the struct has.
    let done = unsafe { libc::ptrace(libc::PTRACE_SETREGS, pid, no(), ptr::from_ref(registers)) };
    assert_ne!(done, -1, "ptrace: {}", io::Error::last_os_error());
}

#[cfg(target_arch = "x86_64")]
fn call(pid: pid_t) -> Call {
    let registers = registers(pid);
    Call { number: registers.orig_rax as c_long, first: registers.rdi, third: registers.rdx }
}

#[cfg(target_arch = "x86_64")]
fn shorten(pid: pid_t) {
    set_registers(pid, &libc::user_regs_struct { rdx: 1, ..registers(pid) });
}

/// The call that is about to be made becomes one that does not exist.
#[cfg(target_arch = "x86_64")]
fn skip(pid: pid_t) {
    let registers = libc::user_regs_struct { orig_rax: u64::MAX, ..registers(pid) };
    set_registers(pid, &registers);
}

/// What the call answers: minus an error number.
#[cfg(target_arch = "x86_64")]
fn answer(pid: pid_t, error: i32) {
    let registers = libc::user_regs_struct { rax: i64::from(-error) as u64, ..registers(pid) };
    set_registers(pid, &registers);
}

#[cfg(not(target_arch = "x86_64"))]
fn call(_: pid_t) -> Call {
    Call { number: 0, first: 0, third: 0 }
}

#[cfg(not(target_arch = "x86_64"))]
fn shorten(_: pid_t) {
    unreachable!("calls are changed on x86-64 only");
}

#[cfg(not(target_arch = "x86_64"))]
fn skip(_: pid_t) {
    unreachable!("calls are made to fail on x86-64 only");
}

#[cfg(not(target_arch = "x86_64"))]
fn answer(_: pid_t, _: i32) {
    unreachable!("calls are made to fail on x86-64 only");
}
