//! Counts what the engine holds of the system allocator's memory. RocksDB allocates past it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// So many counters that threads seldom meet at one; a block's address picks its counter, so that whoever frees it finds the same one.
const COUNTERS: usize = 16;

#[repr(align(64))]
struct Counter(AtomicI64);

static BYTES: [Counter; COUNTERS] = [const { Counter(AtomicI64::new(0)) }; COUNTERS];

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(address: *mut u8, bytes: usize, sign: i64) {
    // Bits above the page, folded: neighbours on one page share a counter, threads' arenas do not.
    let page = address as usize >> 12;
    let at = (page ^ (page >> 4) ^ (page >> 14)) % COUNTERS;
    BYTES[at].0.fetch_add(sign * bytes as i64, Relaxed);
}

// SAFETY: every call goes to the system allocator unchanged; counting touches no memory of the block.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            count(block, layout.size(), 1);
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            count(block, layout.size(), 1);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(block, layout.size(), -1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        let moved = unsafe { System.realloc(block, layout, size) };
        if !moved.is_null() {
            count(block, layout.size(), -1);
            count(moved, size, 1);
        }
        moved
    }
}

/// Bytes allocated and not yet freed.
pub fn allocated_bytes() -> i64 {
    BYTES.iter().map(|counter| counter.0.load(Relaxed)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_block_is_counted_while_it_lives() {
        const LARGE: usize = 64 << 20;
        let before = allocated_bytes();
        let block = vec![1_u8; LARGE];
        let during = allocated_bytes();
        drop(block);
        // Other tests allocate meanwhile, but not that much.
        let large = i64::try_from(LARGE).unwrap();
        assert!(during - before > large / 2, "{before} {during}");
        assert!(during - allocated_bytes() > large / 2);
    }
}
