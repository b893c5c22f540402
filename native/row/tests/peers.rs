//! Our bytes against those of Flink 1.20.3 (`RowDataSerializer.toBinaryRow` over `GenericRowData`) and of Fluss 0.9.1 (`CompactedRowEncoder`,
//! `CompactedKeyEncoder`, `PaimonKeyEncoder`), recorded in `fixtures/peer_rows.tsv`: random types and values, nested to depth 3.
//!
//! A line is: the row's type as JSON, the BinaryRowData, the compacted row, the numbers of the flat columns that are not NULL, and their
//! compacted and Paimon keys, bytes as hex. `SLUICE_PEER_ROWS` names a longer file of the same form.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::Schema as ArrowSchema;
use sluice_row::{
    BinaryRowWriter, ColumnIn, DataType, KeyEncoder, KeyFormat, RowDecoder, RowEncoder, TypeRoot, arrow_field,
    columns_to_batch,
};
use std::sync::Arc;

struct Recorded {
    data_type: DataType,
    binary: Vec<u8>,
    compacted: Vec<u8>,
    key_columns: Vec<usize>,
    compacted_key: Vec<u8>,
    paimon_key: Vec<u8>,
}

fn hex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ascii"), 16).expect("hex"))
        .collect()
}

fn recorded() -> Vec<Recorded> {
    let text = match std::env::var_os("SLUICE_PEER_ROWS") {
        Some(path) => std::fs::read_to_string(path).expect("SLUICE_PEER_ROWS names a file"),
        None => include_str!("fixtures/peer_rows.tsv").to_owned(),
    };
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        Recorded {
            data_type: serde_json::from_str(fields[0]).expect("type"),
            binary: hex(fields[1]),
            compacted: hex(fields[2]),
            key_columns: fields[3].split(',').filter_map(|n| n.parse().ok()).collect(),
            compacted_key: hex(fields[4]),
            paimon_key: hex(fields[5]),
        }
    };
    text.lines().map(line).collect()
}

fn types(row: &DataType) -> Vec<DataType> {
    let TypeRoot::Row(fields) = &row.root else { panic!("a ROW was recorded") };
    fields.iter().map(|f| f.data_type.clone()).collect()
}

/// The row's columns, decoded from its BinaryRowData as the crossing decodes a ROW value.
fn columns(data_type: &DataType, binary: &[u8]) -> RecordBatch {
    let schema = Arc::new(ArrowSchema::new(vec![arrow_field("row", data_type)]));
    let offsets = [0, i32::try_from(binary.len()).expect("short")];
    let column = ColumnIn { validity: None, data: binary, offsets: Some(&offsets), extra: None };
    let batch =
        columns_to_batch(&schema, std::slice::from_ref(data_type), &[column], 1).expect("Flink's bytes are sound");
    RecordBatch::from(batch.column(0).as_struct().clone())
}

#[test]
fn binary_rows_are_those_of_flink() {
    for (line, row) in recorded().iter().enumerate() {
        let batch = columns(&row.data_type, &row.binary);
        let (mut out, mut starts) = (Vec::new(), Vec::new());
        BinaryRowWriter::new(&types(&row.data_type)).write(&batch, &mut out, &mut starts).expect("write");
        assert_eq!(out, row.binary, "line {}: {}", line + 1, row.data_type);
        assert_eq!(starts, [0, u32::try_from(out.len()).expect("short")]);
    }
}

#[test]
fn compacted_rows_are_those_of_fluss() {
    let rows = recorded();
    let mut stale = 0;
    for (line, row) in rows.iter().enumerate() {
        let batch = columns(&row.data_type, &row.binary);
        let types = types(&row.data_type);
        let mut out = Vec::new();
        RowEncoder::new(&types).bind(batch.columns()).expect("bind").encode(0, &mut out);
        // In the slot of a NULL element Fluss may leave what its reused writer had there before; we leave zeroes.
        assert_eq!(out.len(), row.compacted.len(), "line {}: {}", line + 1, row.data_type);
        let differ = out.iter().zip(&row.compacted).filter(|(ours, theirs)| ours != theirs);
        assert!(differ.clone().all(|(ours, _)| *ours == 0), "line {}: {}", line + 1, row.data_type);
        stale += usize::from(differ.count() > 0);

        let mut rows = RowDecoder::new(&types, None).with_schema(batch.schema()).builder(1);
        rows.push(&row.compacted).expect("Fluss's bytes are sound");
        // Structs compare by value, and so do the columns of this batch; NaN is equal to itself in Arrow.
        assert_eq!(rows.finish().expect("finish"), batch, "line {}", line + 1);
    }
    assert!(stale * 50 < rows.len(), "{stale} of {} rows differ", rows.len());
}

#[test]
fn keys_are_those_of_fluss() {
    let mut seen = 0;
    for (line, row) in recorded().iter().enumerate().filter(|(_, r)| !r.key_columns.is_empty()) {
        let batch = columns(&row.data_type, &row.binary);
        let all = types(&row.data_type);
        let types: Vec<DataType> = row.key_columns.iter().map(|&i| all[i].clone()).collect();
        let arrays: Vec<ArrayRef> = row.key_columns.iter().map(|&i| Arc::clone(batch.column(i))).collect();
        for (format, due) in [(KeyFormat::Compacted, &row.compacted_key), (KeyFormat::Paimon, &row.paimon_key)] {
            let mut out = Vec::new();
            let keys = KeyEncoder::new(format, &types).expect("flat");
            keys.bind(&arrays).expect("bind").encode(0, &mut out).expect("no NULL");
            assert_eq!(&out, due, "line {}: {format:?} of {types:?}", line + 1);
        }
        assert_eq!(arrays[0].len(), 1);
        seen += 1;
    }
    assert!(seen >= 20, "only {seen} keys were recorded");
}
