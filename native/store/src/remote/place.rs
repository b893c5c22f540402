//! Who has a remote place: one store, for good. The store's name in it is the same as in its own directory (`REMOTE`).

use sluice_base::{Error, ErrorKind, Fs, Result, Subject};
use sluice_lake::Storage;
use std::path::Path;
use uuid::Uuid;

const LOCAL: &str = "REMOTE";
const THERE: &str = "STORE";

/// Takes a place for a store, or makes sure that it is the store's. Returns the store's name in it.
///
/// # Errors
/// `Invalid` about `Option` when it belongs to another store, or lacks what the store wrote into it; `Io`.
pub(super) fn take(disk: &dyn Fs, root: &Path, storage: &dyn Storage, place: &str, read_only: bool) -> Result<String> {
    let local = root.join(LOCAL);
    let own = match disk.read(&local) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).trim().to_owned()),
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => return Err(e),
    };
    let reaching = |e: Error| e.context(format_args!("cannot reach 'remote.data.dir' = '{place}'"));
    let mut there = owner(storage).map_err(reaching)?;
    if there.is_none() && own.is_none() && !read_only {
        let name = Uuid::new_v4().to_string();
        // The store knows first whom the place will belong to; a crash in between leaves an empty place, which is taken below.
        disk.replace(&local, name.as_bytes())?;
        storage.put_new(THERE, name.as_bytes()).map_err(reaching)?;
        there = owner(storage).map_err(reaching)?;
        return belongs(there.as_deref(), &name, root, place).map(|()| name);
    }
    let Some(own) = own else { return Err(not_free(place)) };
    if there.is_none() && !read_only && storage.list("data").map_err(reaching)?.is_empty() && !has_stubs(disk, root)? {
        storage.put_new(THERE, own.as_bytes()).map_err(reaching)?;
        there = owner(storage).map_err(reaching)?;
    }
    belongs(there.as_deref(), &own, root, place).map(|()| own)
}

fn not_free(place: &str) -> Error {
    invalid(format!(
        "'{place}' belongs to another store; name an empty place, or a new directory in it; if that store is lost, \
         'remote.restore' = 'true' brings it back in an empty directory"
    ))
}

/// Refuses a place that a store has.
///
/// # Errors
/// `Invalid` about `Option`; `Io`.
pub(super) fn need_free(storage: &dyn Storage, place: &str) -> Result<()> {
    match owner(storage).map_err(|e| e.context(format_args!("cannot reach 'remote.data.dir' = '{place}'")))? {
        Some(_) => Err(not_free(place)),
        None => Ok(()),
    }
}

/// Whether a store has ever had a place.
pub(super) fn has_taken(disk: &dyn Fs, root: &Path) -> bool {
    disk.exists(&root.join(LOCAL))
}

/// Takes the place from a store that is lost: should it be alive after all, it finds that out before it copies more.
///
/// # Errors
/// `Io`, `Busy` about `Disk`.
pub(super) fn take_over(disk: &dyn Fs, root: &Path, storage: &dyn Storage) -> Result<()> {
    let name = Uuid::new_v4().to_string();
    storage.put(THERE, name.as_bytes())?;
    disk.replace(&root.join(LOCAL), name.as_bytes())
}

/// Whether the place still belongs to the store of that name.
///
/// # Errors
/// `Conflict` about `Store` if not; `Io`.
pub(super) fn still_ours(storage: &dyn Storage, own: &str, place: &str) -> Result<()> {
    match owner(storage)? {
        Some(there) if there == own => Ok(()),
        _ => {
            let message = format!(
                "remote storage '{place}' has been taken over by another store; nothing more is copied there from here"
            );
            Err(Error::new(ErrorKind::Conflict, Subject::Store, message))
        }
    }
}

/// A store that has copies cannot do without their place.
///
/// # Errors
/// `Invalid` about `Option` naming the setting.
pub(super) fn need_none(disk: &dyn Fs, root: &Path) -> Result<()> {
    if disk.exists(&root.join(LOCAL)) && has_stubs(disk, root)? {
        let message = format!(
            "the store in {} has log segments in remote storage only; give the same 'remote.data.dir' as before",
            root.display()
        );
        return Err(Error::invalid(Subject::Option, message));
    }
    Ok(())
}

fn owner(storage: &dyn Storage) -> Result<Option<String>> {
    match storage.read(THERE) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned())),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

fn belongs(there: Option<&str>, own: &str, root: &Path, place: &str) -> Result<()> {
    match there {
        Some(there) if there == own => Ok(()),
        Some(_) => Err(invalid(format!(
            "'{place}' belongs to another store than that in {}; name the place that this store had before, or an empty one \
             if it never had any",
            root.display()
        ))),
        None => Err(invalid(format!(
            "'{place}' lacks what the store in {} has copied to its remote storage; name the place that it had before",
            root.display()
        ))),
    }
}

fn invalid(message: String) -> Error {
    Error::invalid(Subject::Option, message).context("setting 'remote.data.dir'")
}

/// Whether a log of the store has a segment elsewhere.
fn has_stubs(disk: &dyn Fs, dir: &Path) -> Result<bool> {
    for path in disk.list(dir)? {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        let stub = path.extension().is_some_and(|e| e == sluice_log::MOVED_EXTENSION);
        if stub || !matches!(name, "kv" | "snapshots") && path.is_dir() && has_stubs(disk, &path)? {
            return Ok(true);
        }
    }
    Ok(false)
}
