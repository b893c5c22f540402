//! Batches of two writers meet commits and each other at every possible moment; after their flushes the table is what
//! maps say. Each writer owns its keys, the buckets belong to both.

use crate::fixture::{self, Row, Table, batch, buckets, home, row};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluice_row::ChangeKind::{Delete, Insert};
use std::collections::BTreeMap;
use std::time::Duration;

const ROUNDS: usize = 200;
const KEYS: i32 = 12;

/// Some batches of one writer, then its flush. Keys are even or odd, as the seed is.
fn write(table: &Table<'_>, seed: u64, model: &mut BTreeMap<i32, Row>) {
    let mut random = StdRng::seed_from_u64(seed);
    let odd = i32::from(seed % 2 == 1);
    let mut writer = table.writer();
    for _ in 0..random.random_range(1..6) {
        let (mut rows, mut kinds) = (Vec::new(), Vec::new());
        for _ in 0..random.random_range(1..5) {
            let id = random.random_range(0..KEYS / 2) * 2 + odd;
            if random.random_bool(0.4) {
                rows.push((id, None, None));
                kinds.push(Delete);
                model.remove(&id);
            } else {
                let new = row(id, "x", random.random_range(0..1000));
                model.insert(id, new.clone());
                rows.push(new);
                kinds.push(Insert);
            }
        }
        writer.write(&batch(&rows), &kinds).unwrap();
        if random.random_bool(0.3) {
            std::thread::sleep(Duration::from_micros(random.random_range(0..1500)));
        }
    }
    writer.flush(fixture::WAIT).unwrap();
}

#[test]
fn the_table_equals_the_maps_after_every_flush() {
    let home = home();
    let table = home.create("t", &buckets(fixture::descriptor(true), 3, &["id"]));
    let (mut even, mut odd) = (BTreeMap::new(), BTreeMap::new());
    for round in 0..ROUNDS as u64 {
        std::thread::scope(|threads| {
            threads.spawn(|| write(&table, 2 * round, &mut even));
            threads.spawn(|| write(&table, 2 * round + 1, &mut odd));
        });
        let model: BTreeMap<i32, Row> = even.iter().chain(&odd).map(|(id, row)| (*id, row.clone())).collect();
        assert_eq!(table.current(), model, "round {round}");
        let ids: Vec<Option<i32>> = (0..KEYS).map(Some).collect();
        let want: Vec<Option<Row>> = (0..KEYS).map(|id| model.get(&id).cloned()).collect();
        assert_eq!(table.get(&ids), want, "round {round}");
    }
}
