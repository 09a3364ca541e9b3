//! A progress bar for long readings, on standard error, for people only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Shorter work shows no bar: it would only flicker.
const PATIENCE: Duration = Duration::from_millis(500);

/// How far a reading has come.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    waiting: AtomicBool,
}

impl Progress {
    /// Work of `total` bytes, if known. The bar is shown when standard error is a terminal, and it is
    /// removed at the end.
    pub fn new(what: &'static str, total: Option<u64>) -> Progress {
        let (bar, template) = match total {
            Some(total) => (
                ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden()),
                "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta} left",
            ),
            None => (
                ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()),
                "{msg} {spinner} {bytes} {bytes_per_sec} {elapsed}",
            ),
        };
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        bar.set_message(what);
        Progress { bar, begun: Instant::now(), waiting: AtomicBool::new(io::stderr().is_terminal()) }
    }

    /// Work that is not shown: its output goes to the same terminal.
    pub fn hidden() -> Progress {
        Progress { bar: ProgressBar::hidden(), begun: Instant::now(), waiting: AtomicBool::new(false) }
    }

    /// So many bytes more have been read.
    pub fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
        if self.waiting.load(Ordering::Relaxed) && self.begun.elapsed() >= PATIENCE {
            self.waiting.store(false, Ordering::Relaxed);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
