use super::*;

fn write(fs: &FaultFs, path: &Path, bytes: &[u8], position: u64) -> Result<()> {
    fs.open(path)?.write_at(bytes, position)
}

fn image(fs: &FaultFs, root: &Path, crash: Crash) -> tempfile::TempDir {
    let target = tempfile::tempdir().unwrap();
    fs.crash_into(root, target.path(), crash).unwrap();
    target
}

#[test]
fn unsynced_bytes_and_names_are_forgotten() {
    let root = tempfile::tempdir().unwrap();
    let fs = FaultFs::new();
    let path = root.path().join("a");
    let file = fs.open(&path).unwrap();
    file.write_at(b"one", 0).unwrap();
    file.sync().unwrap();
    assert!(!image(&fs, root.path(), Crash::LoseUnsynced).path().join("a").exists());
    fs.sync_dir(root.path()).unwrap();
    file.write_at(b"two", 3).unwrap();
    let read = |crash| std::fs::read(image(&fs, root.path(), crash).path().join("a")).unwrap();
    assert_eq!(read(Crash::LoseUnsynced), b"one");
    assert_eq!(read(Crash::KeepAll), b"onetwo");
    assert_eq!(std::fs::read(&path).unwrap(), b"onetwo");
}

#[test]
fn a_lost_sector_reads_as_zeros_between_kept_ones() {
    let root = tempfile::tempdir().unwrap();
    let fs = FaultFs::new();
    let path = root.path().join("a");
    write(&fs, &path, &[7; 2048], 0).unwrap();
    fs.sync_dir(root.path()).unwrap();
    let images =
        (0..200).map(|seed| std::fs::read(image(&fs, root.path(), Crash::Torn(seed)).path().join("a")).unwrap());
    let holes = images.filter(|i| i.len() == 2048 && i[..512] == [0; 512] && i[512..1024] == [7; 512]).count();
    assert!(holes > 5, "{holes}");
}

#[test]
fn an_unsynced_removal_or_rename_may_come_back() {
    let root = tempfile::tempdir().unwrap();
    let (a, b) = (root.path().join("a"), root.path().join("b"));
    std::fs::write(&a, b"old").unwrap();
    let fs = FaultFs::new();
    fs.rename(&a, &b).unwrap();
    fs.remove(&b).unwrap();
    let lost = image(&fs, root.path(), Crash::LoseUnsynced);
    assert_eq!(std::fs::read(lost.path().join("a")).unwrap(), b"old");
    assert!(!lost.path().join("b").exists());
    let kept = image(&fs, root.path(), Crash::KeepAll);
    assert_eq!(std::fs::read_dir(kept.path()).unwrap().count(), 0);
}

#[test]
fn replace_leaves_the_old_or_the_new_content() {
    for n in 1.. {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x.json");
        std::fs::write(&path, b"old").unwrap();
        let fs = FaultFs::new();
        fs.fail_call(n, Fault::Halt);
        let done = fs.replace(&path, b"new").is_ok();
        for seed in 0..20 {
            let left = std::fs::read(image(&fs, root.path(), Crash::Torn(seed)).path().join("x.json")).unwrap();
            assert!(left == b"new" || (left == b"old" && !done), "{left:?} after call {n}");
        }
        if !fs.fired() {
            assert!(done);
            break;
        }
    }
}

#[test]
fn a_full_disk_tears_writes_until_space_returns() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("a");
    let fs = FaultFs::new();
    write(&fs, &path, b"1234", 0).unwrap();
    fs.set_full(true);
    let e = write(&fs, &path, b"5678", 4).unwrap_err();
    assert_eq!((e.kind(), e.subject()), (sluice_base::ErrorKind::Busy, sluice_base::Subject::Disk));
    assert_eq!(fs.read(&path).unwrap(), b"123456");
    fs.set_full(false);
    write(&fs, &path, b"5678", 4).unwrap();
    assert_eq!(fs.read(&path).unwrap(), b"12345678");
}
