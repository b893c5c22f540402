use super::*;
use crate::{KvSettings, open_snapshot};
use sluice_base::OsFs;
use std::collections::BTreeMap;

fn open(dir: &Path) -> Kv {
    Kv::open(dir, &KvShared::new(&KvSettings::default()).unwrap()).unwrap()
}

fn put(kv: &Kv, rows: &[(&str, Option<&str>)], mark: Mark) {
    kv.write(rows.iter().map(|(k, v)| (k.as_bytes(), v.map(str::as_bytes))), mark).unwrap();
}

fn all(mut rows: KvIter) -> Vec<(String, String)> {
    let text = |b: &[u8]| String::from_utf8(b.to_vec()).unwrap();
    let mut found = Vec::new();
    while let Some((k, v)) = rows.next_row().unwrap() {
        found.push((text(k), text(v)));
    }
    found
}

fn pairs(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

#[test]
fn rows_and_mark_survive_a_flush_and_reopen() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    assert_eq!(kv.mark(), Mark::default());
    put(&kv, &[("b", Some("2")), ("a", Some("1")), ("c", Some("3"))], Mark { applied: 3, rows: 3 });
    put(&kv, &[("b", None), ("a", Some("1b"))], Mark { applied: 6, rows: 2 });
    assert_eq!(all(kv.scan(None)), pairs(&[("a", "1b"), ("c", "3")]));
    assert_eq!(all(kv.scan(Some(b"b"))), pairs(&[("c", "3")]));
    assert_eq!(kv.get(b"b").unwrap(), None);
    kv.flush().unwrap();
    assert_eq!(kv.flushed_offset(), 6);
    put(&kv, &[("d", Some("4"))], Mark { applied: 7, rows: 3 });
    drop(kv);
    let kv = open(dir.path());
    // An orderly close may or may not have flushed the last write; row and mark go together.
    let with_d = kv.get(b"d").unwrap().is_some();
    assert_eq!(kv.mark(), if with_d { Mark { applied: 7, rows: 3 } } else { Mark { applied: 6, rows: 2 } });
    assert_eq!(kv.get(b"a").unwrap().as_deref(), Some(&b"1b"[..]));
}

#[test]
fn multi_get_answers_each_position() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    put(&kv, &[("b", Some("2")), ("a", Some("1")), ("e", Some(""))], Mark { applied: 3, rows: 3 });
    for flushed in [false, true] {
        if flushed {
            kv.flush().unwrap();
        }
        let mut found = Vec::new();
        kv.multi_get(&[b"e", b"b", b"x", b"a", b"b"], |i, v| found.push((i, v.map(<[u8]>::to_vec)))).unwrap();
        found.sort_unstable();
        let want = [Some(""), Some("2"), None, Some("1"), Some("2")];
        let want: Vec<_> = want.iter().map(|v| v.map(|v| v.as_bytes().to_vec())).enumerate().collect();
        assert_eq!(found, want);
    }
}

#[test]
fn prefix_scan_stops_at_the_prefix_and_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    put(
        &kv,
        &[("a", Some("0")), ("b1", Some("1")), ("b2", Some("2")), ("b3", Some("3")), ("c", Some("4"))],
        Mark::default(),
    );
    let mut seen = 0;
    let mut rows = kv.prefixes();
    rows.with_prefix(b"b", |k, _| {
        assert!(k.starts_with(b"b"));
        seen += 1;
        true
    })
    .unwrap();
    assert_eq!(seen, 3);
    seen = 0;
    rows.with_prefix(b"b", |_, _| {
        seen += 1;
        seen < 2
    })
    .unwrap();
    assert_eq!(seen, 2);
    // Back and forth, with and without rows there.
    for (prefix, count) in [("c", 1), ("a", 1), ("b2", 1), ("b9", 0), ("", 5), ("d", 0), ("b", 3)] {
        let mut seen = 0;
        rows.with_prefix(prefix.as_bytes(), |_, _| {
            seen += 1;
            true
        })
        .unwrap();
        assert_eq!(seen, count, "{prefix:?}");
    }
}

#[test]
fn a_scan_sees_the_state_of_its_start() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    put(&kv, &[("a", Some("1")), ("b", Some("2"))], Mark { applied: 2, rows: 2 });
    let rows = kv.scan(None);
    put(&kv, &[("a", None), ("c", Some("3"))], Mark { applied: 4, rows: 2 });
    drop(kv);
    assert_eq!(all(rows), pairs(&[("a", "1"), ("b", "2")]));
}

/// A commit may change no row: what it inserts it deletes again. The log has it all the same.
#[test]
fn a_mark_without_rows_is_in_checkpoints_and_outlives_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("copy");
    let at = dir.path().join("kv");
    let mark = Mark { applied: 9, rows: 1 };
    {
        let kv = open(&at);
        put(&kv, &[("a", Some("1"))], Mark { applied: 3, rows: 1 });
        kv.flush().unwrap();
        put(&kv, &[], mark);
        assert_eq!(kv.checkpoint(&copy).unwrap(), mark);
        assert_eq!(open_snapshot(&copy).unwrap().mark(), mark);
        put(&kv, &[], Mark { applied: 12, rows: 1 });
        kv.flush().unwrap();
    }
    assert_eq!(open(&at).mark(), Mark { applied: 12, rows: 1 });
}

