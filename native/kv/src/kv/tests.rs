use super::*;
use crate::{KvSettings, open_snapshot};
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
    kv.scan_prefix(b"b", |k, _| {
        assert!(k.starts_with(b"b"));
        seen += 1;
        true
    })
    .unwrap();
    assert_eq!(seen, 3);
    seen = 0;
    kv.scan_prefix(b"b", |_, _| {
        seen += 1;
        seen < 2
    })
    .unwrap();
    assert_eq!(seen, 2);
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

#[test]
fn random_writes_equal_a_map() {
    let dir = tempfile::tempdir().unwrap();
    let settings = KvSettings { write_buffer_bytes: 64 << 10, ..KvSettings::default() };
    let shared = KvShared::new(&settings).unwrap();
    let mut kv = Kv::open(dir.path(), &shared).unwrap();
    let mut model = BTreeMap::new();
    let mut state = 7_u64;
    let mut next = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for round in 0..200 {
        let rows: Vec<_> = (0..100)
            .map(|_| {
                (format!("k{}", next(3000)), (next(4) > 0).then(|| "v".repeat(usize::try_from(next(200)).unwrap())))
            })
            .collect();
        kv.write(rows.iter().map(|(k, v)| (k.as_bytes(), v.as_deref().map(str::as_bytes))), Mark::default()).unwrap();
        for (k, v) in rows {
            match v {
                Some(v) => model.insert(k, v),
                None => model.remove(&k),
            };
        }
        if round % 50 == 49 {
            kv.flush().unwrap();
            drop(kv);
            kv = Kv::open(dir.path(), &shared).unwrap();
        }
    }
    assert_eq!(all(kv.scan(None)), model.into_iter().collect::<Vec<_>>());
}
