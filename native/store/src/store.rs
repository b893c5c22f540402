//! The embedded store: the catalog and the engine of one directory behind [`sluice_api::Connection`].
//!
//! A DDL statement holds the catalog's change from its first check to its last effect, so statements go one at a time. Order of
//! effects: CREATE makes directories, then the catalog's entry; DROP and ALTER change the catalog, then the engine. What a crash
//! leaves between the two is data without a table, and opening removes it.

use crate::access_rules;
use crate::catalog::{Catalog, Change, State, TableMeta};
use crate::ddl::{full_spec, partial_spec};
use crate::directory::Directory;
use crate::engine::Engine;
use crate::partitioner::{Partitioner, limits};
use crate::raw::RawBucket;
use crate::registered::{Registered, RegisteredOffsets};
use crate::registry::{Member, Registry};
use crate::remote::restore_if_lost;
use crate::settings::Settings;
use crate::status::BucketStatus;
use crate::writer_ids::WriterIds;
use sluice_api::{
    AccessRule, Connection, DatabaseInfo, LakeSnapshot, Lookup, LookupOptions, OffsetSpec, PartitionInfo, RuleFilter,
    ScanOptions, Scanner, TableChange, TableInfo, TableStats, TierPart, TierWork, ViewInfo, WriteOptions, Writer,
};
use sluice_base::{
    Clock, Error, ErrorKind, Fs, Offset, OsFs, Result, SchemaId, Subject, SystemClock, TableBucket, TableId,
};
use sluice_row::{DatabaseDescriptor, Schema, TableDescriptor, TablePath, ViewDescriptor};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a DROP PARTITION waits for the lake at most.
const DROP_WAIT: Duration = Duration::from_secs(60);

static STORES: Registry<Core> = Registry::new();

/// What all handles of one open store share.
#[derive(Debug)]
struct Core {
    root: PathBuf,
    settings: Settings,
    catalog: Arc<Catalog>,
    engine: Arc<Engine>,
    partitioner: Arc<Partitioner>,
    writer_ids: WriterIds,
    /// Whether it has just been brought back from its remote place.
    restored: bool,
    /// Held while the file of registered offsets is read and written.
    registered: Mutex<()>,
    fs: Arc<dyn Fs>,
    clock: Arc<dyn Clock>,
    /// Given up when the store closes; another process may then have the directory.
    directory: Mutex<Option<Directory>>,
}

/// A handle on an open store. Closing or dropping the last one closes the store: rows on their way become durable, threads end, and the
/// directory is free for another process.
#[derive(Debug)]
pub struct LocalStore {
    core: Arc<Core>,
    member: Mutex<Option<Member<Core>>>,
    closed: AtomicBool,
}

impl LocalStore {
    /// Opens the store in `dir`, or joins it when this process has it open. `options` are those of a catalog, see `docs/settings.md`.
    /// A store on a read-only disk is opened for reading: writers and changes of tables are refused until it is opened again.
    ///
    /// # Errors
    /// `Invalid` about `Option`; `Conflict` about `Option` when the open store runs with other settings; `Busy` about `Store`
    /// naming the process that has the directory; `Invalid` about `Store` when the directory is something else; `Unsupported` about
    /// `Store` when a newer version wrote it; `Corrupt` naming the file; `Io`.
    pub fn open_shared(dir: &Path, options: &BTreeMap<String, String>) -> Result<Self> {
        let settings = Settings::from_options(options)?;
        let path = canonical(dir)?;
        let open = || Core::open(&path, Arc::new(OsFs), Arc::new(SystemClock), settings);
        let (core, member) = STORES.join(&path, |core| core.settings.check_agrees(options), open)?;
        Ok(Self { core, member: Mutex::new(Some(member)), closed: AtomicBool::new(false) })
    }

    /// Opens the store in `dir` over the given disk and clock, for this handle alone.
    ///
    /// # Errors
    /// Those of [`LocalStore::open_shared`].
    pub fn open(dir: &Path, fs: Arc<dyn Fs>, clock: Arc<dyn Clock>, settings: Settings) -> Result<Self> {
        let core = Arc::new(Core::open(dir, fs, clock, settings)?);
        Ok(Self { core, member: Mutex::new(None), closed: AtomicBool::new(false) })
    }

