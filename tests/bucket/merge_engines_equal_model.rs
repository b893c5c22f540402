//! Random requests to tables of every merge engine, delete behavior, changelog image and list of columns, with snapshots, reopening and
//! power losses in between, against a plain model. The model knows no batches: what it says cannot depend on where they end.

use crate::cells::{self, NAMES, int, text};
use crate::fixture::{self, Home};
use proptest::prelude::*;
use sluice_api::{Connection, Writer};
use sluice_testkit::{Cell, Cells, Crash, Deletes, Engine, FaultFs, Function, MergeModel, MergeRequest, MergeRules};
use std::sync::Arc;

#[derive(Debug, Clone)]
enum Step {
    /// One request, acknowledged or not waited for.
    Write(MergeRequest, bool),
    Snapshot,
    Reopen,
    Crash(u64),
}

fn whole() -> impl Strategy<Value = Cell> {
    prop_oneof![1 => Just(Cell::Null), 4 => (-3..4_i32).prop_map(Cell::Int), 1 => any::<i32>().prop_map(Cell::Int)]
}

fn letters() -> impl Strategy<Value = Cell> {
    prop_oneof![1 => Just(Cell::Null), 3 => "[a-cü]{0,3}".prop_map(Cell::Text)]
}

fn change() -> impl Strategy<Value = (bool, Cells)> {
    (any::<prop::sample::Index>(), 0..5_i32, whole(), whole(), letters())
        .prop_map(|(kind, id, a, b, t)| (kind.index(4) > 0, vec![Cell::Int(id), a, b, t]))
}

/// Lists of columns that hold the key; `None` is a writer of whole rows.
fn targets() -> impl Strategy<Value = Option<Vec<usize>>> {
    let some = prop::sample::subsequence(vec![1, 2, 3], 0..3).prop_map(|mut columns| {
        columns.insert(0, 0);
        Some(columns)
    });
    prop_oneof![2 => Just(None), 3 => some]
}

fn step() -> impl Strategy<Value = Step> {
    let request = (targets(), prop::collection::vec(change(), 1..10));
    let request = request.prop_map(|(targets, changes)| MergeRequest { targets, changes });
    prop_oneof![
        10 => (request, any::<bool>()).prop_map(|(request, flush)| Step::Write(request, flush)),
        1 => Just(Step::Snapshot),
        1 => Just(Step::Reopen),
        1 => any::<u64>().prop_map(Step::Crash),
    ]
}

fn rules() -> impl Strategy<Value = MergeRules> {
    use Function::{First, LastPresent, LastValue, Listagg, Max, Min, Product, Sum};
    let number = prop::sample::select(vec![Sum, Product, Max, Min, LastValue, LastPresent, First]);
    let word = prop::sample::select(vec![Listagg, Max, Min, LastValue, LastPresent, First]);
    let aggregation =
        (number.clone(), number, word).prop_map(|(a, b, t)| Engine::Aggregation(vec![LastPresent, a, b, t]));
    let engine = prop_oneof![
        3 => Just(Engine::LastRow),
        2 => Just(Engine::Groups(vec![(1, vec![2])])),
        2 => Just(Engine::Groups(vec![(2, vec![3, 1])])),
        1 => Just(Engine::FirstRow),
        2 => (1..3_usize).prop_map(Engine::Versioned),
        5 => aggregation,
    ];
    (engine, any::<bool>(), any::<bool>()).prop_map(|(engine, ignore, wal)| {
        let deletes = match engine {
            Engine::FirstRow | Engine::Versioned(_) => Deletes::Ignore,
            _ if ignore => Deletes::Ignore,
            _ => Deletes::Allow,
        };
        let full_image = !wal || matches!(engine, Engine::Aggregation(_));
        MergeRules { engine, deletes, full_image }
    })
}

const SETTINGS: &[(&str, &str)] = &[("kv.write-buffer-size", "64kb")];

/// The store under test and what each request was: after a crash the model is built anew from those that survived.
struct Run {
    rules: MergeRules,
    fs: FaultFs,
    home: Home,
    requests: Vec<MergeRequest>,
    acknowledged: usize,
    /// Writers with rows that nobody has waited for.
    pending: Vec<Box<dyn Writer>>,
}

impl Run {
    fn new(rules: MergeRules) -> Self {
        let fs = FaultFs::new();
        let home = Home::with(Arc::new(fs.clone()), SETTINGS);
        home.create("t", &cells::descriptor(&rules));
        Self { rules, fs, home, requests: Vec::new(), acknowledged: 0, pending: Vec::new() }
    }

    fn model(&self) -> MergeModel {
        let mut model = MergeModel::new(self.rules.clone());
        self.requests.iter().for_each(|r| model.apply(r));
        model
    }

