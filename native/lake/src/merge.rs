//! Merging runs that are sorted by key into the newest row of each key.
//!
//! Memory: one batch of every run, and those that the rows being put out are in.

use crate::file_series::FileSeries;
use crate::keyed_writer::{key_rows, retracts};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_row::Rows;
use arrow_select::interleave::interleave;
use sluice_base::{Error, Result};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A batch of a run: its keys to compare, sequence numbers, kinds, and the columns wanted.
struct Block {
    keys: Rows,
    sequences: ArrayRef,
    kinds: ArrayRef,
    columns: Vec<ArrayRef>,
    rows: usize,
}

/// Files being read whose keys follow one another.
struct Run {
    files: FileSeries,
    key_columns: usize,
}

impl Run {
    /// The next batch. The files give sequence numbers, kinds, keys, then the columns wanted.
    fn next(&mut self) -> Result<Option<Block>> {
        let Some((mut columns, rows)) = self.files.next()? else { return Ok(None) };
        let wanted = columns.split_off(2 + self.key_columns);
        let keys = key_rows(&columns[2..])?;
        columns.truncate(2);
        let (Some(kinds), Some(sequences)) = (columns.pop(), columns.pop()) else { return Ok(None) };
        if sequences.as_primitive_opt::<Int64Type>().is_none() || kinds.as_primitive_opt::<Int8Type>().is_none() {
            return Err(Error::corrupt("a data file's sequence numbers or kinds are of a wrong type"));
        }
        Ok(Some(Block { keys, sequences, kinds, columns: wanted, rows }))
    }
}

impl Block {
    fn sequence(&self, row: usize) -> i64 {
        self.sequences.as_primitive::<Int64Type>().value(row)
    }

    fn retracts(&self, row: usize) -> bool {
        retracts(self.kinds.as_primitive::<Int8Type>().value(row))
    }
}

/// Where a run stands: its key bytes, then newest first.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    key: Box<[u8]>,
    sequence: Reverse<i64>,
    run: usize,
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.key, self.sequence, self.run).cmp(&(&other.key, other.sequence, other.run))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Changes as a merge gives them out.
pub(crate) struct Changes {
    pub(crate) sequences: ArrayRef,
    pub(crate) kinds: ArrayRef,
    /// The columns wanted.
    pub(crate) columns: Vec<ArrayRef>,
    pub(crate) rows: usize,
}

/// The newest rows of all keys, in key order.
pub(crate) struct Merge {
    runs: Vec<Run>,
    /// The batch that each run is in, as a number in `blocks`, and the row.
    cursors: Vec<(usize, usize)>,
    blocks: Vec<Block>,
    heads: BinaryHeap<Reverse<Head>>,
    batch_rows: usize,
}

impl std::fmt::Debug for Merge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Merge").field("runs", &self.runs.len()).finish_non_exhaustive()
    }
}

impl Merge {
    /// Merges runs whose files give sequence number, kind, `key_columns` key columns, then the columns wanted.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn new(runs: Vec<FileSeries>, key_columns: usize, batch_rows: usize) -> Result<Self> {
        let runs: Vec<Run> = runs.into_iter().map(|files| Run { files, key_columns }).collect();
        let cursors = vec![(usize::MAX, 0); runs.len()];
        let mut merge =
            Self { runs, cursors, blocks: Vec::new(), heads: BinaryHeap::new(), batch_rows: batch_rows.max(1) };
        for run in 0..merge.runs.len() {
            merge.load(run)?;
        }
        Ok(merge)
    }

    /// Takes the next batch of a run in.
    fn load(&mut self, run: usize) -> Result<()> {
        if let Some(block) = self.runs[run].next()? {
            self.cursors[run] = (self.blocks.len(), 0);
            self.blocks.push(block);
            self.push_head(run);
        }
        Ok(())
    }

    fn push_head(&mut self, run: usize) {
        let (block, row) = self.cursors[run];
        let block = &self.blocks[block];
        let key = block.keys.row(row).as_ref().into();
        self.heads.push(Reverse(Head { key, sequence: Reverse(block.sequence(row)), run }));
    }

    /// Moves a run on by one row.
    fn step(&mut self, run: usize) -> Result<()> {
        let (block, row) = self.cursors[run];
        if row + 1 < self.blocks[block].rows {
            self.cursors[run] = (block, row + 1);
            self.push_head(run);
            return Ok(());
        }
        self.load(run)
    }

    /// The next rows: their columns, and how many. Keys whose newest change takes them away are left out.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn next(&mut self) -> Result<Option<(Vec<ArrayRef>, usize)>> {
        let chosen = self.choose(false)?;
        if chosen.is_empty() {
            return Ok(None);
        }
        Ok(Some((self.columns(&chosen)?, chosen.len())))
    }

    /// The newest changes of the next keys; with `deletes` also those that take a row away.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn next_changes(&mut self, deletes: bool) -> Result<Option<Changes>> {
        let chosen = self.choose(deletes)?;
        if chosen.is_empty() {
            return Ok(None);
        }
        let sequences = self.gather(|block| &block.sequences, &chosen)?;
        let kinds = self.gather(|block| &block.kinds, &chosen)?;
        Ok(Some(Changes { sequences, kinds, columns: self.columns(&chosen)?, rows: chosen.len() }))
    }

    /// Block and row of the newest change of each of the next keys.
    fn choose(&mut self, deletes: bool) -> Result<Vec<(usize, usize)>> {
        self.forget_blocks();
        let mut chosen: Vec<(usize, usize)> = Vec::with_capacity(self.batch_rows);
        while chosen.len() < self.batch_rows {
            let Some(Reverse(head)) = self.heads.pop() else { break };
            let (block, row) = self.cursors[head.run];
            if deletes || !self.blocks[block].retracts(row) {
                chosen.push((block, row));
            }
            self.step(head.run)?;
            // Older changes of the same key.
            while let Some(Reverse(older)) = self.heads.peek().filter(|Reverse(next)| next.key == head.key) {
                let run = older.run;
                self.heads.pop();
                self.step(run)?;
            }
        }
        Ok(chosen)
    }

    fn columns(&self, chosen: &[(usize, usize)]) -> Result<Vec<ArrayRef>> {
        let width = self.blocks.first().map_or(0, |b| b.columns.len());
        (0..width).map(|i| self.gather(|block| &block.columns[i], chosen)).collect()
    }

    fn gather<'b>(&'b self, pick: impl Fn(&'b Block) -> &'b ArrayRef, chosen: &[(usize, usize)]) -> Result<ArrayRef> {
        let arrays: Vec<&dyn Array> = self.blocks.iter().map(|block| pick(block).as_ref()).collect();
        interleave(&arrays, chosen).map_err(|e| Error::internal(format!("cannot merge lake rows: {e}")).with_source(e))
    }

    /// Drops batches that no run is in any more.
    fn forget_blocks(&mut self) {
        let mut blocks: Vec<Option<Block>> = std::mem::take(&mut self.blocks).into_iter().map(Some).collect();
        for cursor in &mut self.cursors {
            if let Some(block) = blocks.get_mut(cursor.0).and_then(Option::take) {
                *cursor = (self.blocks.len(), cursor.1);
                self.blocks.push(block);
            } else {
                *cursor = (usize::MAX, 0);
            }
        }
    }
}
