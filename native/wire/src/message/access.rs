//! Rules of access, which the protocol calls ACLs. Types, operations and permissions are numbers; 1 is any of them.

#![expect(missing_docs, reason = "the names are the protocol's")]

#[derive(Clone, PartialEq, prost::Message)]
pub struct AclInfo {
    #[prost(string, required, tag = "1")]
    pub resource_name: String,
    #[prost(int32, required, tag = "2")]
    pub resource_type: i32,
    #[prost(string, required, tag = "3")]
    pub principal_name: String,
    #[prost(string, required, tag = "4")]
    pub principal_type: String,
    #[prost(string, required, tag = "5")]
    pub host: String,
    #[prost(int32, required, tag = "6")]
    pub operation_type: i32,
    #[prost(int32, required, tag = "7")]
    pub permission_type: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AclFilter {
    #[prost(string, optional, tag = "1")]
    pub resource_name: Option<String>,
    #[prost(int32, required, tag = "2")]
    pub resource_type: i32,
    #[prost(string, optional, tag = "3")]
    pub principal_name: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub principal_type: Option<String>,
    #[prost(string, optional, tag = "5")]
    pub host: Option<String>,
    #[prost(int32, required, tag = "6")]
    pub operation_type: i32,
    #[prost(int32, required, tag = "7")]
    pub permission_type: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CreateAclsRequest {
    #[prost(message, repeated, tag = "1")]
    pub acl: Vec<AclInfo>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CreateAclsResponse {
    #[prost(message, repeated, tag = "1")]
    pub acl_res: Vec<AclOutcome>,
}

/// What became of one rule.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AclOutcome {
    #[prost(message, required, tag = "1")]
    pub acl: AclInfo,
    #[prost(int32, optional, tag = "2")]
    pub error_code: Option<i32>,
    #[prost(string, optional, tag = "3")]
    pub error_message: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ListAclsRequest {
    #[prost(message, required, tag = "1")]
    pub acl_filter: AclFilter,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ListAclsResponse {
    #[prost(message, repeated, tag = "1")]
    pub acl: Vec<AclInfo>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DropAclsRequest {
    #[prost(message, repeated, tag = "1")]
    pub acl_filter: Vec<AclFilter>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DropAclsResponse {
    #[prost(message, repeated, tag = "1")]
    pub filter_results: Vec<DropAclsFilterResult>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DropAclsFilterResult {
    #[prost(message, repeated, tag = "1")]
    pub matching_acls: Vec<AclOutcome>,
    #[prost(int32, optional, tag = "2")]
    pub error_code: Option<i32>,
    #[prost(string, optional, tag = "3")]
    pub error_message: Option<String>,
}
