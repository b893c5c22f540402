use super::*;
use sluice_row::{Column, DataType, Schema, TypeRoot};

/// 2026-01-01 05:30:00 UTC.
const NEW_YEAR: i64 = 1_767_245_400_000;
const HOUR: i64 = 3_600_000;

fn table(keys: &[(&str, TypeRoot)], properties: &[(&str, &str)]) -> TableDescriptor {
    let column = |(name, root): &(&str, TypeRoot)| Column {
        name: (*name).to_owned(),
        data_type: DataType::new(root.clone()),
        comment: None,
        id: None,
        agg_function: None,
    };
    let properties = properties.iter().map(|(k, v)| (format!("table.auto-partition.{k}"), (*v).to_owned()));
    TableDescriptor {
        version: 1,
        schema: Schema::new(keys.iter().map(column).collect(), Vec::new()),
        comment: None,
        partition_key: keys.iter().map(|(name, _)| (*name).to_owned()).collect(),
        bucket_key: Vec::new(),
        bucket_count: Some(1),
        properties: properties.chain([(ENABLED.to_owned(), "true".to_owned())]).collect(),
        custom_properties: BTreeMap::new(),
    }
}

fn auto(properties: &[(&str, &str)]) -> AutoPartition {
    AutoPartition::of(&table(&[("dt", TypeRoot::String)], properties)).unwrap().unwrap()
}

fn refusal(keys: &[(&str, TypeRoot)], properties: &[(&str, &str)]) -> String {
    AutoPartition::of(&table(keys, properties)).unwrap_err().to_string()
}

#[test]
fn units_and_their_texts() {
    for (unit, ahead, texts) in [
        ("HOUR", "3", vec!["2026010105", "2026010106", "2026010107"]),
        ("DAY", "2", vec!["20260101", "20260102"]),
        ("MONTH", "2", vec!["202601", "202602"]),
        ("quarter", "5", vec!["20261", "20262", "20263", "20264", "20271"]),
        ("YEAR", "2", vec!["2026", "2027"]),
        ("YEAR", "0", vec![]),
    ] {
        let auto = auto(&[("time-unit", unit), ("num-precreate", ahead), ("time-zone", "UTC")]);
        assert_eq!(auto.wanted(NEW_YEAR), texts, "{unit}");
    }
    assert_eq!(auto(&[("time-zone", "UTC")]).wanted(NEW_YEAR), ["20260101", "20260102"]);
}

#[test]
fn days_and_months_begin_at_the_tables_own_midnight() {
    for (zone, day) in [
        ("UTC", "20260101"),
        ("America/New_York", "20260101"),
        ("-06:00", "20251231"),
        ("Pacific/Kiritimati", "20260101"),
    ] {
        assert_eq!(auto(&[("time-zone", zone)]).wanted(NEW_YEAR)[0], day, "{zone}");
    }
    assert_eq!(auto(&[("time-zone", "-06:00"), ("time-unit", "MONTH")]).wanted(NEW_YEAR), ["202512", "202601"]);
    // In Berlin the hour from 2 to 3 comes twice when summer ends, and not at all when it begins.
    let berlin = auto(&[("time-zone", "Europe/Berlin"), ("time-unit", "HOUR"), ("num-precreate", "4")]);
    let autumn = 1_761_436_800_000; // 2025-10-26 00:00 UTC, there 2:00 in summer
    assert_eq!(berlin.wanted(autumn), ["2025102602", "2025102603", "2025102604"]);
    let spring = 1_743_292_800_000; // 2025-03-30 00:00 UTC, there 1:00
    assert_eq!(berlin.wanted(spring), ["2025033001", "2025033003", "2025033004", "2025033005"]);
}

#[test]
fn retention_keeps_the_newest_past_units_and_all_to_come() {
    let auto = auto(&[("time-unit", "DAY"), ("num-retention", "2"), ("time-zone", "UTC")]);
    for (value, expired) in
        [("20251229", true), ("20251230", false), ("20251231", false), ("20260101", false), ("20990101", false)]
    {
        assert_eq!(auto.has_expired(value, NEW_YEAR), expired, "{value}");
        assert_eq!(auto.check(value, NEW_YEAR).is_err(), expired, "{value}");
    }
    assert!(!auto.has_expired("20251230", NEW_YEAR + 18 * HOUR));
    assert!(auto.has_expired("20251230", NEW_YEAR + 19 * HOUR));
    let for_ever = self::auto(&[("num-retention", "-1")]);
    assert!(!for_ever.has_expired("00010101", NEW_YEAR));
    for_ever.check("00010101", NEW_YEAR).unwrap();
    let now_only = self::auto(&[("num-retention", "0"), ("time-unit", "YEAR"), ("time-zone", "UTC")]);
    assert!(now_only.has_expired("2025", NEW_YEAR) && !now_only.has_expired("2026", NEW_YEAR));
}

