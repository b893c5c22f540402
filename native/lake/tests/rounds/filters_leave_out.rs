//! Filters leave out what cannot match, and nothing else.

use crate::fixture::{create, offsets_where, round};
use arrow_array::{ArrayRef, Int32Array, StringArray};
use sluice_lake::{Comparison, Predicate};
use std::sync::Arc;

fn compare(comparison: Comparison, value: i32) -> Predicate {
    Predicate::Compare { column: 0, comparison, value: Arc::new(Int32Array::from(vec![value])) as ArrayRef }
}

#[test]
fn pages_and_row_groups_that_cannot_match_are_not_read() {
    for keyed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let table = create(dir.path(), keyed);
        const ROWS: i64 = 200_000;
        round(&table, "u", 0, None, 0..ROWS / 2).unwrap();
        round(&table, "u", 0, Some(ROWS / 2), ROWS / 2..ROWS).unwrap();
        let cases = [
            (compare(Comparison::Equal, 150_000), 30_000),
            (compare(Comparison::Less, 1_000), 30_000),
            (compare(Comparison::LessOrEqual, 0), 30_000),
            (compare(Comparison::Greater, 199_998), 30_000),
            (compare(Comparison::GreaterOrEqual, 199_999), 30_000),
            (compare(Comparison::Greater, 199_999), 0),
            (Predicate::And(vec![compare(Comparison::Greater, 70_000), compare(Comparison::Less, 70_010)]), 30_000),
            (Predicate::Or(vec![compare(Comparison::Less, 5), compare(Comparison::Greater, 199_990)]), 60_000),
            (Predicate::In { column: 0, values: Arc::new(Int32Array::from(vec![7, 120_000])) }, 60_000),
            (Predicate::IsNull(0), 0),
            (Predicate::IsNotNull(0), 200_000),
        ];
        for (predicate, most) in cases {
            let found = offsets_where(&table, Some(predicate.clone()));
            let wanted: Vec<i64> = (0..ROWS).filter(|k| matches(&predicate, *k)).collect();
            assert!(wanted.iter().all(|k| found.binary_search(k).is_ok()), "{keyed} {predicate:?}");
            assert!(found.len() <= most, "{keyed} {predicate:?}: {} rows read", found.len());
        }
    }
}

/// What a predicate on the key says of one, which is never NULL.
fn matches(predicate: &Predicate, k: i64) -> bool {
    let number = |a: &ArrayRef, i: usize| i64::from(a.as_any().downcast_ref::<Int32Array>().unwrap().value(i));
    match predicate {
        Predicate::And(parts) => parts.iter().all(|p| matches(p, k)),
        Predicate::Or(parts) => parts.iter().any(|p| matches(p, k)),
        Predicate::Compare { comparison, value, .. } => match comparison {
            Comparison::Equal => k == number(value, 0),
            Comparison::Less => k < number(value, 0),
            Comparison::LessOrEqual => k <= number(value, 0),
            Comparison::Greater => k > number(value, 0),
            Comparison::GreaterOrEqual => k >= number(value, 0),
        },
        Predicate::In { values, .. } => (0..values.len()).any(|i| k == number(values, i)),
        Predicate::IsNull(_) => false,
        Predicate::IsNotNull(_) => true,
    }
}

#[test]
fn a_filter_on_a_value_never_brings_an_older_row_of_a_key_back() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(dir.path(), true);
    let round_of = |text: &str, start: Option<i64>, offset: i64| {
        let batch = arrow_array::RecordBatch::try_new(
            sluice_row::arrow_schema(&crate::fixture::descriptor(true).schema),
            vec![Arc::new(Int32Array::from(vec![3])), Arc::new(StringArray::from(vec![text]))],
        );
        let mut writer = sluice_lake::KeyedWriter::new(&table, 0);
        writer.write(&batch.unwrap(), &[sluice_row::ChangeKind::Insert], offset, 5).unwrap();
        let mut round = sluice_lake::Round::new(&table, "u");
        round.add(crate::fixture::bucket(0), start, offset..offset + 1, writer.finish().unwrap());
        round.commit().unwrap();
    };
    round_of("old", None, 2);
    round_of("new", Some(3), 3);
    let old = Predicate::Compare {
        column: 1,
        comparison: Comparison::Equal,
        value: Arc::new(StringArray::from(vec!["old"])),
    };
    assert!([vec![], vec![3]].contains(&offsets_where(&table, Some(old))));
}
