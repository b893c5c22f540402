//! Requests about rules of access. Whoever changes them needs ALL rights on their thing; for a table, on its database.

use crate::answer::{Failed, Reply};
use crate::authorizer::Authorizer;
use crate::gate::Gate;
use crate::node::Node;
use sluice_api::{ANY, AccessRule, EVERY, Operation, Resource, ResourceKind, RuleFilter};
use sluice_wire::ErrorCode;
use sluice_wire::message::{
    AclFilter, AclInfo, AclOutcome, CreateAclsRequest, CreateAclsResponse, DropAclsFilterResult, DropAclsRequest,
    DropAclsResponse, ListAclsRequest, ListAclsResponse,
};

/// The protocol's number for a permission that allows; there is no other.
const ALLOW: i32 = 2;

fn authorizer(node: &Node) -> Reply<&Authorizer> {
    let off = || Failed::new(ErrorCode::SecurityDisabled, "No Authorizer is configured.");
    node.authorizer.as_ref().ok_or_else(off)
}

/// The rights that changing the rules of a thing takes.
fn may_change(gate: &Gate<'_>, resource: &Resource) -> Reply<()> {
    match (resource.kind, resource.name.split_once('.')) {
        (ResourceKind::Table, Some((database, _))) => gate.database(Operation::All, database),
        (ResourceKind::Table, None) => gate.database(Operation::All, EVERY),
        _ => gate.resource(Operation::All, resource),
    }
}

fn wrong(message: String) -> Failed {
    Failed::new(ErrorCode::InvalidConfig, message)
}

fn rule_of(acl: &AclInfo) -> Reply<AccessRule> {
    let kind = ResourceKind::from_number(acl.resource_type).ok_or_else(|| {
        wrong(format!("a rule is about CLUSTER (2), DATABASE (3) or TABLE (4), not {}", acl.resource_type))
    })?;
    let operation = Operation::from_number(acl.operation_type)
        .ok_or_else(|| wrong(format!("a rule allows one of the operations 2 to 8, not {}", acl.operation_type)))?;
    if acl.permission_type != ALLOW {
        return Err(wrong(format!("a rule can only ALLOW (2), not {}", acl.permission_type)));
    }
    let named = match kind {
        ResourceKind::Cluster => acl.resource_name == sluice_api::CLUSTER_NAME || acl.resource_name == EVERY,
        ResourceKind::Database => !acl.resource_name.is_empty(),
        ResourceKind::Table => {
            let parts = acl.resource_name.split_once('.');
            acl.resource_name == EVERY
                || parts.is_some_and(|(database, table)| !database.is_empty() && !table.is_empty())
        }
    };
    if !named {
        let what = "the cluster is called fluss-cluster, a table database.table";
        return Err(wrong(format!("a rule cannot be about {} '{}': {what}", kind.name(), acl.resource_name)));
    }
    for (what, text) in
        [("principal", &acl.principal_name), ("type of principal", &acl.principal_type), ("host", &acl.host)]
    {
        if text.is_empty() {
            return Err(wrong(format!("a rule needs a {what}; '*' is every one")));
        }
    }
    Ok(AccessRule {
        resource: Resource { kind, name: acl.resource_name.clone() },
        principal_type: acl.principal_type.clone(),
        principal: acl.principal_name.clone(),
        host: acl.host.clone(),
        operation,
    })
}

fn filter_of(filter: &AclFilter) -> Reply<RuleFilter> {
    let resource_kind = ResourceKind::from_number(filter.resource_type);
    let operation = Operation::from_number(filter.operation_type);
    for (number, known) in [
        (filter.resource_type, resource_kind.is_some()),
        (filter.operation_type, operation.is_some()),
        (filter.permission_type, filter.permission_type == ALLOW),
    ] {
        if !known && number != ANY {
            return Err(wrong(format!("{number} is no kind of thing, operation or permission; any of them is {ANY}")));
        }
    }
    Ok(RuleFilter {
        resource_kind,
        resource: filter.resource_name.clone(),
        principal_type: filter.principal_type.clone(),
        principal: filter.principal_name.clone(),
        host: filter.host.clone(),
        operation,
    })
}

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

fn done(acl: AclInfo) -> AclOutcome {
    AclOutcome { acl, error_code: None, error_message: None }
}

/// Adds rules. A rule that is none gets its own error; the others are added together, durable before this returns.
pub(crate) fn create(node: &Node, gate: &Gate<'_>, request: &CreateAclsRequest) -> Reply<CreateAclsResponse> {
    let authorizer = authorizer(node)?;
    let judged: Vec<Reply<AccessRule>> = request.acl.iter().map(rule_of).collect();
    let rules: Vec<AccessRule> = judged.iter().flatten().cloned().collect();
    rules.iter().try_for_each(|rule| may_change(gate, &rule.resource))?;
    authorizer.add(&node.store, &rules)?;
    let outcome = |(acl, judged): (&AclInfo, Reply<AccessRule>)| match judged {
        Ok(_) => done(acl.clone()),
        Err(failed) => {
            let (error_code, error_message) = failed.fields(&node.troubles);
            AclOutcome { acl: acl.clone(), error_code, error_message }
        }
    };
    Ok(CreateAclsResponse { acl_res: request.acl.iter().zip(judged).map(outcome).collect() })
}

/// The rules that a filter means, as far as the client may see what they are about.
pub(crate) fn list(node: &Node, gate: &Gate<'_>, request: &ListAclsRequest) -> Reply<ListAclsResponse> {
    let rules = authorizer(node)?.rules();
    let filter = filter_of(&request.acl_filter)?;
    let seen = rules.iter().filter(|(resource, _)| gate.may(Operation::Describe, resource));
    let acl = seen.flat_map(|(_, of_it)| of_it).filter(|rule| filter.matches(rule)).map(told).collect();
    Ok(ListAclsResponse { acl })
}

/// Removes all rules that filters mean, durable before this returns.
pub(crate) fn drop(node: &Node, gate: &Gate<'_>, request: &DropAclsRequest) -> Reply<DropAclsResponse> {
    let authorizer = authorizer(node)?;
    let filters = request.acl_filter.iter().map(filter_of).collect::<Reply<Vec<_>>>()?;
    let removed = authorizer.remove(&node.store, &filters, |resource| may_change(gate, resource))?;
    let result = |rules: Vec<AccessRule>| DropAclsFilterResult {
        matching_acls: rules.iter().map(|rule| done(told(rule))).collect(),
        error_code: None,
        error_message: None,
    };
    Ok(DropAclsResponse { filter_results: removed.into_iter().map(result).collect() })
}
