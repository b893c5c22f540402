//! Parts of remote files that were read last, so that readers who walk through one do not ask for each batch anew.

use bytes::Bytes;
use sluice_base::{Error, Result};
use sluice_lake::Storage;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Asked for at once.
const BLOCK_BYTES: u64 = 4 << 20;
/// So many blocks are kept, over all files: 64 MiB.
const BLOCKS_MAX: usize = 16;

/// The kept blocks of one store, last used last.
#[derive(Debug, Default)]
pub(crate) struct Blocks(Mutex<VecDeque<Block>>);

#[derive(Debug, Clone)]
struct Block {
    name: Arc<str>,
    number: u64,
    content: Bytes,
}

impl Blocks {
    /// Reads up to `buf.len()` bytes at `position` of a file of `length` bytes; fewer only at its end.
    ///
    /// # Errors
    /// `NotFound` about `File`, `Io`; `Corrupt` when the file is shorter than it was.
    pub(crate) fn read(
        &self,
        storage: &dyn Storage,
        name: &Arc<str>,
        length: u64,
        buf: &mut [u8],
        position: u64,
    ) -> Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            let at = position + done as u64;
            if at >= length {
                break;
            }
            let block = self.block(storage, name, at / BLOCK_BYTES, length)?;
            let within = usize::try_from(at % BLOCK_BYTES).unwrap_or(usize::MAX);
            let part = block.get(within..).unwrap_or_default();
            let wanted = buf.get_mut(done..).unwrap_or_default();
            let n = part.len().min(wanted.len());
            if n == 0 {
                break;
            }
            if let (Some(to), Some(from)) = (wanted.get_mut(..n), part.get(..n)) {
                to.copy_from_slice(from);
            }
            done += n;
        }
        Ok(done)
    }

    fn block(&self, storage: &dyn Storage, name: &Arc<str>, number: u64, length: u64) -> Result<Bytes> {
        if let Some(content) = self.kept(name, number) {
            return Ok(content);
        }
        let start = number * BLOCK_BYTES;
        let wanted = usize::try_from(BLOCK_BYTES.min(length - start)).unwrap_or(usize::MAX);
        // Without the lock: others read on from what is kept. Two may read the same.
        let content = storage.open(name)?.read_range(start, wanted)?;
        if content.len() < wanted {
            let there = start + content.len() as u64;
            return Err(Error::corrupt(format!(
                "the remote copy {name} has {there} bytes, not {length}; put it back from a backup"
            )));
        }
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if blocks.len() >= BLOCKS_MAX {
            blocks.pop_front();
        }
        blocks.push_back(Block { name: Arc::clone(name), number, content: content.clone() });
        Ok(content)
    }

    fn kept(&self, name: &Arc<str>, number: u64) -> Option<Bytes> {
        // Whole entries, whatever panicked.
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = blocks.iter().position(|b| b.number == number && b.name == *name)?;
        let block = blocks.remove(at)?;
        let content = block.content.clone();
        blocks.push_back(block);
        Some(content)
    }

    /// Forgets a file that is removed: another may get its name.
    pub(crate) fn forget(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|b| *b.name != *name);
    }
}
