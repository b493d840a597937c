//! Why the settings cannot be used: where, what was found, and what is expected.

use super::SettingOrigin;
use std::path::PathBuf;

/// Why the settings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the settings in `{}`: {reason}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        reason: String,
    },
    /// The file is not TOML.
    #[error("{place}: {reason}")]
    Syntax {
        /// File and line.
        place: SettingOrigin,
        /// What is wrong there.
        reason: String,
    },
    /// A key of the file is not the name of a setting.
    #[error("{place}: there is no setting `{key}`; `portcullis config show` lists all of them")]
    Unknown {
        /// File and line.
        place: SettingOrigin,
        /// The key.
        key: String,
    },
    /// What was given is not a value of its setting.
    #[error("{place}: `{text}` is not a value of `{name}`, expected {expected}")]
    Value {
        /// The flag, the variable, or file and line.
        place: SettingOrigin,
        /// The setting.
        name: &'static str,
        /// What was given, unless it is a secret.
        text: String,
        /// What is expected instead.
        expected: &'static str,
    },
}
