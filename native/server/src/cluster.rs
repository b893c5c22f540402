//! Requests about the server itself: versions, authentication, settings, the way to its files.

use crate::answer::{Failed, Reply};
use crate::caller::{Caller, Door};
use crate::node::Node;
use crate::sasl::need_plain;
use sluice_wire::message::{
    ApiVersionsRequest, ApiVersionsResponse, AuthenticateRequest, AuthenticateResponse, DescribeClusterConfigsRequest,
    DescribeClusterConfigsResponse, DescribeConfig, GetFileSystemSecurityTokenRequest,
    GetFileSystemSecurityTokenResponse,
};
use sluice_wire::{ApiVersions, ErrorCode};

/// Without a server type: a client that is told one refuses to use the node in both roles.
pub(crate) fn versions(caller: &Caller, request: &ApiVersionsRequest) -> Reply<ApiVersionsResponse> {
    caller.set_software(&request.client_software_name, &request.client_software_version);
    Ok(ApiVersionsResponse { api_versions: ApiVersions::list(), server_type: None })
}

/// Of a client that has come in: some ask once more.
pub(crate) fn authenticate(door: &Door, request: &AuthenticateRequest) -> Reply<AuthenticateResponse> {
    if door.users.is_some() {
        return need_plain(&request.protocol).map(|()| AuthenticateResponse { challenge: None });
    }
    if request.protocol.eq_ignore_ascii_case("PLAINTEXT") {
        return Ok(AuthenticateResponse { challenge: None });
    }
    let message = format!(
        "Listener {} asks for no authentication, so {} is not possible; use PLAINTEXT.",
        door.name, request.protocol
    );
    Err(Failed::new(ErrorCode::Authenticate, message))
}

/// Files are on this machine's own disks; no token is needed for them.
pub(crate) fn token(_: &GetFileSystemSecurityTokenRequest) -> Reply<GetFileSystemSecurityTokenResponse> {
    Ok(GetFileSystemSecurityTokenResponse {
        schema: "file".to_owned(),
        token: Vec::new(),
        expiration_time: None,
        addition_info: Vec::new(),
    })
}

pub(crate) fn settings(node: &Node, _: &DescribeClusterConfigsRequest) -> Reply<DescribeClusterConfigsResponse> {
    let config = |(key, value): (&str, &str)| DescribeConfig {
        config_key: key.to_owned(),
        config_value: Some(value.to_owned()),
        config_source: "INITIAL_SERVER_CONFIG".to_owned(),
    };
    Ok(DescribeClusterConfigsResponse { configs: node.settings.shown().map(config).collect() })
}
