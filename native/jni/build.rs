//! Link flags of the shared library.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Class loaders come and go while threads of the engine still run: the image stays mapped until the process ends.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // What crates below export for C programs of their own is not ours to export.
    println!("cargo:rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libsluice_jni.so");
}
