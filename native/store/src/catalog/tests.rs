//! The catalog's file: it comes back equal, and no damage goes unnoticed or panics.

use super::file::{decode, encode};
use super::state::State;
use crate::ddl::Limits;
use sluice_api::TableChange;
use sluice_base::{ErrorKind, Subject};
use sluice_row::{
    Column, DataType, DatabaseDescriptor, Schema, TableDescriptor, TablePath, TypeRoot, ViewColumn, ViewDescriptor,
};
use std::collections::BTreeMap;
use std::path::Path;

fn column(name: &str, root: TypeRoot) -> Column {
    Column {
        name: name.to_owned(),
        data_type: DataType::new(root),
        comment: Some("é".to_owned()),
        id: None,
        agg_function: None,
    }
}

fn table(columns: Vec<Column>, primary_key: &[&str]) -> TableDescriptor {
    TableDescriptor {
        version: 1,
        schema: Schema::new(columns, primary_key.iter().map(|s| (*s).to_owned()).collect()),
        comment: None,
        partition_key: Vec::new(),
        bucket_key: Vec::new(),
        bucket_count: None,
        properties: BTreeMap::new(),
        custom_properties: BTreeMap::from([(
            "schema.watermark.0.strategy.expr".to_owned(),
            "`ts` - INTERVAL '5' SECOND".to_owned(),
        )]),
    }
}

fn view() -> ViewDescriptor {
    ViewDescriptor {
        version: 1,
        columns: vec![ViewColumn { name: "ä".to_owned(), data_type: "VARCHAR(3) NOT NULL".to_owned(), comment: None }],
        comment: Some("é".to_owned()),
        original_query: "SELECT m FROM log".to_owned(),
        expanded_query: "SELECT `log`.`m` AS `ä`\nFROM `c`.`d`.`log`".to_owned(),
        properties: BTreeMap::from([("k".to_owned(), "v".to_owned())]),
    }
}

fn sample() -> State {
    let mut state = State::new(1);
    let limits = Limits { buckets_default: 1, buckets_max: 4096, partitions_max: 1000 };
    state.create_database("d", &DatabaseDescriptor::default(), false, 2).unwrap();
    let map = TypeRoot::Map(
        Box::new(DataType::new(TypeRoot::String)),
        Box::new(DataType::new(TypeRoot::Decimal { precision: 38, scale: 2 })),
    );
    for (name, key) in [("log", &[][..]), ("kv", &["b", "a"][..])] {
        let columns = vec![column("a", TypeRoot::Int), column("b", TypeRoot::String), column("m", map.clone())];
        state.create_table(&TablePath::new("d", name), &table(columns, key), limits, false, 3).unwrap();
    }
    state.create_view(&TablePath::new("d", "v"), &view(), false, 5).unwrap();
    let added = TableChange::AddColumn { column: column("z", TypeRoot::Bytes) };
    state.alter_table(&TablePath::new("d", "kv"), &[added], limits, false, 4).unwrap();
    let mut by_day = table(vec![column("v", TypeRoot::Int), column("day", TypeRoot::String)], &[]);
    by_day.partition_key = vec!["day".to_owned(), "v".to_owned()];
    let parts = state.create_table(&TablePath::new("d", "parts"), &by_day, limits, false, 5).unwrap().unwrap();
    let wanted = [["x", "1"], ["y", "2"]].map(|v| v.map(str::to_owned).to_vec());
    state.create_partitions(&parts, &wanted, limits, 6).unwrap().unwrap();
    state
}

fn path() -> &'static Path {
    Path::new("/s/catalog")
}

#[test]
fn comes_back_equal() {
    let state = sample();
    let bytes = encode(&state).unwrap();
    let read = decode(path(), &bytes).unwrap();
    assert_eq!(encode(&read).unwrap(), bytes);
    let kv = read.table(&TablePath::new("d", "kv")).unwrap();
    assert_eq!((kv.id.0, kv.schema_id().0, kv.schemas.len()), (1, 2, 2));
    assert_eq!((&kv.primary_key[..], &kv.bucket_key[..]), (&[1, 0][..], &[1, 0][..]));
    let parts = read.table(&TablePath::new("d", "parts")).unwrap();
    assert_eq!(parts.partition_key, [1, 0]);
    assert_eq!(parts.partitions.keys().collect::<Vec<_>>(), ["x$1", "y$2"]);
    assert_eq!((parts.partitions["y$2"].partition_id, read.next.partition), (1, 2));
}