    fn write(&mut self, mut request: MergeRequest, flush: bool) {
        match (&self.rules.engine, &mut request.targets) {
            (Engine::FirstRow | Engine::Versioned(_), targets) => *targets = None,
            (Engine::Groups(groups), Some(targets)) => {
                // A group is written whole or not at all.
                for (version, columns) in groups {
                    let group = || columns.iter().chain([version]);
                    if group().any(|c| targets.contains(c)) {
                        let missing: Vec<usize> = group().filter(|c| !targets.contains(c)).copied().collect();
                        targets.extend(missing);
                    }
                }
                targets.sort_unstable();
            }
            _ => {}
        }
        let table = self.home.table("t");
        let mut writer = cells::writer(&table, request.targets.as_deref()).unwrap();
        cells::write(writer.as_mut(), &request).unwrap();
        self.requests.push(request);
        self.pending.push(writer);
        if flush {
            self.settle();
        }
    }

    fn settle(&mut self) {
        for mut writer in self.pending.drain(..) {
            writer.flush(fixture::WAIT).unwrap();
        }
        self.acknowledged = self.requests.len();
    }

    /// What a power loss leaves must be the acknowledged requests and perhaps some that followed, whole and in order.
    fn crash(mut self, seed: u64) -> Self {
        let image = tempfile::tempdir().unwrap();
        self.fs.crash_into(self.home.dir.path(), image.path(), Crash::Torn(seed)).unwrap();
        self.pending.clear();
        let fs = FaultFs::new();
        let home = Home::at(image, Arc::new(fs.clone()), SETTINGS);
        let end = home.table("t").end(0);
        let mut model = MergeModel::new(self.rules.clone());
        let mut kept = 0;
        while kept < self.requests.len() && model.end() < end {
            model.apply(&self.requests[kept]);
            kept += 1;
        }
        assert_eq!(model.end(), end, "a request survives whole or not at all");
        assert!(kept >= self.acknowledged, "{kept} of {} acknowledged requests survived", self.acknowledged);
        self.requests.truncate(kept);
        Self { fs, home, acknowledged: kept, ..self }
    }

    fn check(&mut self) {
        self.settle();
        let model = self.model();
        let table = self.home.table("t");
        assert_eq!(table.end(0), model.end());
        assert_eq!(cells::log(&table), model.log());
        assert_eq!(cells::current(&table), *model.rows());
        let count = self.rules.full_image.then(|| i64::try_from(model.rows().len()).unwrap());
        assert_eq!(self.home.store.table_stats(&table.path).unwrap().row_count, count);
    }

    fn step(mut self, step: Step) -> Self {
        match step {
            Step::Write(request, flush) => self.write(request, flush),
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
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn any_history_of_any_engine_equals_the_model(rules in rules(), steps in prop::collection::vec(step(), 1..20)) {
        let mut run = Run::new(rules);
        for s in steps {
            run = run.step(s);
        }
        run.check();
    }
}

#[test]
fn many_requests_or_one_come_to_the_same_rows() {
    let changes: Vec<(bool, Cells)> = (0..300)
        .map(|i| (i % 7 != 3, vec![int(i % 11), int(i), Cell::Null, text(["x", "yy", ""][i as usize % 3])]))
        .collect();
    let engine = Engine::Aggregation(vec![Function::First, Function::Sum, Function::Max, Function::Listagg]);
    let rules = MergeRules { engine, deletes: Deletes::Allow, full_image: true };
    let mut seen = Vec::new();
    for size in [1, 13, 300] {
        cells::with_table(&rules, |_, table| {
            for part in changes.chunks(size) {
                cells::put(table, &MergeRequest { targets: None, changes: part.to_vec() });
            }
            seen.push(cells::current(table));
        });
    }
    assert!(!seen[0].is_empty() && seen[0] == seen[1] && seen[1] == seen[2]);
    assert_eq!(seen[0].values().next().unwrap().len(), NAMES.len());
}

/// Rows taken back, by sums alone: other functions refuse.
#[test]
fn sums_take_rows_back_like_the_model() {
    let engine = Engine::Aggregation(vec![Function::First, Function::Sum, Function::Sum, Function::Max]);
    let rules = MergeRules { engine, deletes: Deletes::Retract, full_image: true };
    let changes: Vec<(bool, Cells)> =
        (0..200).map(|i| (i % 3 != 2, vec![int(i % 5), int(i * 7), int(-i), Cell::Null])).collect();
    let mut run = Run::new(rules);
    for part in changes.chunks(17) {
        run.write(MergeRequest { targets: Some(vec![0, 1, 2]), changes: part.to_vec() }, part.len() % 2 == 0);
    }
    run.check();
    run = run.crash(5);
    run.check();
}
