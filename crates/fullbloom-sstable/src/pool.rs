//! The same work on many sstables, on several threads, with the results in order.

use fullbloom_core::threads::on_threads;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `work` on every item, on up to `threads` threads, and returns the results in the order of the items.
///
/// ```
/// use fullbloom_sstable::pool;
///
/// assert_eq!(pool::in_order(&[1, 2, 3], 2, |n| n * n), [1, 4, 9]);
/// ```
pub fn in_order<T: Sync, R: Send>(items: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = threads.clamp(1, items.len().max(1));
    if threads == 1 {
        return items.iter().map(work).collect();
    }
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(items.len())));
    let run = |_| {
        while let Some((number, item)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            items.get(number).map(|item| (number, item))
        } {
            let result = work(item);
            done.lock().expect("no thread panics while it holds the lock").push((number, result));
        }
    };
    on_threads(threads, run);
    let mut done = done.into_inner().expect("no thread panics while it holds the lock");
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items_on_any_number_of_threads() {
        let items: Vec<u64> = (0..1000).collect();
        let expected: Vec<u64> = items.iter().map(|n| n * 3).collect();
        for threads in [0, 1, 2, 7, 5000] {
            assert_eq!(in_order(&items, threads, |n| n * 3), expected);
        }
        assert!(in_order(&[], 4, |n: &u64| *n).is_empty());
    }
}
