use crate::client::Client;
use crate::fixture::{Running, create, fetch, log_batch, path, produce};
use serde_json::Value;
use sluice_wire::ApiKey;
use sluice_wire::message::{
    ApiVersionsRequest, ApiVersionsResponse, DropTableRequest, DropTableResponse, FetchLogResponse, ProduceLogResponse,
};
use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

const HOSTILE: &str = "<img src=x onerror=alert(1)>\"\\\n</script>";

fn looked_at(dir: &Path) -> Running {
    Running::start(dir, &[("http.listener", "127.0.0.1:0")])
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

fn status(server: &Running, query: &str) -> Value {
    let answer = server.get(&format!("/status.json{query}"));
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"), "{answer}");
    serde_json::from_str(body(&answer)).unwrap()
}

/// What is counted is counted a moment after an answer is on the way.
fn soon(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn append(client: &mut Client, table: i64, ids: &[i32]) {
    let done: ProduceLogResponse = client.ask(ApiKey::ProduceLog, &produce(table, log_batch(ids, (-1, -1)))).unwrap();
    assert_eq!(done.buckets_resp[0].error_code, None);
}

/// Every line must be one of the exposition format, and every sample belong to the family before it, once.
fn check_exposition(text: &str) {
    assert!(text.ends_with('\n'));
    let (mut families, mut samples) = (HashSet::new(), HashSet::new());
    let mut family = "";
    let mut helped = "";
    for line in text.lines() {
        let name_end =
            |s: &str| s.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')).unwrap_or(s.len());
        if let Some(rest) = line.strip_prefix("# HELP ") {
            helped = &rest[..name_end(rest)];
            assert!(families.insert(helped), "family {helped} is there twice");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name, helped);
            assert!(["counter", "gauge"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            family = name;
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            assert_eq!(&series[..name_end(series)], family, "{line}");
            let labels = &series[family.len()..];
            assert!(labels.is_empty() || labels.starts_with('{') && labels.ends_with("\"}"), "{line}");
            value.parse::<f64>().unwrap();
            assert!(samples.insert(series), "{series} is there twice");
        }
    }
}

#[test]
fn health_and_metrics() {
    let dir = tempfile::tempdir().unwrap();
    let server = looked_at(dir.path());
    let mut client = server.client();
    let table = create(&mut client, "t", false);
    append(&mut client, table, &[1, 2, 3]);
    assert!(server.get("/health").starts_with("HTTP/1.1 200 OK\r\n"));
    for line in [
        "sluice_connections 1",
        "sluice_requests_total{api=\"CreateTable\"} 1",
        "sluice_requests_open 0",
        "sluice_tables 1",
        "sluice_table_offsets{database=\"fluss\",table=\"t\"} 3",
        "sluice_table_buckets_open{database=\"fluss\",table=\"t\"} 1",
        "sluice_table_troubled{database=\"fluss\",table=\"t\"} 0",
    ] {
        soon(line, || body(&server.get("/metrics")).lines().any(|l| l == line));
    }
    let metrics = server.get("/metrics");
    assert!(metrics.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    check_exposition(body(&metrics));
    assert!(server.get("/else").starts_with("HTTP/1.1 404"));
}

#[test]
fn the_page_is_one_file_and_writes_text_only() {
    let dir = tempfile::tempdir().unwrap();
    let server = looked_at(dir.path());
    let answer = server.get("/");
    let (head, page) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"));
    for rule in ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "nosniff", "no-store"] {
        assert!(head.contains(rule), "{head} lacks {rule}");
    }
    for part in ["prefers-color-scheme: dark", "name=\"viewport\"", "/status.json"] {
        assert!(page.contains(part), "no {part}");
    }
    // Nothing from elsewhere, and no way from a name to markup.
    for never in [
        "http://",
        "https://",
        "src=",
        "@import",
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
    ] {
        assert!(!page.contains(never), "the page has {never}");
    }
}

#[test]
fn tables_buckets_and_clients_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let server = looked_at(dir.path());
    let mut client = server.client();
    let versions =
        ApiVersionsRequest { client_software_name: HOSTILE.to_owned(), client_software_version: "1".to_owned() };
    client.ask::<ApiVersionsResponse>(ApiKey::ApiVersions, &versions).unwrap();
    let table = create(&mut client, "t", false);
    create(&mut client, "keyed", true);
    append(&mut client, table, &[1, 2]);
    let told = status(&server, "?table=fluss.t");
    assert_eq!(told["databases"][0]["name"], "fluss");
    let tables = told["databases"][0]["tables"].as_array().unwrap();
    let short: Vec<_> = tables.iter().map(|t| (t["name"].as_str().unwrap(), t["keyed"].as_bool().unwrap())).collect();
    assert_eq!(short, [("keyed", true), ("t", false)]);
    assert_eq!((&tables[1]["open"], &tables[1]["offsets"]), (&1.into(), &2.into()));
    let bucket = &told["table"]["buckets"][0];
    assert_eq!((&bucket["start"], &bucket["end"]), (&0.into(), &2.into()));
    assert!(bucket["log_bytes"].as_u64().unwrap() > 0);
    assert_eq!(told["table"]["columns"][0]["name"], "id");
    let clients = told["clients"].as_array().unwrap();
    assert_eq!(clients.len(), 1);
    assert!(HOSTILE.starts_with(&clients[0]["software"].as_str().unwrap()[..20]));
    assert_eq!(clients[0]["listener"], "FLUSS");
    assert!(clients[0]["requests"].as_u64().unwrap() >= 4);
    drop(client);
    soon("the client is gone", || status(&server, "")["clients"].as_array().unwrap().is_empty());
    assert_eq!(status(&server, "")["table"], Value::Null);
    assert!(status(&server, "?table=fluss.none")["table"]["error"].as_str().unwrap().contains("none"));
    assert!(status(&server, "?table=%00%22..%3C")["table"]["error"].is_string());
}

#[test]
fn a_look_opens_no_bucket_that_nobody_uses() {
    let dir = tempfile::tempdir().unwrap();
    {
        let server = looked_at(dir.path());
        let mut client = server.client();
        let table = create(&mut client, "t", false);
        append(&mut client, table, &[1, 2]);
    }
    let server = looked_at(dir.path());
    server.get("/metrics");
    let closed = |told: &Value| told["databases"][0]["tables"][0]["open"] == 0;
    assert!(closed(&status(&server, "")));
    assert!(closed(&status(&server, "")));
    assert_eq!(status(&server, "?table=fluss.t")["table"]["buckets"][0]["end"], 2);
    assert!(!closed(&status(&server, "")));
}

#[test]
fn errors_are_told_few_and_short() {
    let dir = tempfile::tempdir().unwrap();
    let server = looked_at(dir.path());
    let mut client = server.client();
    for i in 0..100 {
        let drop = DropTableRequest { table_path: path(&format!("{HOSTILE}{i}")), ignore_if_not_exists: false };
        assert!(client.ask::<DropTableResponse>(ApiKey::DropTable, &drop).is_err());
    }
    let nothing: FetchLogResponse = client.ask(ApiKey::FetchLog, &fetch(77, 0, 0, None)).unwrap();
    assert!(nothing.tables_resp[0].buckets_resp[0].error_code.is_some());
    let told = status(&server, "");
    let errors = told["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 64);
    assert_eq!(errors[1]["what"], "DropTable");
    assert!(errors[1]["message"].as_str().unwrap().contains(&format!("{HOSTILE}99")));
    assert!(errors[1]["client"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert!(errors[0]["message"].as_str().unwrap().contains("77"));
}

#[test]
fn other_sites_pages_cannot_ask() {
    let dir = tempfile::tempdir().unwrap();
    let server = looked_at(dir.path());
    let ask = |request: &str| {
        let mut stream = TcpStream::connect(server.http.unwrap()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let refused = ask("GET /status.json HTTP/1.1\r\nHost: evil.example:9180\r\n\r\n");
    assert!(refused.starts_with("HTTP/1.1 403 ") && !refused.contains("fluss"), "{refused}");
    assert!(ask("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").starts_with("HTTP/1.1 200 "));
    assert!(ask("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n").starts_with("HTTP/1.1 405 "));
}