#[test]
fn a_checkpoint_keeps_its_rows_mark_and_order() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(&dir.path().join("kv"));
    put(&kv, &[("a", Some("1")), ("b", Some("2")), ("c", Some("3"))], Mark { applied: 3, rows: 3 });
    let copy = dir.path().join("copy");
    assert_eq!(kv.checkpoint(&copy).unwrap(), Mark { applied: 3, rows: 3 });
    assert!(kv.checkpoint(&copy).is_err());
    put(&kv, &[("a", None), ("d", Some("4"))], Mark { applied: 5, rows: 3 });
    kv.flush().unwrap();
    let snapshot = open_snapshot(&copy).unwrap();
    let second_reader = open_snapshot(&copy).unwrap();
    drop(kv);
    assert_eq!(snapshot.mark(), Mark { applied: 3, rows: 3 });
    assert_eq!(all(snapshot.scan(0).unwrap()), pairs(&[("a", "1"), ("b", "2"), ("c", "3")]));
    assert_eq!(all(second_reader.scan(2).unwrap()), pairs(&[("c", "3")]));
    assert_eq!(all(second_reader.scan(9).unwrap()), Vec::new());
    let missing = open_snapshot(&dir.path().join("none")).unwrap_err();
    assert_eq!(missing.kind(), sluice_base::ErrorKind::NotFound);
}

#[test]
fn damage_is_corrupt_and_names_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    let value = "x".repeat(100);
    let keys: Vec<_> = (0..1000).map(|i| format!("{i:05}")).collect();
    let rows: Vec<_> = keys.iter().map(|k| (k.as_str(), Some(value.as_str()))).collect();
    put(&kv, &rows, Mark { applied: 1000, rows: 1000 });
    kv.flush().unwrap();
    drop(kv);
    let table = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.extension().is_some_and(|e| e == "sst"));
    let table = table.unwrap();
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[5000] ^= 0x40;
    std::fs::write(&table, bytes).unwrap();
    let kv = open(dir.path());
    let mut failed = 0;
    for key in &keys {
        if let Err(e) = kv.get(key.as_bytes()) {
            assert_eq!(e.kind(), sluice_base::ErrorKind::Corrupt, "{e}");
            assert!(e.message().contains(&dir.path().display().to_string()), "{e}");
            failed += 1;
        }
    }
    assert!(failed > 0 && failed < 200, "{failed} of 1000 rows lie in the damaged block");
}

/// Numbers below `n`, the same each time.
fn random() -> impl FnMut(u64) -> u64 {
    let mut state = 7_u64;
    move |n| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    }
}

/// Rows are gathered, in RocksDB's memory and in files, cached or not: all reads see one state.
fn random_writes_equal_a_map(write_buffer_bytes: u64, row_cache_bytes: u64) {
    let dir = tempfile::tempdir().unwrap();
    let settings = KvSettings { write_buffer_bytes, row_cache_bytes, ..KvSettings::default() };
    let shared = KvShared::new(&settings).unwrap();
    let open = || Kv::open(&dir.path().join("kv"), &shared).unwrap();
    let mut kv = open();
    let mut model = BTreeMap::new();
    let mut next = random();
    for round in 1..=200 {
        let rows: Vec<_> = (0..next(200))
            .map(|_| {
                (format!("k{}", next(3000)), (next(4) > 0).then(|| "v".repeat(usize::try_from(next(200)).unwrap())))
            })
            .collect();
        let mark = Mark { applied: round, rows: i64::try_from(model.len()).unwrap() };
        kv.write(rows.iter().map(|(k, v)| (k.as_bytes(), v.as_deref().map(str::as_bytes))), mark).unwrap();
        for (k, v) in rows {
            match v {
                Some(v) => model.insert(k, v),
                None => model.remove(&k),
            };
        }
        assert_eq!(kv.mark(), mark);
        let keys: Vec<String> = (0..30).map(|_| format!("k{}", next(3100))).collect();
        let mut found = vec![None; keys.len()];
        let asked: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        kv.multi_get(&asked, |i, v| found[i] = v.map(<[u8]>::to_vec)).unwrap();
        for (key, found) in keys.iter().zip(found) {
            assert_eq!(found.as_deref(), model.get(key).map(String::as_bytes), "{key}");
            assert_eq!(kv.get(key.as_bytes()).unwrap(), found);
        }
        if round % 20 == 0 {
            let mut rows = kv.prefixes();
            for prefix in ["k1", "k29", "k0", "k1"] {
                let mut with_prefix = 0;
                rows.with_prefix(prefix.as_bytes(), |_, _| {
                    with_prefix += 1;
                    true
                })
                .unwrap();
                assert_eq!(with_prefix, model.keys().filter(|k| k.starts_with(prefix)).count(), "{prefix}");
            }
        }
        if round % 50 == 0 {
            let copy = dir.path().join(format!("copy-{round}"));
            assert_eq!(kv.checkpoint(&copy).unwrap(), mark);
            assert_eq!(
                all(open_snapshot(&copy).unwrap().scan(0).unwrap()),
                model.clone().into_iter().collect::<Vec<_>>()
            );
            assert_eq!(kv.flushed_offset(), mark.applied);
            drop(kv);
            kv = open();
            assert_eq!(kv.mark(), mark);
        }
    }
    assert_eq!(all(kv.scan(None)), model.into_iter().collect::<Vec<_>>());
}

