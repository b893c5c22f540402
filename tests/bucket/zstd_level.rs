use crate::fixture::{Row, descriptor, home, row};
use std::path::Path;

/// Words in a fixed disorder, in which a deeper search finds more.
fn rows() -> Vec<Row> {
    let words = ["the", "flight", "was", "delayed", "by", "minutes", "in", "Newark", "on", "Monday"];
    let mut state = 1_u32;
    let mut word = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        words[(state >> 24) as usize % words.len()]
    };
    (0..5000).map(|id| row(id, &std::iter::repeat_with(&mut word).take(12).collect::<String>(), id)).collect()
}

fn log_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    let bytes = |path: std::path::PathBuf| match path.is_dir() {
        true => log_bytes(&path),
        false if path.extension().is_some_and(|e| e == "log") => path.metadata().unwrap().len(),
        false => 0,
    };
    entries.map(bytes).sum()
}

#[test]
fn the_level_decides_how_small_log_batches_get() {
    for keyed in [false, true] {
        let mut sizes = Vec::new();
        for level in [None, Some("1"), Some("3"), Some("19")] {
            let mut of = descriptor(keyed);
            of.properties.extend(level.map(|l| ("table.log.arrow.compression.zstd.level".to_owned(), l.to_owned())));
            let home = home();
            let table = home.create("t", &of);
            table.put(&rows());
            let read: Vec<Row> = table.changes().into_iter().map(|(_, row)| row).collect();
            assert_eq!(read, rows());
            sizes.push(log_bytes(home.dir.path()));
        }
        let [default, first, third, deep] = sizes[..] else { panic!("four sizes") };
        assert_eq!(default, third);
        assert!(deep * 20 < first * 19, "{sizes:?}");
    }
}