    /// Gives this handle back, and closes the store if it was the last. Again is no error.
    ///
    /// # Errors
    /// What kept rows from becoming durable; the store is closed all the same.
    pub fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        match self.member.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(member) => member.leave(Core::close),
            None => self.core.close(),
        }
    }

    /// Whether a directory is a store, open or not.
    #[must_use]
    pub fn is_at(dir: &Path) -> bool {
        Directory::is_at(&OsFs, dir)
    }

    /// The store's directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.core.root
    }

    /// A bucket for callers that speak the protocol.
    ///
    /// # Errors
    /// `NotFound` about `Table` or `Bucket`; `Closed`.
    pub fn raw_bucket(&self, id: &TableBucket) -> Result<RawBucket> {
        self.core()?.engine.raw_bucket(id)
    }

    /// Whether the store has been brought back, when it was opened, from what a lost one had copied to `remote.data.dir`.
    #[must_use]
    pub fn is_restored(&self) -> bool {
        self.core.restored
    }

    /// Copies closed log segments to `remote.data.dir` now, and gives up local files as the tables' options say, without waiting for
    /// `remote.log.task-interval-duration`.
    ///
    /// # Errors
    /// `Invalid` about `Option` when the store has no such place; `Closed`; `Io`, `Conflict` about `Store` when another store has taken the
    /// place over. What is copied stays copied.
    pub fn copy_segments(&self) -> Result<()> {
        self.core()?.engine.copy_segments()
    }

    /// A partition by its id, with its table's; `None` when there is none.
    ///
    /// # Errors
    /// `Closed`.
    pub fn partition(&self, id: i64) -> Result<Option<(TableId, PartitionInfo)>> {
        let state = self.core()?.catalog.state();
        let found = |table: &Arc<TableMeta>| {
            let partition = table.partitions.values().find(|p| p.partition_id == id)?;
            Some((table.id, partition.clone()))
        };
        Ok(state.tables().find_map(found))
    }

    /// The name of a table of which the id is known; `None` when there is none.
    ///
    /// # Errors
    /// `Closed`.
    pub fn path_of(&self, id: TableId) -> Result<Option<TablePath>> {
        let found = self.core()?.engine.tables().get(id);
        Ok(found.ok().map(|table| table.meta.get().path.clone()))
    }

    /// The rules of access that a server keeps here. The store itself asks nobody for rights.
    ///
    /// # Errors
    /// `Corrupt` naming the file; `Unsupported` about `Store` when a newer version wrote it; `Io`; `Closed`.
    pub fn access_rules(&self) -> Result<Vec<AccessRule>> {
        let core = self.core()?;
        access_rules::load(core.fs.as_ref(), &core.root)
    }

    /// Replaces them; durable when it returns.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`: they are as before; `Closed`.
    pub fn set_access_rules(&self, rules: &[AccessRule]) -> Result<()> {
        let core = self.core()?;
        core.engine.writable()?;
        access_rules::replace(core.fs.as_ref(), &core.root, rules)
    }

    /// Keeps offsets under the name of a producer that has none kept, for `ttl_ms` or `coordinator.producer-offsets.ttl`; whether it had none.
    ///
    /// # Errors
    /// `Invalid` about `Writer` for an unfit name; `Corrupt`; `Io`, `Busy` about `Disk`; `Closed`.
    pub fn register_producer(&self, id: &str, offsets: &[(TableBucket, Offset)], ttl_ms: Option<i64>) -> Result<bool> {
        let core = self.core()?;
        core.engine.writable()?;
        let default = i64::try_from(core.settings.producer_offsets_ttl.as_millis()).unwrap_or(i64::MAX);
        let expires_ms = core.clock.now_ms().saturating_add(ttl_ms.unwrap_or(default));
        core.with_registered(|all| all.add(id, RegisteredOffsets::new(expires_ms, offsets)))
    }

    /// What is kept under the name of a producer.
    ///
    /// # Errors
    /// `Corrupt`, `Io`; `Closed`.
    pub fn registered_producer(&self, id: &str) -> Result<Option<RegisteredOffsets>> {
        let core = self.core()?;
        let _held = core.registered.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Registered::load(core.fs.as_ref(), &core.root, core.clock.now_ms())?.take(id))
    }

    /// Forgets what is kept under the name of a producer; nothing is no error.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, `Busy` about `Disk`; `Closed`.
    pub fn forget_producer(&self, id: &str) -> Result<()> {
        let core = self.core()?;
        core.engine.writable()?;
        core.with_registered(|all| Ok(all.take(id).is_some())).map(|_| ())
    }

    /// How a table's buckets are. Buckets that nobody has used since the store was opened are left as they are, unless `open` says that
    /// their logs are to be opened for this look.
    ///
    /// # Errors
    /// `NotFound` about `Table` or `Database`; `Closed`.
    pub fn bucket_status(&self, path: &TablePath, open: bool) -> Result<Vec<BucketStatus>> {
        let core = self.core()?;
        core.engine.bucket_status(core.table(path)?.id, open)
    }

    /// One of a table's schemas with its id; the newest without one.
    ///
    /// # Errors
    /// `NotFound` about `Table`, `Database` or `Column` (there is no such schema).
    pub fn schema(&self, path: &TablePath, id: Option<SchemaId>) -> Result<(SchemaId, Schema)> {
        let meta = self.core()?.table(path)?;
        let id = id.unwrap_or(meta.schema_id());
        match meta.schemas.get(&id) {
            Some(schema) => Ok((id, schema.clone())),
            None => Err(Error::not_found(Subject::Column, format!("Table {path} has no schema {}.", id.0))),
        }
    }

    /// A number for a new idempotent writer; none is given twice.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`; `Corrupt` naming the file that keeps them.
    pub fn new_writer_id(&self) -> Result<i64> {
        let core = self.core()?;
        core.engine.writable()?;
        core.writer_ids.next(&core.fs, core.clock.as_ref())
    }

    fn core(&self) -> Result<&Core> {
        if self.closed.load(Ordering::Acquire) {
            let message = format!("the store in {} was closed; open it again", self.core.root.display());
            return Err(Error::new(ErrorKind::Closed, Subject::Store, message));
        }
        Ok(&self.core)
    }
}

