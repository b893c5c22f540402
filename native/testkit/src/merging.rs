//! The oracle for merge engines: one change after the other, one cell after the other, in the plainest form. Column 0 is the key.

use crate::Logged;
use sluice_base::Offset;
use sluice_row::ChangeKind;
use std::collections::BTreeMap;

/// A value of a column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each name is its own description")]
pub enum Cell {
    Null,
    Int(i32),
    Text(String),
}

/// A row, its key first.
pub type Cells = Vec<Cell>;

/// What a second row of a key does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name is its own description")]
pub enum Engine {
    LastRow,
    /// Each group is the column of its version and the columns that follow it.
    Groups(Vec<(usize, Vec<usize>)>),
    FirstRow,
    /// By the version in this column.
    Versioned(usize),
    /// By the function of each column; that of the key is not looked at.
    Aggregation(Vec<Function>),
}

/// What a column of an aggregation table does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name is its own description")]
pub enum Function {
    Sum,
    Product,
    Max,
    Min,
    LastValue,
    LastPresent,
    First,
    Listagg,
}

/// What a delete does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name is its own description")]
pub enum Deletes {
    Allow,
    Ignore,
    Retract,
}

/// The rules of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name is its own description")]
pub struct MergeRules {
    pub engine: Engine,
    pub deletes: Deletes,
    pub full_image: bool,
}

/// What a writer hands over at once.
#[derive(Debug, Clone)]
pub struct MergeRequest {
    /// The columns that it writes; `None` = all.
    pub targets: Option<Vec<usize>>,
    /// Upserts (`true`) and deletes, each with all columns; those that are not written are not looked at.
    pub changes: Vec<(bool, Cells)>,
}

/// A bucket of a primary-key table with any merge engine.
#[derive(Debug, Clone)]
pub struct MergeModel {
    rules: MergeRules,
    rows: BTreeMap<Cell, Cells>,
    log: Vec<Logged<Cells>>,
    end: Offset,
}

impl MergeModel {
    /// An empty bucket.
    #[must_use]
    pub fn new(rules: MergeRules) -> Self {
        Self { rules, rows: BTreeMap::new(), log: Vec::new(), end: 0 }
    }

    /// Applies one request.
    pub fn apply(&mut self, request: &MergeRequest) {
        let start = self.end;
        for (upsert, row) in &request.changes {
            let width = row.len();
            let targets = request.targets.clone().unwrap_or_else(|| (0..width).collect());
            let before = self.rows.get(&row[0]).cloned();
            let after = if *upsert { self.upsert(&before, row, &targets) } else { self.delete(&before, row, &targets) };
            if let Some(after) = after {
                let blind = *upsert
                    && !self.rules.full_image
                    && self.rules.engine == Engine::LastRow
                    && request.targets.is_none();
                self.change(row[0].clone(), before, after, blind);
            }
        }
        self.end = self.end.max(start + 1);
    }

    fn change(&mut self, key: Cell, before: Option<Cells>, after: Option<Cells>, blind: bool) {
        match (before, &after) {
            (before, Some(after)) => {
                if self.rules.full_image
                    && let Some(before) = &before
                {
                    self.append(ChangeKind::UpdateBefore, before.clone());
                }
                let new = before.is_none() && !blind;
                self.append(if new { ChangeKind::Insert } else { ChangeKind::UpdateAfter }, after.clone());
            }
            (Some(before), None) => self.append(ChangeKind::Delete, before),
            (None, None) => {}
        }
        match after {
            Some(after) => drop(self.rows.insert(key, after)),
            None => drop(self.rows.remove(&key)),
        }
    }

    fn append(&mut self, kind: ChangeKind, row: Cells) {
        self.log.push(Logged { offset: self.end, kind, row });
        self.end += 1;
    }

    /// The row after an upsert; `None` when nothing happens.
    fn upsert(&self, before: &Option<Cells>, row: &Cells, targets: &[usize]) -> Option<Option<Cells>> {
        let Some(before) = before else {
            let cell = |i: usize| if targets.contains(&i) { row[i].clone() } else { Cell::Null };
            return Some(Some((0..row.len()).map(cell).collect()));
        };
        match &self.rules.engine {
            Engine::FirstRow => None,
            Engine::Versioned(c) => (row[*c] >= before[*c]).then(|| Some(row.clone())),
            Engine::LastRow | Engine::Groups(_) if targets.len() == 1 => None,
            Engine::Groups(groups) => {
                let stale: Vec<usize> = groups
                    .iter()
                    .filter(|(version, _)| targets.contains(version) && row[*version] < before[*version])
                    .flat_map(|(version, columns)| columns.iter().chain([version]).copied())
                    .collect();
                let written = |i: usize| i != 0 && targets.contains(&i) && !stale.contains(&i);
                let cell = |i: usize| if written(i) { row[i].clone() } else { before[i].clone() };
                (1..row.len()).any(written).then(|| Some((0..row.len()).map(cell).collect()))
            }
            engine => {
                let cell = |i: usize| match engine {
                    _ if !targets.contains(&i) || i == 0 => before[i].clone(),
                    Engine::Aggregation(functions) => functions[i].merge(&before[i], &row[i]),
                    _ => row[i].clone(),
                };
                Some(Some((0..row.len()).map(cell).collect()))
            }
        }
    }

