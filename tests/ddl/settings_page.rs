//! `docs/settings.md` says what the code says.

use std::path::PathBuf;

#[test]
fn is_fresh() {
    // Asked of cargo when the test runs: two checkouts that share a target directory share this binary too.
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let file = package.join("../docs/settings.md");
    let wanted = sluice_store::settings_page();
    if std::env::var_os("SLUICE_BLESS").is_some() {
        std::fs::write(&file, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(found == wanted, "docs/settings.md is stale; run SLUICE_BLESS=1 cargo test -p sluice-tests --test ddl");
}