#[test]
fn every_flipped_bit_is_noticed() {
    let bytes = encode(&sample()).unwrap();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            match decode(path(), &damaged) {
                // The case of a hexadecimal digit means nothing.
                Ok(read) => assert!(at < 40 && encode(&read).unwrap() == bytes, "byte {at} bit {bit}"),
                Err(e) => {
                    assert!(
                        matches!(e.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported),
                        "byte {at} bit {bit}: {e}"
                    );
                    assert!(e.message().contains("/s/catalog"), "{e}");
                }
            }
        }
    }
}

#[test]
fn every_cut_is_noticed() {
    let bytes = encode(&sample()).unwrap();
    for length in 0..bytes.len() {
        assert_eq!(decode(path(), &bytes[..length]).unwrap_err().kind(), ErrorKind::Corrupt, "{length}");
    }
    let mut longer = bytes;
    longer.push(b' ');
    assert_eq!(decode(path(), &longer).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let e = decode(path(), b"SLUICE-CATALOG 4 0 00000000\n").unwrap_err();
    assert_eq!((e.kind(), e.subject()), (ErrorKind::Unsupported, Subject::Store));
    assert!(e.message().contains("format 4") && e.message().contains("newer Sluice"), "{e}");
}

#[test]
fn content_that_contradicts_itself_is_refused() {
    let text = String::from_utf8(encode(&sample()).unwrap()).unwrap();
    let body = text.split_once('\n').unwrap().1;
    for (from, to) in [
        (r#""next_table_id":3"#, r#""next_table_id":2"#),
        (r#""schema_id":2"#, r#""schema_id":1"#),
        (r#""primary_key":["b","a"]"#, r#""primary_key":["b","x"]"#),
        (r#""database":"d""#, r#""database":"e""#),
        (r#""database":"d","table":"v""#, r#""database":"d","table":"kv""#),
        (r#""table.kv.format-version":"2""#, r#""table.kv.format-version":"7""#),
        (r#""next_partition_id":2"#, r#""next_partition_id":1"#),
        (r#""values":["y","2"]"#, r#""values":["y"]"#),
        (r#""values":["y","2"]"#, r#""values":["x","1"]"#),
        (r#""partition_id":1"#, r#""partition_id":0"#),
        (r#""partition_key":["day","v"]"#, r#""partition_key":["day","w"]"#),
        (r#""type":"BYTES""#, r#""type":"BITES""#),
    ] {
        assert!(body.contains(from), "{from}");
        let body = body.replace(from, to);
        let whole = format!("SLUICE-CATALOG 3 {} {:08x}\n{body}", body.len(), crc32c::crc32c(body.as_bytes()));
        let e = decode(path(), whole.as_bytes()).unwrap_err();
        assert!(e.message().contains("/s/catalog"), "{e}");
    }
}

/// Catalogs as each version wrote them.
#[test]
fn old_versions_open() {
    let fixture = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    let written = encode(&sample()).unwrap();
    if std::env::var_os("SLUICE_BLESS").is_some() {
        std::fs::write(fixture("catalog.v3"), &written).unwrap();
    }
    assert!(
        written == std::fs::read(fixture("catalog.v3")).unwrap(),
        "the bytes of version 3 changed: that needs a version 4"
    );
    for (name, views) in [("catalog.v1", 0), ("catalog.v2", 1)] {
        let old = decode(path(), &std::fs::read(fixture(name)).unwrap()).unwrap();
        assert_eq!((old.databases["d"].views.len(), old.next.table, old.next.partition), (views, 2, 0), "{name}");
        let kv = old.table(&TablePath::new("d", "kv")).unwrap();
        assert_eq!((kv.schemas.len(), kv.partitions.len()), (2, 0), "{name}");
        assert!(encode(&old).unwrap().starts_with(b"SLUICE-CATALOG 3 "), "{name}");
    }
    assert_eq!(decode(path(), b"SLUICE-CATALOG 0 0 00000000\n").unwrap_err().kind(), ErrorKind::Corrupt);
}
