//! Which row groups and pages of a Parquet file can hold rows that match: by the bounds that the file itself keeps.

use crate::file_columns::to_file;
use crate::predicate::{Comparison, Predicate};
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType as ArrowType, Schema as ArrowSchema};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::SchemaDescriptor;
use sluice_row::DataType;

/// A file whose bounds are asked.
pub(crate) struct Pruning<'a> {
    pub(crate) metadata: &'a ParquetMetaData,
    pub(crate) arrow: &'a ArrowSchema,
    pub(crate) parquet: &'a SchemaDescriptor,
    /// For each column of the table its type and its name in the file; `None` where the file does not have it.
    pub(crate) columns: &'a [(DataType, Option<String>)],
}

/// Bounds of one column over several stretches of rows.
struct Bounds {
    mins: ArrayRef,
    maxes: ArrayRef,
    nulls: Option<UInt64Array>,
    rows: Vec<u64>,
}

/// Which stretches the bounds are of.
#[derive(Clone, Copy)]
enum Stretch {
    RowGroups,
    /// The pages of a column in one row group.
    Pages(usize),
}

impl Pruning<'_> {
    /// The row groups that can hold a match.
    pub(crate) fn row_groups(&self, predicate: &Predicate) -> Vec<usize> {
        let count = self.metadata.num_row_groups();
        let verdict = self.judge(predicate, count);
        (0..count).filter(|i| verdict.get(*i).copied().unwrap_or(true)).collect()
    }

    fn judge(&self, predicate: &Predicate, count: usize) -> Vec<bool> {
        match predicate {
            Predicate::And(parts) => fold(count, true, parts.iter().map(|p| self.judge(p, count)), |a, b| a && b),
            Predicate::Or(parts) => fold(count, false, parts.iter().map(|p| self.judge(p, count)), |a, b| a || b),
            leaf => self.leaf(leaf, Stretch::RowGroups).unwrap_or_else(|| vec![true; count]),
        }
    }

    /// Rows of these row groups, counted through, whose pages can hold a match; `None` when the file has no bounds of pages.
    pub(crate) fn pages(&self, predicate: &Predicate, row_groups: &[usize]) -> Option<RowSelection> {
        self.metadata.column_index().zip(self.metadata.offset_index())?;
        let groups = row_groups.iter().map(|group| {
            let rows = usize::try_from(self.metadata.row_group(*group).num_rows()).unwrap_or(0);
            self.select(predicate, *group, rows)
        });
        let selectors: Vec<RowSelector> = groups.flat_map(Vec::<RowSelector>::from).collect();
        Some(RowSelection::from(selectors))
    }

    fn select(&self, predicate: &Predicate, group: usize, rows: usize) -> RowSelection {
        let all = || RowSelection::from(vec![RowSelector::select(rows)]);
        match predicate {
            Predicate::And(parts) => {
                parts.iter().fold(all(), |chosen, part| chosen.intersection(&self.select(part, group, rows)))
            }
            Predicate::Or(parts) => {
                let none = RowSelection::from(vec![RowSelector::skip(rows)]);
                parts.iter().fold(none, |chosen, part| chosen.union(&self.select(part, group, rows)))
            }
            leaf => self.select_leaf(leaf, group).unwrap_or_else(all),
        }
    }

    fn select_leaf(&self, predicate: &Predicate, group: usize) -> Option<RowSelection> {
        let bounds = self.bounds(column_of(predicate)?, Stretch::Pages(group))?;
        let verdict = self.leaf(predicate, Stretch::Pages(group))?;
        let selector = |(rows, matches): (&u64, bool)| {
            let rows = usize::try_from(*rows).unwrap_or(0);
            if matches { RowSelector::select(rows) } else { RowSelector::skip(rows) }
        };
        Some(RowSelection::from(bounds.rows.iter().zip(verdict).map(selector).collect::<Vec<_>>()))
    }

    /// For each stretch whether it can hold a match; `None` when nothing is known.
    fn leaf(&self, predicate: &Predicate, stretch: Stretch) -> Option<Vec<bool>> {
        let column = column_of(predicate)?;
        let bounds = self.bounds(column, stretch)?;
        let (data_type, _) = self.columns.get(column)?;
        match predicate {
            Predicate::Compare { comparison, value, .. } => bounds.compare(data_type, value, *comparison),
            Predicate::In { values, .. } => bounds.any_of(data_type, values),
            Predicate::IsNull(_) => {
                let nulls = bounds.nulls.as_ref()?;
                Some(nulls.iter().map(|n| n != Some(0)).collect())
            }
            Predicate::IsNotNull(_) => {
                let nulls = bounds.nulls.as_ref()?.iter();
                Some(nulls.zip(&bounds.rows).map(|(n, rows)| n != Some(*rows)).collect())
            }
            Predicate::And(_) | Predicate::Or(_) => None,
        }
    }

    fn bounds(&self, column: usize, stretch: Stretch) -> Option<Bounds> {
        let (_, name) = self.columns.get(column)?;
        let statistics = StatisticsConverter::try_new(name.as_ref()?, self.arrow, self.parquet).ok()?;
        statistics.parquet_column_index()?;
        // NULLs that were not counted are no zero.
        let statistics = statistics.with_missing_null_counts_as_zero(false);
        match stretch {
            Stretch::RowGroups => {
                let groups = self.metadata.row_groups();
                Some(Bounds {
                    mins: statistics.row_group_mins(groups).ok()?,
                    maxes: statistics.row_group_maxes(groups).ok()?,
                    nulls: statistics.row_group_null_counts(groups).ok(),
                    rows: groups.iter().map(|g| u64::try_from(g.num_rows()).unwrap_or(0)).collect(),
                })
            }
            Stretch::Pages(group) => {
                let (columns, offsets) = self.metadata.column_index().zip(self.metadata.offset_index())?;
                let groups = [group];
                let rows = statistics.data_page_row_counts(offsets, self.metadata.row_groups(), &groups).ok()??;
                Some(Bounds {
                    mins: statistics.data_page_mins(columns, offsets, &groups).ok()?,
                    maxes: statistics.data_page_maxes(columns, offsets, &groups).ok()?,
                    nulls: statistics.data_page_null_counts(columns, offsets, &groups).ok(),
                    rows: rows.values().to_vec(),
                })
            }
        }
    }
}

