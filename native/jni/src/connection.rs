//! An open store, and the exports of `NativeConnection`.

use crate::error::Failure;
use crate::handle::{self, Handle, Held};
use crate::{export, json, memory};
use jni::objects::JString;
use jni::sys::{jint, jlong};
use sluice_api::Connection;
use sluice_base::{Error, Result, Subject};
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
/// `Invalid` about `Option`; `Unsupported` about `Option` for an address that is none of an embedded store; what opening gives.
pub fn open(json: &str) -> Result<Handle> {
    let options: BTreeMap<String, String> = json::parse("open", json)?;
    let store = LocalStore::open_shared(directory(&options)?, &options)?;
    handle::insert(OpenConnection::new(store))
}

fn directory(options: &BTreeMap<String, String>) -> Result<&Path> {
    let address = options.get(SERVERS).map(|text| text.trim()).unwrap_or_default();
    let Some(directory) = address.strip_prefix("embedded:") else {
        return Err(if address.is_empty() {
            Error::invalid(
                Subject::Option,
                format!("option '{SERVERS}' is missing; write '{SERVERS}' = 'embedded:/directory'"),
            )
        } else {
            let message = format!("'{SERVERS}' = '{address}' is not supported yet: only embedded:<directory>");
            Error::unsupported(Subject::Option, message)
        });
    };
    if !Path::new(directory).is_absolute() {
        let message =
            format!("'{SERVERS}' = '{address}' needs an absolute directory, for example embedded:/data/store");
        return Err(Error::invalid(Subject::Option, message));
    }
    Ok(Path::new(directory))
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

    fn refusal(address: Option<&str>) -> Error {
        let options = address.map(|a| (SERVERS.to_owned(), a.to_owned())).into_iter().collect();
        directory(&options).unwrap_err()
    }

    #[test]
    fn only_embedded_addresses_open() {
        for (address, kind, part) in [
            (None, ErrorKind::Invalid, "embedded:/directory"),
            (Some("host:9123"), ErrorKind::Unsupported, "not supported yet: only embedded:<directory>"),
            (Some("embedded:store"), ErrorKind::Invalid, "absolute"),
        ] {
            let error = refusal(address);
            assert_eq!((error.kind(), error.subject()), (kind, Subject::Option));
            assert!(error.message().contains(part), "{error}");
        }
    }
}
