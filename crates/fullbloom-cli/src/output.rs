//! Standard output in blocks, and messages on standard error.
//!
//! Nothing here panics when a stream fails, which `println!` and `eprintln!` do: a closed pipe is a quiet
//! end, a full disk is an error with a message, and a message that cannot be written is dropped.

use crate::closed;
use crate::error::Failure;
use crate::hints;
use crate::text;
use anstream::{AutoStream, ColorChoice};
use fullbloom_ops::{Problem, Severity};
use serde_json::Value;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Written when this much has been collected.
const BLOCK: usize = 64 << 10;

/// Standard output, block-buffered; every [`pause`](Output::pause) writes what there is.
#[derive(Debug)]
pub struct Output {
    target: io::Result<File>,
    buffer: Vec<u8>,
    terminal: bool,
    /// Whether the work goes on when nobody reads the output any more.
    optional: bool,
}

/// Appends a record and its end byte. Records of usual length are copied in pieces of fixed size, without a
/// call: in the static command, whose `memcpy` is that of musl, a call for each line was a fifth of the time
/// of `check`.
#[inline]
pub fn append(text: &mut Vec<u8>, record: &[u8], end: u8) {
    const PIECE: usize = 16;
    match record.last_chunk::<PIECE>() {
        Some(last) if record.len() <= 8 * PIECE => {
            let start = text.len();
            record.as_chunks::<PIECE>().0.iter().for_each(|piece| text.extend_from_slice(piece));
            text.truncate(start + record.len() - PIECE);
            text.extend_from_slice(last);
        }
        _ => text.extend_from_slice(record),
    }
    text.push(end);
}

impl Output {
    /// The process's standard output, past the line buffering of [`io::Stdout`].
    pub fn stdout() -> Output {
        let terminal = io::stdout().is_terminal();
        // A stream that cannot be used is an error when something is to be written, and not before.
        Output { target: stdout(), buffer: Vec::with_capacity(2 * BLOCK), terminal, optional: false }
    }

    /// As [`stdout`](Output::stdout), for commands whose work is more than their output: when the reader
    /// closes it, the rest of the output is dropped, and the work goes on.
    pub fn optional() -> Output {
        let mut out = Output::stdout();
        out.optional = true;
        out
    }

    /// Whether standard output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Writes a record and its end byte.
    #[inline]
    pub fn record(&mut self, record: &[u8], end: u8) -> Result<(), Failure> {
        append(&mut self.buffer, record, end);
        self.spill()
    }

    /// Writes bytes as they are.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.buffer.extend_from_slice(bytes);
        self.spill()
    }

    /// Writes one JSON object, readable by people too.
    pub fn json(&mut self, value: &Value) -> Result<(), Failure> {
        self.bytes(escaped(&format!("{value:#}\n")).as_bytes())
    }

    /// Writes a value on one line, as part of a JSON object that is too large for memory.
    pub fn json_part(&mut self, value: &Value) -> Result<(), Failure> {
        self.bytes(escaped(&value.to_string()).as_bytes())
    }

    /// Writes what is buffered, because more input may take long: `tail -f log | fullbloom unique | …` prints
    /// its lines at once. Called after each block that was read, not after each record.
    pub fn pause(&mut self) -> Result<(), Failure> {
        self.write_out()
    }

    /// Writes what is left. Dropping does the same but cannot report a failure.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.write_out()
    }

    #[inline]
    fn spill(&mut self) -> Result<(), Failure> {
        if self.buffer.len() < BLOCK { Ok(()) } else { self.write_out() }
    }

    fn write_out(&mut self) -> Result<(), Failure> {
        let written = match &mut self.target {
            Ok(target) => target.write_all(&self.buffer),
            Err(_) if self.buffer.is_empty() => Ok(()),
            Err(e) => Err(io::Error::new(e.kind(), e.to_string())),
        };
        self.buffer.clear(); // also after a failure, which is reported once
        let dropped = |e: &io::Error| self.optional && e.kind() == io::ErrorKind::BrokenPipe;
        if written.as_ref().is_err_and(dropped) {
            return Ok(());
        }
        written.map_err(|e| Failure::writing("standard output", &e))
    }
}

