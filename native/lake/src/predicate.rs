//! Conditions on rows, as far as statistics of Parquet files can answer them. They only ever leave out what cannot match: whoever asks
//! must test the rows that come.

use arrow_array::ArrayRef;

/// How a column is compared with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name is its own description")]
pub enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A condition. Columns are positions in the table's schema.
#[derive(Debug, Clone)]
pub enum Predicate {
    /// All of them hold.
    And(Vec<Predicate>),
    /// One of them holds.
    Or(Vec<Predicate>),
    /// A column compared with the one value of an array of the column's Arrow type; NULL on either side never matches.
    Compare {
        /// The column.
        column: usize,
        /// How.
        comparison: Comparison,
        /// The value.
        value: ArrayRef,
    },
    /// A column equals one of the values of an array of the column's Arrow type.
    In {
        /// The column.
        column: usize,
        /// The values.
        values: ArrayRef,
    },
    /// A column is NULL.
    IsNull(usize),
    /// A column is not NULL.
    IsNotNull(usize),
}

impl Predicate {
    /// What of this condition speaks of columns for which `keep` holds alone: whatever matches the whole matches it too. `None` when
    /// nothing is left.
    pub(crate) fn restricted(&self, keep: &dyn Fn(usize) -> bool) -> Option<Self> {
        match self {
            Self::And(parts) => {
                let parts: Vec<Self> = parts.iter().filter_map(|p| p.restricted(keep)).collect();
                (!parts.is_empty()).then_some(Self::And(parts))
            }
            // Only whole: a part of OR that is left out could have matched.
            Self::Or(parts) => parts.iter().map(|p| p.restricted(keep)).collect::<Option<Vec<_>>>().map(Self::Or),
            Self::Compare { column, .. } | Self::In { column, .. } | Self::IsNull(column) | Self::IsNotNull(column) => {
                keep(*column).then(|| self.clone())
            }
        }
    }
}
