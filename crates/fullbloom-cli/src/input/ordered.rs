//! Blocks of records processed by several threads, and their results committed in the order of the blocks.
//!
//! ```text
//!   read a block (one thread at a time) ─► work on its keys (all threads at once) ─► commit (one at a time, in order)
//! ```
//!
//! A thread does all three for a block before it takes the next, so there are never more blocks in memory
//! than threads.

use super::batches::{Batch, SplitError, Splitter};
use super::blocks::{Block, Blocks};
use super::source::{Header, Label, Source};
use super::{KeyFormat, Keys, warn_of_lines};
use crate::error::Failure;
use crate::progress::Progress;
use fullbloom_core::threads::on_threads;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::{slice, thread};

/// More threads only wait for each other: one reads, and one commits.
const MOST_THREADS: usize = 16;

/// The number of threads: the cores available to us, up to a limit.
pub fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

impl Keys {
    /// Processes all keys on up to `threads` threads.
    ///
    /// `work` gets the batches of a block and a `T` to collect in; `commit` gets every `T`, and the bytes of
    /// its block, in order, and may break off. A `T` is used again, so `commit` must reset it.
    pub fn in_order<T: Default + Send>(
        &mut self,
        progress: &Progress,
        threads: usize,
        work: impl Fn(&Batch<'_>, &mut T) -> Result<(), Failure> + Sync,
        commit: impl FnMut(&mut T, &[u8]) -> Result<ControlFlow<()>, Failure> + Send,
    ) -> Result<(), Failure> {
        let format = self.format.clone();
        let Keys { sources, lines_checked, .. } = self;
        let reader = Reader {
            sources: sources.iter_mut(),
            current: None,
            progress,
            format: format.clone(),
            lines_checked,
            next: 0,
        };
        let turn = Turn { next: 0, commit, source: 0, records: 0, ended: None };
        let shared =
            Shared { format, reader: Mutex::new(reader), turn: Mutex::new(turn), changed: Condvar::new() };
        on_threads(threads, |_| shared.run(&work));
        let turn = shared.turn.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        turn.ended.unwrap_or(Ok(()))
    }
}

/// Where the blocks come from.
struct Reader<'a> {
    sources: slice::IterMut<'a, Source>,
    current: Option<(Origin, Blocks<'a>)>,
    progress: &'a Progress,
    format: KeyFormat,
    lines_checked: &'a mut bool,
    /// Number of the next block.
    next: u64,
}

/// The source of a block.
#[derive(Clone)]
struct Origin {
    name: Label,
    header: Option<Header>,
}

/// A block that was read, or why it was not.
struct Taken {
    number: u64,
    read: Result<Origin, Failure>,
    /// Sources begun so far: records are numbered from 1 in each source.
    source: usize,
}

impl<'a> Reader<'a> {
    /// `None` after the last block.
    fn take(&mut self, block: &mut Block) -> Option<Taken> {
        let read = loop {
            let Some((origin, blocks)) = &mut self.current else {
                let source = self.sources.next()?;
                let origin = Origin { name: source.name(), header: source.header() };
                if let Some(header) = origin.header {
                    self.format.part.field = Some(header.field);
                }
                match source.open(self.progress, self.format.expected()) {
                    Ok(bytes) => self.current = Some((origin, Blocks::new(bytes, self.format.end))),
                    Err(failure) => break Err(failure),
                }
                continue;
            };
            match blocks.next(block) {
                Ok(true) => {
                    warn_of_lines(self.lines_checked, &origin.name, block.bytes(), &self.format);
                    break Ok(origin.clone());
                }
                Ok(false) => self.current = None,
                Err(e) => break Err(origin.name.failed(&e)),
            }
        };
        if read.is_err() {
            (self.sources, self.current) = ([].iter_mut(), None); // nothing more
        }
        self.next += 1;
        Some(Taken { number: self.next - 1, read, source: self.sources.len() })
    }
}

/// Whose turn it is to commit.
struct Turn<C> {
    /// Number of the block.
    next: u64,
    commit: C,
    /// The source of the last block, and how many of its records have been committed.
    source: usize,
    records: u64,
    /// Why the work has ended, once it has.
    ended: Option<Result<(), Failure>>,
}

struct Shared<'a, C> {
    format: KeyFormat,
    reader: Mutex<Reader<'a>>,
    turn: Mutex<Turn<C>>,
    changed: Condvar,
}

/// Ignores the poison of a lock: the panic of its holder ends the command anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl<C> Shared<'_, C> {
    /// The loop of each thread.
    fn run<T: Default>(&self, work: &impl Fn(&Batch<'_>, &mut T) -> Result<(), Failure>)
    where
        C: FnMut(&mut T, &[u8]) -> Result<ControlFlow<()>, Failure>,
    {
        let _end = EndOnPanic(self);
        let (mut block, mut result, mut splitter) =
            (Block::default(), T::default(), Splitter::new(self.format.clone()));
        loop {
            if lock(&self.turn).ended.is_some() {
                return;
            }
            let Some(taken) = lock(&self.reader).take(&mut block) else { return };
            let worked = taken.read.map(|origin| {
                if let Some(header) = origin.header {
                    splitter.set_field(header.field);
                }
                let split = splitter.split(block.bytes(), &mut |batch| {
                    work(batch, &mut result)?;
                    Ok(ControlFlow::Continue(()))
                });
                (origin, split.map(|_| ()))
            });
            let mut turn = lock(&self.turn);
            while turn.next != taken.number && turn.ended.is_none() {
                turn = self.changed.wait(turn).unwrap_or_else(|poisoned| poisoned.into_inner());
            }
            if turn.ended.is_some() {
                return;
            }
            turn.next += 1;
            if turn.source != taken.source {
                (turn.source, turn.records) = (taken.source, 0);
            }
            match turn.commit(&mut result, block.bytes(), worked, splitter.take_count()) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => turn.ended = Some(Ok(())),
                Err(failure) => turn.ended = Some(Err(failure)),
            }
            drop(turn);
            self.changed.notify_all();
        }
    }
}

impl<C> Turn<C> {
    /// The records before an invalid one are committed, too.
    fn commit<T>(
        &mut self,
        result: &mut T,
        block: &[u8],
        worked: Result<(Origin, Result<(), SplitError>), Failure>,
        records: u64,
    ) -> Result<ControlFlow<()>, Failure>
    where
        C: FnMut(&mut T, &[u8]) -> Result<ControlFlow<()>, Failure>,
    {
        let (Origin { name, header }, split) = worked?;
        let flow = (self.commit)(result, block)?;
        let before = self.records;
        self.records += records;
        match (flow, split) {
            (ControlFlow::Continue(()), Err(e)) => Err(e.after(before).in_source(&name, header)),
            (flow, _) => Ok(flow),
        }
    }
}

/// A thread that panics would leave the others waiting for its turn.
struct EndOnPanic<'a, 'b, C>(&'a Shared<'b, C>);

impl<C> Drop for EndOnPanic<'_, '_, C> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.turn).ended.get_or_insert(Ok(()));
            self.0.changed.notify_all();
        }
    }
}
