//! The file `access`: the rules of access that a server keeps in its store. The store itself asks nobody for rights.

use crate::sealed::Sealed;
use serde::{Deserialize, Serialize};
use sluice_api::AccessRule;
use sluice_base::{Error, ErrorKind, Fs, Result};
use std::path::Path;

/// Its name in the store's directory.
pub(crate) const FILE: &str = "access";
const SEALED: Sealed = Sealed {
    name: "access",
    magic: "SLUICE-ACCESS",
    oldest: 1,
    version: 1,
    cure: "put the file back from a backup, or remove it: then there are no rules, and super users make new ones",
};

#[derive(Serialize, Deserialize)]
struct Root {
    rules: Vec<AccessRule>,
}

fn encode(rules: &[AccessRule]) -> Result<Vec<u8>> {
    let body = serde_json::to_vec(&Root { rules: rules.to_vec() });
    Ok(SEALED.seal(&body.map_err(|e| Error::internal("rules of access have no JSON form").with_source(e))?))
}

/// The rules that are kept; none where there is no file.
///
/// # Errors
/// `Corrupt` naming the file; `Unsupported` about `Store` when a newer version wrote it; `Io`.
pub(crate) fn load(fs: &dyn Fs, root: &Path) -> Result<Vec<AccessRule>> {
    let path = root.join(FILE);
    let bytes = match fs.read(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read?,
    };
    let body = SEALED.unseal(&path, &bytes)?;
    let root: Root =
        serde_json::from_slice(body).map_err(|e| SEALED.damaged(&path, "its content cannot be read").with_source(e))?;
    Ok(root.rules)
}

/// Replaces the rules; durable when it returns.
///
/// # Errors
/// `Io`, `Busy` about `Disk`: the rules are those of before, unless the disk refuses even that.
pub(crate) fn replace(fs: &dyn Fs, root: &Path, rules: &[AccessRule]) -> Result<()> {
    let path = root.join(FILE);
    let before = load(fs, root)?;
    fs.replace(&path, &encode(rules)?).map_err(|e| {
        // It may have failed after the rename; the file must not say more than what is valid.
        let _ = encode(&before).and_then(|old| fs.replace(&path, &old));
        e.context("the rules of access were not made durable and are as before")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_api::{EVERY, Operation, Resource};
    use sluice_base::OsFs;

    const FIXTURE: &[u8] = include_bytes!("../fixtures/access.v1");

    fn rules() -> Vec<AccessRule> {
        let rule = |resource, principal: &str, operation| AccessRule {
            resource,
            principal_type: "User".to_owned(),
            principal: principal.to_owned(),
            host: EVERY.to_owned(),
            operation,
        };
        vec![rule(Resource::cluster(), "\u{e9}", Operation::All), rule(Resource::table("d", "t"), "b", Operation::Read)]
    }

    #[test]
    fn rules_come_back() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(load(&OsFs, dir.path()).unwrap(), []);
        replace(&OsFs, dir.path(), &rules()).unwrap();
        assert_eq!(load(&OsFs, dir.path()).unwrap(), rules());
        assert_eq!(OsFs.read(&dir.path().join(FILE)).unwrap(), FIXTURE);
    }

    #[test]
    fn no_damage_goes_unnoticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        for at in 0..FIXTURE.len() {
            let mut bytes = FIXTURE.to_vec();
            bytes[at] ^= 4;
            OsFs.replace(&path, &bytes).unwrap();
            let e = load(&OsFs, dir.path()).unwrap_err();
            assert!([ErrorKind::Corrupt, ErrorKind::Unsupported].contains(&e.kind()), "{at}: {e}");
            assert!(e.message().contains("access"), "{e}");
            OsFs.replace(&path, FIXTURE.get(..at).unwrap()).unwrap();
            assert_eq!(load(&OsFs, dir.path()).unwrap_err().kind(), ErrorKind::Corrupt, "cut at {at}");
        }
        let newer = String::from_utf8_lossy(FIXTURE).replace("SLUICE-ACCESS 1", "SLUICE-ACCESS 2");
        OsFs.replace(&path, newer.as_bytes()).unwrap();
        assert_eq!(load(&OsFs, dir.path()).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
