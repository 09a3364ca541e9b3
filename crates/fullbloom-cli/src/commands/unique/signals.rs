//! Signals that stop a run: the state is saved before the process ends.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const STOPPING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The signals that stop the process. A second one ends it at once: the first may wait for a reader of the
/// output that does not read.
pub struct Stops(Signals);

impl Stops {
    /// From now on these signals do not end the process.
    pub fn new() -> io::Result<Stops> {
        let second = Arc::new(AtomicBool::new(false));
        for signal in STOPPING {
            flag::register_conditional_default(signal, Arc::clone(&second))?;
            flag::register(signal, Arc::clone(&second))?;
        }
        Ok(Stops(Signals::new(STOPPING)?))
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
