//! Work spread over threads. A thread that cannot be started is not an error: the calling thread does its
//! share.

use crate::error::SizeError;
use std::sync::{Mutex, mpsc};
use std::thread::{Builder, Scope, ScopedJoinHandle, scope};

/// Stack of a thread, in bytes: the standard library's default.
const STACK: usize = 2 << 20;

/// Runs `work` with each of the numbers below `threads`, as far as possible at once; 0 runs on the calling
/// thread. Returns the results in the order of the numbers.
///
/// No thread begins its work before all threads have started: memory that one allocates could otherwise be
/// what the next one lacks to start.
pub fn on_threads<R: Send>(threads: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let gate = Mutex::new(());
    scope(|scope| {
        let (work, gate) = (&work, &gate);
        let closed = gate.lock();
        let begin = |number| {
            let own_work = move || {
                drop(gate.lock());
                work(number)
            };
            start(scope, own_work)
        };
        let others: Vec<_> = (1..threads).map_while(begin).collect();
        drop(closed);
        let mut results = vec![work(0)];
        results.extend(others.into_iter().map(|thread| thread.join().expect("a thread panicked")));
        results.extend((results.len()..threads).map(work));
        results
    })
}

/// The same for work that can fail. All of it is done; the first error, in the order of the numbers, is
/// returned.
pub fn try_on_threads<R: Send>(
    threads: usize,
    work: impl Fn(usize) -> Result<R, SizeError> + Sync,
) -> Result<Vec<R>, SizeError> {
    on_threads(threads, work).into_iter().collect()
}

/// Starts one thread, and waits until it runs. Returns `None` if the system has no thread or no memory for
/// it.
pub fn start<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> R + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, R>> {
    if !has_room() {
        return None;
    }
    let (started, wait) = mpsc::channel();
    let announced = move || {
        let _ = started.send(());
        work()
    };
    let thread = Builder::new().stack_size(STACK).spawn_scoped(scope, announced).ok()?;
    let _ = wait.recv();
    Some(thread)
}

/// Whether the system would map the two stacks of a thread. Only a mapping can tell: the allocator may take
/// the same number of bytes from memory that it already has.
#[cfg(feature = "mmap")]
fn has_room() -> bool {
    // The standard library maps a second stack for the handler of stack overflows, and aborts the process if
    // the system refuses it.
    const BESIDE_STACK: usize = 256 << 10;
    memmap2::MmapMut::map_anon(STACK + BESIDE_STACK).is_ok()
}

#[cfg(not(feature = "mmap"))]
fn has_room() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_worked_on_once_and_results_are_in_order() {
        for threads in [0, 1, 2, 7, 100] {
            let results = on_threads(threads, |number| number * 3);
            assert_eq!(results, (0..threads.max(1)).map(|number| number * 3).collect::<Vec<_>>());
        }
    }
}
