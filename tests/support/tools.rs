//! Programs that tests run beside the service, such as Node and psql.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Checks that the packages that were installed are those that are asked for now: setup leaves a copy of the
/// list.
///
/// # Errors
/// They are not, or none were installed.
pub fn is_installed(asked: &Path, installed: &Path) -> Result<(), String> {
    let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    match read(installed) {
        Ok(found) if found == read(asked)? => Ok(()),
        Ok(_) | Err(_) => Err(format!("{} is not what is installed: run scripts/setup", asked.display())),
    }
}

/// The same for a folder of packages from npm.
///
/// # Errors
/// The same.
pub fn has_npm_packages(folder: &Path) -> Result<(), String> {
    is_installed(&folder.join("package-lock.json"), &folder.join("node_modules/.installed"))
}

/// What a command prints.
///
/// # Errors
/// All of its output, if it cannot be started or fails.
pub fn outputs(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}: run scripts/setup"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(format!("{command:?}: {}\n{}{}", output.status, text(&output.stdout), text(&output.stderr)))
}
