//! A look at the server from a browser or a collector over HTTP: the page, its JSON, `/metrics`, `/health`. One short request a connection.

use crate::node::Node;
use crate::{metrics, status};
use sluice_api::Connection;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The head of a request beyond this is refused.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// A client that sends its request or takes its answer more slowly is left.
const PATIENCE: Duration = Duration::from_secs(5);
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
const CONNECTIONS_MAX: usize = 64;
const PAGE: &str = include_str!("page.html");
/// The page loads nothing from elsewhere, and nobody may frame it. What it shows is text, never markup.
const SAFETY: &str = "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
                      Cache-Control: no-store\r\n";
const TEXT: &str = "text/plain; charset=utf-8";

/// What is answered.
struct Answer {
    status: &'static str,
    kind: &'static str,
    body: String,
}

impl Answer {
    fn text(status: &'static str, body: impl Into<String>) -> Self {
        Self { status, kind: TEXT, body: body.into() }
    }
}

/// Serves until it is dropped.
pub(crate) async fn serve(node: Arc<Node>, listener: TcpListener) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let local = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    loop {
        match (listener.accept().await, places.clone().acquire_owned().await) {
            (Ok((stream, _)), Ok(place)) => {
                let node = node.clone();
                tokio::spawn(async move {
                    // A client that hangs up or is too slow gets no answer.
                    let _ = talk(node, stream, local).await;
                    drop(place);
                });
            }
            _ => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn talk(node: Arc<Node>, mut stream: TcpStream, local: bool) -> std::io::Result<()> {
    let Some(head) = timeout(PATIENCE, read_head(&mut stream)).await?? else { return Ok(()) };
    // It may wait for a disk.
    let answer = tokio::task::spawn_blocking(move || answer(&node, &head, local)).await;
    let answer = answer.unwrap_or_else(|_| Answer::text("500 Internal Server Error", "a defect of the server\n"));
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{SAFETY}Connection: close\r\n\r\n",
        answer.status,
        answer.kind,
        answer.body.len()
    );
    timeout(PATIENCE, async {
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(answer.body.as_bytes()).await?;
        stream.shutdown().await
    })
    .await?
}

async fn read_head(stream: &mut TcpStream) -> std::io::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|w| w == b"\r\n\r\n") {
        if head.len() > HEAD_BYTES_MAX || stream.read_buf(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}

fn answer(node: &Node, head: &str, local: bool) -> Answer {
    if local && !is_for_this_machine(head) {
        // Some other site's name leads here: a page of it must not read what is only for this machine.
        return Answer::text("403 Forbidden", "ask by the name localhost or by the address\n");
    }
    let mut words = head.split_whitespace();
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    if method != "GET" {
        return Answer::text("405 Method Not Allowed", "only GET\n");
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match path {
        "/" => Answer { status: "200 OK", kind: "text/html; charset=utf-8", body: PAGE.to_owned() },
        "/status.json" => match status::status(node, table_of(query).as_deref()) {
            Ok(value) => Answer { status: "200 OK", kind: "application/json", body: value.to_string() },
            Err(e) => unavailable(&e),
        },
        "/metrics" => match metrics::text(node) {
            Ok(body) => Answer { status: "200 OK", kind: "text/plain; version=0.0.4; charset=utf-8", body },
            Err(e) => unavailable(&e),
        },
        "/health" => match node.store.list_databases() {
            Ok(_) => Answer::text("200 OK", "ok\n"),
            Err(e) => unavailable(&e),
        },
        _ => Answer::text("404 Not Found", "there are /, /status.json, /metrics and /health\n"),
    }
}

fn unavailable(e: &sluice_base::Error) -> Answer {
    Answer::text("503 Service Unavailable", format!("{e}\n"))
}

/// Whether a request names this machine by a name that nobody else can have given it.
fn is_for_this_machine(head: &str) -> bool {
    let host = head.lines().skip(1).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    let Some(host) = host else { return true };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// The table that a query names.
fn table_of(query: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix("table="))?;
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            b'+' => b' ',
            _ => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_from_queries() {
        assert_eq!(table_of("table=a.b").as_deref(), Some("a.b"));
        assert_eq!(table_of("x=1&table=a%2Eb%20+%C3%A4").as_deref(), Some("a.b  \u{e4}"));
        for wrong in ["", "tab=a", "table=%", "table=%4", "table=%zz", "table=%ff"] {
            assert_eq!(table_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_names_of_this_machine_lead_here() {
        for (host, fine) in [
            ("localhost:9180", true),
            ("LOCALHOST", true),
            ("127.0.0.1:1", true),
            ("[::1]:9180", true),
            ("evil.example:9180", false),
            ("localhost.evil.example", false),
            ("", false),
        ] {
            assert_eq!(is_for_this_machine(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")), fine, "{host}");
        }
    }
}
