//! The table behind the numbers that Java and C hold. A number is a slot and its generation, so one that was given back
//! is recognised, and the object itself lives as long as a call that still uses it.
//!
//! Lock order: the table's lock is taken last and never held while an object is used or dropped.

use sluice_base::{Error, ErrorKind, Result, Subject};
use std::any::Any;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Slot in the low 32 bits, generation above; never 0, never negative.
pub type Handle = i64;

/// Something a handle may stand for.
pub trait Held: Any {
    /// Its name in messages.
    fn noun() -> &'static str
    where
        Self: Sized;

    /// Its handle was given back: calls under way should end soon.
    fn leave(&self) {}

    /// Ends it, after everything made from it was dropped or is in its last call.
    ///
    /// # Errors
    /// What could not be brought to a good end; it is ended all the same.
    fn end(&self) -> Result<()> {
        Ok(())
    }
}

type Object = Arc<dyn Held + Send + Sync>;

struct Entry {
    object: Object,
    /// What it was made from; 0 for a connection.
    parent: Handle,
}

#[derive(Default)]
struct Slot {
    /// That of the entry; without one, that of the next.
    generation: u32,
    entry: Option<Entry>,
}

struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    live: usize,
}

static TABLE: RwLock<Table> = RwLock::new(Table { slots: Vec::new(), free: Vec::new(), live: 0 });

fn read() -> RwLockReadGuard<'static, Table> {
    TABLE.read().unwrap_or_else(PoisonError::into_inner)
}

fn write() -> RwLockWriteGuard<'static, Table> {
    TABLE.write().unwrap_or_else(PoisonError::into_inner)
}

fn pack(slot: u32, generation: u32) -> Handle {
    i64::from(generation) << 32 | i64::from(slot)
}

impl Table {
    fn entry(&self, handle: Handle) -> Option<&Entry> {
        let slot = self.slots.get((handle & i64::from(u32::MAX)) as usize)?;
        slot.entry.as_ref().filter(|_| i64::from(slot.generation) == handle >> 32)
    }

    fn put(&mut self, object: Object, parent: Handle) -> Result<Handle> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.slots.push(Slot { generation: 1, entry: None });
                u32::try_from(self.slots.len() - 1).map_err(|_| Error::internal("2^32 handles are open"))?
            }
        };
        let slot = &mut self.slots[index as usize];
        slot.entry = Some(Entry { object, parent });
        self.live += 1;
        Ok(pack(index, slot.generation))
    }

    fn take(&mut self, handle: Handle) -> Option<Object> {
        self.entry(handle)?;
        let index = (handle & i64::from(u32::MAX)) as u32;
        let slot = &mut self.slots[index as usize];
        let entry = slot.entry.take()?;
        self.live -= 1;
        slot.generation += 1;
        // A slot that has used its generations up is left empty for ever, so that no number comes twice.
        if slot.generation < i32::MAX as u32 {
            self.free.push(index);
        }
        Some(entry.object)
    }

    fn children(&self, parent: Handle) -> Vec<Handle> {
        let of = |(index, slot): (usize, &Slot)| {
            slot.entry.as_ref().filter(|entry| entry.parent == parent && parent != 0)?;
            Some(pack(index as u32, slot.generation))
        };
        self.slots.iter().enumerate().filter_map(of).collect()
    }
}

fn closed(noun: &str) -> Error {
    Error::new(ErrorKind::Closed, Subject::None, format!("this {noun} is closed; open a new one"))
}

/// Gives an object a number.
///
/// # Errors
/// `Internal` when there are no more numbers.
pub fn insert(object: impl Held + Send + Sync) -> Result<Handle> {
    write().put(Arc::new(object), 0)
}

/// Gives an object made from `parent` a number.
///
/// # Errors
/// `Closed` when the parent was closed meanwhile.
pub fn insert_child<P: Held>(object: impl Held + Send + Sync, parent: Handle) -> Result<Handle> {
    let object = Arc::new(object);
    let mut table = write();
    if table.entry(parent).is_none() {
        drop(table); // the object is dropped after the lock
        return Err(closed(P::noun()));
    }
    table.put(object, parent)
}

/// The object behind a number.
///
/// # Errors
/// `Closed` for a number that was given back; `Invalid` for one of another type.
pub fn get<T: Held + Send + Sync>(handle: Handle) -> Result<Arc<T>> {
    let object = read().entry(handle).map(|entry| entry.object.clone());
    let object: Arc<dyn Any + Send + Sync> = object.ok_or_else(|| closed(T::noun()))?;
    object
        .downcast()
        .map_err(|_| Error::invalid(Subject::None, format!("handle {handle} is not that of a {}", T::noun())))
}

/// Gives a number back, and those of everything made from it. Calls under way end on their own reference. A number already given back is no
/// error.
///
/// # Errors
/// As [`Held::end`]; the number is given back all the same.
pub fn close(handle: Handle) -> Result<()> {
    let (children, object) = {
        let mut table = write();
        let children = table.children(handle).into_iter().filter_map(|child| table.take(child)).collect::<Vec<_>>();
        (children, table.take(handle))
    };
    // All are told before anything is dropped, for a drop may wait for calls under way.
    children.iter().chain(&object).for_each(|held| held.leave());
    drop(children);
    object.map_or(Ok(()), |held| held.end())
}

/// How many numbers are in use.
pub fn live() -> usize {
    read().live
}

#[cfg(test)]
mod tests;
