//! Whether the client of a request may do what it asks; everything may be done where no authorizer is.

use crate::answer::{Failed, Reply};
use crate::authorizer::Who;
use crate::caller::Caller;
use crate::node::Node;
use sluice_api::{Operation, Resource};
use sluice_row::TablePath;
use sluice_wire::{ErrorCode, message};

/// Asks for one client's rights.
#[derive(Clone, Copy)]
pub(crate) struct Gate<'a> {
    node: &'a Node,
    caller: &'a Caller,
}

fn denied(message: String) -> Failed {
    Failed::new(ErrorCode::Authorization, message)
}

impl<'a> Gate<'a> {
    pub(crate) const fn new(node: &'a Node, caller: &'a Caller) -> Self {
        Self { node, caller }
    }

    fn who(&self) -> Who<'a> {
        Who { user: self.caller.user(), address: self.caller.address.ip() }
    }

    /// Whether the client may do something with a thing.
    pub(crate) fn may(&self, operation: Operation, resource: &Resource) -> bool {
        match &self.node.authorizer {
            Some(authorizer) if !self.caller.door.exempt => authorizer.allows(self.who(), operation, resource),
            _ => true,
        }
    }

    /// # Errors
    /// `Authorization`, as for all of these.
    pub(crate) fn resource(&self, operation: Operation, resource: &Resource) -> Reply<()> {
        if self.may(operation, resource) {
            return Ok(());
        }
        Err(denied(format!(
            "Principal FlussPrincipal{{name='{}', type='User'}} have no authorization to operate {} on resource Resource{{type={}, name='{}'}} ",
            self.who().name(),
            operation.name(),
            resource.kind.name(),
            resource.name
        )))
    }

    pub(crate) fn cluster(&self, operation: Operation) -> Reply<()> {
        self.resource(operation, &Resource::cluster())
    }

    pub(crate) fn database(&self, operation: Operation, name: &str) -> Reply<()> {
        self.resource(operation, &Resource::database(name))
    }

    pub(crate) fn table(&self, operation: Operation, path: &message::TablePath) -> Reply<()> {
        self.resource(operation, &Resource::table(&path.database_name, &path.table_name))
    }

    /// A table that a request names by its id; one that is not there is told of by the request itself.
    pub(crate) fn table_id(&self, operation: Operation, id: i64) -> Reply<()> {
        match self.path(id)? {
            Some(path) => self.resource(operation, &Resource::table(&path.database, &path.table)),
            None => Ok(()),
        }
    }

    /// The same for one bucket's part of a request.
    pub(crate) fn bucket_of(&self, operation: Operation, id: i64) -> Reply<()> {
        match self.path(id)? {
            Some(path) if !self.may(operation, &Resource::table(&path.database, &path.table)) => Err(denied(format!(
                "No permission to {} table {} in database {}",
                operation.name(),
                path.table,
                path.database
            ))),
            _ => Ok(()),
        }
    }

    /// One of some tables is enough.
    pub(crate) fn any_table(&self, operation: Operation, paths: &[message::TablePath]) -> Reply<()> {
        if self.is_open() {
            return Ok(());
        }
        if paths.is_empty() {
            return Err(denied(
                "The request of InitWriter requires non empty table paths for authorization.".to_owned(),
            ));
        }
        let allowed = |p: &message::TablePath| self.may(operation, &Resource::table(&p.database_name, &p.table_name));
        if paths.iter().any(allowed) {
            return Ok(());
        }
        let names: Vec<String> = paths.iter().map(|p| format!("{}.{}", p.database_name, p.table_name)).collect();
        Err(denied(format!("No {} permission among all the tables: [{}]", operation.name(), names.join(", "))))
    }

    /// Whether nobody is asked for rights.
    fn is_open(&self) -> bool {
        self.node.authorizer.is_none() || self.caller.door.exempt
    }

    fn path(&self, id: i64) -> Reply<Option<TablePath>> {
        if self.is_open() {
            return Ok(None);
        }
        Ok(self.node.store.path_of(sluice_base::TableId(id))?)
    }

    /// Leaves the databases that the client may see.
    pub(crate) fn databases(&self, names: Vec<String>) -> Vec<String> {
        names.into_iter().filter(|name| self.may(Operation::Describe, &Resource::database(name))).collect()
    }

    /// Leaves the tables of a database that the client may see.
    pub(crate) fn tables(&self, database: &str, names: Vec<String>) -> Vec<String> {
        names.into_iter().filter(|name| self.may(Operation::Describe, &Resource::table(database, name))).collect()
    }
}
