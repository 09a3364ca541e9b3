//! Saves the state at intervals, also while no keys come.

use crate::error::Failure;
use fullbloom_ops::filter::Changing;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// The keys seen so far, and when they are saved.
pub struct Saver {
    state: Mutex<State>,
    every: Option<Duration>,
    /// There is something to save, or the work has ended.
    changed: Condvar,
}

/// What the threads share.
pub struct State {
    pub seen: Changing,
    /// Whether something changed since the last save.
    pub unsaved: bool,
    saved_at: Instant,
    ended: bool,
}

impl State {
    /// How long the next save can wait; `None` if there is nothing to save.
    fn wait(&self, every: Duration) -> Option<Duration> {
        self.unsaved.then(|| every.saturating_sub(self.saved_at.elapsed()))
    }

    fn save_if_due(&mut self, every: Duration) -> Result<(), Failure> {
        if self.wait(every).is_some_and(|wait| wait.is_zero()) {
            self.seen.save()?;
            (self.saved_at, self.unsaved) = (Instant::now(), false);
        }
        Ok(())
    }
}

impl Saver {
    pub fn new(seen: Changing, every: Option<Duration>) -> Saver {
        let state = State { seen, unsaved: false, saved_at: Instant::now(), ended: false };
        Saver { state: Mutex::new(state), every, changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Changes the state. What it holds afterwards may be saved at any time: keys must have been printed.
    pub fn change(&self, change: impl FnOnce(&mut State) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut state = self.lock();
        change(&mut state)?;
        let Some(every) = self.every else { return Ok(()) };
        state.save_if_due(every)?;
        self.changed.notify_one();
        Ok(())
    }

    /// Does the work. Meanwhile, the state is saved at every interval.
    pub fn beside(&self, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        let Some(every) = self.every else { return work() };
        thread::scope(|scope| {
            // Without this thread, the state is saved only when keys come.
            let _ = thread::Builder::new().spawn_scoped(scope, || self.save_at_intervals(every));
            let worked = work();
            self.lock().ended = true;
            self.changed.notify_one();
            worked
        })
    }

    fn save_at_intervals(&self, every: Duration) {
        let mut state = self.lock();
        while !state.ended {
            if let Err(failure) = state.save_if_due(every) {
                state.seen.abandon();
                // The other thread may wait for input for ever.
                std::process::exit(failure.report().code().into());
            }
            state = match state.wait(every) {
                Some(wait) => self
                    .changed
                    .wait_timeout(state, wait)
                    .map_or_else(|e| e.into_inner().0, |(state, _)| state),
                None => self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner()),
            };
        }
    }

    /// The state after the work.
    pub fn into_state(self) -> State {
        self.state.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
