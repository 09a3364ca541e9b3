//! The same work on many places, on all cores, with the results in order as they come.

use crate::report::Watch;
use std::ops::ControlFlow;
use std::thread;

/// Places that are worked on before their results are handed out.
const AT_ONCE: usize = 8;

fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Works on every item on several threads, and hands out the results in the order of the items, a few at a
/// time, so that a long job shows progress. Ends when `each` breaks off.
pub(crate) fn each<T: Sync, R, F: Send>(
    items: &[T],
    work: impl Fn(&T) -> F + Sync,
    watch: &mut dyn Watch<R>,
    mut each: impl FnMut(F, &mut dyn Watch<R>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    watch.start(items.len() as u64);
    let threads = threads();
    for some in items.chunks(AT_ONCE * threads) {
        for found in fullbloom_sstable::pool::in_order(some, threads, &work) {
            watch.step();
            each(found, watch)?;
        }
    }
    ControlFlow::Continue(())
}