    /// The row after a delete, `Some(None)` when it goes; `None` when nothing happens.
    fn delete(&self, before: &Option<Cells>, row: &Cells, targets: &[usize]) -> Option<Option<Cells>> {
        let before = before.as_ref()?;
        let written = |i: usize| i != 0 && targets.contains(&i);
        if let (Engine::Groups(groups), Deletes::Allow) = (&self.rules.engine, self.rules.deletes) {
            let mut after = before.clone();
            let mut changes = false;
            for i in (1..after.len()).filter(|i| written(*i)) {
                let version = groups.iter().find(|(v, columns)| *v == i || columns.contains(&i)).map(|(v, _)| *v);
                let counts = version.is_none_or(|v| row[v] == Cell::Null || row[v] >= before[v]);
                changes |= counts;
                match version {
                    Some(v) if v == i => after[i] = before[i].clone().max(row[i].clone()),
                    _ if counts => after[i] = Cell::Null,
                    _ => {}
                }
            }
            let is_version = |i: &usize| groups.iter().any(|(v, _)| v == i);
            let empty = (1..after.len()).filter(|i| !is_version(i)).all(|i| after[i] == Cell::Null);
            return if empty { Some(None) } else { changes.then_some(Some(after)) };
        }
        match self.rules.deletes {
            Deletes::Ignore => None,
            Deletes::Allow => {
                let others_empty = (1..before.len()).all(|i| targets.contains(&i) || before[i] == Cell::Null);
                if others_empty {
                    return Some(None);
                }
                if targets.len() == 1 && self.rules.engine == Engine::LastRow {
                    return None;
                }
                let cell = |i: usize| if written(i) { Cell::Null } else { before[i].clone() };
                Some(Some((0..before.len()).map(cell).collect()))
            }
            Deletes::Retract => {
                let cell = |i: usize| match (&before[i], &row[i]) {
                    (Cell::Int(state), Cell::Int(value)) if written(i) => Cell::Int(state.wrapping_sub(*value)),
                    (state, _) => state.clone(),
                };
                Some(Some((0..before.len()).map(cell).collect()))
            }
        }
    }

    /// All rows in key order.
    #[must_use]
    pub fn rows(&self) -> &BTreeMap<Cell, Cells> {
        &self.rows
    }

    /// The whole changelog.
    #[must_use]
    pub fn log(&self) -> &[Logged<Cells>] {
        &self.log
    }

    /// The offset that the next request gets.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.end
    }
}

impl Function {
    fn merge(self, state: &Cell, value: &Cell) -> Cell {
        match (self, state, value) {
            (Self::LastValue, _, value) => value.clone(),
            (_, state, Cell::Null) => state.clone(),
            (_, Cell::Null, value) => value.clone(),
            (Self::Sum, Cell::Int(a), Cell::Int(b)) => Cell::Int(a.wrapping_add(*b)),
            (Self::Product, Cell::Int(a), Cell::Int(b)) => Cell::Int(a.wrapping_mul(*b)),
            (Self::Listagg, Cell::Text(a), Cell::Text(b)) => Cell::Text(format!("{a},{b}")),
            (Self::Max, a, b) => a.max(b).clone(),
            (Self::Min, a, b) => a.min(b).clone(),
            (Self::First, a, _) => a.clone(),
            (_, _, value) => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cell::{Int, Null};
    use super::*;

    fn rules(engine: Engine, deletes: Deletes) -> MergeModel {
        MergeModel::new(MergeRules { engine, deletes, full_image: true })
    }

    fn request(targets: &[usize], changes: Vec<(bool, Cells)>) -> MergeRequest {
        MergeRequest { targets: (!targets.is_empty()).then(|| targets.to_vec()), changes }
    }

    fn kinds(model: &MergeModel) -> Vec<(Offset, ChangeKind)> {
        model.log().iter().map(|l| (l.offset, l.kind)).collect()
    }

    #[test]
    fn sums_and_takes_back() {
        let mut model = rules(Engine::Aggregation(vec![Function::First, Function::Sum]), Deletes::Retract);
        let row = |k, v| vec![Int(k), Int(v)];
        model.apply(&request(&[], vec![(true, row(1, 100)), (false, row(1, 60)), (false, row(2, 5))]));
        assert_eq!(model.rows()[&Int(1)], row(1, 40));
        assert_eq!(model.end(), 3);
        assert_eq!(kinds(&model)[1].1, ChangeKind::UpdateBefore);
    }

    #[test]
    fn two_partial_writers_and_their_deletes() {
        let mut model = rules(Engine::LastRow, Deletes::Allow);
        model.apply(&request(&[0, 1], vec![(true, vec![Int(1), Int(7), Null])]));
        model.apply(&request(&[0, 2], vec![(true, vec![Int(1), Null, Int(8)])]));
        assert_eq!(model.rows()[&Int(1)], [Int(1), Int(7), Int(8)]);
        model.apply(&request(&[0, 1], vec![(false, vec![Int(1), Null, Null])]));
        assert_eq!(model.rows()[&Int(1)], [Int(1), Null, Int(8)]);
        model.apply(&request(&[0, 2], vec![(false, vec![Int(1), Null, Null])]));
        assert!(model.rows().is_empty());
        assert_eq!(kinds(&model).last(), Some(&(5, ChangeKind::Delete)));
    }

    #[test]
    fn what_is_kept_is_not_logged_but_takes_an_offset() {
        let mut model = rules(Engine::Versioned(1), Deletes::Ignore);
        for version in [Int(5), Int(4), Null, Int(5)] {
            model.apply(&request(&[], vec![(true, vec![Int(1), version])]));
        }
        assert_eq!(kinds(&model).iter().map(|k| k.0).collect::<Vec<_>>(), [0, 3, 4]);
    }
}