#[test]
fn values_must_have_the_format() {
    let auto = auto(&[("time-unit", "DAY"), ("num-retention", "-1")]);
    for bad in ["2026-01-01", "2026010", "202601010", "20260132", "20260229", "2026x101", "", "00000101"] {
        let e = auto.check(bad, NEW_YEAR).unwrap_err().to_string();
        assert!(e.contains("does not match the expected format 'yyyyMMdd'") && e.contains("'dt'"), "{e}");
    }
    let quarter = self::auto(&[("time-unit", "QUARTER"), ("time-format", "yyyy-'Q'Q"), ("num-retention", "-1")]);
    quarter.check("2026-Q4", NEW_YEAR).unwrap();
    quarter.check("2026-Q5", NEW_YEAR).unwrap_err();
    let hour = self::auto(&[("time-unit", "HOUR"), ("time-format", "yyyy-MM-dd_HH"), ("num-retention", "-1")]);
    hour.check("2026-01-01_23", NEW_YEAR).unwrap();
    hour.check("2026-01-01_24", NEW_YEAR).unwrap_err();
    let old = self::auto(&[("num-retention", "1"), ("time-zone", "UTC")])
        .check("20200101", NEW_YEAR)
        .unwrap_err()
        .to_string();
    assert!(old.contains("is out-of-date") && old.contains("'20251231'"), "{old}");
}

#[test]
fn formats_that_would_not_sort_by_time_are_refused() {
    let key = [("dt", TypeRoot::String)];
    for (unit, format, part) in [
        ("DAY", "yyyyMM", "exactly the fields of the unit DAY"),
        ("DAY", "ddMMyyyy", "the largest first"),
        ("DAY", "yyyyMMddHH", "exactly the fields"),
        ("DAY", "yyyyMdd", "'M', whose width is not fixed"),
        ("DAY", "yyMMdd", "width is not fixed"),
        ("DAY", "yyyyMM[dd]", "optional section"),
        ("DAY", "yyyyMMdd'x", "a quote without its end"),
        ("DAY", "yyyyMMddEE", "'EE'"),
        ("DAY", "yyyy/MM/dd", "names that no partition can have"),
        ("QUARTER", "yyyyQQQ", "width is not fixed"),
        ("MONTH", "", "exactly the fields"),
    ] {
        let e = refusal(&key, &[("time-unit", unit), ("time-format", format)]);
        assert!(e.contains("'table.auto-partition.time-format'") && e.contains(part), "{e}");
    }
}

#[test]
fn the_format_must_suit_the_column() {
    let date = [("d", TypeRoot::Date)];
    let days = AutoPartition::of(&table(&date, &[("time-zone", "UTC")])).unwrap().unwrap();
    assert_eq!(days.wanted(NEW_YEAR)[0], "2026-01-01");
    for properties in [&[("time-unit", "MONTH")][..], &[("time-format", "yyyyMMdd")]] {
        let e = refusal(&date, properties);
        assert!(e.contains("must be DAY and the format 'yyyy-MM-dd'"), "{e}");
    }
    let int = [("y", TypeRoot::Int)];
    AutoPartition::of(&table(&int, &[("time-unit", "YEAR")])).unwrap().unwrap();
    let e = refusal(&int, &[("time-format", "yyyy-MM-dd")]);
    assert!(e.contains("partition column 'y' (INT) cannot hold"), "{e}");
}

#[test]
fn the_key_of_several_columns_must_be_named() {
    let keys = [("region", TypeRoot::String), ("dt", TypeRoot::String)];
    let e = refusal(&keys, &[]);
    assert!(e.contains("must set one auto partition key") && e.contains("'table.auto-partition.key'"), "{e}");
    let e = refusal(&keys, &[("key", "day")]);
    assert!(e.contains("'day' is not one of the partition columns (region, dt)"), "{e}");
    let e = refusal(&keys, &[("key", "dt"), ("num-precreate", "1")]);
    assert!(e.contains("'table.auto-partition.num-precreate' = '1' must be 0"), "{e}");
    let auto = AutoPartition::of(&table(&keys, &[("key", "dt")])).unwrap().unwrap();
    assert_eq!((auto.key, auto.wanted(NEW_YEAR)), (1, Vec::new()));
    assert!(refusal(&[], &[]).contains("needs a partitioned table"));
    assert!(refusal(&keys[1..], &[("time-zone", "Mars/Crater")]).contains("is no time zone"));
    assert!(refusal(&keys[1..], &[("time-unit", "WEEK")]).contains("HOUR, DAY, MONTH, QUARTER, YEAR"));
}

#[test]
fn off_is_off() {
    let mut off = table(&[("dt", TypeRoot::String)], &[("time-unit", "WEEK")]);
    off.properties.insert(ENABLED.to_owned(), "false".to_owned());
    assert_eq!(AutoPartition::of(&off).unwrap(), None);
    off.properties.remove(ENABLED);
    assert_eq!(AutoPartition::of(&off).unwrap(), None);
}
