//! An open store, and the exports of `NativeConnection`.

use crate::error::Failure;
use crate::handle::{self, Handle, Held};
use crate::{export, json, memory};
use jni::objects::JString;
use jni::sys::{jint, jlong};
use sluice_api::Connection;
use sluice_base::{Error, Result, Subject};
use sluice_client::RemoteStore;
use sluice_store::LocalStore;
use std::collections::BTreeMap;
use std::path::Path;

/// Version of the calls; Java refuses another one.
const ABI_VERSION: jint = 1;

const SERVERS: &str = "bootstrap.servers";

/// A store whose closing can fail.
pub trait Store: Connection {
    /// Ends what the connection does; again is no error.
    ///
    /// # Errors
    /// What kept rows from becoming durable; it is closed all the same.
    fn close(&self) -> Result<()>;
}

impl Store for LocalStore {
    fn close(&self) -> Result<()> {
        Self::close(self)
    }
}

impl Store for RemoteStore {
    fn close(&self) -> Result<()> {
        Self::close(self);
        Ok(())
    }
}

/// A store that Java or C has opened.
pub struct OpenConnection(Box<dyn Store>);

impl OpenConnection {
    /// A connection over `store`.
    pub fn new(store: impl Store + 'static) -> Self {
        Self(Box::new(store))
    }

    /// What its calls are made on.
    pub fn store(&self) -> &dyn Connection {
        &*self.0
    }
}

impl Held for OpenConnection {
    fn noun() -> &'static str {
        "connection"
    }

    /// Closes the store for this connection; others of this process keep it.
    fn end(&self) -> Result<()> {
        self.0.close()
    }
}

/// Opens the store that the catalog's options name.
///
/// # Errors
/// `Invalid` about `Option` for an address that is neither an embedded store's nor servers'; what opening gives.
pub fn open(json: &str) -> Result<Handle> {
    let options: BTreeMap<String, String> = json::parse("open", json)?;
    match directory(&options)? {
        Some(directory) => handle::insert(OpenConnection::new(LocalStore::open_shared(directory, &options)?)),
        None => handle::insert(OpenConnection::new(RemoteStore::open(&options)?)),
    }
}

/// The directory of an embedded store; `None` when the address names servers.
fn directory(options: &BTreeMap<String, String>) -> Result<Option<&Path>> {
    let address = options.get(SERVERS).map(|text| text.trim()).unwrap_or_default();
    let Some(directory) = address.strip_prefix("embedded:") else {
        if !address.is_empty() {
            return Ok(None);
        }
        let message = format!(
            "option '{SERVERS}' is missing; write '{SERVERS}' = 'embedded:/directory', or 'host:9123' for a server"
        );
        return Err(Error::invalid(Subject::Option, message));
    };
    if !Path::new(directory).is_absolute() {
        let message =
            format!("'{SERVERS}' = '{address}' needs an absolute directory, for example embedded:/data/store");
        return Err(Error::invalid(Subject::Option, message));
    }
    Ok(Some(Path::new(directory)))
}

export!(fn Java_io_sluice_store_NativeConnection_abiVersion(_env) -> jint { Ok(ABI_VERSION) });

export!(fn Java_io_sluice_store_NativeConnection_open(env, json: JString<'local>) -> jlong {
    Ok(open(&json.try_to_string(env)?)?)
});

export!(fn Java_io_sluice_store_NativeConnection_admin(env, connection: jlong, operation: JString<'local>, json: JString<'local>) -> JString<'local> {
    let (operation, json) = (operation.try_to_string(env)?, json.try_to_string(env)?);
    let answer = json::admin(handle::get::<OpenConnection>(connection)?.store(), &operation, &json)?;
    Ok(JString::from_str(env, answer)?)
});

export!(fn Java_io_sluice_store_NativeConnection_close(_env, connection: jlong) -> () {
    Ok(handle::close(connection)?)
});

export!(fn Java_io_sluice_store_NativeConnection_liveHandles(_env) -> jlong { Ok(handle::live() as jlong) });

export!(fn Java_io_sluice_store_NativeConnection_nativeBytes(_env) -> jlong { Ok(memory::allocated_bytes()) });

// Lets a test prove, on the library that ships, that neither an error nor a panic takes the JVM down.
export!(fn Java_io_sluice_store_NativeConnection_fail(_env, panics: jni::sys::jboolean) -> () {
    let message = "a failure that was asked for";
    if panics { panic!("{message}") } else { Err(Failure::Engine(Error::internal(message))) }
});

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_base::ErrorKind;

    fn options(address: Option<&str>) -> BTreeMap<String, String> {
        address.map(|a| (SERVERS.to_owned(), a.to_owned())).into_iter().collect()
    }

    #[test]
    fn an_address_is_a_directory_or_servers() {
        let embedded = options(Some("embedded:/data"));
        assert_eq!(directory(&embedded).unwrap(), Some(Path::new("/data")));
        assert_eq!(directory(&options(Some("host:9123"))).unwrap(), None);
        for (address, part) in [
            (None, "embedded:/directory"),
            (Some("embedded:store"), "absolute"),
            (Some("host"), "'host' is not host:port"),
        ] {
            let json = serde_json::to_string(&options(address)).unwrap();
            let error = open(&json).unwrap_err();
            assert_eq!((error.kind(), error.subject()), (ErrorKind::Invalid, Subject::Option));
            assert!(error.message().contains(part), "{error}");
        }
    }
}
