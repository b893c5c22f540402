use crate::fixture::{self, batch, home, row};
use sluice_api::ScanStart;
use std::collections::BTreeMap;

#[test]
fn a_key_always_lands_in_one_bucket_and_keeps_its_order_there() {
    let home = home();
    for (name, keyed) in [("keyed", true), ("log", false)] {
        let table = home.create(name, &fixture::buckets(fixture::descriptor(keyed), 4, &["id"]));
        let mut writer = table.writer();
        for version in 0..3 {
            writer.write(&batch(&(0..200).map(|i| row(i, "x", version)).collect::<Vec<_>>()), &[]).unwrap();
        }
        writer.flush(fixture::WAIT).unwrap();
        let mut homes: BTreeMap<i32, (i32, Vec<i32>)> = BTreeMap::new();
        let mut used = 0;
        for bucket in 0..4 {
            let rows = table.log_from(bucket, 0);
            used += i32::from(!rows.is_empty());
            for (_, _, (id, _, amount)) in rows.into_iter().filter(|(k, ..)| *k != sluice_row::ChangeKind::UpdateBefore)
            {
                let home = homes.entry(id).or_insert((bucket, Vec::new()));
                assert_eq!(home.0, bucket, "key {id} is in two buckets");
                home.1.push(amount.unwrap());
            }
        }
        assert_eq!(used, 4);
        assert_eq!(homes.len(), 200);
        assert!(homes.values().all(|(_, versions)| *versions == [0, 1, 2]));
        if keyed {
            assert_eq!(
                table.get(&(0..200).map(Some).collect::<Vec<_>>()),
                (0..200).map(|i| Some(row(i, "x", 2))).collect::<Vec<_>>()
            );
            let rows = (0..4).flat_map(|b| table.batches(b, None, ScanStart::Current, None));
            assert_eq!(rows.map(|b| b.rows.num_rows()).sum::<usize>(), 200);
        }
    }
}
