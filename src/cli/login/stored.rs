//! The file that keeps a login, `portcullis/login.json` in the user's folder for settings.
//!
//! ```text
//! portcullis/        0700
//!   login.json       0600
//! ```

use crate::cli::error::CliError;
use crate::cli::private;
use crate::cli::service::base;
use crate::config::{Secret, user_folder};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A service and a key for it.
#[derive(Serialize, Deserialize)]
pub(in crate::cli) struct Login {
    /// The address of the service.
    pub(in crate::cli) url: String,
    /// The key.
    pub(super) key: String,
}

/// Where the login is kept.
pub(super) fn path() -> Result<PathBuf, CliError> {
    path_in(user_folder()).ok_or(CliError::NoUserFolder)
}

fn path_in(folder: Option<PathBuf>) -> Option<PathBuf> {
    Some(folder?.join("portcullis").join("login.json"))
}

impl Login {
    /// The login that is kept, if there is one.
    pub(in crate::cli) fn kept() -> Result<Option<Self>, CliError> {
        path_in(user_folder()).map_or(Ok(None), |path| Self::read(&path))
    }

    /// Whether it is for the service at this address; no other service gets its key.
    pub(in crate::cli) fn is_for(&self, url: &str) -> bool {
        base(&self.url) == base(url)
    }

    /// Its key.
    pub(in crate::cli) fn secret(&self) -> Secret {
        Secret(self.key.clone())
    }

    fn read(path: &Path) -> Result<Option<Self>, CliError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CliError::unreadable(path, error)),
        };
        serde_json::from_str(&text).map(Some).map_err(|error| CliError::Login { path: path.into(), error })
    }

    /// Writes the login; an earlier one stays until this one is complete.
    pub(super) fn store(&self, path: &Path) -> Result<(), CliError> {
        let part = path.with_extension("json.part");
        let text = serde_json::to_string_pretty(self).map_err(io::Error::from);
        let written = private_folder(path.parent().unwrap_or(Path::new(".")))
            .and_then(|()| write_private(&part, &(text? + "\n")))
            .and_then(|()| fs::rename(&part, path));
        written.map_err(|error| CliError::unwritable(path, error))
    }
}

/// Removes the login, and returns whether there was one.
pub(super) fn remove(path: &Path) -> Result<bool, CliError> {
    private::remove_file(path).map_err(|error| CliError::unwritable(path, error))
}

/// A folder that only its owner may enter, even if it exists already.
fn private_folder(folder: &Path) -> io::Result<()> {
    private::create_folder(folder)?;
    #[cfg(unix)]
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}

/// Writes a new file that only its owner may read.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = private::create_file(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_for_the_service_of_its_login() {
        let login = Login { url: "http://h".to_owned(), key: "k".to_owned() };
        for url in ["http://h", "http://h/", "http://h/api/"] {
            assert!(login.is_for(url), "{url}");
        }
        for url in ["https://h", "http://h:1", "http://h.evil", "http://hh"] {
            assert!(!login.is_for(url), "{url}");
        }
    }
}