const fn column_of(predicate: &Predicate) -> Option<usize> {
    match predicate {
        Predicate::Compare { column, .. }
        | Predicate::In { column, .. }
        | Predicate::IsNull(column)
        | Predicate::IsNotNull(column) => Some(*column),
        Predicate::And(_) | Predicate::Or(_) => None,
    }
}

fn fold(count: usize, start: bool, parts: impl Iterator<Item = Vec<bool>>, join: fn(bool, bool) -> bool) -> Vec<bool> {
    parts.fold(vec![start; count], |all, part| all.into_iter().zip(part).map(|(a, b)| join(a, b)).collect())
}

impl Bounds {
    /// Bounds and values as bytes that compare as the values do.
    fn comparable(&self, data_type: &DataType, values: &ArrayRef) -> Option<(Rows, Rows, Rows)> {
        let values = to_file(data_type, values).ok()?;
        let converter = RowConverter::new(vec![SortField::new(values.data_type().clone())]).ok()?;
        let convert = |array: &ArrayRef| converter.convert_columns(&[same_type(array, values.data_type())?]).ok();
        Some((convert(&self.mins)?, convert(&self.maxes)?, convert(&values)?))
    }

    fn compare(&self, data_type: &DataType, value: &ArrayRef, comparison: Comparison) -> Option<Vec<bool>> {
        if value.len() != 1 || value.is_null(0) {
            // NULL compares with nothing.
            return (value.len() == 1).then(|| vec![false; self.rows.len()]);
        }
        let (mins, maxes, value) = self.comparable(data_type, value)?;
        let value = value.row(0);
        let can = |i: usize| {
            // An unknown bound excludes nothing.
            let above_min = self.mins.is_null(i) || mins.row(i) <= value;
            let below_max = self.maxes.is_null(i) || maxes.row(i) >= value;
            match comparison {
                Comparison::Equal => above_min && below_max,
                Comparison::Less => self.mins.is_null(i) || mins.row(i) < value,
                Comparison::LessOrEqual => above_min,
                Comparison::Greater => self.maxes.is_null(i) || maxes.row(i) > value,
                Comparison::GreaterOrEqual => below_max,
            }
        };
        Some((0..self.rows.len()).map(can).collect())
    }

    fn any_of(&self, data_type: &DataType, values: &ArrayRef) -> Option<Vec<bool>> {
        let one = |i: usize| self.compare(data_type, &values.slice(i, 1), Comparison::Equal);
        let all = (0..values.len()).map(one).collect::<Option<Vec<_>>>()?;
        Some(fold(self.rows.len(), false, all.into_iter(), |a, b| a || b))
    }
}

/// The array under another type of the same values: bounds of instants carry a zone, values do not.
fn same_type(array: &ArrayRef, data_type: &ArrowType) -> Option<ArrayRef> {
    let fits = match (array.data_type(), data_type) {
        (ArrowType::Timestamp(a, _), ArrowType::Timestamp(b, _)) => a == b,
        (a, b) => a == b,
    };
    if !fits {
        return None;
    }
    let data = array.to_data().into_builder().data_type(data_type.clone()).build().ok()?;
    Some(arrow_array::make_array(data))
}