impl LocalStore {
    /// A change of the catalog alone; `make` gets the state and the time, and tells whether anything differs.
    fn change(&self, make: impl FnOnce(&mut State, i64) -> Result<bool>) -> Result<()> {
        let core = self.core()?;
        let mut change = core.catalog.change();
        let now = change.now_ms;
        match make(&mut change.state, now)? {
            true => core.commit(&mut change),
            false => Ok(()),
        }
    }
}

impl Drop for LocalStore {
    fn drop(&mut self) {
        // Whoever wants to know calls close(); every acknowledged row is durable without it.
        let _ = self.close();
    }
}

/// The one name of a directory, whichever way it was spelt; it need not exist yet.
fn canonical(dir: &Path) -> Result<PathBuf> {
    let absolute =
        std::path::absolute(dir).map_err(|e| Error::io(format_args!("open the store in {}", dir.display()), e))?;
    let existing = absolute.ancestors().find_map(|a| Some((a, a.canonicalize().ok()?)));
    let Some((ancestor, real)) = existing else { return Ok(absolute) };
    Ok(match absolute.strip_prefix(ancestor) {
        Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
        _ => real,
    })
}

impl Core {
    fn open(root: &Path, fs: Arc<dyn Fs>, clock: Arc<dyn Clock>, settings: Settings) -> Result<Self> {
        let directory = Directory::open(&*fs, &*clock, root)?;
        let read_only = directory.is_read_only();
        let restored = !read_only && restore_if_lost(&fs, root, &settings)?;
        let may_create = !read_only && directory.is_without_data(&*fs)?;
        let catalog = Arc::new(Catalog::open(fs.clone(), clock.clone(), directory.catalog(), may_create)?);
        let state = catalog.state();
        let engine = Engine::open(root, fs.clone(), clock.clone(), &settings, read_only)?;
        if !read_only {
            let ids = |t: &Arc<TableMeta>| (t.id.0, t.partitions.values().map(|p| p.partition_id).collect());
            directory.clean(engine.disk(), &state.tables().map(ids).collect())?;
        }
        let core = Self {
            root: root.to_owned(),
            partitioner: Arc::new(Partitioner::new(catalog.clone(), engine.tables().clone(), &settings)),
            settings,
            catalog,
            engine,
            writer_ids: WriterIds::new(root),
            registered: Mutex::new(()),
            restored,
            fs,
            clock,
            directory: Mutex::new(Some(directory)),
        };
        let added = state.tables().try_for_each(|table| core.engine.add_table(table.clone()));
        added.inspect_err(|_| drop(core.close()))?;
        if !read_only {
            core.partitioner.follow_clock(&|| false);
        }
        core.engine.set_partitioner(core.partitioner.clone());
        Ok(core)
    }

