//! Avro object files of records of one kind.

use apache_avro::{Codec, Reader, Schema, Writer, ZstandardSettings, from_value};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sluice_base::{Error, Result};

/// A record that has an Avro schema.
pub(crate) trait AvroRecord: Serialize + DeserializeOwned {
    /// Its schema as JSON.
    const SCHEMA: &'static str;
    /// What a file of such records is called in messages.
    const WHAT: &'static str;
}

/// The bytes of a file with these records.
///
/// # Errors
/// `Internal`.
pub(crate) fn encode<T: AvroRecord>(records: &[T]) -> Result<Vec<u8>> {
    let internal = |e: apache_avro::Error| Error::internal(format!("cannot write {}: {e}", T::WHAT)).with_source(e);
    let schema = Schema::parse_str(T::SCHEMA).map_err(internal)?;
    let codec = Codec::Zstandard(ZstandardSettings::new(1));
    let mut writer = Writer::with_codec(&schema, Vec::new(), codec);
    for record in records {
        writer.append_ser(record).map_err(internal)?;
    }
    writer.into_inner().map_err(internal)
}

/// The records of a file.
///
/// # Errors
/// `Corrupt` naming the file.
pub(crate) fn decode<T: AvroRecord>(bytes: &[u8], name: &str) -> Result<Vec<T>> {
    let corrupt = |e: apache_avro::Error| Error::corrupt(format!("{} {name} is damaged: {e}", T::WHAT)).with_source(e);
    let reader = Reader::new(bytes).map_err(corrupt)?;
    reader.map(|value| from_value::<T>(&value.map_err(corrupt)?).map_err(corrupt)).collect()
}
