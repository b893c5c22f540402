//! The views among the catalog's state, and their changes.

use super::state::State;
use crate::names::check_path;
use sluice_api::ViewInfo;
use sluice_base::{Error, ErrorKind, Result, Subject};
use sluice_row::{TablePath, ViewDescriptor};
use std::sync::Arc;

/// The catalog is written whole with every change, so what one view may say has a bound.
const VIEW_BYTES_MAX: usize = 1 << 20;

impl State {
    /// One view.
    ///
    /// # Errors
    /// `NotFound` about `Database` or `Table`.
    pub(crate) fn view(&self, path: &TablePath) -> Result<&Arc<ViewInfo>> {
        self.database(&path.database)?.views.get(&path.table).ok_or_else(|| no_view(path))
    }

    /// Adds a view. False when it was there and that is fine.
    ///
    /// # Errors
    /// As `sluice_api::Connection::create_view`.
    pub(crate) fn create_view(
        &mut self,
        path: &TablePath,
        descriptor: &ViewDescriptor,
        ignore_if_exists: bool,
        now_ms: i64,
    ) -> Result<bool> {
        check_path(path)?;
        check(path, descriptor)?;
        let database = self.database_mut(&path.database)?;
        if database.views.contains_key(&path.table) && ignore_if_exists {
            return Ok(false);
        }
        database.require_free(path)?;
        let info = ViewInfo {
            path: path.clone(),
            descriptor: ViewDescriptor { version: 1, ..descriptor.clone() },
            created_ms: now_ms,
            modified_ms: now_ms,
        };
        database.views.insert(path.table.clone(), Arc::new(info));
        Ok(true)
    }

    /// Replaces what a view says. False when nothing differs, or it was missing and that is fine.
    ///
    /// # Errors
    /// As `sluice_api::Connection::alter_view`.
    pub(crate) fn alter_view(
        &mut self,
        path: &TablePath,
        descriptor: &ViewDescriptor,
        ignore_if_missing: bool,
        now_ms: i64,
    ) -> Result<bool> {
        check(path, descriptor)?;
        let Some(mut info) = self.known_view(path, ignore_if_missing)? else { return Ok(false) };
        let descriptor = ViewDescriptor { version: 1, ..descriptor.clone() };
        if info.descriptor == descriptor {
            return Ok(false);
        }
        (info.descriptor, info.modified_ms) = (descriptor, now_ms);
        self.database_mut(&path.database)?.views.insert(path.table.clone(), Arc::new(info));
        Ok(true)
    }

    /// Gives a view another name. False when it has that name already, or was missing and that is fine.
    ///
    /// # Errors
    /// As `sluice_api::Connection::rename_view`.
    pub(crate) fn rename_view(
        &mut self,
        path: &TablePath,
        new_name: &str,
        ignore_if_missing: bool,
        now_ms: i64,
    ) -> Result<bool> {
        let to = TablePath::new(path.database.as_str(), new_name);
        check_path(&to)?;
        let Some(mut info) = self.known_view(path, ignore_if_missing)? else { return Ok(false) };
        if to == *path {
            return Ok(false);
        }
        let database = self.database_mut(&path.database)?;
        database.require_free(&to)?;
        database.views.remove(&path.table);
        (info.path, info.modified_ms) = (to, now_ms);
        database.views.insert(new_name.to_owned(), Arc::new(info));
        Ok(true)
    }

    /// Removes a view. False when it was missing and that is fine.
    ///
    /// # Errors
    /// `NotFound` about `Table` or `Database`.
    pub(crate) fn drop_view(&mut self, path: &TablePath, ignore_if_missing: bool) -> Result<bool> {
        if self.known_view(path, ignore_if_missing)?.is_none() {
            return Ok(false);
        }
        self.database_mut(&path.database)?.views.remove(&path.table);
        Ok(true)
    }

    fn known_view(&self, path: &TablePath, ignore_if_missing: bool) -> Result<Option<ViewInfo>> {
        match self.view(path) {
            Ok(info) => Ok(Some(ViewInfo::clone(info))),
            Err(_) if ignore_if_missing => Ok(None),
            Err(e) => Err(e),
        }
    }
}

fn check(path: &TablePath, view: &ViewDescriptor) -> Result<()> {
    let columns =
        view.columns.iter().map(|c| c.name.len() + c.data_type.len() + c.comment.as_ref().map_or(0, String::len));
    let properties = view.properties.iter().map(|(key, value)| key.len() + value.len());
    let queries = view.original_query.len() + view.expanded_query.len();
    let bytes = queries + view.comment.as_ref().map_or(0, String::len) + columns.chain(properties).sum::<usize>();
    if view.columns.is_empty() || view.expanded_query.trim().is_empty() {
        return Err(Error::invalid(Subject::Table, format!("view {path} needs a query with at least one column")));
    }
    if bytes > VIEW_BYTES_MAX {
        let what =
            format!("view {path} has {bytes} bytes of text, the most is {VIEW_BYTES_MAX}; split it into several views");
        return Err(Error::invalid(Subject::Table, what));
    }
    Ok(())
}

fn no_view(path: &TablePath) -> Error {
    Error::new(ErrorKind::NotFound, Subject::Table, format!("View {path} does not exist."))
}