/// JSON in which every character that steers a terminal is escaped, as its grammar demands of ESC alone.
/// Outside of strings, JSON has no such characters but newlines.
fn escaped(json: &str) -> Cow<'_, str> {
    let is_raw = |c: char| c != '\n' && text::is_steering(c);
    if !json.contains(is_raw) {
        return Cow::Borrowed(json);
    }
    let mut clean = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        match is_raw(c) {
            true => clean += &format!("\\u{:04x}", u32::from(c)), // all of them have four digits
            false => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

impl Drop for Output {
    fn drop(&mut self) {
        let _ = self.write_out(); // only reached after another failure
    }
}

/// Our own handle to standard output.
pub fn stdout() -> io::Result<File> {
    if closed::is_stdout_closed() {
        return Err(io::Error::new(io::ErrorKind::NotConnected, "it is closed"));
    }
    duplicate(&io::stdout())
}

/// Our own handle to a standard stream.
#[cfg(unix)]
pub fn duplicate(stream: &impl std::os::fd::AsFd) -> io::Result<File> {
    Ok(File::from(stream.as_fd().try_clone_to_owned()?))
}

/// Our own handle to a standard stream.
#[cfg(windows)]
pub fn duplicate(stream: &impl std::os::windows::io::AsHandle) -> io::Result<File> {
    Ok(File::from(stream.as_handle().try_clone_to_owned()?))
}

/// How many characters a line of standard output holds: what `COLUMNS` says, else the terminal; `None` for
/// anything else.
pub fn width() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    said.filter(|columns| *columns > 0)
        .or_else(|| terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0)))
}

/// Whether colours are wanted on this stream: it is a terminal, and `NO_COLOR` is not set.
pub fn coloured(stream: &impl anstream::stream::RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// `error: …` and perhaps `hint: …`.
pub fn error(text: &str, hint: Option<&str>) {
    message("\x1b[1;31merror:\x1b[0m", text);
    if let Some(text) = hint {
        self::hint(text);
    }
}

/// The problem of a place that could not be read.
pub fn problem(problem: &Problem) {
    error(&problem.to_string(), hints::of(problem).as_deref());
}

/// The same for warnings; notes are left out.
pub fn problem_or_warning(problem: &Problem) {
    match problem.severity {
        Severity::Error => self::problem(problem),
        Severity::Warning => {
            warning(&problem.to_string());
            hints::of(problem).iter().for_each(|text| hint(text));
        }
        Severity::Note => {}
    }
}

/// `hint: …`
pub fn hint(text: &str) {
    message("\x1b[1;36mhint:\x1b[0m", text);
}

/// Another process has the lock of this file.
pub fn waiting(path: &Path) {
    warning(&format!("{}: waiting for another process that is changing it", path.display()));
}

/// `note: …`
pub fn note(text: &str) {
    message("\x1b[1;36mnote:\x1b[0m", text);
}

/// `warning: …`
pub fn warning(text: &str) {
    message("\x1b[1;33mwarning:\x1b[0m", text);
}

/// Uses colours on terminals only, and not if `NO_COLOR` is set. Control characters in file names and
/// contents are escaped.
fn message(label: &str, text: &str) {
    let mut stderr = AutoStream::auto(io::stderr());
    let line = format!("{label} {}\n", text::printable(text));
    let _ = stderr.write_all(line.as_bytes()); // there is no other place to report to
}

#[cfg(test)]
mod tests {
    use super::append;

    #[test]
    fn records_of_every_length_are_appended_as_they_are() {
        let bytes: Vec<u8> = (0..=255).collect();
        let (mut text, mut expected) = (Vec::new(), Vec::new());
        for len in 0..=bytes.len() {
            append(&mut text, &bytes[..len], b'\n');
            expected.extend([&bytes[..len], b"\n"].concat());
        }
        assert_eq!(text, expected);
    }
}