    /// Changes what is kept under the names of producers; `true` says that something was.
    fn with_registered(&self, change: impl FnOnce(&mut Registered) -> Result<bool>) -> Result<bool> {
        let _held = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = Registered::load(self.fs.as_ref(), &self.root, self.clock.now_ms())?;
        let changed = change(&mut all)?;
        if changed {
            all.save(self.fs.as_ref(), &self.root)?;
        }
        Ok(changed)
    }

    fn close(&self) -> Result<()> {
        let directory = self.directory.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.engine.close(directory)
    }

    /// Makes a change of the catalog durable, then visible.
    fn commit(&self, change: &mut Change<'_>) -> Result<()> {
        self.engine.writable()?;
        change.commit()
    }

    fn table(&self, path: &TablePath) -> Result<Arc<TableMeta>> {
        self.catalog.state().table(path).cloned()
    }

    /// Changes the lake table before the store's: a lake that is ahead harms nobody, one that is behind would refuse rows.
    fn follow_in_lake(&self, before: &TableMeta, after: &TableMeta) -> Result<()> {
        let lake = self.engine.lake()?;
        if before.lake.is_none() {
            return lake.attach(after);
        }
        lake.alter(before, after)
    }

    /// Brings the rows of a partition that is to be dropped into the lake, which keeps them.
    fn keep_in_lake(&self, path: &TablePath, spec: &BTreeMap<String, String>) -> Result<()> {
        let meta = self.table(path).ok().filter(|meta| meta.lake.is_some());
        // What is wrong with the names says the drop itself.
        let values = meta.as_ref().and_then(|meta| full_spec(&meta.info.descriptor, spec).ok());
        let (Some(meta), Some(values)) = (meta, values) else { return Ok(()) };
        let Some(partition) = meta.partitions.get(&values.join("$")) else { return Ok(()) };
        self.engine.tier_partition(meta.id, partition.id(), DROP_WAIT)
    }

    /// The drop is durable already; files that cannot be removed now are removed when the store opens next.
    fn remove_data(&self, tables: &[TableId]) {
        for id in tables {
            let _ = self.engine.remove_table(*id);
        }
    }
}

fn no_users() -> Error {
    let message = "an embedded store has no users, so it asks nobody for rights; rules of access belong to a server";
    Error::unsupported(Subject::Store, message)
}

impl Connection for LocalStore {
    fn create_database(&self, name: &str, descriptor: &DatabaseDescriptor, ignore_if_exists: bool) -> Result<()> {
        self.change(|state, now| state.create_database(name, descriptor, ignore_if_exists, now))
    }

    fn alter_database(&self, name: &str, changes: &BTreeMap<String, Option<String>>) -> Result<()> {
        self.change(|state, now| state.alter_database(name, changes, now))
    }

    fn drop_database(&self, name: &str, ignore_if_missing: bool, cascade: bool) -> Result<()> {
        let core = self.core()?;
        let mut change = core.catalog.change();
        let Some(tables) = change.state.drop_database(name, ignore_if_missing, cascade)? else { return Ok(()) };
        core.commit(&mut change)?;
        core.remove_data(&tables);
        Ok(())
    }

    fn list_databases(&self) -> Result<Vec<String>> {
        Ok(self.core()?.catalog.state().databases.keys().cloned().collect())
    }

    fn database(&self, name: &str) -> Result<DatabaseInfo> {
        Ok(self.core()?.catalog.state().database(name)?.info.clone())
    }

