//! All tests of this binary once more, without the requests that only our own server knows.

use crate::fixture::{MODE, is_plain};
use std::process::Command;

#[test]
fn everything_without_requests_of_our_own() {
    if is_plain() {
        return;
    }
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--skip", "server_goes_and_comes_back", "--skip", "silent_servers"])
        .env(MODE, "plain")
        .status()
        .unwrap();
    assert!(status.success());
}
