//! A progress bar for long work, on standard error, for people only.

use fullbloom_ops::Watch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Shorter work shows no bar: it would only flicker.
const PATIENCE: Duration = Duration::from_millis(500);

/// The progress of reading.
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

    /// Adds the number of bytes read.
    pub fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
        if self.waiting.load(Ordering::Relaxed) && self.begun.elapsed() >= PATIENCE {
            self.waiting.store(false, Ordering::Relaxed);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

/// The progress over places.
#[derive(Debug)]
pub struct Places {
    what: &'static str,
    bar: Option<ProgressBar>,
    begun: Instant,
}

impl Places {
    /// A bar, shown when the work takes long and standard error is a terminal, and removed at the end.
    pub fn new(what: &'static str) -> Places {
        Places { what, bar: None, begun: Instant::now() }
    }

    /// Adds to the number of places.
    pub fn start(&mut self, places: u64) {
        if let Some(bar) = &self.bar {
            bar.inc_length(places);
            return;
        }
        let bar = ProgressBar::with_draw_target(Some(places), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(self.what);
        self.bar = Some(bar);
    }

    /// One more place is done.
    pub fn advance(&mut self) {
        let Some(bar) = &self.bar else { return };
        bar.inc(1);
        if bar.is_hidden() && self.begun.elapsed() >= PATIENCE && io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl<R> Watch<R> for Places {
    fn start(&mut self, places: u64) {
        Places::start(self, places);
    }

    fn step(&mut self) {
        self.advance();
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
