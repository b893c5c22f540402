//! A real small disk (tmpfs) that fills up under log and RocksDB alike. Needs root, as the machines of this project have it.

use crate::fixture::{self, Home, batch, row};
use sluice_base::{ErrorKind, OsFs, Subject};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Mount(tempfile::TempDir);

impl Mount {
    /// A disk of so many MiB; `None` where mounting is not allowed.
    fn new(mib: u32) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let options = format!("size={mib}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(dir.path()).status();
        mounted.is_ok_and(|s| s.success()).then(|| Self(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn writes_are_refused_reads_go_on_and_freed_space_heals_without_a_restart() {
    let Some(mount) = Mount::new(32) else {
        eprintln!("not allowed to mount a small disk here: nothing was tested");
        return;
    };
    let ballast = mount.path().join("ballast");
    std::fs::write(&ballast, vec![1; 12 << 20]).unwrap();
    let dir = tempfile::tempdir_in(mount.path()).unwrap();
    let settings = [("kv.write-buffer-size", "256kb"), ("log.segment.file-size", "4mb"), ("kv.replay-size-max", "1mb")];
    let home = Home::at(dir, Arc::new(OsFs), &settings);
    let mut descriptor = fixture::descriptor(true);
    descriptor.properties.insert("table.log.arrow.compression.type".to_owned(), "none".to_owned());
    let table = home.create("t", &descriptor);
    let mut writer = table.writer();
    let text = "x".repeat(1000);
    let mut acknowledged = 0;
    let refused = loop {
        let rows: Vec<_> = (acknowledged..acknowledged + 100).map(|i| row(i, &text, i)).collect();
        match writer.write(&batch(&rows), &[]).and_then(|()| writer.flush(Duration::from_secs(5))) {
            Ok(()) => acknowledged += 100,
            Err(e) => break e,
        }
        assert!(acknowledged < 100_000, "the disk never filled up");
    };
    assert_eq!((refused.kind(), refused.subject()), (ErrorKind::Busy, Subject::Disk), "{refused}");
    let found = table.get(&[Some(0), Some(acknowledged - 1), Some(acknowledged / 2)]);
    assert!(found.iter().all(Option::is_some), "lookups go on");
    assert!(table.current().len() >= usize::try_from(acknowledged).unwrap(), "scans go on");
    std::fs::remove_file(&ballast).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let again =
            writer.write(&batch(&[row(-1, "healed", 0)]), &[]).and_then(|()| writer.flush(Duration::from_secs(5)));
        match again {
            Ok(()) => break,
            Err(e) => assert!(Instant::now() < deadline && e.kind() == ErrorKind::Busy, "{e}"),
        }
    }
    assert_eq!(table.get(&[Some(-1)]), [Some(row(-1, "healed", 0))]);
    let home = home.reopen();
    let rows = home.table("t").current();
    assert!((0..acknowledged).all(|i| rows.contains_key(&i)), "every acknowledged row is there");
    // The store goes before the disk it is on.
    drop(home);
}
