//! Fetching of logs: one long poll to each server for all splits that want rows from it.

use super::state::{Due, Shared, Token};
use crate::cluster::Lane;
use crate::refusal::{Answer, Refusal, part};
use sluice_base::{Error, Subject};
use sluice_wire::message::{
    FetchLogBucketRequest, FetchLogBucketResponse, FetchLogRequest, FetchLogResponse, FetchLogTableRequest,
};
use sluice_wire::{ApiKey, ErrorCode};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The pause before a split that could not be read is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// A client, not a server that copies logs.
const NO_SERVER: i32 = -1;

/// Fetches until the scan is closed.
pub(crate) async fn drive(shared: Arc<Shared>) {
    loop {
        let Some(due) = shared.take_due() else { return };
        if due.is_empty() {
            shared.due.notified().await;
            continue;
        }
        tokio::spawn(fetch_all(shared.clone(), due));
    }
}

async fn fetch_all(shared: Arc<Shared>, due: Vec<Due>) {
    let mut by_node: BTreeMap<i32, Vec<Due>> = BTreeMap::new();
    for one in due {
        match shared.cluster.leader(shared.table.path(), one.bucket).await {
            Ok(node) => by_node.entry(node).or_default().push(one),
            Err(refusal) => again_later(&shared, &one, refusal),
        }
    }
    let start = |(node, due): (i32, Vec<Due>)| {
        let tokens: Vec<Token> = due.iter().map(|one| one.token).collect();
        (tokens, tokio::spawn(fetch(shared.clone(), node, due)))
    };
    let fetching: Vec<_> = by_node.into_iter().map(start).collect();
    for (tokens, one) in fetching {
        if one.await.is_err() {
            let error = || Error::internal("a defect of the client stopped a fetch");
            tokens.into_iter().for_each(|token| shared.fail(token, error()));
        }
    }
    shared.fetch_ended();
}

fn again_later(shared: &Arc<Shared>, due: &Due, refusal: Refusal) {
    if refusal.heals() {
        shared.cluster.forget(&due.bucket);
    }
    if shared.failed(due, refusal) {
        let (shared, due) = (shared.clone(), *due);
        tokio::spawn(async move {
            tokio::time::sleep(RETRY_PAUSE).await;
            shared.retry(&due);
        });
    }
}

async fn fetch(shared: Arc<Shared>, node: i32, due: Vec<Due>) {
    let answer = match ask(&shared, node, &due).await {
        Ok(answer) => answer,
        Err(refusal) => {
            shared.cluster.doubt(crate::cluster::To::Any, &refusal).await;
            for one in &due {
                let (code, sent, e) = (refusal.code, refusal.sent, &refusal.error);
                let error = Error::new(e.kind(), e.subject(), e.message());
                again_later(&shared, one, Refusal { code, error, sent });
            }
            return;
        }
    };
    let parts = answer.tables_resp.into_iter().flat_map(|t| t.buckets_resp);
    let mut by_bucket: BTreeMap<(Option<i64>, i32), FetchLogBucketResponse> =
        parts.map(|p| ((p.partition_id, p.bucket_id), p)).collect();
    for one in &due {
        let told = by_bucket.remove(&(one.bucket.partition.map(|p| p.0), one.bucket.bucket));
        if let Err(refusal) = take(&shared, one, told) {
            again_later(&shared, one, refusal);
        }
    }
}

fn take(shared: &Shared, due: &Due, told: Option<FetchLogBucketResponse>) -> Answer<()> {
    let Some(told) = told else {
        return Err(Refusal::network(format!("the server did not answer for {}", due.bucket), true));
    };
    part(told.error_code, told.error_message)?;
    let records = told.records.unwrap_or_default();
    if records.is_empty() && told.remote_log_fetch_info.is_some() {
        let message = format!(
            "offset {} lies in the cluster's remote storage, which is not read here; start later, or use Apache Fluss's own connector",
            due.offset
        );
        return Err(Error::unsupported(Subject::Offset, message).into());
    }
    Ok(shared.fetched(due, &records)?)
}

async fn ask(shared: &Shared, node: i32, due: &[Due]) -> Answer<FetchLogResponse> {
    let settings = &shared.cluster.settings;
    let bucket = |one: &Due| FetchLogBucketRequest {
        partition_id: one.bucket.partition.map(|p| p.0),
        bucket_id: one.bucket.bucket,
        fetch_offset: one.offset,
        max_fetch_bytes: settings.fetch_bucket_bytes,
    };
    let fields = shared.columns.fetched();
    let table = FetchLogTableRequest {
        table_id: shared.table.id().0,
        projection_pushdown_enabled: fields.is_some(),
        projected_fields: fields.unwrap_or_default(),
        buckets_req: due.iter().map(bucket).collect(),
    };
    let request = FetchLogRequest {
        follower_server_id: NO_SERVER,
        max_bytes: settings.fetch_bytes,
        tables_req: vec![table],
        max_wait_ms: Some(i32::try_from(settings.fetch_wait.as_millis()).unwrap_or(i32::MAX)),
        min_bytes: Some(1),
    };
    let channel = shared.cluster.node(node, Lane::Fetches).await?;
    let answer: Answer<FetchLogResponse> =
        channel.ask(ApiKey::FetchLog, &request, settings.fetch_wait + settings.request_timeout).await;
    answer.map_err(|refusal| match refusal.code {
        // The whole request was refused because of one of its buckets.
        ErrorCode::UnknownTableOrBucket | ErrorCode::TableNotExist => {
            due.iter().for_each(|one| shared.cluster.forget(&one.bucket));
            refusal
        }
        _ => refusal,
    })
}
