//! Records the commit of the sources in release builds, for `hammock --version`.

use std::{path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Other builds do not have it: each commit would build every test again.
    if std::env::var("PROFILE").as_deref() != Ok("release") || !Path::new(".git").exists() {
        return;
    }
    println!("cargo::rerun-if-changed=.git/logs/HEAD");
    let commit = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    if let Some(output) = commit.ok().filter(|output| output.status.success()) {
        println!("cargo::rustc-env=HAMMOCK_COMMIT={}", String::from_utf8_lossy(&output.stdout).trim());
    }
}
