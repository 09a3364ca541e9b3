//! The index of a table being written, in one block or in partitions.

use super::Output;
use super::options::{IndexLayout, WriterOptions, block_is_full};
use crate::block::IndexFormat;
use crate::block_builder::IndexBlockBuilder;
use crate::compression::Compression;
use crate::error::Problem;
use crate::handle::Handle;
use crate::internal_key::FOOTER_LEN;
use crate::separator::Shortening;
use std::io::Write;

/// Collects the index.
#[derive(Debug)]
pub(super) struct IndexBuilder {
    layout: IndexLayout,
    format: IndexFormat,
    restart_interval: u32,
    deviation: u32,
    shortening: Shortening,
    plain_keys: bool,
    /// Keys keep sequence number and type: in old formats, or if one block ends and the next begins with the
    /// same user key.
    with_footers: bool,
    partitions: Vec<Vec<Entry>>,
    open: Vec<Entry>,
    /// The open partition as blocks with and without footers, for its size.
    sizes: [IndexBlockBuilder; 2],
    cut_requested: bool,
    /// The key of the last entry, which closes a partition of the filter.
    last_separator: Vec<u8>,
}

#[derive(Debug)]
struct Entry {
    separator: Vec<u8>,
    handle: Handle,
    first_key: Vec<u8>,
}

/// A written index.
#[derive(Debug)]
pub(super) struct WrittenIndex {
    pub(super) handle: Handle,
    pub(super) user_keys: bool,
    /// Plain bytes of all index blocks, and one trailer, as RocksDB counts.
    pub(super) len: u64,
    pub(super) partitions: u64,
    /// Plain bytes of the top level.
    pub(super) top_len: u64,
}

impl IndexBuilder {
    pub(super) fn new(options: &WriterOptions) -> IndexBuilder {
        let first_keys = options.index == IndexLayout::FirstKey;
        let format = IndexFormat { delta_values: options.delta_values(), first_keys };
        let restart_interval = options.index_restart_interval;
        let size = || IndexBlockBuilder::new(restart_interval, format);
        IndexBuilder {
            layout: options.index,
            format,
            restart_interval,
            deviation: options.deviation,
            shortening: options.shortening(),
            plain_keys: options.plain_keys,
            with_footers: options.format.version() < 3,
            partitions: Vec::new(),
            open: Vec::new(),
            sizes: [size(), size()],
            cut_requested: false,
            last_separator: Vec::new(),
        }
    }

    /// Whether index keys are user keys. Known after the last block.
    pub(super) fn user_keys(&self) -> bool {
        !self.with_footers
    }

    /// The filter has enough keys: the partition ends with the next block.
    pub(super) fn request_cut(&mut self) {
        self.cut_requested = true;
    }

    /// Adds a data block that ends with the internal key `last` and is followed by one that begins with
    /// `next`.
    ///
    /// Where this begins a new partition, or ends the last, returns the key that closes the filter's
    /// partition: that of this block. The partition of the index that is closed ends one block before, as in
    /// RocksDB.
    pub(super) fn add(
        &mut self,
        last: &[u8],
        next: Option<&[u8]>,
        handle: Handle,
        first_key: &[u8],
    ) -> Option<&[u8]> {
        let cut = next.is_some() && !self.open.is_empty() && self.is_full(last.len(), handle);
        if cut {
            self.close_partition();
        }
        let separator = match next {
            Some(next) => self.shortening.between(last, next),
            None => self.shortening.after(last),
        };
        let user_key = &separator[..separator.len() - FOOTER_LEN];
        self.sizes[0].add(user_key, handle, first_key);
        self.sizes[1].add(&separator, handle, first_key);
        if let Some(next) = next {
            self.with_footers |= last[..last.len() - FOOTER_LEN] == next[..next.len() - FOOTER_LEN];
        }
        self.last_separator.clone_from(&separator);
        self.open.push(Entry { separator, handle, first_key: first_key.to_vec() });
        (cut || next.is_none()).then_some(&self.last_separator)
    }

    /// The block's rule for the open partition, measured as if it were written now.
    fn is_full(&self, key_len: usize, handle: Handle) -> bool {
        let IndexLayout::TwoLevel { target } = self.layout else { return false };
        let mut value = Vec::new();
        handle.encode(&mut value);
        let size = &self.sizes[usize::from(self.with_footers)];
        let guess = size.guess_with(key_len, value.len()) as u64;
        self.cut_requested || block_is_full(size.len() as u64, guess, target, self.deviation)
    }

    fn close_partition(&mut self) {
        self.partitions.push(std::mem::take(&mut self.open));
        for size in &mut self.sizes {
            size.finish();
        }
        self.cut_requested = false;
    }

    fn encode(&self, entries: &[Entry]) -> Vec<u8> {
        let footer = if self.with_footers && !self.plain_keys { 0 } else { FOOTER_LEN };
        let mut block = IndexBlockBuilder::new(self.restart_interval, self.format);
        for Entry { separator, handle, first_key } in entries {
            block.add(&separator[..separator.len() - footer], *handle, first_key);
        }
        block.finish()
    }

    /// Writes the index.
    pub(super) fn finish<W: Write>(
        &mut self,
        out: &mut Output<W>,
        compression: Compression,
    ) -> Result<WrittenIndex, Problem> {
        let user_keys = self.user_keys();
        let trailer = crate::handle::TRAILER_LEN;
        if !matches!(self.layout, IndexLayout::TwoLevel { .. }) {
            let block = self.encode(&self.open);
            let handle = out.block(&block, compression)?;
            let len = block.len() as u64 + trailer;
            return Ok(WrittenIndex { handle, user_keys, len, partitions: 0, top_len: 0 });
        }
        if !self.open.is_empty() {
            self.close_partition();
        }
        let (mut top, mut len) = (Vec::new(), trailer);
        for partition in &self.partitions {
            let block = self.encode(partition);
            len += block.len() as u64;
            let handle = out.block(&block, compression)?;
            let separator = partition.last().map_or_else(Vec::new, |entry| entry.separator.clone());
            top.push(Entry { separator, handle, first_key: Vec::new() });
        }
        let block = self.encode(&top);
        let handle = out.block(&block, compression)?;
        let (partitions, top_len) = (self.partitions.len() as u64, block.len() as u64);
        Ok(WrittenIndex { handle, user_keys, len: len + top_len, partitions, top_len })
    }
}
