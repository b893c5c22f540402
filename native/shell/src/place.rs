//! Which store a command asks, and which of its tables.

use crate::name::near;
use crate::words::{Words, usage};
use sluice_api::{Connection, TableInfo};
use sluice_base::{Error, ErrorKind, PartitionId, Result, Subject, TableBucket, TableId};
use sluice_client::RemoteStore;
use sluice_row::{Schema, TablePath};
use sluice_store::LocalStore;
use std::collections::BTreeMap;
use std::path::Path;

const SERVER: &str = "localhost:9123";
const DATABASE: &str = "fluss";
const PASSWORD: &str = "SLUICE_PASSWORD";

/// An open store.
pub(crate) enum Place {
    Server(RemoteStore),
    Directory(LocalStore),
}

impl Place {
    /// Opens what the command line names.
    ///
    /// # Errors
    /// `Invalid` about `Option`; those of opening, naming the address or the directory.
    pub(crate) fn open(words: &Words) -> Result<Self> {
        let mut options: BTreeMap<String, String> = words.settings()?.into_iter().collect();
        if let Some(dir) = words.value("--store") {
            if let Some(other) = ["--bootstrap", "--user"].into_iter().find(|o| words.has(o)) {
                return Err(usage(format_args!("--store and {other} do not go together: a directory has no server")));
            }
            let dir = Path::new(dir);
            if !LocalStore::is_at(dir) {
                let message =
                    format!("there is no store in '{}'; a store's directory holds a file named STORE", dir.display());
                return Err(Error::not_found(Subject::Store, message));
            }
            return Ok(Self::Directory(LocalStore::open_shared(dir, &options)?));
        }
        let servers = words.value("--bootstrap").unwrap_or(SERVER);
        options.insert("bootstrap.servers".to_owned(), servers.to_owned());
        if let Some(user) = words.value("--user") {
            let password = std::env::var(PASSWORD)
                .map_err(|_| usage(format_args!("--user needs the password in the environment as {PASSWORD}")))?;
            for (key, value) in [
                ("protocol", "SASL"),
                ("sasl.mechanism", "PLAIN"),
                ("sasl.username", user),
                ("sasl.password", &password),
            ] {
                options.insert(format!("client.security.{key}"), value.to_owned());
            }
        }
        RemoteStore::open(&options).map(Self::Server).map_err(|e| match e.kind() {
            ErrorKind::Io | ErrorKind::Busy => {
                let hint = "start a server there (bin/start-local.sh), name another with --bootstrap HOST:PORT, or a directory with --store DIR";
                Error::new(e.kind(), e.subject(), format!("no server answers at {servers} ({e}); {hint}"))
            }
            _ => e,
        })
    }

    pub(crate) fn store(&self) -> &dyn Connection {
        match self {
            Self::Server(store) => store,
            Self::Directory(store) => store,
        }
    }

    /// Gives the store back.
    ///
    /// # Errors
    /// What kept rows from becoming durable.
    pub(crate) fn close(&self) -> Result<()> {
        match self {
            Self::Server(store) => store.close(),
            Self::Directory(store) => store.close()?,
        }
        Ok(())
    }
}

/// Does something with an open store and gives it back, whatever comes of it.
pub(crate) fn within(words: &Words, work: impl FnOnce(&dyn Connection) -> Result<()>) -> Result<()> {
    let place = Place::open(words)?;
    let done = work(place.store());
    let closed = place.close();
    done.and(closed)
}

/// The table that the first argument names.
///
/// # Errors
/// `NotFound` naming what is near.
pub(crate) fn table(store: &dyn Connection, words: &Words) -> Result<TableInfo> {
    let name = words.arguments.first().map_or("", String::as_str);
    let (database, table) = name.split_once('.').unwrap_or((DATABASE, name));
    let path = TablePath::new(database, table);
    store.table(&path).map_err(|e| match e.kind() {
        ErrorKind::NotFound => {
            let full = path.to_string();
            let mut known = Vec::new();
            for database in store.list_databases().unwrap_or_default() {
                let tables = store.list_tables(&database).unwrap_or_default();
                known.extend(tables.into_iter().map(|table| format!("{database}.{table}")));
            }
            let same = known.iter().filter(|k| k.rsplit('.').next() == Some(table)).map(String::as_str);
            let hint = Some(near(&full, known.iter().map(String::as_str))).filter(|h| !h.is_empty());
            let elsewhere: Vec<&str> = same.collect();
            let hint = match (hint, elsewhere.is_empty()) {
                (Some(hint), _) => hint,
                (None, false) => format!("; of that name there is {}", elsewhere.join(", ")),
                (None, true) => "; sluice tables lists those that there are".to_owned(),
            };
            Error::not_found(Subject::Table, format!("there is no table '{full}'{hint}"))
        }
        _ => e,
    })
}

/// The positions of the columns that `--columns` names; `None` when it does not stand there.
///
/// # Errors
/// `Invalid` about `Column`, naming what is near.
pub(crate) fn projection(words: &Words, info: &TableInfo) -> Result<Option<Vec<usize>>> {
    let Some(names) = words.value("--columns") else { return Ok(None) };
    let schema = &info.descriptor.schema;
    let mut positions = Vec::new();
    for name in names.split(',').map(str::trim).filter(|n| !n.is_empty()) {
        let position = schema.index_of(name).ok_or_else(|| no_column(info, name))?;
        if positions.contains(&position) {
            return Err(usage(format_args!("--columns names '{name}' twice")));
        }
        positions.push(position);
    }
    if positions.is_empty() { Err(usage("--columns names no column")) } else { Ok(Some(positions)) }
}

/// The complaint about a column that is not there.
pub(crate) fn no_column(info: &TableInfo, name: &str) -> Error {
    let names = || info.descriptor.schema.columns.iter().map(|c| c.name.as_str());
    let hint = match near(name, names()) {
        hint if hint.is_empty() => format!("; it has {}", names().collect::<Vec<_>>().join(", ")),
        hint => hint,
    };
    Error::invalid(Subject::Column, format!("table {} has no column '{name}'{hint}", info.path))
}

/// The columns at some positions, all of them without any.
pub(crate) fn chosen(schema: &Schema, positions: Option<&[usize]>) -> Vec<sluice_row::Column> {
    match positions {
        None => schema.columns.clone(),
        Some(positions) => positions.iter().filter_map(|p| schema.columns.get(*p).cloned()).collect(),
    }
}

/// A bucket, and the name of the partition that it is in.
pub(crate) struct Bucket {
    pub(crate) partition: Option<String>,
    pub(crate) id: TableBucket,
}

/// All buckets of a table.
///
/// # Errors
/// What asking gives.
pub(crate) fn buckets(store: &dyn Connection, info: &TableInfo) -> Result<Vec<Bucket>> {
    let of = |partition: Option<(String, PartitionId)>, count: i32| {
        let (name, id) = partition.unzip();
        let bucket = move |bucket| Bucket {
            partition: name.clone(),
            id: TableBucket { table: TableId(info.table_id), partition: id, bucket },
        };
        (0..count).map(bucket).collect::<Vec<_>>()
    };
    if info.descriptor.partition_key.is_empty() {
        return Ok(of(None, info.bucket_count()));
    }
    let partitions = store.list_partitions(&info.path, &BTreeMap::new())?;
    Ok(partitions.iter().flat_map(|p| of(Some((p.name(), p.id())), p.bucket_count)).collect())
}
