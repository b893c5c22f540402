//! A process is killed while it makes the store and its first tables.

use crate::child::{Mode, create_table};
use crate::parent::Other;
use crate::plan::{KINDS, mix};
use crate::tables::{Table, open};
use crate::{Scratch, is_long, seed};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluice_api::Connection;
use std::time::Duration;

#[test]
fn a_first_opening_can_be_taken_up() {
    let mut random = StdRng::seed_from_u64(mix(seed(), &[-2]));
    for round in 0..if is_long() { 200 } else { 20 } {
        let home = Scratch::new();
        let mut other = Other::start(Mode::Create, seed(), 0, home.path());
        other.wait_for("opening");
        std::thread::sleep(Duration::from_micros(random.random_range(0..40_000)));
        let said = other.kill();
        println!("round {round}: {:?}", said.tables);
        let store = open(home.path(), &[]).unwrap();
        let there = store.list_tables("fluss").unwrap();
        assert!(said.tables.keys().all(|t| there.contains(t)), "{there:?} lacks some of {:?}", said.tables);
        for kind in KINDS {
            let table = create_table(&store, kind);
            assert_eq!(table.ends().unwrap(), vec![0; usize::try_from(kind.buckets()).unwrap()]);
            assert_eq!(Table::of(&store, kind.name()).unwrap().row_count().unwrap(), Some(0));
        }
        store.close().unwrap();
    }
}
