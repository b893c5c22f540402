use super::*;
use arrow_array::{Array, Int64Array};
use sluice_base::OsFs;
use std::path::PathBuf;

fn statistics(low: i64, high: i64) -> Vec<u8> {
    let values = Int64Array::from(vec![low, high]);
    let mut out = Vec::new();
    Statistics::of([(1, &values as &dyn Array)].into_iter(), 2).encode(&mut out);
    out
}

fn stretch(base: Offset, end: Offset, bytes: u64) -> Stretch {
    Stretch { base, end, bytes, schema: SchemaId(1), statistics: statistics(base, end - 1) }
}

/// Ten rows each from offset 100 on, large enough not to be joined.
fn filled(count: i64) -> Stretches {
    let mut stretches = Stretches::default();
    (0..count).for_each(|i| stretches.note(stretch(100 + i * 10, 110 + i * 10, STRETCH_BYTES)));
    stretches
}

fn saved(dir: &Path, count: i64) -> (PathBuf, Stretches) {
    let path = dir.join("x.stats");
    let mut stretches = filled(count);
    stretches.save(&OsFs, &path, 100, i64::MAX).unwrap();
    (path, stretches)
}

fn load(path: &Path, limit: Offset) -> Stretches {
    Stretches::load(&OsFs, path, 100, limit).unwrap()
}

fn bases(stretches: &Stretches) -> Vec<Offset> {
    stretches.list.iter().map(|s| s.base).collect()
}

/// Keeps what was noted with this base.
fn only(base: Offset) -> impl Fn(SchemaId, &Statistics) -> bool {
    move |_, s| {
        let mut bytes = Vec::new();
        s.encode(&mut bytes);
        bytes == statistics(base, base + 9)
    }
}

#[test]
fn small_neighbours_of_one_schema_share_an_entry() {
    let mut stretches = Stretches::default();
    for i in 0..10 {
        stretches.note(stretch(i, i + 1, STRETCH_BYTES / 4));
    }
    assert_eq!(bases(&stretches), [0, 4, 8]);
    assert_eq!(stretches.list[0].statistics, {
        let mut all = Statistics::decode(&statistics(0, 0)).unwrap();
        (1..4).for_each(|i| all.merge(&Statistics::decode(&statistics(i, i)).unwrap()));
        let mut out = Vec::new();
        all.encode(&mut out);
        out
    });
    stretches.note(Stretch { schema: SchemaId(2), ..stretch(10, 11, 1) });
    assert_eq!(bases(&stretches), [0, 4, 8, 10]);
}

#[test]
fn what_overlaps_something_known_is_not_noted() {
    let mut stretches = Stretches::default();
    stretches.note(stretch(10, 20, STRETCH_BYTES));
    stretches.note(stretch(30, 40, STRETCH_BYTES));
    for (base, end) in [(10, 20), (5, 11), (19, 25), (25, 31), (0, 50)] {
        stretches.note(stretch(base, end, STRETCH_BYTES));
    }
    assert_eq!(bases(&stretches), [10, 30]);
    stretches.note(stretch(20, 30, STRETCH_BYTES));
    assert_eq!(bases(&stretches), [10, 20, 30]);
}

#[test]
fn a_reader_is_sent_to_what_it_wants_and_to_what_is_unknown() {
    let mut stretches = filled(3);
    stretches.note(stretch(150, 160, STRETCH_BYTES));
    let ahead = |at, limit, keep: Keep<'_>| stretches.ahead(at, limit, keep).map(|a| (a.from, a.until, a.known));
    let none: Keep<'_> = &|_, _| false;
    assert_eq!(ahead(100, 130, none), None);
    assert_eq!(ahead(105, 125, none), None);
    assert_eq!(ahead(100, 160, none), Some((130, 150, false)));
    assert_eq!(ahead(150, 160, none), None);
    assert_eq!(ahead(150, 170, none), Some((160, 170, false)));
    assert_eq!(ahead(100, 160, &only(110)), Some((110, 120, true)));
    assert_eq!(ahead(113, 115, &only(110)), Some((113, 115, true)));
    assert_eq!(ahead(100, 160, &|_, _| true), Some((100, 130, true)));
    assert_eq!(ahead(50, 160, none), Some((50, 100, false)));
    let long = filled(2 * JUDGED_MAX as i64);
    let part = long.ahead(100, i64::MAX, none).unwrap();
    assert_eq!((part.from, part.until), (100 + 10 * (JUDGED_MAX as i64 + 1), part.from));
}

#[test]
fn a_file_is_believed_up_to_its_first_flipped_bit() {
    let dir = tempfile::tempdir().unwrap();
    let (path, stretches) = saved(dir.path(), 4);
    assert_eq!(load(&path, i64::MAX).list, stretches.list);
    let good = std::fs::read(&path).unwrap();
    let lengths: Vec<usize> = stretches.list.iter().map(|s| s.encoded_bytes() as usize).collect();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 4;
        std::fs::write(&path, &bad).unwrap();
        let (mut whole, mut end) = (0, 64);
        while at >= 64 && whole < 4 && end + lengths[whole] <= at {
            end += lengths[whole];
            whole += 1;
        }
        assert_eq!(load(&path, i64::MAX).list, stretches.list[..whole], "bit flipped in byte {at}");
    }
    for length in 0..good.len() {
        std::fs::write(&path, &good[..length]).unwrap();
        assert!(load(&path, i64::MAX).list.len() < 4);
    }
}

#[test]
fn what_lies_behind_the_recovery_point_is_not_believed_and_vanishes_with_the_next_save() {
    let dir = tempfile::tempdir().unwrap();
    for rows in [0, 1] {
        let (path, _) = saved(dir.path(), 4);
        let mut loaded = load(&path, 125);
        assert_eq!(bases(&loaded), [100, 110]);
        let other = stretch(120, 125, STRETCH_BYTES);
        (0..rows).for_each(|_| loaded.note(other.clone()));
        loaded.save(&OsFs, &path, 100, i64::MAX).unwrap();
        let expected: &[Offset] = if rows == 0 { &[100, 110] } else { &[100, 110, 120] };
        assert_eq!(bases(&load(&path, i64::MAX)), expected);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn saving_stops_at_the_limit_and_a_joined_entry_is_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.stats");
    let mut stretches = Stretches::default();
    stretches.note(stretch(100, 110, 10));
    stretches.save(&OsFs, &path, 100, 109).unwrap();
    assert!(!path.exists() && !stretches.is_saved());
    stretches.save(&OsFs, &path, 100, 110).unwrap();
    assert!(stretches.is_saved());
    stretches.note(stretch(110, 120, 10));
    assert!(!stretches.is_saved());
    stretches.save(&OsFs, &path, 100, 120).unwrap();
    let read = load(&path, i64::MAX);
    assert_eq!(read.list, stretches.list);
    assert_eq!((read.list[0].base, read.list[0].end, read.list.len()), (100, 120, 1));
}

#[test]
fn statistics_of_another_segment_are_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = saved(dir.path(), 4);
    let mut other = Stretches::load(&OsFs, &path, 90, i64::MAX).unwrap();
    assert!(other.list.is_empty() && !other.is_saved());
    other.save(&OsFs, &path, 90, i64::MAX).unwrap();
    assert!(Stretches::load(&OsFs, &path, 90, i64::MAX).unwrap().is_saved());
}
