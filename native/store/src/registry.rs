//! At most one open thing per directory and process, shared by all who ask for it; the last to leave closes it.
//!
//! A slot's lock is held while its thing is opened or closed, so that whoever comes meanwhile waits and then sees a settled state.
//! Lock order: the map's, then a slot's, and the latter only where nobody else has the slot.

use sluice_base::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
struct Slot<T> {
    /// The thing and how many share it.
    shared: Mutex<Option<(Arc<T>, usize)>>,
}

/// All open things of this process by canonical path.
#[derive(Debug)]
pub(crate) struct Registry<T: 'static> {
    slots: Mutex<BTreeMap<PathBuf, Arc<Slot<T>>>>,
}

/// One share.
#[derive(Debug)]
pub(crate) struct Member<T: 'static> {
    registry: &'static Registry<T>,
    path: PathBuf,
    slot: Arc<Slot<T>>,
}

/// A panic under one of these locks leaves counts that are right or a thing that is simply not there.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Registry<T> {
    pub(crate) const fn new() -> Self {
        Self { slots: Mutex::new(BTreeMap::new()) }
    }

    /// Joins what is open at `path` if `agrees`, or opens it.
    ///
    /// # Errors
    /// Those of `agrees` and `open`; nothing is shared then.
    pub(crate) fn join(
        &'static self,
        path: &Path,
        agrees: impl FnOnce(&T) -> Result<()>,
        open: impl FnOnce() -> Result<T>,
    ) -> Result<(Arc<T>, Member<T>)> {
        let fresh = || Arc::new(Slot { shared: Mutex::new(None) });
        let slot = lock(&self.slots).entry(path.to_owned()).or_insert_with(fresh).clone();
        let member = Member { registry: self, path: path.to_owned(), slot };
        let mut shared = lock(&member.slot.shared);
        let joined = match shared.as_mut() {
            Some((thing, count)) => agrees(thing).map(|()| {
                *count += 1;
                thing.clone()
            }),
            None => open().map(|thing| shared.insert((Arc::new(thing), 1)).0.clone()),
        };
        let unused = joined.is_err() && shared.is_none();
        drop(shared);
        if unused {
            member.forget_slot();
        }
        joined.map(|thing| (thing, member))
    }
}

impl<T> Member<T> {
    /// Gives the share back; the last runs `close`, which nobody overtakes.
    ///
    /// # Errors
    /// Those of `close`; the share is given back all the same.
    pub(crate) fn leave(self, close: impl FnOnce(&T) -> Result<()>) -> Result<()> {
        let mut shared = lock(&self.slot.shared);
        let last = match shared.as_mut() {
            Some((_, count)) if *count > 1 => {
                *count -= 1;
                None
            }
            _ => shared.take(),
        };
        let Some((thing, _)) = last else { return Ok(()) };
        let closed = close(&thing);
        drop(thing);
        drop(shared);
        self.forget_slot();
        closed
    }

    /// Takes an unused slot out of the map, unless somebody is about to use it.
    fn forget_slot(&self) {
        let mut slots = lock(&self.registry.slots);
        // Two references: the map's and ours. Others get theirs under the map's lock only.
        if Arc::strong_count(&self.slot) == 2 && lock(&self.slot.shared).is_none() {
            slots.remove(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_base::Error;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static OPENED: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn shares_opens_once_and_closes_with_the_last() {
        static REGISTRY: Registry<u32> = Registry::new();
        let path = Path::new("/d");
        let open = || {
            OPENED.fetch_add(1, Ordering::SeqCst);
            Ok(7)
        };
        let (a, first) = REGISTRY.join(path, |_| Ok(()), open).unwrap();
        let (b, second) = REGISTRY.join(path, |_| Ok(()), open).unwrap();
        assert!(Arc::ptr_eq(&a, &b) && OPENED.load(Ordering::SeqCst) == 1);
        assert!(REGISTRY.join(path, |_| Err(Error::internal("differs")), open).is_err());
        first.leave(|_| panic!("closed too early")).unwrap();
        let mut closed = 0;
        second
            .leave(|_| {
                closed += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(closed, 1);
        assert!(lock(&REGISTRY.slots).is_empty());
        REGISTRY.join(path, |_| Ok(()), open).unwrap().1.leave(|_| Ok(())).unwrap();
        assert_eq!(OPENED.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_failed_opening_leaves_nothing() {
        static REGISTRY: Registry<u32> = Registry::new();
        assert!(REGISTRY.join(Path::new("/d"), |_| Ok(()), || Err(Error::internal("no"))).is_err());
        assert!(lock(&REGISTRY.slots).is_empty());
    }

    #[test]
    fn racing_openers_and_leavers_never_see_two() {
        static REGISTRY: Registry<u32> = Registry::new();
        static LIVE: AtomicUsize = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let open = || {
                            assert_eq!(LIVE.fetch_add(1, Ordering::SeqCst), 0);
                            Ok(1)
                        };
                        let (_, member) = REGISTRY.join(Path::new("/d"), |_| Ok(()), open).unwrap();
                        let close = |_: &u32| {
                            LIVE.fetch_sub(1, Ordering::SeqCst);
                            Ok(())
                        };
                        member.leave(close).unwrap();
                    }
                });
            }
        });
        assert!(lock(&REGISTRY.slots).is_empty());
    }
}