#[test]
fn random_writes_equal_a_map_with_large_and_small_buffers_and_caches() {
    for write_buffer_bytes in [64 << 10, 64 << 20] {
        for row_cache_bytes in [0, 1 << 16, 192 << 20] {
            random_writes_equal_a_map(write_buffer_bytes, row_cache_bytes);
        }
    }
}

/// What is lost without a flush is lost from the end, together with its mark.
#[test]
fn what_an_end_without_a_flush_leaves_is_a_prefix() {
    let dir = tempfile::tempdir().unwrap();
    let settings = KvSettings { write_buffer_bytes: 256 << 10, ..KvSettings::default() };
    let kv = Kv::open(dir.path(), &KvShared::new(&settings).unwrap()).unwrap();
    let value = "v".repeat(1000);
    let key = |i: i64| format!("{i:05}");
    for i in 1..=2000 {
        put(&kv, &[(&key(i), Some(&value))], Mark { applied: i, rows: i });
    }
    drop(kv);
    let kv = open(dir.path());
    let mark = kv.mark();
    assert!(mark.applied > 0 && mark.applied < 2000, "{mark:?}: some in files, some not");
    let keys: Vec<String> = all(kv.scan(None)).into_iter().map(|(k, _)| k).collect();
    assert_eq!(keys, (1..=mark.applied).map(key).collect::<Vec<_>>());
}

/// A reader that saw a row never sees an older one, wherever the row is on its way.
#[test]
fn rows_on_their_way_do_not_go_back() {
    let dir = tempfile::tempdir().unwrap();
    let settings = KvSettings { write_buffer_bytes: 64 << 10, row_cache_bytes: 1 << 14, ..KvSettings::default() };
    let kv = Kv::open(dir.path(), &KvShared::new(&settings).unwrap()).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|s| {
        for reader in 0..2_u64 {
            let (kv, done) = (&kv, &done);
            s.spawn(move || {
                let mut seen = vec![0_u64; 50];
                let mut at = reader;
                while !done.load(Ordering::Relaxed) {
                    at = (at + 7) % 50;
                    let now = kv.get(format!("k{at}").as_bytes()).unwrap();
                    let now = now.map_or(0, |v| u64::from_le_bytes(v[..8].try_into().unwrap()));
                    let before = &mut seen[usize::try_from(at).unwrap()];
                    assert!(now >= *before, "k{at}: {now} after {before}");
                    *before = now;
                }
            });
        }
        for version in 1..=4000_u64 {
            let value = [&version.to_le_bytes()[..], &[7; 40]].concat();
            let keys: Vec<String> = (0..50).filter(|k| (k + version) % 3 == 0).map(|k| format!("k{k}")).collect();
            kv.write(keys.iter().map(|k| (k.as_bytes(), Some(value.as_slice()))), Mark::default()).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_plain_copy_has_the_rows_without_the_mark_and_leaves_the_checkpoint_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(&dir.path().join("kv"));
    put(&kv, &[("a", Some("1")), ("b", Some("2"))], Mark { applied: 2, rows: 2 });
    kv.flush().unwrap();
    put(&kv, &[("b", None), ("c", Some("3"))], Mark { applied: 4, rows: 2 });
    let (checkpoint, plain) = (dir.path().join("1"), dir.path().join("plain"));
    let mark = kv.checkpoint(&checkpoint).unwrap();
    crate::copy_plain(&OsFs, &checkpoint, &plain).unwrap();
    assert_eq!(open_snapshot(&checkpoint).unwrap().mark(), mark);
    let moved = dir.path().join("moved");
    std::fs::create_dir(&moved).unwrap();
    for file in crate::files_of(&OsFs, &plain).unwrap() {
        std::fs::copy(&file, moved.join(file.file_name().unwrap())).unwrap();
    }
    let db = rocksdb::DB::open_for_read_only(&rocksdb::Options::default(), &moved, false).unwrap();
    let found: Vec<_> = db.iterator(rocksdb::IteratorMode::Start).map(|r| r.unwrap().0.to_vec()).collect();
    assert_eq!(found, [b"a".to_vec(), b"c".to_vec()]);
    let missing = crate::copy_plain(&OsFs, &dir.path().join("none"), &dir.path().join("x")).unwrap_err();
    assert_eq!((missing.kind(), missing.subject()), (ErrorKind::NotFound, Subject::Snapshot));
    assert_eq!(all(open_snapshot(&checkpoint).unwrap().scan(0).unwrap()), pairs(&[("a", "1"), ("c", "3")]));
}