    fn create_table(&self, path: &TablePath, descriptor: &TableDescriptor, ignore_if_exists: bool) -> Result<()> {
        let core = self.core()?;
        let mut change = core.catalog.change();
        let now = change.now_ms;
        let created = change.state.create_table(path, descriptor, limits(&core.settings), ignore_if_exists, now)?;
        let Some(meta) = created else { return Ok(()) };
        let id = meta.id;
        if meta.lake.is_some() {
            core.engine.writable()?;
            core.engine
                .lake()
                .and_then(|lake| lake.attach(&meta))
                .map_err(|e| e.context(format_args!("cannot create table {path}")))?;
        }
        let done = core.engine.add_table(meta).and_then(|()| core.commit(&mut change));
        done.inspect_err(|_| core.remove_data(&[id]))
    }

    fn drop_table(&self, path: &TablePath, ignore_if_missing: bool) -> Result<()> {
        let core = self.core()?;
        let mut change = core.catalog.change();
        let Some(id) = change.state.drop_table(path, ignore_if_missing)? else { return Ok(()) };
        core.commit(&mut change)?;
        core.remove_data(&[id]);
        Ok(())
    }

    fn list_tables(&self, database: &str) -> Result<Vec<String>> {
        Ok(self.core()?.catalog.state().database(database)?.tables.keys().cloned().collect())
    }

    fn table(&self, path: &TablePath) -> Result<TableInfo> {
        Ok(self.core()?.table(path)?.info.clone())
    }

    fn alter_table(&self, path: &TablePath, changes: &[TableChange], ignore_if_missing: bool) -> Result<()> {
        let core = self.core()?;
        let mut change = core.catalog.change();
        let now = change.now_ms;
        let before = change.state.table(path).cloned().ok();
        let altered = change.state.alter_table(path, changes, limits(&core.settings), ignore_if_missing, now)?;
        let Some(meta) = altered else { return Ok(()) };
        if let Some(before) = before.filter(|_| meta.lake.is_some()) {
            core.engine.writable()?;
            core.follow_in_lake(&before, &meta).map_err(|e| e.context(format_args!("cannot alter table {path}")))?;
        }
        let id = meta.id;
        core.partitioner.settle(&mut change, Some(meta))?;
        core.engine.table_changed(id);
        Ok(())
    }

    fn create_partition(
        &self,
        path: &TablePath,
        spec: &BTreeMap<String, String>,
        ignore_if_exists: bool,
    ) -> Result<()> {
        self.core()?.partitioner.create(path, spec, ignore_if_exists)
    }

    fn drop_partition(&self, path: &TablePath, spec: &BTreeMap<String, String>, ignore_if_missing: bool) -> Result<()> {
        let core = self.core()?;
        core.keep_in_lake(path, spec).map_err(|e| {
            e.context(format_args!(
                "cannot drop a partition of table {path} before the lake has its rows (to drop them without, set \
                 'table.datalake.enabled' to false first)"
            ))
        })?;
        core.partitioner.remove(path, spec, ignore_if_missing)
    }

    fn list_partitions(&self, path: &TablePath, spec: &BTreeMap<String, String>) -> Result<Vec<PartitionInfo>> {
        let meta = self.core()?.table(path)?;
        let keys = &meta.info.descriptor.partition_key;
        let wanted = partial_spec(&meta.info.descriptor, spec).map_err(|e| e.context(format_args!("table {path}")))?;
        let is_wanted =
            |p: &&PartitionInfo| keys.iter().zip(&p.values).all(|(k, v)| wanted.get(k).is_none_or(|w| w == v));
        Ok(meta.partitions.values().filter(is_wanted).cloned().collect())
    }

    fn create_view(&self, path: &TablePath, descriptor: &ViewDescriptor, ignore_if_exists: bool) -> Result<()> {
        self.change(|state, now| state.create_view(path, descriptor, ignore_if_exists, now))
    }

    fn alter_view(&self, path: &TablePath, descriptor: &ViewDescriptor, ignore_if_missing: bool) -> Result<()> {
        self.change(|state, now| state.alter_view(path, descriptor, ignore_if_missing, now))
    }

