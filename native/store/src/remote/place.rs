//! Who has a remote place: one store, for good. The store's name in it is the same as in its own directory (`REMOTE`).

use sluice_base::{Error, ErrorKind, Fs, Result, Subject};
use sluice_lake::Storage;
use std::path::Path;
use uuid::Uuid;

const LOCAL: &str = "REMOTE";
const THERE: &str = "STORE";
/// So much of a store's name is in the names of its copies.
const TAG_CHARS: usize = 8;

/// The names of the stores that have had a place, one a line, that which has it now last. A store that is brought back has a new name, so that what
/// the one before it still copies, should it be alive, is told from its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Owners(Vec<String>);

impl Owners {
    fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        Self(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }

    fn and_new(mut self) -> Self {
        self.0.push(Uuid::new_v4().simple().to_string());
        self
    }

    fn to_text(&self) -> String {
        self.0.join("\n")
    }

    /// What the copies of the present store have in their names.
    pub(crate) fn tag(&self) -> &str {
        self.0.last().map_or("", |name| tag_of(name))
    }

    /// How new the store is whose copies have this in their names; `None` for none of those that have had the place.
    pub(crate) fn rank(&self, tag: &str) -> Option<usize> {
        self.0.iter().rposition(|name| tag_of(name) == tag)
    }

    /// The tags of all, the newest first.
    pub(crate) fn tags(&self) -> impl Iterator<Item = &str> {
        self.0.iter().rev().map(|name| tag_of(name))
    }
}

fn tag_of(name: &str) -> &str {
    name.get(..TAG_CHARS).unwrap_or(name)
}

/// Takes a place for a store, or makes sure that it is the store's.
///
/// # Errors
/// `Invalid` about `Option` when it belongs to another store, or lacks what the store wrote into it; `Io`.
pub(super) fn take(disk: &dyn Fs, root: &Path, storage: &dyn Storage, place: &str, read_only: bool) -> Result<Owners> {
    let local = root.join(LOCAL);
    let own = match disk.read(&local) {
        Ok(bytes) => Some(Owners::of(&bytes)),
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => return Err(e),
    };
    let reaching = |e: Error| e.context(format_args!("cannot reach 'remote.data.dir' = '{place}'"));
    let there = match (owners(storage), &own) {
        // It was the store's when it was last seen, and is asked again before anything is copied.
        (Err(e), Some(own)) if e.kind() == ErrorKind::Io => return Ok(own.clone()),
        (there, _) => there.map_err(reaching)?,
    };
    let own = match own {
        Some(own) => own,
        None if there.is_none() && !read_only => {
            let own = Owners::default().and_new();
            // The store knows first whom the place will belong to; a crash in between leaves an empty place, which is taken below.
            disk.replace(&local, own.to_text().as_bytes())?;
            own
        }
        None => return Err(not_free(place)),
    };
    let is_empty = || Ok::<_, Error>(storage.list("data").map_err(reaching)?.is_empty() && !has_stubs(disk, root)?);
    let there = match there {
        None if !read_only && is_empty()? => {
            storage.put_new(THERE, own.to_text().as_bytes()).map_err(reaching)?;
            owners(storage).map_err(reaching)?
        }
        there => there,
    };
    belongs(there.as_ref(), &own, root, place).map(|()| own)
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
    match owners(storage).map_err(|e| e.context(format_args!("cannot reach 'remote.data.dir' = '{place}'")))? {
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
    let owners = owners(storage)?.unwrap_or_default().and_new();
    storage.put(THERE, owners.to_text().as_bytes())?;
    disk.replace(&root.join(LOCAL), owners.to_text().as_bytes())
}

/// Whether the place still belongs to the store of that name.
///
/// # Errors
/// `Conflict` about `Store` if not; `Io`.
pub(super) fn still_ours(storage: &dyn Storage, own: &Owners, place: &str) -> Result<()> {
    match owners(storage)? {
        Some(there) if there == *own => Ok(()),
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

/// Whom a place belongs to and has belonged to; `None` for a free one.
///
/// # Errors
/// `Io`.
pub(super) fn owners(storage: &dyn Storage) -> Result<Option<Owners>> {
    match storage.read(THERE) {
        Ok(bytes) => Ok(Some(Owners::of(&bytes))),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

fn belongs(there: Option<&Owners>, own: &Owners, root: &Path, place: &str) -> Result<()> {
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
