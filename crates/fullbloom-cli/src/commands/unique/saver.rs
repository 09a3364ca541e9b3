//! Saves the state at intervals, also while no keys come, and when a signal stops the run.

#[cfg(unix)]
use super::signals::{self, Stops};
use crate::error::Failure;
use fullbloom_core::threads::start;
use fullbloom_ops::filter::Changing;
#[cfg(unix)]
use std::sync::TryLockError;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// How long a signal waits for the keys that are being printed, or for a save at an interval.
#[cfg(unix)]
const PATIENCE: Duration = Duration::from_secs(10);

/// The keys seen so far, and when they are saved.
pub struct Saver {
    state: Mutex<State>,
    every: Option<Duration>,
    /// Whether there is a file to save to.
    has_file: bool,
    /// There is something to save, or the work has ended.
    changed: Condvar,
}

/// What the threads share.
pub struct State {
    pub seen: Changing,
    /// Whether something changed since the last save.
    pub unsaved: bool,
    saved_at: Instant,
    /// The work has ended, well or not: the threads here save nothing any more.
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
    pub fn new(seen: Changing, every: Option<Duration>, has_file: bool) -> Saver {
        let state = State { seen, unsaved: false, saved_at: Instant::now(), ended: false };
        Saver { state: Mutex::new(state), every, has_file, changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The lock, unless it is not free within this time.
    #[cfg(unix)]
    fn lock_within(&self, patience: Duration) -> Option<MutexGuard<'_, State>> {
        let began = Instant::now();
        loop {
            match self.state.try_lock() {
                Ok(state) => return Some(state),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if began.elapsed() > patience => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Changes the state. What it holds afterwards may be saved at any time: keys must have been printed.
    pub fn change(&self, change: impl FnOnce(&mut State) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut state = self.lock();
        change(&mut state).inspect_err(|_| state.ended = true)?;
        let Some(every) = self.every else { return Ok(()) };
        state.save_if_due(every)?;
        self.changed.notify_one();
        Ok(())
    }

    /// Does the work. Meanwhile, the state is saved at every interval, and before a signal ends the process.
    pub fn beside(&self, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        if !self.has_file {
            return work();
        }
        thread::scope(|scope| {
            if let Some(every) = self.every {
                // Without this thread, the state is saved only when keys come.
                let _ = start(scope, move || self.save_at_intervals(every));
            }
            #[cfg(unix)]
            let stops = self.save_when_stopped(scope);
            let worked = work();
            self.lock().ended = true;
            self.changed.notify_one();
            #[cfg(unix)]
            if let Some(stops) = stops {
                stops.close();
            }
            worked
        })
    }

    /// Waits for signals in a thread. Returns what ends the wait; `None` if signals end the process as usual.
    #[cfg(unix)]
    fn save_when_stopped<'s>(
        &'s self,
        scope: &'s thread::Scope<'s, '_>,
    ) -> Option<signal_hook::iterator::Handle> {
        let mut stops = Stops::new().ok()?;
        let handle = stops.handle();
        let wait = move || {
            if let Some(signal) = stops.wait() {
                self.save_and_end(signal);
            }
        };
        start(scope, wait).map(|_| handle)
    }

    /// Saves what was printed, and ends the process. If nobody reads the output, the keys that wait to be
    /// printed must not be saved as known.
    #[cfg(unix)]
    fn save_and_end(&self, signal: i32) {
        let Some(mut state) = self.lock_within(PATIENCE) else {
            let why = "not saved within ten seconds: nobody reads the output, or the last save takes longer";
            Failure::new("--state", why).report();
            signals::end_by(signal)
        };
        if state.ended {
            return; // the state is just being saved for the last time, or must not be saved
        }
        let saved = match state.unsaved || !state.seen.is_saved() {
            true => state.seen.save(),
            false => Ok(()),
        };
        state.seen.abandon();
        match saved {
            Ok(()) => signals::end_by(signal),
            Err(e) => std::process::exit(Failure::from(e).report().code().into()),
        }
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