    fn rename_view(&self, path: &TablePath, new_name: &str, ignore_if_missing: bool) -> Result<()> {
        self.change(|state, now| state.rename_view(path, new_name, ignore_if_missing, now))
    }

    fn drop_view(&self, path: &TablePath, ignore_if_missing: bool) -> Result<()> {
        self.change(|state, _| state.drop_view(path, ignore_if_missing))
    }

    fn list_views(&self, database: &str) -> Result<Vec<String>> {
        Ok(self.core()?.catalog.state().database(database)?.views.keys().cloned().collect())
    }

    fn view(&self, path: &TablePath) -> Result<ViewInfo> {
        Ok(ViewInfo::clone(self.core()?.catalog.state().view(path)?))
    }

    fn list_offsets(&self, buckets: &[TableBucket], spec: OffsetSpec) -> Result<Vec<Offset>> {
        self.core()?.engine.list_offsets(buckets, spec)
    }

    fn table_stats(&self, path: &TablePath) -> Result<TableStats> {
        let core = self.core()?;
        core.engine.table_stats(core.table(path)?.id)
    }

    fn lake_options(&self) -> Result<Option<BTreeMap<String, String>>> {
        Ok(self.core()?.settings.lake.paimon_options())
    }

    fn lake_snapshot(&self, path: &TablePath) -> Result<LakeSnapshot> {
        let core = self.core()?;
        core.engine.lake_snapshot(core.table(path)?.id)
    }

    fn lake_partitions(&self, path: &TablePath) -> Result<Vec<PartitionInfo>> {
        let core = self.core()?;
        core.engine.lake_partitions(core.table(path)?.id)
    }

    fn tier(&self, path: &TablePath, timeout: Duration) -> Result<LakeSnapshot> {
        let core = self.core()?;
        core.engine.tier(core.table(path)?.id, timeout)
    }

    fn tier_work(&self, path: &TablePath) -> Result<Vec<TierWork>> {
        let core = self.core()?;
        core.engine.tier_work(core.table(path)?.id)
    }

    fn tier_write(&self, work: &TierWork, timeout: Duration) -> Result<TierPart> {
        self.core()?.engine.tier_write(work, timeout)
    }

    fn tier_commit(&self, path: &TablePath, parts: &[u64]) -> Result<LakeSnapshot> {
        let core = self.core()?;
        core.engine.tier_commit(core.table(path)?.id, parts)
    }

    fn acquire_snapshots(&self, buckets: &[TableBucket], lease: &str, lease_ms: u64) -> Result<Vec<(u64, Offset)>> {
        self.core()?.engine.acquire_snapshots(buckets, lease, lease_ms)
    }

    fn release_snapshots(&self, buckets: &[TableBucket], lease: &str) -> Result<()> {
        self.core()?.engine.release_snapshots(buckets, lease)
    }

    fn producer_offsets(&self, path: &TablePath, producer: &str) -> Result<Vec<(TableBucket, Offset)>> {
        let core = self.core()?;
        core.engine.producer_offsets(core.table(path)?.id, producer)
    }

    fn end_producer(&self, path: &TablePath, producer: &str, part: u32, parts: u32) -> Result<()> {
        let core = self.core()?;
        core.engine.end_producer(core.table(path)?.id, producer, part, parts)
    }

    fn add_rules(&self, _: &[AccessRule]) -> Result<()> {
        Err(no_users())
    }

    fn drop_rules(&self, _: &RuleFilter) -> Result<Vec<AccessRule>> {
        Err(no_users())
    }

    fn list_rules(&self, _: &RuleFilter) -> Result<Vec<AccessRule>> {
        Err(no_users())
    }

    fn writer(&self, path: &TablePath, options: &WriteOptions) -> Result<Box<dyn Writer>> {
        let core = self.core()?;
        core.engine.writer(core.table(path)?, options)
    }

    fn scanner(&self, path: &TablePath, options: &ScanOptions) -> Result<Box<dyn Scanner>> {
        let core = self.core()?;
        core.engine.scanner(core.table(path)?, options)
    }

    fn lookup(&self, path: &TablePath, options: &LookupOptions) -> Result<Box<dyn Lookup>> {
        let core = self.core()?;
        core.engine.lookup(core.table(path)?, options)
    }
}
