//! A look at the server from a browser or a collector: `/health` and `/metrics` over HTTP. One short request a connection.

use crate::node::Node;
use sluice_api::Connection;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The head of a request beyond this is refused.
const HEAD_BYTES_MAX: usize = 8 << 10;
const PATIENCE: Duration = Duration::from_secs(5);
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
const CONNECTIONS_MAX: usize = 64;

/// Serves until it is dropped.
pub(crate) async fn serve(node: Arc<Node>, listener: TcpListener) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        match (listener.accept().await, places.clone().acquire_owned().await) {
            (Ok((stream, _)), Ok(place)) => {
                let node = node.clone();
                tokio::spawn(async move {
                    // Whoever asks too slowly gets no answer.
                    let _ = timeout(PATIENCE, answer(&node, stream)).await;
                    drop(place);
                });
            }
            _ => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn answer(node: &Node, mut stream: TcpStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|w| w == b"\r\n\r\n") {
        if head.len() > HEAD_BYTES_MAX || stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let head = String::from_utf8_lossy(&head);
    let mut words = head.split_whitespace();
    let (status, text) = match (words.next(), words.next()) {
        (Some("GET"), Some("/health")) => health(node),
        (Some("GET"), Some("/metrics")) => ("200 OK", node.counters.text()),
        (Some("GET"), _) => ("404 Not Found", "there are /health and /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "only GET\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

fn health(node: &Node) -> (&'static str, String) {
    match node.store.list_databases() {
        Ok(_) => ("200 OK", "ok\n".to_owned()),
        Err(e) => ("503 Service Unavailable", format!("{e}\n")),
    }
}
