//! What the tests share: where the library was built, folders in memory, and copies of rings.

#![allow(dead_code, clippy::unwrap_used, clippy::print_stderr, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};
use std::process::Command;
use wireproof_recorder::{Policy, Ring, parse};

/// The folder with the built libraries: that of the test itself.
pub(crate) fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// The library that is loaded at run time.
pub(crate) fn shared_library() -> PathBuf {
    let name =
        format!("{}wireproof_recorder_c{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    libraries().join(name)
}

/// A file of this package.
pub(crate) fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A folder in memory where there is one.
pub(crate) fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// The ring in a file whose writer has ended.
pub(crate) fn ring(path: &Path) -> Ring {
    parse(&std::fs::read(path).unwrap(), Policy::Conservative).unwrap()
}

/// The first of these programs that runs, or a line that says that the test was skipped.
pub(crate) fn program(test: &str, variable: &str, names: &[&str]) -> Option<String> {
    let wished = std::env::var(variable).ok();
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    let found = wished.as_deref().into_iter().chain(names.iter().copied()).find(runs);
    if found.is_none() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED {test}: none of {names:?} runs here; set {variable}\n"),
        );
    }
    found.map(str::to_owned)
}
