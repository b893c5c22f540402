//! Random requests against the model, with reopening and power losses in between.

use crate::fixture::{self, Home, Row, batch, row};
use proptest::prelude::*;
use sluice_api::{Connection, Writer};
use sluice_row::ChangeKind;
use sluice_testkit::{Crash, FaultFs, KeyChange, KeyModel};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Clone)]
enum Step {
    /// One request, acknowledged or not waited for.
    Write {
        changes: Vec<(i32, Option<i32>)>,
        flush: bool,
    },
    Look(i32),
    Snapshot,
    Reopen,
    Crash(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let change = (0..12_i32, proptest::option::weighted(0.7, 0..1000_i32));
    prop_oneof![
        8 => (proptest::collection::vec(change, 1..12), any::<bool>()).prop_map(|(changes, flush)| Step::Write { changes, flush }),
        3 => (0..12_i32).prop_map(Step::Look),
        1 => Just(Step::Snapshot),
        1 => Just(Step::Reopen),
        1 => any::<u64>().prop_map(Step::Crash),
    ]
}

/// The store under test, its model, and what each request was: after a crash the model is built anew from those that survived.
struct Run {
    fs: FaultFs,
    home: Home,
    requests: Vec<Vec<(i32, Option<i32>)>>,
    acknowledged: usize,
    pending: Option<Box<dyn Writer>>,
}

fn changes(request: &[(i32, Option<i32>)]) -> Vec<KeyChange<i32, Row>> {
    let change = |(id, amount): &(i32, Option<i32>)| match amount {
        Some(amount) => KeyChange::Upsert(*id, row(*id, "r", *amount)),
        None => KeyChange::Delete(*id),
    };
    request.iter().map(change).collect()
}

impl Run {
    fn new() -> Self {
        let fs = FaultFs::new();
        let home = Home::with(Arc::new(fs.clone()), &[("kv.write-buffer-size", "64kb")]);
        home.create("t", &fixture::descriptor(true));
        Self { fs, home, requests: Vec::new(), acknowledged: 0, pending: None }
    }

    fn model(&self) -> KeyModel<i32, Row> {
        let mut model = KeyModel::default();
        for request in &self.requests {
            model.apply(changes(request));
        }
        model
    }

    fn write(&mut self, request: Vec<(i32, Option<i32>)>, flush: bool) {
        let rows: Vec<Row> = request.iter().map(|(id, a)| a.map_or((*id, None, None), |a| row(*id, "r", a))).collect();
        let kinds: Vec<_> = request
            .iter()
            .map(|(_, a)| if a.is_some() { ChangeKind::UpdateAfter } else { ChangeKind::Delete })
            .collect();
        let mut writer = self.pending.take().unwrap_or_else(|| self.home.table("t").writer());
        writer.write(&batch(&rows), &kinds).unwrap();
        self.requests.push(request);
        if flush {
            writer.flush(fixture::WAIT).unwrap();
            self.acknowledged = self.requests.len();
        }
        self.pending = Some(writer);
    }

    fn settle(&mut self) {
        if let Some(mut writer) = self.pending.take() {
            writer.flush(fixture::WAIT).unwrap();
        }
        self.acknowledged = self.requests.len();
    }

    /// What a power loss leaves must be the acknowledged requests and perhaps some that followed, whole and in order.
    fn crash(mut self, seed: u64) -> Self {
        let image = tempfile::tempdir().unwrap();
        let root = self.home.dir.path();
        self.fs.crash_into(root, image.path(), Crash::Torn(seed)).unwrap();
        self.pending = None;
        let fs = FaultFs::new();
        let home = Home::at(image, Arc::new(fs.clone()), &[("kv.write-buffer-size", "64kb")]);
        let end = home.table("t").end(0);
        let mut model = KeyModel::<i32, Row>::default();
        let mut kept = 0;
        for request in &self.requests {
            if model.end() >= end {
                break;
            }
            model.apply(changes(request));
            kept += 1;
        }
        assert_eq!(model.end(), end, "a request survives whole or not at all");
        assert!(kept >= self.acknowledged, "{kept} of {} acknowledged requests survived", self.acknowledged);
        self.requests.truncate(kept);
        Self { fs, home, requests: self.requests, acknowledged: kept, pending: None }
    }

    fn check(&mut self) {
        self.settle();
        let model = self.model();
        let table = self.home.table("t");
        assert_eq!(table.end(0), model.end());
        let log: Vec<_> = model.log_from(0).iter().map(|l| (l.kind, l.offset, l.row.clone())).collect();
        assert_eq!(table.log(), log);
        assert_eq!(table.current(), *model.rows());
        let count = i64::try_from(model.rows().len()).unwrap();
        assert_eq!(self.home.store.table_stats(&table.path).unwrap().row_count, Some(count));
    }

    fn step(mut self, step: Step) -> Self {
        match step {
            Step::Write { changes, flush } => self.write(changes, flush),
            Step::Look(id) => {
                self.settle();
                assert_eq!(self.home.table("t").get(&[Some(id)]), [self.model().get(&id).cloned()]);
            }
            Step::Snapshot => {
                self.settle();
                let table = self.home.table("t");
                let (_, offset) = self.home.store.acquire_snapshots(&[table.bucket(0)], "job", 1000).unwrap()[0];
                assert_eq!(offset, self.model().end());
            }
            Step::Reopen => {
                self.settle();
                self.home = self.home.reopen();
                self.check();
            }
            Step::Crash(seed) => {
                self = self.crash(seed);
                self.check();
            }
        }
        self
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn any_history_equals_the_model(steps in proptest::collection::vec(step(), 1..25)) {
        let mut run = Run::new();
        for s in steps {
            run = run.step(s);
        }
        run.check();
    }
}

#[test]
fn the_replayed_changelog_is_the_table() {
    let mut run = Run::new();
    for i in 0..40 {
        run.write(vec![(i % 5, Some(i)), ((i + 1) % 5, None)], i % 3 == 0);
    }
    run.check();
    let replayed: BTreeMap<i32, Row> = KeyModel::replay(run.model().log_from(0), run.model().end(), |r: &Row| r.0);
    assert_eq!(run.home.table("t").current(), replayed);
}
