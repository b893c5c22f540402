//! Link flags of the shared library.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Class loaders come and go while threads of the engine still run: the image stays mapped until the process ends.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libsluice_jni.so");
}
