//! Sequence groups of a batch: which incoming rows are new enough for the columns of each group.
//!
//! A row's values of a group count unless the row before it has a higher version there; NULL is the lowest, and of equal ones the newest
//! counts. A delete without a version cannot be ordered: it counts, and the version that is there stays. What it leaves of a
//! group is its version, so that later rows which are older do not bring the values back.

use super::merger::Columns;
use super::version::Versions;
use arrow_array::{Array, ArrayRef};
use sluice_base::{Error, Result};
use sluice_kv::{Effect, Prior, Step};
use sluice_row::ChangeKind;

/// What became of one group at one row.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    version: Option<i64>,
    /// Whether any column of the group, its version aside, has a value.
    filled: bool,
    /// Whether the incoming row counted.
    counts: bool,
    /// Whether the version is the incoming one.
    versioned: bool,
}

/// The groups of a batch, row after row.
#[derive(Debug, Default)]
pub(super) struct Groups {
    versions: Vec<Versions>,
    filled_old: Vec<Vec<bool>>,
    filled_incoming: Vec<Vec<bool>>,
    /// All groups of the first row, then all of the second.
    states: Vec<State>,
}

/// Whether any of the columns has a value, row by row.
fn filled(columns: &[usize], all: &[ArrayRef], rows: usize) -> Vec<bool> {
    let has = |row: usize| columns.iter().any(|c| all.get(*c).is_some_and(|c| c.is_valid(row)));
    (0..rows).map(has).collect()
}

impl Groups {
    /// Reads what decides from the old rows and the incoming ones; each has all columns of the table.
    pub(super) fn new(columns: &Columns, old: (&[ArrayRef], usize), incoming: (&[ArrayRef], usize)) -> Result<Self> {
        let mut groups = Self::default();
        for group in &columns.groups {
            let version = |all: &[ArrayRef]| all.get(group.version).cloned();
            let (Some(before), Some(new)) = (version(old.0), version(incoming.0)) else {
                return Err(Error::internal("a version's column is missing"));
            };
            groups.versions.push(Versions::new(&before, &new)?);
            groups.filled_old.push(filled(&group.columns, old.0, old.1));
            groups.filled_incoming.push(filled(&group.columns, incoming.0, incoming.1));
        }
        Ok(groups)
    }

    fn before(&self, group: usize, prior: Prior) -> State {
        match prior {
            Prior::Absent => State::default(),
            Prior::Old(at) => State {
                version: self.versions.get(group).and_then(|v| v.old(at)),
                filled: self.filled_old.get(group).and_then(|f| f.get(at as usize)).copied().unwrap_or(false),
                ..State::default()
            },
            Prior::Row(at) => self.states.get(at as usize * self.versions.len() + group).copied().unwrap_or_default(),
        }
    }

    /// Puts the next row behind the others. Returns whether it counts for any group, and whether any keeps values in spite of it.
    pub(super) fn push(&mut self, at: u32, kind: ChangeKind, prior: Prior) -> (bool, bool) {
        let (mut any, mut kept) = (false, false);
        for group in 0..self.versions.len() {
            let before = self.before(group, prior);
            let incoming = self.versions.get(group).and_then(|v| v.incoming(at));
            let deletes = kind == ChangeKind::Delete;
            let counts = prior == Prior::Absent || incoming >= before.version || deletes && incoming.is_none();
            let versioned = counts && (!deletes || incoming.is_some());
            let values =
                !deletes && self.filled_incoming.get(group).and_then(|f| f.get(at as usize)).copied().unwrap_or(false);
            self.states.push(State {
                version: if versioned { incoming } else { before.version },
                filled: if counts { values } else { before.filled },
                counts,
                versioned,
            });
            any |= counts;
            kept |= !counts && before.filled;
        }
        (any, kept)
    }

    /// What each row does to the columns of each group: what it does to its row, unless the group is newer.
    pub(super) fn steps(&self, steps: &[Step]) -> Vec<GroupSteps> {
        let width = self.versions.len();
        let of = |group: usize, pick: fn(State, Effect) -> Effect| {
            let effect = |row: usize, effect: Effect| match effect {
                Effect::Skip => Effect::Skip,
                _ => pick(self.states.get(row * width + group).copied().unwrap_or_default(), effect),
            };
            steps.iter().enumerate().map(|(row, s)| Step { effect: effect(row, s.effect), ..*s }).collect()
        };
        let group = |group| GroupSteps {
            version: of(group, |state, _| if state.versioned { Effect::Merge } else { Effect::Stay }),
            values: of(group, |state, effect| if state.counts { effect } else { Effect::Stay }),
        };
        (0..width).map(group).collect()
    }
}

/// What each row does to the columns of one group.
#[derive(Debug)]
pub(super) struct GroupSteps {
    version: Vec<Step>,
    values: Vec<Step>,
}

/// What each row does to one column; `None` for a column of no group.
pub(super) fn steps_of<'a>(columns: &Columns, groups: &'a [GroupSteps], column: usize) -> Option<&'a [Step]> {
    columns.groups.iter().zip(groups).find_map(|(group, steps)| match () {
        () if group.version == column => Some(steps.version.as_slice()),
        () if group.columns.contains(&column) => Some(steps.values.as_slice()),
        () => None,
    })
}
