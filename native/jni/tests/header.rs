//! `include/sluice.h` is what cbindgen makes of the C door now.

use std::fs;
use std::path::Path;

#[test]
fn header_is_fresh() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    cbindgen::Builder::new()
        .with_config(config)
        .with_src(root.join("src/capi.rs"))
        .generate()
        .unwrap()
        .write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = root.join("include/sluice.h");
    if std::env::var_os("SLUICE_BLESS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "include/sluice.h is stale; write it anew with SLUICE_BLESS=1 cargo test -p sluice-jni --test header"
    );
}
