//! The table behind the numbers that Java and C hold. A number is a slot and its generation, so one that was given back
//! is recognised, and the object itself lives as long as a call that still uses it.
//!
//! Lock order: the table's lock is taken last and never held while an object is used or dropped.

use crate::connection::OpenConnection;
use crate::lookup::OpenLookup;
use crate::scanner::OpenScanner;
use crate::writer::OpenWriter;
use sluice_base::{Error, ErrorKind, Result, Subject};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Slot in the low 32 bits, generation above; never 0, never negative.
pub type Handle = i64;

/// Something a handle may stand for.
#[derive(Clone)]
pub enum Object {
    /// An open store.
    Connection(Arc<OpenConnection>),
    /// An open writer.
    Writer(Arc<OpenWriter>),
    /// An open scanner.
    Scanner(Arc<OpenScanner>),
    /// An open lookup.
    Lookup(Arc<OpenLookup>),
}

/// A type of which handles exist.
pub trait Held: Sized {
    /// Its name in messages.
    const NOUN: &'static str;
    /// The object as this type.
    fn of(object: &Object) -> Option<&Arc<Self>>;
}

macro_rules! held {
    ($type:ty, $variant:ident, $noun:literal) => {
        impl Held for $type {
            const NOUN: &'static str = $noun;
            fn of(object: &Object) -> Option<&Arc<Self>> {
                if let Object::$variant(held) = object { Some(held) } else { None }
            }
        }
    };
}

held!(OpenConnection, Connection, "connection");
held!(OpenWriter, Writer, "table writer");
held!(OpenScanner, Scanner, "table scanner");
held!(OpenLookup, Lookup, "key lookup");

struct Entry {
    object: Object,
    /// The connection it was made from; 0 for a connection itself.
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
    fn slot(&self, handle: Handle) -> Option<&Slot> {
        let slot = self.slots.get((handle & i64::from(u32::MAX)) as usize)?;
        (i64::from(slot.generation) == handle >> 32).then_some(slot)
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
        self.slot(handle)?;
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

/// Gives a connection a number.
///
/// # Errors
/// `Internal` when there are no more numbers.
pub fn insert(object: Object) -> Result<Handle> {
    write().put(object, 0)
}

/// Gives an object made from the connection `parent` a number.
///
/// # Errors
/// `Closed` when the connection was closed meanwhile.
pub fn insert_child(object: Object, parent: Handle) -> Result<Handle> {
    let mut table = write();
    if table.slot(parent).is_none_or(|slot| slot.entry.is_none()) {
        drop(table); // the object is dropped after the lock
        return Err(closed(OpenConnection::NOUN));
    }
    table.put(object, parent)
}

/// The object behind a number.
///
/// # Errors
/// `Closed` for a number that was given back; `Invalid` for one of another type.
pub fn get<T: Held>(handle: Handle) -> Result<Arc<T>> {
    let table = read();
    let entry = table.slot(handle).and_then(|slot| slot.entry.as_ref()).ok_or_else(|| closed(T::NOUN))?;
    T::of(&entry.object)
        .cloned()
        .ok_or_else(|| Error::invalid(Subject::None, format!("handle {handle} is not that of a {}", T::NOUN)))
}

/// Gives a number back, and with a connection those of everything made from it. Calls under way end on their own reference. A number
/// already given back is no error.
///
/// # Errors
/// As [`OpenConnection::close`], and only for a connection; the number is given back all the same.
pub fn close(handle: Handle) -> Result<()> {
    let mut taken = Vec::new();
    {
        let mut table = write();
        for child in table.children(handle) {
            taken.extend(table.take(child));
        }
        taken.extend(table.take(handle));
    }
    // Polls under way are told before anything is dropped, for a drop may wait for them. The connection is the last of the list.
    for object in &taken {
        if let Object::Scanner(scanner) = object {
            scanner.close();
        }
    }
    let mut outcome = Ok(());
    for object in taken {
        if let Object::Connection(connection) = &object {
            outcome = connection.close();
        }
    }
    outcome
}

/// How many numbers are in use.
pub fn live() -> usize {
    read().live
}

#[cfg(test)]
mod tests;
