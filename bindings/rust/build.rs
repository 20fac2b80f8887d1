//! Links libpt2 from PT2_LIBRARY_FOLDER or, if that is not set, from the folder that pkg-config names.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=PT2_LIBRARY_FOLDER");
    let folder = std::env::var("PT2_LIBRARY_FOLDER").unwrap_or_else(|_| {
        let output = Command::new("pkg-config")
            .args(["--variable=libdir", "libpt2"])
            .output()
            .expect("neither PT2_LIBRARY_FOLDER nor pkg-config is there");
        assert!(output.status.success(), "pkg-config finds no libpt2; set PKG_CONFIG_PATH or PT2_LIBRARY_FOLDER");
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    });
    println!("cargo:rustc-link-search=native={folder}");
    println!("cargo:rustc-link-lib=dylib=pt2");
}
