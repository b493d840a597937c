//! The program itself, as the tests run it.

use std::path::Path;
use std::process::{Command, Stdio};

/// The program in a folder, without the settings of whoever runs the tests.
pub(crate) fn portcullis(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("PORTCULLIS_") || name.starts_with("OTEL_") {
            command.env_remove(name);
        }
    }
    command.current_dir(folder).stdin(Stdio::null());
    command
}
