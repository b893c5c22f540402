//! Rows for keys that have none, made of the keys' bytes: what a lookup that inserts asks for.

use super::{RawBucket, Taken, check_keys, merger};
use crate::TableMeta;
use crate::bucket::{Targets, Upsert};
use crate::packed::Packed;
use crate::row_check;
use crate::values::{batch_of, types};
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray, StringArray, new_null_array};
use arrow_schema::{DataType as ArrowType, FieldRef};
use sluice_base::{Error, ErrorKind, Result, Subject};
use sluice_row::{ChangeKind, columns_of_keys};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

impl RawBucket {
    /// Gives each key that has no row one: of the key's columns and the number that the table gives, NULL elsewhere. Returns when they are
    /// durable and visible; blocks up to `wait` for that, and as long for room.
    ///
    /// # Errors
    /// `Invalid` about `Table` without a primary key, about `Column` when another column is NOT NULL, about `Row` for bytes that are no key;
    /// `Unsupported` about `Column` for a partition column of a type whose values are not read from text; `Busy` when `wait` passes first;
    /// `Corrupt`, `Io`.
    pub fn insert_missing(&self, keys: &[&[u8]], wait: Duration) -> Result<()> {
        let mut there = vec![false; keys.len()];
        self.lookup(keys, |i, _| there.iter_mut().skip(i).take(1).for_each(|t| *t = true))?;
        let missing = keys.iter().zip(there).filter(|(key, there)| !there && !key.is_empty());
        let missing: Vec<&[u8]> = missing.map(|(key, _)| *key).collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.wait_for_room(wait)?;
        let order: Vec<u32> = (0_u32..).take(missing.len()).collect();
        loop {
            let meta = self.keyed()?;
            // Columns one by one, so that a row that has come meanwhile stays as it is.
            let targets = Targets { columns: meta.primary_key.clone(), partial: true, overwrites: false };
            let merger = merger(&meta, &targets, false)?;
            let taken = self.rows_of_keys(&meta, &missing)?;
            row_check::not_null(&meta, taken.rows.columns(), &targets.columns, &taken.kinds, false)?;
            row_check::encoded_sizes(&taken.keys, &taken.values, self.context.settings.row_bytes_max)?;
            let batch = Upsert {
                meta: &meta,
                merger: &merger,
                rows: &taken.rows,
                keys: &taken.keys,
                values: &taken.values,
                kinds: &taken.kinds,
                writer: (-1, -1),
            };
            if let Some(placed) = self.bucket.upsert(&batch, &order)? {
                let (tell, told) = channel();
                // Whoever waited may have lost patience.
                self.settle(placed, move |settled| drop(tell.send(settled)));
                return told.recv_timeout(wait).unwrap_or_else(|_| {
                    let message = "rows that a lookup inserted are not durable yet; look them up again";
                    Err(Error::new(ErrorKind::Busy, Subject::Disk, message))
                });
            }
        }
    }

    fn rows_of_keys(&self, meta: &TableMeta, keys: &[&[u8]]) -> Result<Taken> {
        let all = types(meta.schema());
        let key_types: Vec<_> = meta.row_key.iter().filter_map(|i| all.get(*i).cloned()).collect();
        let unreadable = |e: Error| Error::invalid(Subject::Row, format!("a key cannot be read: {e}"));
        let columns = columns_of_keys(meta.key_format, &key_types, keys).map_err(unreadable)?;
        let partition = meta.partitions.values().find(|p| Some(p.id()) == self.bucket.id.partition);
        let lenient = row_check::lenient(meta.arrow_schema()?);
        let column = |(i, field): (usize, &FieldRef)| {
            if let Some(at) = meta.row_key.iter().position(|k| *k == i) {
                return columns.get(at).cloned().ok_or_else(|| Error::internal("a key lacks a column"));
            }
            let Some(at) = meta.partition_key.iter().position(|k| *k == i) else {
                return Ok(new_null_array(field.data_type(), keys.len()));
            };
            let text = partition.and_then(|p| p.values.get(at)).map_or("", String::as_str);
            repeated(text, field.data_type(), keys.len()).ok_or_else(|| {
                let message = format!(
                    "a lookup cannot insert into table {}: partition column '{}' of type {} is not read from text; put the row, then look it up",
                    meta.path,
                    field.name(),
                    field.data_type()
                );
                Error::unsupported(Subject::Column, message)
            })
        };
        let columns = lenient.fields().iter().enumerate().map(column).collect::<Result<Vec<ArrayRef>>>()?;
        let mut taken = Taken {
            rows: batch_of(&lenient, columns, keys.len())?,
            keys: Packed::default(),
            values: Packed::default(),
            kinds: vec![ChangeKind::Insert; keys.len()],
            has_row: vec![true; keys.len()],
        };
        keys.iter().for_each(|key| taken.keys.push(key));
        check_keys(meta, &taken)?;
        Ok(taken)
    }
}

/// A partition's value in each row, for types whose text is read here.
fn repeated(text: &str, data_type: &ArrowType, count: usize) -> Option<ArrayRef> {
    fn number<T: ArrowPrimitiveType>(text: &str, count: usize) -> Option<ArrayRef>
    where
        T::Native: FromStr,
    {
        Some(Arc::new(PrimitiveArray::<T>::from_value(text.parse().ok()?, count)))
    }
    match data_type {
        ArrowType::Utf8 => Some(Arc::new(StringArray::from_iter_values(std::iter::repeat_n(text, count)))),
        ArrowType::Int8 => number::<Int8Type>(text, count),
        ArrowType::Int16 => number::<Int16Type>(text, count),
        ArrowType::Int32 => number::<Int32Type>(text, count),
        ArrowType::Int64 => number::<Int64Type>(text, count),
        _ => None,
    }
}
