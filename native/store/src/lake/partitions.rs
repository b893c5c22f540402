//! Partitions of a lake table under the names that the store gives them, and ids for those that only the lake has.

use crate::TableMeta;
use arrow_array::ArrayRef;
use sluice_base::{Error, ErrorKind, PartitionId, Result, Subject};
use sluice_row::{BoundPartition, DataType};

/// The id of a partition that only the lake has. It follows from the name alone, so that a reader which is restored after any time finds the
/// partition again, and is negative, which no id of the store is.
pub(crate) fn partition_id(name: &str) -> PartitionId {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    PartitionId(-1 - i64::try_from(hash >> 1).unwrap_or(0))
}

/// The values of a partition as the store writes them, from its partition columns with one row each.
///
/// # Errors
/// `Conflict` about `Table` for values that the store's own rows cannot have: somebody else has written them.
pub(super) fn partition_of(meta: &TableMeta, columns: &[ArrayRef]) -> Result<Vec<String>> {
    let key: Vec<_> = meta.partition_key.iter().filter_map(|i| meta.schema().columns.get(*i)).collect();
    let types: Vec<DataType> = key.iter().map(|c| c.data_type.clone()).collect();
    let bound = BoundPartition::new(&types, columns)?;
    let text = |(at, column): (usize, &&sluice_row::Column)| {
        bound.text(0, at).map_err(|why| {
            let message = format!(
                "lake table {} has a partition whose column '{}' {why}, which the table cannot have: somebody else has written rows there; \
                 delete them with another writer of Paimon",
                meta.path, column.name
            );
            Error::new(ErrorKind::Conflict, Subject::Table, message)
        })
    };
    key.iter().enumerate().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_the_same_and_are_negative() {
        assert_eq!(partition_id("2026-08-22"), partition_id("2026-08-22"));
        let ids = ["", "a", "b", "2026-08-22", "2026-08-23", "a$b"].map(partition_id);
        assert!(ids.iter().all(|id| id.is_of_lake()), "{ids:?}");
        assert_eq!(partition_id(""), PartitionId(-1 - (0xcbf2_9ce4_8422_2325_u64 >> 1) as i64));
        assert!((1..ids.len()).all(|at| !ids[..at].contains(&ids[at])), "{ids:?}");
    }
}
