//! A bucket of S3 or of what speaks as S3 does, opened by the options of a Paimon catalog.

use object_store::aws::AmazonS3Builder;
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use sluice_base::{Error, Result, Subject};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What an S3 without regions is told.
const REGION: &str = "us-east-1";
/// How long a request is tried again before it is an error; a round that fails is tried again later anyway.
const RETRIES: RetryTimes = RetryTimes { most: 5, within: Duration::from_secs(30) };
const CONNECT: Duration = Duration::from_secs(5);

struct RetryTimes {
    most: usize,
    within: Duration,
}

/// Opens a bucket. Nothing is asked of it yet.
///
/// # Errors
/// `Invalid` about `Option`, naming it. Keys and secrets are not repeated.
pub(crate) fn bucket(name: &str, options: &BTreeMap<String, String>) -> Result<Arc<dyn ObjectStore>> {
    // One for the whole process; a second one is refused, which is fine.
    _ = rustls::crypto::ring::default_provider().install_default();
    let option = |keys: &[&str]| {
        keys.iter().find_map(|k| options.get(*k)).map(|v| v.trim()).filter(|v| !v.is_empty()).map(str::to_owned)
    };
    let retry = RetryConfig { max_retries: RETRIES.most, retry_timeout: RETRIES.within, ..RetryConfig::default() };
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(name).with_retry(retry);
    let mut client = ClientOptions::new().with_connect_timeout(CONNECT);
    match (option(&["s3.access-key"]), option(&["s3.secret-key"])) {
        (Some(key), Some(secret)) => builder = builder.with_access_key_id(key).with_secret_access_key(secret),
        (None, None) => {}
        (Some(_), None) => return invalid("'s3.access-key' needs 's3.secret-key' beside it".to_owned()),
        (None, Some(_)) => return invalid("'s3.secret-key' needs 's3.access-key' beside it".to_owned()),
    }
    if let Some(token) = option(&["s3.session-token"]) {
        builder = builder.with_token(token);
    }
    let region = option(&["s3.region", "s3.endpoint.region"]);
    let path_style = match option(&["s3.path.style.access", "s3.path-style-access"]).as_deref() {
        None => None,
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some(other) => return invalid(format!("'s3.path.style.access' = '{other}' is neither true nor false")),
    };
    let endpoint = option(&["s3.endpoint"]);
    if let Some(endpoint) = &endpoint {
        let Some((scheme, host)) = endpoint.split_once("://").filter(|(s, _)| matches!(*s, "http" | "https")) else {
            return invalid(format!(
                "'s3.endpoint' = '{endpoint}' is no address; write for example http://localhost:9000"
            ));
        };
        client = client.with_allow_http(scheme == "http");
        let host = host.trim_end_matches('/');
        builder = match path_style {
            Some(false) => builder.with_endpoint(format!("{scheme}://{name}.{host}")),
            _ => builder.with_endpoint(format!("{scheme}://{host}")),
        };
    }
    // An S3 of one's own has no regions, but requests are signed for one.
    match (region, &endpoint) {
        (Some(region), _) => builder = builder.with_region(region),
        (None, Some(_)) => builder = builder.with_region(REGION),
        (None, None) => {}
    }
    let virtual_hosts = match path_style {
        Some(path_style) => !path_style,
        None => endpoint.is_none(),
    };
    builder = builder.with_virtual_hosted_style_request(virtual_hosts).with_client_options(client);
    match builder.build() {
        Ok(store) => Ok(Arc::new(store)),
        Err(e) => Err(Error::invalid(Subject::Option, format!("bucket '{name}' cannot be opened: {e}")).with_source(e)),
    }
}

fn invalid<T>(message: String) -> Result<T> {
    Err(Error::invalid(Subject::Option, message))
}
