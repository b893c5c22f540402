//! Rules of access, by the protocol's own requests.

use crate::cluster::{Cluster, To};
use crate::refusal::part;
use sluice_api::{ANY, AccessRule, Operation, Resource, ResourceKind, RuleFilter};
use sluice_base::{Error, Result};
use sluice_wire::ApiKey;
use sluice_wire::message::{
    AclFilter, AclInfo, CreateAclsRequest, CreateAclsResponse, DropAclsRequest, DropAclsResponse, ListAclsRequest,
    ListAclsResponse,
};

const ALLOW: i32 = 2;

fn told(rule: &AccessRule) -> AclInfo {
    AclInfo {
        resource_name: rule.resource.name.clone(),
        resource_type: rule.resource.kind.number(),
        principal_name: rule.principal.clone(),
        principal_type: rule.principal_type.clone(),
        host: rule.host.clone(),
        operation_type: rule.operation.number(),
        permission_type: ALLOW,
    }
}

fn meant(filter: &RuleFilter) -> AclFilter {
    AclFilter {
        resource_name: filter.resource.clone(),
        resource_type: filter.resource_kind.map_or(ANY, ResourceKind::number),
        principal_name: filter.principal.clone(),
        principal_type: filter.principal_type.clone(),
        host: filter.host.clone(),
        operation_type: filter.operation.map_or(ANY, Operation::number),
        permission_type: ANY,
    }
}

fn rule_of(acl: AclInfo) -> Result<AccessRule> {
    let kind = ResourceKind::from_number(acl.resource_type);
    let (Some(kind), Some(operation)) = (kind, Operation::from_number(acl.operation_type)) else {
        return Err(Error::internal(format!("the server told of a rule that there cannot be: {acl:?}")));
    };
    Ok(AccessRule {
        resource: Resource { kind, name: acl.resource_name },
        principal_type: acl.principal_type,
        principal: acl.principal_name,
        host: acl.host,
        operation,
    })
}

pub(crate) fn add(cluster: &Cluster, rules: &[AccessRule]) -> Result<()> {
    let request = CreateAclsRequest { acl: rules.iter().map(told).collect() };
    let told: CreateAclsResponse = cluster.block_on(cluster.ask(To::Coordinator, ApiKey::CreateAcls, &request))?;
    Ok(told.acl_res.into_iter().try_for_each(|one| part(one.error_code, one.error_message))?)
}

pub(crate) fn drop(cluster: &Cluster, filter: &RuleFilter) -> Result<Vec<AccessRule>> {
    let request = DropAclsRequest { acl_filter: vec![meant(filter)] };
    let told: DropAclsResponse = cluster.block_on(cluster.ask(To::Coordinator, ApiKey::DropAcls, &request))?;
    let mut dropped = Vec::new();
    for result in told.filter_results {
        part(result.error_code, result.error_message)?;
        for one in result.matching_acls {
            part(one.error_code, one.error_message)?;
            dropped.push(rule_of(one.acl)?);
        }
    }
    Ok(dropped)
}

pub(crate) fn list(cluster: &Cluster, filter: &RuleFilter) -> Result<Vec<AccessRule>> {
    let request = ListAclsRequest { acl_filter: meant(filter) };
    let told: ListAclsResponse = cluster.block_on(cluster.ask(To::Coordinator, ApiKey::ListAcls, &request))?;
    let mut rules = told.acl.into_iter().map(rule_of).collect::<Result<Vec<_>>>()?;
    rules.sort_unstable();
    Ok(rules)
}
