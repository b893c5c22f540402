use super::*;
use proptest::prelude::*;

fn sample() -> Vec<u8> {
    let mut batch = KvBatchWriter::new(SchemaId(1), (9, 4));
    batch.push(b"\x01", Some(b"\x00\x01\x05java1")).unwrap();
    batch.push(b"\x02", None).unwrap();
    batch.finish()
}

#[test]
fn the_layout_is_the_protocols() {
    let bytes = sample();
    assert_eq!(bytes[..5], [44, 0, 0, 0, 0]);
    assert_eq!(bytes[9..28], *b"\x01\x00\x00\x09\0\0\0\0\0\0\0\x04\0\0\0\x02\0\0\0");
    assert_eq!(bytes[28..], *b"\x0a\0\0\0\x01\x01\x00\x01\x05java1\x02\0\0\0\x01\x02");
    let batch = KvBatch::parse(&bytes).unwrap();
    assert_eq!((batch.schema_id, batch.writer, batch.len()), (SchemaId(1), (9, 4), 2));
    let records: Vec<_> = batch.records().collect::<Result<_>>().unwrap();
    assert_eq!(records[0], KvRecord { key: b"\x01", row: Some(b"\x00\x01\x05java1") });
    assert_eq!(records[1], KvRecord { key: b"\x02", row: None });
}

#[test]
fn every_flipped_bit_is_noticed() {
    let bytes = sample();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(KvBatch::parse(&damaged).is_err(), "bit {bit}");
    }
}

/// Sets the checksum of a damaged batch right, so that the damage reaches the records.
fn with_crc(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() >= HEADER_BYTES {
        let length = i32::try_from(bytes.len() - 4).unwrap();
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        bytes[4] = 0;
        let crc = crc32c::crc32c(&bytes[9..]);
        bytes[5..9].copy_from_slice(&crc.to_le_bytes());
    }
    bytes
}

proptest! {
    #[test]
    fn what_is_written_is_read(records in prop::collection::vec(
        (prop::collection::vec(any::<u8>(), 0..300), prop::option::of(prop::collection::vec(any::<u8>(), 1..300))), 0..20)) {
        let mut batch = KvBatchWriter::new(SchemaId(7), (-1, -1));
        for (key, row) in &records {
            batch.push(key, row.as_deref()).unwrap();
        }
        let bytes = batch.finish();
        let read: Vec<_> = KvBatch::parse(&bytes).unwrap().records().map(|r| r.unwrap()).collect();
        prop_assert_eq!(read.len(), records.len());
        for (read, (key, row)) in read.iter().zip(&records) {
            prop_assert_eq!((read.key, read.row), (key.as_slice(), row.as_deref()));
        }
    }

    #[test]
    fn any_bytes_end_in_records_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200), seal in any::<bool>()) {
        let bytes = if seal { with_crc(bytes) } else { bytes };
        if let Ok(batch) = KvBatch::parse(&bytes) {
            prop_assert!(batch.records().count() <= batch.len() + 1);
            for record in batch.records().map_while(Result::ok) {
                prop_assert!(record.key.len() + record.row.map_or(0, <[u8]>::len) <= bytes.len());
            }
        }
    }
}
