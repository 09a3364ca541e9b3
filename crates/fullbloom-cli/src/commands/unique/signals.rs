//! Signals that stop a run: the state is saved before the process ends.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;
use std::io;

/// The signals that stop the process. Further ones change nothing: a terminal and a supervisor may both send
/// one, and the save after the first must not be cut off.
pub struct Stops(Signals);

impl Stops {
    /// From now on these signals do not end the process.
    pub fn new() -> io::Result<Stops> {
        Ok(Stops(Signals::new([SIGINT, SIGTERM, SIGHUP])?))
    }

    /// Ends the wait in another thread.
    pub fn handle(&self) -> Handle {
        self.0.handle()
    }

    /// Waits for the first signal; `None` if the wait was ended.
    pub fn wait(&mut self) -> Option<i32> {
        self.0.forever().next()
    }
}

/// Ends the process as the signal would have done, so that its parent sees the signal.
pub fn end_by(signal: i32) -> ! {
    let _ = emulate_default_handler(signal); // it does not return for signals that end a process
    std::process::exit(128 + signal)
}
