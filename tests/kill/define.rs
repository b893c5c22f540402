//! A process is killed while it creates and drops tables.

use crate::child::Mode;
use crate::parent::{Other, Said};
use crate::plan::{KINDS, Stream, mix};
use crate::tables::{Table, open};
use crate::{Scratch, is_long, seed};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluice_api::Connection;
use sluice_row::ChangeKind;
use sluice_store::LocalStore;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

#[test]
fn tables_are_there_whole_or_not_at_all() {
    let mut random = StdRng::seed_from_u64(mix(seed(), &[-3]));
    let home = Scratch::new();
    let mut said = Said::default();
    for life in 0..if is_long() { 100 } else { 10 } {
        let mut other = Other::start(Mode::Define, seed(), life, home.path());
        other.wait_for("created");
        std::thread::sleep(Duration::from_millis(random.random_range(0..300)));
        said.tables.extend(other.kill().tables);
        println!("life {life}: {} tables", said.tables.len());
        let store = open(home.path(), &[]).unwrap();
        check(&store, &said.tables, home.path());
        store.close().unwrap();
    }
}

/// A table may have gone one step further than what was said of it.
fn check(store: &LocalStore, tables: &BTreeMap<String, String>, home: &Path) {
    let there: BTreeSet<String> = store.list_tables("fluss").unwrap().into_iter().collect();
    let mut ids = BTreeSet::new();
    for name in &there {
        let table = Table::of(store, name).unwrap();
        ids.insert(table.id.0.to_string());
        let (life, number) = name.trim_start_matches('t').split_once('_').unwrap();
        let kind = KINDS[number.parse::<usize>().unwrap() % KINDS.len()];
        let due = Stream::new(seed(), kind, life.parse().unwrap(), 0).next().unwrap().rows;
        let events = (0..table.buckets).map(|b| table.log_from(b, 0).unwrap());
        let mut found: Vec<_> =
            events.flatten().filter(|e| e.kind != ChangeKind::UpdateBefore).map(|e| e.row).collect();
        found.sort_by_key(|r| r.seq);
        match tables.get(name).map(String::as_str) {
            Some("filled" | "dropping") => assert_eq!(found, due, "{name}"),
            Some("created") | None => assert!(found.iter().all(|r| due.contains(r)), "{name}: {found:?}"),
            other => panic!("{name} is there, but it was {other:?}"),
        }
    }
    for (name, word) in tables {
        let may_be_gone = matches!(word.as_str(), "dropping" | "dropped");
        assert!(may_be_gone || there.contains(name), "{name} was {word} and is gone");
    }
    let data = std::fs::read_dir(home.join("data")).unwrap();
    let left: BTreeSet<String> = data.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(left, ids, "directories without a table, or tables without one");
}
